// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From a request to a running instance: configuration, limits, shared use, removal.
 */
#include "agent/agent_inst.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/access/agent_rights.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/macros.h"
#include "base/rights.h"
#include "base/str.h"
#include "host/pids.h"
#include "ipc/proto.h"
#include "loop/coop.h"
#include "pipeline/cilium_listener.h"
#include "pipeline/pipeline.h"
#include "probe/probe.h"

#define SETS_MAX 2

/* ---- configurations ---- */

static size_t conf_sets(const struct probe_ops *ops, void *conf, struct opt_set *ret)
{
	size_t n = 0;

	if (ops->opts)
		ret[n++] = (struct opt_set){ .opts = ops->opts, .conf = conf };
	if (ops->command_opts)
		ret[n++] = (struct opt_set){ .opts = ops->command_opts, .conf = conf };
	return n;
}

/* Parses filters of the configuration. It belongs to the new instance alone, so the loop runs meanwhile. */
static int init_conf(struct agent_insts *all, struct inst *in, struct err *err)
{
	struct coop *coop = pipeline_coop(all->pipeline);
	bool left = coop_leave(coop);
	int r = in->request.ops->conf_init(in->conf, &in->netns, pipeline_registry(all->pipeline), err);
	int c = coop_return(coop, left);

	return r >= 0 && c < 0 ? err_errno(err, c, "cannot start the probe") : r;
}

static int parse_conf(struct agent_insts *all, struct inst *in, const struct agent_conn *by, struct err *err)
{
	const struct probe_ops *ops = in->request.ops;
	struct opt_strv words = { 0 };
	struct opt_set sets[SETS_MAX];
	size_t n;
	int r = 0;

	in->conf = calloc(1, MAX(ops->conf_size, (size_t)1));
	if (!in->conf)
		return err_errno(err, -ENOMEM, "probe %s", ops->name);
	if (ops->conf_base)
		memcpy(in->conf, ops->conf_base, ops->conf_size);
	n = conf_sets(ops, in->conf, sets);
	for (size_t i = 1; r >= 0 && i < in->request.args.len; i++) {
		char *argv[] = { in->request.args.items[0], in->request.args.items[i] };

		r = opt_parse(sets, n, ARRAY_SIZE(argv), argv, &words, NULL, err);	/* --NAME=VALUE */
	}
	if (r >= 0 && words.len)
		r = err_set(err, -EINVAL, "probe %s: unknown option %s", ops->name, words.items[0]);
	if (r >= 0)
		agent_use_measure(sets, n, all->n_cpus, &in->use);
	if (r >= 0 && by)
		r = all->may_use(by, &in->use, 0, err);
	if (r >= 0 && ops->conf_init)
		r = init_conf(all, in, err);
	opt_strv_fini(&words);
	return r;
}

static int add_u64(struct inst *in, const char *text, struct err *err)
{
	uint64_t v;

	if (str_to_u64(text, 10, &v) < 0 || vec_push(&in->cgroups, v) < 0)
		return err_set(err, -EINVAL, "%s is not a cgroup id", text);
	return 0;
}

static int parse_numbers(struct inst *in, const struct agent_request *q, struct err *err)
{
	uint32_t v;

	for (size_t i = 0; i < q->pids.len; i++) {
		if (str_to_u32(q->pids.items[i], 10, &v) < 0 || vec_push(&in->pids, v) < 0)
			return err_set(err, -EINVAL, "%s is not a process id", q->pids.items[i]);
	}
	for (size_t i = 0; i < q->netns_inodes.len; i++) {
		if (str_to_u32(q->netns_inodes.items[i], 10, &v) < 0 || vec_push(&in->netns_inodes, v) < 0)
			return err_set(err, -EINVAL, "%s is not a namespace inode", q->netns_inodes.items[i]);
	}
	for (size_t i = 0; i < q->cgroups.len; i++)
		if (add_u64(in, q->cgroups.items[i], err) < 0)
			return -EINVAL;
	return 0;
}

static void key_list(struct buf *key, const char *what, const struct opt_strv *list)
{
	for (size_t i = 0; i < list->len; i++)
		buf_printf(key, "%s=%s%c", what, list->items[i], 0);
}

