// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lines of flows. A flow is put together in fields, which the forms arrange.
 */
#include "compat/hubble/hubble_lines.h"

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/vec.h"
#include "cilium/names.h"
#include "cilium/notify.h"
#include "event/core.h"
#include "sinks/cilium/hubble_flow.h"
#include "sinks/sink.h"

#define RED "\x1b[31m"
#define GREEN "\x1b[32m"
#define YELLOW "\x1b[33m"
#define MAGENTA "\x1b[35m"
#define CYAN "\x1b[36m"
#define PLAIN "\x1b[0m"
#define TABLE_GAP 3

enum column { STAMP, NODE, SOURCE, DESTINATION, TYPE, VERDICT, SUMMARY, COLUMN__MAX };

static const char *const titles[] = {
	[STAMP] = "TIMESTAMP", [NODE] = "NODE", [SOURCE] = "SOURCE", [DESTINATION] = "DESTINATION", [TYPE] = "TYPE",
	[VERDICT] = "VERDICT", [SUMMARY] = "SUMMARY",
};
_Static_assert(ARRAY_SIZE(titles) == COLUMN__MAX, "a title per column");

struct kept {
	char *text;	/* owned; cells of a table are each ended by NUL */
	size_t len;
};

struct hubble_lines {
	const struct hubble_lines_opts *o;
	struct hubble_map map;
	struct time_text time;
	uint64_t flows;		/* so far */
	bool color, printed;
	struct buf line;
	struct buf cells[COLUMN__MAX], src_id, dst_id;
	VEC(struct kept) kept;	/* of a table, or a ring of the last flows */
	size_t oldest;		/* in the full ring */
};

struct hubble_lines *hubble_lines_new(const struct hubble_lines_opts *o)
{
	struct hubble_lines *l = calloc(1, sizeof(*l));

	if (l)
		l->o = o;
	return l;
}

void hubble_lines_free(struct hubble_lines *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->kept.len; i++)
		free(l->kept.items[i].text);
	for (size_t i = 0; i < COLUMN__MAX; i++)
		buf_fini(&l->cells[i]);
	vec_fini(&l->kept);
	hubble_flow_fini(&l->map);
	buf_fini(&l->src_id);
	buf_fini(&l->dst_id);
	buf_fini(&l->line);
	free(l);
}

/* ---- times ---- */

/* ".25": at most @n decimals, without zeros at the end. */
static void put_fraction(uint32_t ns, unsigned n, struct buf *out)
{
	char text[12];
	size_t len = n + 1;

	snprintf(text, sizeof(text), ".%09" PRIu32, ns);
	while (len > 1 && text[len - 1] == '0')
		len--;
	if (len > 1)
		buf_add(out, text, len);
}

static size_t put_second(enum hubble_time form, const struct tm *tm, char ret[static 48])
{
	switch (form) {
	case HUBBLE_TIME_STAMP_MILLI: return strftime(ret, 48, "%b %e %H:%M:%S", tm);
	case HUBBLE_TIME_DAY: return strftime(ret, 48, "%Y-%m-%d", tm);
	case HUBBLE_TIME_HOUR: return strftime(ret, 48, "%Y-%m-%dT%HZ", tm);
	case HUBBLE_TIME_MINUTE: return strftime(ret, 48, "%Y-%m-%dT%H:%MZ", tm);
	case HUBBLE_TIME_SECOND: return strftime(ret, 48, "%Y-%m-%dT%H:%M:%SZ", tm);
	case HUBBLE_TIME_RFC1123: return strftime(ret, 48, "%a, %d %b %Y %H:%M:%S +0000", tm);
	case HUBBLE_TIME_MILLI:
	case HUBBLE_TIME_MICRO:
	case HUBBLE_TIME_NANO:
	case HUBBLE_TIME__MAX: break;
	}
	return strftime(ret, 48, "%Y-%m-%dT%H:%M:%S", tm);
}

