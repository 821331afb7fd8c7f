// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/str.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/macros.h"

#define ESCAPE_MAX 16 /* four bytes at \xNN each */

/* Reads one UTF-8 character (RFC 3629: shortest form, no surrogates, <= U+10FFFF). 0 = invalid. */
static size_t utf8_decode(const unsigned char *s, size_t len, uint32_t *ret)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n = s[0] < 0x80 ? 1 : (s[0] & 0xe0) == 0xc0 ? 2 : (s[0] & 0xf0) == 0xe0 ? 3 :
		   (s[0] & 0xf8) == 0xf0 ? 4 : 0;
	uint32_t c;

	if (!n || n > len)
		return 0;
	if (n == 1) {
		*ret = s[0];
		return 1;
	}
	c = s[0] & (0x7f >> n);
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*ret = c;
	return n;
}

size_t str_utf8_len(const char *s, size_t len)
{
	uint32_t c;

	return len ? utf8_decode((const unsigned char *)s, len, &c) : 0;
}

/* True for characters that control a terminal or the text direction. */
static bool is_control(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x200e || c == 0x200f || c == 0x061c ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

/* Escapes a character or byte of @s into @out (not terminated); consumes *ret_used bytes of @s. */
static size_t escape_one(char out[static ESCAPE_MAX + 1], const char *s, size_t len, size_t *ret_used)
{
	static const char short_form[] = { ['\n'] = 'n', ['\t'] = 't', ['\r'] = 'r', [0x1b] = 'e' };
	uint32_t c = 0;
	size_t n = utf8_decode((const unsigned char *)s, len, &c), used = n ? n : 1, w = 0;

	*ret_used = used;
	if (n && !is_control(c) && c != '\\') {
		memcpy(out, s, n);
		return n;
	}
	if (n == 1 && (c == '\\' || (c < sizeof(short_form) && short_form[c]))) {
		out[0] = '\\';
		out[1] = c == '\\' ? '\\' : short_form[c];
		return 2;
	}
	for (size_t i = 0; i < used; i++)
		w += (size_t)snprintf(out + w, ESCAPE_MAX + 1 - w, "\\x%02x", (unsigned char)s[i]);
	return w;
}

size_t str_escape(char *dst, size_t cap, const char *src, size_t len)
{
	char one[ESCAPE_MAX + 1];
	size_t w = 0;

	if (!cap)
		return 0;
	while (len) {
		size_t used, n = escape_one(one, src, len, &used);

		if (w + n + 1 > cap)
			break;
		memcpy(dst + w, one, n);
		w += n;
		src += used;
		len -= used;
	}
	dst[w] = '\0';
	return w;
}

/* The last eight bytes of a string, or all four to eight of a short one: some of them twice. */
static uint64_t last_word(const char *s, size_t len)
{
	uint32_t low, high;
	uint64_t word;

	if (len >= sizeof(word)) {
		memcpy(&word, s + len - sizeof(word), sizeof(word));
		return word;
	}
	memcpy(&low, s, sizeof(low));
	memcpy(&high, s + len - sizeof(high), sizeof(high));
	return (uint64_t)high << 32 | low;
}

static bool is_plain_word(uint64_t word, char but)
{
	return str_word_is_plain(word, '\\') && str_word_is_plain(word, but);
}

size_t str_plain_span(const char *s, size_t len, char but)
{
	uint64_t word;
	size_t n = 0;

	for (; len - n >= sizeof(word); n += sizeof(word)) {
		memcpy(&word, s + n, sizeof(word));
		if (!is_plain_word(word, but))
			break;
	}
	if (len - n < sizeof(word) && len >= sizeof(uint32_t) && is_plain_word(last_word(s, len), but))
		return len;
	while (n < len && (unsigned char)s[n] >= 0x20 && (unsigned char)s[n] < 0x7f && s[n] != '\\' && s[n] != but)
		n++;
	return n;
}

int str_escape_buf(struct buf *b, const char *src, size_t len)
{
	size_t plain = str_plain_span(src, len, '\\');
	char one[ESCAPE_MAX + 1];
	int r = buf_add(b, src, plain);

	if (r < 0 || plain == len)
		return r;	/* an empty string: b->data may be NULL */
	src += plain;
	len -= plain;
	while (len) {
		size_t used, n = escape_one(one, src, len, &used);

		r = buf_add(b, one, n);
		if (r < 0)
			return r;
		src += used;
		len -= used;
	}
	return 0;
}

int str_percent_decode(struct buf *b, const char *src, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		const int high = src[i] == '%' && len - i > 2 ? str_hex_digit(src[i + 1]) : -1;
		const int low = high < 0 ? -1 : str_hex_digit(src[i + 2]);

		buf_add_char(b, low < 0 ? src[i] : (char)(high << 4 | low));
		i += low < 0 ? 0 : 2;
	}
	return buf_error(b);
}