static void make_key(const struct agent_request *q, const struct probe_request *w, struct buf *key)
{
	for (size_t i = 0; i < w->args.len; i++)
		buf_printf(key, "%s%c", w->args.items[i], 0);
	key_list(key, "pid", &q->pids);
	key_list(key, "comm", &q->comms);
	key_list(key, "cgroup", &q->cgroups);
	key_list(key, "netns", &q->netns);
	key_list(key, "inode", &q->netns_inodes);
}

/* Copies the request's strings, which the instance outlives. */
static int copy_words(struct inst *in, const struct agent_request *q, const struct probe_request *w)
{
	const struct { const struct opt_strv *from; struct opt_strv *to; } lists[] = {
		{ &q->comms, &in->comms }, { &q->netns, &in->netns },
	};
	size_t len = 0;
	char *p;

	for (size_t i = 0; i < w->args.len; i++)
		len += strlen(w->args.items[i]) + 1;
	for (size_t k = 0; k < ARRAY_SIZE(lists); k++)
		for (size_t i = 0; i < lists[k].from->len; i++)
			len += strlen(lists[k].from->items[i]) + 1;
	p = in->text = malloc(len + 1);
	if (!p)
		return -ENOMEM;
	in->request.ops = w->ops;
	for (size_t i = 0; i < w->args.len; i++) {
		if (agent_request_add_arg(&in->request, strcpy(p, w->args.items[i])) < 0)
			return -ENOMEM;
		p += strlen(p) + 1;
	}
	for (size_t k = 0; k < ARRAY_SIZE(lists); k++) {
		for (size_t i = 0; i < lists[k].from->len; i++) {
			if (agent_request_add_text(lists[k].to, strcpy(p, lists[k].from->items[i])) < 0)
				return -ENOMEM;
			p += strlen(p) + 1;
		}
	}
	return 0;
}

/* ---- life ---- */

static void inst_free(struct inst *in)
{
	struct opt_set sets[SETS_MAX];

	if (!in)
		return;
	if (in->conf && in->request.ops->conf_fini)
		in->request.ops->conf_fini(in->conf);
	if (in->conf)
		opt_fini(sets, conf_sets(in->request.ops, in->conf, sets));
	free(in->conf);
	free(in->text);
	buf_fini(&in->key);
	vec_fini(&in->request.args);
	vec_fini(&in->pids);
	vec_fini(&in->netns_inodes);
	vec_fini(&in->cgroups);
	opt_strv_fini(&in->comms);
	opt_strv_fini(&in->netns);
	free(in);
}

static int inst_start(struct agent_insts *all, struct inst *in, uint16_t *ret, struct err *err)
{
	uint64_t _cleanup_rights_ was = rights_raise(all->rights->working);
	const struct pipeline_probe which = { .ops = in->request.ops, .conf = in->conf };

	in->select = (struct probe_select){
		.pids = in->pids.items, .n_pids = in->pids.len,
		.comms = in->comms.items, .n_comms = in->comms.len,
		.cgroups = in->cgroups.items, .n_cgroups = in->cgroups.len,
		.netns = in->netns_inodes.items, .n_netns = in->netns_inodes.len,
	};

	return pipeline_add_probe(all->pipeline, &which, &in->select, ret, err);
}

static bool same_key(const struct inst *in, const struct buf *key)
{
	return in && !in->quiet && in->key.len == key->len && !memcmp(in->key.data, key->data, key->len);
}

/* All but the start. *@ret owns the incomplete instance, also on failure. */
static int inst_make(struct agent_insts *all, const struct agent_request *q, size_t i, struct inst **ret,
		     struct err *err)
{
	struct inst *in = calloc(1, sizeof(*in));
	int r;

	if (!in)
		return err_errno(err, -ENOMEM, "cannot start the probe");
	*ret = in;
	make_key(q, &q->probes.items[i], &in->key);
	r = copy_words(in, q, &q->probes.items[i]);
	if (r < 0 || buf_error(&in->key))
		return err_errno(err, -ENOMEM, "cannot start the probe");
	r = parse_numbers(in, q, err);
	if (r >= 0)	/* clients in other pid namespaces cannot check */
		r = pids_check("", in->pids.items, in->pids.len, err);
	return r < 0 ? r : parse_conf(all, in, q->by, err);
}