static void put_time(const struct hubble_lines *l, const struct event *ev, struct buf *out)
{
	static const unsigned decimals[HUBBLE_TIME__MAX] = {
		[HUBBLE_TIME_MILLI] = 3, [HUBBLE_TIME_MICRO] = 6, [HUBBLE_TIME_NANO] = 9,
	};
	const uint64_t ns = event_wall_ns(ev);
	const time_t second = (time_t)(ns / NS_PER_S);
	char text[48] = "";
	struct tm tm;

	if (!ev->clock_offset_ns || !gmtime_r(&second, &tm)) {
		buf_add_str(out, "N/A");
		return;
	}
	if (put_second(l->o->time, &tm, text))
		buf_add_str(out, text);
	if (l->o->time == HUBBLE_TIME_STAMP_MILLI) {
		buf_add_char(out, '.');
		buf_add_digits(out, (uint32_t)(ns % NS_PER_S / 1000000), 3);
	} else if (decimals[l->o->time]) {
		put_fraction((uint32_t)(ns % NS_PER_S), decimals[l->o->time], out);
		buf_add_char(out, 'Z');
	}
}

/* ---- fields ---- */

static void color_on(const struct hubble_lines *l, const char *code, struct buf *out)
{
	if (l->color)
		buf_add_str(out, code);
}

static void color_off(const struct hubble_lines *l, struct buf *out)
{
	color_on(l, PLAIN, out);
}

static bool has_ports(uint8_t proto)
{
	return proto == IPPROTO_TCP || proto == IPPROTO_UDP || proto == IPPROTO_SCTP;
}

/* "name:port", an address with a colon in brackets. */
static void put_address(const struct hubble_lines *l, const struct ipaddr *ip, const struct value *name,
			uint16_t port, struct buf *out)
{
	char memory[INET6_ADDRSTRLEN];
	struct buf text = buf_in(memory, sizeof(memory));
	bool brackets;

	if (name->kind == VAL_STR && name->len && !l->o->addresses)
		str_escape_buf(&text, name->str, name->len);
	else if (ip->family)
		ipaddr_text(ip, &text);
	brackets = port && memchr(text.data, ':', text.len);
	buf_printf(out, "%s%.*s%s", brackets ? "[" : "", (int)text.len, text.data, brackets ? "]" : "");
	if (port) {
		buf_add_char(out, ':');
		color_on(l, YELLOW, out);
		buf_add_u64(out, port);
		color_off(l, out);
	}
	buf_fini(&text);
}

static void put_ends(struct hubble_lines *l, const struct hubble_flow *f)
{
	const struct conn *c = &f->conn;
	bool ports = has_ports(c->proto), ip = c->saddr.family || c->daddr.family;

	color_on(l, CYAN, &l->cells[SOURCE]);
	color_on(l, CYAN, &l->cells[DESTINATION]);
	if (ip) {
		put_address(l, &c->saddr, &f->src.name, ports ? c->sport : 0, &l->cells[SOURCE]);
		put_address(l, &c->daddr, &f->dst.name, ports ? c->dport : 0, &l->cells[DESTINATION]);
	} else if (f->has_mac) {
		buf_add_mac(&l->cells[SOURCE], f->smac);
		buf_add_mac(&l->cells[DESTINATION], f->dmac);
	}
	color_off(l, &l->cells[SOURCE]);
	color_off(l, &l->cells[DESTINATION]);
}

static void put_identity(const struct hubble_lines *l, uint32_t identity, struct buf *out)
{
	char memory[24];
	struct buf name = buf_in(memory, sizeof(memory));

	cilium_names_put_identity(&name, identity, false);
	color_on(l, MAGENTA, out);
	buf_printf(out, "(%s%.*s)", name.len && name.data[0] >= '0' && name.data[0] <= '9' ? "ID:" : "",
		   (int)name.len, name.data);
	color_off(l, out);
	buf_fini(&name);
}

