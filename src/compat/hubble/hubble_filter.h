/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The filter options of `hubble observe`, translated to event fields: each option adds a check to one expression,
 * which is then used like any other --where.
 */
#ifndef COMPAT_HUBBLE_FILTER_H
#define COMPAT_HUBBLE_FILTER_H

#include "base/buf.h"
#include "base/opt.h"
#include "hubble/hubble_words.h"

struct run_conf;

/* Zeroed at the start. --not negates the next option. */
struct hubble_filter {
	struct opt_strv types; /* --type, with subtypes */
	struct hubble_words words;
	struct buf where;	/* what hubble_filter_use() made */
};

extern const struct opt hubble_opts[]; /* of a struct hubble_filter */

/* Joins the parts with run->where, which points into @f from here on. -EINVAL with a sentence. */
int hubble_filter_use(struct hubble_filter *f, struct run_conf *run, struct err *err);
void hubble_filter_fini(struct hubble_filter *f);

#endif
