// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as a sequence of records, through every decoder of this build; each event is printed, and the content
 * of each record is taken out. Records follow
 * each other at multiples of eight, as in a ring; a length of nonsense ends the input.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/macros.h"
#include "event/decode.h"
#include "event/event.h"
#include "event/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int take(_unused_ void *ctx, struct event *ev)
{
	struct line_opts o = { .verbose = 2 };
	struct buf b = { 0 };
	struct json j = { .out = &b };

	event_line(ev, &o, &b);
	json_open(&j, '{');
	json_event_fields(&j, ev);
	buf_fini(&b);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct decode_set *d = NULL;
	size_t at = 0;

	if (decode_set_new(all_decoders, &d) < 0)
		abort();
	while (at < size) {
		size_t len = size - at;
		uint32_t said = 0;
		char *copy;
		int r;

		if (len >= offsetof(struct sonde_rec, type))
			memcpy(&said, data + at + offsetof(struct sonde_rec, len), sizeof(said));
		len = said && said < len ? said : len;
		copy = malloc(len);	/* exactly the record: a read past its end is seen */
		memcpy(copy, data + at, len);
		r = decode_record(d, copy, len, take, NULL);
		if (r >= 0 && decode_hide_content(d, (struct sonde_rec *)copy) == 0 &&
		    ((struct sonde_rec *)copy)->len > len)
			abort();
		free(copy);
		if (r > 0 || (r < 0 && r != -EBADMSG && r != -ENOSYS && r != -ENOMEM))
			abort();
		at += ROUND_UP(len, (size_t)8);
	}
	decode_set_free(d);
	return 0;
}
