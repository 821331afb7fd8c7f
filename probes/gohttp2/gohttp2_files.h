/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Go programs and libraries of this host: looked at once per file, watched once per file, known per process. What is
 * watched is given up when the last process of a file has ended.
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
	struct bpf_program *multi, *single; /* for uprobe.multi, and for single uprobes; either may be NULL */
	const char *proc_path;		/* "/proc" */
	uint32_t sets;			/* enum gobin_set */
	struct coop *coop;		/* borrowed; NULL = none: the loop waits while a file is inspected */
	/* A program is watched at @n_sites places, or is a Go program that cannot be: @n_sites 0. */
	void (*tell)(void *ctx, uint32_t tgid, uint64_t start_ns, uint32_t n_sites, const char *text);
	/* Our own helper runs: it must not be seen. */
	void (*exclude)(void *ctx, uint32_t tgid, bool on);
	void *ctx;
};

int gohttp2_files_new(const struct gohttp2_files_opts *o, struct gohttp2_files **ret, struct err *err);
/* Gives up everything; NULL is fine. */
void gohttp2_files_free(struct gohttp2_files *f);
/* No hit after this. */
void gohttp2_files_detach(struct gohttp2_files *f);

/* True if the process runs a Go program, or maps a Go library, with something to watch. */
bool gohttp2_files_can_watch(struct gohttp2_files *f, uint32_t tgid);
/* A process runs a program. @start_ns 0 = not known. 0 when it is watched, -ENOEXEC when not, -errno. */
int gohttp2_files_process(struct gohttp2_files *f, uint32_t tgid, uint64_t start_ns);
/* A process mapped a file to run, which may be a Go library. @r: a struct sonde_mmap_rec. As above. */
int gohttp2_files_mapping(struct gohttp2_files *f, const struct sonde_rec *r);
/* A program that is about to be started, so that not even its first call is missed. */
int gohttp2_files_expect(struct gohttp2_files *f, const char *name);
/* All processes there are. */
int gohttp2_files_scan(struct gohttp2_files *f);
/* A process ended, or runs another program from here on. */
void gohttp2_files_exit(struct gohttp2_files *f, uint32_t tgid);
/* Gives up files that nobody runs since a while. */
void gohttp2_files_tick(struct gohttp2_files *f, uint64_t now_ns);

#endif
