/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of functions ahead of requests: the process of a request may not read files, so this process asks for the
 * names of the stacks that came since the last time. The symbolizer keeps them.
 */
#ifndef UI_UI_NAMES_H
#define UI_UI_NAMES_H

#include "view/view_kept.h"

struct ui_memory;

struct ui_names {	/* zeroed: none yet */
	struct view_kept_at done;
};

/* 0 or -ENOMEM; without a symbolizer nothing. */
int ui_names_prepare(struct ui_names *n, const struct ui_memory *m);

#endif
