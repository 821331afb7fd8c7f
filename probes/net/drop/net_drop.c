// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Loads the drop programs. The meaning of a reason's number, the reasons that are not drops, and the number of
 * arguments of the tracepoint all come from the running kernel's BTF: numbers change between releases.
 */
#include "probes/net/drop/net_drop.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "loop/coop.h"
#include "base/err.h"
#include "base/macros.h"
#include "pktfilter/frags.h"
#include "probe/env.h"
#include "probe/probe.h"
#include "probes/net/net_part.h"
#include "probes/net/packet/net_spaces.h"

#include "net_drop.skel.h"

struct net_drop {
	struct net_drop_bpf *skel;
	struct bpf_program *prog; /* the loaded one */
	struct bpf_link *link;
};

DEFINE_CLEANUP(struct btf *, btf__free)

/*
 * Reasons of frees without loss: delivered packets, queues of a closing socket. A reason whose name the kernel lacks
 * does not occur.
 */
static const char *const normal_reasons[] = {
	"SKB_NOT_DROPPED_YET", "SKB_CONSUMED", "SKB_DROP_REASON_SOCKET_CLOSE", "SKB_DROP_REASON_QUEUE_PURGE",
	"SKB_DROP_REASON_UNIX_DISCONNECT", "SKB_DROP_REASON_UNIX_SKIP_OOB",
};

/* Functions whose frees lose nothing: closing sockets, and test runs of programs. */
static const char *const normal_frees[] = {
	"skb_queue_purge",	"inet_sock_destruct",	 "udp_destruct_common",	  "udp_destruct_sock",
	"udpv6_destruct_sock",	"tcp_write_queue_purge", "sk_stream_kill_queues", "skb_rbtree_purge",
	"packet_sock_destruct", "sk_error_queue_purge",	 "bpf_prog_test_run_skb",
};

/* Enums of drop reasons; those of subsystems are in their modules and number from 65536 up. */
static const struct reason_enum { const char *module, *name, *prefix; } reason_enums[] = {
	{ NULL, "skb_drop_reason", "SKB_DROP_REASON_" },
	{ "mac80211", "mac80211_drop_reason", "RX_DROP_" },
	{ "openvswitch", "ovs_drop_reason", "OVS_DROP_" },
};

int net_drop_args(struct probe_env *env)
{
	return net_setup_tp_args(env, "btf_trace_kfree_skb");
}

static const struct btf_type *find_reasons(struct probe_env *env, const struct btf *btf)
{
	int id = probe_env_btf_find(env, "skb_drop_reason", BTF_KIND_ENUM);

	return id < 0 ? NULL : btf__type_by_id(btf, (uint32_t)id);
}

static bool is_normal(const char *name)
{
	return ARRAY_FIND(it, normal_reasons, !strcmp(*it, name));
}

static void set_normal(struct probe_env *env, const struct btf *btf, struct net_drop_bpf *skel)
{
	const struct btf_type *t = find_reasons(env, btf);

	for (int i = 0; t && i < btf_vlen(t); i++) {
		const struct btf_enum *e = btf_enum(t) + i;

		if (!strcmp(btf__name_by_offset(btf, e->name_off), "SKB_DROP_REASON_NOT_SPECIFIED"))
			skel->rodata->drop_unspecified = (uint32_t)e->val;
		if (e->val >= 0 && (size_t)e->val < ARRAY_SIZE(skel->rodata->drop_normal) &&
		    is_normal(btf__name_by_offset(btf, e->name_off)))
			skel->rodata->drop_normal[e->val] = 1;
	}
}

/* Without kallsyms (hidden addresses), frees by closing sockets show as drops where the kernel gives no reason. */
static void set_ranges(struct probe_env *env, struct net_drop_bpf *skel)
{
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(normal_frees); i++) {
		uint64_t start, end;

		for (unsigned nth = 0; n < ARRAY_SIZE(skel->rodata->drop_range_start); nth++) {
			if (probe_env_ksym_range(env, normal_frees[i], nth, &start, &end) < 0)
				break;
			skel->rodata->drop_range_start[n] = start;
			skel->rodata->drop_range_end[n++] = end;
		}
	}
}

static void set_ping(struct probe_env *env, struct net_drop_bpf *skel)
{
	uint64_t start, end;

	if (probe_env_ksym_range(env, "ping_rcv", 0, &start, &end) < 0)
		return;
	skel->rodata->drop_ping_start = start;
	skel->rodata->drop_ping_end = end;
}

/* Without a reason until 5.18. */
static void set_forward(struct probe_env *env, const struct btf *btf, struct net_drop_bpf *skel)
{
	static const char *const names[] = { "ip_forward", "ip6_forward" };
	const struct btf_type *t = find_reasons(env, btf);
	uint64_t start, end;

	_Static_assert(ARRAY_SIZE(names) == ARRAY_SIZE(skel->rodata->drop_forward_start), "a range for each");
	skel->rodata->drop_header_reason = skel->rodata->drop_unspecified;
	for (int i = 0; t && i < btf_vlen(t); i++)
		if (!strcmp(btf__name_by_offset(btf, btf_enum(t)[i].name_off), "SKB_DROP_REASON_IP_INHDR"))
			skel->rodata->drop_header_reason = (uint32_t)btf_enum(t)[i].val;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (probe_env_ksym_range(env, names[i], 0, &start, &end) < 0)
			continue;
		skel->rodata->drop_forward_start[i] = start;
		skel->rodata->drop_forward_end[i] = end;
	}
}

