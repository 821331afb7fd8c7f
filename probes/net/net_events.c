// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fields and text lines of the net probe's events. Lines follow `cilium monitor` (point or drop first, then the
 * interface, then the packet), with time and process.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/macros.h"
#include "base/str.h"
#include "cilium/names.h"
#include "cilium/notify.h"
#include "event/event.h"
#include "event/names.h"
#include "packet/packet.h"
#include "probes/net/net_event.h"
#include "probes/net/datapath/net_datapath_event.h"
#include "probes/net/net_text.h"
#include "probes/net/net_wire.h"
#include "sonde/ident_wire.h"

static const struct xlat_val point_vals[] = {
	{ NET_POINT_TO_ENDPOINT, "to-endpoint" }, { NET_POINT_TO_PROXY, "to-proxy" },
	{ NET_POINT_TO_HOST, "to-host" }, { NET_POINT_TO_STACK, "to-stack" },
	{ NET_POINT_TO_OVERLAY, "to-overlay" }, { NET_POINT_FROM_ENDPOINT, "from-endpoint" },
	{ NET_POINT_FROM_PROXY, "from-proxy" }, { NET_POINT_FROM_HOST, "from-host" },
	{ NET_POINT_FROM_STACK, "from-stack" }, { NET_POINT_FROM_OVERLAY, "from-overlay" },
	{ NET_POINT_FROM_NETWORK, "from-network" }, { NET_POINT_TO_NETWORK, "to-network" },
	{ NET_POINT_FROM_CRYPTO, "from-crypto" }, { NET_POINT_TO_CRYPTO, "to-crypto" },
};
_Static_assert(ARRAY_SIZE(point_vals) == NET_POINT__MAX, "each point has a name");
const struct xlat net_point_xlat = { .name = "net_point", .vals = point_vals, .n = ARRAY_SIZE(point_vals) };

static const struct xlat_val dir_vals[] = {
	{ NET_DIR_NONE, "unknown" }, { NET_DIR_IN, "in" }, { NET_DIR_OUT, "out" },
};
const struct xlat net_dir_xlat = { .name = "net_dir", .vals = dir_vals, .n = ARRAY_SIZE(dir_vals) };

static const struct xlat_val end_vals[] = { { NET_END_SENDER, "src" }, { NET_END_RECEIVER, "dst" } };
_Static_assert(ARRAY_SIZE(end_vals) == NET_END__MAX - 1, "each end has a name");
const struct xlat net_end_xlat = { .name = "net_end", .vals = end_vals, .n = ARRAY_SIZE(end_vals) };

static const struct xlat_val tcp_flag_vals[] = {
	{ 0x01, "FIN" }, { 0x02, "SYN" }, { 0x04, "RST" }, { 0x08, "PSH" }, { 0x10, "ACK" }, { 0x20, "URG" },
	{ 0x40, "ECE" }, { 0x80, "CWR" },
};
const struct xlat net_tcp_flag_xlat = {
	.name = "tcp_flags", .vals = tcp_flag_vals, .n = ARRAY_SIZE(tcp_flag_vals), .is_flags = true,
};

static const struct xlat_val verdict_vals[] = {
	{ NET_VERDICT_FORWARDED, "forwarded" }, { NET_VERDICT_DROPPED, "dropped" },
	{ NET_VERDICT_REDIRECTED, "redirected" },
};
_Static_assert(ARRAY_SIZE(verdict_vals) == NET_VERDICT__MAX - 1, "each verdict has a name");
const struct xlat net_verdict_xlat = {
	.name = "net_verdict", .vals = verdict_vals, .n = ARRAY_SIZE(verdict_vals),
};

static const struct xlat_val action_vals[] = {
	{ NET_ACTION_PASS, "pass" }, { NET_ACTION_NAT, "nat" }, { NET_ACTION_DROP, "drop" },
	{ NET_ACTION_REDIRECT, "redirect" },
};
_Static_assert(ARRAY_SIZE(action_vals) == NET_ACTION__MAX - 1, "each action has a name");
const struct xlat net_action_xlat = { .name = "net_action", .vals = action_vals, .n = ARRAY_SIZE(action_vals) };

