// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The live half of the net probe: selects hooks and namespaces, and provides the names that its records need.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "loop/coop.h"
#include "base/err.h"
#include "loop/loop.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "event/names.h"
#include "probe/env.h"
#include "probe/probe.h"
#include "probes/net/net.h"
#include "probes/net/net_check.h"
#include "probes/net/count/net_count.h"
#include "probes/net/dns/net_dns.h"
#include "probes/net/dns/net_dns_wire.h"
#include "probes/net/recorder/net_recorder.h"
#include "probes/net/recorder/net_recorder_wire.h"
#include "probes/net/datapath/net_map.h"
#include "probes/net/mib/net_mib.h"
#include "probes/net/net_names.h"
#include "probes/net/net_ns.h"
#include "probes/net/policy/net_policy.h"
#include "probes/net/net_setup.h"
#include "probes/net/owner/net_sock.h"
#include "probes/net/packet/net_netns.h"
#include "probes/net/drop/net_drop.h"
#include "probes/net/drop/net_xdp.h"
#include "probes/net/flow/net_redirect.h"
#include "probes/net/owner/net_sender_tuples.h"
#include "probes/net/refused/net_refused.h"
#include "probes/net/net_wire.h"

struct net_state {
	struct net_setup setup;
	struct net_drop *drop;
	struct net_sender_tuples *feed;
	struct net_xdp *xdp;
	struct net_redirect *redirect;
	struct net_refused *refused;
	struct net_counts *counts;
	struct net_mib_reader *mib;
	struct net_map *map;
	struct net_sock *sock;
	VEC(struct net_netns *) spaces; /* namespaces with tc programs, owned */
	struct net_names names;
	struct net_dns dns;
	struct net_recorder *keep; /* NULL = packets are reported as they come */
	struct net_policy *policy; /* as above */
};

static bool wants(const struct net_state *st, unsigned kind)
{
	return st->setup.kinds & 1u << kind;
}

/* Reports a hook that cannot be used; the others continue. */
static void hook_failed(struct probe *p, const char *hook, const struct err *err)
{
	probe_env_hook_failed(p->env, p->instance, hook, err);
}

/* ---- open ---- */

static bool is_watched(const struct net_state *st, const char *text)
{
	_cleanup_close_ int fd = net_ns_open(text, NULL);
	uint32_t inode = fd < 0 ? 0 : net_ns_inode(fd);

	for (size_t i = 0; inode && i < st->spaces.len; i++)
		if (net_netns_inode(st->spaces.items[i]) == inode)
			return true;
	return false;
}

static int add_space(struct probe *p, const char *text, struct err *err)
{
	struct net_state *st = p->state;
	struct net_netns *s;
	int r;

	if (is_watched(st, text)) /* two arguments for one namespace */
		return 0;
	if (vec_grow(&st->spaces) < 0)
		return err_errno(err, -ENOMEM, "cannot watch a network namespace");
	r = net_netns_open(p, &st->setup, &st->names, st->keep, st->policy, text, &s, err);
	if (r >= 0)
		st->spaces.items[st->spaces.len++] = s;
	return r;
}

/* Programs that do not load in one namespace; the first error counts. */
static void space_failed(struct err *first, const char *text, const struct err *err)
{
	if (first->code)
		return;
	*first = *err;
	if (text)
		err_prefix(first, "%s", text);
}

/* A namespace may end before it is opened. */
static void add_all_spaces(struct probe *p, struct err *failed)
{
	_cleanup_free_ uint32_t *inodes = NULL;
	size_t n = 0;

	if (net_ns_all(&inodes, &n) < 0)
		return;
	for (size_t i = 0; i < n; i++) {
		struct err e = { 0 };
		char text[16];
		int r;

		snprintf(text, sizeof(text), "%u", inodes[i]);
		r = add_space(p, text, &e);
		if (r < 0 && r != -EINVAL)
			space_failed(failed, text, &e);
	}
}

/* A missing namespace is the user's error; programs that do not load are the kernel's. */
static int add_word(struct probe *p, const char *text, struct err *failed, struct err *err)
{
	struct err e = { 0 };
	int r = 0;

	if (text && !strcmp(text, NET_NS_ALL))
		add_all_spaces(p, failed);
	else
		r = add_space(p, text, &e);
	if (r == -EINVAL && text) {
		*err = e;
		return r;
	}
	if (r < 0)
		space_failed(failed, text, &e);
	return 0;
}

