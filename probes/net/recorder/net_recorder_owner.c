// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/net/recorder/net_recorder_owner.h"

#include <bpf/bpf.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/macros.h"
#include "base/map.h"
#include "base/vec.h"
#include "packet/packet.h"
#include "probe/env.h"
#include "probe/probe.h"
#include "probes/net/net_wire.h"
#include "sonde/owner_wire.h"

/* A socket sends on a tuple. */
struct sent {
	struct sonde_tuple t;
	uint64_t ts_ns, cookie;
};

struct net_owners {
	const struct probe_select *select;
	uint32_t self;
	int owner_fd, tuple_fd, local_fd; /* of the environment; negative = missing */
	/* lint-ok(tables): answers of the kernel's own maps, for one dump */
	struct map owners;		  /* cookie -> struct sonde_owner, tgid 0 = none; cache of look-ups */
	VEC(struct sent) sent;		  /* by outgoing packets; in order once is_sorted */
	bool is_sorted;
};

struct net_owners *net_recorder_owner_new(struct probe *p)
{
	struct net_owners *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->select = probe_env_select(p->env, p->instance);
	o->self = (uint32_t)getpid();
	o->owner_fd = probe_env_shared_map(p->env, "sonde_sock_owner");
	o->tuple_fd = probe_env_shared_map(p->env, "sonde_senders");
	o->local_fd = probe_env_instance_map(p->env, p->instance, "inst_net_local");
	map_init(&o->owners, sizeof(uint64_t), sizeof(struct sonde_owner));
	return o;
}

void net_recorder_owner_free(struct net_owners *o)
{
	if (!o)
		return;
	map_fini(&o->owners);
	vec_fini(&o->sent);
	free(o);
}

/*
 * The packet's addresses seen from its sender, or from its receiver. False if it has no ports. *ret_syn: it begins a
 * connection.
 */
static bool tuple_of(const struct net_rec *r, bool receiver, struct sonde_tuple *ret, bool *ret_syn)
{
	const struct packet_flow *f;
	struct packet p;
	size_t n;

	packet_dissect(r->link, r->data, r->cap_len, r->orig_len, &p);
	f = &p.outer;
	if (!f->family || !f->has_ports)
		return false;
	n = f->family == SONDE_IPV4 ? 4 : 16;
	*ret_syn = f->proto == IPPROTO_TCP && (f->tcp_flags & (TH_SYN | TH_ACK)) == TH_SYN;
	*ret = (struct sonde_tuple){
		.netns = r->netns, .family = f->family, .proto = f->proto,
		.lport = receiver ? f->dport : f->sport, .rport = receiver ? f->sport : f->dport,
	};
	memcpy(ret->laddr, receiver ? f->daddr : f->saddr, n);
	memcpy(ret->raddr, receiver ? f->saddr : f->daddr, n);
	return true;
}

void net_recorder_owner_learn(struct net_owners *o, const struct net_rec *r)
{
	struct sent s = { .ts_ns = r->hdr.ts_ns, .cookie = r->id.sock };
	bool syn;

	if (r->dir != NET_DIR_OUT || !r->id.sock || !tuple_of(r, false, &s.t, &syn))
		return;
	vec_push(&o->sent, s); /* without memory the owner is missing */
}

static int compare(const void *a, const void *b)
{
	const struct sent *x = a, *y = b;

	return memcmp(&x->t, &y->t, sizeof(x->t)) ?: COMPARE(x->ts_ns, y->ts_ns);
}

/*
 * Cookie of the socket that sent on @t at that time: of the last packet before, else of the first one after. 0 =
 * unknown. A connection's first packet (@syn) belongs to what comes after: before was perhaps another connection.
 */
static uint64_t sender_at(struct net_owners *o, const struct sonde_tuple *t, uint64_t ts_ns, bool syn)
{
	const struct sent key = { .t = *t, .ts_ns = ts_ns }, *s = o->sent.items;
	size_t low;

	if (!o->is_sorted)
		vec_sort(&o->sent, compare);
	o->is_sorted = true;
	low = BISECT(i, o->sent.len, compare(&s[i], &key) <= 0);
	if (low && !syn && !memcmp(&s[low - 1].t, t, sizeof(*t)))
		return s[low - 1].cookie;
	return low < o->sent.len && !memcmp(&s[low].t, t, sizeof(*t)) ? s[low].cookie : 0;
}

struct found {
	uint64_t cookie;
	uint8_t how;	/* SONDE_HOW_* */
	bool foreign;	/* in another namespace than the packet */
};

struct end {
	struct found sock;
	struct sonde_owner proc; /* tgid 0 = unknown */
};

/* NULL = unknown. */
static const struct sonde_owner *owner_of(struct net_owners *o, uint64_t cookie)
{
	bool is_new;
	struct sonde_owner *row = map_add(&o->owners, &cookie, &is_new);

	if (!row)
		return NULL;
	if (is_new && bpf_map_lookup_elem(o->owner_fd, &cookie, row) < 0)
		*row = (struct sonde_owner){ 0 };
	return row->tgid ? row : NULL;
}

