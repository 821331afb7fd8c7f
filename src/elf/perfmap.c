// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One pass over the text: a later line that covers a requested address replaces the answer of an earlier one.
 *
 * Format: tools/perf/Documentation/jit-interface.txt of the kernel's sources; OpenJDK writes the 0x prefix.
 */
#include "elf/perfmap.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/vec.h"
#include "elf/symtab.h"

#define CHUNK_BYTES (64u << 10)		/* longer lines are skipped */
#define COVERED_MAX (1ull << 26)	/* limit of (line, address) pairs compared */

struct perfmap {
	const uint64_t *addrs;
	size_t n;
	struct symtab_hit *hits;
	uint64_t covered;
};

/* Parses a number and skips the blanks after it. */
static bool parse_hex(struct cursor *c, uint64_t *ret)
{
	uint64_t v = 0;
	size_t digits = 0;

	if (cur_peek(c, 0) == '0' && (cur_peek(c, 1) | 0x20) == 'x')
		cur_skip(c, 2);
	for (; str_hex_digit(cur_peek(c, 0)) >= 0; digits++)
		v = v << 4 | (uint64_t)str_hex_digit(cur_u8(c));
	if (!digits || digits > 16 || cur_peek(c, 0) != ' ')
		return false;
	while (cur_peek(c, 0) == ' ')
		cur_skip(c, 1);
	*ret = v;
	return true;
}

static int take_line(struct perfmap *m, const uint8_t *line, size_t len)
{
	struct cursor c = cur_init(line, len);
	uint64_t start, size;
	size_t i, name_len;

	if (!parse_hex(&c, &start) || !parse_hex(&c, &size))
		return 0;
	name_len = MIN(strnlen((const char *)c.pos, cur_left(&c)), (size_t)SYMTAB_NAME_MAX);
	if (name_len && c.pos[name_len - 1] == '\r')
		name_len--;
	if (!name_len)
		return 0;
	for (i = vec_first(m->addrs, m->n, start); i < m->n && m->addrs[i] - start < MAX(size, 1u); i++) {
		char *name;

		if (++m->covered > COVERED_MAX)
			return -E2BIG;
		name = strndup((const char *)c.pos, name_len);
		if (!name)
			return -ENOMEM;
		free(m->hits[i].name);
		m->hits[i] = (struct symtab_hit){ .start = start, .size = size, .name = name };
	}
	return 0;
}

/*
 * Parses all complete lines; @last: an unterminated line at the end counts too. Returns the bytes consumed or -errno.
 */
static ssize_t take_lines(struct perfmap *m, const uint8_t *data, size_t len, bool last)
{
	size_t pos = 0;

	while (pos < len) {
		const uint8_t *end = memchr(data + pos, '\n', len - pos);
		size_t line_len = (end ? (size_t)(end - data) : len) - pos;
		int r;

		if (!end && !last)
			break;
		r = take_line(m, data + pos, line_len);
		if (r < 0)
			return r;
		pos += line_len + (end != NULL);
	}
	return (ssize_t)pos;
}

static int finish(struct perfmap *m, int r)
{
	int found = 0;

	for (size_t i = 0; i < m->n; i++) {
		if (r < 0) {
			free(TAKE_PTR(m->hits[i].name));
		}
		found += m->hits[i].name != NULL;
	}
	return r < 0 ? r : found;
}

int perfmap_lookup_mem(const void *data, size_t len, const uint64_t *addrs, size_t n, struct symtab_hit *ret)
{
	struct perfmap m = { .addrs = addrs, .n = n, .hits = ret };
	ssize_t r;

	memset(ret, 0, n * sizeof(*ret));
	r = take_lines(&m, data, len, true);
	return finish(&m, r < 0 ? (int)r : 0);
}

/* Offset to begin at: the start of a line within the last @budget bytes. */
static int find_begin(int fd, size_t budget, off_t *ret_begin, off_t *ret_end)
{
	off_t end = lseek(fd, 0, SEEK_END);

	if (end < 0)
		return -errno;
	*ret_end = end;
	*ret_begin = (uint64_t)end > budget ? end - (off_t)budget : 0;
	return 0;
}

static int read_lines(struct perfmap *m, int fd, uint8_t *chunk, off_t begin, off_t end)
{
	bool skip = begin > 0;	/* drop the partial first line */
	size_t have = 0;

	while (begin < end) {
		size_t want = MIN(CHUNK_BYTES - have, (size_t)(end - begin)), skipped = 0;
		ssize_t n = TEMP_FAILURE_RETRY(pread(fd, chunk + have, want, begin)), used;

		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		begin += n;
		have += (size_t)n;
		if (skip) {
			const uint8_t *nl = memchr(chunk, '\n', have);

			skipped = nl ? (size_t)(nl - chunk) + 1 : have;
			skip = !nl;
		}
		used = take_lines(m, chunk + skipped, have - skipped, false);
		if (used < 0)
			return (int)used;
		used += (ssize_t)skipped;
		have -= (size_t)used;
		memmove(chunk, chunk + used, have);
		if (have == CHUNK_BYTES) {
			have = 0;
			skip = true;
		}
	}
	return skip ? 0 : (int)MIN(take_lines(m, chunk, have, true), 0);
}

int perfmap_lookup_fd(int fd, size_t budget, const uint64_t *addrs, size_t n, struct symtab_hit *ret)
{
	struct perfmap m = { .addrs = addrs, .n = n, .hits = ret };
	_cleanup_free_ uint8_t *chunk = malloc(CHUNK_BYTES);
	off_t begin = 0, end = 0;
	int r;

	if (!chunk)
		return -ENOMEM;
	memset(ret, 0, n * sizeof(*ret));
	r = find_begin(fd, budget, &begin, &end);
	if (r == 0)
		r = read_lines(&m, fd, chunk, begin, end);
	return finish(&m, r);
}
