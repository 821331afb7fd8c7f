// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The live half of the net probe: selects hooks and namespaces, and provides the names that its records need.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "loop/coop.h"
#include "probe/env.h"
#include "probe/probe.h"
#include "probes/net/count/net_count.h"
#include "probes/net/datapath/net_map.h"
#include "probes/net/dns/net_dns.h"
#include "probes/net/dns/net_dns_wire.h"
#include "probes/net/drop/net_drop.h"
#include "probes/net/drop/net_xdp.h"
#include "probes/net/net_conf.h"
#include "probes/net/net_check.h"
#include "probes/net/net_part.h"
#include "probes/net/owner/net_sock.h"
#include "probes/net/packet/net_spaces.h"
#include "probes/net/policy/net_policy.h"
#include "probes/net/recorder/net_recorder.h"
#include "probes/net/recorder/net_recorder_wire.h"

struct net_state {
	struct net_parts all;
	struct net_dns dns;
};

static const struct row {
	const struct net_part *ops;
	unsigned kinds;		/* 1u << NET_KIND_*, NET_WANT_*: it sees these */
	const char *hook;	/* reported if it does not work, and the run goes on; NULL = the run ends */
	bool aside;		/* the kernel patches its code and waits for all CPUs: the loop continues */
	bool optional;		/* it need not open: the feed of senders sees most of it */
} rows[NET_PART__MAX] = {
	[NET_PART_RECORDER] = { &net_recorder_part },
	[NET_PART_POLICY] = { &net_policy_part },
	[NET_PART_MAP] = { &net_map_part },
	[NET_PART_SPACES] = { &net_spaces_part, 1u << NET_KIND_TRACE },
	[NET_PART_REDIRECT] = { &net_redirect_part, .hook = "redirections", .aside = true, .optional = true },
	[NET_PART_SENDERS] = { &net_sender_tuples_part, .hook = "senders of other namespaces (net_dev_queue)",
			       .aside = true },
	[NET_PART_DROP] = { &net_drop_part, 1u << NET_KIND_DROP, NET_HOOK_DROPS, .aside = true },
	[NET_PART_XDP] = { &net_xdp_part, 1u << NET_KIND_XDP, "XDP exceptions", .aside = true },
	[NET_PART_COUNT] = { &net_count_part },
	[NET_PART_REFUSED] = { &net_refused_part, 1u << NET_KIND_REFUSED, "refused connections", .aside = true },
	[NET_PART_SOCK] = { &net_sock_part, NET_WANT_SOCK, "addresses of sockets" },
	[NET_PART_MIB] = { &net_mib_part, NET_WANT_MIB },
};

/* Reports a hook that cannot be used; the others continue. */
static void hook_failed(struct probe *p, const char *hook, const struct err *err)
{
	probe_env_hook_failed(p->env, p->instance, hook, err);
}

/* ---- open ---- */

/* Counters of a namespace say nothing about selected packets or processes. */
static bool narrows(const struct probe *p)
{
	const struct probe_select *sel = probe_env_select(p->env, p->instance);
	const struct net_conf *c = p->conf;

	return c->filter || c->iface.len || c->from.len || c->to.len || c->related.len || sel->n_pids ||
	       sel->n_comms || sel->n_cgroups || sel->n_tree;
}

/* 1u << NET_PART_* */
static unsigned needed(const struct probe *p, const struct net_setup *s)
{
	const struct net_conf *c = p->conf;
	unsigned on = 0;

	if (c->map.path)
		return 1u << NET_PART_MAP;
	if (net_count_foreign(&c->count))
		return 1u << NET_PART_COUNT;
	for (int i = 0; i < NET_PART__MAX; i++)
		on |= (s->kinds & rows[i].kinds) != 0 ? 1u << i : 0;
	if (s->flows)
		on |= 1u << NET_PART_SPACES | 1u << NET_PART_REDIRECT;
	if (c->keep.keep_ns)
		on |= 1u << NET_PART_RECORDER;
	else if (s->kinds & 1u << NET_KIND_DROP) /* it costs each packet of the host: too much for a recorder */
		on |= 1u << NET_PART_SENDERS;
	if (c->policy.text)
		on |= 1u << NET_PART_POLICY;
	if (s->counting)
		on |= 1u << NET_PART_COUNT;
	if (c->losses && !narrows(p))
		on |= 1u << NET_PART_MIB;
	return on;
}

