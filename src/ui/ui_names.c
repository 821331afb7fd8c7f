// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/ui_names.h"

#include <errno.h>

#include "event/event.h"
#include "stack/stack.h"
#include "stack/view.h"
#include "ui/ui_memory.h"

#define SET_BYTES (32u << 20)

int ui_names_prepare(struct ui_names *n, const struct ui_memory *m)
{
	const struct stack_set_opts opts = { .budget_bytes = SET_BYTES };
	struct stack_names *names = NULL;
	struct stack_set *set = NULL;
	struct event ev;
	size_t at;
	struct ui_host h = { 0 };
	int r;

	m->facts.host(m->facts.ctx, 0, &h); /* a live page has one */
	r = h.sym ? stack_set_new(h.sym, &opts, &set) : 0;

	if (!set)
		return r;
	while (r != -ENOMEM && view_kept_next(m->kept, &n->done, &ev))
		if (event_section(&ev, SEC_STACK_USER))
			r = stack_set_put(set, &ev, &at);
	r = r == -ENOMEM || !stack_set_len(set) ? 0 : stack_names_new(set, h.sym, &names);
	stack_names_free(names);
	stack_set_free(set);
	return r;
}
