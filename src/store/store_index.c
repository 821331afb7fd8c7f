// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Filters are Bloom filters (Communications of the ACM 13(7), 1970) of 2^n bits, 10 per key, 4 hashes each. One of
 * 2^n bits becomes one of 2^(n-1) when its halves are joined, because a hash is reduced by its low bits.
 */
#include "store/store_index.h"

#include <errno.h>
#include <string.h>

#include "store/crc32c.h"
#include "base/cursor.h"
#include "sonde/ident_wire.h"
#include "store/store_block.h"

#define LOG2_MAX 16			/* bits of STORE_FILTER_BYTES */
#define LOG2_MIN 6
#define BITS_PER_KEY 10

_Static_assert(1u << LOG2_MAX == STORE_FILTER_BYTES * 8, "the largest filter");

/* splitmix64 (Steele, Lea, Flood: OOPSLA 2014) */
static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

static uint32_t bit_of(uint64_t hash, unsigned i)
{
	return (uint32_t)hash + i * ((uint32_t)(hash >> 32) | 1);
}

static void add_key(struct store_facts *f, unsigned by, uint64_t key)
{
	uint64_t hash, *bits = f->bits[by];
	bool is_new = false;

	if (!key || f->last[by] == key)
		return;
	f->last[by] = key;
	hash = mix(key);
	for (unsigned i = 0; i < SONDE_STORE_HASHES; i++) {
		const uint32_t bit = bit_of(hash, i) & ((1u << LOG2_MAX) - 1);

		is_new |= !(bits[bit / 64] >> bit % 64 & 1);
		bits[bit / 64] |= 1ull << bit % 64;
	}
	f->n_keys[by] += is_new;
}

void store_index_facts_reset(struct store_facts *f)
{
	memset(f, 0, sizeof(*f));
}

void store_index_facts_process(struct store_facts *f, uint32_t tgid)
{
	add_key(f, SONDE_STORE_BY_PROCESS, tgid);
}

void store_index_facts_add(struct store_facts *f, const struct sonde_rec *r)
{
	const struct sonde_ident *id = (const void *)(r + 1);
	const unsigned probe = r->type >> 8;

	f->n[probe]++;
	f->bytes[probe] += r->len;
	add_key(f, SONDE_STORE_BY_PROCESS, r->tgid);
	if (r->type == SONDE_EV_LOST)
		f->flags |= SONDE_STORE_HAS_LOSS;
	if (r->flags & SONDE_RF_TRIGGER)
		f->flags |= SONDE_STORE_HAS_TRIGGER;
	if (probe && !r->tgid && !(r->flags & SONDE_RF_SNAPSHOT))
		f->flags |= SONDE_STORE_HAS_OPEN;
	if (!(r->flags & SONDE_RF_IDENT) || r->len < sizeof(*r) + sizeof(*id))
		return;
	add_key(f, SONDE_STORE_BY_SOCKET, id->sock);
	add_key(f, SONDE_STORE_BY_CALL, id->call);
	add_key(f, SONDE_STORE_BY_FILE, id->file);
	if (id->sock && id->owner_how == SONDE_HOW_LISTENER)
		f->flags |= SONDE_STORE_HAS_OPEN;
}

void store_index_fini(struct store_index *x)
{
	vec_fini(&x->blocks);
	vec_fini(&x->counts);
	buf_fini(&x->filters);
}

void store_index_reset(struct store_index *x)
{
	x->blocks.len = x->counts.len = 0;
	buf_reset(&x->filters);
	x->offset_min_ns = x->offset_max_ns = 0;
}

/* Joins the halves of @bits, of @log2 bits, until fewer than BITS_PER_KEY remained. Returns the new size. */
static unsigned fold(uint64_t *bits, unsigned log2, uint32_t n_keys)
{
	while (log2 > LOG2_MIN && 1u << (log2 - 1) >= (uint64_t)n_keys * BITS_PER_KEY) {
		const size_t half = (1u << (log2 - 1)) / 64;

		log2--;
		for (size_t i = 0; i < half; i++)
			bits[i] |= bits[half + i];
	}
	return log2;
}