static int open_part(struct net_parts *all, enum net_part_id id, struct err *err)
{
	const struct row *row = &rows[id];
	struct err e = { 0 };
	int r = row->ops->open(all, &all->part[id], row->hook ? &e : err);

	if (r >= 0 || !row->hook)
		return r;
	if (!row->optional)
		hook_failed(all->p, row->hook, &e);
	return 0;
}

static void close_part(struct net_parts *all, enum net_part_id id)
{
	rows[id].ops->close(TAKE_PTR(all->part[id]));
}

/* Nothing that could see something works here. */
static bool is_blind(const struct net_parts *all, unsigned on)
{
	for (int i = 0; i < NET_PART__MAX; i++)
		if (rows[i].kinds && all->part[i])
			return false;
	return !(on & 1u << NET_PART_MAP) && !net_count_foreign(&((const struct net_conf *)all->p->conf)->count);
}

static int net_open(struct probe *p, struct err *err)
{
	struct net_state *st = p->state;
	struct net_parts *all = &st->all;
	unsigned on;
	int r;

	all->p = p;
	net_names_init(&all->names, p->env);
	net_dns_init(&st->dns, p->env);
	r = net_setup_init(&all->setup, p->conf, err);
	on = needed(p, &all->setup);
	for (int i = 0; r >= 0 && i < NET_PART__MAX; i++)
		if (on & 1u << i)
			r = open_part(all, i, err);
	if (r < 0)
		return r;
	if (!all->part[NET_PART_DROP])
		close_part(all, NET_PART_SENDERS);
	if (is_blind(all, on))
		return err_set(err, -EOPNOTSUPP, "none of the hooks for packets works here; `sonde doctor` says why");
	return 0;
}

/* ---- attach ---- */

static int inject_names(struct probe *p)
{
	int r = net_drop_names(p->env);

	if (r >= 0)
		r = net_xdp_names(p->env);
	return r < 0 ? r : net_names_home(&((struct net_state *)p->state)->all.names);
}

static int attach_part(const struct net_parts *all, enum net_part_id id, struct err *err)
{
	struct coop *coop = probe_env_coop(all->p->env);
	const struct row *row = &rows[id];
	struct err e = { 0 };
	const bool left = row->aside && coop_leave(coop);
	const int r = row->ops->attach(all->part[id], row->hook ? &e : err);

	coop_return(coop, left);
	if (r < 0 && row->hook)
		hook_failed(all->p, row->hook, &e);
	return row->hook ? 0 : r;
}

static int net_attach(struct probe *p, struct err *err)
{
	const struct net_parts *all = &((struct net_state *)p->state)->all;
	int r = inject_names(p);

	if (r < 0)
		return err_errno(err, r, "cannot put names into the stream");
	for (int i = 0; r >= 0 && i < NET_PART__MAX; i++)
		if (all->part[i] && rows[i].ops->attach)
			r = attach_part(all, i, err);
	return r;
}

/* ---- while it runs ---- */

static int net_control(struct probe *p, const struct sonde_rec *r)
{
	struct net_state *st = p->state;

	if (st->all.part[NET_PART_RECORDER])
		net_recorder_record(st->all.part[NET_PART_RECORDER], r);
	if (r->type == NET_EV_DNS)
		return net_dns_record(&st->dns, r);
	return net_names_record(&st->all.names, r);
}

static int net_tick(struct probe *p, uint64_t now_ns)
{
	struct net_state *st = p->state;

	for (int i = 0; i < NET_PART__MAX; i++)
		if (st->all.part[i] && rows[i].ops->tick)
			rows[i].ops->tick(st->all.part[i]);
	return net_dns_tick(&st->dns, now_ns);
}

/* Packets and drops; tables of flows and counters need them all. */
static int net_sample(struct probe *p, uint32_t one_in, char *ret_what, size_t size)
{
	const int fd = probe_env_instance_map(p->env, p->instance, "inst_net_one_in");
	const struct net_setup *s = &((const struct net_state *)p->state)->all.setup;
	const uint32_t zero = 0;

	if (fd < 0 || s->silent || s->flows || bpf_map_update_elem(fd, &zero, &one_in, BPF_ANY) < 0)
		return -ENOTSUP;
	if (one_in > 1)
		snprintf(ret_what, size, "recording 1 of %u packets and drops", one_in);
	else
		snprintf(ret_what, size, "recording all packets and drops again");
	return 0;
}

