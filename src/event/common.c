// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fields of every event, named as in sysdig where it has them. conn.src and conn.dst are source and destination of a
 * packet; a single packet does not show which side is the server (fd.sip, fd.sport).
 */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "base/arena.h"
#include "base/macros.h"
#include "event/event.h"
#include "event/names.h"
#include "sonde/ident_wire.h"
#include "sonde/wire.h"

enum common_field {
	F_EVT_TYPE, F_EVT_TIME, F_EVT_BOOTTIME, F_EVT_NUM, F_EVT_CPU, F_EVT_DIR, F_EVT_PROBE, F_EVT_SNAPSHOT, F_HOST,
	F_PID, F_VPID, F_NAME, F_EXE, F_ARGS, F_PPID, F_START, F_UID, F_GID, F_TID,
	F_CONTAINER, F_CONTAINER_NAME, F_IMAGE, F_POD, F_POD_NAMESPACE, F_POD_UID, F_K8S_CONTAINER,
	F_CGROUP, F_CGROUP_NAME, F_NETNS, F_COOKIE, F_RPC_STREAM, F_RPC_CONN, F_GOID,
	F_EXEC_IMAGE, F_RPC_METHOD, F_RPC_PATH, F_CALL, F_CALL_HOW, F_FILE, F_FILE_HOW,
	F_FILE_PATH, F_FILE_KIND, F_FILE_INO, F_SOCK_INODE, F_OWNER_HOW, F_OWNER_SHARED,
	F_TCP_SEQ, F_TCP_LEN, F_TCP_DIR,
	F_IP, F_SIP, F_DIP, F_PORT, F_SPORT, F_DPORT, F_PROTO, F_SERVER,
	F_PKT_LEN, F_PKT_IFACE, F_STACK_FUNCTION,
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

static const struct xlat_val how_vals[] = {
	{ SONDE_HOW_UNKNOWN, "unknown" }, { SONDE_HOW_STORAGE, "storage" }, { SONDE_HOW_SKB, "skb" },
	{ SONDE_HOW_TUPLE, "tuple" }, { SONDE_HOW_CONNTRACK, "conntrack" }, { SONDE_HOW_LOOKUP, "lookup" },
	{ SONDE_HOW_DATA_READY, "data_ready" }, { SONDE_HOW_LISTENER, "listener" },
	{ SONDE_HOW_SNAPSHOT, "snapshot" }, { SONDE_HOW_LATE, "late" }, { SONDE_HOW_GROUP, "group" },
	{ SONDE_HOW_DERIVED, "derived" }, { SONDE_HOW_EVICTED, "evicted" }, { SONDE_HOW_BYTES, "bytes" },
};
_Static_assert(ARRAY_SIZE(how_vals) == SONDE_HOW__MAX, "every source has a name");
const struct xlat ident_how_xlat = { .name = "how", .vals = how_vals, .n = ARRAY_SIZE(how_vals) };

static const struct xlat_val kind_vals[] = {
	{ FILE_KIND_UNKNOWN, "unknown" }, { FILE_KIND_FILE, "file" }, { FILE_KIND_DIR, "directory" },
	{ FILE_KIND_CHAR, "char" }, { FILE_KIND_BLOCK, "block" }, { FILE_KIND_PIPE, "pipe" },
	{ FILE_KIND_LINK, "link" }, { FILE_KIND_SOCKET, "socket" }, { FILE_KIND_INET, "inet" },
	{ FILE_KIND_UNIX, "unix" }, { FILE_KIND_NETLINK, "netlink" }, { FILE_KIND_PACKET, "packet" },
	{ FILE_KIND_EPOLL, "eventpoll" }, { FILE_KIND_EVENTFD, "event" }, { FILE_KIND_SIGNALFD, "signalfd" },
	{ FILE_KIND_TIMERFD, "timerfd" }, { FILE_KIND_INOTIFY, "inotify" }, { FILE_KIND_FANOTIFY, "fanotify" },
	{ FILE_KIND_USERFAULTFD, "userfaultfd" }, { FILE_KIND_IO_URING, "io_uring" }, { FILE_KIND_PIDFD, "pidfd" },
	{ FILE_KIND_PERF_EVENT, "perf_event" }, { FILE_KIND_BPF, "bpf" }, { FILE_KIND_MEMFD, "memfd" },
	{ FILE_KIND_NAMESPACE, "namespace" }, { FILE_KIND_ANON, "anon" },
};
_Static_assert(ARRAY_SIZE(kind_vals) == FILE_KIND__MAX, "every kind has a name");
const struct xlat file_kind_xlat = { .name = "file_kind", .vals = kind_vals, .n = ARRAY_SIZE(kind_vals) };

static const struct xlat_val stream_vals[] = { { SONDE_ID_F_TX, "sent" }, { SONDE_ID_F_RX, "received" } };
const struct xlat ident_stream_xlat = { .name = "stream", .vals = stream_vals, .n = ARRAY_SIZE(stream_vals) };

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
	FIELD("host", F_HOST, FIELD_STR, "name of the host", .flags = FIELD_OPEN),
	FIELD("proc.pid", F_PID, FIELD_UINT, "process id"),
	FIELD("proc.vpid", F_VPID, FIELD_UINT, "process id in the pid namespace of the process"),
	FIELD("proc.name", F_NAME, FIELD_STR, "name of the process (comm)", .flags = FIELD_OPEN),
	FIELD("proc.exe", F_EXE, FIELD_STR, "path of the executable", .flags = FIELD_OPEN),
	FIELD("proc.args", F_ARGS, FIELD_STR, "command line"),
	FIELD("proc.cmdline", F_ARGS, FIELD_STR, "command line", .flags = FIELD_ALIAS),
	FIELD("proc.ppid", F_PPID, FIELD_UINT, "process id of the parent"),
	FIELD("proc.start", F_START, FIELD_NS, "start of the process since boot"),
	FIELD("proc.image", F_EXEC_IMAGE, FIELD_UINT, "number of the executable image; a new one at each exec"),
	FIELD("proc.uid", F_UID, FIELD_UINT, "user id", .flags = FIELD_ALIAS),
	FIELD("user.uid", F_UID, FIELD_UINT, "user id"),
	FIELD("group.gid", F_GID, FIELD_UINT, "group id"),
	FIELD("thread.tid", F_TID, FIELD_UINT, "thread id"),
	FIELD("container.id", F_CONTAINER, FIELD_STR, "container id; the first twelve digits suffice",
	      .flags = FIELD_OPEN | FIELD_SHORT),
	FIELD("container.name", F_CONTAINER_NAME, FIELD_STR, "name of the container, from its engine's files",
	      .flags = FIELD_OPEN),
	FIELD("container.image", F_IMAGE, FIELD_STR, "container image", .flags = FIELD_OPEN),
	FIELD("k8s.container", F_K8S_CONTAINER, FIELD_STR, "name of the container in its Kubernetes pod",
	      .flags = FIELD_OPEN),
	FIELD("k8s.pod", F_POD, FIELD_STR, "name of the pod", .flags = FIELD_OPEN),
	FIELD("k8s.ns", F_POD_NAMESPACE, FIELD_STR, "namespace of the pod", .flags = FIELD_OPEN),
	FIELD("k8s.uid", F_POD_UID, FIELD_STR, "uid of the pod", .flags = FIELD_OPEN),
	FIELD("cgroup.id", F_CGROUP, FIELD_UINT, "id of the cgroup (v2)"),
	FIELD("cgroup.name", F_CGROUP_NAME, FIELD_STR, "path of the cgroup below its mount", .flags = FIELD_OPEN),
	FIELD("netns", F_NETNS, FIELD_NAME, "network namespace: inode or name", .space = SONDE_NAME_NETNS),
	FIELD("sock.cookie", F_COOKIE, FIELD_UINT, "socket cookie"),
	FIELD("sock.inode", F_SOCK_INODE, FIELD_UINT, "inode of a socket without a cookie (AF_UNIX and others)"),
	FIELD("owner.how", F_OWNER_HOW, FIELD_ENUM, "source of the process that an event of a socket names",
	      .xlat = &ident_how_xlat),
	FIELD("owner.shared", F_OWNER_SHARED, FIELD_BOOL,
	      "several processes use the socket: the process is its last user"),
	FIELD("file.id", F_FILE, FIELD_UINT, "number of the open file behind the descriptor"),
	FIELD("file.how", F_FILE_HOW, FIELD_ENUM, "source of the file's number", .xlat = &ident_how_xlat),
	FIELD("file.path", F_FILE_PATH, FIELD_STR, "name of that file as in /proc/PID/fd; a socket's addresses"),
	FIELD("file.kind", F_FILE_KIND, FIELD_ENUM, "kind of that file", .xlat = &file_kind_xlat),
	FIELD("file.ino", F_FILE_INO, FIELD_UINT, "its inode"),
	FIELD("tcp.seq", F_TCP_SEQ, FIELD_UINT, "TCP sequence number of the first byte read or written"),
	FIELD("tcp.len", F_TCP_LEN, FIELD_UINT, "bytes of the TCP stream read or written"),
	FIELD("tcp.dir", F_TCP_DIR, FIELD_ENUM, "direction of these bytes at the socket: sent, received",
	      .xlat = &ident_stream_xlat),
	FIELD("rpc.stream", F_RPC_STREAM, FIELD_UINT, "stream of the RPC in its connection"),
	FIELD("rpc.conn", F_RPC_CONN, FIELD_HEX, "connection of the RPC in its process"),
	FIELD("goid", F_GOID, FIELD_UINT, "goroutine id"),
	FIELD("call", F_CALL, FIELD_UINT, "number of the RPC that the goroutine serves or the packet carries"),
	FIELD("rpc.method", F_RPC_METHOD, FIELD_STR, "method of that RPC: package.Service/Method, or of HTTP"),
	FIELD("rpc.path", F_RPC_PATH, FIELD_STR, "path of that RPC"),
	FIELD("call.how", F_CALL_HOW, FIELD_ENUM, "source of that number", .xlat = &ident_how_xlat),
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
	FIELD("stack.function", F_STACK_FUNCTION, FIELD_STR,
	      "functions of the event's stacks: a check holds if it holds for one of them", .flags = FIELD_SILENT),
};
const size_t event_n_common_fields = ARRAY_SIZE(event_common_fields);