static int add_filters(struct store_index *x, struct sonde_store_block *b, const struct store_facts *f)
{
	uint64_t bits[STORE_FILTER_BYTES / 8];

	for (unsigned by = 0; by < SONDE_STORE_BY__MAX; by++) {
		if (!f->n_keys[by])
			continue;
		memcpy(bits, f->bits[by], sizeof(bits));
		b->filter_log2[by] = (uint16_t)fold(bits, LOG2_MAX, f->n_keys[by]);
		b->filter[by] = (uint32_t)x->filters.len;
		buf_add(&x->filters, bits, (1u << b->filter_log2[by]) / 8);
	}
	return buf_error(&x->filters);
}

static int add_counts(struct store_index *x, struct sonde_store_block *b, const struct store_facts *f)
{
	b->counts = (uint32_t)x->counts.len;
	for (uint32_t probe = 0; probe < STORE_PROBES; probe++) {
		if (!f->n[probe])
			continue;
		if (vec_grow(&x->counts) < 0)
			return -ENOMEM;
		x->counts.items[x->counts.len++] = (struct sonde_store_count){
			.probe = probe, .n = f->n[probe], .bytes = f->bytes[probe],
		};
		b->n_counts++;
	}
	return 0;
}

int store_index_add(struct store_index *x, uint64_t off, uint8_t role, const struct store_block_sum *sum,
		    const struct store_facts *facts)
{
	struct sonde_store_block b = {
		.off = off, .len = sum->len, .rlen = sum->rlen, .n = sum->n, .role = role, .n_chunks = sum->n_chunks,
		.t_min = sum->t_min, .t_max = sum->t_max,
	};
	int r = vec_grow(&x->blocks);

	if (r >= 0 && facts) {
		b.flags = facts->flags;
		r = add_filters(x, &b, facts);
		if (r >= 0)
			r = add_counts(x, &b, facts);
	}
	if (r < 0)
		return r;
	x->blocks.items[x->blocks.len++] = b;
	return 0;
}

void store_index_add_process(struct store_index *x, size_t i, uint32_t tgid)
{
	struct sonde_store_block *b = &x->blocks.items[i];
	const unsigned log2 = b->filter_log2[SONDE_STORE_BY_PROCESS];
	const uint64_t hash = mix(tgid);
	uint8_t *bits;

	if (!b->n_counts)
		return;
	if (!log2) {	/* without a filter: any process may be in it */
		b->n_counts = 0;
		return;
	}
	bits = (uint8_t *)x->filters.data + b->filter[SONDE_STORE_BY_PROCESS];
	for (unsigned k = 0; k < SONDE_STORE_HASHES; k++) {
		const uint32_t bit = bit_of(hash, k) & ((1u << log2) - 1);

		bits[bit / 8] |= (uint8_t)(1u << bit % 8);
	}
}

int store_index_write(const struct store_index *x, struct buf *out)
{
	const struct sonde_store_index top = {
		.n_blocks = (uint32_t)x->blocks.len, .n_counts = (uint32_t)x->counts.len,
		.filter_len = (uint32_t)x->filters.len, .offset_min_ns = x->offset_min_ns,
		.offset_max_ns = x->offset_max_ns,
	};
	struct sonde_store_chunk h = { .kind = SONDE_STORE_INDEX, .flags = SONDE_STORE_LAST };
	const size_t at = out->len;

	buf_add(out, &h, sizeof(h));
	buf_add(out, &top, sizeof(top));
	buf_add(out, x->blocks.items, x->blocks.len * sizeof(*x->blocks.items));
	buf_add(out, x->counts.items, x->counts.len * sizeof(*x->counts.items));
	buf_add(out, x->filters.data, x->filters.len);
	if (buf_error(out) < 0)
		return -ENOMEM;
	h.clen = h.rlen = (uint32_t)(out->len - at - sizeof(h));
	h.crc = crc32c(crc32c(0, &h, sizeof(h)), out->data + at + sizeof(h), h.clen);
	memcpy(out->data + at, &h, sizeof(h));
	return buf_align(out, SONDE_STORE_ALIGN);
}

