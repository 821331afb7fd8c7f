// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Content of a call: headers and payload. Sizes, method and status are kept when content is removed.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "event/redact/redact.h"
#include "probes/gohttp2/gohttp2_event.h"
#include "probes/gohttp2/gohttp2_wire.h"

static bool is_open(const struct gohttp2_field *f)
{
	return f->header == GOHTTP2_H_METHOD || f->header == GOHTTP2_H_STATUS || f->header == GOHTTP2_H_GRPC_STATUS;
}

/* Compacts @len bytes of fields to those that are no content. Returns their length, or -EBADMSG. */
static int keep_open(char *fields, size_t len)
{
	struct cursor c = cur_init(fields, len);
	size_t kept = 0;

	while (cur_left(&c)) {
		const char *from = fields + (len - cur_left(&c));
		struct gohttp2_field f;
		size_t all;

		if (!cur_copy(&c, &f, sizeof(f)))
			return -EBADMSG;
		all = (size_t)f.name_len + f.value_len;
		cur_skip(&c, all);
		if (!cur_ok(&c))
			return -EBADMSG;
		if (!is_open(&f))
			continue;
		memmove(fields + kept, from, sizeof(f) + all);
		kept += sizeof(f) + all;
	}
	return (int)kept;
}

static int hide_fields(struct sonde_rec *r, size_t fixed, uint16_t *fields_len)
{
	int kept = *fields_len <= r->len - fixed ? keep_open((char *)r + fixed, *fields_len) : -EBADMSG;

	if (kept < 0)
		return kept;
	*fields_len = (uint16_t)kept;
	r->len = (uint32_t)(fixed + (size_t)kept);
	return 0;
}

static int hide_frame(struct sonde_rec *r)
{
	struct gohttp2_frame_rec *f = (void *)r;

	return r->len < sizeof(*f) ? -EBADMSG : hide_fields(r, sizeof(*f), &f->fields_len);
}

static int hide_short(struct sonde_rec *r)
{
	struct gohttp2_short_rec *f = (void *)r;

	return r->len < sizeof(*f) ? -EBADMSG : hide_fields(r, sizeof(*f), &f->fields_len);
}

static int hide_log(struct sonde_rec *r)
{
	struct gohttp2_log_rec *l = (void *)r;

	if (r->len < sizeof(*l) || l->data_len > r->len - sizeof(*l))
		return -EBADMSG;
	l->data_len = 0;
	r->len = sizeof(*l);
	return 0;
}

const struct content_rule gohttp2_content[] = {
	{ GOHTTP2_REC_FRAME, hide_frame },
	{ GOHTTP2_REC_SHORT, hide_short },
	{ GOHTTP2_REC_LOG, hide_log },
	{ GOHTTP2_REC_MISS },
	{ GOHTTP2_REC_PROGRAM },
	{ GOHTTP2_REC_EXEC },
	{ GOHTTP2_REC_START },
	{ GOHTTP2_REC_LATE },
	{ GOHTTP2_REC_RANGE },
	{ GOHTTP2_REC_EXIT },
	{ 0 },
};

/* ---- --redact ---- */

/* Headers of --header are the user's choice, so are those that a service defines; paths are names of methods. */
static bool is_payload(const struct gohttp2_field *f)
{
	return f->header == GOHTTP2_H_PAYLOAD || f->header == GOHTTP2_H_OTHER || f->header == GOHTTP2_H_GRPC_MESSAGE;
}

