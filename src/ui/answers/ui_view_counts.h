/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which events a view counts: the same for its table and for its list of events.
 */
#ifndef UI_UI_VIEW_COUNTS_H
#define UI_UI_VIEW_COUNTS_H

#include <stdbool.h>

struct ui_memory;
struct view_fold;

/* A view that is counted from events; NULL if no such view exists. */
const struct view *ui_view_counts_find(const struct ui_memory *m, const char *name);
/* Do its columns add the increments of totals, which earlier events are needed for? */
bool ui_view_counts_grows(const struct view *v);
/* A fold whose intervals end by view_fold_end() alone. 0 or -ENOMEM. */
int ui_view_counts_fold(const struct view *v, struct view_fold **ret);

#endif
