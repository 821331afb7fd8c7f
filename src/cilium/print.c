// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One function per line; cilium_print() selects it by kind and verbosity.
 */
#include "cilium/print.h"

#include <errno.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "cilium/goip.h"
#include "cilium/layers.h"
#include "cilium/names.h"

#define RULE "------------------------------------------------------------------------------\n"

static void put_file(struct buf *out, uint8_t id, const struct cilium_print *o)
{
	const char *own = o->file ? o->file(o->ctx, id) : NULL;

	if (own)
		buf_add_str(out, own);
	else
		cilium_names_put_file(out, id);
}

static void put_identities(struct buf *out, uint32_t src, uint32_t dst, const struct cilium_print *o)
{
	cilium_names_put_identity(out, src, o->numeric);
	buf_add_str(out, "->");
	cilium_names_put_identity(out, dst, o->numeric);
}

static void put_summary(struct buf *out, const struct cilium_packet *p)
{
	struct layers l;

	layers_parse(&l, p);
	layers_summary(out, &l);
}

static void put_dissection(struct buf *out, const struct cilium_packet *p, const struct cilium_print *o)
{
	struct layers l;

	if (!p->len)
		return;
	if (o->hex) {
		buf_add_hexdump(out, p->data, p->len);
		return;
	}
	layers_parse(&l, p);
	layers_put(out, &l);
}

static void put_orig_ip(struct buf *out, const struct cilium_notify *n)
{
	goip_put_addr(out, n->pkt.flags & CILIUM_FLAG_IPV6 ? AF_INET6 : AF_INET, n->trace.orig_ip);
}

static void put_trace_id(struct buf *out, const char *word, uint64_t id)
{
	if (id)
		buf_printf(out, " [ %s = %llu ]", word, (unsigned long long)id);
}

/* ---- drop ---- */

static void put_drop(struct buf *out, const struct cilium_notify *n, const struct cilium_print *o)
{
	const struct cilium_drop *d = &n->drop;

	buf_add_str(out, "xx drop (");
	cilium_print_put_reason(out, n, o);
	buf_printf(out, ") flow 0x%x to endpoint %u, ifindex %u, file ", n->hash, d->dst_id, d->ifindex);
	put_file(out, d->file, o);
	buf_printf(out, ":%u, ", d->line);
	put_trace_id(out, "ip-trace-id", d->ip_trace_id);
	buf_add_str(out, ", identity ");
	put_identities(out, d->src_identity, d->dst_identity, o);
	buf_add_str(out, ": ");
	put_summary(out, &n->pkt);
	buf_add_char(out, '\n');
}

static void put_drop_long(struct buf *out, const struct cilium_notify *n, int64_t cpu, const struct cilium_print *o)
{
	const struct cilium_drop *d = &n->drop;

	buf_printf(out, RULE "CPU %02lld: MARK 0x%x FROM %u DROP: %u bytes, reason ", (long long)cpu, n->hash,
		   n->source, n->pkt.orig_len);
	cilium_print_put_reason(out, n, o);
	if (d->src_identity || d->dst_identity) {
		buf_add_str(out, ", identity ");
		put_identities(out, d->src_identity, d->dst_identity, o);
	}
	if (d->dst_id)
		buf_printf(out, ", to endpoint %u", d->dst_id);
	buf_add_char(out, '\n');
	if (d->ip_trace_id) /* the client leaves bracket and line open */
		buf_printf(out, " [ IP-TRACE-ID=%llu", (unsigned long long)d->ip_trace_id);
	put_dissection(out, &n->pkt, o);
}

/* ---- trace ---- */

