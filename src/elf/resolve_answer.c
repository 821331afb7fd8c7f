// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Encoding of a worker's answer: written in the worker, parsed by its parent, which does not trust it. Host byte
 * order: both ends are the same program.
 *
 *	struct resolve_head, n_addrs x struct resolve_wire_addr, n_funcs x struct resolve_wire_func, and string_bytes
 *	of NUL-terminated strings, the first of which is empty.
 */
#include "elf/resolve_answer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/io.h"

#define FUNCS_MAX (RESOLVE_INLINED_MAX + 1)
#define RESOLVE_MAGIC 0x76736572u
#define RESOLVE_STRINGS_MAX (8u << 20)	/* limit in bytes; names beyond it are left out */

struct resolve_head {
	uint32_t magic, n_addrs, n_funcs, string_bytes;
};

struct resolve_wire_addr {
	uint16_t quality, n;	/* functions */
};

struct resolve_wire_func {
	uint32_t name, raw, file, line;	/* offsets into the strings; line */
	uint64_t start;
};

/* ---- writing ---- */

int resolve_answer_begin(struct answer_writer *w)
{
	*w = (struct answer_writer){ 0 };
	map_init(&w->known, sizeof(uint64_t), sizeof(uint32_t));
	return buf_add_char(&w->strings, '\0');
}

void resolve_answer_fini(struct answer_writer *w)
{
	buf_fini(&w->addrs);
	buf_fini(&w->funcs);
	buf_fini(&w->strings);
	map_fini(&w->known);
}

static int add_string(struct answer_writer *w, const char *s, uint32_t *ret)
{
	size_t len = s ? strlen(s) : 0;
	uint64_t key = map_hash(s ? s : "", len);
	uint32_t *known;
	bool is_new;

	*ret = 0;
	if (!len || w->strings.len + len + 1 > RESOLVE_STRINGS_MAX)
		return 0;
	known = map_add(&w->known, &key, &is_new);
	if (!known)
		return -ENOMEM;
	if (!is_new && !strcmp(w->strings.data + *known, s)) { /* equal hashes do not prove equal strings */
		*ret = *known;
		return 0;
	}
	*ret = (uint32_t)w->strings.len;
	*known = *ret;
	return buf_add(&w->strings, s, len + 1);
}

int resolve_answer_add_func(struct answer_writer *w, const struct resolve_func *f)
{
	struct resolve_wire_func out = { .line = f->line, .start = f->start };
	int r = add_string(w, f->raw, &out.raw);

	if (r == 0)
		r = add_string(w, f->name, &out.name);
	if (r == 0)
		r = add_string(w, f->file, &out.file);
	return r < 0 ? r : buf_add(&w->funcs, &out, sizeof(out));
}

int resolve_answer_add_addr(struct answer_writer *w, enum resolve_quality quality, uint32_t n)
{
	struct resolve_wire_addr out = { .quality = (uint16_t)quality, .n = (uint16_t)n };

	return buf_add(&w->addrs, &out, sizeof(out));
}

int resolve_answer_write(struct answer_writer *w, int fd)
{
	struct resolve_head head = {
		.magic = RESOLVE_MAGIC,
		.n_addrs = (uint32_t)(w->addrs.len / sizeof(struct resolve_wire_addr)),
		.n_funcs = (uint32_t)(w->funcs.len / sizeof(struct resolve_wire_func)),
		.string_bytes = (uint32_t)w->strings.len,
	};
	int r = io_write_all(fd, &head, sizeof(head));

	if (r == 0)
		r = io_write_all(fd, w->addrs.data, w->addrs.len);
	if (r == 0)
		r = io_write_all(fd, w->funcs.data, w->funcs.len);
	return r < 0 ? r : io_write_all(fd, w->strings.data, w->strings.len);
}

/* ---- reading ---- */

size_t resolve_answer_cap(const struct resolve_request *q)
{
	return sizeof(struct resolve_head) + RESOLVE_STRINGS_MAX +
	       q->n * (sizeof(struct resolve_wire_addr) + FUNCS_MAX * sizeof(struct resolve_wire_func));
}

