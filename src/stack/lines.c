// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Weights of entries, and their order.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/vec.h"
#include "stack/view.h"

#define NS_PER_US 1000

const char *const stack_weight_units[] = {
	[STACK_SAMPLES] = "samples", [STACK_OFF_CPU] = "us", [STACK_WALL] = "us",
};
_Static_assert(ARRAY_SIZE(stack_weight_units) == STACK_WEIGHT__MAX, "a unit per weight");

/* Recognised by the part after the dot, whichever probe it is from. */
static bool is_block(const struct stack_entry *e)
{
	const char *dot = strrchr(e->kind, '.');

	return dot && !strcmp(dot, ".block");
}

static size_t add(struct stack_line *ret, const struct stack_entry *e, uint64_t weight, const char *state)
{
	if (!weight)
		return 0;
	*ret = (struct stack_line){ .entry = e, .weight = weight, .state = state };
	return 1;
}

size_t stack_lines(const struct stack_entry *e, enum stack_weight w, struct stack_line ret[STACK_MAX_LINES])
{
	uint64_t wait_us = e->wait / NS_PER_US, all_us = e->value / NS_PER_US;
	size_t n = 0;

	if (w == STACK_SAMPLES)
		return add(ret, e, e->count, NULL);
	if (!is_block(e))
		return add(ret, e, all_us, NULL);
	n += add(ret, e, all_us - wait_us, w == STACK_WALL ? "[blocked]" : NULL);
	n += add(ret + n, e, wait_us, "[waiting for a CPU]");
	return n;
}

/* A stable sort: glibc's qsort is stable only while it has memory, and does not document it. */
static void merge_sort(struct stack_line *v, struct stack_line *tmp, size_t n)
{
	size_t half = n / 2, i = 0, j = half, k = 0;

	if (n < 2)
		return;
	merge_sort(v, tmp, half);
	merge_sort(v + half, tmp, n - half);
	while (i < half && j < n)
		tmp[k++] = v[i].weight <= v[j].weight ? v[i++] : v[j++];
	while (i < half)
		tmp[k++] = v[i++];
	while (j < n)
		tmp[k++] = v[j++];
	memcpy(v, tmp, n * sizeof(*v));
}

int stack_lines_list(const struct stack_set *s, enum stack_weight w, bool sorted, struct stack_line_list *ret)
{
	struct stack_line *tmp;

	ret->len = 0;
	for (size_t i = 0; i < stack_set_len(s); i++) {
		struct stack_line lines[STACK_MAX_LINES];
		size_t n = stack_lines(stack_set_at(s, i), w, lines);

		for (size_t j = 0; j < n; j++) {
			if (vec_push(ret, lines[j]) < 0)
				return -ENOMEM;
		}
	}
	if (!sorted || !ret->len)
		return 0;
	tmp = calloc(ret->len, sizeof(*tmp));
	if (!tmp)
		return -ENOMEM;
	merge_sort(ret->items, tmp, ret->len);
	free(tmp);
	return 0;
}
