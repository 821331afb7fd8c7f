// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One pass over the records: reads each record's header and the fields that the query needs, never the code.
 *
 * Format: tools/perf/Documentation/jitdump-specification.txt of the kernel's sources.
 */
#include "elf/jitdump.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/vec.h"
#include "elf/symtab.h"

#define MAGIC 0x4a695444u
#define HEADER_BYTES 40u
#define HEAD_BYTES 16u			/* of a record */
#define LOAD_BYTES 40u			/* after the header, before the name */
#define MOVE_BYTES 48u
#define DEBUG_BYTES 16u
#define DEBUG_MAX_BYTES (4u << 20)	/* lines of one function */
#define RECORDS_MAX (1u << 24)
#define LOADS_MAX (1u << 20)		/* remembered for moves */
#define COVERED_MAX (1ull << 26)

#define CODE_LOAD 0u			/* kinds of records */
#define CODE_MOVE 1u
#define CODE_DEBUG_INFO 2u

struct input {
	int fd;			/* -1 = a buffer */
	const uint8_t *mem;
	uint64_t size;
};

struct name_at {		/* in the file */
	uint64_t off;
	uint64_t len;		/* limit in bytes with the NUL */
};

struct jitdump {
	struct input in;
	const uint64_t *addrs;
	size_t n;
	struct symtab_hit *hits;
	struct jitdump_line *lines;	/* NULL = no lines requested */
	struct map loads;		/* code index to struct name_at */
	uint64_t debug_addr, debug_off, debug_len;	/* lines for the next load at that address; len 0 = none */
	uint64_t covered;
};

static bool read_at(const struct input *in, uint64_t off, void *buf, size_t len)
{
	ssize_t n;

	if (off > in->size || len > in->size - off)
		return false;
	if (in->fd < 0) {
		memcpy(buf, in->mem + off, len);
		return true;
	}
	n = TEMP_FAILURE_RETRY(pread(in->fd, buf, len, (off_t)off));
	return n == (ssize_t)len;
}

static char *read_name(const struct input *in, struct name_at at)
{
	uint64_t left = at.off < in->size ? in->size - at.off : 0, most = MIN(at.len, (uint64_t)SYMTAB_NAME_MAX);
	size_t len = (size_t)MIN(left, most);
	char *name = malloc(len + 1);

	if (name && read_at(in, at.off, name, len)) {
		name[len] = '\0';
		return name;
	}
	free(name);
	return NULL;
}

/* ---- lines ---- */

static int set_line(struct jitdump_line *l, const char *file, uint32_t line)
{
	free(l->file);
	l->file = strdup(file);
	l->line = line;
	return l->file ? 0 : -ENOMEM;
}

/* The last entry at or before @addr; the name "\xff" repeats that of the previous entry. */
static int find_line(struct cursor c, uint64_t count, uint64_t addr, struct jitdump_line *ret)
{
	const char *file = NULL, *best_file = NULL;
	uint32_t best_line = 0;
	uint64_t best = 0;

	for (uint64_t i = 0; i < count && cur_ok(&c); i++) {
		uint64_t at = cur_u64(&c);
		uint32_t line = cur_u32(&c);
		const char *name;
		size_t len;

		cur_skip(&c, 4);
		len = strnlen((const char *)c.pos, cur_left(&c));
		name = cur_bytes(&c, len + 1);
		if (!name)
			break;
		if (strcmp(name, "\xff") != 0)
			file = name;
		if (file && at <= addr && at >= best) {
			best = at;
			best_file = file;
			best_line = line;
		}
	}
	return best_file ? set_line(ret, best_file, best_line) : 0;
}

static int take_lines(struct jitdump *j, uint64_t start, size_t i)
{
	size_t len = (size_t)MIN(j->debug_len, (uint64_t)DEBUG_MAX_BYTES);
	_cleanup_free_ uint8_t *data = NULL;
	struct cursor c;

	free(j->lines[i].file);
	j->lines[i] = (struct jitdump_line){ 0 };
	if (!len || j->debug_addr != start)
		return 0;
	data = malloc(len);
	if (!data)
		return -ENOMEM;
	if (!read_at(&j->in, j->debug_off, data, len))
		return 0;
	c = cur_init(data, len);
	cur_skip(&c, 8);	/* the code's address */
	return find_line(c, cur_u64(&c), j->addrs[i], &j->lines[i]);
}

/* ---- records ---- */

/* Names the code at [@start, @start + @size) from here on. */
static int take_code(struct jitdump *j, uint64_t start, uint64_t size, struct name_at at, bool loaded)
{
	int r = 0;

	for (size_t i = vec_first(j->addrs, j->n, start); r == 0 && i < j->n && j->addrs[i] - start < size; i++) {
		char *name = read_name(&j->in, at);

		if (!name || !name[0] || ++j->covered > COVERED_MAX) {
			free(name);
			return name ? 0 : -ENOMEM;
		}
		free(j->hits[i].name);
		j->hits[i] = (struct symtab_hit){ .start = start, .size = size, .name = name };
		if (!j->lines)
			continue;
		if (!loaded)
			j->debug_len = 0;
		r = take_lines(j, start, i);
	}
	return r;
}

