// SPDX-License-Identifier: GPL-2.0-or-later
#include "call/call_entry.h"

#include <string.h>

#include "base/macros.h"

void call_entry_set(struct call *c, enum call_text kind, const void *text, size_t len)
{
	size_t keep = MIN(len, (size_t)CALL_TEXT_BYTES);
	bool fits = c->bytes.len + keep <= UINT16_MAX && buf_add(&c->bytes, text, keep) == 0;

	if (!fits || keep < len)
		c->incomplete |= CALL_INCOMPLETE_CUT;
	if (!fits)
		return;
	c->texts[kind].at = (uint16_t)(c->bytes.len - keep);
	c->texts[kind].len = (uint16_t)keep;
}

void call_entry_set_str(struct call *c, enum call_text kind, const char *text)
{
	call_entry_set(c, kind, text, strlen(text));
}

const char *call_entry_text(const struct call *c, enum call_text kind, size_t *ret_len)
{
	*ret_len = c->texts[kind].len;
	return c->texts[kind].len ? c->bytes.data + c->texts[kind].at : NULL;
}

void call_entry_reset(struct call *c, enum call_kind kind)
{
	struct buf bytes = c->bytes;

	buf_reset(&bytes);
	*c = (struct call){ .kind = kind, .rows = CALL_ROWS_NONE, .status = CALL_STATUS_NONE, .bytes = bytes };
}
