// SPDX-License-Identifier: GPL-2.0-or-later
#include "scap/scap_value.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "event/event.h"
#include "scap/state/state.h"

int scap_value_uint(struct value *ret, uint64_t u)
{
	*ret = (struct value){ .kind = VAL_UINT, .u = u };
	return 0;
}

int scap_value_fraction(struct value *ret, uint64_t ns)
{
	*ret = (struct value){ .kind = VAL_UINT, .u = ns, .padded = true };
	return 0;
}

int scap_value_int(struct value *ret, int64_t i)
{
	*ret = (struct value){ .kind = VAL_INT, .i = i };
	return 0;
}

int scap_value_ns(struct value *ret, uint64_t u)
{
	*ret = (struct value){ .kind = VAL_UINT, .u = u, .ns = true };
	return 0;
}

int scap_value_bool(struct value *ret, bool b)
{
	*ret = (struct value){ .kind = VAL_BOOL, .u = b };
	return 0;
}

int scap_value_text(struct value *ret, const char *s)
{
	return scap_value_chars(ret, s, s ? strlen(s) : 0);
}

int scap_value_chars(struct value *ret, const char *s, size_t len)
{
	if (!s)
		return -ENOENT;
	*ret = (struct value){ .kind = VAL_STR, .str = s, .len = len };
	return 0;
}

int scap_value_str(struct value *ret, const struct scap_str *s)
{
	return s ? scap_value_chars(ret, s->data, s->len) : -ENOENT;
}

int scap_value_str_or_empty(struct value *ret, const struct scap_str *s)
{
	return s ? scap_value_chars(ret, s->data, s->len) : scap_value_chars(ret, "", 0);
}

int scap_value_buf(struct value *ret, struct buf *b)
{
	return scap_value_chars(ret, b->data ? b->data : "", b->len);
}