/* Names follow Cilium's drop codes. */
static const struct xlat_val cause_vals[] = {
	{ NET_CAUSE_TTL, "TTL exceeded" },
};
_Static_assert(ARRAY_SIZE(cause_vals) == NET_CAUSE__MAX - 1, "each cause has a name");
const struct xlat net_cause_xlat = { .name = "net_cause", .vals = cause_vals, .n = ARRAY_SIZE(cause_vals) };

/* Fields that net_get() reads. */
enum {
	GET_FUNC = NET_GET__ENDS, GET_FILE, GET_STATE, GET_ENCRYPTED, GET_ORIG_IP, GET_VERDICT, GET_ACTION,
};

#define ROW(member, name_, kind_, doc_, ...) FIELD_ROW(struct net_event, member, name_, kind_, doc_, ##__VA_ARGS__)

#define PACKET_ROWS \
	ROW(ifindex, "net.iface", FIELD_IFACE, "interface", .flags = FIELD_OPTIONAL), \
		ROW(len, "net.len", FIELD_UINT, "length of the packet on the wire", .flags = FIELD_PACKET), \
		ROW(cap_len, "net.caplen", FIELD_UINT, "captured bytes of the packet", .flags = FIELD_PACKET), \
		ROW(vlan, "net.vlan", FIELD_UINT, "VLAN id of the outermost tag", .flags = FIELD_OPTIONAL), \
		ROW(ttl, "net.ttl", FIELD_UINT, "time to live, hop limit", .flags = FIELD_OPTIONAL | FIELD_PACKET), \
		ROW(tcp_flags, "tcp.flags", FIELD_FLAGS, "flags of the TCP header", .xlat = &net_tcp_flag_xlat, \
		    .flags = FIELD_OPTIONAL | FIELD_PACKET), \
		ROW(mark, "net.mark", FIELD_HEX, "packet mark", .flags = FIELD_OPTIONAL), \
		ROW(hash, "net.hash", FIELD_HEX, "flow hash, if the kernel computed it", .flags = FIELD_OPTIONAL), \
		NET_END_ROWS("source", "destination"), \
		NET_GET_ROW(GET_VERDICT, "net.verdict", FIELD_ENUM, "forwarded or dropped", \
			    .xlat = &net_verdict_xlat, .flags = FIELD_SILENT), \
		NET_GET_ROW(GET_ACTION, "net.action", FIELD_ENUM, "pass or drop", .xlat = &net_action_xlat, \
			.flags = FIELD_SILENT), \
		ROW(src_identity, "net.src_identity", FIELD_UINT, \
		    "security identity of the source (other datapaths)", .flags = FIELD_OPTIONAL), \
		ROW(dst_identity, "net.dst_identity", FIELD_UINT, "security identity of the destination", \
		    .flags = FIELD_OPTIONAL), \
		ROW(src_endpoint, "net.src_endpoint", FIELD_UINT, "endpoint whose program ran", \
		    .flags = FIELD_OPTIONAL), \
		ROW(dst_endpoint, "net.dst_endpoint", FIELD_UINT, "endpoint, or port of a proxy, that it goes to", \
		    .flags = FIELD_OPTIONAL), \
		ROW(trigger, "recorder.trigger", FIELD_BOOL, "the packet triggered its dump", \
		    .flags = FIELD_OPTIONAL), \
		ROW(owner_end, "owner.end", FIELD_ENUM, "end of the packet that the process is: src, dst", \
		    .xlat = &net_end_xlat, .flags = FIELD_OPTIONAL, .key = "owner_end"), \
		ROW(owner_foreign, "owner.foreign", FIELD_BOOL, \
		    "the process's socket is in another network namespace than the packet", \
		    .flags = FIELD_OPTIONAL, .key = "owner_foreign"), \
		ROW(peer_pid, "peer.pid", FIELD_UINT, "process at the other end of the packet, on this host", \
		    .flags = FIELD_OPTIONAL, .key = "peer_pid"), \
		ROW(peer_comm, "peer.name", FIELD_STR, "its name when it got the socket", \
		    .flags = FIELD_OPEN | FIELD_OPTIONAL, .key = "peer_name"), \
		ROW(peer_start_ns, "peer.start", FIELD_NS, "its start since boot", .flags = FIELD_OPTIONAL, \
		    .key = "peer_start_ns"), \
		ROW(peer_sock, "peer.sock", FIELD_UINT, "cookie of the socket at the other end", \
		    .flags = FIELD_OPTIONAL, .key = "peer_sock"), \
		ROW(peer_how, "peer.how", FIELD_ENUM, "source of the process at the other end", \
		    .xlat = &ident_how_xlat, .flags = FIELD_OPTIONAL, .key = "peer_how"), \
		ROW(peer_foreign, "peer.foreign", FIELD_BOOL, \
		    "the other end's socket is in another network namespace than the packet", \
		    .flags = FIELD_OPTIONAL, .key = "peer_foreign")

