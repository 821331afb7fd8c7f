// SPDX-License-Identifier: GPL-2.0-or-later
#include "ring/cpulist.h"

#include <errno.h>
#include <fcntl.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/io.h"
#include "base/macros.h"
#include "base/vec.h"

#define CPU_MAX 0xffffu	/* sonde_rec.cpu has 16 bits */
#define LIST_MAX_BYTES (1u << 20)

/* A decimal number of at least one digit. */
static int take_number(struct cursor *c, uint32_t *ret)
{
	uint32_t v = 0;
	bool any = false;

	while (cur_peek(c, 0) >= '0' && cur_peek(c, 0) <= '9') {
		v = v * 10 + (cur_u8(c) - '0');
		any = true;
		if (v > CPU_MAX)
			return -EBADMSG;
	}
	*ret = v;
	return any ? 0 : -EBADMSG;
}

static bool take_char(struct cursor *c, char expected)
{
	if (cur_peek(c, 0) != (uint8_t)expected)
		return false;
	cur_skip(c, 1);
	return true;
}

int cpulist_parse(const char *text, size_t len, uint32_t **ret)
{
	struct cursor c = cur_init(text, len);
	VEC(uint32_t) v = { 0 };
	_cleanup_free_ uint32_t *own = NULL;

	do {
		uint32_t first, last;

		if (take_number(&c, &first) < 0)
			return -EBADMSG;
		last = first;
		if (take_char(&c, '-') && (take_number(&c, &last) < 0 || last < first))
			return -EBADMSG;
		if (v.len && first <= v.items[v.len - 1])
			return -EBADMSG;
		for (uint32_t cpu = first; cpu <= last; cpu++) {
			if (vec_grow(&v) < 0)
				return -ENOMEM;
			own = v.items;
			v.items[v.len++] = cpu;
		}
	} while (take_char(&c, ','));
	take_char(&c, '\n');
	if (cur_left(&c))
		return -EBADMSG;
	*ret = TAKE_PTR(own);
	return (int)v.len;
}

int cpulist_read(const char *path, uint32_t **ret)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_(buf_fini) struct buf text = { 0 };
	int r = fd < 0 ? -errno : io_read_to_end(fd, LIST_MAX_BYTES, &text);

	return r < 0 ? r : cpulist_parse(text.data, text.len, ret);
}

bool cpulist_has(const uint32_t *cpus, size_t n, uint32_t cpu)
{
	return FIND_ITEM(it, cpus, n, *it == cpu);
}