static void put_trace(struct buf *out, const struct cilium_notify *n, const struct cilium_print *o)
{
	const struct cilium_trace *t = &n->trace;

	cilium_print_put_point_summary(out, n);
	buf_printf(out, " %sflow 0x%x , identity ", t->reason & CILIUM_REASON_ENCRYPTED ? "encrypted  " : "",
		   n->hash);
	put_identities(out, t->src_identity, t->dst_identity, o);
	put_trace_id(out, "ip-trace-id", t->ip_trace_id);
	buf_add_str(out, " state ");
	cilium_names_put_state(out, t->reason);
	buf_add_str(out, " ifindex ");
	cilium_print_put_iface(out, t->ifindex, o);
	buf_add_str(out, " orig-ip ");
	put_orig_ip(out, n);
	buf_add_str(out, ": ");
	put_summary(out, &n->pkt);
	buf_add_char(out, '\n');
}

static void put_trace_long(struct buf *out, const struct cilium_notify *n, int64_t cpu, const struct cilium_print *o)
{
	const struct cilium_trace *t = &n->trace;

	buf_printf(out, RULE "CPU %02lld: MARK 0x%x", (long long)cpu, n->hash);
	put_trace_id(out, "IP-TRACE-ID", t->ip_trace_id);
	buf_printf(out, " FROM %u ", n->source);
	cilium_names_put_point(out, n->subtype);
	buf_printf(out, ": %u bytes (%u captured), state ", n->pkt.orig_len, n->pkt.cap_len);
	cilium_names_put_state(out, t->reason);
	if (t->ifindex) {
		buf_add_str(out, ", interface ");
		cilium_print_put_iface(out, t->ifindex, o);
	}
	if (t->src_identity || t->dst_identity) {
		buf_add_str(out, ", , identity ");
		put_identities(out, t->src_identity, t->dst_identity, o);
	}
	buf_add_str(out, ", orig-ip ");
	put_orig_ip(out, n);
	if (t->dst_id)
		buf_printf(out, ", to %s %u", n->subtype == 1 ? "proxy-port" : "endpoint", t->dst_id);
	buf_add_char(out, '\n');
	put_dissection(out, &n->pkt, o);
}

/* ---- other kinds ---- */

static void put_debug_line(struct buf *out, const struct cilium_notify *n, int64_t cpu, const struct cilium_print *o)
{
	buf_printf(out, "CPU %02lld: MARK 0x%x FROM %u DEBUG: ", (long long)cpu, n->hash, n->source);
	cilium_debug_put(out, n, o);
	buf_add_char(out, '\n');
}

static void put_capture_line(struct buf *out, const struct cilium_notify *n, const struct cilium_print *o)
{
	if (!cilium_debug_put_capture_prefix(out, n, o))
		return;
	buf_add_str(out, ": ");
	put_summary(out, &n->pkt);
	buf_add_char(out, '\n');
}

static void put_capture_long(struct buf *out, const struct cilium_notify *n, int64_t cpu,
			     const struct cilium_print *o)
{
	buf_printf(out, RULE "CPU %02lld: MARK 0x%x FROM %u DEBUG: %u bytes, ", (long long)cpu, n->hash, n->source,
		   n->pkt.cap_len);
	cilium_debug_put_capture(out, n, o);
	buf_add_char(out, '\n');
	put_dissection(out, &n->pkt, o);
}

static void put_policy(struct buf *out, const struct cilium_notify *n, const struct cilium_print *o)
{
	const struct cilium_policy *p = &n->policy;

	buf_printf(out, "Policy verdict log: flow 0x%x local EP ID %u, remote ID ", n->hash, n->source);
	cilium_names_put_identity(out, p->remote_identity, o->numeric);
	buf_printf(out, ", proto %u, %s, action %s, auth: ", p->proto,
		   CILIUM_POLICY_DIR(p->bits) == 1 ? "ingress" : "egress", cilium_names_policy_action(p));
	cilium_names_put_auth(out, p->auth_type);
	buf_printf(out, ", match %s, ", cilium_names_policy_match(CILIUM_POLICY_MATCH(p->bits)));
	put_summary(out, &n->pkt);
	buf_add_char(out, '\n');
}