#define ORIGIN_ROWS \
	NET_GET_ROW(GET_ORIG_IP, "net.orig_ip", FIELD_IP, "source before the packet was translated"), \
		ROW(orig_sport, "net.orig_sport", FIELD_UINT, "its port", .flags = FIELD_PORT | FIELD_OPTIONAL), \
		ROW(orig_daddr, "net.orig_dip", FIELD_IP, "destination before the packet was translated", \
		    .flags = FIELD_OPTIONAL), \
		ROW(orig_dport, "net.orig_dport", FIELD_UINT, "its port", .flags = FIELD_PORT | FIELD_OPTIONAL)

#define TASK_ROWS \
	ROW(task_comm, "net.task", FIELD_STR, "task that was running, whoever owns the packet", \
	    .flags = FIELD_OPEN | FIELD_OPTIONAL), \
	ROW(task_pid, "net.task_pid", FIELD_UINT, "its process id", .flags = FIELD_OPTIONAL), \
	ROW(task_tid, "net.task_tid", FIELD_UINT, "its thread id", .flags = FIELD_OPTIONAL)

static const struct field trace_fields[] = {
	ROW(point, "net.point", FIELD_ENUM, "observation point", .xlat = &net_point_xlat),
	ROW(dir, "net.dir", FIELD_ENUM, "direction at the interface", .xlat = &net_dir_xlat, .flags = FIELD_PACKET),
	PACKET_ROWS,
	NET_GET_ROW(GET_STATE, "net.state", FIELD_STR, "state in its flow: new, established, reply, related",
		.flags = FIELD_OPEN),
	NET_GET_ROW(GET_ENCRYPTED, "net.encrypted", FIELD_BOOL, "packet is encrypted (other datapaths)"),
	ORIGIN_ROWS,
	TASK_ROWS,
};

static const struct field drop_fields[] = {
	ROW(reason, "drop.reason", FIELD_NAME, "drop reason of the kernel", .space = SONDE_NAME_DROP_REASON),
	ROW(cause, "drop.cause", FIELD_ENUM, "cause from the packet, beyond the reason: TTL exceeded",
	    .xlat = &net_cause_xlat, .flags = FIELD_OPTIONAL),
	NET_GET_ROW(GET_FUNC, "drop.func", FIELD_STR, "kernel function that dropped the packet", .flags = FIELD_OPEN),
	ROW(location, "drop.location", FIELD_NAME, "where in that function", .space = SONDE_NAME_KSYM,
	    .flags = FIELD_OPTIONAL),
	PACKET_ROWS,
	NET_GET_ROW(GET_FILE, "drop.file", FIELD_STR, "source file of another datapath's program",
		    .flags = FIELD_OPEN),
	ROW(line, "drop.line", FIELD_UINT, "line in that file", .flags = FIELD_OPTIONAL),
	ROW(error, "drop.error", FIELD_INT, "return value of a helper there", .flags = FIELD_OPTIONAL),
	ORIGIN_ROWS,
	TASK_ROWS,
};

static const struct field xdp_fields[] = {
	ROW(reason, "xdp.action", FIELD_NAME, "verdict that could not be carried out",
	    .space = SONDE_NAME_XDP_ACTION),
	ROW(prog_id, "xdp.prog", FIELD_UINT, "id of the XDP program"),
	ROW(error, "xdp.error", FIELD_INT, "negative errno", .flags = FIELD_OPTIONAL),
	ROW(ifindex, "net.iface", FIELD_IFACE, "interface", .flags = FIELD_OPTIONAL),
	TASK_ROWS,
};

/* "tcp_v4_rcv" of "tcp_v4_rcv+0x1a"; NULL if the address has no name. */
static const char *func_name(const struct event *ev, uint64_t addr, size_t *ret_len)
{
	const char *name = addr ? event_names_get(ev->names, SONDE_NAME_KSYM, addr) : NULL;

	if (name)
		*ret_len = strcspn(name, "+");
	return name;
}

