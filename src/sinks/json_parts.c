// SPDX-License-Identifier: GPL-2.0-or-later
#include "sinks/json_parts.h"

void json_parts_fini(struct json_parts *p)
{
	for (size_t i = 0; i < JSON_PARTS; i++) {
		buf_fini(&p->slots[i].of);
		buf_fini(&p->slots[i].text);
	}
}

void json_parts_keep(struct json_part *p, const void *fixed, size_t fixed_len, const void *more, size_t more_len,
		     const struct buf *out, size_t from)
{
	buf_reset(&p->of);
	buf_reset(&p->text);
	if (buf_error(out) < 0)
		return;
	buf_add(&p->text, out->data + from, out->len - from);
	buf_add(&p->of, fixed, fixed_len);
	buf_add(&p->of, more, more_len);
	if (buf_error(&p->text) < 0 || buf_error(&p->of) < 0)
		buf_reset(&p->of);
}