static int give_uint(struct value *ret, uint64_t u, bool known)
{
	return known ? value_set_uint(ret, u) : -ENOENT;
}

static int give_str(struct value *ret, const char *s, size_t len)
{
	return len ? value_set_chars(ret, s, len) : -ENOENT;
}

static int give_named(struct value *ret, uint64_t u, const char *name)
{
	return name ? value_set_named(ret, u, name) : value_set_uint(ret, u);
}

static int get_evt(const struct event *ev, const struct field *f, struct value *ret)
{
	const char *host = event_names_host(ev->names);
	const struct sec_packet *p;

	switch ((enum common_field)f->off) {
	case F_EVT_TYPE: return give_str(ret, ev->desc->name, strlen(ev->desc->name));
	case F_EVT_TIME:
		return give_uint(ret, event_wall_ns(ev), ev->clock_offset_ns != 0);
	case F_EVT_BOOTTIME: return value_set_ns(ret, ev->ts_ns);
	case F_EVT_NUM: return give_uint(ret, ev->seq, ev->seq != 0);
	case F_EVT_CPU: return value_set_uint(ret, ev->cpu);
	case F_EVT_PROBE:
		return give_named(ret, ev->instance, event_names_get(ev->names, SONDE_NAME_INSTANCE, ev->instance));
	case F_HOST: return give_str(ret, host, strlen(host));
	case F_EVT_SNAPSHOT: return value_set_bool(ret, ev->flags & SONDE_RF_SNAPSHOT);
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
		return value_set_uint(ret, p->orig_len);
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
	case F_VPID: return give_uint(ret, p->vpid, p->vpid != 0);
	case F_UID: return value_set_uint(ret, p->uid);
	case F_GID: return value_set_uint(ret, p->gid);
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

static int get_call(const struct event *ev, const struct field *f, struct value *ret)
{
	const struct section *s = event_section(ev, SEC_CALL);
	const struct sec_call *c = s && s->len >= sizeof(*c) ? s->data : NULL;
	struct sec_str str;

	if (!c)
		return -ENOENT;
	str = f->off == F_RPC_METHOD ? c->method : c->path;
	if (str.off > s->len - sizeof(*c) || str.len > s->len - sizeof(*c) - str.off)
		return -ENOENT;
	return give_str(ret, (const char *)(c + 1) + str.off, str.len);
}

/* A name of the event's cgroup. */
static int give_of_cgroup(const struct event *ev, uint32_t space, struct value *ret)
{
	const char *name = ev->keys.cgroup_id ? event_names_get(ev->names, space, ev->keys.cgroup_id) : NULL;

	return give_str(ret, name, name ? strlen(name) : 0);
}

static int get_container(const struct event *ev, const struct field *f, struct value *ret)
{
	switch ((enum common_field)f->off) {
	case F_CONTAINER_NAME: return give_of_cgroup(ev, SONDE_NAME_CONTAINER, ret);
	case F_IMAGE:
		return get_proc(ev, f, ret) < 0 ? give_of_cgroup(ev, SONDE_NAME_CONTAINER_IMAGE, ret) : 0;
	case F_POD: return give_of_cgroup(ev, SONDE_NAME_POD, ret);
	case F_POD_NAMESPACE: return give_of_cgroup(ev, SONDE_NAME_POD_NAMESPACE, ret);
	case F_POD_UID: return give_of_cgroup(ev, SONDE_NAME_POD_UID, ret);
	case F_K8S_CONTAINER:
		if (give_of_cgroup(ev, SONDE_NAME_POD, ret) < 0)
			return -ENOENT;
		return give_of_cgroup(ev, SONDE_NAME_CONTAINER, ret);
	default: return -ENOENT;
	}
}

static int get_key(const struct event *ev, const struct field *f, struct value *ret)
{
	const struct event_keys *k = &ev->keys;
	const char *name;

	switch ((enum common_field)f->off) {
	case F_PID: return give_uint(ret, ev->tgid, ev->tgid != 0);
	case F_TID: return give_uint(ret, ev->tid, ev->tid != 0);
	case F_START:
		return ev->start_ns ? value_set_ns(ret, ev->start_ns) : -ENOENT;
	case F_CGROUP: return give_uint(ret, k->cgroup_id, k->cgroup_id != 0);
	case F_CGROUP_NAME: return give_of_cgroup(ev, SONDE_NAME_CGROUP, ret);
	case F_NETNS:
		name = event_names_get(ev->names, SONDE_NAME_NETNS, k->netns);
		return k->netns ? give_named(ret, k->netns, name) : -ENOENT;
	case F_COOKIE: return give_uint(ret, k->cookie, k->cookie && !(k->cookie & SONDE_ID_SOCK_INODE));
	case F_RPC_STREAM: return give_uint(ret, k->rpc_stream, k->rpc_stream != 0);
	case F_RPC_CONN:
		*ret = (struct value){ .kind = VAL_UINT, .u = k->rpc_conn, .hex = true };
		return k->rpc_conn ? 0 : -ENOENT;
	case F_GOID: return give_uint(ret, k->goid, k->goid != 0);
	default: return -ENOENT;
	}
}

static int give_enum(struct value *ret, const struct xlat *x, uint64_t u)
{
	return u ? give_named(ret, u, xlat_name(x, u)) : -ENOENT;
}

static int get_ident(const struct event *ev, const struct field *f, struct value *ret)
{
	const struct event_keys *k = &ev->keys;
	const uint8_t stream = k->ident_flags & (SONDE_ID_F_TX | SONDE_ID_F_RX);

	switch ((enum common_field)f->off) {
	case F_EXEC_IMAGE: return give_uint(ret, k->image, k->image != 0);
	case F_CALL: return give_uint(ret, k->call, k->call != 0);
	case F_CALL_HOW: return give_enum(ret, &ident_how_xlat, k->call_how);
	case F_FILE: return give_uint(ret, k->file, k->file != 0);
	case F_FILE_HOW: return give_enum(ret, &ident_how_xlat, k->file_how);
	case F_SOCK_INODE:
		return give_uint(ret, k->cookie & ~SONDE_ID_SOCK_INODE, k->cookie & SONDE_ID_SOCK_INODE);
	case F_OWNER_HOW: return give_enum(ret, &ident_how_xlat, k->owner_how);
	case F_OWNER_SHARED:
		return k->ident_flags & SONDE_ID_F_SHARED_OWNER ? value_set_bool(ret, true) : -ENOENT;
	case F_TCP_SEQ: return give_uint(ret, k->seq, stream);
	case F_TCP_LEN: return give_uint(ret, k->seq_len, stream);
	case F_TCP_DIR: return give_enum(ret, &ident_stream_xlat, stream);
	default: return -ENOENT;
	}
}

static int get_file(const struct event *ev, const struct field *f, struct value *ret)
{
	const struct sec_file *file = event_file(ev);

	if (!file)
		return -ENOENT;
	switch ((enum common_field)f->off) {
	case F_FILE_PATH: return give_str(ret, file->name, file->name_len);
	case F_FILE_KIND: return give_enum(ret, &file_kind_xlat, file->kind);
	case F_FILE_INO: return value_set_uint(ret, file->ino);
	default: return -ENOENT;
	}
}

static int get_conn(const struct event *ev, const struct field *f, struct value *ret)
{
	const struct conn *c = &ev->keys.conn;

	switch ((enum common_field)f->off) {
	case F_IP:
	case F_SIP: return value_set_ip(ret, &c->saddr);
	case F_DIP: return value_set_ip(ret, &c->daddr);
	case F_PORT:
	case F_SPORT: return give_uint(ret, c->sport, c->sport != 0);
	case F_DPORT: return give_uint(ret, c->dport, c->dport != 0);
	case F_PROTO: return c->proto ? give_named(ret, c->proto, xlat_name(&ip_proto_xlat, c->proto)) : -ENOENT;
	default: return -ENOENT;
	}
}

/* Without a symbolizer: functions of the kernel, whose names are "name+0xoffset [module]". */
static int list_kernel_functions(const struct event *ev, const char **ret, size_t *ret_len)
{
	const struct section *s = event_section(ev, SEC_STACK_KERN);
	const uint64_t *addresses = s ? s->data : NULL;
	const size_t n = s ? s->len / sizeof(*addresses) : 0;
	size_t len = 0;
	char *text, *at;

	for (size_t i = 0; i < n; i++) {
		const char *name = event_names_get(ev->names, SONDE_NAME_KSYM, addresses[i]);

		len += name ? strcspn(name, "+ ") + 1 : 0;
	}
	at = text = len && ev->scratch ? arena_alloc(ev->scratch, len) : NULL;
	for (size_t i = 0; text && i < n; i++) {
		const char *name = event_names_get(ev->names, SONDE_NAME_KSYM, addresses[i]);

		if (name)
			at = mempcpy(at, name, strcspn(name, "+ ")) + 1;
	}
	*ret = text;
	*ret_len = len;
	return text ? 0 : -ENOENT;
}

static int get_functions(const struct event *ev, struct value *ret)
{
	struct value v = { .kind = VAL_LIST };
	int r = ev->functions ? ev->functions->list(ev->functions, ev, &v.str, &v.len)
			      : list_kernel_functions(ev, &v.str, &v.len);

	if (r < 0)
		return -ENOENT;
	*ret = v;
	return 0;
}

#define HEAD(member) { EVENT_PART_HEAD, offsetof(struct event, member), sizeof(((struct event *)0)->member) }
#define PROC(member) { EVENT_PART_PROC, offsetof(struct sec_proc, member), sizeof(struct sec_str) }

static const struct event_place places[F__MAX] = {
	[F_EVT_CPU] = HEAD(cpu),
	[F_EVT_PROBE] = HEAD(instance),
	[F_PID] = HEAD(tgid),
	[F_TID] = HEAD(tid),
	[F_START] = HEAD(start_ns),
	[F_NAME] = PROC(comm),
	[F_EXE] = PROC(exe),
	[F_ARGS] = PROC(args),
	[F_CONTAINER] = PROC(container),
	[F_CONTAINER_NAME] = HEAD(keys.cgroup_id),
	[F_POD] = HEAD(keys.cgroup_id),
	[F_POD_NAMESPACE] = HEAD(keys.cgroup_id),
	[F_POD_UID] = HEAD(keys.cgroup_id),
	[F_K8S_CONTAINER] = HEAD(keys.cgroup_id),
	[F_CGROUP] = HEAD(keys.cgroup_id),
	[F_CGROUP_NAME] = HEAD(keys.cgroup_id),
	[F_NETNS] = HEAD(keys.netns),
	[F_RPC_STREAM] = HEAD(keys.rpc_stream),
	[F_RPC_CONN] = HEAD(keys.rpc_conn),
	[F_GOID] = HEAD(keys.goid),
	[F_EXEC_IMAGE] = HEAD(keys.image),
	[F_CALL] = HEAD(keys.call),
	[F_CALL_HOW] = HEAD(keys.call_how),
	[F_FILE] = HEAD(keys.file),
	[F_FILE_HOW] = HEAD(keys.file_how),
	[F_OWNER_HOW] = HEAD(keys.owner_how),
	[F_SIP] = HEAD(keys.conn.saddr),
	[F_DIP] = HEAD(keys.conn.daddr),
	[F_SPORT] = HEAD(keys.conn.sport),
	[F_DPORT] = HEAD(keys.conn.dport),
	[F_PROTO] = HEAD(keys.conn.proto),
};

struct event_place event_field_place_common(const struct field *f)
{
	return places[f->off];
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
	case F_HOST:
	case F_EVT_SNAPSHOT: return get_evt(ev, f, ret);
	case F_PKT_LEN:
	case F_PKT_IFACE: return get_packet(ev, f, ret);
	case F_NAME:
	case F_EXE:
	case F_ARGS:
	case F_PPID:
	case F_VPID:
	case F_UID:
	case F_GID:
	case F_CONTAINER: return get_proc(ev, f, ret);
	case F_CONTAINER_NAME:
	case F_IMAGE:
	case F_POD:
	case F_POD_NAMESPACE:
	case F_POD_UID:
	case F_K8S_CONTAINER: return get_container(ev, f, ret);
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
	case F_RPC_METHOD:
	case F_RPC_PATH: return get_call(ev, f, ret);
	case F_EXEC_IMAGE:
	case F_CALL:
	case F_CALL_HOW:
	case F_FILE:
	case F_FILE_HOW:
	case F_SOCK_INODE:
	case F_OWNER_HOW:
	case F_OWNER_SHARED:
	case F_TCP_SEQ:
	case F_TCP_LEN:
	case F_TCP_DIR: return get_ident(ev, f, ret);
	case F_FILE_PATH:
	case F_FILE_KIND:
	case F_FILE_INO: return get_file(ev, f, ret);
	case F_IP:
	case F_SIP:
	case F_DIP:
	case F_PORT:
	case F_SPORT:
	case F_DPORT:
	case F_PROTO: return get_conn(ev, f, ret);
	case F_STACK_FUNCTION: return get_functions(ev, ret);
	case F_SERVER: break;	/* types that know the server have fields of this name */
	case F__MAX: break;
	}
	return -ENOENT;
}