static void put_type(const struct hubble_flow *f, struct buf *out)
{
	static const char *const directions[] = { "TRAFFIC_DIRECTION_UNKNOWN", "INGRESS", "EGRESS" };

	switch (f->event_type) {
	case CILIUM_TRACE:
		if (f->knows_sub_type)
			cilium_names_put_point(out, f->sub_type);
		else
			buf_add_str(out, "UNKNOWN");
		break;
	case CILIUM_DROP:
		cilium_names_put_drop(out, f->sub_type, 0);
		break;
	case CILIUM_POLICY:
		buf_printf(out, "policy-verdict:%s %s", cilium_names_policy_match((uint8_t)f->policy_match),
			   directions[MIN(f->direction, (uint8_t)HUBBLE_EGRESS)]);
		break;
	case CILIUM_CAPTURE:
		buf_add_str(out, f->capture_point ? f->capture_point : "DBG_CAPTURE_POINT_UNKNOWN");
		break;
	case CILIUM_SOCK:
		if (f->sock_point)
			buf_add_str(out, cilium_names_sock_point(f->sub_type));
		else
			buf_add_str(out, "SOCK_XLATE_POINT_UNKNOWN");
		break;
	default:
		buf_add_str(out, "UNKNOWN");
	}
}

static void put_verdict(const struct hubble_lines *l, const struct hubble_flow *f, struct buf *out)
{
	static const struct { const char *name, *of_policy, *color; } words[] = {
		{ "FORWARDED", "ALLOWED", GREEN }, { "REDIRECTED", "ALLOWED", GREEN }, { "DROPPED", "DENIED", RED },
		{ "ERROR", "DENIED", RED }, { "AUDIT", "AUDITED", YELLOW }, { "TRACED", NULL, YELLOW },
		{ "TRANSLATED", NULL, YELLOW },
	};

	for (size_t i = 0; f->verdict && i < ARRAY_SIZE(words); i++) {
		if (strcmp(f->verdict, words[i].name) != 0)
			continue;
		color_on(l, words[i].color, out);
		buf_add_str(out, f->event_type == CILIUM_POLICY && words[i].of_policy ? words[i].of_policy :
									       words[i].name);
		color_off(l, out);
		return;
	}
	buf_add_str(out, "VERDICT_UNKNOWN");
}

static void set_flow(struct hubble_lines *l, const struct event *ev, const struct hubble_flow *f, const char *node)
{
	put_time(l, ev, &l->cells[STAMP]);
	str_escape_buf(&l->cells[NODE], node, strlen(node));
	put_ends(l, f);
	put_type(f, &l->cells[TYPE]);
	put_verdict(l, f, &l->cells[VERDICT]);
	hubble_flow_summary(&l->cells[SUMMARY], f);
	put_identity(l, f->src.identity, &l->src_id);
	put_identity(l, f->dst.identity, &l->dst_id);
}

/* ---- forms ---- */

static void put_compact(struct hubble_lines *l, const struct hubble_flow *f, struct buf *out)
{
	bool reply = f->knows_reply && f->is_reply;
	struct buf *c = l->cells;

	buf_add(out, c[STAMP].data, c[STAMP].len);
	if (l->o->node)
		buf_printf(out, " [%s]", buf_str(&c[NODE]));
	buf_printf(out, ": %s %s ", buf_str(&c[reply ? DESTINATION : SOURCE]),
		   buf_str(reply ? &l->dst_id : &l->src_id));
	buf_printf(out, "%s %s ", !f->knows_reply ? "<>" : reply ? "<-" : "->",
		   buf_str(&c[reply ? SOURCE : DESTINATION]));
	buf_printf(out, "%s %s %s (%s)\n", buf_str(reply ? &l->src_id : &l->dst_id), buf_str(&c[TYPE]),
		   buf_str(&c[VERDICT]), buf_str(&c[SUMMARY]));
}

