// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/buf.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

void buf_fini(struct buf *b)
{
	if (!b->borrowed)
		free(b->data);
	*b = (struct buf){ 0 };
}

void buf_reset(struct buf *b)
{
	b->len = 0;
	b->error = 0;
}

static int grow(struct buf *b, size_t len)
{
	size_t cap = b->cap ? b->cap : 256;
	char *p;

	if (b->error)
		return b->error;
	if (len > SIZE_MAX / 2 - b->len)
		return b->error = -ENOMEM;
	while (cap < b->len + len)
		cap *= 2;
	p = realloc(b->borrowed ? NULL : b->data, cap);
	if (!p)
		return b->error = -ENOMEM;
	if (b->borrowed)
		memcpy(p, b->data, b->len);
	b->borrowed = false;
	b->data = p;
	b->cap = cap;
	return 0;
}

void *buf_reserve_slow(struct buf *b, size_t len)
{
	return grow(b, len) < 0 ? NULL : b->data + b->len;
}

int buf_add_slow(struct buf *b, const void *data, size_t len)
{
	void *p = buf_reserve(b, len);

	if (!p)
		return b->error;
	if (len)
		memcpy(p, data, len);
	b->len += len;
	return 0;
}

/* ---- numbers and formats ---- */

#define DIGITS_MAX 22	/* of 64 bits in octal */

static const char pairs[] =
	"0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849"
	"5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";

/* Writes the digits of @v in front of @end; returns the first. */
static char *put_decimal(char *end, uint64_t v)
{
	for (; v >= 100; v /= 100)
		memcpy(end -= 2, &pairs[v % 100 * 2], 2);
	if (v < 10)
		*--end = (char)('0' + v);
	else
		memcpy(end -= 2, &pairs[v * 2], 2);
	return end;
}

static char *put_bits(char *end, uint64_t v, unsigned bits)
{
	do
		*--end = "0123456789abcdef"[v & ((1u << bits) - 1)];
	while (v >>= bits);
	return end;
}

/* Number of decimal digits: 1233 / 4096 is the logarithm of 2, and too small by at most one. */
static unsigned decimal_digits(uint64_t v)
{
	static const uint64_t powers[] = {
		0, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000, 10000000000, 100000000000,
		1000000000000, 10000000000000, 100000000000000, 1000000000000000, 10000000000000000,
		100000000000000000, 1000000000000000000, 10000000000000000000u,
	};
	unsigned n = (64u - (unsigned)__builtin_clzll(v | 1)) * 1233 >> 12;

	return n + (v >= powers[n]);
}

int buf_add_u64(struct buf *b, uint64_t v)
{
	const unsigned n = decimal_digits(v);
	char *p = buf_reserve(b, n);

	if (!p)
		return b->error;
	put_decimal(p + n, v);
	buf_commit(b, n);
	return 0;
}

int buf_add_i64(struct buf *b, int64_t v)
{
	if (v < 0)
		buf_add_char(b, '-');
	return buf_add_u64(b, v < 0 ? -(uint64_t)v : (uint64_t)v);
}

/* The eight hexadecimal digits of @v. */
static void put_hex8(char *p, uint32_t v)
{
	const uint64_t ones = 0x0101010101010101;
	uint64_t x = v;

	x = (x | x << 16) & 0x0000ffff0000ffff; /* a digit for each byte, the first one at the top */
	x = (x | x << 8) & 0x00ff00ff00ff00ff;
	x = __builtin_bswap64((x | x << 4) & 0x0f0f0f0f0f0f0f0f);
	x += ones * '0' + (((x + ones * 6) >> 4) & ones) * ('a' - '0' - 10);
	memcpy(p, &x, sizeof(x));
}

int buf_add_hex(struct buf *b, uint64_t v)
{
	const unsigned bits = 64u - (unsigned)__builtin_clzll(v | 1), n = (bits + 3) / 4;
	char *p = buf_reserve(b, 2 + 16);

	if (!p)
		return b->error;
	if (v)
		memcpy(p, "0x", 2);
	p += v ? 2 : 0;
	v <<= 64 - 4 * n;
	put_hex8(p, (uint32_t)(v >> 32));
	put_hex8(p + 8, (uint32_t)v);
	buf_commit(b, (v ? 2 : 0) + n);
	return 0;
}

