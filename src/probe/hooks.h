/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The programs of one BPF object, each of which may fail alone. Which of them can work is asked of the kernel:
 * its BTF first, then a load of everything, and only when that fails a load of each by itself.
 *
 * Rows of the same name are alternatives, best first: the first that loads is used.
 */
#ifndef PROBE_HOOKS_H
#define PROBE_HOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe/probe.h"

struct bpf_object;
struct bpf_program;
struct err;
struct hooks;
struct probe_env;

enum hook_attach {
	HOOK_ATTACH_TRACE,	/* by its section name; recursion misses go to the ledger */
	HOOK_ATTACH_CGROUP,	/* to the cgroup given to hooks_attach() */
	HOOK_ATTACH_CGROUP_FIRST,	/* likewise, in front of all programs of the tree (6.15) */
	HOOK_ATTACH_NOT,	/* the owner does it: iterators */
	HOOK_ATTACH__MAX,
};

struct hook {
	const char *name;	/* for people: "fork" */
	const char *prog;	/* name of the program */
	enum hook_attach attach;
	const char *tracepoint;	/* must be in the kernel's BTF; NULL = no condition */
	unsigned n_args;	/* that it must have at least; 0 = any number */
	/* "BPF_FUNC_x" or "struct x" that the kernel's BTF must have; NULL = no condition. Saves a vain load. */
	const char *needs;
	const char *fallback;	/* what is used or missing without it, one clause; NULL = nothing to say */
};

struct hooks_spec {
	const void *elf;	/* object file; borrowed during hooks_load() */
	size_t elf_len;
	const struct hook *rows; /* borrowed for as long as the result lives */
	size_t n_rows;
	/* Between open and load of each attempt; may be NULL. */
	void (*configure)(void *ctx, struct bpf_object *obj);
	void *ctx;
};

/* Loads what can be loaded. Fails only when nothing can: @err then tells of the first. */
int hooks_load(struct probe_env *env, const struct hooks_spec *spec, uint16_t instance, struct hooks **ret,
	       struct err *err);

/* Attaches what was loaded. @cgroup_fd may be -1. Returns how many are attached. */
int hooks_attach(struct hooks *h, int cgroup_fd);

/* A loaded program, or NULL. */
struct bpf_program *hooks_program(const struct hooks *h, const char *prog);
struct bpf_object *hooks_object(const struct hooks *h);

/* One report per name: for doctor, or (@failed_only) to tell the pipeline. */
void hooks_report(const struct hooks *h, bool failed_only, hook_report_fn fn, void *ctx);

void hooks_detach(struct hooks *h);	/* NULL is fine, likewise below */
void hooks_free(struct hooks *h);

#endif
