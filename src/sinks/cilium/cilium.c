// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lines as Cilium's client prints them (cilium/print.h). This file escapes the names it passes to the printer.
 */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "cilium/print.h"
#include "event/event.h"
#include "event/names.h"
#include "sinks/cilium/cilium_lines.h"
#include "sinks/outfile.h"
#include "sinks/sink.h"
#include "sonde/foreign_wire.h"
#include "sonde/wire.h"

/* Name of an interface at the event's time; prints the number if the name is not plain text. */
static bool iface_name(void *ctx, uint32_t ifindex, char name[static 16])
{
	const struct event *ev = ctx;
	const char *known = event_names_get(ev->names, SONDE_NAME_IFACE, names_iface_key(ev->keys.netns, ifindex));

	if (!known || !str_is_plain(known, strlen(known)))
		return false;
	snprintf(name, 16, "%s", known);
	return true;
}

/* Name from the datapath's own table, if the stream has one. */
static const char *own_name(const struct event *ev, uint32_t space, uint64_t key)
{
	const char *name = event_names_get(ev->names, space, key);

	return name && str_is_plain(name, strlen(name)) ? name : NULL;
}

/* Streams use the number as name of an unnamed code; the client formats such codes its own way. */
static const char *drop_name(void *ctx, uint8_t code)
{
	const char *name = own_name(ctx, SONDE_NAME_DROP_REASON, SONDE_FOREIGN_REASON | code);

	return name && name[strspn(name, "0123456789")] ? name : NULL;
}

static const char *file_name(void *ctx, uint8_t id)
{
	return id ? own_name(ctx, SONDE_NAME_SOURCE_FILE, id) : NULL;
}

int cilium_lines_event(struct sink *s, const struct event *ev, bool json)
{
	const struct line_opts *l = &s->opts->line;
	const struct cilium_print o = {
		.verbose = l->verbose, .hex = l->hex, .numeric = l->numeric, .json = json,
		.iface = iface_name, .drop = drop_name, .file = file_name, .ctx = (void *)ev,
	};
	struct cilium_lines *st = s->state;
	struct cilium_payload p;
	int r = cilium_map_event(&st->map, ev, &p);

	if (r <= 0)
		return r;
	buf_reset(&st->out);
	r = cilium_print(&p, &o, &st->out);
	return r < 0 || !st->out.len ? r : outfile_record(s->out, st->out.data, st->out.len);
}

int cilium_lines_close(struct sink *s)
{
	struct cilium_lines *st = s->state;

	cilium_map_fini(&st->map);
	buf_fini(&st->out);
	return 0;
}

static int cilium_event(struct sink *s, const struct event *ev)
{
	return cilium_lines_event(s, ev, false);
}

const struct sink_ops cilium_sink = {
	.name = "cilium", .summary = "packets and drops as `cilium-dbg monitor` prints them",
	.tool = "cilium", .instead_of = "text",
	.shows = "packets",
	.state_size = sizeof(struct cilium_lines), .event = cilium_event, .close = cilium_lines_close,
};