void resolve_answer_free(struct resolve_answer *a)
{
	if (!a)
		return;
	free(a->addrs);
	free(a->funcs);
	free(a->strings);
	free(a);
}
DEFINE_CLEANUP(struct resolve_answer *, resolve_answer_free)

static int parse_addrs(struct resolve_answer *a, const struct resolve_head *head, struct cursor *c)
{
	uint32_t used = 0;

	each_item(d, a->addrs, a->n) {
		uint16_t quality = cur_u16(c);

		d->n = cur_u16(c);
		d->funcs = a->funcs + used;
		if (!cur_ok(c) || quality >= RESOLVE_QUALITY__MAX || d->n > FUNCS_MAX || d->n > head->n_funcs - used)
			return -EBADMSG;
		if ((quality == RESOLVE_UNKNOWN) != (d->n == 0))
			return -EBADMSG;
		d->quality = (enum resolve_quality)quality;
		used += d->n;
	}
	return used == head->n_funcs ? 0 : -EBADMSG;
}

static int parse_funcs(struct resolve_answer *a, const struct resolve_head *head, struct cursor *c)
{
	for (uint32_t i = 0; i < head->n_funcs; i++) {
		uint32_t name = cur_u32(c), raw = cur_u32(c), file = cur_u32(c), line = cur_u32(c);
		uint64_t start = cur_u64(c);

		if (!cur_ok(c) || name >= head->string_bytes || raw >= head->string_bytes ||
		    file >= head->string_bytes)
			return -EBADMSG;
		a->funcs[i] = (struct resolve_func){
			.name = a->strings + (name ? name : raw), .raw = a->strings + raw,
			.file = a->strings + file, .line = line, .start = start,
		};
	}
	return 0;
}

/* A function must not start after its address. */
static int check_starts(const struct resolve_request *q, const struct resolve_answer *a)
{
	for (uint32_t i = 0; i < a->n; i++)
		for (uint32_t j = 0; j < a->addrs[i].n; j++)
			if (a->addrs[i].funcs[j].start > q->addrs[i])
				return -EBADMSG;
	return 0;
}

static int alloc_parts(struct resolve_answer *a, const struct resolve_head *head, const void *strings)
{
	a->n = head->n_addrs;
	a->addrs = calloc(a->n ? a->n : 1, sizeof(*a->addrs));
	a->funcs = calloc(head->n_funcs ? head->n_funcs : 1, sizeof(*a->funcs));
	a->strings = malloc(head->string_bytes);
	if (!a->addrs || !a->funcs || !a->strings)
		return -ENOMEM;
	memcpy(a->strings, strings, head->string_bytes);
	return 0;
}

int resolve_answer_parse(const struct resolve_request *q, const void *data, size_t len, struct resolve_answer **ret)
{
	_cleanup_(resolve_answer_freep) struct resolve_answer *a = calloc(1, sizeof(*a));
	struct cursor c = cur_init(data, len), addrs, funcs;
	struct resolve_head head;
	const char *strings;
	int r;

	if (!a)
		return -ENOMEM;
	cur_copy(&c, &head, sizeof(head));
	if (head.magic != RESOLVE_MAGIC || head.n_addrs != q->n)
		return -EBADMSG;
	addrs = cur_sub(&c, (size_t)head.n_addrs * sizeof(struct resolve_wire_addr));
	funcs = cur_sub(&c, (size_t)head.n_funcs * sizeof(struct resolve_wire_func));
	strings = cur_bytes(&c, head.string_bytes);
	if (!strings || cur_left(&c) || !head.string_bytes || strings[0] || strings[head.string_bytes - 1])
		return -EBADMSG;
	r = alloc_parts(a, &head, strings);
	if (r == 0)
		r = parse_addrs(a, &head, &addrs);
	if (r == 0)
		r = parse_funcs(a, &head, &funcs);
	if (r == 0)
		r = check_starts(q, a);
	if (r == 0)
		*ret = TAKE_PTR(a);
	return r;
}

const struct resolve_addr *resolve_answer_better(const struct resolve_addr *a, const struct resolve_addr *b)
{
	if (a->quality != b->quality)
		return a->quality > b->quality ? a : b;
	return b->n > a->n ? b : a;
}