int agent_inst_check(struct agent_insts *all, const struct agent_request *q, size_t i, struct err *err)
{
	struct inst *in = NULL;
	int r = inst_make(all, q, i, &in, err);

	inst_free(in);
	return r;
}

/*
 * Removes the kernel-side filter, so that more clients can share the instance; they filter by themselves. Summaries
 * keep theirs, since sums cannot be filtered later. True if there was one.
 */
static bool widen(struct probe_request *w)
{
	for (size_t i = 1; i < w->args.len; i++)
		if (!strcmp(w->args.items[i], "--summary"))
			return false;
	for (size_t i = 1; i < w->args.len; i++) {
		if (strncmp(w->args.items[i], "--push=", 7))
			continue;
		memmove(&w->args.items[i], &w->args.items[i + 1], (--w->args.len - i) * sizeof(*w->args.items));
		return true;
	}
	return false;
}

static unsigned free_places(const struct agent_insts *all, const struct agent_request *q)
{
	bool control = !q->by || q->control;
	unsigned n = 0, kept = control ? 0 : CONTROL_INSTANCES;

	for (size_t i = 1; i < SONDE_INSTANCES; i++)	/* instance 0 is proc */
		n += !all->of[i];
	return n - MIN(n, kept);
}

static int inst_share(struct agent_insts *all, const struct agent_conn *by, uint16_t k, uint16_t *ret,
		      struct err *err)
{
	int r = by ? all->may_use(by, &all->of[k]->use, k, err) : 0;

	if (r < 0)
		return r;
	all->of[k]->refs++;
	*ret = k;
	return 0;
}

int agent_inst_get(struct agent_insts *all, struct agent_request *q, size_t i, uint16_t *ret, struct err *err)
{
	_cleanup_(buf_fini) struct buf key = { 0 };
	struct inst *in = NULL;
	int r;

	make_key(q, &q->probes.items[i], &key);
	for (uint16_t k = 0; k < SONDE_INSTANCES; k++) {
		if (same_key(all->of[k], &key))
			return inst_share(all, q->by, k, ret, err);
	}
	if (free_places(all, q) <= 1 && widen(&q->probes.items[i])) /* share the last free one */
		return agent_inst_get(all, q, i, ret, err);
	if (!free_places(all, q))
		return err_set(err, -EDQUOT, "all %u instances of probes are in use (max-instances of agent.conf is "
			       "one user's share); equal probes, options and selections share one",
			       SONDE_INSTANCES - 1 - CONTROL_INSTANCES);
	r = inst_make(all, q, i, &in, err);
	if (r >= 0)
		r = inst_start(all, in, &in->number, err);
	if (r < 0)
		inst_free(in);
	if (r < 0)
		return r;
	in->refs = 1;
	in->starting = true;
	all->of[in->number] = in;
	*ret = in->number;
	log_info("sonde: probe %s started as instance %u", in->request.ops->name, in->number);
	cilium_listener_message(all->listener, "sonde: started probe %s", in->request.ops->name);
	return 0;
}

int agent_inst_get_all(struct agent_insts *all, struct agent_request *q, uint32_t *mask, struct err *err)
{
	for (size_t i = 0; i < q->probes.len; i++) {
		uint16_t instance;
		int r = agent_inst_get(all, q, i, &instance, err);

		if (r < 0)
			return r;
		if (*mask & 1u << instance) /* requested twice */
			agent_inst_put(all, instance);
		*mask |= 1u << instance;
	}
	return 0;
}

void agent_inst_started(struct agent_insts *all, uint32_t mask)
{
	for (uint16_t i = 1; i < SONDE_INSTANCES; i++)
		if (mask & 1u << i)
			all->of[i]->starting = false;
}

static void inst_quiet(struct agent_insts *all, uint16_t instance)
{
	uint64_t _cleanup_rights_ was = rights_raise(all->rights->working);

	if (all->of[instance]->quiet)
		return;
	all->of[instance]->quiet = true;
	pipeline_quiet_probe(all->pipeline, instance);
}

void agent_inst_drain(struct agent_insts *all, uint32_t mask)
{
	uint64_t _cleanup_rights_ was = rights_raise(all->rights->working);

	for (uint16_t i = 1; i < SONDE_INSTANCES; i++)
		if (mask & 1u << i && all->of[i]->refs == 1)
			inst_quiet(all, i);
	pipeline_drain(all->pipeline);
}