static int open_spaces(struct probe *p, struct err *err)
{
	const struct net_conf *c = p->conf;
	_cleanup_(net_ns_words_fini) struct net_ns_words words = { 0 };
	struct net_state *st = p->state;
	struct err failed = { 0 };
	int r = c->netns ? net_ns_globs(c->netns, &words, err) : 0;

	for (size_t i = 0; r >= 0 && i < words.len; i++)
		r = add_word(p, words.items[i], &failed, err);
	if (r >= 0 && !words.len)
		r = add_word(p, NULL, &failed, err);
	if (failed.code)
		hook_failed(p, st->spaces.len ? NET_HOOK_SOME : NET_HOOK_PACKETS, &failed);
	st->setup.n_spaces = st->spaces.len;
	return r;
}

static void open_drops(struct probe *p)
{
	struct net_state *st = p->state;
	bool fed_by_tc = st->spaces.len == 1 && !st->setup.flows && !st->setup.silent;
	uint32_t fed = fed_by_tc ? net_netns_inode(st->spaces.items[0]) : 0;
	struct err e = { 0 };

	if (net_drop_open(p, &st->setup, &st->drop, &e) < 0) {
		hook_failed(p, NET_HOOK_DROPS, &e);
		return;
	}
	/* the feed costs every packet of the host; a recorder should cost nothing until a dump */
	if (!st->keep &&
	    net_sender_tuples_open(p, &st->setup, fed, st->setup.flows && !st->redirect, &st->feed, &e) < 0)
		hook_failed(p, "senders of other namespaces (net_dev_queue)", &e);
}

/* Drops and redirections update the flows they concern; without this they are separate events only. */
static void open_turns(struct probe *p)
{
	struct net_state *st = p->state;
	struct err e = { 0 };

	for (size_t i = 0; i < st->spaces.len; i++) {
		uint32_t netns = net_netns_inode(st->spaces.items[i]);
		int fd = net_netns_flows(st->spaces.items[i]);

		if (fd < 0 || ((!st->drop || net_drop_flows(st->drop, netns, fd) >= 0) &&
			       (!st->feed || net_sender_tuples_flows(st->feed, netns, fd) >= 0) &&
			       (!st->redirect || net_redirect_flows(st->redirect, netns, fd) >= 0)))
			continue;
		err_errno(&e, -errno, "cannot pass the flow tables to the kernel");
		hook_failed(p, "drops and redirections of flows", &e);
	}
}

/* Counters of a namespace say nothing about selected packets or processes. */
static bool narrows(const struct probe *p)
{
	const struct probe_select *sel = probe_env_select(p->env, p->instance);
	const struct net_conf *c = p->conf;

	return c->filter || c->iface.len || c->from.len || c->to.len || c->related.len || sel->n_pids ||
	       sel->n_comms || sel->n_cgroups || sel->n_tree;
}

/* A missing namespace is the user's error. */
static int open_losses(struct probe *p, struct err *err)
{
	const struct net_conf *c = p->conf;
	struct net_state *st = p->state;
	struct err e = { 0 };
	int r;

	if (!(c->kinds & NET_WANT_MIB) && (!c->losses || narrows(p)))
		return 0;
	r = net_mib_open(p, c->netns, &st->names, &st->mib, &e);
	if (r == -EINVAL) {
		*err = e;
		return r;
	}
	if (r < 0)
		hook_failed(p, "counters of losses", &e);
	return 0;
}

static int net_open(struct probe *p, struct err *err)
{
	struct net_state *st = p->state;
	struct err e = { 0 };
	int r;

	net_names_init(&st->names, p->env);
	net_dns_init(&st->dns, p->env);
	r = net_setup_init(&st->setup, p->conf, err);
	if (r >= 0 && ((const struct net_conf *)p->conf)->map.path)
		return net_map_open(p, &st->names, &st->map, err);
	if (r >= 0 && net_count_foreign(&((const struct net_conf *)p->conf)->count))
		return net_count_open(p, &st->names, &st->counts, err);
	if (r >= 0 && ((const struct net_conf *)p->conf)->keep.keep_ns)
		r = net_recorder_new(p, &st->setup, &st->keep, err);
	if (r >= 0 && ((const struct net_conf *)p->conf)->policy.text)
		r = net_policy_open(p, &st->setup, &st->policy, err);
	if (r >= 0 && (wants(st, NET_KIND_TRACE) || st->setup.flows))
		r = open_spaces(p, err);
	if (r < 0)
		return r;
	if (st->setup.flows && net_redirect_open(p, &st->setup, &st->redirect, &e) < 0)
		st->redirect = NULL;	/* the feed sees most of them */
	if (wants(st, NET_KIND_DROP))
		open_drops(p);
	if (st->setup.flows)
		open_turns(p);
	if (wants(st, NET_KIND_XDP) && net_xdp_open(p, &st->setup, &st->xdp, &e) < 0)
		hook_failed(p, "XDP exceptions", &e);
	if (wants(st, NET_KIND_REFUSED) && net_refused_open(p, &st->setup, &st->refused, &e) < 0)
		hook_failed(p, "refused connections", &e);
	if (st->setup.kinds & NET_WANT_SOCK && net_sock_open(p, &st->setup, &st->sock, &e) < 0)
		hook_failed(p, "addresses of sockets", &e);
	r = open_losses(p, err);
	if (r < 0)
		return r;
	if (!st->spaces.len && !st->drop && !st->xdp && !st->refused && !st->sock && !st->mib)
		return err_set(err, -EOPNOTSUPP, "none of the hooks for packets works here; `sonde doctor` says why");
	return st->setup.counting ? net_count_open(p, &st->names, &st->counts, err) : 0;
}

