// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde profile --top: functions by self and total weight, and the callers of one, as rows of a view.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "cmd/profile/profile.h"
#include "cmd/top/top.h"
#include "cmd/top/top_functions.h"
#include "stack/top_rows.h"
#include "view/view.h"

struct profile_top {
	const struct stack_view *view;
	const struct stack_set *set;	/* of the run; NULL before and after */
	struct sym *sym;
	struct top *top;
	struct top_rows rows;
};

static int fill(void *ctx, const char *only, struct view_rows *ret)
{
	struct profile_top *t = ctx;

	return t->set ? top_functions_rows(&t->rows, t->set, t->sym, t->view, only, ret) : 0;
}

void profile_top_free(struct profile_top *t)
{
	if (!t)
		return;
	top_free(t->top);
	top_rows_fini(&t->rows);
	free(t);
}
DEFINE_CLEANUP(struct profile_top *, profile_top_free)

int profile_top_new(const struct profile_conf *c, const struct stack_view *view, struct profile_top **ret,
		    struct err *err)
{
	_cleanup_(profile_top_freep) struct profile_top *t = NULL;
	struct top_opts opts = {
		.view = view_find("functions"), .run = &c->run, .command = "sonde profile", .words = c->run.where,
		.fill = fill,
	};
	int r;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return err_set(err, -ENOTTY, "--top needs a terminal; -o folded or --stats work without one");
	t = calloc(1, sizeof(*t));
	if (!t)
		return err_errno(err, -ENOMEM, "--top");
	t->view = view;
	opts.fill_ctx = t;
	r = top_new(&opts, &t->top, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(t);
	return 0;
}

int profile_top_run(struct profile_top *t, const struct run_ops *spec)
{
	return top_run(t->top, spec);
}

void profile_top_show(struct profile_top *t, const struct stack_set *set, struct sym *sym)
{
	t->set = set;
	t->sym = sym;
}

void profile_top_stop(struct profile_top *t)
{
	t->set = NULL;
}