/* The separator is printed with the line: that of a flow which is not shown would be one too many. */
static void put_dict(struct hubble_lines *l, struct buf *out)
{
	for (size_t i = 0; i < COLUMN__MAX; i++)
		if (i != NODE || l->o->node)
			buf_printf(out, "%*s: %s\n", (int)strlen(titles[DESTINATION]), titles[i],
				   buf_str(&l->cells[i]));
}

static void put_cells(struct hubble_lines *l, struct buf *out)
{
	for (size_t i = 0; i < COLUMN__MAX; i++) {
		buf_add_str(out, buf_str(&l->cells[i]));
		buf_add_char(out, '\0');
	}
}

static void set_lost(struct hubble_lines *l, uint64_t lost, int64_t cpu)
{
	buf_add_str(&l->cells[SOURCE], "PERF_EVENT_RING_BUFFER");
	buf_add_str(&l->cells[TYPE], "EVENTS LOST");
	buf_printf(&l->cells[SUMMARY], "CPU(%" PRId64 ") - %" PRIu64, cpu, lost);
}

/* ---- output ---- */

static int print(struct hubble_lines *l, const char *text, size_t len)
{
	static const char separator[] = "------------\n";

	if (l->o->form == HUBBLE_DICT && l->printed)
		fwrite(separator, 1, sizeof(separator) - 1, stdout);
	l->printed = true;
	return fwrite(text, 1, len, stdout) == len ? 0 : -errno;
}

/* Adds the line to what waits; the ring of --last gives its oldest place. */
static int keep(struct hubble_lines *l, const struct buf *line)
{
	bool full = l->o->last && l->kept.len == l->o->last;
	_cleanup_free_ char *copy = malloc(line->len + 1);
	struct kept *place;

	if (!copy || (!full && vec_grow(&l->kept) < 0))
		return -ENOMEM;
	memcpy(copy, line->data, line->len);
	place = &l->kept.items[full ? l->oldest : l->kept.len];
	if (full) {
		free(place->text);
		l->oldest = (l->oldest + 1) % l->kept.len;
	} else {
		l->kept.len++;
	}
	*place = (struct kept){ .text = TAKE_PTR(copy), .len = line->len };
	return 0;
}

static int take(struct hubble_lines *l, bool is_flow)
{
	if (buf_error(&l->line) < 0)
		return -ENOMEM;
	if (l->o->form == HUBBLE_TABLE || (l->o->last && is_flow))
		return keep(l, &l->line);
	return print(l, l->line.data, l->line.len);
}

static void reset(struct hubble_lines *l)
{
	for (size_t i = 0; i < COLUMN__MAX; i++)
		buf_reset(&l->cells[i]);
	buf_reset(&l->src_id);
	buf_reset(&l->dst_id);
	buf_reset(&l->line);
}

static void put_flow(struct hubble_lines *l, const struct event *ev, const struct hubble_flow *f, const char *node)
{
	if (l->o->form == HUBBLE_JSON) {
		hubble_put_response(&l->line, &l->time, ev, f, 0, 0, node);
		return;
	}
	set_flow(l, ev, f, node ? node : "");
	if (l->o->form == HUBBLE_COMPACT)
		put_compact(l, f, &l->line);
	else if (l->o->form == HUBBLE_DICT)
		put_dict(l, &l->line);
	else
		put_cells(l, &l->line);
}

static void put_lost(struct hubble_lines *l, const struct event *ev, uint64_t lost, int64_t cpu, const char *node)
{
	if (l->o->form == HUBBLE_JSON) {
		hubble_put_response(&l->line, &l->time, ev, NULL, lost, cpu, node);
	} else if (l->o->form == HUBBLE_COMPACT) {
		buf_printf(&l->line, "EVENTS LOST: PERF_EVENT_RING_BUFFER CPU(%" PRId64 ") %" PRIu64 "\n", cpu, lost);
	} else {
		set_lost(l, lost, cpu);
		if (l->o->form == HUBBLE_DICT)
			put_dict(l, &l->line);
		else
			put_cells(l, &l->line);
	}
}

