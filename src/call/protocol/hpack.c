// SPDX-License-Identifier: GPL-2.0-or-later
#include "call/protocol/hpack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/vec.h"
#include "call/call_pool.h"

#define ENTRY_OVERHEAD 32	/* RFC 7541, 4.1 */
#define TABLE_DEFAULT 4096
#define END_OF_STRING 256
#define SYMBOLS 257
#define CODE_BITS_MIN 5
#define CODE_BITS_MAX 30

/* RFC 7541, appendix A. */
static const struct {
	const char *name, *value;
} fixed[] = {
	{ ":authority", "" }, { ":method", "GET" }, { ":method", "POST" }, { ":path", "/" },
	{ ":path", "/index.html" }, { ":scheme", "http" }, { ":scheme", "https" }, { ":status", "200" },
	{ ":status", "204" }, { ":status", "206" }, { ":status", "304" }, { ":status", "400" },
	{ ":status", "404" }, { ":status", "500" }, { "accept-charset", "" },
	{ "accept-encoding", "gzip, deflate" }, { "accept-language", "" }, { "accept-ranges", "" },
	{ "accept", "" }, { "access-control-allow-origin", "" }, { "age", "" }, { "allow", "" },
	{ "authorization", "" }, { "cache-control", "" }, { "content-disposition", "" },
	{ "content-encoding", "" }, { "content-language", "" }, { "content-length", "" },
	{ "content-location", "" }, { "content-range", "" }, { "content-type", "" }, { "cookie", "" },
	{ "date", "" }, { "etag", "" }, { "expect", "" }, { "expires", "" }, { "from", "" }, { "host", "" },
	{ "if-match", "" }, { "if-modified-since", "" }, { "if-none-match", "" }, { "if-range", "" },
	{ "if-unmodified-since", "" }, { "last-modified", "" }, { "link", "" }, { "location", "" },
	{ "max-forwards", "" }, { "proxy-authenticate", "" }, { "proxy-authorization", "" }, { "range", "" },
	{ "referer", "" }, { "refresh", "" }, { "retry-after", "" }, { "server", "" }, { "set-cookie", "" },
	{ "strict-transport-security", "" }, { "transfer-encoding", "" }, { "user-agent", "" }, { "vary", "" },
	{ "via", "" }, { "www-authenticate", "" },
};

/* RFC 7541, appendix B: bits of each symbol's code. The codes are canonical: by length, then by symbol. */
static const uint8_t code_bits[SYMBOLS] = {
	13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28,
	28, 28, 28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
	5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7,
	7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
	15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7,
	7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
	24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21,
	23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
	26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24,
	21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
	26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30,
};

/* How many codes have n bits. */
static const uint8_t codes[CODE_BITS_MAX + 1] = {
	0, 0, 0, 0, 0, 10, 26, 32, 6, 0, 5, 3, 2, 6, 2, 3, 0, 0, 0, 3, 8, 13, 26, 29, 12, 4, 15, 19, 29, 0, 4,
};

struct hpack_entry {
	char *text;	/* owned: name and value */
	uint16_t name_len, value_len;
};

static size_t memory_of(const struct hpack_entry *e)
{
	return sizeof(*e) + e->name_len + e->value_len;
}

static void evict_to(struct hpack *h, struct call_pool *pool, size_t limit)
{
	size_t n = 0;

	for (; n < h->len && h->bytes > limit; n++) {
		h->bytes -= (size_t)h->entries[n].name_len + h->entries[n].value_len + ENTRY_OVERHEAD;
		call_pool_give(pool, memory_of(&h->entries[n]));
		free(h->entries[n].text);
	}
	if (n)
		memmove(h->entries, h->entries + n, (h->len - n) * sizeof(*h->entries));
	h->len -= n;
}

static size_t limit_of(const struct hpack *h)
{
	return h->limit ? h->limit - 1 : TABLE_DEFAULT;
}

static void insert(struct hpack *h, struct call_pool *pool, const struct hpack_field *f)
{
	struct hpack_entry e = { .name_len = (uint16_t)f->name_len, .value_len = (uint16_t)f->value_len };
	size_t size = f->name_len + f->value_len + ENTRY_OVERHEAD;

	h->inserted++;
	evict_to(h, pool, size > limit_of(h) ? 0 : limit_of(h) - size);
	if (size > limit_of(h) || !call_pool_take(pool, memory_of(&e)))
		return;
	e.text = malloc(size);
	if (!e.text || vec_grow_raw((void **)&h->entries, &h->cap, h->len + 1, sizeof(e)) < 0) {
		free(e.text);
		call_pool_give(pool, memory_of(&e));
		return;
	}
	memcpy(e.text, f->name, f->name_len);
	memcpy(e.text + f->name_len, f->value, f->value_len);
	h->entries[h->len++] = e;
	h->bytes += size;
}

void hpack_fini(struct hpack *h, struct call_pool *pool)
{
	evict_to(h, pool, 0);
	free(h->entries);
	*h = (struct hpack){ 0 };
}

/* RFC 7541, 5.1: a number that begins in the low @bits of the next byte. */
static uint64_t take_number(struct cursor *c, unsigned bits)
{
	uint64_t mask = (1u << bits) - 1, v = cur_u8(c) & mask;

	if (v < mask)
		return v;
	for (unsigned shift = 0; shift < 35; shift += 7) {
		uint8_t more = cur_u8(c);

		v += (uint64_t)(more & 0x7f) << shift;
		if (!(more & 0x80))
			return v;
	}
	c->bad = true;
	return 0;
}

