// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records to events. Pure: no clock, no descriptor, no kernel. Text, JSON, filters and the reference are made from
 * the rows below.
 */
#include "base/macros.h"
#include "event/decode.h"
#include "event/event.h"
#include "probes/template/template_wire.h"

static const struct xlat_val result_vals[] = {	/* include/trace/events/signal.h */
	{ 0, "delivered" }, { 1, "ignored" }, { 2, "already_pending" }, { 3, "overflow_fail" }, { 4, "lose_info" },
};
static const struct xlat result_xlat = { .name = "signal_result", .vals = result_vals, .n = ARRAY_SIZE(result_vals) };

static const struct field signal_fields[] = {
	FIELD_REC_ROW(struct template_signal_rec, signo, "signal.number", FIELD_UINT, "number of the signal"),
	FIELD_REC_ROW(struct template_signal_rec, target_tgid, "signal.pid", FIELD_UINT, "process that gets it"),
	FIELD_REC_ROW(struct template_signal_rec, target_tid, "signal.tid", FIELD_UINT, "thread that gets it"),
	FIELD_REC_ROW(struct template_signal_rec, target_comm, "signal.comm", FIELD_STR, "name of that thread"),
	FIELD_REC_ROW(struct template_signal_rec, result, "signal.result", FIELD_ENUM, "what became of it",
		      .xlat = &result_xlat),
};

static const struct event_desc signal_desc = {
	.type = TEMPLATE_REC_SIGNAL,
	.name = "template.signal",
	.doc = "a process sends a signal",
	.fields = signal_fields,
	.n_fields = ARRAY_SIZE(signal_fields),
	.body_size = REC_BODY_SIZE(struct template_signal_rec),
};

static const struct event_desc *const template_events[] = { &signal_desc, NULL };

static const struct decode_row rows[] = {
	{ TEMPLATE_REC_SIGNAL, &signal_desc },
	{ 0 },
};

const struct decoder_ops template_decoder = {
	.name = "template",
	.probe = PROBE_ID,
	.events = template_events,
	.rows = rows,
};
