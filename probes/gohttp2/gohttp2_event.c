// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fields and text lines of the gohttp2 events other than calls (src/call/call_event.c). Independent of records.
 */
#include "probes/gohttp2/gohttp2_event.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/macros.h"
#include "base/str.h"
#include "call/call_event.h"

static int miss_line(const struct event *ev, _unused_ const struct line_opts *o, struct buf *out)
{
	const struct gohttp2_miss_body *b = ev->body;

	buf_printf(out, "%" PRIu64 " times: ", b->count);
	str_escape_buf(out, b->reason, strnlen(b->reason, sizeof(b->reason)));
	if (b->conn_type[0]) {
		buf_add_str(out, ": ");
		str_escape_buf(out, b->conn_type, strnlen(b->conn_type, sizeof(b->conn_type)));
	}
	buf_add_str(out, " (");
	str_escape_buf(out, b->file, strnlen(b->file, sizeof(b->file)));
	return buf_printf(out, ":%u)\n", b->line);
}

static int program_line(const struct event *ev, _unused_ const struct line_opts *o, struct buf *out)
{
	const struct gohttp2_program_body *b = ev->body;

	event_who(ev, ev->tgid, out);
	if (b->n_sites)
		buf_printf(out, " is watched at %u places: ", b->n_sites);
	else
		buf_add_str(out, " cannot be watched: ");
	str_escape_buf(out, b->text, strnlen(b->text, sizeof(b->text)));
	return buf_add_char(out, '\n');
}

static int late_line(const struct event *ev, _unused_ const struct line_opts *o, struct buf *out)
{
	const struct gohttp2_late_body *b = ev->body;

	buf_add_str(out, "calls are missing: ");
	str_escape_buf(out, b->file, strnlen(b->file, sizeof(b->file)));
	buf_printf(out, " (pid %" PRIu32 ") ran", ev->tgid);
	call_event_add_time(out, b->late_ns);
	return buf_add_str(out, b->ended ? " before it was watched, and ended\n" : " before it was watched\n");
}

static const struct field miss_fields[] = {
	FIELD_ROW(struct gohttp2_miss_body, count, "miss.count", FIELD_UINT, "misses since the last report"),
	FIELD_ROW(struct gohttp2_miss_body, reason, "miss.reason", FIELD_STR, "why data is missing",
		  .flags = FIELD_OPEN),
	FIELD_ROW(struct gohttp2_miss_body, conn_type, "miss.conn_type", FIELD_STR,
		  "Go type of a connection that leads to no socket", .flags = FIELD_OPEN | FIELD_OPTIONAL),
	FIELD_ROW(struct gohttp2_miss_body, site, "miss.site", FIELD_UINT, "number of the cause"),
	FIELD_ROW(struct gohttp2_miss_body, file, "miss.file", FIELD_STR, "its file", .flags = FIELD_OPEN),
	FIELD_ROW(struct gohttp2_miss_body, line, "miss.line", FIELD_UINT, "its line"),
};
const struct event_desc gohttp2_miss_desc = {
	.type = GOHTTP2_REC_MISS,
	.name = "rpc.miss",
	.doc = "a part of a call could not be read",
	.class = EVENT_META,
	.fields = miss_fields,
	.n_fields = ARRAY_SIZE(miss_fields),
	.body_size = sizeof(struct gohttp2_miss_body),
	.line = miss_line,
};

static const struct field program_fields[] = {
	FIELD_ROW(struct gohttp2_program_body, n_sites, "program.places", FIELD_UINT,
		  "probe sites attached; 0 = the program cannot be watched"),
	FIELD_ROW(struct gohttp2_program_body, text, "program.text", FIELD_STR,
		  "Go release, or why it cannot be watched",
		  .flags = FIELD_OPEN),
};
const struct event_desc gohttp2_program_desc = {
	.type = GOHTTP2_REC_PROGRAM,
	.name = "rpc.program",
	.doc = "a Go program is watched from now on, or cannot be",
	.class = EVENT_STATE,
	.fields = program_fields,
	.n_fields = ARRAY_SIZE(program_fields),
	.body_size = sizeof(struct gohttp2_program_body),
	.sections = 1u << SEC_PROC | 1u << SEC_STATE,
	.line = program_line,
};

static const struct field late_fields[] = {
	FIELD_ROW(struct gohttp2_late_body, file, "late.file", FIELD_STR, "file of the program", .flags = FIELD_OPEN),
	FIELD_ROW(struct gohttp2_late_body, late_ns, "late.ns", FIELD_NS,
		  "from its start until its file was watched"),
	FIELD_ROW(struct gohttp2_late_body, ended, "late.ended", FIELD_BOOL, "it had ended by then"),
};
const struct event_desc gohttp2_late_desc = {
	.type = GOHTTP2_REC_LATE,
	.name = "rpc.late",
	.doc = "a Go program ran before its file was watched: its first calls are missing",
	.class = EVENT_META,
	.fields = late_fields,
	.n_fields = ARRAY_SIZE(late_fields),
	.body_size = sizeof(struct gohttp2_late_body),
	.sections = 1u << SEC_PROC,
	.line = late_line,
};

/* RFC 9113, section 6. */
static const struct xlat_val frame_vals[] = {
	{ 0, "DATA" }, { 1, "HEADERS" }, { 2, "PRIORITY" }, { 3, "RST_STREAM" }, { 4, "SETTINGS" },
	{ 5, "PUSH_PROMISE" }, { 6, "PING" }, { 7, "GOAWAY" }, { 8, "WINDOW_UPDATE" }, { 9, "CONTINUATION" },
};
static const struct xlat frame_xlat = { .name = "frame", .vals = frame_vals, .n = ARRAY_SIZE(frame_vals) };

static const struct field range_fields[] = {
	FIELD_ROW(struct gohttp2_range_body, frame, "range.frame", FIELD_ENUM, "type of the frame",
		  .xlat = &frame_xlat),
};
const struct event_desc gohttp2_range_desc = {
	.type = GOHTTP2_REC_RANGE,
	.name = "rpc.range",
	.doc = "the bytes of an HTTP/2 frame in the TCP stream",
	.class = EVENT_STATE,
	.fields = range_fields,
	.n_fields = ARRAY_SIZE(range_fields),
	.body_size = sizeof(struct gohttp2_range_body),
	.sections = 1u << SEC_PROC | 1u << SEC_STATE,
};

const struct event_desc *const gohttp2_descs[] = {
	&call_event_end,
	&call_event_open,
	&call_event_progress,
	&call_event_data,
	&gohttp2_miss_desc,
	&gohttp2_program_desc,
	&gohttp2_late_desc,
	&call_event_log,
	&gohttp2_range_desc,
	NULL,
};
