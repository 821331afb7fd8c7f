// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Packets of the stream as lines: time, link, layers, bytes.
 */
#include "compat/tcpdump/tcpdump_sink.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <net/if.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/macros.h"
#include "base/map.h"
#include "compat/tcpdump/tcpdump_print.h"
#include "event/event.h"
#include "event/names.h"
#include "sinks/sink.h"
#include "sonde/wire.h"

#define SERVICE_NAME 24

struct tcpdump_sink {
	const struct tcpdump_opts *o;
	struct tcpdump_state state;
	struct map services; /* port, and 1 << 16 for TCP -> char[SERVICE_NAME] */
	struct map ifaces;   /* u32 index -> char[IF_NAMESIZE], of this host */
	bool with_iface, count_only;
	uint64_t count;
	uint64_t first_ns, last_ns;
	struct buf line;
};

/* ---- names of ports and interfaces ---- */

static const char *port_name(void *ctx, uint16_t port, bool tcp)
{
	const struct tcpdump_sink *s = ctx;
	uint32_t key = port | (tcp ? 1u << 16 : 0);

	return map_find(&s->services, &key);
}

/* All at once: a replay has no right to open the file later. */
static void read_services(struct tcpdump_sink *s)
{
	const struct servent *e;

	setservent(1);
	while ((e = getservent())) {
		const bool tcp = !strcmp(e->s_proto, "tcp");
		uint32_t key = ntohs((uint16_t)e->s_port) | (tcp ? 1u << 16 : 0);
		bool is_new = false;
		char *name = tcp || !strcmp(e->s_proto, "udp") ? map_add(&s->services, &key, &is_new) : NULL;

		if (name && is_new)
			snprintf(name, SERVICE_NAME, "%s", e->s_name);
	}
	endservent();
}

static const char *iface_name(void *ctx, uint32_t index)
{
	return map_find(&((const struct tcpdump_sink *)ctx)->ifaces, &index);
}

/* As the services. */
static void read_interfaces(struct tcpdump_sink *s)
{
	struct if_nameindex *all = if_nameindex();

	for (const struct if_nameindex *i = all; i && i->if_index; i++) {
		uint32_t index = i->if_index;
		char *name = map_add(&s->ifaces, &index, NULL);

		if (name)
			snprintf(name, IF_NAMESIZE, "%s", i->if_name);
	}
	if (all)
		if_freenameindex(all);
}

struct tcpdump_sink *tcpdump_sink_new(const struct tcpdump_opts *o, bool with_iface, bool count_only)
{
	struct tcpdump_sink *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->o = o;
	s->with_iface = with_iface;
	s->count_only = count_only;
	tcpdump_print_init(&s->state);
	s->state.port_name = port_name;
	s->state.iface_name = iface_name;
	s->state.names_ctx = s;
	map_init(&s->services, sizeof(uint32_t), SERVICE_NAME);
	map_init(&s->ifaces, sizeof(uint32_t), IF_NAMESIZE);
	read_interfaces(s);
	if (!o->numeric)
		read_services(s);
	return s;
}

void tcpdump_sink_free(struct tcpdump_sink *s)
{
	if (!s)
		return;
	tcpdump_print_fini(&s->state);
	map_fini(&s->services);
	map_fini(&s->ifaces);
	buf_fini(&s->line);
	free(s);
}

uint64_t tcpdump_sink_count(const struct tcpdump_sink *s)
{
	return s->count;
}

/* ---- times ---- */

static void add_fraction(const struct tcpdump_opts *o, uint64_t ns, struct buf *out)
{
	buf_add_char(out, '.');
	if (o->nano)
		buf_add_digits(out, (uint32_t)(ns % NS_PER_S), 9);
	else
		buf_add_digits(out, (uint32_t)(ns % NS_PER_S / 1000), 6);
}

static void add_span(const struct tcpdump_opts *o, uint64_t from_ns, uint64_t to_ns, struct buf *out)
{
	bool back = to_ns < from_ns;
	uint64_t ns = back ? from_ns - to_ns : to_ns - from_ns;
	unsigned seconds = (unsigned)(ns / NS_PER_S);

	buf_printf(out, "%s%02u:%02u:%02u", back ? "-" : " ", seconds / 3600, seconds / 60 % 60, seconds % 60);
	add_fraction(o, ns, out);
}

