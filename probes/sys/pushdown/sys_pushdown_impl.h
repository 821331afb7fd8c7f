/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside sys_pushdown*.c only.
 */
#ifndef SYS_PUSHDOWN_IMPL_H
#define SYS_PUSHDOWN_IMPL_H

#include "probes/sys/pushdown/sys_pushdown.h"

struct filter_conjunct;

struct pushing {
	const struct registry *reg;
	const struct sys_pushdown_opts *o;
	struct sys_pushdown *p;
	struct buf *rest, *explain;
	const char *why;	/* user space decides again */
};

enum verdict {
	GOES_DOWN,	/* the kernel decides as user space would */
	GOES_TOO,	/* the kernel leaves out what user space would leave out, but not all of it */
	STAYS,
	VERDICT__MAX,
};

static inline enum verdict too(struct pushing *s, const char *why)
{
	s->why = why;
	return GOES_TOO;
}

/* ---- sysdig's words (sys_pushdown_ask.c) ---- */

/* Are all its words decided by the call's number, the kind of its descriptor, or its error? */
bool sys_pushdown_ask_fits(const struct filter *f);
/* 0 or -ENOMEM. */
int sys_pushdown_ask_call(struct pushing *s, const struct filter *f, enum verdict *ret);

/* ---- paths and names of files (sys_pushdown_path.c) ---- */

enum verdict sys_pushdown_path_add(struct pushing *s, const struct filter_conjunct *c);

/* ---- both: what libscap's event of a call is made from ---- */

/*
 * The argument that is the descriptor which events of the call are about; -1 = they are about none, -2 = it is no
 * argument.
 */
int sys_pushdown_ask_fd_arg(const struct sys_call *call);

/* From now on the call passes only if what it is about is one of @kinds (SYS_FD_*); 0: never. */
void sys_pushdown_ask_narrow(struct sys_pushdown *p, unsigned abi, unsigned nr, int arg, unsigned kinds);

/* Says of all calls that they may pass, where nothing was said yet. */
void sys_pushdown_ask_start_calls(struct sys_pushdown *p);

#endif