static int net_raw(struct probe *p, const struct ring_rec *r)
{
	struct net_map *map = ((struct net_state *)p->state)->all.part[NET_PART_MAP];

	return map ? net_map_raw(map, r) : 0;
}

static void net_detach(struct probe *p)
{
	const struct net_parts *all = &((struct net_state *)p->state)->all;
	struct coop *coop = probe_env_coop(p->env);

	for (int i = 0; i < NET_PART__MAX; i++) {
		bool left;

		if (!all->part[i] || !rows[i].ops->detach)
			continue;
		left = rows[i].aside && coop_leave(coop);
		rows[i].ops->detach(all->part[i]);
		coop_return(coop, left);
	}
}

static void net_finish(struct probe *p)
{
	const struct net_parts *all = &((struct net_state *)p->state)->all;

	for (int i = 0; i < NET_PART__MAX; i++)
		if (all->part[i] && rows[i].ops->finish)
			rows[i].ops->finish(all->part[i]);
}

static void net_close(struct probe *p)
{
	struct net_state *st = p->state;

	for (int i = NET_PART__MAX; i-- > 0;)
		close_part(&st->all, i);
	net_names_fini(&st->all.names);
	net_dns_fini(&st->dns);
	net_setup_fini(&st->all.setup);
	memset(st, 0, sizeof(*st));
}

/* Parses the arguments of a trigger: "on=EXPR", and the record by "at=NS", "type=", "cpu=", "instance=". */
static void trigger_from(const struct opt_strv *args, struct net_recorder_trigger *t, struct sonde_rec *rec)
{
	for (size_t i = 0; i < args->len; i++) {
		const char *eq = strchr(args->items[i], '='), *key = args->items[i];
		size_t len = eq ? (size_t)(eq - key) : 0;
		uint64_t n = 0;

		if (len == 2 && !strncmp(key, "on", len)) {
			t->on = eq + 1;
			t->by = NET_RECORDER_DUMP_EVENT;
			continue;
		}
		if (!eq || str_to_u64(eq + 1, 10, &n) < 0)
			continue;
		if (!strncmp(key, "at=", 3))
			rec->ts_ns = t->ts_ns = n;
		else if (!strncmp(key, "type=", 5))
			rec->type = (uint16_t)n;
		else if (!strncmp(key, "cpu=", 4))
			rec->cpu = (uint16_t)n;
		else if (!strncmp(key, "instance=", 9))
			rec->instance = (uint16_t)n;
		else if (!strncmp(key, "signal=", 7))
			t->by = NET_RECORDER_DUMP_SIGNAL;
	}
	t->rec = rec->type ? rec : NULL;
}

static int net_call(struct probe *p, const char *verb, const struct opt_strv *args, struct err *err)
{
	struct net_recorder_trigger t = { .ts_ns = clock_boot_ns(), .by = NET_RECORDER_DUMP_COMMAND };
	const struct net_parts *all = &((struct net_state *)p->state)->all;
	struct sonde_rec rec = { 0 };
	int r;

	if (!strcmp(verb, "rules") && all->part[NET_PART_POLICY] && args->len == 1)
		return net_policy_replace(all->part[NET_PART_POLICY], args->items[0], err);
	if (strcmp(verb, "dump"))
		return err_set(err, -ENOTSUP, "probe net knows no '%s', only 'dump'", verb);
	if (!all->part[NET_PART_RECORDER])
		return err_set(err, -ENOENT, "the recorder is off (sonde capture --keep)");
	trigger_from(args, &t, &rec);
	r = net_recorder_trigger(all->part[NET_PART_RECORDER], &t);
	return r < 0 ? err_errno(err, r, "cannot make a dump") : 0;
}

extern const struct decoder_ops net_decoder;

extern const struct probe_ops net_probe;
const struct probe_ops net_probe = {
	.name = "net",
	.summary = "packets and drops of the network stack, with their owners",
	.wants_owners = true,
	.decoder = &net_decoder,
	.opts = net_conf_opts,
	.conf_base = &net_conf_default,
	.command_opts = net_conf_command_opts,
	.conf_init = net_conf_init,
	.conf_fini = net_conf_fini,
	.conf_size = sizeof(struct net_conf),
	.state_size = sizeof(struct net_state),
	.check = net_check,
	.open = net_open,
	.attach = net_attach,
	.control = net_control,
	.raw = net_raw,
	.tick = net_tick,
	.sample = net_sample,
	.call = net_call,
	.detach = net_detach,
	.finish = net_finish,
	.close = net_close,
};
