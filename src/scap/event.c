// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Event types with SEC_PARAMS.
 */
#include "scap/event.h"

#include <errno.h>

#include "base/buf.h"
#include "base/macros.h"
#include "event/event.h"
#include "event/params.h"
#include "scap/frozen.h"
#include "scap/render.h"
#include "scap/schema.h"
#include "scap/state/state.h"
#include "scap/scap_fields.h"
#include "sonde/scap_wire.h"

/* sonde's own line; SCAP_FORM_SYSDIG is sysdig's. */
static int event_line_of(const struct event *ev, _unused_ const struct line_opts *o, struct buf *out)
{
	const struct scap_view *v = scap_state_view(ev);
	struct value kept;
	struct params p;

	if (!v && scap_frozen_line(ev, &kept) == 0)
		return buf_add(out, kept.str, kept.len);
	if (!v)
		return params_of(ev, &p) < 0 ? -EBADMSG : buf_printf(out, "sys.event %u\n", p.head->type);
	buf_printf(out, "%u ", ev->cpu);
	if (v->thread && v->thread->comm)
		buf_add(out, v->thread->comm->data, v->thread->comm->len);
	buf_printf(out, "[%lld] %s%s ", (long long)v->p.head->tid, v->p.head->type & 1 ? "< " : "> ",
		   scap_render_event_name(v));
	scap_render_args(v, scap_state_render(v->state), out);
	return buf_add_char(out, '\n');
}

static int row_get(const struct event *ev, _unused_ const struct field *f, struct value *ret)
{
	const struct scap_event_info *info;
	struct params p;

	if (params_of(ev, &p) < 0)
		return -ENOENT;
	info = scap_schema_event_info(p.head->type);
	return value_set_text(ret, info->name);
}

static const struct field row_fields[] = {
	{ .name = "row.table", .kind = FIELD_GET, .like = FIELD_LIKE(FIELD_STR),
	  .doc = "what it is a row of: machine, thread, fd, user, group, iface" },
};

static int get(const struct event *ev, const struct field *f, struct value *ret)
{
	return scap_state_view(ev) ? scap_fields_get(ev, f, ret) : scap_frozen_get(ev, f, ret);
}

const struct event_desc scap_event_desc = {
	.type = SONDE_EV_SCAP,
	.name = "sys.event",
	.doc = "a system call entered or left, or what the scheduler, signals and faults did",
	.class = EVENT_DATA,
	.sections = 1u << SEC_PARAMS,
	.fields = scap_fields,
	.n_fields = SCAP_N_FIELDS,
	.get = get,
	.line = event_line_of,
};

const struct event_desc scap_internal_desc = {
	.type = SONDE_EV_SCAP_INTERNAL, .name = "sys.internal", .doc = "what libscap notes for itself",
	.class = EVENT_STATE, .sections = 1u << SEC_PARAMS, .line = event_line_of,
};

const struct event_desc scap_procinfo_desc = {
	.type = SONDE_EV_SCAP_PROCINFO, .name = "procinfo", .doc = "CPU time of a process so far, in clock ticks",
	.class = EVENT_STATE, .sections = 1u << SEC_PARAMS, .fields = scap_fields, .n_fields = SCAP_N_FIELDS,
	.get = get, .line = event_line_of,
};

const struct event_desc scap_row_desc = {
	.type = SONDE_EV_SCAP_ROW, .name = "sys.row", .doc = "a thread, descriptor or user that was there",
	.class = EVENT_STATE, .sections = 1u << SEC_PARAMS, .fields = row_fields,
	.n_fields = ARRAY_SIZE(row_fields), .get = row_get,
};
