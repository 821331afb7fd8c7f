// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Events about the probe: open files, lost records by call, and the rate of --max-cpu.
 */

#include "base/buf.h"
#include "base/macros.h"
#include "base/str.h"
#include "event/event.h"
#include "probes/sys/sys_event.h"

/* Layouts of struct sys_lost_rec and struct sys_sampling_rec without their headers. */
struct lost_body {
	uint16_t nr;
	uint8_t abi, pad;
	uint32_t cause;
	uint64_t count;
};
_Static_assert(sizeof(struct lost_body) == sizeof(struct sys_lost_rec) - sizeof(struct sonde_rec),
	       "as in the record");

struct sampling_body {
	uint32_t one_in, cost_permille, budget_permille, pad;
};
_Static_assert(sizeof(struct sampling_body) == sizeof(struct sys_sampling_rec) - sizeof(struct sonde_rec),
	       "as in the record");

static int lost_get(const struct event *ev, _unused_ const struct field *f, struct value *ret)
{
	const struct lost_body *b = ev->body;
	const struct sys_call *call = b->abi < SYS_ABI__MAX ? sys_table_call_find(b->abi, b->nr) : NULL;

	return value_set_text(ret, call ? call->name : NULL);
}

static const struct xlat_val cause_vals[] = { { SONDE_LOST_RING_FULL, "ring_full" } };
static const struct xlat cause_xlat = { .name = "lost_cause", .vals = cause_vals, .n = ARRAY_SIZE(cause_vals) };

static const struct field lost_fields[] = {
	{ .name = "lost.call", .kind = FIELD_GET, .like = FIELD_LIKE(FIELD_STR), .doc = "name of the system call",
	    .flags = FIELD_OPEN },
	FIELD_ROW(struct lost_body, nr, "lost.nr", FIELD_UINT, "its number"),
	FIELD_ROW(struct lost_body, cause, "lost.why", FIELD_ENUM, "cause", .xlat = &cause_xlat),
	FIELD_ROW(struct lost_body, count, "lost.count", FIELD_UINT, "lost records on the CPU of the event"),
};
static const struct field sampling_fields[] = {
	FIELD_ROW(struct sampling_body, one_in, "sampling.one_in", FIELD_UINT,
		  "calls are recorded in 1/N of the time"),
	FIELD_ROW(struct sampling_body, cost_permille, "sampling.cost", FIELD_UINT,
		  "CPU time of sonde, thousandths of a CPU"),
	FIELD_ROW(struct sampling_body, budget_permille, "sampling.budget", FIELD_UINT,
		  "limit of --max-cpu, thousandths of a CPU"),
};

const struct event_desc sys_lost_desc = {
	.type = SYS_REC_LOST, .name = "sys.lost", .doc = "lost records by call and CPU",
	.class = EVENT_META, .fields = lost_fields, .n_fields = ARRAY_SIZE(lost_fields),
	.body_size = sizeof(struct lost_body), .get = lost_get,
};
const struct event_desc sys_sampling_desc = {
	.type = SYS_REC_SAMPLING, .name = "sys.sampling", .doc = "change of the recording rate (--max-cpu)",
	.class = EVENT_META, .fields = sampling_fields, .n_fields = ARRAY_SIZE(sampling_fields),
	.body_size = sizeof(struct sampling_body),
};

static int file_line(const struct event *ev, const struct line_opts *o, struct buf *out)
{
	const struct sec_file *f = event_file(ev);
	const char *kind = f ? xlat_name(&file_kind_xlat, f->kind) : NULL;

	sys_event_text_who(ev, o, out);
	buf_printf(out, "opened file %llu, %s: ", (unsigned long long)ev->keys.file, kind ? kind : "unknown");
	if (f)
		str_escape_buf(out, f->name, f->name_len);
	return buf_add_char(out, '\n');
}

const struct event_desc sys_file_desc = {
	.type = SYS_REC_FILE, .name = "sys.file", .doc = "an open file, before the first call on it is reported",
	.class = EVENT_STATE, .sections = 1u << SEC_PROC | 1u << SEC_FILE, .line = file_line,
};