bool str_is_plain(const char *src, size_t len)
{
	while (len) {
		uint32_t c;
		size_t n = utf8_decode((const unsigned char *)src, len, &c);

		if (!n || is_control(c) || c == '\\')
			return false;
		src += n;
		len -= n;
	}
	return true;
}

int str_to_u64(const char *s, int base, uint64_t *ret)
{
	unsigned long long v;
	char *end;

	if (!s || !isalnum((unsigned char)*s))
		return -EINVAL;
	errno = 0;
	v = strtoull(s, &end, base);
	if (errno == ERANGE)
		return -ERANGE;
	if (end == s || *end)
		return -EINVAL;
	*ret = v;
	return 0;
}

int str_to_u32(const char *s, int base, uint32_t *ret)
{
	uint64_t v;
	int r = str_to_u64(s, base, &v);

	if (r < 0)
		return r;
	if (v > UINT32_MAX)
		return -ERANGE;
	*ret = (uint32_t)v;
	return 0;
}

int str_to_duration_ns(const char *s, uint64_t *ret)
{
	static const struct { const char *name; double ns; } units[] = {
		{ "", 1e9 }, { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 }, { "m", 60e9 }, { "h", 3600e9 },
	};
	char *end;
	double v;

	if (!s || !(isdigit((unsigned char)*s) || *s == '.'))
		return -EINVAL;
	v = strtod(s, &end);
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (strcmp(end, units[i].name))
			continue;
		if (!(v * units[i].ns < 9.2e18))
			return -ERANGE;
		*ret = (uint64_t)(v * units[i].ns);
		return 0;
	}
	return -EINVAL;
}

int str_to_bytes(const char *s, uint64_t *ret)
{
	unsigned long long v;
	unsigned shift = 0;
	char *end;

	if (!s || !isdigit((unsigned char)*s))
		return -EINVAL;
	errno = 0;
	v = strtoull(s, &end, 10);
	if (errno == ERANGE)
		return -ERANGE;
	switch (tolower((unsigned char)*end)) {
	case 'k': shift = 10; break;
	case 'm': shift = 20; break;
	case 'g': shift = 30; break;
	case '\0': break;
	default: return -EINVAL;
	}
	if (shift && end[1])
		return -EINVAL;
	if (v > UINT64_MAX >> shift)
		return -ERANGE;
	*ret = (uint64_t)v << shift;
	return 0;
}

#define DISTANCE_MAX_LEN 64

/* Optimal string alignment distance; keeps three rows of the table. */
unsigned str_distance(const char *a, const char *b)
{
	unsigned rows[3][DISTANCE_MAX_LEN + 1];
	size_t na = strlen(a), nb = strlen(b);

	if (na > DISTANCE_MAX_LEN || nb > DISTANCE_MAX_LEN)
		return UINT_MAX;
	for (size_t i = 0; i <= na; i++) {
		unsigned *now = rows[i % 3], *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];

		now[0] = (unsigned)i;
		for (size_t j = 1; j <= nb; j++) {
			if (!i) {
				now[j] = (unsigned)j;
				continue;
			}
			now[j] = last[j - 1] + (a[i - 1] != b[j - 1]);
			now[j] = MIN(now[j], last[j] + 1);
			now[j] = MIN(now[j], now[j - 1] + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				now[j] = MIN(now[j], before[j - 2] + 1);
		}
	}
	return rows[na % 3][nb];
}

void str_near_offer(struct str_near *n, const char *candidate)
{
	size_t len = strlen(n->word);
	unsigned limit = n->best ? n->distance : len < 5 ? 2 : 3;
	unsigned distance = len >= 2 && !strncmp(candidate, n->word, len) ? 0 : str_distance(candidate, n->word);

	if (distance >= limit)
		return;
	n->best = candidate;
	n->distance = distance;
}

const char *str_next_word(const char **list, size_t *ret_len)
{
	const char *word = *list;

	if (!*word)
		return NULL;
	*ret_len = strcspn(word, ",");
	*list = word + *ret_len + (word[*ret_len] == ',');
	return word;
}
