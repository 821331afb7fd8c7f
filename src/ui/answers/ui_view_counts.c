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
		switch (v->cols[i].op) {
		case VIEW_GROWTH:
		case VIEW_SENT:
		case VIEW_RECEIVED:
		case VIEW_FROM:
		case VIEW_TO:
		case VIEW_IN:
		case VIEW_OUT:
		case VIEW_FLOWS:
		case VIEW_ACTIVE:
			return true;
		case VIEW_COUNT:
		case VIEW_TRUE:
		case VIEW_SUM:
		case VIEW_SHARE:
		case VIEW_P50:
		case VIEW_P99:
		case VIEW_MAX:
		case VIEW_OP__MAX:
			break;
		}
	return false;
}

int ui_view_counts_fold(const struct view *v, struct view_fold **ret)
{
	return view_fold_new(v, FOR_EVER_NS, ret);
}