/* The symbol whose code has @bits bits and is the @nth of those; -1 = there are fewer. */
static int nth_symbol(unsigned bits, uint32_t nth)
{
	for (int s = 0; s < SYMBOLS; s++)
		if (code_bits[s] == bits && !nth--)
			return s;
	return -1;
}

/* Length of the code at the top of @window and the symbol; false if it is none, or the end of the string. */
static bool take_symbol(uint32_t window, unsigned *ret_bits, char *ret)
{
	uint32_t first = 0;

	for (unsigned bits = CODE_BITS_MIN; bits <= CODE_BITS_MAX; bits++) {
		uint32_t n = codes[bits], code = window >> (32 - bits);

		first <<= bits == CODE_BITS_MIN ? 0 : 1;
		if (code - first < n) {
			int symbol = nth_symbol(bits, code - first);

			*ret_bits = bits;
			*ret = (char)symbol;
			return symbol != END_OF_STRING;
		}
		first += n;
	}
	return false;
}

static bool decode_huffman(struct cursor c, char out[static HPACK_STRING_MAX], size_t *ret_len, bool *cut)
{
	uint64_t window = 0;	/* the next bits, in the low @have bits */
	unsigned have = 0;
	size_t len = 0;

	for (;;) {
		unsigned bits;
		char symbol;
		uint32_t top;

		while (have <= 32 && cur_left(&c)) {
			window = window << 8 | cur_u8(&c);
			have += 8;
		}
		/* RFC 7541, 5.2: padded with ones, less than a byte. */
		top = have >= 32 ? (uint32_t)(window >> (have - 32))
				 : (uint32_t)(window << (32 - have)) | (uint32_t)((1ull << (32 - have)) - 1);
		if (have < 8 && top == UINT32_MAX)
			break;
		if (!take_symbol(top, &bits, &symbol) || bits > have)
			return false;
		have -= bits;
		window &= (1ull << have) - 1;
		if (len < HPACK_STRING_MAX)
			out[len++] = symbol;
		else
			*cut = true;
	}
	*ret_len = len;
	return true;
}

static bool take_string(struct cursor *c, char out[static HPACK_STRING_MAX], size_t *ret_len, bool *cut)
{
	bool huffman = cur_peek(c, 0) & 0x80;
	uint64_t len = take_number(c, 7);
	struct cursor s = cur_sub(c, (size_t)len);

	if (!cur_ok(&s) || !cur_ok(c))
		return false;
	if (huffman)
		return decode_huffman(s, out, ret_len, cut);
	*ret_len = MIN((size_t)len, (size_t)HPACK_STRING_MAX);
	*cut |= *ret_len < len;
	return cur_copy(&s, out, *ret_len);
}

/* Copies name, and value if @whole, of an entry. False: it is from before the start. */
static bool get(const struct hpack *h, uint64_t index, bool whole, struct hpack_field *f)
{
	const struct hpack_entry *e;

	f->name_len = f->value_len = 0;
	if (index <= ARRAY_SIZE(fixed)) {
		f->name_len = strlen(fixed[index - 1].name);
		memcpy(f->name, fixed[index - 1].name, f->name_len);
		f->value_len = whole ? strlen(fixed[index - 1].value) : 0;
		memcpy(f->value, fixed[index - 1].value, f->value_len);
		return true;
	}
	index -= ARRAY_SIZE(fixed) + 1;
	f->old = index - h->inserted;
	if (index >= h->len)
		return false;
	e = &h->entries[h->len - 1 - index];
	f->name_len = e->name_len;
	memcpy(f->name, e->text, e->name_len);
	f->value_len = whole ? e->value_len : 0;
	memcpy(f->value, e->text + e->name_len, f->value_len);
	return true;
}

static int take_literal(struct hpack *h, struct call_pool *pool, struct cursor *c, unsigned bits,
			struct hpack_field *f)
{
	uint64_t index = take_number(c, bits);

	if (index)
		get(h, index, false, f);
	else if (!take_string(c, f->name, &f->name_len, &f->cut))
		return -EBADMSG;
	if (!take_string(c, f->value, &f->value_len, &f->cut))
		return -EBADMSG;
	if (bits == 6)
		insert(h, pool, f);
	return 1;
}

int hpack_next(struct hpack *h, struct call_pool *pool, struct cursor *block, struct hpack_field *ret)
{
	uint8_t first;
	uint64_t v;

	while ((cur_peek(block, 0) & 0xe0) == 0x20) {	/* RFC 7541, 6.3: a new size of the table */
		v = take_number(block, 5);
		if (!cur_ok(block))
			return -EBADMSG;
		h->limit = (uint32_t)MIN(v, (uint64_t)HPACK_TABLE_MAX) + 1;
		evict_to(h, pool, limit_of(h));
	}
	if (!cur_left(block))
		return cur_ok(block) ? 0 : -EBADMSG;
	ret->unknown = ret->cut = false;
	first = cur_peek(block, 0);
	if (!(first & 0x80))
		return take_literal(h, pool, block, first & 0x40 ? 6 : 4, ret);
	v = take_number(block, 7);
	if (!v || !cur_ok(block))
		return -EBADMSG;
	ret->unknown = !get(h, v, true, ret);
	return 1;
}
