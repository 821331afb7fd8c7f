// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Connections that listeners refuse, of all interfaces and namespaces: tracepoints consume_skb and kfree_skb, and the
 * kernel's counters on each CPU.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/map.h"
#include "loop/coop.h"
#include "probe/env.h"
#include "probe/probe.h"
#include "probes/net/net_ns.h"
#include "probes/net/net_part.h"
#include "probes/net/refused/net_refused_wire.h"

#include "net_refused.skel.h"

#define SPARE_SPACES 256	/* namespaces made during the run that refuse connections */
#define WALKS 1024		/* runs of the program per CPU: a list that never ends is broken */

struct net_refused {
	struct probe *p;
	struct net_refused_bpf *skel;
	struct bpf_program *syn;
};

static void close_refused(void *part)
{
	struct net_refused *n = part;

	if (!n)
		return;
	net_refused_bpf__destroy(n->skel);
	free(n);
}
DEFINE_CLEANUP(struct net_refused *, close_refused)

/* ---- the running kernel ---- */

/* Counters by the order of mib_number in net_refused.bpf.c. */
static const char *const counters[] = {
	"LINUX_MIB_LISTENDROPS", "LINUX_MIB_LISTENOVERFLOWS", "LINUX_MIB_TCPREQQFULLDROP",
};

/* Fills @ret with the numbers of this kernel, if @t is the enum that has them. */
static bool take_numbers(const struct btf *btf, const struct btf_type *t, uint32_t *ret)
{
	size_t found = 0;

	for (int i = 0; i < btf_vlen(t); i++) {
		const char *name = btf__name_by_offset(btf, btf_enum(t)[i].name_off);

		if (i == 0 && strcmp(name, "LINUX_MIB_NUM") != 0)
			return false;
		for (size_t k = 0; k < ARRAY_SIZE(counters); k++)
			if (!strcmp(name, counters[k])) {
				ret[k] = (uint32_t)btf_enum(t)[i].val;
				found++;
			}
	}
	return found == ARRAY_SIZE(counters);
}

/* The enum has no name. */
static int find_numbers(const struct btf *btf, uint32_t *ret)
{
	for (uint32_t id = 1; id < btf__type_cnt(btf); id++) {
		const struct btf_type *t = btf__type_by_id(btf, id);

		if (btf_is_enum(t) && !t->name_off && take_numbers(btf, t, ret))
			return 0;
	}
	return -ENOENT;
}

static int set_kernel(struct net_refused *n, struct err *err)
{
	struct probe_env *env = n->p->env;
	struct coop *coop = probe_env_coop(env);
	const struct btf *btf = probe_env_btf(env);
	struct net_refused_bpf *skel = n->skel;
	uint64_t start, end;
	bool left;
	int r;

	_Static_assert(ARRAY_SIZE(counters) == ARRAY_SIZE(((struct net_refused_bpf *)0)->rodata->mib_number),
		       "a number for each counter");
	if (!btf)
		return err_set(err, -ENOENT, "the kernel has no BTF (/sys/kernel/btf/vmlinux)");
	left = coop_leave(coop);
	r = find_numbers(btf, skel->rodata->mib_number);
	coop_return(coop, left);
	if (r < 0)
		return err_set(err, r, "the kernel's BTF has no numbers of network counters");
	if (probe_env_ksym_range(env, "tcp_rcv_state_process", 0, &start, &end) < 0)
		return err_set(err, -ENOENT, "kallsyms does not show tcp_rcv_state_process");
	skel->rodata->refused_start = start;
	skel->rodata->refused_end = end;
	return 0;
}

/* ---- open ---- */

static void choose(struct net_refused *n)
{
	bool located = net_setup_tp_args(n->p->env, "btf_trace_consume_skb") >= 2;

	n->syn = located ? n->skel->progs.refused_syn : n->skel->progs.refused_syn_plain;
	bpf_program__set_autoload(n->skel->progs.refused_syn, located);
	bpf_program__set_autoload(n->skel->progs.refused_syn_plain, !located);
}

static int size_readings(struct net_refused *n)
{
	_cleanup_free_ uint32_t *inodes = NULL;
	size_t spaces = 0;
	int r = net_ns_all(&inodes, &spaces);

	if (r < 0)
		return r;
	return bpf_map__set_max_entries(n->skel->maps.net_mib,
					(uint32_t)(spaces + SPARE_SPACES) * probe_env_n_cpus(n->p->env));
}

