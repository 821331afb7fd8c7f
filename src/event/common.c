// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fields of every event, named as in sysdig where it has them. conn.src and conn.dst are source and destination of a
 * packet; a single packet does not show which side is the server (fd.sip, fd.sport).
 */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "base/macros.h"
#include "event/event.h"
#include "event/names.h"
#include "sonde/wire.h"

enum common_field {
	F_EVT_TYPE, F_EVT_TIME, F_EVT_BOOTTIME, F_EVT_NUM, F_EVT_CPU, F_EVT_DIR, F_EVT_PROBE, F_EVT_SNAPSHOT,
	F_PID, F_NAME, F_EXE, F_ARGS, F_PPID, F_START, F_UID, F_GID, F_TID,
	F_CONTAINER, F_IMAGE, F_CGROUP, F_CGROUP_NAME, F_NETNS, F_COOKIE, F_RPC_STREAM, F_RPC_CONN, F_GOID,
	F_IP, F_SIP, F_DIP, F_PORT, F_SPORT, F_DPORT, F_PROTO, F_SERVER,
	F_PKT_LEN, F_PKT_IFACE,
	F__MAX,
};

/* IANA protocol numbers that <netinet/in.h> lacks. */
#define PROTO_OSPF 89
#define PROTO_VRRP 112

static const struct xlat_val proto_vals[] = {
	{ IPPROTO_ICMP, "icmp" }, { IPPROTO_IGMP, "igmp" }, { IPPROTO_IPIP, "ipip" }, { IPPROTO_TCP, "tcp" },
	{ IPPROTO_UDP, "udp" }, { IPPROTO_IPV6, "ipv6" }, { IPPROTO_GRE, "gre" }, { IPPROTO_ESP, "esp" },
	{ IPPROTO_AH, "ah" }, { IPPROTO_ICMPV6, "icmpv6" }, { PROTO_OSPF, "ospf" }, { PROTO_VRRP, "vrrp" },
	{ IPPROTO_SCTP, "sctp" }, { IPPROTO_UDPLITE, "udplite" }, { IPPROTO_RAW, "raw" },
};
const struct xlat ip_proto_xlat = { .name = "ip_proto", .vals = proto_vals, .n = ARRAY_SIZE(proto_vals) };

static const struct xlat_val direction_vals[] = {
	{ PACKET_DIR_UNKNOWN, "unknown" }, { PACKET_DIR_IN, "in" }, { PACKET_DIR_OUT, "out" },
};
_Static_assert(ARRAY_SIZE(direction_vals) == PACKET_DIR__MAX, "every direction has a name");
const struct xlat direction_xlat = {
	.name = "direction", .vals = direction_vals, .n = ARRAY_SIZE(direction_vals),
};