static int take_load(struct jitdump *j, uint64_t off, uint64_t len)
{
	struct name_at at = { .off = off + LOAD_BYTES };
	uint8_t raw[LOAD_BYTES];
	struct cursor c = cur_init(raw, sizeof(raw));
	uint64_t addr, size, index;
	int r;

	if (len < LOAD_BYTES || !read_at(&j->in, off, raw, sizeof(raw)))
		return 0;
	cur_skip(&c, 16);	/* pid and tid, then the address again */
	addr = cur_u64(&c);
	size = cur_u64(&c);
	index = cur_u64(&c);
	at.len = len - LOAD_BYTES;
	if (j->loads.len < LOADS_MAX && map_put(&j->loads, &index, &at) < 0)
		return -ENOMEM;
	r = take_code(j, addr, size, at, true);
	j->debug_len = 0;
	return r;
}

static int take_move(struct jitdump *j, uint64_t off, uint64_t len)
{
	uint8_t raw[MOVE_BYTES];
	struct cursor c = cur_init(raw, sizeof(raw));
	const struct name_at *known;
	uint64_t addr, size, index;

	if (len < MOVE_BYTES || !read_at(&j->in, off, raw, sizeof(raw)))
		return 0;
	cur_skip(&c, 24);	/* pid and tid, address, old address */
	addr = cur_u64(&c);
	size = cur_u64(&c);
	index = cur_u64(&c);
	known = map_find(&j->loads, &index);
	return known ? take_code(j, addr, size, *known, false) : 0;
}

static void take_debug(struct jitdump *j, uint64_t off, uint64_t len)
{
	uint8_t raw[DEBUG_BYTES];
	struct cursor c = cur_init(raw, sizeof(raw));

	j->debug_len = 0;
	if (!j->lines || len < DEBUG_BYTES || !read_at(&j->in, off, raw, sizeof(raw)))
		return;
	j->debug_addr = cur_u64(&c);
	j->debug_off = off;
	j->debug_len = len;
}

static int take_record(struct jitdump *j, uint32_t id, uint64_t off, uint64_t len)
{
	if (id == CODE_LOAD)
		return take_load(j, off, len);
	if (id == CODE_MOVE)
		return take_move(j, off, len);
	if (id == CODE_DEBUG_INFO)
		take_debug(j, off, len);
	return 0;
}

static int take_records(struct jitdump *j)
{
	uint8_t raw[HEADER_BYTES];
	struct cursor c = cur_init(raw, 12);
	uint64_t off;
	uint32_t magic;
	int r = 0;

	if (!read_at(&j->in, 0, raw, HEADER_BYTES))
		return -EBADMSG;
	magic = cur_u32(&c);
	cur_skip(&c, 4);
	off = cur_u32(&c);	/* length of the header */
	if (magic != MAGIC || off < HEADER_BYTES)
		return -EBADMSG;
	for (uint32_t i = 0; r == 0 && i < RECORDS_MAX && read_at(&j->in, off, raw, HEAD_BYTES); i++) {
		uint32_t id, len;

		c = cur_init(raw, HEAD_BYTES);
		id = cur_u32(&c);
		len = cur_u32(&c);
		if (len < HEAD_BYTES)
			break;
		r = take_record(j, id, off + HEAD_BYTES, len - HEAD_BYTES);
		off += len;
	}
	return r;
}

static int lookup(struct jitdump *j)
{
	int r, found = 0;

	memset(j->hits, 0, j->n * sizeof(*j->hits));
	if (j->lines)
		memset(j->lines, 0, j->n * sizeof(*j->lines));
	map_init(&j->loads, sizeof(uint64_t), sizeof(struct name_at));
	r = take_records(j);
	map_fini(&j->loads);
	for (size_t i = 0; i < j->n; i++) {
		if (r < 0) {
			free(TAKE_PTR(j->hits[i].name));
		}
		if (r < 0 && j->lines) {
			free(TAKE_PTR(j->lines[i].file));
		}
		found += j->hits[i].name != NULL;
	}
	return r < 0 ? r : found;
}

int jitdump_lookup_fd(int fd, const uint64_t *addrs, size_t n, struct symtab_hit *ret, struct jitdump_line *ret_lines)
{
	off_t size = lseek(fd, 0, SEEK_END);
	struct jitdump j = { .in = { .fd = fd, .size = (uint64_t)size }, .addrs = addrs, .n = n, .hits = ret,
			     .lines = ret_lines };

	return size < 0 ? -errno : lookup(&j);
}

int jitdump_lookup_mem(const void *data, size_t len, const uint64_t *addrs, size_t n, struct symtab_hit *ret,
		       struct jitdump_line *ret_lines)
{
	struct jitdump j = { .in = { .fd = -1, .mem = data, .size = len }, .addrs = addrs, .n = n, .hits = ret,
			     .lines = ret_lines };

	return lookup(&j);
}