static int sink_event_of(struct sink *s, const struct event *ev)
{
	const char *node = s->opts->host && *s->opts->host->hostname ? s->opts->host->hostname : NULL;
	struct hubble_lines *l = s->opts->ctx;
	struct hubble_flow flow;
	uint64_t lost = 0;
	int64_t cpu = 0;
	int r = hubble_flow_event(&l->map, ev, &flow, &lost, &cpu);

	if (r <= 0 || (l->o->first && l->flows >= l->o->first))
		return r < 0 ? r : 0;
	l->color = s->opts->color && l->o->form != HUBBLE_TABLE;
	reset(l);
	if (r == 1) {
		l->flows++;
		put_flow(l, ev, &flow, node);
	} else {
		put_lost(l, ev, lost, cpu, node);
	}
	return take(l, r == 1);
}

/* ---- the end ---- */

/* Characters, as a table counts them. */
static size_t width_of(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += (*text & 0xc0) != 0x80;
	return n;
}

static const struct kept *kept_at(const struct hubble_lines *l, size_t i)
{
	return &l->kept.items[(l->oldest + i) % l->kept.len];
}

/* The cells of a kept line, or the titles for NULL. */
static void cells_of(const struct kept *k, const char *ret[static COLUMN__MAX])
{
	const char *p = k ? k->text : NULL;

	for (size_t i = 0; i < COLUMN__MAX; i++) {
		ret[i] = k ? p : titles[i];
		p = k ? p + strlen(p) + 1 : NULL;
	}
}

static void put_row(const struct hubble_lines *l, const struct kept *k, const size_t widths[static COLUMN__MAX],
		    struct buf *out)
{
	const char *cells[COLUMN__MAX];

	cells_of(k, cells);
	for (size_t i = 0; i < COLUMN__MAX; i++) {
		if (i == NODE && !l->o->node)
			continue;
		buf_add_str(out, cells[i]);
		if (i < SUMMARY)
			buf_printf(out, "%*s", (int)(widths[i] - width_of(cells[i])), "");
	}
	buf_add_char(out, '\n');
}

/* A column is three blanks wider than its longest cell. */
static void put_table(const struct hubble_lines *l, struct buf *out)
{
	size_t widths[COLUMN__MAX] = { 0 };
	const char *cells[COLUMN__MAX];

	for (size_t i = 0; i <= l->kept.len; i++) {
		cells_of(i ? kept_at(l, i - 1) : NULL, cells);
		for (size_t c = 0; c < COLUMN__MAX; c++)
			widths[c] = MAX(widths[c], width_of(cells[c]) + TABLE_GAP);
	}
	put_row(l, NULL, widths, out);
	for (size_t i = 0; i < l->kept.len; i++)
		put_row(l, kept_at(l, i), widths, out);
}

int hubble_lines_finish(struct hubble_lines *l)
{
	int r = 0;

	buf_reset(&l->line);
	if (l->o->form == HUBBLE_TABLE && l->kept.len) {
		put_table(l, &l->line);
		r = buf_error(&l->line) < 0 ? -ENOMEM : print(l, l->line.data, l->line.len);
	}
	for (size_t i = 0; l->o->form != HUBBLE_TABLE && r >= 0 && i < l->kept.len; i++)
		r = print(l, kept_at(l, i)->text, kept_at(l, i)->len);
	return r < 0 ? r : fflush(stdout) ? -errno : 0;
}

const struct sink_ops hubble_lines_sink = {
	.name = "hubble-lines",
	.summary = "hubble's lines",
	.shows = "flows",
	.event = sink_event_of,
	.flush = sink_flush_stdout,
};