/* ---- snapshots ---- */

int agent_inst_snapshot(struct agent_insts *all, uint32_t mask, struct agent_conn *conn, struct err *err)
{
	uint64_t _cleanup_rights_ was = rights_raise(all->rights->working);
	int r;

	all->snapshot = true;
	all->snapshot_for = conn;
	r = pipeline_snapshot(all->pipeline, mask, err);
	all->snapshot = false;
	all->snapshot_for = NULL;
	return r;
}

bool agent_inst_in_snapshot(const struct agent_insts *all)
{
	return all->snapshot && coop_inside(pipeline_coop(all->pipeline));
}

/* ---- counters ---- */

void agent_inst_refresh(const struct agent_insts *all)
{
	uint64_t _cleanup_rights_ was = rights_raise(all->rights->working);

	pipeline_refresh(all->pipeline);
}

void agent_inst_ledger(const struct agent_insts *all, uint16_t instance, struct sonde_ledger *ret)
{
	*ret = (struct sonde_ledger){ 0 };
	pipeline_kernel_ledger(all->pipeline, instance, ret);
}

const char *agent_inst_probe(const struct agent_insts *all, uint16_t i)
{
	if (!i)
		return "proc";
	return all->of[i] ? all->of[i]->request.ops->name : NULL;
}

bool agent_inst_wants_owners(const struct agent_insts *all, uint16_t i)
{
	return all->of[i] && all->of[i]->request.ops->wants_owners;
}

static void add_cost(void *ctx, uint16_t instance, int prog_fd)
{
	struct bpf_prog_info info = { 0 };
	uint32_t len = sizeof(info);
	struct inst_cost *c = ctx;

	if (bpf_prog_get_info_by_fd(prog_fd, &info, &len) < 0)
		return;
	c[instance].programs++;
	c[instance].runs += info.run_cnt;
	c[instance].ns += info.run_time_ns;
}

void agent_inst_costs(const struct agent_insts *all, struct inst_cost ret[SONDE_INSTANCES])
{
	uint64_t _cleanup_rights_ was = rights_raise(all->rights->working);

	memset(ret, 0, SONDE_INSTANCES * sizeof(*ret));
	probe_env_programs(pipeline_env(all->pipeline), add_cost, ret);
}

/* ---- removal ---- */

static void remove_probe(struct agent_insts *all, uint16_t instance)
{
	uint64_t _cleanup_rights_ was = rights_raise(all->rights->working);

	pipeline_remove_probe(all->pipeline, instance);
}

void agent_inst_put(struct agent_insts *all, uint16_t instance)
{
	struct inst *in = all->of[instance];

	if (--in->refs)
		return;
	inst_quiet(all, instance);
	remove_probe(all, instance);
	log_info("sonde: instance %u (%s) ended", instance, in->request.ops->name);
	cilium_listener_message(all->listener, "sonde: ended probe %s", in->request.ops->name);
	inst_free(in);
	all->of[instance] = NULL;
}

struct put_later {
	struct coop_job job;
	struct agent_insts *all;
	uint32_t mask;
};

static void put_all(struct agent_insts *all, uint32_t mask)
{
	for (uint16_t i = 1; i < SONDE_INSTANCES; i++)
		if (mask & 1u << i)
			agent_inst_put(all, i);
}

static void run_put(void *ctx)
{
	struct put_later *l = ctx;

	put_all(l->all, l->mask);
}

void agent_inst_put_later(struct agent_insts *all, uint32_t mask)
{
	struct coop *coop = pipeline_coop(all->pipeline);
	struct put_later *l = coop_inside(coop) || !mask ? NULL : calloc(1, sizeof(*l));

	if (!l) {
		put_all(all, mask);
		return;
	}
	*l = (struct put_later){
		.job = { .name = "end", .run = run_put, .done = free, .ctx = l, .plain = true },
		.all = all,
		.mask = mask,
	};
	coop_submit(coop, &l->job);
}

void agent_inst_free_all(struct agent_insts *all)
{
	for (size_t i = 0; i < SONDE_INSTANCES; i++) {
		inst_free(TAKE_PTR(all->of[i]));
	}
}
