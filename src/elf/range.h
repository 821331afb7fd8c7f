/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Binary search in a sorted list of addresses. Internal to src/elf.
 */
#ifndef ELF_RANGE_H
#define ELF_RANGE_H

#include <stddef.h>
#include <stdint.h>

/* Index of the first of @n ascending addresses that is >= @start; @n if all are below. */
static inline size_t range_first(const uint64_t *addrs, size_t n, uint64_t start)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (addrs[mid] < start)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

#endif
