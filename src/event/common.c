// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The words that every event has. Where sysdig has a word for the thing, it is sysdig's. Source and destination of
 * a packet are conn.src and conn.dst: who of them is the server (fd.sip, fd.sport) is not known from one packet.
 */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "base/macros.h"
#include "event/event.h"
#include "event/names.h"
#include "sonde/wire.h"

enum common_word {
	W_EVT_TYPE, W_EVT_TIME, W_EVT_BOOTTIME, W_EVT_NUM, W_EVT_CPU, W_EVT_DIR, W_EVT_PROBE, W_EVT_SNAPSHOT,
	W_PID, W_NAME, W_EXE, W_ARGS, W_PPID, W_START, W_UID, W_GID, W_TID,
	W_CONTAINER, W_IMAGE, W_CGROUP, W_CGROUP_NAME, W_NETNS, W_COOKIE, W_RPC_STREAM, W_RPC_CONN, W_GOID,
	W_IP, W_SIP, W_DIP, W_PORT, W_SPORT, W_DPORT, W_PROTO, W_SERVER,
	W_PKT_LEN, W_PKT_IFACE,
	W__MAX,
};

static const struct xlat_val proto_vals[] = {
	{ IPPROTO_ICMP, "icmp" }, { IPPROTO_IGMP, "igmp" }, { IPPROTO_IPIP, "ipip" }, { IPPROTO_TCP, "tcp" },
	{ IPPROTO_UDP, "udp" }, { IPPROTO_IPV6, "ipv6" }, { IPPROTO_GRE, "gre" }, { IPPROTO_ESP, "esp" },
	{ IPPROTO_AH, "ah" }, { IPPROTO_ICMPV6, "icmpv6" }, { 89, "ospf" }, { 112, "vrrp" },
	{ IPPROTO_SCTP, "sctp" }, { IPPROTO_UDPLITE, "udplite" }, { IPPROTO_RAW, "raw" },
};
const struct xlat ip_proto_xlat = { .name = "ip_proto", .vals = proto_vals, .n = ARRAY_SIZE(proto_vals) };

static const struct xlat_val direction_vals[] = { { 0, "unknown" }, { 1, "in" }, { 2, "out" } };
const struct xlat direction_xlat = {
	.name = "direction", .vals = direction_vals, .n = ARRAY_SIZE(direction_vals),
};