static int get_func(const struct event *ev, struct value *ret)
{
	const struct net_event *b = ev->body;
	size_t len;
	const char *name = func_name(ev, b->location, &len);

	if (!b->location)
		return -ENOENT;
	if (name)
		return value_set_chars(ret, name, len);
	*ret = (struct value){ .kind = VAL_UINT, .u = b->location, .hex = true };
	return 0;
}

int net_text_get_uint(uint64_t v, struct value *ret)
{
	return v ? value_set_uint(ret, v) : -ENOENT;
}

static int get_host(const struct event *ev, const struct ipaddr *ip, struct value *ret)
{
	if (!ip->family)
		return -ENOENT;
	return value_set_text(ret, event_names_get(ev->names, SONDE_NAME_HOST, event_names_host_key(ip)));
}

int net_text_get_named(const struct xlat *x, uint64_t v, struct value *ret)
{
	return value_set_named(ret, v, xlat_name(x, v));
}

int net_text_get_end(const struct event *ev, uint16_t field, struct value *ret)
{
	const struct conn *c = &ev->keys.conn;

	switch (field) {
	case NET_GET_SIP: return value_set_ip(ret, &c->saddr);
	case NET_GET_DIP: return value_set_ip(ret, &c->daddr);
	case NET_GET_SPORT: return net_text_get_uint(c->sport, ret);
	case NET_GET_DPORT: return net_text_get_uint(c->dport, ret);
	case NET_GET_PROTO: return net_text_get_uint(c->proto, ret);
	case NET_GET_SNAME: return get_host(ev, &c->saddr, ret);
	case NET_GET_DNAME: return get_host(ev, &c->daddr, ret);
	default: return -ENOENT;
	}
}

/* The stream may contain names of that datapath itself. */
static const char *file_name(const struct event *ev)
{
	const struct net_event *b = ev->body;
	const char *name = b->file ? event_names_get(ev->names, SONDE_NAME_SOURCE_FILE, b->file) : NULL;

	return name ? name : cilium_names_file(b->file);
}

/* Cilium's trace reason plus one; 0 = unknown. */
static uint32_t state_of(const struct event *ev)
{
	const struct net_event *b = ev->body;
	struct cilium_notify n;

	if (!event_section(ev, SEC_NOTIFY))
		return b->reason;
	return net_datapath_event_notify(ev, &n) && n.type == CILIUM_TRACE ? n.trace.reason + 1u : 0;
}

static int get_state(const struct event *ev, struct value *ret)
{
	const uint32_t state = state_of(ev);

	if (!state || state > UINT8_MAX + 1u)
		return -ENOENT;
	return value_set_text(ret, cilium_names_state((uint8_t)(state - 1)));
}

/* Fields that another datapath's notification contains; our own packets have an original address too. */
static int get_foreign(const struct event *ev, uint16_t word, struct value *ret)
{
	const struct net_event *b = ev->body;
	static const uint8_t none[16];
	struct cilium_notify n;

	if (word == GET_ORIG_IP && b->orig_saddr.family)
		return value_set_ip(ret, &b->orig_saddr);
	if (word != GET_FILE && (!net_datapath_event_notify(ev, &n) || n.type != CILIUM_TRACE))
		return -ENOENT;
	if (word == GET_ENCRYPTED)
		return n.trace.reason & CILIUM_REASON_ENCRYPTED ? value_set_bool(ret, true) : -ENOENT;
	if (word == GET_ORIG_IP) {
		*ret = (struct value){ .kind = VAL_IP };
		ret->ip.family = n.pkt.flags & CILIUM_FLAG_IPV6 ? SONDE_IPV6 : SONDE_IPV4;
		memcpy(ret->ip.addr, n.trace.orig_ip, sizeof(ret->ip.addr));
		return memcmp(n.trace.orig_ip, none, sizeof(none)) ? 0 : -ENOENT;
	}
	return value_set_text(ret, word == GET_FILE ? file_name(ev) : NULL);
}

