// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stream of a Cilium agent's monitor socket (protocol 1.2), live or stored: gob payloads (cilium/gob.h). Payloads
 * have no time; the reader of a socket stamps the records.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/macros.h"
#include "cilium/gob.h"
#include "cilium/names.h"
#include "cilium/print.h"
#include "sonde/foreign_wire.h"
#include "source/capture.h"

#define MEMORY_MAX (16u << 20)	/* per decoded message */
#define DEFINITION "\x03\x01\x01\x07Payload"	/* a definition, after its length and id */

struct cilium_stream {
	struct capture cap;
	struct gob *gob;		/* owned */
	struct arena mem;		/* for the current message */
	struct buf rec;
	bool started;
};

static size_t cilium_match_bytes(_unused_ const void *head, _unused_ size_t len)
{
	return 16;
}

static bool cilium_match(const void *head, size_t len)
{
	const char *at = memmem(head, MIN(len, (size_t)16), DEFINITION, strlen(DEFINITION));

	return at && at - (const char *)head >= 2;
}

/* Publishes the names of drop codes as drop reasons. */
static int emit_drop_names(struct cilium_stream *st)
{
	int r = 0;

	for (unsigned code = 0; r >= 0 && code < 256; code++) {
		const char *name = cilium_names_drop_reason((uint8_t)code);
		char number[8];

		snprintf(number, sizeof(number), "%u", code);
		if (!name)
			name = number;
		r = capture_name(&st->cap, SONDE_NAME_DROP_REASON, SONDE_FOREIGN_REASON | code, name, strlen(name));
	}
	return r;
}

static int start(struct cilium_stream *st)
{
	int r;

	st->gob = gob_new();
	if (!st->gob)
		return -ENOMEM;
	st->mem.limit_bytes = MEMORY_MAX;
	st->started = true;
	r = capture_host(&st->cap, NULL, 0, NULL, 0);
	return r < 0 ? r : emit_drop_names(st);
}

static int send_payload(struct cilium_stream *st, const struct cilium_payload *p)
{
	struct sonde_foreign_rec head = {
		.hdr = { .type = SONDE_EV_FOREIGN, .seq = ++st->cap.seq,
			 .cpu = p->cpu >= 0 && p->cpu <= UINT16_MAX ? (uint16_t)p->cpu : 0 },
		.cpu = p->cpu, .kind = p->type, .lost = p->lost, .len = (uint32_t)p->len,
	};
	int r;

	head.hdr.len = (uint32_t)(sizeof(head) + p->len);
	buf_reset(&st->rec);
	buf_add(&st->rec, &head, sizeof(head));
	buf_add(&st->rec, p->data, p->len);
	r = buf_error(&st->rec);
	return r < 0 ? r : st->cap.fn(st->cap.ctx, (const void *)st->rec.data);
}

static int take_message(struct cilium_stream *st, const uint8_t *data, size_t len, struct err *err)
{
	struct cilium_payload p;
	struct gob_value *v;
	int r;

	arena_reset(&st->mem);
	r = gob_message(st->gob, data, len, &st->mem, &v, err);
	if (r < 0 || !v)
		return r;
	if (gob_get_payload(v, &p) < 0 || p.len > SOURCE_RECORD_MAX_BYTES - sizeof(struct sonde_foreign_rec))
		return err_set(err, -EBADMSG, "byte %llu: not a payload of Cilium's monitor",
			       (unsigned long long)st->cap.at);
	return send_payload(st, &p);
}

static int64_t cilium_parse(void *state, const void *data, size_t len, bool eof, source_fn fn, void *ctx,
			    struct err *err)
{
	struct cilium_stream *st = state;
	const uint8_t *at = data;
	size_t left = len, n;
	int r = 0;

	st->cap.fn = fn;
	st->cap.ctx = ctx;
	if (!st->started)
		r = start(st);
	while (r >= 0 && left) {
		r = gob_message_len(at, left, &n);
		if (r < 0)
			return err_set(err, r, "byte %llu: not a gob message", (unsigned long long)st->cap.at);
		if (!n || n > left)
			break;
		r = take_message(st, at, n, err);
		at += n;
		left -= n;
		st->cap.at += n;
	}
	if (r < 0)
		return r;
	if (eof && left)
		return capture_cut(&st->cap, "a message", err);
	return (int64_t)(len - left);
}

static void cilium_fini(void *state)
{
	struct cilium_stream *st = state;

	gob_free(st->gob);
	arena_fini(&st->mem);
	buf_fini(&st->rec);
	capture_fini(&st->cap);
}

const struct source_ops cilium_source = {
	.name = "cilium", .summary = "streams of a Cilium agent's monitor socket",
	.state_size = sizeof(struct cilium_stream), .match = cilium_match, .match_bytes = cilium_match_bytes,
	.parse = cilium_parse, .fini = cilium_fini,
};
