// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Translation tables: numbers to names and back.
 */
#include <errno.h>
#include <strings.h>

#include "event/value.h"

const char *xlat_name(const struct xlat *x, uint64_t val)
{
	/* Most tables are dense from 0. */
	if (val < x->n && x->vals[val].val == val)
		return x->vals[val].name;
	for (uint32_t i = 0; i < x->n; i++)
		if (x->vals[i].val == val)
			return x->vals[i].name;
	return NULL;
}

int xlat_value(const struct xlat *x, const char *name, uint64_t *ret)
{
	for (uint32_t i = 0; i < x->n; i++) {
		if (!x->vals[i].name || strcasecmp(x->vals[i].name, name))
			continue;
		*ret = x->vals[i].val;
		return 0;
	}
	return -ENOENT;
}