static int net_get(const struct event *ev, const struct field *f, struct value *ret)
{
	bool drop = ev->desc == &net_drop_desc;

	switch (f->off) {
	case GET_FUNC: return get_func(ev, ret);
	case GET_STATE: return get_state(ev, ret);
	case GET_FILE:
	case GET_ENCRYPTED:
	case GET_ORIG_IP: return get_foreign(ev, f->off, ret);
	case GET_VERDICT:
		return net_text_get_named(&net_verdict_xlat, drop ? NET_VERDICT_DROPPED : NET_VERDICT_FORWARDED, ret);
	case GET_ACTION: return net_text_get_named(&net_action_xlat, drop ? NET_ACTION_DROP : NET_ACTION_PASS, ret);
	default: return net_text_get_end(ev, f->off, ret);
	}
}

/* ---- text ---- */

/* "blue/" if the event's namespace is known and is not the command's own; its inode if it has no name. */
static void net_put_space(const struct event *ev, struct buf *out)
{
	const char *home = event_names_get(ev->names, SONDE_NAME_NETNS, NET_NS_HOME), *name;
	uint32_t inode;

	if (!ev->keys.netns || !home || str_to_u32(home, 10, &inode) < 0 || inode == ev->keys.netns)
		return;
	name = event_names_get(ev->names, SONDE_NAME_NETNS, ev->keys.netns);
	if (name)
		str_escape_buf(out, name, strlen(name));
	else
		buf_add_u64(out, ev->keys.netns);
	buf_add_char(out, '/');
}

void net_text_put_iface(const struct event *ev, uint32_t ifindex, struct buf *out)
{
	const char *name = event_names_get(ev->names, SONDE_NAME_IFACE, names_iface_key(ev->keys.netns, ifindex));

	net_put_space(ev, out);
	if (name)
		str_escape_buf(out, name, strlen(name));
	else if (ifindex)
		buf_printf(out, "if%u", ifindex);
	else
		buf_add_str(out, "-");
}

void net_text_put_end(const struct ipaddr *ip, uint16_t port, struct buf *out)
{
	if (port)
		ipaddr_port_text(ip, port, out);
	else
		ipaddr_text(ip, out);
}

/* "  orig 10.0.0.1:4711 -> 10.0.0.2:8080" */
static void put_origin(const struct net_event *b, struct buf *out)
{
	if (!b->orig_saddr.family)
		return;
	buf_add_str(out, "  orig ");
	net_text_put_end(&b->orig_saddr, b->orig_sport, out);
	buf_add_str(out, " -> ");
	net_text_put_end(&b->orig_daddr, b->orig_dport, out);
}

static void put_process(const char *name, size_t len, uint32_t pid, uint8_t how, struct buf *out)
{
	if (name && len) {
		str_escape_buf(out, name, len);
		buf_add_char(out, '/');
	}
	buf_add_u64(out, pid);
	if (how > SONDE_HOW_DATA_READY) /* not simply the user of the packet's socket */
		buf_printf(out, " %s", xlat_name(&ident_how_xlat, how));
}

static void put_owner(const struct event *ev, struct buf *out)
{
	const struct sec_proc *p = event_proc(ev);
	const char *name = NULL;
	size_t len = 0;

	if (p)
		name = event_sec_proc_str(p, event_section(ev, SEC_PROC), p->comm, &len);
	put_process(name, len, ev->tgid, ev->keys.owner_how, out);
}

void net_text_put_owner(const struct event *ev, struct buf *out)
{
	if (!ev->tgid)
		return;
	buf_add_str(out, "  [");
	put_owner(ev, out);
	buf_add_char(out, ']');
}

/* "  [curl/1234 -> nginx/812]": the owner first, the arrow is the packet's way. */
static void put_both_ends(const struct event *ev, const struct net_event *b, struct buf *out)
{
	buf_add_str(out, "  [");
	put_owner(ev, out);
	buf_add_str(out, b->owner_end == NET_END_RECEIVER ? " <- " : " -> ");
	put_process(b->peer_comm, strnlen(b->peer_comm, sizeof(b->peer_comm)), b->peer_pid, b->peer_how, out);
	buf_add_char(out, ']');
}

static void put_address(const struct event *ev, uint64_t addr, struct buf *out, bool numeric, bool whole)
{
	size_t len = 0;
	const char *name = numeric ? NULL : func_name(ev, addr, &len);

	if (name)
		str_escape_buf(out, name, whole ? strlen(name) : len);
	else
		buf_printf(out, "0x%llx", (unsigned long long)addr);
}