static void put_recorder(struct buf *out, const struct cilium_notify *n)
{
	const struct cilium_recorder *r = &n->recorder;
	struct layers l;

	buf_printf(out, "Recorder capture: dir:%s rule:%u ts:%llu caplen:%u len:%u\n",
		   n->subtype == 1 ? "ingress" : "egress", n->source, (unsigned long long)r->ts_ns, r->cap_len,
		   r->len);
	layers_parse(&l, &n->pkt);
	layers_put(out, &l);
	buf_add_str(out, "----\n");
}

static void put_sock(struct buf *out, const struct cilium_notify *n, int64_t cpu)
{
	static const char *const protos[] = { "unknown", "tcp", "udp" };
	const struct cilium_sock *s = &n->sock;

	buf_printf(out, "CPU %02lld: [%s] cgroup_id: %llu sock_cookie: %llu, dst [", (long long)cpu,
		   cilium_names_sock_point(s->point), (unsigned long long)s->cgroup_id,
		   (unsigned long long)s->cookie);
	goip_put_addr(out, s->ipv6 ? AF_INET6 : AF_INET, s->dst_ip);
	buf_printf(out, "]:%u %s \n", s->dst_port, s->proto < ARRAY_SIZE(protos) ? protos[s->proto] : "unknown");
}

static void put_unknown(struct buf *out, const struct cilium_payload *p)
{
	buf_printf(out, "CPU %02lld: Unknown event: [", (long long)p->cpu);
	for (size_t i = 0; i < p->len; i++)
		buf_printf(out, "%s%u", i ? " " : "", p->data[i]);
	buf_add_str(out, "]\n");
}

static void put_sample(struct buf *out, const struct cilium_payload *p, const struct cilium_notify *n,
		       const struct cilium_print *o)
{
	bool is_long = o->verbose >= 2;

	switch (n->type) {
	case CILIUM_POLICY:
		put_policy(out, n, o);
		return;
	case CILIUM_RECORDER:
		put_recorder(out, n);
		return;
	case CILIUM_SOCK:
		if (o->verbose == 1 && !o->json)
			put_sock(out, n, p->cpu);
		return;
	default:
		break;
	}
	if (o->json) {
		cilium_json_notify(out, n, p->cpu, o);
	} else if (n->type == CILIUM_DROP) {
		is_long ? put_drop_long(out, n, p->cpu, o) : put_drop(out, n, o);
	} else if (n->type == CILIUM_TRACE) {
		is_long ? put_trace_long(out, n, p->cpu, o) : put_trace(out, n, o);
	} else if (n->type == CILIUM_CAPTURE) {
		is_long ? put_capture_long(out, n, p->cpu, o) : put_capture_line(out, n, o);
	} else if (n->type == CILIUM_DEBUG && o->verbose) {
		put_debug_line(out, n, p->cpu, o);
	}
}

static void put_payload(struct buf *out, const struct cilium_payload *p, const struct cilium_print *o)
{
	struct cilium_notify n;
	struct err err = { 0 };
	bool known;
	int r = cilium_notify_decode(p->data, p->len, &n, &err);

	if (r == -EBADMSG) {
		buf_printf(out, "cannot decode message type '%u': %s\n", n.type, err.msg);
		return;
	}
	known = r == 0;
	if (n.type == CILIUM_AGENT)
		known = cilium_l7_put_agent(out, p->data, p->len, o->json);
	else if (n.type == CILIUM_L7)
		known = cilium_l7_put(out, p->data, p->len, o->json);
	else if (known)
		put_sample(out, p, &n, o);
	if (!known)
		put_unknown(out, p);
}

int cilium_print(const struct cilium_payload *p, const struct cilium_print *o, struct buf *out)
{
	if (p->type == CILIUM_RECORD_SAMPLE) {
		put_payload(out, p, o);
		return buf_error(out);
	}
	if (p->type != CILIUM_RECORD_LOST)
		buf_printf(out, "Unknown payload type: %lld, ", (long long)p->type);
	return buf_printf(out, "CPU %02lld: Lost %llu events\n", (long long)p->cpu, (unsigned long long)p->lost);
}
