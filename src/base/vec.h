/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Growing arrays: struct { T *items; size_t len, cap; } plus vec_grow(), vec_push(), vec_each(), vec_find() and
 * vec_sort().
 */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/macros.h"

#define VEC(type) struct { type *items; size_t len, cap; }

static inline int vec_grow_raw(void **items, size_t *cap, size_t need, size_t size)
{
	size_t n = *cap ? *cap : 8;
	void *p;

	if (need <= *cap)
		return 0;
	while (n < need)
		n *= 2;
	if (n > SIZE_MAX / size)
		return -ENOMEM;
	p = realloc(*items, n * size);
	if (!p)
		return -ENOMEM;
	*items = p;
	*cap = n;
	return 0;
}

/* Makes room for an item at v->items[v->len]. 0 or -ENOMEM. */
#define vec_grow(v) \
	vec_grow_raw((void **)&(v)->items, &(v)->cap, (v)->len + 1, sizeof(*(v)->items))

/* Adds the item that follows @v, which is evaluated only if there is room for it. 0 or -ENOMEM. */
#define vec_push(v, ...) \
	({ \
		int _push_r = vec_grow(v); \
		if (_push_r == 0) \
			(v)->items[(v)->len++] = __VA_ARGS__; \
		_push_r; \
	})

/* qsort() of the items. */
#define vec_sort(v, compare) \
	do { \
		if ((v)->len) \
			qsort((v)->items, (v)->len, sizeof(*(v)->items), compare); \
	} while (0)

/* each_item() and FIND_ITEM() of a vector, which must not grow meanwhile. */
#define vec_each(it, v) each_item(it, (v)->items, (v)->len)
#define vec_find(it, v, ...) FIND_ITEM(it, (v)->items, (v)->len, __VA_ARGS__)

#define vec_fini(v) \
	do { \
		free((v)->items); \
		(v)->items = NULL; \
		(v)->len = (v)->cap = 0; \
	} while (0)

/* ---- arrays in ascending order of the number that their items begin with; of a vector or not ---- */

/* For qsort(), bsearch() and vec_sort(). */
static inline int vec_by_u64(const void *a, const void *b)
{
	return COMPARE(*(const uint64_t *)a, *(const uint64_t *)b);
}

static inline int vec_by_int(const void *a, const void *b)
{
	return COMPARE(*(const int *)a, *(const int *)b);
}

/* Index of the first of @n items whose uint64_t is >= @least; @n if all are below. */
#define vec_first(items, n, least) BISECT(_first_i, n, *(const uint64_t *)&(items)[_first_i] < (least))

#endif
