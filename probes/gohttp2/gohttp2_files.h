/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Go programs and libraries of this host: inspected and attached once per file, with a layout per process. Probes are
 * detached a while after the last process of a file exited.
 */
#ifndef GOHTTP2_FILES_H
#define GOHTTP2_FILES_H

#include <stdbool.h>
#include <stdint.h>

struct bpf_object;
struct bpf_program;
struct coop;
struct err;
struct gohttp2_files;
struct sonde_rec;

struct gohttp2_files_opts {
	struct bpf_object *obj;		/* loaded; borrowed */
	struct bpf_program *multi, *single; /* for uprobe.multi and for single uprobes; either may be NULL */
	const char *proc_path;		/* "/proc" */
	uint32_t sets;			/* enum gobin_set */
	struct coop *coop;		/* borrowed; NULL = the loop waits while a file is inspected */
	/* Probes of a program are attached at @n_sites sites; 0 = a Go program that cannot be watched. */
	void (*report)(void *ctx, uint32_t tgid, uint64_t start_ns, uint32_t n_sites, const char *text);
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
/* A process mapped an executable file, perhaps a Go library. @r: a struct sonde_mmap_rec. Returns as above. */
int gohttp2_files_mapping(struct gohttp2_files *f, const struct sonde_rec *r);
/* Attaches to a program before it starts, so that its first call is seen. */
int gohttp2_files_expect(struct gohttp2_files *f, const char *name);
/* Adds all running processes. */
int gohttp2_files_scan(struct gohttp2_files *f);
/* A process exited, or called exec. */
void gohttp2_files_exit(struct gohttp2_files *f, uint32_t tgid);
/* Detaches files that no process has run for a while. */
void gohttp2_files_tick(struct gohttp2_files *f, uint64_t now_ns);

#endif
