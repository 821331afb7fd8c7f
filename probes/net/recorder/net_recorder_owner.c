// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/net/recorder/net_recorder_owner.h"

#include <bpf/bpf.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "packet/packet.h"
#include "probe/env.h"
#include "probe/probe.h"
#include "probes/net/net_wire.h"
#include "sonde/owner_wire.h"

struct net_owners {
	const struct probe_select *select;
	uint32_t self;
	int owner_fd, tuple_fd, local_fd; /* of the environment; negative = missing */
	/* lint-ok(tables): answers of the kernel's own maps, for one dump */
	struct map owners;		  /* cookie -> struct sonde_owner, tgid 0 = none; cache of look-ups */
	struct map senders;		  /* struct sonde_tuple of outgoing packets -> cookie */
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
	map_init(&o->senders, sizeof(struct sonde_tuple), sizeof(uint64_t));
	return o;
}

void net_recorder_owner_free(struct net_owners *o)
{
	if (!o)
		return;
	map_fini(&o->owners);
	map_fini(&o->senders);
	free(o);
}

/* The packet's addresses seen from its sender, or from its receiver. False if it has no ports. */
static bool tuple_of(const struct net_rec *r, bool receiver, struct sonde_tuple *ret)
{
	const struct packet_flow *f;
	struct packet p;
	size_t n;

	packet_dissect(r->link, r->data, r->cap_len, r->orig_len, &p);
	f = &p.outer;
	if (!f->family || !f->has_ports)
		return false;
	n = f->family == 4 ? 4 : 16;
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
	struct sonde_tuple t;
	uint64_t *cookie;

	if (r->dir != NET_DIR_OUT || !r->id.sock || !tuple_of(r, false, &t))
		return;
	cookie = map_add(&o->senders, &t, NULL);
	if (cookie) /* without memory the owner is missing */
		*cookie = r->id.sock;
}

struct found {
	uint64_t cookie;
	uint8_t how;	/* SONDE_HOW_* */
	bool foreign;	/* in another namespace than the packet */
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
	return (t->family == 4 && t->laddr[0] == 127) || bpf_map_lookup_elem(o->local_fd, &key, &one) == 0;
}

/* The socket at @t's local end, as in end_exact() and end_bound() of the kernel side. */
static bool find_socket(struct net_owners *o, const struct sonde_tuple *t, struct found *ret)
{
	const uint64_t *sender = map_find(&o->senders, t);
	struct sonde_tuple bound = *t;
	bool found;

	if (sender) {
		*ret = (struct found){ .cookie = *sender, .how = SONDE_HOW_TUPLE };
		return true;
	}
	if (query(o, t, ret))
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

bool net_recorder_owner_find(struct net_owners *o, struct net_rec *r)
{
	struct found f = { .cookie = r->id.sock, .how = SONDE_HOW_SKB };
	const struct sonde_owner *w = f.cookie ? owner_of(o, f.cookie) : NULL;
	bool receiver = r->dir != NET_DIR_OUT; /* the local end takes precedence; a drop belongs to the receiver */
	uint8_t end = NET_END_SENDER;
	struct sonde_tuple t;

	for (int i = 0; !w && i < 2; i++, receiver = !receiver) {
		if (!tuple_of(r, receiver, &t))
			break;
		end = receiver ? NET_END_RECEIVER : NET_END_SENDER;
		w = find_socket(o, &t, &f) ? owner_of(o, f.cookie) : NULL;
	}
	if (!w)
		return selected(o, NULL);
	r->id.owner_how = w->cookie != f.cookie ? SONDE_HOW_LISTENER : f.how;
	r->owner_end = end;
	r->owner_foreign = f.foreign;
	r->id.sock = f.cookie;
	r->id.cgroup_id = w->cgroup_id;
	r->id.image = w->image;
	r->hdr.tgid = w->tgid;
	r->hdr.start_ns = w->start_ns;
	return selected(o, w);
}
