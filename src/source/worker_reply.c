// SPDX-License-Identifier: GPL-2.0-or-later
#include "source/worker_reply.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/io.h"
#include "base/macros.h"
#include "base/str.h"
#include "sonde/wire.h"
#include "source/source_ops.h"

#define ALIGN 8
#define ERRNO_MAX 4095

struct answer_header {
	uint32_t len;	/* of the body, without padding */
	uint32_t kind;
};

static int add(struct buf *b, enum answer_kind kind, const void *head, size_t head_len, const void *data, size_t len)
{
	const struct answer_header h = { .len = (uint32_t)(head_len + len), .kind = kind };
	static const char zeros[ALIGN];

	buf_add(b, &h, sizeof(h));
	buf_add(b, head, head_len);
	buf_add(b, data, len);
	return buf_add(b, zeros, ROUND_UP(h.len, (uint32_t)ALIGN) - h.len);
}

int worker_reply_add_format(struct buf *b, uint32_t format)
{
	return add(b, ANSWER_FORMAT, &format, sizeof(format), NULL, 0);
}

int worker_reply_add_record(struct buf *b, const struct sonde_rec *r)
{
	return add(b, ANSWER_RECORD, NULL, 0, r, r->len);
}

int worker_reply_add_end(struct buf *b, int code, const char *text)
{
	int32_t c = code;

	return add(b, ANSWER_END, &c, sizeof(c), text, strlen(text));
}

static int check_record(struct cursor *c, struct answer *ret)
{
	size_t len = cur_left(c);

	ret->rec = cur_bytes(c, len);
	return ret->rec->len == len ? 1 : -EBADMSG;
}

static int read_end(struct cursor *c, struct answer *ret)
{
	size_t len;

	ret->code = (int32_t)cur_u32(c);
	len = cur_left(c);
	str_escape(ret->text, sizeof(ret->text), cur_bytes(c, len), len);
	return ret->code <= 0 && ret->code >= -ERRNO_MAX ? 1 : -EBADMSG;
}

int worker_reply_send(struct buf *b, int fd)
{
	int r = buf_error(b);

	if (r >= 0)
		r = io_write_all(fd, b->data, b->len);
	if (r >= 0)
		buf_reset(b);
	return r;
}

int worker_reply_next(struct cursor *c, struct answer *ret)
{
	static const struct { uint32_t least, most; } bounds[] = {
		[ANSWER_FORMAT] = { sizeof(uint32_t), sizeof(uint32_t) },
		[ANSWER_RECORD] = { sizeof(struct sonde_rec), SOURCE_RECORD_MAX_BYTES },
		[ANSWER_END] = { sizeof(int32_t), sizeof(int32_t) + sizeof(ret->text) },
	};
	struct cursor look = *c, body;
	uint32_t len = cur_u32(&look), kind = cur_u32(&look);

	_Static_assert(ARRAY_SIZE(bounds) == ANSWER__MAX, "bounds per kind");
	if (!cur_ok(&look))
		return 0;
	if (kind >= ANSWER__MAX || len < bounds[kind].least || len > bounds[kind].most)
		return -EBADMSG;
	body = cur_sub(&look, len);
	cur_skip(&look, ROUND_UP(len, (uint32_t)ALIGN) - len);
	if (!cur_ok(&look))
		return 0;
	*c = look;
	ret->kind = kind;
	switch (ret->kind) {
	case ANSWER_FORMAT:
		ret->format = cur_u32(&body);
		return 1;
	case ANSWER_RECORD:
		return check_record(&body, ret);
	case ANSWER_END:
		return read_end(&body, ret);
	case ANSWER__MAX:
		break;
	}
	return -EBADMSG;
}