static bool query(const struct net_owners *o, const struct sonde_tuple *t, struct found *ret)
{
	struct sonde_sender s;

	if (bpf_map_lookup_elem(o->tuple_fd, t, &s) < 0 || s.group)
		return false;
	*ret = (struct found){ .cookie = s.cookie, .how = SONDE_HOW_TUPLE, .foreign = s.netns != t->netns };
	return s.cookie;
}

/* Packets to this address end in its namespace. */
static bool is_local(const struct net_owners *o, const struct sonde_tuple *t)
{
	struct net_addr key = { .netns = t->netns, .family = t->family };
	uint8_t one;

	memcpy(key.addr, t->laddr, sizeof(key.addr));
	return (t->family == SONDE_IPV4 && t->laddr[0] == 127) || bpf_map_lookup_elem(o->local_fd, &key, &one) == 0;
}

static bool has_ended(struct net_owners *o, uint64_t cookie)
{
	const struct sonde_owner *w = owner_of(o, cookie);

	return w && w->ended;
}

/* The socket at @t's local end, as in end_exact() and end_bound() of the kernel side. */
static bool find_socket(struct net_owners *o, const struct sonde_tuple *t, uint64_t ts_ns, bool syn,
			struct found *ret)
{
	const uint64_t sender = sender_at(o, t, ts_ns, syn);
	struct sonde_tuple bound = *t;
	bool found;

	if (sender) {
		*ret = (struct found){ .cookie = sender, .how = SONDE_HOW_TUPLE };
		return true;
	}
	if (query(o, t, ret) && !(syn && has_ended(o, ret->cookie)))
		return true;
	bound.rport = 0;
	memset(bound.raddr, 0, sizeof(bound.raddr));
	found = query(o, &bound, ret);
	memset(bound.laddr, 0, sizeof(bound.laddr));
	found = found || (is_local(o, t) && query(o, &bound, ret));
	ret->how = t->proto == IPPROTO_TCP ? SONDE_HOW_LISTENER : SONDE_HOW_LOOKUP;
	return found;
}

static bool selected(const struct net_owners *o, const struct sonde_owner *w)
{
	const struct probe_select *s = o->select;
	bool pid = !s->n_pids, comm = !s->n_comms, cgroup = !s->n_cgroups;

	if (!w)
		return pid && comm && cgroup;
	for (size_t i = 0; !pid && i < s->n_pids; i++)
		pid = s->pids[i] == w->tgid;
	for (size_t i = 0; !comm && i < s->n_comms; i++) /* the kernel keeps 15 bytes of a name */
		comm = !strncmp(s->comms[i], w->comm, sizeof(w->comm) - 1);
	for (size_t i = 0; !cgroup && i < s->n_cgroups; i++)
		cgroup = s->cgroups[i] == w->cgroup_id;
	return pid && comm && cgroup && w->tgid != o->self;
}

/* A packet carries its sender's socket, also behind a veth; the record of a drop has the receiver's. */
static struct end find_end(struct net_owners *o, const struct net_rec *r, bool receiver)
{
	struct end e = { .sock = { .how = SONDE_HOW_SKB, .foreign = r->dir == NET_DIR_IN } };
	const struct sonde_owner *w = NULL;
	struct sonde_tuple t;
	bool syn;

	if (receiver == (r->hdr.type == NET_EV_DROP) && r->id.sock) {
		e.sock.cookie = r->id.sock;
		w = owner_of(o, e.sock.cookie);
	}
	if (!w && tuple_of(r, receiver, &t, &syn) && find_socket(o, &t, r->hdr.ts_ns, syn, &e.sock))
		w = owner_of(o, e.sock.cookie);
	if (!w)
		return (struct end){ 0 };
	e.proc = *w;
	if (w->cookie != e.sock.cookie)
		e.sock.how = SONDE_HOW_LISTENER;
	return e;
}

static void set_owner(struct net_rec *r, const struct end *e)
{
	r->id.owner_how = e->sock.how;
	r->owner_foreign = e->sock.foreign;
	r->id.sock = e->sock.cookie;
	r->id.cgroup_id = e->proc.cgroup_id;
	r->id.image = e->proc.image;
	r->hdr.tgid = e->proc.tgid;
	r->hdr.start_ns = e->proc.start_ns;
}

static void set_peer(struct net_rec *r, const struct end *e)
{
	r->peer = (struct net_peer){
		.sock = e->sock.cookie, .how = e->sock.how, .foreign = e->sock.foreign,
		.tgid = e->proc.tgid, .start_ns = e->proc.start_ns,
	};
	memcpy(r->peer.comm, e->proc.comm, sizeof(r->peer.comm));
}

bool net_recorder_owner_find(struct net_owners *o, struct net_rec *r)
{
	const struct end sender = find_end(o, r, false), receiver = find_end(o, r, true);
	/* the local end takes precedence; a drop belongs to the receiver */
	bool out = !receiver.proc.tgid || (r->dir == NET_DIR_OUT && sender.proc.tgid);
	const struct end *owner = out ? &sender : &receiver;

	if (!owner->proc.tgid)
		return selected(o, NULL);
	r->owner_end = out ? NET_END_SENDER : NET_END_RECEIVER;
	set_owner(r, owner);
	set_peer(r, out ? &receiver : &sender);
	return selected(o, &owner->proc);
}
