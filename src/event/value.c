// SPDX-License-Identifier: GPL-2.0-or-later
#include "event/value.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/str.h"

int value_set_uint(struct value *ret, uint64_t u)
{
	*ret = (struct value){ .kind = VAL_UINT, .u = u };
	return 0;
}

int value_set_int(struct value *ret, int64_t i)
{
	*ret = (struct value){ .kind = VAL_INT, .i = i };
	return 0;
}

int value_set_ns(struct value *ret, uint64_t u)
{
	*ret = (struct value){ .kind = VAL_UINT, .u = u, .ns = true };
	return 0;
}

int value_set_bool(struct value *ret, bool b)
{
	*ret = (struct value){ .kind = VAL_BOOL, .u = b };
	return 0;
}

int value_set_text(struct value *ret, const char *s)
{
	return value_set_chars(ret, s, s ? strlen(s) : 0);
}

int value_set_chars(struct value *ret, const char *s, size_t len)
{
	if (!s)
		return -ENOENT;
	*ret = (struct value){ .kind = VAL_STR, .str = s, .len = len };
	return 0;
}

int value_set_named(struct value *ret, uint64_t u, const char *name)
{
	if (!name)
		return -ENOENT;
	*ret = (struct value){ .kind = VAL_STR, .has_number = true, .u = u, .str = name, .len = strlen(name) };
	return 0;
}

int value_set_ip(struct value *ret, const struct ipaddr *ip)
{
	if (!ipaddr_bytes(ip->family))
		return -ENOENT;
	*ret = (struct value){ .kind = VAL_IP, .ip = *ip };
	return 0;
}

bool value_number(const struct value *v, uint64_t *ret)
{
	switch (v->kind) {
	case VAL_UINT:
	case VAL_BOOL:
	case VAL_FLAGS:
		*ret = v->u;
		return true;
	case VAL_INT:
		*ret = v->i > 0 ? (uint64_t)v->i : 0;
		return true;
	case VAL_STR:
		*ret = v->u;
		return v->has_number;
	case VAL_NONE:
	case VAL_IP:
	case VAL_MAC:
	case VAL_BYTES:
	case VAL_LIST:
	case VAL__MAX:
		break;
	}
	return false;
}

/* Prints a duration in the largest unit it reaches, without rounding: 1500 -> 1.5us. */
static int duration_text(uint64_t ns, struct buf *out)
{
	static const struct { uint64_t ns; const char *name; } units[] = {
		{ 1000000000, "s" }, { 1000000, "ms" }, { 1000, "us" }, { 1, "ns" },
	};
	size_t u = 0;

	while (u < ARRAY_SIZE(units) - 1 && ns < units[u].ns)
		u++;
	buf_add_u64(out, ns / units[u].ns);
	buf_add_char(out, '.');
	buf_add_digits(out, (uint32_t)(ns % units[u].ns), u == 0 ? 9 : u == 1 ? 6 : 3);
	while (!buf_error(out) && out->data[out->len - 1] == '0')
		out->len--;
	if (!buf_error(out) && out->data[out->len - 1] == '.')
		out->len--;
	return buf_add_str(out, units[u].name);
}

/* Joins the names of the set bits with "|", then appends unnamed bits in hex. */
static int flags_text(const struct xlat *x, uint64_t bits, struct buf *out)
{
	bool any = false;

	for (uint32_t i = 0; x && i < x->n; i++) {
		if (!x->vals[i].val || (bits & x->vals[i].val) != x->vals[i].val)
			continue;
		bits &= ~x->vals[i].val;
		if (any)
			buf_add_char(out, '|');
		buf_add_str(out, x->vals[i].name);
		any = true;
	}
	if (bits || !any)
		buf_printf(out, any ? "|0x%llx" : bits ? "0x%llx" : "%llu", (unsigned long long)bits);
	return buf_error(out);
}

static int hex_text(const char *data, size_t len, struct buf *out)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < len; i++) {
		buf_add_char(out, digits[(unsigned char)data[i] >> 4]);
		buf_add_char(out, digits[data[i] & 15]);
	}
	return buf_error(out);
}

static int list_text(const struct value *v, struct buf *out)
{
	for (const char *s = v->str; s < v->str + v->len; s += strlen(s) + 1) {
		if (s != v->str)
			buf_add_char(out, ';');
		str_escape_buf(out, s, strlen(s));
	}
	return buf_error(out);
}

bool value_is(const struct value *v, const char *s)
{
	return v->kind == VAL_STR && v->len == strlen(s) && !memcmp(v->str, s, v->len);
}

int value_text(const struct value *v, struct buf *out)
{
	switch (v->kind) {
	case VAL_NONE: break;
	case VAL_UINT:
		if (v->ns)
			return duration_text(v->u, out);
		if (v->padded)
			return buf_printf(out, "%09llu", (unsigned long long)v->u);
		return v->hex ? buf_printf(out, "0x%llx", (unsigned long long)v->u) : buf_add_u64(out, v->u);
	case VAL_INT: return buf_add_i64(out, v->i);
	case VAL_BOOL: return buf_add_str(out, v->u ? "true" : "false");
	case VAL_STR: return v->printable ? buf_add(out, v->str, v->len) : str_escape_buf(out, v->str, v->len);
	case VAL_IP: return ipaddr_text(&v->ip, out);
	case VAL_MAC: return buf_add_mac(out, (const uint8_t *)v->str);
	case VAL_BYTES: return hex_text(v->str, v->len, out);
	case VAL_FLAGS: return flags_text(v->xlat, v->u, out);
	case VAL_LIST: return list_text(v, out);
	case VAL__MAX: break;
	}
	return 0;
}
