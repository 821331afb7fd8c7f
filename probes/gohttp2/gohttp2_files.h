/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Go programs and libraries of this host: inspected and attached once per file, with a layout per process. Probes
 * stay attached when the last process of a file exits: an idle probe site costs a start of the program about 9 us,
 * and the next run may end before probes could be attached again.
 */
#ifndef GOHTTP2_FILES_H
#define GOHTTP2_FILES_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct gohttp2_files;
struct gohttp2_start_rec;
struct sonde_rec;

struct gohttp2_files_opts {
	struct bpf_object *obj;		/* loaded; borrowed */
	struct bpf_program *multi, *single; /* for uprobe.multi and for single uprobes; either may be NULL */
	struct bpf_program *range_multi, *range_single; /* the same for the sites of GOBIN_RANGES */
	const char *proc_path;		/* "/proc" */
	uint32_t sets;			/* enum gobin_set */
	struct coop *coop;		/* borrowed; NULL = the loop waits while a file is inspected */
	/* Probes of a program are attached at @n_sites sites; 0 = a Go program that cannot be watched. */
	void (*report)(void *ctx, uint32_t tgid, uint64_t start_ns, uint32_t n_sites, const char *text);
	/* Probes of a program's file @fd were attached only after it started; @ended: it had ended by then. */
	void (*late)(void *ctx, const struct gohttp2_start_rec *r, int fd, bool ended);
	/* Excludes our own worker while it runs. */
	void (*exclude)(void *ctx, uint32_t tgid, bool on);
	void *ctx;
};

int gohttp2_files_new(const struct gohttp2_files_opts *o, struct gohttp2_files **ret, struct err *err);
/* Detaches everything; NULL is fine. */
void gohttp2_files_free(struct gohttp2_files *f);
/* No hit after this. */
void gohttp2_files_detach(struct gohttp2_files *f);

/* True if the process runs a Go program, or maps a Go library, with something to watch. */
bool gohttp2_files_can_watch(struct gohttp2_files *f, uint32_t tgid);
/* A process runs a program. @start_ns 0 = unknown. 0 if it is watched, -ENOEXEC if not, -errno. */
int gohttp2_files_process(struct gohttp2_files *f, uint32_t tgid, uint64_t start_ns);
/* A program started. Returns as above. */
int gohttp2_files_start(struct gohttp2_files *f, const struct gohttp2_start_rec *r);
/* A process mapped an executable file, perhaps a Go library. @r: a struct sonde_mmap_rec. Returns as above. */
int gohttp2_files_mapping(struct gohttp2_files *f, const struct sonde_rec *r);
/* Attaches to a program before it starts, so that its first call is seen. -ENOENT, -ENOEXEC, -errno. */
int gohttp2_files_expect(struct gohttp2_files *f, const char *name);
/* Adds all running processes. */
int gohttp2_files_scan(struct gohttp2_files *f);
/* A process exited, or called exec. */
void gohttp2_files_exit(struct gohttp2_files *f, uint32_t tgid);
/* Name of a type of connections, by struct gohttp2_type_key; NULL = unknown. */
const char *gohttp2_files_conn_name(const struct gohttp2_files *f, uint32_t module, uint64_t type);
/* Detaches the file used least if too many are attached. */
void gohttp2_files_tick(struct gohttp2_files *f);

#endif