static bool is_sound(const struct store_index *x, const struct sonde_store_block *b, size_t at, uint64_t file_bytes)
{
	if (b->off < SONDE_STORE_HEAD_BYTES || b->off % SONDE_STORE_ALIGN || b->off > file_bytes ||
	    b->len > file_bytes - b->off || b->len < sizeof(struct sonde_store_chunk) || b->t_min > b->t_max ||
	    b->role >= SONDE_STORE_ROLE__MAX || !b->n_chunks)
		return false;
	if (b->counts > x->counts.len || b->n_counts > x->counts.len - b->counts)
		return false;
	if (b->role == SONDE_STORE_COPY && (b->covers >= at || b->n_chunks > at - b->covers))
		return false;
	for (unsigned by = 0; by < SONDE_STORE_BY__MAX; by++) {
		const unsigned log2 = b->filter_log2[by];

		if (log2 && (log2 < LOG2_MIN || log2 > LOG2_MAX || b->filter[by] > x->filters.len ||
			     (1u << log2) / 8 > x->filters.len - b->filter[by]))
			return false;
	}
	return true;
}

static int take_rows(void *items_at, size_t *cap, size_t *ret_len, size_t n, size_t size, struct cursor *c)
{
	void **items = items_at;
	const void *rows = n <= cur_left(c) / size ? cur_bytes(c, n * size) : NULL;

	if (!rows)
		return n ? -EBADMSG : 0;
	if (vec_grow_raw(items, cap, n, size) < 0)
		return -ENOMEM;
	memcpy(*items, rows, n * size);
	*ret_len = n;
	return 0;
}

int store_index_parse(struct store_index *x, const void *data, size_t len, uint64_t file_bytes)
{
	struct cursor c = cur_init(data, len);
	struct sonde_store_index top;
	const void *filters;
	int r;

	store_index_reset(x);
	if (!cur_copy(&c, &top, sizeof(top)))
		return -EBADMSG;
	r = take_rows(&x->blocks.items, &x->blocks.cap, &x->blocks.len, top.n_blocks, sizeof(*x->blocks.items), &c);
	if (r >= 0)
		r = take_rows(&x->counts.items, &x->counts.cap, &x->counts.len, top.n_counts,
			      sizeof(*x->counts.items), &c);
	if (r < 0)
		return r;
	filters = cur_bytes(&c, top.filter_len);
	if (!cur_ok(&c))
		return -EBADMSG;
	if (buf_add(&x->filters, filters, top.filter_len) < 0)
		return -ENOMEM;
	x->offset_min_ns = top.offset_min_ns;
	x->offset_max_ns = top.offset_max_ns;
	for (size_t i = 0; i < x->blocks.len; i++)
		if (!is_sound(x, &x->blocks.items[i], i, file_bytes))
			return -EBADMSG;
	return 0;
}

bool store_index_may_have(const struct store_index *x, const struct sonde_store_block *b, unsigned by, uint64_t key)
{
	const unsigned log2 = b->filter_log2[by];
	const uint64_t hash = mix(key);
	const uint8_t *bits;

	if (!b->n_counts || (by == SONDE_STORE_BY_PROCESS && b->flags & SONDE_STORE_HAS_OPEN))
		return true;
	if (!log2)
		return false;
	bits = (const uint8_t *)x->filters.data + b->filter[by];
	for (unsigned i = 0; i < SONDE_STORE_HASHES; i++) {
		const uint32_t bit = bit_of(hash, i) & ((1u << log2) - 1);

		if (!(bits[bit / 8] >> bit % 8 & 1))
			return false;
	}
	return true;
}

bool store_index_has_probe(const struct store_index *x, const struct sonde_store_block *b, uint64_t probes)
{
	for (uint32_t i = 0; i < b->n_counts; i++) {
		const struct sonde_store_count *c = &x->counts.items[b->counts + i];

		if (c->probe < 64 && probes >> c->probe & 1)
			return true;
	}
	return !b->n_counts;
}
