// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names of whole stacks: which addresses are return addresses depends on the frames before them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "sym/sym.h"

bool sym_stack_by_signal(const struct sym_frame *f)
{
	static const char *const names[] = {
		"__restore_rt",
		"__restore",
		"__kernel_rt_sigreturn",
		"__kernel_sigreturn",
	};
	static const char *const go_names[] = { "runtime.sigreturn", "runtime.asyncPreempt.", "runtime.sigpanic" };
	const char *name = f->funcs[f->n - 1].raw;

	if (!name || (strncmp(name, "__", 2) != 0 && strncmp(name, "runtime.", 8) != 0)) /* most */
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return ARRAY_FIND(it, go_names, !strncmp(name, *it, strlen(*it)));
}

/* Asks the queries that changed anew. */
static int ask_changed(struct sym *s, const struct sym_query *q, size_t n, const bool *changed, struct sym_frame *ret)
{
	_cleanup_free_ struct sym_query *some = calloc(n, sizeof(*some));
	_cleanup_free_ struct sym_frame *frames = calloc(n, sizeof(*frames));
	size_t len = 0;
	int r;

	if (!some || !frames)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (changed[i])
			some[len++] = q[i];
	r = sym_frames(s, some, len, frames);
	for (size_t i = n; r >= 0 && i-- > 0;)
		if (changed[i])
			ret[i] = frames[--len];
	return r;
}

int sym_stack_frames(struct sym *s, struct sym_query *q, size_t n, struct sym_frame *ret)
{
	_cleanup_free_ bool *changed = calloc(n + 1, sizeof(*changed));
	int r = changed ? sym_frames(s, q, n, ret) : -ENOMEM;
	bool any = r >= 0;

	while (any && r >= 0) { /* a frame that got another name may be by a signal, too */
		any = false;
		for (size_t i = 1; i < n; i++) {
			changed[i] = q[i].caller && sym_stack_by_signal(&ret[i - 1]);
			q[i].caller &= !changed[i];
			any |= changed[i];
		}
		if (any)
			r = ask_changed(s, q, n, changed, ret);
	}
	return r;
}