void net_text_put_packet(const struct event *ev, const struct line_opts *o, struct buf *out)
{
	const uint8_t *data;
	const struct sec_packet *pkt = event_packet(ev, &data);
	struct packet p;

	if (!pkt)
		return;
	if (o->hex) {
		buf_add_hexdump(out, data, pkt->cap_len);
	} else if (o->verbose > 1) {
		packet_dissect(pkt->link, data, pkt->cap_len, pkt->orig_len, &p);
		packet_print(&p, out);
	}
}

void net_text_put_summary(const struct event *ev, struct buf *out)
{
	const uint8_t *data;
	const struct sec_packet *pkt = event_packet(ev, &data);
	struct packet p;

	if (!pkt || !pkt->cap_len) {
		buf_add_str(out, "[no packet bytes]");
		return;
	}
	packet_dissect(pkt->link, data, pkt->cap_len, pkt->orig_len, &p);
	packet_summary(&p, out);
}

/* -v: details that the short line omits. */
static void put_details(const struct event *ev, struct buf *out)
{
	const struct net_event *b = ev->body;
	const char *ns = event_names_get(ev->names, SONDE_NAME_NETNS, ev->keys.netns);

	buf_printf(out, "    len %u", b->len);
	if (b->mark)
		buf_printf(out, " mark 0x%x", b->mark);
	if (b->hash)
		buf_printf(out, " flow 0x%x", b->hash);
	buf_printf(out, " netns %u", ev->keys.netns);
	if (ns) {
		buf_add_char(out, '(');
		str_escape_buf(out, ns, strlen(ns));
		buf_add_char(out, ')');
	}
	if (ev->keys.cookie)
		buf_printf(out, " cookie %llu", (unsigned long long)ev->keys.cookie);
	buf_printf(out, " cpu %u task ", ev->cpu);
	str_escape_buf(out, b->task_comm, strnlen(b->task_comm, sizeof(b->task_comm)));
	buf_printf(out, "/%u\n", b->task_tid);
}

static void put_stack(const struct event *ev, const struct line_opts *o, struct buf *out)
{
	const struct section *s = event_section(ev, SEC_STACK_KERN);
	const uint64_t *addr = s ? s->data : NULL;

	for (size_t i = 0; s && i < s->len / sizeof(*addr); i++) {
		buf_add_str(out, "        ");
		put_address(ev, addr[i], out, o->numeric, true);
		buf_add_char(out, '\n');
	}
}

/*
 * "  {endpoint 12 host->world, established}": another datapath's view of the ends; for our own events the state
 * alone.
 */
static void put_ends(const struct event *ev, const struct line_opts *o, struct buf *out)
{
	const struct net_event *b = ev->body;
	const bool foreign = event_section(ev, SEC_NOTIFY) != NULL;
	struct value state;
	const bool known = ev->desc == &net_trace_desc && get_state(ev, &state) == 0;

	if (!foreign && !known)
		return;
	buf_add_str(out, "  {");
	if (foreign && b->src_endpoint)
		buf_printf(out, "endpoint %u ", b->src_endpoint);
	if (foreign) {
		cilium_names_put_identity(out, b->src_identity, o->numeric);
		buf_add_str(out, "->");
		cilium_names_put_identity(out, b->dst_identity, o->numeric);
	}
	if (foreign && b->dst_endpoint)
		buf_printf(out, " to %u", b->dst_endpoint);
	if (known)
		buf_printf(out, "%s%s", foreign ? ", " : "", state.str);
	buf_add_char(out, '}');
}

static int put_rest(const struct event *ev, const struct line_opts *o, struct buf *out)
{
	const struct net_event *b = ev->body;

	net_text_put_iface(ev, b->ifindex, out);
	buf_add_str(out, ": ");
	net_text_put_summary(ev, out);
	put_origin(b, out);
	if (ev->tgid && b->peer_pid)
		put_both_ends(ev, b, out);
	else
		net_text_put_owner(ev, out);
	put_ends(ev, o, out);
	buf_add_char(out, '\n');
	if (o->verbose) {
		put_details(ev, out);
		put_stack(ev, o, out);
	}
	net_text_put_packet(ev, o, out);
	return buf_error(out);
}

