// SPDX-License-Identifier: GPL-2.0-or-later
#include "scap/scap_value.h"

#include <errno.h>

#include "base/buf.h"
#include "event/value.h"
#include "scap/state/state.h"

int scap_value_fraction(struct value *ret, uint64_t ns)
{
	*ret = (struct value){ .kind = VAL_UINT, .u = ns, .padded = true };
	return 0;
}

int scap_value_str(struct value *ret, const struct scap_str *s)
{
	return s ? value_set_chars(ret, s->data, s->len) : -ENOENT;
}

int scap_value_str_or_empty(struct value *ret, const struct scap_str *s)
{
	return s ? value_set_chars(ret, s->data, s->len) : value_set_chars(ret, "", 0);
}

int scap_value_buf(struct value *ret, struct buf *b)
{
	return value_set_chars(ret, b->data ? b->data : "", b->len);
}
