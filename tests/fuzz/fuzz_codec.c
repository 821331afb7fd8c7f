// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as frames. What decodes is printed in every way, and encodes to a frame that decodes to the same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "event/codec.h"
#include "event/decode.h"
#include "event/event.h"
#include "event/json.h"

static struct registry *reg;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	reg = registry_new();
	for (const struct decoder_ops *const *d = all_decoders; *d; d++)
		if (registry_add(reg, (*d)->events) < 0)
			abort();
	return 0;
}

static void print(const struct event *ev)
{
	struct buf b = { 0 };
	struct json j = { .out = &b };

	for (unsigned verbose = 0; verbose < 3; verbose++) {
		struct line_opts o = { .verbose = verbose, .hex = verbose == 1 };

		event_line(ev, &o, &b);
	}
	json_open(&j, '{');
	json_event_fields(&j, ev);
	json_close(&j, '}');
	for (size_t i = 0; i < event_n_common_fields; i++) {
		struct value v;

		if (event_get(ev, &event_common_fields[i], &v) == 0)
			json_value(&j, &v);
	}
	buf_fini(&b);
}

static void encode_again(const struct event *ev)
{
	size_t len = event_frame_size(ev);
	char *frame = malloc(len);
	struct event back;

	if (event_encode(ev, frame, len) != (int)len || event_decode(reg, frame, len, &back) != (int)len)
		abort();
	if (back.n_sec != ev->n_sec || back.body_len != ev->body_len || memcmp(back.body, ev->body, ev->body_len))
		abort();
	free(frame);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Aligned by malloc(), and exactly as long as the input, so that a read past its end is seen. */
	char *copy = malloc(size ? size : 1);
	size_t at = 0;

	memcpy(copy, data, size);
	while (at < size) {
		struct event ev;
		int r = event_decode(reg, copy + at, size - at, &ev);

		if (r <= 0)
			break;
		print(&ev);
		encode_again(&ev);
		at += (size_t)r;
	}
	free(copy);
	return 0;
}