#define WORD(name_, word_, like_, doc_, ...) \
	{ .name = (name_), .kind = FIELD_GET, .off = (word_), .like = FIELD_LIKE(like_), .doc = (doc_), \
	  ##__VA_ARGS__ }

/* FIELD_EITHER rows stand directly in front of the two they stand for. */
const struct field event_common_fields[] = {
	WORD("evt.type", W_EVT_TYPE, FIELD_STR, "name of the event type", .flags = FIELD_OPEN),
	WORD("evt.time", W_EVT_TIME, FIELD_UINT, "wall-clock time in ns since 1970"),
	WORD("evt.boottime", W_EVT_BOOTTIME, FIELD_NS, "time since boot"),
	WORD("evt.num", W_EVT_NUM, FIELD_UINT, "number of the event in this stream, from 1"),
	WORD("evt.cpu", W_EVT_CPU, FIELD_UINT, "CPU it happened on"),
	WORD("evt.dir", W_EVT_DIR, FIELD_ENUM, "direction of the packet at its interface: in, out",
	     .xlat = &direction_xlat),
	WORD("evt.probe-instance", W_EVT_PROBE, FIELD_NAME, "instance of the probe that saw it",
	     .space = SONDE_NAME_INSTANCE),
	WORD("evt.snapshot", W_EVT_SNAPSHOT, FIELD_BOOL, "state from before the start, not something that happened"),
	WORD("proc.pid", W_PID, FIELD_UINT, "process id"),
	WORD("proc.name", W_NAME, FIELD_STR, "name of the process (comm)", .flags = FIELD_OPEN),
	WORD("proc.exe", W_EXE, FIELD_STR, "path of the executable", .flags = FIELD_OPEN),
	WORD("proc.args", W_ARGS, FIELD_STR, "command line"),
	WORD("proc.cmdline", W_ARGS, FIELD_STR, "command line", .flags = FIELD_ALIAS),
	WORD("proc.ppid", W_PPID, FIELD_UINT, "process id of the parent"),
	WORD("proc.start", W_START, FIELD_NS, "start of the process since boot"),
	WORD("proc.uid", W_UID, FIELD_UINT, "user id", .flags = FIELD_ALIAS),
	WORD("user.uid", W_UID, FIELD_UINT, "user id"),
	WORD("group.gid", W_GID, FIELD_UINT, "group id"),
	WORD("thread.tid", W_TID, FIELD_UINT, "thread id"),
	WORD("container.id", W_CONTAINER, FIELD_STR, "container id; twelve digits of it do",
	     .flags = FIELD_OPEN | FIELD_SHORT),
	WORD("container.image", W_IMAGE, FIELD_STR, "container image", .flags = FIELD_OPEN),
	WORD("cgroup.id", W_CGROUP, FIELD_UINT, "id of the cgroup (v2)"),
	WORD("cgroup.name", W_CGROUP_NAME, FIELD_STR, "path of the cgroup below its mount", .flags = FIELD_OPEN),
	WORD("netns", W_NETNS, FIELD_NAME, "network namespace: inode or name", .space = SONDE_NAME_NETNS),
	WORD("sock.cookie", W_COOKIE, FIELD_UINT, "socket cookie"),
	WORD("rpc.stream", W_RPC_STREAM, FIELD_UINT, "stream of the RPC in its connection"),
	WORD("rpc.conn", W_RPC_CONN, FIELD_HEX, "connection of the RPC in its process"),
	WORD("goid", W_GOID, FIELD_UINT, "goroutine id"),
	WORD("fd.ip", W_IP, FIELD_IP, "address of either end", .flags = FIELD_EITHER),
	WORD("conn.src", W_SIP, FIELD_IP, "source address"),
	WORD("conn.dst", W_DIP, FIELD_IP, "destination address"),
	WORD("fd.dip", W_DIP, FIELD_IP, "destination address", .flags = FIELD_ALIAS),
	WORD("fd.sip", W_SERVER, FIELD_IP, "address of the server, where it is known who that is"),
	WORD("fd.cip", W_SERVER, FIELD_IP, "address of the client, likewise"),
	WORD("fd.port", W_PORT, FIELD_UINT, "port of either end", .flags = FIELD_PORT | FIELD_EITHER),
	WORD("conn.sport", W_SPORT, FIELD_UINT, "source port", .flags = FIELD_PORT),
	WORD("conn.dport", W_DPORT, FIELD_UINT, "destination port", .flags = FIELD_PORT),
	WORD("fd.dport", W_DPORT, FIELD_UINT, "destination port", .flags = FIELD_PORT | FIELD_ALIAS),
	WORD("fd.sport", W_SERVER, FIELD_UINT, "port of the server, where it is known who that is",
	     .flags = FIELD_PORT),
	WORD("fd.cport", W_SERVER, FIELD_UINT, "port of the client, likewise", .flags = FIELD_PORT),
	WORD("fd.l4proto", W_PROTO, FIELD_ENUM, "transport protocol", .xlat = &ip_proto_xlat),
	WORD("fd.proto", W_PROTO, FIELD_ENUM, "transport protocol", .xlat = &ip_proto_xlat, .flags = FIELD_ALIAS),
	WORD("pkt.len", W_PKT_LEN, FIELD_UINT, "length of the packet on the wire"),
	WORD("pkt.iface", W_PKT_IFACE, FIELD_IFACE, "interface of the packet"),
};
const size_t event_n_common_fields = ARRAY_SIZE(event_common_fields);

static int give_uint(struct value *ret, uint64_t u, bool known)
{
	if (!known)
		return -ENOENT;
	*ret = (struct value){ .kind = VAL_UINT, .u = u };
	return 0;
}

static int give_str(struct value *ret, const char *s, size_t len)
{
	if (!s || !len)
		return -ENOENT;
	*ret = (struct value){ .kind = VAL_STR, .str = s, .len = len };
	return 0;
}

static int give_named(struct value *ret, uint64_t u, const char *name)
{
	if (!name)
		return give_uint(ret, u, true);
	*ret = (struct value){ .kind = VAL_STR, .has_number = true, .u = u, .str = name, .len = strlen(name) };
	return 0;
}

static int give_ip(struct value *ret, const struct ipaddr *ip)
{
	if (ip->family != 4 && ip->family != 6)
		return -ENOENT;
	*ret = (struct value){ .kind = VAL_IP, .ip = *ip };
	return 0;
}

static int get_evt(const struct event *ev, const struct field *f, struct value *ret)
{
	const struct sec_packet *p;

	switch ((enum common_word)f->off) {
	case W_EVT_TYPE: return give_str(ret, ev->desc->name, strlen(ev->desc->name));
	case W_EVT_TIME:
		return give_uint(ret, ev->ts_ns + (uint64_t)ev->clock_offset_ns, ev->clock_offset_ns != 0);
	case W_EVT_BOOTTIME:
		*ret = (struct value){ .kind = VAL_UINT, .u = ev->ts_ns, .ns = true };
		return 0;
	case W_EVT_NUM: return give_uint(ret, ev->seq, ev->seq != 0);
	case W_EVT_CPU: return give_uint(ret, ev->cpu, true);
	case W_EVT_PROBE:
		return give_named(ret, ev->instance, event_names_get(ev->names, SONDE_NAME_INSTANCE, ev->instance));
	case W_EVT_SNAPSHOT:
		*ret = (struct value){ .kind = VAL_BOOL, .u = !!(ev->flags & SONDE_RF_SNAPSHOT) };
		return 0;
	case W_EVT_DIR:
		p = event_packet(ev, NULL);
		if (!p || !p->direction || p->direction >= ARRAY_SIZE(direction_vals))
			return -ENOENT;
		return give_named(ret, p->direction, direction_vals[p->direction].name);
	default: return -ENOENT;
	}
}

static int get_packet(const struct event *ev, const struct field *f, struct value *ret)
{
	const struct sec_packet *p = event_packet(ev, NULL);

	if (!p)
		return -ENOENT;
	if (f->off == W_PKT_LEN)
		return give_uint(ret, p->orig_len, true);
	return give_named(ret, p->ifindex,
			  event_names_get(ev->names, SONDE_NAME_IFACE, names_iface_key(p->netns, p->ifindex)));
}

static int get_proc(const struct event *ev, const struct field *f, struct value *ret)
{
	const struct section *s = event_section(ev, SEC_PROC);
	const struct sec_proc *p = event_proc(ev);
	struct sec_str str;
	const char *text;
	size_t len;

	if (!p)
		return -ENOENT;
	switch ((enum common_word)f->off) {
	case W_PPID: return give_uint(ret, p->ppid, p->ppid != 0);
	case W_UID: return give_uint(ret, p->uid, true);
	case W_GID: return give_uint(ret, p->gid, true);
	case W_NAME: str = p->comm; break;
	case W_EXE: str = p->exe; break;
	case W_ARGS: str = p->args; break;
	case W_CONTAINER: str = p->container; break;
	case W_IMAGE: str = p->image; break;
	default: return -ENOENT;
	}
	text = event_sec_proc_str(p, s, str, &len);
	return give_str(ret, text, len);
}

static int get_key(const struct event *ev, const struct field *f, struct value *ret)
{
	const struct event_keys *k = &ev->keys;
	const char *name;

	switch ((enum common_word)f->off) {
	case W_PID: return give_uint(ret, ev->tgid, ev->tgid != 0);
	case W_TID: return give_uint(ret, ev->tid, ev->tid != 0);
	case W_START:
		*ret = (struct value){ .kind = VAL_UINT, .u = ev->start_ns, .ns = true };
		return ev->start_ns ? 0 : -ENOENT;
	case W_CGROUP: return give_uint(ret, k->cgroup_id, k->cgroup_id != 0);
	case W_CGROUP_NAME:
		name = k->cgroup_id ? event_names_get(ev->names, SONDE_NAME_CGROUP, k->cgroup_id) : NULL;
		return give_str(ret, name, name ? strlen(name) : 0);
	case W_NETNS:
		name = event_names_get(ev->names, SONDE_NAME_NETNS, k->netns);
		return k->netns ? give_named(ret, k->netns, name) : -ENOENT;
	case W_COOKIE: return give_uint(ret, k->cookie, k->cookie != 0);
	case W_RPC_STREAM: return give_uint(ret, k->rpc_stream, k->rpc_stream != 0);
	case W_RPC_CONN:
		*ret = (struct value){ .kind = VAL_UINT, .u = k->rpc_conn, .hex = true };
		return k->rpc_conn ? 0 : -ENOENT;
	case W_GOID: return give_uint(ret, k->goid, k->goid != 0);
	default: return -ENOENT;
	}
}

static int get_conn(const struct event *ev, const struct field *f, struct value *ret)
{
	const struct conn *c = &ev->keys.conn;

	switch ((enum common_word)f->off) {
	case W_IP:
	case W_SIP: return give_ip(ret, &c->saddr);
	case W_DIP: return give_ip(ret, &c->daddr);
	case W_PORT:
	case W_SPORT: return give_uint(ret, c->sport, c->sport != 0);
	case W_DPORT: return give_uint(ret, c->dport, c->dport != 0);
	case W_PROTO: return c->proto ? give_named(ret, c->proto, xlat_name(&ip_proto_xlat, c->proto)) : -ENOENT;
	default: return -ENOENT;
	}
}

int event_get_common(const struct event *ev, const struct field *f, struct value *ret)
{
	switch ((enum common_word)f->off) {
	case W_EVT_TYPE:
	case W_EVT_TIME:
	case W_EVT_BOOTTIME:
	case W_EVT_NUM:
	case W_EVT_CPU:
	case W_EVT_DIR:
	case W_EVT_PROBE:
	case W_EVT_SNAPSHOT: return get_evt(ev, f, ret);
	case W_PKT_LEN:
	case W_PKT_IFACE: return get_packet(ev, f, ret);
	case W_NAME:
	case W_EXE:
	case W_ARGS:
	case W_PPID:
	case W_UID:
	case W_GID:
	case W_CONTAINER:
	case W_IMAGE: return get_proc(ev, f, ret);
	case W_PID:
	case W_START:
	case W_TID:
	case W_CGROUP:
	case W_CGROUP_NAME:
	case W_NETNS:
	case W_COOKIE:
	case W_RPC_STREAM:
	case W_RPC_CONN:
	case W_GOID: return get_key(ev, f, ret);
	case W_IP:
	case W_SIP:
	case W_DIP:
	case W_PORT:
	case W_SPORT:
	case W_DPORT:
	case W_PROTO: return get_conn(ev, f, ret);
	case W_SERVER: break;	/* events that know bring the word themselves */
	case W__MAX: break;
	}
	return -ENOENT;
}