/* ---- names ---- */

/* "NO_SOCKET" of "SKB_DROP_REASON_NO_SOCKET", "CONSUMED" of "SKB_CONSUMED"; NULL if @name is not a reason. */
static const char *short_name(const char *name, const char *prefix)
{
	size_t len = strlen(prefix);

	if (!strcmp(name, "SKB_DROP_REASON_MAX") || !strcmp(name, "SKB_DROP_REASON_SUBSYS_MASK") || name[0] == '_')
		return NULL;
	if (!strncmp(name, prefix, len))
		return name + len;
	return strncmp(name, "SKB_", 4) ? name : name + 4;
}

static int inject_enum(struct probe_env *env, const struct btf *btf, const struct reason_enum *r)
{
	bool left = coop_leave(probe_env_coop(env));
	int id = btf__find_by_name_kind(btf, r->name, BTF_KIND_ENUM), ret = coop_return(probe_env_coop(env), left);
	const struct btf_type *t = id < 0 ? NULL : btf__type_by_id(btf, (uint32_t)id);

	for (int i = 0; t && ret >= 0 && i < btf_vlen(t); i++) {
		const struct btf_enum *e = btf_enum(t) + i;
		const char *name = short_name(btf__name_by_offset(btf, e->name_off), r->prefix);

		if (name)
			ret = probe_env_inject_name(env, SONDE_NAME_DROP_REASON, (uint32_t)e->val, name);
	}
	return ret;
}

int net_drop_names(struct probe_env *env)
{
	struct btf *base = (struct btf *)probe_env_btf(env);
	bool left;
	int r = 0;

	if (!base)
		return 0;
	/* without reasons in the tracepoint every drop has reason 0 */
	if (net_drop_args(env) == 2)
		return probe_env_inject_name(env, SONDE_NAME_DROP_REASON, 0, "NOT_SPECIFIED");
	for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(reason_enums); i++) {
		_cleanup_(btf__freep) struct btf *module = NULL;
		const struct reason_enum *e = &reason_enums[i];

		r = inject_enum(env, base, e);
		if (r < 0 || !e->module)
			continue;
		left = coop_leave(probe_env_coop(env));
		module = btf__load_module_btf(e->module, base);
		coop_return(probe_env_coop(env), left);
		if (module)
			r = inject_enum(env, module, e);
	}
	return r;
}

/* ---- life ---- */

static void detach(void *part)
{
	struct net_drop *d = part;

	bpf_link__destroy(TAKE_PTR(d->link));
}

static void close_drop(void *part)
{
	struct net_drop *d = part;

	if (!d)
		return;
	detach(d);
	net_drop_bpf__destroy(d->skel);
	free(d);
}
DEFINE_CLEANUP(struct net_drop *, close_drop)

static struct bpf_program *choose(struct net_drop_bpf *skel, int args)
{
	switch (args) {
	case 2: return skel->progs.drop_args2;
	case 3: return skel->progs.drop_args3;
	case 4: return skel->progs.drop_args4;
	default: return NULL;
	}
}

static int open_drop(struct net_parts *all, void **ret, struct err *err)
{
	_cleanup_(close_dropp) struct net_drop *d = calloc(1, sizeof(*d));
	struct probe *p = all->p;
	const struct btf *btf = probe_env_btf(p->env);
	struct coop *coop = probe_env_coop(p->env);
	int args = net_drop_args(p->env), r;
	bool left;

	if (!btf)
		return err_set(err, -ENOENT, "the kernel has no BTF (/sys/kernel/btf/vmlinux)");
	if (!d)
		return err_errno(err, -ENOMEM, "cannot load the drop program");
	d->skel = net_drop_bpf__open();
	if (!d->skel)
		return err_errno(err, -errno, "cannot open the drop program");
	d->prog = choose(d->skel, args);
	if (!d->prog)
		return err_set(err, -EOPNOTSUPP, "the tracepoint kfree_skb has %d arguments; 2, 3 or 4 are known",
			       args);
	bpf_program__set_autoload(d->skel->progs.drop_args2, args == 2);
	bpf_program__set_autoload(d->skel->progs.drop_args3, args == 3);
	bpf_program__set_autoload(d->skel->progs.drop_args4, args == 4);
	if (args > 2)
		set_normal(p->env, btf, d->skel);
	set_ranges(p->env, d->skel);
	set_ping(p->env, d->skel);
	set_forward(p->env, btf, d->skel);
	left = coop_leave(coop);
	d->skel->rodata->net_read_frags = frags_readable(btf);
	coop_return(coop, left);
	d->skel->rodata->drop_turns = all->setup.flows;
	d->skel->rodata->drop_turns_only = all->setup.sums;
	r = net_setup_turns(&all->setup, d->skel->maps.net_flow_direction_tables);
	if (r >= 0)
		r = net_setup_load(&all->setup, p, d->skel->obj, err);
	if (r >= 0)
		r = net_setup_ifaces(&all->setup, d->skel->obj, err);
	if (r < 0)
		return r;
	net_spaces_share_flows(all, d->skel->maps.net_flow_direction_tables);
	*ret = TAKE_PTR(d);
	return 0;
}

static int attach(void *part, struct err *err)
{
	struct net_drop *d = part;

	d->link = bpf_program__attach(d->prog);
	return d->link ? 0 : err_errno(err, -errno, "cannot attach to the tracepoint kfree_skb");
}

const struct net_part net_drop_part = { .open = open_drop, .attach = attach, .detach = detach, .close = close_drop };