/* ---- attach ---- */

static int inject_names(struct probe *p)
{
	int r = net_drop_names(p->env);

	if (r >= 0)
		r = net_xdp_names(p->env);
	return r < 0 ? r : net_names_home(&((struct net_state *)p->state)->names);
}

enum { FEED, DROP, REDIRECT, XDP, REFUSED, TRACES };

/* The kernel patches its code and waits for all CPUs: the loop continues. */
static void attach_aside(struct probe *p)
{
	static const char *const hooks[TRACES] = {
		[FEED] = "senders of other namespaces (net_dev_queue)",
		[DROP] = NET_HOOK_DROPS,
		[REDIRECT] = "redirections",
		[XDP] = "XDP exceptions",
		[REFUSED] = "refused connections",
	};
	struct coop *coop = probe_env_coop(p->env);
	const struct net_state *st = p->state;
	struct err e[TRACES] = { 0 };
	bool left = coop_leave(coop);
	const int r[TRACES] = {
		[FEED] = st->feed ? net_sender_tuples_attach(st->feed, &e[FEED]) : 0,
		[DROP] = st->drop ? net_drop_attach(st->drop, &e[DROP]) : 0,
		[REDIRECT] = st->redirect ? net_redirect_attach(st->redirect, &e[REDIRECT]) : 0,
		[XDP] = st->xdp ? net_xdp_attach(st->xdp, &e[XDP]) : 0,
		[REFUSED] = st->refused ? net_refused_attach(st->refused, &e[REFUSED]) : 0,
	};

	coop_return(coop, left);
	for (int i = 0; i < TRACES; i++)
		if (r[i] < 0)
			hook_failed(p, hooks[i], &e[i]);
}

static void attach_traces(struct probe *p)
{
	struct net_state *st = p->state;
	struct err e = { 0 };

	attach_aside(p);
	if (st->sock && net_sock_attach(st->sock, &e) < 0)
		hook_failed(p, "addresses of sockets", &e);
}

/* Each interface that refuses has been reported. */
static void check_watched(struct probe *p)
{
	const struct net_state *st = p->state;
	struct err e = { 0 };

	for (size_t i = 0; i < st->spaces.len; i++)
		if (!net_netns_refused(st->spaces.items[i]))
			return;
	err_set(&e, -EOPNOTSUPP, "no interface accepts its programs");
	if (st->spaces.len)
		hook_failed(p, NET_HOOK_PACKETS, &e);
}

/* A name without wildcards and without an interface is more often a typing error than meant for later. */
static int check_ifaces(const struct net_state *st, struct err *err)
{
	for (size_t i = 0; st->spaces.len && i < st->setup.ifaces.len; i++) {
		const char *want = st->setup.ifaces.items[i];
		bool found = strpbrk(want, "*?[") != NULL;

		for (size_t k = 0; k < st->spaces.len && !found; k++)
			found = net_netns_has(st->spaces.items[k], want);
		if (!found && !strcmp(want, "any"))
			return err_set(err, -EINVAL,
				       "--interface any: interface not found (without --interface all are watched)");
		if (!found)
			return err_set(err, -EINVAL,
				       "--interface %s: interface not found "
				       "(a pattern such as '%s*' also waits for later ones)",
				       want, want);
	}
	return 0;
}

static int net_attach(struct probe *p, struct err *err)
{
	struct net_state *st = p->state;
	int r = inject_names(p);

	if (st->map)
		return net_map_attach(st->map, err);
	if (r < 0)
		return err_errno(err, r, "cannot put names into the stream");
	for (size_t i = 0; i < st->spaces.len; i++) {
		r = net_netns_start(st->spaces.items[i], err);
		if (r < 0)
			return r;
	}
	r = check_ifaces(st, err);
	if (r < 0)
		return r;
	check_watched(p);
	attach_traces(p);
	if (st->mib)
		net_mib_start(st->mib);
	return st->counts ? net_count_start(st->counts, err) : 0;
}