int buf_add_digits(struct buf *b, uint32_t v, unsigned n)
{
	char *p = buf_reserve(b, n), *at;

	if (!p)
		return b->error;
	for (at = p + n; at - p >= 2; v /= 100)
		memcpy(at -= 2, &pairs[v % 100 * 2], 2);
	if (at > p)
		*--at = (char)('0' + v % 10);
	buf_commit(b, n);
	return 0;
}

/* A conversion of a format: what sonde prints per event. */
struct conversion {
	bool alt, zero, left;		/* the flags # 0 - */
	bool wide;			/* of 64 bits */
	int width, precision;		/* precision < 0: none */
	char kind;
};

struct arguments { va_list ap; };

static const char *read_count(const char *p, struct arguments *a, int *ret)
{
	if (*p == '*') {
		*ret = va_arg(a->ap, int);
		return p + 1;
	}
	for (*ret = 0; *p >= '0' && *p <= '9' && *ret < INT_MAX / 10 - 1; p++)
		*ret = *ret * 10 + (*p - '0');
	return p;
}

static bool is_own(char kind)
{
	switch (kind) {
	case 's': case 'c': case 'd': case 'i': case 'u': case 'x': case 'o': case '%': return true;
	default: return false;
	}
}

/* Reads the conversion behind a "%". Returns what follows it; NULL: only the C library knows the conversion. */
static const char *read_conversion(const char *p, struct arguments *a, struct conversion *ret)
{
	*ret = (struct conversion){ .precision = -1 };
	for (; *p == '#' || *p == '0' || *p == '-'; p++) {
		ret->alt |= *p == '#';
		ret->zero |= *p == '0';
		ret->left |= *p == '-';
	}
	p = read_count(p, a, &ret->width);
	if (*p == '.')
		p = read_count(p + 1, a, &ret->precision);
	for (; *p == 'l' || *p == 'z' || *p == 'j'; p++)
		ret->wide = true;
	ret->kind = *p;
	if (!is_own(*p) || ret->width < 0 || (ret->precision >= 0 && *p != 's') ||
	    (ret->wide && (*p == 's' || *p == 'c')))
		return NULL;
	return p + 1;
}

static void add_padded(struct buf *b, const struct conversion *c, const char *s, size_t len)
{
	size_t pad = (size_t)c->width > len ? (size_t)c->width - len : 0;
	char *p = pad ? buf_reserve(b, pad + len) : NULL;

	if (p) {
		memset(p + (c->left ? len : 0), ' ', pad);
		memcpy(p + (c->left ? 0 : pad), s, len);
		buf_commit(b, pad + len);
	} else {
		buf_add(b, s, len);
	}
}

static void add_number(struct buf *b, const struct conversion *c, uint64_t v, bool negative)
{
	char text[DIGITS_MAX + 2], *end = text + sizeof(text), *p;
	const char *sign = negative ? "-" : c->alt && v && c->kind == 'x' ? "0x" : "";
	const size_t width = (size_t)c->width, sign_len = strlen(sign);
	struct conversion plain = *c;

	p = c->kind == 'x' ? put_bits(end, v, 4) : c->kind == 'o' ? put_bits(end, v, 3) : put_decimal(end, v);
	if (c->alt && c->kind == 'o' && v)
		*--p = '0';
	if (c->zero && !c->left) {
		buf_add(b, sign, sign_len);
		for (size_t n = (size_t)(end - p) + sign_len; n < width; n++)
			buf_add_char(b, '0');
		plain.width = 0;
	} else {
		p -= sign_len;
		memcpy(p, sign, sign_len);
	}
	add_padded(b, &plain, p, (size_t)(end - p));
}

static void add_string(struct buf *b, const struct conversion *c, const char *s)
{
	if (!s)
		s = "(null)";
	add_padded(b, c, s, c->precision < 0 ? strlen(s) : strnlen(s, (size_t)c->precision));
}