/* "<- network eth0: 10.0.0.1:80 -> 10.0.0.2:4711 tcp SYN, ACK  [nginx/812]" */
static int trace_line(const struct event *ev, const struct line_opts *o, struct buf *out)
{
	const struct net_event *b = ev->body;
	const char *name = xlat_name(&net_point_xlat, b->point);

	if (name && !strncmp(name, "to-", 3))
		buf_printf(out, "-> %s ", name + 3);
	else if (name)
		buf_printf(out, "<- %s ", name + 5);
	else
		buf_printf(out, "%s ", b->dir == NET_DIR_IN ? "<-" : b->dir == NET_DIR_OUT ? "->" : "??");
	return put_rest(ev, o, out);
}

static void put_place(const struct event *ev, struct buf *out)
{
	const struct net_event *b = ev->body;
	const char *name = file_name(ev);

	if (name)
		str_escape_buf(out, name, strlen(name));
	else
		cilium_names_put_file(out, b->file);
	buf_printf(out, ":%u", b->line);
}

/* @space: SONDE_NAME_*, where b->reason has its name. */
static void put_reason(const struct event *ev, uint32_t space, const struct line_opts *o, struct buf *out)
{
	const struct net_event *b = ev->body;
	const char *name = o->numeric ? NULL : event_names_get(ev->names, space, b->reason);

	if (name)
		str_escape_buf(out, name, strlen(name));
	else
		buf_printf(out, "%u", b->reason);
}

/*
 * "xx drop (NO_SOCKET) at udp_unicast_rcv_skb lo: 127.0.0.1:4711 -> 127.0.0.1:9 udp  [curl/1234]", of another
 * datapath "xx drop (FIB lookup failed, -2) at bpf_lxc.c:1234 eth0: ..."
 */
static int drop_line(const struct event *ev, const struct line_opts *o, struct buf *out)
{
	const struct net_event *b = ev->body;

	buf_add_str(out, "xx drop (");
	put_reason(ev, SONDE_NAME_DROP_REASON, o, out);
	if (b->cause)
		buf_printf(out, ": %s", xlat_name(&net_cause_xlat, b->cause));
	if (b->error)
		buf_printf(out, ", %d", b->error);
	buf_add_str(out, ") at ");
	if (b->location)
		put_address(ev, b->location, out, o->numeric, false);
	else if (b->file)
		put_place(ev, out);
	else
		buf_add_char(out, '-');
	buf_add_char(out, ' ');
	return put_rest(ev, o, out);
}

/* "xx xdp (REDIRECT) eth0: program 17, error -6" */
static int xdp_line(const struct event *ev, const struct line_opts *o, struct buf *out)
{
	const struct net_event *b = ev->body;

	buf_add_str(out, "xx xdp (");
	put_reason(ev, SONDE_NAME_XDP_ACTION, o, out);
	buf_add_str(out, ") ");
	net_text_put_iface(ev, b->ifindex, out);
	buf_printf(out, ": program %u", b->prog_id);
	if (b->error)
		buf_printf(out, ", error %d", b->error);
	return buf_add_char(out, '\n');
}

const struct event_desc net_trace_desc = {
	.type = NET_EV_TRACE, .name = "net.trace", .doc = "a packet passed an observation point",
	.class = EVENT_DATA, .fields = trace_fields, .n_fields = ARRAY_SIZE(trace_fields),
	.body_size = sizeof(struct net_event), .sections = 1u << SEC_PACKET | 1u << SEC_PROC | 1u << SEC_NOTIFY,
	.get = net_get, .line = trace_line,
};

const struct event_desc net_drop_desc = {
	.type = NET_EV_DROP, .name = "net.drop", .doc = "the kernel dropped a packet",
	.class = EVENT_DATA, .fields = drop_fields, .n_fields = ARRAY_SIZE(drop_fields),
	.body_size = sizeof(struct net_event), .sections = 1u << SEC_PACKET | 1u << SEC_PROC | 1u << SEC_STACK_KERN |
					    1u << SEC_NOTIFY,
	.get = net_get, .line = drop_line,
};

const struct event_desc net_xdp_desc = {
	.type = NET_EV_XDP, .name = "net.xdp", .doc = "an XDP verdict could not be carried out",
	.class = EVENT_DATA, .fields = xdp_fields, .n_fields = ARRAY_SIZE(xdp_fields),
	.body_size = sizeof(struct net_event), .sections = 1u << SEC_PROC,
	.get = net_get, .line = xdp_line,
};