static int open_refused(struct net_parts *all, void **ret, struct err *err)
{
	_cleanup_(close_refusedp) struct net_refused *n = calloc(1, sizeof(*n));
	struct probe *p = all->p;
	int r;

	if (!n)
		return err_errno(err, -ENOMEM, "cannot load the programs for refused connections");
	n->p = p;
	n->skel = net_refused_bpf__open();
	if (!n->skel)
		return err_errno(err, -errno, "cannot open the programs for refused connections");
	choose(n);
	r = set_kernel(n, err);
	if (r < 0)
		return r;
	r = size_readings(n);
	if (r < 0)
		return err_errno(err, r, "cannot size the readings of counters");
	r = net_setup_apply(&all->setup, p, n->skel->obj, 0, err);
	if (r >= 0)
		r = probe_env_load(p->env, n->skel->obj, err);
	if (r >= 0)
		r = net_setup_ifaces(&all->setup, n->skel->obj, err);
	if (r >= 0)
		r = probe_env_watch(p->env, n->syn, p->instance);
	if (r >= 0)
		r = probe_env_watch(p->env, n->skel->progs.refused_ack, p->instance);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(n);
	return 0;
}

/* ---- readings ---- */

/* All namespaces on one CPU. -ENXIO: the CPU is offline. */
static int walk(struct net_refused *n, uint32_t cpu, uint64_t end)
{
	LIBBPF_OPTS(bpf_test_run_opts, o, .ctx_in = &end, .ctx_size_in = sizeof(end),
		    .flags = BPF_F_TEST_RUN_ON_CPU, .cpu = cpu);
	int fd = bpf_program__fd(n->skel->progs.refused_readings);

	for (int i = 0; i < WALKS; i++) {
		if (bpf_prog_test_run_opts(fd, &o) < 0)
			return -errno;
		if (!n->skel->bss->mib_at)
			return 0;
	}
	n->skel->bss->mib_at = 0;
	return -ELOOP;
}

static int walk_all(struct net_refused *n, bool end, struct err *err)
{
	for (uint32_t cpu = 0; cpu < probe_env_n_cpus(n->p->env); cpu++) {
		int r = walk(n, cpu, end);

		if (r < 0 && r != -ENXIO)
			return err_errno(err, r, "cannot read the counters of CPU %u", cpu);
	}
	return 0;
}

/* Reads the counters of every namespace on every CPU, too. */
static int attach(void *part, struct err *err)
{
	struct net_refused *n = part;

	n->skel->links.refused_syn = bpf_program__attach(n->syn);
	if (!n->skel->links.refused_syn)
		return err_errno(err, -errno, "cannot attach to the tracepoint consume_skb");
	n->skel->links.refused_ack = bpf_program__attach(n->skel->progs.refused_ack);
	if (!n->skel->links.refused_ack)
		return err_errno(err, -errno, "cannot attach to the tracepoint kfree_skb");
	return walk_all(n, false, err);
}

static void detach(void *part)
{
	struct net_refused *n = part;

	if (n->skel->links.refused_ack)
		walk_all(n, true, NULL);
	net_refused_bpf__detach(n->skel);
}

/* ---- the end ---- */

struct total { uint64_t counted, seen; };

/* By the map that the programs use: the list in @n->p->env is borrowed and may be gone at the end. */
static bool is_selected(const struct net_refused *n, uint32_t netns)
{
	uint8_t one;
	int fd;

	if (!probe_env_select(n->p->env, n->p->instance)->n_netns)
		return true;
	fd = probe_env_instance_map(n->p->env, n->p->instance, "sonde_netns");
	return bpf_map_lookup_elem(fd, &netns, &one) == 0;
}

/* As in net_refused.bpf.c. */
struct mib_key { uint32_t netns, cpu; };
struct mib_reading { uint64_t counters, first, seen, last[ARRAY_SIZE(counters)]; };

static int add_readings(struct net_refused *n, struct map *totals)
{
	int fd = bpf_map__fd(n->skel->maps.net_mib);
	struct mib_key key, *at = NULL;
	struct mib_reading v;

	while (bpf_map_get_next_key(fd, at, &key) == 0) {
		struct total *t;

		at = &key;
		if (bpf_map_lookup_elem(fd, &key, &v) < 0 || v.last[0] == v.first)
			continue;
		t = map_add(totals, &key.netns, NULL);
		if (!t)
			return -ENOMEM;
		t->counted += v.last[0] - v.first;
		t->seen += v.seen;
	}
	return 0;
}

/* Compares the kernel's count with that of the programs: a record for each namespace with refused connections. */
static void finish(void *part)
{
	struct net_refused *n = part;
	struct map totals;
	void *key, *val;
	size_t pos = 0;

	map_init(&totals, sizeof(uint32_t), sizeof(struct total));
	if (add_readings(n, &totals) < 0)
		probe_env_note(n->p->env, "no memory to compare refused connections with the kernel's count");
	while (map_next(&totals, &pos, &key, &val)) {
		const struct total *t = val;
		struct net_unexplained_rec r = {
			.hdr = { .type = NET_EV_UNEXPLAINED, .instance = n->p->instance, .flags = SONDE_RF_SUM },
			.counted = t->counted, .seen = t->seen, .netns = *(uint32_t *)key,
		};

		if (is_selected(n, r.netns))
			probe_env_inject(n->p->env, &r.hdr, sizeof(r));
	}
	map_fini(&totals);
}

const struct net_part net_refused_part = {
	.open = open_refused, .attach = attach, .detach = detach, .finish = finish, .close = close_refused,
};
