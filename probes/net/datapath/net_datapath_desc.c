// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fields and text of other datapaths' events, except drops and traces (net_events.c). Names and texts are those of
 * Cilium's client.
 */
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/macros.h"
#include "base/str.h"
#include "cilium/names.h"
#include "cilium/notify.h"
#include "cilium/print.h"
#include "event/event.h"
#include "event/names.h"
#include "probes/net/datapath/net_datapath_event.h"
#include "probes/net/owner/net_sock_wire.h"
#include "probes/net/net_text.h"
#include "sonde/foreign_wire.h"

enum {
	GET_TEXT, GET_IDENTITY, GET_ACTION, GET_DIR, GET_MATCH, GET_AUTH, GET_COOKIE, GET_POINT, GET_AGENT_EVENT,
};

#define ROW(member, name_, kind_, doc_, ...) \
	FIELD_ROW(struct net_datapath_event_event, member, name_, kind_, doc_, ##__VA_ARGS__)
#define GET_ROW(word_, name_, like_, doc_, ...) \
	{ .name = (name_), .kind = FIELD_GET, .off = (word_), .like = FIELD_LIKE(like_), .doc = (doc_), \
	  ##__VA_ARGS__ }

#define COMMON_ROWS \
	ROW(endpoint, "net.endpoint", FIELD_UINT, "endpoint whose program ran", .flags = FIELD_OPTIONAL), \
		ROW(hash, "net.hash", FIELD_HEX, "flow hash, if the kernel computed it", .flags = FIELD_OPTIONAL)
#define PACKET_ROWS \
	ROW(len, "net.len", FIELD_UINT, "length of the packet on the wire", .flags = FIELD_PACKET), \
		ROW(cap_len, "net.caplen", FIELD_UINT, "captured bytes of the packet", .flags = FIELD_PACKET)

static const struct field debug_fields[] = {
	COMMON_ROWS,
	ROW(code, "debug.code", FIELD_UINT, "number of the message"),
	GET_ROW(GET_TEXT, "debug.text", FIELD_STR, "the message"),
};

static const struct field capture_fields[] = {
	COMMON_ROWS,
	PACKET_ROWS,
	ROW(code, "capture.code", FIELD_UINT, "number of the point"),
	GET_ROW(GET_TEXT, "capture.text", FIELD_STR, "text of the point"),
};

static const struct field policy_fields[] = {
	COMMON_ROWS,
	PACKET_ROWS,
	GET_ROW(GET_ACTION, "policy.action", FIELD_STR, "allow, deny, redirect or audit", .flags = FIELD_OPEN),
	ROW(verdict, "policy.verdict", FIELD_INT, "minus the drop code, 0 allowed, or the port of a proxy"),
	GET_ROW(GET_DIR, "policy.dir", FIELD_STR, "ingress or egress", .flags = FIELD_OPEN),
	GET_ROW(GET_IDENTITY, "policy.identity", FIELD_UINT, "security identity of the other end"),
	GET_ROW(GET_MATCH, "policy.match", FIELD_STR, "kind of the matching rule", .flags = FIELD_OPEN),
	GET_ROW(GET_AUTH, "policy.auth", FIELD_STR, "required authentication", .flags = FIELD_OPEN),
	GET_ROW(GET_COOKIE, "policy.rule", FIELD_UINT, "number of the rule; of a rule file here its line"),
	ROW(rule, "policy.text", FIELD_NAME, "the rule (of a rule file here)", .space = SONDE_NAME_POLICY_RULE,
	    .flags = FIELD_OPTIONAL),
	ROW(ifindex, "net.iface", FIELD_IFACE, "interface", .flags = FIELD_OPTIONAL),
};

static const struct field recorder_fields[] = {
	ROW(endpoint, "recorder.rule", FIELD_UINT, "number of the rule"),
	GET_ROW(GET_DIR, "recorder.dir", FIELD_STR, "ingress or egress", .flags = FIELD_OPEN),
	PACKET_ROWS,
};

static const struct xlat_val hook_vals[] = {
	{ NET_SOCK_CONNECT, "connect" }, { NET_SOCK_SENDMSG, "sendmsg" }, { NET_SOCK_RECVMSG, "recvmsg" },
	{ NET_SOCK_GETPEERNAME, "getpeername" },
};
_Static_assert(ARRAY_SIZE(hook_vals) == NET_SOCK__MAX - 1, "each hook has a name");
static const struct xlat hook_xlat = { .name = "sock_hook", .vals = hook_vals, .n = ARRAY_SIZE(hook_vals) };

static const struct field sock_fields[] = {
	ROW(hook, "sock.hook", FIELD_ENUM, "system call of the process (this host's own events)", .xlat = &hook_xlat,
	    .flags = FIELD_OPTIONAL),
	GET_ROW(GET_POINT, "sock.point", FIELD_STR, "before or after translation of the address, forward or reverse",
		.flags = FIELD_OPEN),
};

static const struct field l7_fields[] = {
	GET_ROW(GET_TEXT, "l7.text", FIELD_STR, "the request or response"),
};

static const struct field agent_fields[] = {
	GET_ROW(GET_AGENT_EVENT, "agent.event", FIELD_STR, "kind of the message"),
	GET_ROW(GET_TEXT, "agent.text", FIELD_STR, "details, as JSON"),
};

static const struct field other_fields[] = {
	ROW(kind, "notify.kind", FIELD_UINT, "type number"),
	GET_ROW(GET_TEXT, "notify.text", FIELD_STR, "decode error, or its bytes"),
};

/* ---- values ---- */

/* The line that Cilium's client prints for it, without the newline. */
static void put_client_text(const struct event *ev, struct buf *out)
{
	const struct section *s = event_section(ev, SEC_NOTIFY);
	const struct cilium_print o = { .verbose = 1 };
	struct cilium_payload p = { 0 };
	const size_t from = out->len;
	uint32_t len = 0;

	p.data = net_datapath_event_bytes(ev, &len);
	if (!p.data)
		return;
	p.len = len;
	p.cpu = ((const struct sec_notify *)s->data)->cpu;
	p.type = ((const struct sec_notify *)s->data)->type;
	cilium_print(&p, &o, out);
	if (out->len > from && out->data[out->len - 1] == '\n')
		out->len--;
}

static void put_text(const struct event *ev, struct buf *out)
{
	const struct cilium_print numbers = { 0 };
	struct cilium_notify n;

	if (ev->desc == &net_debug_desc || ev->desc == &net_capture_desc) {
		if (!net_datapath_event_notify(ev, &n))
			return;
		if (ev->desc == &net_debug_desc)
			cilium_debug_put(out, &n, &numbers);
		else
			cilium_debug_put_capture(out, &n, &numbers);
		return;
	}
	put_client_text(ev, out);
}

static const char *agent_text(const char *line, size_t *len)
{
	const char *colon = memmem(line, *len, ": ", 2);

	if (!colon)
		return line;
	*len -= (size_t)(colon + 2 - line);
	return colon + 2;
}

/* NAME or TEXT of ">> NAME: TEXT". */
static int get_text(const struct event *ev, bool agent_name, struct value *ret)
{
	_cleanup_(buf_fini) struct buf out = { 0 };
	const char *text;
	size_t len;

	put_text(ev, &out);
	if (buf_error(&out) || !ev->scratch)
		return buf_error(&out) ? buf_error(&out) : -ENOENT;
	text = out.data;
	len = out.len;
	if (ev->desc == &net_agent_desc && len > 3) {
		const char *behind = agent_text(out.data, &len);

		text = agent_name ? out.data + 3 : behind;
		len = agent_name ? (size_t)(behind - 2 - text) : len;
	}
	*ret = (struct value){ .kind = VAL_STR, .str = arena_copy(ev->scratch, text, len), .len = len,
			       .printable = true };
	return ret->str || !len ? 0 : -ENOMEM;
}

static const char *dir_of(const struct cilium_notify *n)
{
	unsigned dir = n->type == CILIUM_POLICY ? CILIUM_POLICY_DIR(n->policy.bits) : n->subtype;

	return dir == 1 ? "ingress" : "egress";
}

static int foreign_get(const struct event *ev, const struct field *f, struct value *ret)
{
	struct cilium_notify n;

	if (f->off == GET_TEXT || f->off == GET_AGENT_EVENT)
		return get_text(ev, f->off == GET_AGENT_EVENT, ret);
	if (!net_datapath_event_notify(ev, &n))
		return -ENOENT;
	switch (f->off) {
	case GET_IDENTITY: return net_text_get_uint(n.policy.remote_identity, ret);
	case GET_COOKIE: return net_text_get_uint(n.policy.cookie, ret);
	case GET_ACTION: return value_set_text(ret, cilium_names_policy_action(&n.policy));
	case GET_DIR: return value_set_text(ret, dir_of(&n));
	case GET_MATCH: return value_set_text(ret, cilium_names_policy_match(CILIUM_POLICY_MATCH(n.policy.bits)));
	case GET_AUTH: return value_set_text(ret, cilium_names_auth(n.policy.auth_type));
	case GET_POINT: return value_set_text(ret, cilium_names_sock_point(n.sock.point));
	default: return -ENOENT;
	}
}

/* ---- lines ---- */

/* The packet, with its owner if @owned, and its second line. */
static int put_packet(const struct event *ev, const struct line_opts *o, bool owned, struct buf *out)
{
	if (event_section(ev, SEC_PACKET)) {
		buf_add_str(out, ": ");
		net_text_put_summary(ev, out);
	}
	if (owned)
		net_text_put_owner(ev, out);
	buf_add_char(out, '\n');
	net_text_put_packet(ev, o, out);
	return buf_error(out);
}

/* "debug endpoint 12: Attempting local delivery...", "capture endpoint 12: Delivery to ifindex 3: 10.0.0.1 -> ..." */
static int message_line(const struct event *ev, const struct line_opts *o, struct buf *out)
{
	const struct net_datapath_event_event *b = ev->body;

	buf_printf(out, "%s endpoint %u: ", ev->desc == &net_debug_desc ? "debug" : "capture", b->endpoint);
	put_text(ev, out);
	return put_packet(ev, o, false, out);
}

/* "policy deny in eth0, line 3 (deny in tcp port 22): 10.0.0.1:80 -> ...  [sshd/1234 tuple]": of a rule file */
static int rule_line(const struct event *ev, const struct line_opts *o, const struct cilium_notify *n,
		     struct buf *out)
{
	const struct net_datapath_event_event *b = ev->body;
	const char *rule = o->numeric ? NULL : event_names_get(ev->names, SONDE_NAME_POLICY_RULE, b->rule);

	buf_printf(out, "policy %s %s ", cilium_names_policy_action(&n->policy),
		   CILIUM_POLICY_DIR(n->policy.bits) == 1 ? "in" : "out");
	net_text_put_iface(ev, b->ifindex, out);
	if (n->policy.cookie)
		buf_printf(out, ", line %u", n->policy.cookie);
	if (rule) {
		buf_add_str(out, " (");
		str_escape_buf(out, rule, strlen(rule));
		buf_add_char(out, ')');
	}
	return put_packet(ev, o, true, out);
}

/* "policy deny ingress endpoint 12 identity world, match L3-L4: 10.0.0.1:80 -> ..." */
static int policy_line(const struct event *ev, const struct line_opts *o, struct buf *out)
{
	const struct net_datapath_event_event *b = ev->body;
	struct cilium_notify n;

	if (!net_datapath_event_notify(ev, &n))
		return -EBADMSG;
	if (b->own)
		return rule_line(ev, o, &n, out);
	buf_printf(out, "policy %s", cilium_names_policy_action(&n.policy));
	if (b->verdict < 0) {
		buf_add_str(out, " (");
		cilium_names_put_drop(out, (uint8_t)-b->verdict, 0);
		buf_add_char(out, ')');
	} else if (b->verdict > 0) {
		buf_printf(out, " to proxy port %d", b->verdict);
	}
	buf_printf(out, " %s endpoint %u identity ", dir_of(&n), b->endpoint);
	cilium_names_put_identity(out, n.policy.remote_identity, o->numeric);
	buf_printf(out, ", match %s", cilium_names_policy_match(CILIUM_POLICY_MATCH(n.policy.bits)));
	if (n.policy.cookie)
		buf_printf(out, ", rule %u", n.policy.cookie);
	return put_packet(ev, o, false, out);
}

static int recorder_line(const struct event *ev, const struct line_opts *o, struct buf *out)
{
	const struct net_datapath_event_event *b = ev->body;
	struct cilium_notify n;

	buf_printf(out, "recorder rule %u %s", b->endpoint, net_datapath_event_notify(ev, &n) ? dir_of(&n) : "");
	return put_packet(ev, o, false, out);
}

/* Prints the client's line unchanged. */
static int client_line(const struct event *ev, _unused_ const struct line_opts *o, struct buf *out)
{
	put_client_text(ev, out);
	return buf_add_char(out, '\n');
}

static void put_addr(const struct event *ev, struct buf *out)
{
	const struct conn *c = &ev->keys.conn;

	ipaddr_port_text(&c->daddr, c->dport, out);
	buf_add_str(out, c->proto == IPPROTO_TCP ? " tcp" : c->proto == IPPROTO_UDP ? " udp" : " unknown");
}

static void put_process(const struct event *ev, struct buf *out)
{
	const struct sec_proc *p = event_proc(ev);
	size_t len = 0;
	const char *comm = p ? event_sec_proc_str(p, event_section(ev, SEC_PROC), p->comm, &len) : NULL;

	if (!ev->tgid)
		return;
	buf_add_str(out, "  [");
	if (comm && len) {
		str_escape_buf(out, comm, len);
		buf_add_char(out, '/');
	}
	buf_printf(out, "%u]", ev->tgid);
}

/* "sock connect pre-xlate-fwd 10.9.9.9:80 tcp  [curl/1234]"; of other datapaths, the client's line. */
static int sock_line(const struct event *ev, const struct line_opts *o, struct buf *out)
{
	const struct net_datapath_event_event *b = ev->body;

	if (!b->hook)
		return client_line(ev, o, out);
	buf_printf(out, "sock %s %s ", xlat_name(&hook_xlat, b->hook) ? xlat_name(&hook_xlat, b->hook) : "?",
		   cilium_names_sock_point(b->code));
	put_addr(ev, out);
	put_process(ev, out);
	if (o->verbose)
		buf_printf(out, "  cgroup %" PRIu64 " cookie %" PRIu64, ev->keys.cgroup_id, ev->keys.cookie);
	return buf_add_char(out, '\n');
}

#define FOREIGN(type_, name_, doc_, fields_, sections_, line_) \
	{ \
		.type = (type_), .name = (name_), .doc = (doc_), .class = EVENT_DATA, .fields = (fields_), \
		.n_fields = ARRAY_SIZE(fields_), .body_size = sizeof(struct net_datapath_event_event), \
		.sections = 1u << SEC_NOTIFY | (sections_), .get = foreign_get, .line = (line_) \
	}

const struct event_desc net_debug_desc = FOREIGN(SONDE_EV_FOREIGN_DEBUG, "net.debug",
	"a message of another datapath's program", debug_fields, 0, message_line);
const struct event_desc net_capture_desc =
	FOREIGN(SONDE_EV_FOREIGN_CAPTURE, "net.capture", "a packet at a point in another datapath's program",
		capture_fields, 1u << SEC_PACKET, message_line);
const struct event_desc net_policy_desc = FOREIGN(SONDE_EV_FOREIGN_POLICY, "net.policy-verdict",
	"a network policy has decided", policy_fields, 1u << SEC_PACKET | 1u << SEC_PROC, policy_line);
const struct event_desc net_recorder_desc =
	FOREIGN(SONDE_EV_FOREIGN_RECORDER, "net.recorder", "a packet selected by a recorder's rule", recorder_fields,
		1u << SEC_PACKET, recorder_line);
const struct event_desc net_sock_desc =
	FOREIGN(SONDE_EV_FOREIGN_SOCK, "net.trace-sock", "a socket's address, before or after translation",
		sock_fields, 1u << SEC_PROC, sock_line);
const struct event_desc net_l7_desc = FOREIGN(SONDE_EV_FOREIGN_L7, "net.l7",
	"a request or response in an agent's access log", l7_fields, 0, client_line);
const struct event_desc net_agent_desc = FOREIGN(SONDE_EV_FOREIGN_AGENT, "net.agent",
						 "a message of an agent about itself", agent_fields, 0, client_line);
const struct event_desc net_other_desc = FOREIGN(SONDE_EV_FOREIGN_OTHER, "net.notify",
	"a notification that could not be read", other_fields, 0, client_line);
