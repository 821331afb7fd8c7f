// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/top/top_functions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"
#include "event/event.h"
#include "stack/stack.h"
#include "stack/top_rows.h"
#include "stack/view.h"
#include "sym/sym.h"
#include "view/view.h"
#include "view/view_rows.h"

#define BUDGET_BYTES (64u << 20)

/* Names of functions are printable already. */
static int add_row(const struct top_row *from, struct view_rows *to)
{
	struct view_row *row;

	if (vec_grow(to) < 0)
		return -ENOMEM;
	row = &to->items[to->len++];
	*row = (struct view_row){ .id = map_hash(from->name, strlen(from->name)),
				  .cells = (uint32_t)to->texts.len,
				  .values = { from->self, from->total } };
	return buf_add(&to->texts, from->name, strlen(from->name) + 1);
}

int top_functions_rows(struct top_rows *rows, const struct stack_set *set, struct sym *sym,
		       const struct stack_view *view, const char *only, struct view_rows *ret)
{
	int r = top_rows_fill(rows, set, sym, view, only ? TOP_CALLERS : TOP_FUNCTIONS, only, false);

	view_rows_reset(ret, view_find("functions"));
	ret->from_ns = 0;
	ret->to_ns = rows->total;
	ret->samples = true;
	for (size_t i = 0; r >= 0 && i < rows->len; i++)
		r = add_row(&rows->items[i], ret);
	return r;
}

struct top_functions {
	struct stack_set *set;
	struct sym *sym;
	struct top_rows rows;
};

int top_functions_take(struct top_functions *f, const struct event *ev)
{
	size_t index;
	int r;

	if (strcmp(ev->desc->name, "cpu.sample") != 0)
		return 0;
	r = stack_set_put(f->set, ev, &index);
	return r == -ENOMEM ? r : 0;
}

int top_functions_fill(struct top_functions *f, struct view_rows *ret)
{
	static const struct stack_view plain = { .weight = STACK_SAMPLES };

	return top_functions_rows(&f->rows, f->set, f->sym, &plain, NULL, ret);
}

int top_functions_new(struct sym *sym, struct top_functions **ret)
{
	const struct stack_set_opts o = { .budget_bytes = BUDGET_BYTES };
	_cleanup_free_ struct top_functions *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->sym = sym;
	if (stack_set_new(sym, &o, &f->set) < 0)
		return -ENOMEM;
	*ret = TAKE_PTR(f);
	return 0;
}

void top_functions_free(struct top_functions *f)
{
	if (!f)
		return;
	stack_set_free(f->set);
	top_rows_fini(&f->rows);
	free(f);
}