#define FIELD(name_, id_, like_, doc_, ...) \
	{ .name = (name_), .kind = FIELD_GET, .off = (id_), .like = FIELD_LIKE(like_), .doc = (doc_), \
	  ##__VA_ARGS__ }

/* A FIELD_EITHER row precedes the two rows it covers. */
const struct field event_common_fields[] = {
	FIELD("evt.type", F_EVT_TYPE, FIELD_STR, "name of the event type", .flags = FIELD_OPEN),
	FIELD("evt.time", F_EVT_TIME, FIELD_UINT, "wall-clock time in ns since 1970"),
	FIELD("evt.boottime", F_EVT_BOOTTIME, FIELD_NS, "time since boot"),
	FIELD("evt.num", F_EVT_NUM, FIELD_UINT, "number of the event in the stream, from 1"),
	FIELD("evt.cpu", F_EVT_CPU, FIELD_UINT, "CPU of the event"),
	FIELD("evt.dir", F_EVT_DIR, FIELD_ENUM, "direction of the packet at its interface: in, out",
	      .xlat = &direction_xlat),
	FIELD("evt.probe-instance", F_EVT_PROBE, FIELD_NAME, "probe instance",
	      .space = SONDE_NAME_INSTANCE),
	FIELD("evt.snapshot", F_EVT_SNAPSHOT, FIELD_BOOL, "state from before the start, not an event"),
	FIELD("proc.pid", F_PID, FIELD_UINT, "process id"),
	FIELD("proc.name", F_NAME, FIELD_STR, "name of the process (comm)", .flags = FIELD_OPEN),
	FIELD("proc.exe", F_EXE, FIELD_STR, "path of the executable", .flags = FIELD_OPEN),
	FIELD("proc.args", F_ARGS, FIELD_STR, "command line"),
	FIELD("proc.cmdline", F_ARGS, FIELD_STR, "command line", .flags = FIELD_ALIAS),
	FIELD("proc.ppid", F_PPID, FIELD_UINT, "process id of the parent"),
	FIELD("proc.start", F_START, FIELD_NS, "start of the process since boot"),
	FIELD("proc.uid", F_UID, FIELD_UINT, "user id", .flags = FIELD_ALIAS),
	FIELD("user.uid", F_UID, FIELD_UINT, "user id"),
	FIELD("group.gid", F_GID, FIELD_UINT, "group id"),
	FIELD("thread.tid", F_TID, FIELD_UINT, "thread id"),
	FIELD("container.id", F_CONTAINER, FIELD_STR, "container id; the first twelve digits suffice",
	      .flags = FIELD_OPEN | FIELD_SHORT),
	FIELD("container.image", F_IMAGE, FIELD_STR, "container image", .flags = FIELD_OPEN),
	FIELD("cgroup.id", F_CGROUP, FIELD_UINT, "id of the cgroup (v2)"),
	FIELD("cgroup.name", F_CGROUP_NAME, FIELD_STR, "path of the cgroup below its mount", .flags = FIELD_OPEN),
	FIELD("netns", F_NETNS, FIELD_NAME, "network namespace: inode or name", .space = SONDE_NAME_NETNS),
	FIELD("sock.cookie", F_COOKIE, FIELD_UINT, "socket cookie"),
	FIELD("rpc.stream", F_RPC_STREAM, FIELD_UINT, "stream of the RPC in its connection"),
	FIELD("rpc.conn", F_RPC_CONN, FIELD_HEX, "connection of the RPC in its process"),
	FIELD("goid", F_GOID, FIELD_UINT, "goroutine id"),
	FIELD("fd.ip", F_IP, FIELD_IP, "address of either end", .flags = FIELD_EITHER),
	FIELD("conn.src", F_SIP, FIELD_IP, "source address"),
	FIELD("conn.dst", F_DIP, FIELD_IP, "destination address"),
	FIELD("fd.dip", F_DIP, FIELD_IP, "destination address", .flags = FIELD_ALIAS),
	FIELD("fd.sip", F_SERVER, FIELD_IP, "address of the server, if known"),
	FIELD("fd.cip", F_SERVER, FIELD_IP, "address of the client, if known"),
	FIELD("fd.port", F_PORT, FIELD_UINT, "port of either end", .flags = FIELD_PORT | FIELD_EITHER),
	FIELD("conn.sport", F_SPORT, FIELD_UINT, "source port", .flags = FIELD_PORT),
	FIELD("conn.dport", F_DPORT, FIELD_UINT, "destination port", .flags = FIELD_PORT),
	FIELD("fd.dport", F_DPORT, FIELD_UINT, "destination port", .flags = FIELD_PORT | FIELD_ALIAS),
	FIELD("fd.sport", F_SERVER, FIELD_UINT, "port of the server, if known",
	      .flags = FIELD_PORT),
	FIELD("fd.cport", F_SERVER, FIELD_UINT, "port of the client, if known", .flags = FIELD_PORT),
	FIELD("fd.l4proto", F_PROTO, FIELD_ENUM, "transport protocol", .xlat = &ip_proto_xlat),
	FIELD("fd.proto", F_PROTO, FIELD_ENUM, "transport protocol", .xlat = &ip_proto_xlat, .flags = FIELD_ALIAS),
	FIELD("pkt.len", F_PKT_LEN, FIELD_UINT, "length of the packet on the wire"),
	FIELD("pkt.iface", F_PKT_IFACE, FIELD_IFACE, "interface of the packet"),
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

	switch ((enum common_field)f->off) {
	case F_EVT_TYPE: return give_str(ret, ev->desc->name, strlen(ev->desc->name));
	case F_EVT_TIME:
		return give_uint(ret, ev->ts_ns + (uint64_t)ev->clock_offset_ns, ev->clock_offset_ns != 0);
	case F_EVT_BOOTTIME:
		*ret = (struct value){ .kind = VAL_UINT, .u = ev->ts_ns, .ns = true };
		return 0;
	case F_EVT_NUM: return give_uint(ret, ev->seq, ev->seq != 0);
	case F_EVT_CPU: return give_uint(ret, ev->cpu, true);
	case F_EVT_PROBE:
		return give_named(ret, ev->instance, event_names_get(ev->names, SONDE_NAME_INSTANCE, ev->instance));
	case F_EVT_SNAPSHOT:
		*ret = (struct value){ .kind = VAL_BOOL, .u = !!(ev->flags & SONDE_RF_SNAPSHOT) };
		return 0;
	case F_EVT_DIR:
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
	if (f->off == F_PKT_LEN)
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
	switch ((enum common_field)f->off) {
	case F_PPID: return give_uint(ret, p->ppid, p->ppid != 0);
	case F_UID: return give_uint(ret, p->uid, true);
	case F_GID: return give_uint(ret, p->gid, true);
	case F_NAME: str = p->comm; break;
	case F_EXE: str = p->exe; break;
	case F_ARGS: str = p->args; break;
	case F_CONTAINER: str = p->container; break;
	case F_IMAGE: str = p->image; break;
	default: return -ENOENT;
	}
	text = event_sec_proc_str(p, s, str, &len);
	return give_str(ret, text, len);
}

static int get_key(const struct event *ev, const struct field *f, struct value *ret)
{
	const struct event_keys *k = &ev->keys;
	const char *name;

	switch ((enum common_field)f->off) {
	case F_PID: return give_uint(ret, ev->tgid, ev->tgid != 0);
	case F_TID: return give_uint(ret, ev->tid, ev->tid != 0);
	case F_START:
		*ret = (struct value){ .kind = VAL_UINT, .u = ev->start_ns, .ns = true };
		return ev->start_ns ? 0 : -ENOENT;
	case F_CGROUP: return give_uint(ret, k->cgroup_id, k->cgroup_id != 0);
	case F_CGROUP_NAME:
		name = k->cgroup_id ? event_names_get(ev->names, SONDE_NAME_CGROUP, k->cgroup_id) : NULL;
		return give_str(ret, name, name ? strlen(name) : 0);
	case F_NETNS:
		name = event_names_get(ev->names, SONDE_NAME_NETNS, k->netns);
		return k->netns ? give_named(ret, k->netns, name) : -ENOENT;
	case F_COOKIE: return give_uint(ret, k->cookie, k->cookie != 0);
	case F_RPC_STREAM: return give_uint(ret, k->rpc_stream, k->rpc_stream != 0);
	case F_RPC_CONN:
		*ret = (struct value){ .kind = VAL_UINT, .u = k->rpc_conn, .hex = true };
		return k->rpc_conn ? 0 : -ENOENT;
	case F_GOID: return give_uint(ret, k->goid, k->goid != 0);
	default: return -ENOENT;
	}
}

static int get_conn(const struct event *ev, const struct field *f, struct value *ret)
{
	const struct conn *c = &ev->keys.conn;

	switch ((enum common_field)f->off) {
	case F_IP:
	case F_SIP: return give_ip(ret, &c->saddr);
	case F_DIP: return give_ip(ret, &c->daddr);
	case F_PORT:
	case F_SPORT: return give_uint(ret, c->sport, c->sport != 0);
	case F_DPORT: return give_uint(ret, c->dport, c->dport != 0);
	case F_PROTO: return c->proto ? give_named(ret, c->proto, xlat_name(&ip_proto_xlat, c->proto)) : -ENOENT;
	default: return -ENOENT;
	}
}

int event_get_common(const struct event *ev, const struct field *f, struct value *ret)
{
	switch ((enum common_field)f->off) {
	case F_EVT_TYPE:
	case F_EVT_TIME:
	case F_EVT_BOOTTIME:
	case F_EVT_NUM:
	case F_EVT_CPU:
	case F_EVT_DIR:
	case F_EVT_PROBE:
	case F_EVT_SNAPSHOT: return get_evt(ev, f, ret);
	case F_PKT_LEN:
	case F_PKT_IFACE: return get_packet(ev, f, ret);
	case F_NAME:
	case F_EXE:
	case F_ARGS:
	case F_PPID:
	case F_UID:
	case F_GID:
	case F_CONTAINER:
	case F_IMAGE: return get_proc(ev, f, ret);
	case F_PID:
	case F_START:
	case F_TID:
	case F_CGROUP:
	case F_CGROUP_NAME:
	case F_NETNS:
	case F_COOKIE:
	case F_RPC_STREAM:
	case F_RPC_CONN:
	case F_GOID: return get_key(ev, f, ret);
	case F_IP:
	case F_SIP:
	case F_DIP:
	case F_PORT:
	case F_SPORT:
	case F_DPORT:
	case F_PROTO: return get_conn(ev, f, ret);
	case F_SERVER: break;	/* types that know the server have fields of this name */
	case F__MAX: break;
	}
	return -ENOENT;
}