static void add_clock(const struct tcpdump_opts *o, uint64_t ns, bool date, struct buf *out)
{
	time_t second = (time_t)(ns / NS_PER_S);
	char text[32] = "";
	struct tm tm;

	if (!localtime_r(&second, &tm))
		return;
	if (date && strftime(text, sizeof(text), "%Y-%m-%d ", &tm))
		buf_add_str(out, text);
	if (strftime(text, sizeof(text), "%H:%M:%S", &tm))
		buf_add_str(out, text);
	add_fraction(o, ns, out);
}

/* -t none, -tt seconds since 1970, -ttt since the line before, -tttt with the date, -ttttt since the first line. */
static void add_time(struct tcpdump_sink *s, uint64_t ns, struct buf *out)
{
	const struct tcpdump_opts *o = s->o;

	/* differences of what is shown, not of what is not */
	ns -= o->nano ? 0 : ns % 1000;
	if (!s->first_ns)
		s->first_ns = s->last_ns = ns;
	switch (o->stamp) {
	case 0: add_clock(o, ns, false, out); break;
	case 1: return;
	case 2:
		buf_add_u64(out, ns / NS_PER_S);
		add_fraction(o, ns, out);
		break;
	case 3: add_span(o, s->last_ns, ns, out); break;
	case 4: add_clock(o, ns, true, out); break;
	default: add_span(o, s->first_ns, ns, out); break;
	}
	s->last_ns = ns;
	buf_add_char(out, ' ');
}

/* ---- lines ---- */

static const char *way_of(const struct sec_packet *p, const uint8_t *data)
{
	static const uint8_t all[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };

	if (p->direction == PACKET_DIR_OUT)
		return "Out";
	if (p->direction != PACKET_DIR_IN)
		return "?";
	if (p->link != 1 || p->cap_len < sizeof(all))
		return "In";
	return !memcmp(data, all, sizeof(all)) ? "B" : data[0] & 1 ? "M" : "In";
}

static void print_packet(struct tcpdump_sink *s, const struct event *ev, const struct sec_packet *p,
			 const uint8_t *data)
{
	struct tcpdump_packet packet = {
		.link = p->link,
		.data = data,
		.cap_len = p->cap_len,
		.orig_len = p->orig_len,
	};
	struct buf *out = &s->line;

	if (s->with_iface) {
		uint32_t netns = p->netns ? p->netns : ev->keys.netns;

		packet.iface = event_names_get(ev->names, SONDE_NAME_IFACE, names_iface_key(netns, p->ifindex));
		packet.iface = packet.iface ? packet.iface : "?";
		packet.way = way_of(p, data);
	}
	if (s->o->number)
		buf_printf(out, "%5" PRIu64 "  ", s->count);
	add_time(s, event_wall_ns(ev), out);
	tcpdump_print_packet(s->o, &s->state, &packet, out);
	tcpdump_hex_print(s->o, &packet, out);
	buf_add_char(out, '\n');
}

static int sink_event_of(struct sink *sink, const struct event *ev)
{
	struct tcpdump_sink *s = sink->opts->ctx;
	const uint8_t *data;
	const struct sec_packet *p = event_packet(ev, &data);

	if (!p)
		return 0;
	s->count++;
	if (s->count_only)
		return 0;
	buf_reset(&s->line);
	print_packet(s, ev, p, data);
	if (buf_error(&s->line) < 0)
		return -ENOMEM;
	return fwrite(s->line.data, 1, s->line.len, stdout) == s->line.len ? 0 : -errno;
}

const struct sink_ops tcpdump_sink_ops = {
	.name = "tcpdump",
	.summary = "tcpdump's lines",
	.shows = "packets",
	.needs = 1u << SEC_PACKET,
	.flags = SINK_NO_FILE,
	.event = sink_event_of,
	.flush = sink_flush_stdout,
};
