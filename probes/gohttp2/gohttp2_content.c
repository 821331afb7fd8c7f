// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Content of a call: headers and payload. Sizes, method and status are kept when content is removed.
 */
#include <errno.h>
#include <string.h>

#include "base/cursor.h"
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

const struct content_rule gohttp2_content[] = {
	{ GOHTTP2_REC_FRAME, hide_frame },
	{ GOHTTP2_REC_SHORT, hide_short },
	{ GOHTTP2_REC_MISS },
	{ GOHTTP2_REC_PROGRAM },
	{ GOHTTP2_REC_EXEC },
	{ GOHTTP2_REC_EXIT },
	{ 0 },
};
