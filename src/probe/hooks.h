/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The programs of one BPF object; each may fail without the others. Programs that the kernel's BTF rules out are left
 * out, the rest is loaded together; only if that fails, each is tried alone.
 *
 * Rows with the same name are alternatives, best first: the first that loads is used.
 */
#ifndef PROBE_HOOKS_H
#define PROBE_HOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe/probe.h"

struct bpf_object;
struct hooks;

enum hook_attach {
	HOOK_ATTACH_TRACE,	/* by its section name; recursion misses go to the ledger */
	HOOK_ATTACH_CGROUP,	/* to the cgroup given to hooks_attach() */
	HOOK_ATTACH_CGROUP_FIRST,	/* to the cgroup, before all programs of its descendants (6.15) */
	HOOK_ATTACH_NOT,	/* attached by the probe: iterators */
	HOOK_ATTACH__MAX,
};

struct hook {
	const char *name;	/* shown to users: "fork" */
	const char *prog;	/* name of the program */
	enum hook_attach attach;
	const char *tracepoint;	/* required in the kernel's BTF; NULL = no condition */
	unsigned n_args;	/* least number of its arguments */
	/* "BPF_FUNC_x" or "struct x", required in the kernel's BTF; NULL = no condition. Saves a failing load. */
	const char *needs;
	const char *fallback;	/* consequence of its absence, one clause; NULL = none */
	const char *stands_for;	/* program: used, and reported, only if that one is not; NULL = always */
	bool for_owners;	/* loaded only if an output names the owners of sockets */
};

struct hooks_spec {
	const void *elf;	/* object file; borrowed during hooks_load() */
	size_t elf_len;
	const struct hook *rows; /* borrowed for as long as the result lives */
	size_t n_rows;
	/* Called between open and load of each attempt; may be NULL. */
	void (*configure)(void *ctx, struct bpf_object *obj);
	void *ctx;
};

/* Loads the programs that can be loaded. Fails only if none can, with the first failure in @err. */
int hooks_load(struct probe_env *env, const struct hooks_spec *spec, uint16_t instance, struct hooks **ret,
	       struct err *err);

/* Attaches the loaded programs. @cgroup_fd may be -1. Returns the number attached. */
int hooks_attach(struct hooks *h, int cgroup_fd);

/* A loaded program, or NULL. */
struct bpf_program *hooks_program(const struct hooks *h, const char *prog);
struct bpf_object *hooks_object(const struct hooks *h);

/* Calls @fn once per name: all for `sonde doctor`, @failed_only for the pipeline. */
void hooks_report(const struct hooks *h, bool failed_only, hook_report_fn fn, void *ctx);
/* Reports a hook without a row. @code: 0, or -errno, which @err explains; @fallback: its replacement, or "". */
void hooks_report_code(hook_report_fn fn, void *ctx, const char *hook, int code, const struct err *err,
		       const char *fallback);
/* A hook_report_fn for hooks that do not work: tells the user; @ctx is the struct probe. */
void hooks_report_failed(void *ctx, const struct hook_report *r);

void hooks_detach(struct hooks *h);	/* NULL is fine */
void hooks_free(struct hooks *h);	/* NULL is fine */

#endif
