// SPDX-License-Identifier: GPL-2.0-or-later
#include "event/params.h"

#include <errno.h>

#include "base/arena.h"
#include "event/event.h"

int params_read(const void *data, size_t len, struct params *ret)
{
	struct cursor c = cur_init(data, len), lens;
	uint64_t end = 0;

	ret->head = cur_bytes(&c, sizeof(*ret->head));
	if (!ret->head || ret->head->n > PARAMS_MAX)
		return -EBADMSG;
	ret->n = ret->head->n;
	lens = cur_sub(&c, ret->n * sizeof(uint32_t));
	for (uint32_t i = 0; i < ret->n; i++) {
		end += cur_u32(&lens);
		if (end > cur_left(&c))
			return -EBADMSG;
		ret->end[i] = (uint32_t)end;
	}
	ret->data = cur_bytes(&c, end);
	return cur_ok(&lens) && cur_ok(&c) ? 0 : -EBADMSG;
}

int params_of(const struct event *ev, struct params *ret)
{
	const struct section *s = event_section(ev, SEC_PARAMS);

	return s && params_read(s->data, s->len, ret) == 0 ? 0 : -ENOENT;
}

const void *params_bytes(const struct params *p, unsigned i, size_t *ret_len)
{
	uint32_t start;

	*ret_len = 0;
	if (i >= p->n)
		return NULL;
	start = i ? p->end[i - 1] : 0;
	*ret_len = p->end[i] - start;
	return p->data + start;
}

struct cursor params_cursor(const struct params *p, unsigned i)
{
	size_t len;
	const void *data = params_bytes(p, i, &len);

	return data ? cur_init(data, len) : (struct cursor){ .bad = true };
}

bool params_u64(const struct params *p, unsigned i, uint64_t *ret)
{
	struct cursor c = params_cursor(p, i);

	switch (cur_left(&c)) {
	case 1: *ret = cur_u8(&c); return true;
	case 2: *ret = cur_u16(&c); return true;
	case 4: *ret = cur_u32(&c); return true;
	case 8: *ret = cur_u64(&c); return true;
	default: return false;
	}
}

bool params_i64(const struct params *p, unsigned i, int64_t *ret)
{
	struct cursor c = params_cursor(p, i);

	switch (cur_left(&c)) {
	case 1: *ret = (int8_t)cur_u8(&c); return true;
	case 2: *ret = (int16_t)cur_u16(&c); return true;
	case 4: *ret = (int32_t)cur_u32(&c); return true;
	case 8: *ret = (int64_t)cur_u64(&c); return true;
	default: return false;
	}
}

const char *params_str(const struct params *p, unsigned i, size_t *ret_len)
{
	size_t len;
	const char *s = params_bytes(p, i, &len);

	*ret_len = 0;
	if (!s || !len)
		return NULL;
	*ret_len = strnlen(s, len);
	return s;
}

void params_begin(struct params_out *o, uint16_t type, int64_t tid)
{
	buf_reset(&o->bytes);
	o->head = (struct sec_params){ .tid = tid, .type = type };
}

/* Counts one parameter beyond the maximum, so that params_write() detects the excess. */
void params_add(struct params_out *o, const void *data, size_t len)
{
	if (o->head.n >= PARAMS_MAX) {
		o->head.n = PARAMS_MAX + 1;
		return;
	}
	o->len[o->head.n++] = (uint32_t)len;
	if (len > UINT16_MAX)
		o->head.flags |= PARAMS_LARGE;
	if (len)
		buf_add(&o->bytes, data, len);
}

void params_append(struct params_out *o, const void *data, size_t len)
{
	if (!o->head.n || o->head.n > PARAMS_MAX)
		return;
	buf_add(&o->bytes, data, len);
	o->len[o->head.n - 1] += (uint32_t)len;
	if (o->len[o->head.n - 1] > UINT16_MAX)
		o->head.flags |= PARAMS_LARGE;
}

void params_add_u8(struct params_out *o, uint8_t v)
{
	params_add(o, &v, sizeof(v));
}

void params_add_u16(struct params_out *o, uint16_t v)
{
	params_add(o, &v, sizeof(v));
}

void params_add_u32(struct params_out *o, uint32_t v)
{
	params_add(o, &v, sizeof(v));
}

void params_add_u64(struct params_out *o, uint64_t v)
{
	params_add(o, &v, sizeof(v));
}

void params_add_str(struct params_out *o, const char *s, size_t len)
{
	params_add(o, s, s ? len : 0);
	if (s)
		params_append(o, "", 1);
}

static int check(const struct params_out *o)
{
	if (o->head.n > PARAMS_MAX)
		return -E2BIG;
	return buf_error(&o->bytes);
}

int params_write(const struct params_out *o, struct buf *out)
{
	int r = check(o);

	if (r < 0)
		return r;
	buf_add(out, &o->head, sizeof(o->head));
	buf_add(out, o->len, o->head.n * sizeof(o->len[0]));
	return buf_add(out, o->bytes.data, o->bytes.len);
}

const void *params_finish(const struct params_out *o, struct arena *scratch, uint32_t *ret_len)
{
	size_t lens = o->head.n * sizeof(o->len[0]);
	char *p;

	if (check(o) < 0)
		return NULL;
	p = arena_alloc(scratch, sizeof(o->head) + lens + o->bytes.len);
	if (!p)
		return NULL;
	memcpy(p, &o->head, sizeof(o->head));
	memcpy(p + sizeof(o->head), o->len, lens);
	if (o->bytes.len)
		memcpy(p + sizeof(o->head) + lens, o->bytes.data, o->bytes.len);
	*ret_len = (uint32_t)(sizeof(o->head) + lens + o->bytes.len);
	return p;
}

void params_out_fini(struct params_out *o)
{
	buf_fini(&o->bytes);
}