static void add_converted(struct buf *b, const struct conversion *c, struct arguments *a)
{
	int64_t i;
	char ch;

	switch (c->kind) {
	case 's':
		add_string(b, c, va_arg(a->ap, const char *));
		break;
	case 'c':
		ch = (char)va_arg(a->ap, int);
		add_padded(b, c, &ch, 1);
		break;
	case 'd': case 'i':
		i = c->wide ? va_arg(a->ap, int64_t) : va_arg(a->ap, int);
		add_number(b, c, i < 0 ? -(uint64_t)i : (uint64_t)i, i < 0);
		break;
	case '%':
		buf_add_char(b, '%');
		break;
	default: add_number(b, c, c->wide ? va_arg(a->ap, uint64_t) : va_arg(a->ap, unsigned), false);
	}
}

/* False at a conversion that it leaves to the C library; the text before it is added then. */
static bool add_format(struct buf *b, const char *fmt, struct arguments *a)
{
	struct conversion c;

	while (*fmt) {
		size_t n = 0;

		while (fmt[n] && fmt[n] != '%')
			n++;
		buf_add(b, fmt, n);
		fmt += n;
		if (!*fmt)
			break;
		fmt = read_conversion(fmt + 1, a, &c);
		if (!fmt)
			return false;
		add_converted(b, &c, a);
	}
	return true;
}

static int add_by_libc(struct buf *b, const char *fmt, va_list ap)
{
	va_list again;
	int n;

	if (!buf_reserve(b, 1))
		return b->error;
	va_copy(again, ap);
	n = vsnprintf(b->data + b->len, b->cap - b->len, fmt, ap);
	if (n >= 0 && (size_t)n >= b->cap - b->len) {
		if (buf_reserve(b, (size_t)n + 1))
			n = vsnprintf(b->data + b->len, b->cap - b->len, fmt, again);
		else
			n = -1;
	}
	va_end(again);
	if (n < 0)
		return b->error ? b->error : (b->error = -EINVAL);
	b->len += (size_t)n;
	return 0;
}

/* The C library sets up a stream for each call, which costs five times as much as a usual format. */
int buf_printf(struct buf *b, const char *fmt, ...)
{
	const size_t len = b->len;
	struct arguments a;
	bool done;
	int r;

	va_start(a.ap, fmt);
	done = add_format(b, fmt, &a);
	va_end(a.ap);
	if (done)
		return b->error;
	b->len = len;
	va_start(a.ap, fmt);
	r = add_by_libc(b, fmt, a.ap);
	va_end(a.ap);
	return r;
}

int buf_add_mac(struct buf *b, const uint8_t *mac)
{
	return buf_printf(b, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
}

int buf_add_hexdump(struct buf *b, const void *data, size_t len)
{
	const uint8_t *p = data;

	for (size_t off = 0; off < len; off += 16) {
		size_t n = MIN(len - off, (size_t)16);

		buf_printf(b, "%08zx", off);
		for (size_t i = 0; i < 16; i++) {
			buf_add_str(b, i % 8 ? " " : "  ");
			if (i < n)
				buf_printf(b, "%02x", p[off + i]);
			else
				buf_add_str(b, "  ");
		}
		buf_add_str(b, "  |");
		for (size_t i = 0; i < n; i++)
			buf_add_char(b, p[off + i] >= 0x20 && p[off + i] < 0x7f ? (char)p[off + i] : '.');
		buf_add_str(b, "|\n");
	}
	return buf_error(b);
}

int buf_align(struct buf *b, size_t align)
{
	size_t pad = ROUND_UP(b->len, align) - b->len;
	void *p = buf_reserve(b, pad);

	if (!p)
		return b->error;
	if (pad)
		memset(p, 0, pad);
	b->len += pad;
	return 0;
}

void buf_consume(struct buf *b, size_t len)
{
	len = MIN(len, b->len);
	if (len)
		memmove(b->data, b->data + len, b->len - len);
	b->len -= len;
}

const char *buf_str(struct buf *b)
{
	if (buf_add_char(b, '\0') < 0)
		return "";
	b->len--;
	return b->data;
}