/* ---- while it runs ---- */

static int net_control(struct probe *p, const struct sonde_rec *r)
{
	struct net_state *st = p->state;

	if (st->keep)
		net_recorder_record(st->keep, r);
	if (r->type == NET_EV_DNS)
		return net_dns_record(&st->dns, r);
	return net_names_record(&st->names, r);
}

static int net_tick(struct probe *p, uint64_t now_ns)
{
	struct net_state *st = p->state;

	if (st->map)
		net_map_tick(st->map);
	for (size_t i = 0; i < st->spaces.len; i++)
		net_netns_tick(st->spaces.items[i]);
	if (st->keep)
		net_recorder_tick(st->keep);
	if (st->mib)
		net_mib_emit(st->mib);
	return net_dns_tick(&st->dns, now_ns);
}

/* Packets and drops; tables of flows and counters need them all. */
static int net_sample(struct probe *p, uint32_t one_in, char *ret_what, size_t size)
{
	const int fd = probe_env_instance_map(p->env, p->instance, "inst_net_one_in");
	const struct net_state *st = p->state;
	const uint32_t zero = 0;

	if (fd < 0 || st->setup.silent || st->setup.flows || bpf_map_update_elem(fd, &zero, &one_in, BPF_ANY) < 0)
		return -ENOTSUP;
	if (one_in > 1)
		snprintf(ret_what, size, "recording 1 of %u packets and drops", one_in);
	else
		snprintf(ret_what, size, "recording all packets and drops again");
	return 0;
}

static int net_raw(struct probe *p, const struct ring_rec *r)
{
	struct net_state *st = p->state;

	return st->map ? net_map_raw(st->map, r) : 0;
}

static void detach_aside(struct probe *p)
{
	struct coop *coop = probe_env_coop(p->env);
	const struct net_state *st = p->state;
	bool left = coop_leave(coop);

	if (st->drop)
		net_drop_detach(st->drop);
	if (st->redirect)
		net_redirect_detach(st->redirect);
	if (st->xdp)
		net_xdp_detach(st->xdp);
	if (st->refused)
		net_refused_detach(st->refused);
	coop_return(coop, left);
}

static void net_detach(struct probe *p)
{
	struct net_state *st = p->state;

	for (size_t i = 0; i < st->spaces.len; i++)
		net_netns_stop(st->spaces.items[i]);
	if (st->map)
		net_map_detach(st->map);
	detach_aside(p);
	if (st->sock)
		net_sock_detach(st->sock);
}

static void net_finish(struct probe *p)
{
	struct net_state *st = p->state;

	for (size_t i = 0; i < st->spaces.len; i++)
		net_netns_finish(st->spaces.items[i]);
	if (st->counts)
		net_count_emit(st->counts);
	if (st->refused)
		net_refused_emit(st->refused);
	if (st->mib)
		net_mib_emit(st->mib);
	if (st->keep)
		net_recorder_end(st->keep);
}

static void net_close(struct probe *p)
{
	struct net_state *st = p->state;

	net_count_close(st->counts);
	net_mib_close(st->mib);
	net_map_close(st->map);
	net_sock_close(st->sock);
	for (size_t i = 0; i < st->spaces.len; i++)
		net_netns_close(st->spaces.items[i]);
	vec_fini(&st->spaces);
	net_recorder_free(st->keep);
	net_policy_close(st->policy);
	net_sender_tuples_close(st->feed);
	net_drop_close(st->drop);
	net_redirect_close(st->redirect);
	net_xdp_close(st->xdp);
	net_refused_close(st->refused);
	net_names_fini(&st->names);
	net_dns_fini(&st->dns);
	net_setup_fini(&st->setup);
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
	struct net_state *st = p->state;
	struct sonde_rec rec = { 0 };
	int r;

	if (!strcmp(verb, "rules") && st->policy && args->len == 1)
		return net_policy_replace(st->policy, args->items[0], err);
	if (strcmp(verb, "dump"))
		return err_set(err, -ENOTSUP, "probe net knows no '%s', only 'dump'", verb);
	if (!st->keep)
		return err_set(err, -ENOENT, "the recorder is off (sonde capture --keep)");
	trigger_from(args, &t, &rec);
	r = net_recorder_trigger(st->keep, &t);
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
