// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/answers/ui_view_counts.h"

#include <string.h>

#include "base/macros.h"
#include "ui/ui_memory.h"
#include "view/view.h"
#include "view/view_fold.h"

#define FOR_EVER_NS (1ull << 62)

const struct view *ui_view_counts_find(const struct ui_memory *m, const char *name)
{
	const struct view *all = ui_memory_views(m);

	/* the rows of this one are named stacks, see /flame */
	return FIND_ITEM(it, all, view_n, !strcmp(it->name, name) && strcmp(name, "functions") != 0);
}

bool ui_view_counts_grows(const struct view *v)
{
	for (size_t i = 0; i < view_n_cols(v); i++)
		if (view_op_is_of_flows(v->cols[i].op))
			return true;
	return false;
}

int ui_view_counts_fold(const struct view *v, struct view_fold **ret)
{
	return view_fold_new(v, FOR_EVER_NS, ret);
}
