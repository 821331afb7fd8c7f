// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records to events. Pure: no clock, no descriptor, no kernel. Everything that text, JSON, filters and the
 * reference need is said by the rows below.
 */
#include <errno.h>

#include "base/cursor.h"
#include "base/macros.h"
#include "event/decode.h"
#include "event/event.h"
#include "probes/template/template_wire.h"

struct signal_body {
	uint32_t target_tgid, target_tid, signo, result;
	char target_comm[16];
};

static const struct xlat_val result_vals[] = {	/* include/trace/events/signal.h */
	{ 0, "delivered" }, { 1, "ignored" }, { 2, "already_pending" }, { 3, "overflow_fail" }, { 4, "lose_info" },
};
static const struct xlat result_xlat = { .name = "signal_result", .vals = result_vals, .n = ARRAY_SIZE(result_vals) };

static const struct field signal_fields[] = {
	FIELD_ROW(struct signal_body, signo, "signal.number", FIELD_UINT, "number of the signal"),
	FIELD_ROW(struct signal_body, target_tgid, "signal.pid", FIELD_UINT, "process that gets it"),
	FIELD_ROW(struct signal_body, target_tid, "signal.tid", FIELD_UINT, "thread that gets it"),
	FIELD_ROW(struct signal_body, target_comm, "signal.comm", FIELD_STR, "name of that thread"),
	FIELD_ROW(struct signal_body, result, "signal.result", FIELD_ENUM, "what became of it", .xlat = &result_xlat),
};

static const struct event_desc signal_desc = {
	.type = TEMPLATE_REC_SIGNAL, .name = "template.signal", .doc = "a process sends a signal",
	.fields = signal_fields, .n_fields = ARRAY_SIZE(signal_fields), .body_size = sizeof(struct signal_body),
};

static const struct event_desc *const template_events[] = { &signal_desc, NULL };

static int decode_signal(const struct sonde_rec *r, const struct emitter *em)
{
	struct cursor c = cur_init(r, r->len);
	struct signal_body body = { 0 };
	struct event ev;

	cur_skip(&c, sizeof(*r));
	body.target_tgid = cur_u32(&c);
	body.target_tid = cur_u32(&c);
	body.signo = cur_u32(&c);
	body.result = cur_u32(&c);
	cur_copy(&c, body.target_comm, sizeof(body.target_comm));
	if (!cur_ok(&c))
		return -EBADMSG;
	event_decode_from_rec(&ev, &signal_desc, r);
	ev.body = &body;
	return em->emit(em->ctx, &ev);
}

static int template_decode(_unused_ void *state, const struct sonde_rec *r, const struct emitter *em)
{
	switch (r->type) {
	case TEMPLATE_REC_SIGNAL:
		return decode_signal(r, em);
	default:
		return -ENOSYS;
	}
}

const struct decoder_ops template_decoder = {
	.name = "template", .probe = PROBE_ID, .events = template_events, .decode = template_decode,
};