/* Appends the fields. Returns their length, or -EBADMSG. */
static int redact_fields(const char *fields, size_t len, struct buf *out)
{
	struct cursor c = cur_init(fields, len);
	const size_t before = out->len;

	while (cur_left(&c)) {
		const size_t at = out->len;
		struct gohttp2_field f;
		const char *text;

		if (!cur_copy(&c, &f, sizeof(f)))
			return -EBADMSG;
		text = cur_bytes(&c, (size_t)f.name_len + f.value_len);
		if (!text)
			return -EBADMSG;
		buf_add(out, &f, sizeof(f));
		buf_add(out, text, f.name_len);
		f.value_len = (uint16_t)redact_text(out, text + f.name_len, f.value_len, is_payload(&f));
		if (buf_error(out) < 0)
			return buf_error(out);
		memcpy(out->data + at, &f, sizeof(f));
	}
	if (buf_error(out) < 0)
		return buf_error(out);
	return out->len - before > UINT16_MAX ? -EMSGSIZE : (int)(out->len - before);
}

/* A frame of @fixed bytes with its fields, whose length is at @len_at in it. */
static int redact_headers(const struct sonde_rec *r, size_t fixed, size_t len_at, unsigned fields, struct buf *out)
{
	uint16_t len;
	int n;

	if (r->len < fixed)
		return -EBADMSG;
	memcpy(&len, (const char *)r + len_at, sizeof(len));
	if (len > r->len - fixed)
		return -EBADMSG;
	if (!(fields & REDACT_PAYLOAD) || !len)
		return 0;
	buf_add(out, r, fixed);
	n = redact_fields((const char *)r + fixed, len, out);
	if (n < 0)
		return n;
	len = (uint16_t)n;
	memcpy(out->data + len_at, &len, sizeof(len));
	return 1;
}

static int redact_frame(const struct sonde_rec *r, unsigned fields, struct buf *out)
{
	return redact_headers(r, sizeof(struct gohttp2_frame_rec), offsetof(struct gohttp2_frame_rec, fields_len),
			      fields, out);
}

static int redact_short(const struct sonde_rec *r, unsigned fields, struct buf *out)
{
	return redact_headers(r, sizeof(struct gohttp2_short_rec), offsetof(struct gohttp2_short_rec, fields_len),
			      fields, out);
}

static int redact_log(const struct sonde_rec *r, unsigned fields, struct buf *out)
{
	struct gohttp2_log_rec l;

	if (r->len < sizeof(l))
		return -EBADMSG;
	memcpy(&l, r, sizeof(l));
	if (l.data_len > r->len - sizeof(l))
		return -EBADMSG;
	if (!(fields & REDACT_PAYLOAD))
		return 0;
	buf_add(out, &l, sizeof(l));
	l.data_len = (uint32_t)redact_mark(out, l.data_len);
	if (buf_error(out) == 0)
		memcpy(out->data, &l, sizeof(l));
	return 1;
}

static int redact_start(const struct sonde_rec *r, unsigned fields, struct buf *out)
{
	struct gohttp2_start_rec s;

	if (r->len < sizeof(s))
		return -EBADMSG;
	memcpy(&s, r, sizeof(s));
	if (!(fields & REDACT_PATHS))
		return 0;
	redact_array(s.path, sizeof(s.path));
	buf_add(out, &s, sizeof(s));
	return 1;
}

static int redact_late(const struct sonde_rec *r, unsigned fields, struct buf *out)
{
	struct gohttp2_late_rec l;

	if (r->len < sizeof(l))
		return -EBADMSG;
	memcpy(&l, r, sizeof(l));
	if (l.path_len > r->len - sizeof(l))
		return -EBADMSG;
	if (!(fields & REDACT_PATHS))
		return 0;
	buf_add(out, &l, sizeof(l));
	l.path_len = (uint32_t)redact_mark(out, l.path_len);
	if (buf_error(out) == 0)
		memcpy(out->data, &l, sizeof(l));
	return 1;
}

const struct redact_rule gohttp2_redact[] = {
	{ GOHTTP2_REC_FRAME, redact_frame }, { GOHTTP2_REC_SHORT, redact_short }, { GOHTTP2_REC_LOG, redact_log },
	{ GOHTTP2_REC_START, redact_start }, { GOHTTP2_REC_LATE, redact_late }, { 0 },
};
