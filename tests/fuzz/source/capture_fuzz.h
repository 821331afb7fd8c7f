/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The body that the fuzz targets of capture files share.
 */
#ifndef TESTS_CAPTURE_FUZZ_H
#define TESTS_CAPTURE_FUZZ_H

#include <stdint.h>

#include "tests/unit/records.h"

static inline int capture_fuzz(const struct source_ops *ops, const uint8_t *data, size_t size)
{
	struct buf whole = { 0 }, pieces = { 0 };
	struct err a = { 0 }, b = { 0 };
	int r, s;

	if (size < 1 || size > 1 << 16)
		return 0;
	r = records_parse(ops, data + 1, size - 1, size, &whole, &a);
	s = records_parse(ops, data + 1, size - 1, 16 + 16 * (size_t)data[0], &pieces, &b);
	records_need(r == s && whole.len == pieces.len);
	records_need(!whole.len || !memcmp(whole.data, pieces.data, whole.len));
	records_need(r == 0 || (a.msg[0] && b.msg[0]));
	buf_fini(&whole);
	buf_fini(&pieces);
	return 0;
}

#endif
