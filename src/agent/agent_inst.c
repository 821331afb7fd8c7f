// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Instances of probes: what was asked for becomes a configuration, and equal wishes share one.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent_impl.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/macros.h"
#include "base/str.h"
#include "enrich/pids.h"
#include "probe/probe.h"

#define SETS_MAX 2

/* ---- requests ---- */

void agent_inst_request_fini(struct request *q)
{
	for (size_t i = 0; i < q->wants.len; i++)
		vec_fini(&q->wants.items[i].args);
	vec_fini(&q->wants);
	opt_strv_fini(&q->pids);
	opt_strv_fini(&q->comms);
	opt_strv_fini(&q->cgroups);
	opt_strv_fini(&q->netns);
	opt_strv_fini(&q->netns_inodes);
	free(q->text);
	*q = (struct request){ 0 };
}

static int add_text(struct opt_strv *v, const char *text)
{
	if (vec_grow(v) < 0)
		return -ENOMEM;
	v->items[v->len++] = text;
	return 0;
}

static int add_arg(struct want *w, char *text)
{
	if (vec_grow(&w->args) < 0)
		return -ENOMEM;
	w->args.items[w->args.len++] = text;
	return 0;
}

static int add_want(struct request *q, char *name, struct err *err)
{
	const struct probe_ops *ops = probe_find(name);
	struct want *w;

	if (!ops || !strcmp(name, "proc"))
		return err_set(err, -EINVAL, "%s: there is no such probe", name);
	if (q->wants.len >= SONDE_INSTANCES - 1)
		return err_set(err, -E2BIG, "too many probes in one subscription");
	if (vec_grow(&q->wants) < 0)
		return -ENOMEM;
	w = &q->wants.items[q->wants.len++];
	*w = (struct want){ .ops = ops };
	return add_arg(w, name);
}

static int add_option(struct request *q, char *text, struct err *err)
{
	if (!q->wants.len)
		return err_set(err, -EINVAL, "an option stands before its probe");
	return add_arg(&q->wants.items[q->wants.len - 1], text);
}

/* "key=value" */
static int take_word(struct request *q, char *word, struct err *err)
{
	const struct { const char *key; struct opt_strv *list; } lists[] = {
		{ "pid", &q->pids }, { "comm", &q->comms }, { "cgroup", &q->cgroups }, { "netns", &q->netns },
		{ "netns-inode", &q->netns_inodes },
	};
	char *value = strchr(word, '=');

	if (!value)
		return err_set(err, -EINVAL, "%s: KEY=VALUE is expected in a subscription", word);
	*value++ = '\0';
	if (!strcmp(word, "probe"))
		return add_want(q, value, err);
	if (!strcmp(word, "option"))
		return add_option(q, value, err);
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		if (!strcmp(word, lists[i].key))
			return add_text(lists[i].list, value);
	if (!strcmp(word, "where"))
		q->where = value;
	else if (!strcmp(word, "fields"))
		q->fields = *value ? value : NULL;
	else if (!strcmp(word, "exclude"))
		q->exclude_self = !strcmp(value, "self");
	else
		return err_set(err, -EINVAL, "%s: this agent knows no such key of a subscription", word);
	return 0;
}

int agent_inst_request_parse(const struct proto_frame *f, struct request *ret, struct err *err)
{
	struct request q = { .text = calloc(1, f->len + 1), .bytes = f->len };
	int r = q.text ? 0 : -ENOMEM;
	char *word = q.text;

	if (q.text)
		memcpy(q.text, f->data, f->len);
	while (r >= 0 && word < q.text + f->len) {
		size_t len = strlen(word);

		r = take_word(&q, word, err);
		word += len + 1;
	}
	if (r == -ENOMEM)
		err_errno(err, r, "cannot take the subscription");
	if (r < 0)
		agent_inst_request_fini(&q);
	else
		*ret = q;
	return r;
}

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

/* Filters are parsed here. All of it belongs to the instance, and the loop goes on meanwhile. */
static int init_conf(struct agent *a, struct inst *in, struct err *err)
{
	struct coop *coop = pipeline_coop(a->pipeline);
	bool left = coop_leave(coop);
	int r = in->want.ops->conf_init(in->conf, &in->netns, pipeline_registry(a->pipeline), err);
	int c = coop_return(coop, left);

	return r >= 0 && c < 0 ? err_errno(err, c, "cannot start the probe") : r;
}

static int parse_conf(struct agent *a, struct inst *in, const struct agent_conn *by, struct err *err)
{
	const struct probe_ops *ops = in->want.ops;
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
	for (size_t i = 1; r >= 0 && i < in->want.args.len; i++) {
		char *argv[] = { in->want.args.items[0], in->want.args.items[i] };

		r = opt_parse(sets, n, ARRAY_SIZE(argv), argv, &words, NULL, err);	/* --NAME=VALUE */
	}
	if (r >= 0 && words.len)
		r = err_set(err, -EINVAL, "probe %s: %s is no option", ops->name, words.items[0]);
	if (r >= 0)
		agent_limits_measure(sets, n, a->n_cpus, &in->use);
	if (r >= 0)
		r = agent_limits_instance(by, &in->use, err);
	if (r >= 0 && ops->conf_init)
		r = init_conf(a, in, err);
	opt_strv_fini(&words);
	return r;
}

static int add_u64(struct inst *in, const char *text, struct err *err)
{
	uint64_t v;

	if (str_to_u64(text, 10, &v) < 0 || vec_grow(&in->cgroups) < 0)
		return err_set(err, -EINVAL, "%s: no id of a cgroup", text);
	in->cgroups.items[in->cgroups.len++] = v;
	return 0;
}

static int parse_numbers(struct inst *in, const struct request *q, struct err *err)
{
	uint32_t v;

	for (size_t i = 0; i < q->pids.len; i++) {
		if (str_to_u32(q->pids.items[i], 10, &v) < 0 || vec_grow(&in->pids) < 0)
			return err_set(err, -EINVAL, "%s: no process id", q->pids.items[i]);
		in->pids.items[in->pids.len++] = v;
	}
	for (size_t i = 0; i < q->netns_inodes.len; i++) {
		if (str_to_u32(q->netns_inodes.items[i], 10, &v) < 0 || vec_grow(&in->netns_inodes) < 0)
			return err_set(err, -EINVAL, "%s: no inode of a namespace", q->netns_inodes.items[i]);
		in->netns_inodes.items[in->netns_inodes.len++] = v;
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

static void make_key(const struct request *q, const struct want *w, struct buf *key)
{
	for (size_t i = 0; i < w->args.len; i++)
		buf_printf(key, "%s%c", w->args.items[i], 0);
	key_list(key, "pid", &q->pids);
	key_list(key, "comm", &q->comms);
	key_list(key, "cgroup", &q->cgroups);
	key_list(key, "netns", &q->netns);
	key_list(key, "inode", &q->netns_inodes);
}

/* Copies of the words, which outlive the request. */
static int copy_words(struct inst *in, const struct request *q, const struct want *w)
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
	in->want.ops = w->ops;
	for (size_t i = 0; i < w->args.len; i++) {
		if (add_arg(&in->want, strcpy(p, w->args.items[i])) < 0)
			return -ENOMEM;
		p += strlen(p) + 1;
	}
	for (size_t k = 0; k < ARRAY_SIZE(lists); k++) {
		for (size_t i = 0; i < lists[k].from->len; i++) {
			if (add_text(lists[k].to, strcpy(p, lists[k].from->items[i])) < 0)
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
	if (in->conf && in->want.ops->conf_fini)
		in->want.ops->conf_fini(in->conf);
	if (in->conf)
		opt_fini(sets, conf_sets(in->want.ops, in->conf, sets));
	free(in->conf);
	free(in->text);
	buf_fini(&in->key);
	vec_fini(&in->want.args);
	vec_fini(&in->pids);
	vec_fini(&in->netns_inodes);
	vec_fini(&in->cgroups);
	opt_strv_fini(&in->comms);
	opt_strv_fini(&in->netns);
	free(in);
}

static int inst_start(struct agent *a, struct inst *in, uint16_t *ret, struct err *err)
{
	uint64_t _cleanup_rights_ was = rights_raise(a->rights.working);
	const struct pipeline_probe which = { .ops = in->want.ops, .conf = in->conf };

	in->select = (struct probe_select){
		.pids = in->pids.items, .n_pids = in->pids.len,
		.comms = in->comms.items, .n_comms = in->comms.len,
		.cgroups = in->cgroups.items, .n_cgroups = in->cgroups.len,
		.netns = in->netns_inodes.items, .n_netns = in->netns_inodes.len,
	};

	return pipeline_add_probe(a->pipeline, &which, &in->select, ret, err);
}

static bool same_key(const struct inst *in, const struct buf *key)
{
	return in && !in->quiet && in->key.len == key->len && !memcmp(in->key.data, key->data, key->len);
}

/* Everything but the start. *@ret owns the half-made instance also after a failure. */
static int inst_make(struct agent *a, const struct request *q, size_t i, struct inst **ret, struct err *err)
{
	struct inst *in = calloc(1, sizeof(*in));
	int r;

	if (!in)
		return err_errno(err, -ENOMEM, "cannot start the probe");
	*ret = in;
	make_key(q, &q->wants.items[i], &in->key);
	r = copy_words(in, q, &q->wants.items[i]);
	if (r < 0 || buf_error(&in->key))
		return err_errno(err, -ENOMEM, "cannot start the probe");
	r = parse_numbers(in, q, err);
	if (r >= 0)	/* clients in other pid namespaces cannot check */
		r = pids_check("", in->pids.items, in->pids.len, err);
	return r < 0 ? r : parse_conf(a, in, q->by, err);
}

int agent_inst_check(struct agent *a, const struct request *q, size_t i, struct err *err)
{
	struct inst *in = NULL;
	int r = inst_make(a, q, i, &in, err);

	inst_free(in);
	return r;
}

/*
 * Without its filter an instance serves more clients, which filter what comes by themselves; sums cannot be taken
 * apart again. True if there was one.
 */
static bool widen(struct want *w)
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

static unsigned free_places(const struct agent *a, const struct request *q)
{
	bool control = !q->by || q->by->rights & PROTO_RIGHT_CONTROL;
	unsigned n = 0, kept = control ? 0 : CONTROL_INSTANCES;

	for (size_t i = 1; i < SONDE_INSTANCES; i++)	/* 0 is proc's */
		n += !a->insts[i];
	return n - MIN(n, kept);
}

static int inst_share(struct agent *a, const struct agent_conn *by, uint16_t k, uint16_t *ret, struct err *err)
{
	int r = by && by->sub.mask & 1u << k ? 0 : agent_limits_instance(by, &a->insts[k]->use, err);

	if (r < 0)
		return r;
	a->insts[k]->refs++;
	*ret = k;
	return 0;
}

int agent_inst_get(struct agent *a, struct request *q, size_t i, uint16_t *ret, struct err *err)
{
	_cleanup_(buf_fini) struct buf key = { 0 };
	struct inst *in = NULL;
	int r;

	make_key(q, &q->wants.items[i], &key);
	for (uint16_t k = 0; k < SONDE_INSTANCES; k++) {
		if (same_key(a->insts[k], &key))
			return inst_share(a, q->by, k, ret, err);
	}
	if (free_places(a, q) <= 1 && widen(&q->wants.items[i]))	/* the last one is for many */
		return agent_inst_get(a, q, i, ret, err);
	if (!free_places(a, q))
		return err_set(err, -EDQUOT, "all %u instances of probes are in use (max-instances of agent.conf is "
			       "one user's share); equal probes, options and selections share one",
			       SONDE_INSTANCES - 1 - CONTROL_INSTANCES);
	r = inst_make(a, q, i, &in, err);
	if (r >= 0)
		r = inst_start(a, in, &in->number, err);
	if (r < 0)
		inst_free(in);
	if (r < 0)
		return r;
	in->refs = 1;
	in->starting = true;
	a->insts[in->number] = in;
	*ret = in->number;
	log_info("sonde: probe %s started as instance %u", in->want.ops->name, in->number);
	agent_cilium_tell(a, "started probe", in->want.ops->name);
	return 0;
}

void agent_inst_started(struct agent *a, uint32_t mask)
{
	for (uint16_t i = 1; i < SONDE_INSTANCES; i++)
		if (mask & 1u << i)
			a->insts[i]->starting = false;
}

void agent_inst_quiet(struct agent *a, uint16_t instance)
{
	uint64_t _cleanup_rights_ was = rights_raise(a->rights.working);

	if (a->insts[instance]->quiet)
		return;
	a->insts[instance]->quiet = true;
	pipeline_quiet_probe(a->pipeline, instance);
}

static void remove_probe(struct agent *a, uint16_t instance)
{
	uint64_t _cleanup_rights_ was = rights_raise(a->rights.working);

	pipeline_remove_probe(a->pipeline, instance);
}

void agent_inst_refresh(const struct agent *a)
{
	uint64_t _cleanup_rights_ was = rights_raise(a->rights.working);

	pipeline_refresh(a->pipeline);
}

void agent_inst_ledger(const struct agent *a, uint16_t instance, struct sonde_ledger *ret)
{
	*ret = (struct sonde_ledger){ 0 };
	pipeline_kernel_ledger(a->pipeline, instance, ret);
}

void agent_inst_put(struct agent *a, uint16_t instance)
{
	struct inst *in = a->insts[instance];

	if (--in->refs)
		return;
	agent_inst_quiet(a, instance);
	remove_probe(a, instance);
	log_info("sonde: instance %u (%s) ended", instance, in->want.ops->name);
	agent_cilium_tell(a, "ended probe", in->want.ops->name);
	inst_free(in);
	a->insts[instance] = NULL;
}

/* ---- beside the loop ---- */

struct put_later {
	struct coop_job job;
	struct agent *a;
	uint32_t mask;
};

static void put_all(struct agent *a, uint32_t mask)
{
	for (uint16_t i = 1; i < SONDE_INSTANCES; i++)
		if (mask & 1u << i)
			agent_inst_put(a, i);
}

static void run_put(void *ctx)
{
	struct put_later *l = ctx;

	put_all(l->a, l->mask);
}

void agent_inst_put_later(struct agent *a, uint32_t mask)
{
	struct coop *coop = pipeline_coop(a->pipeline);
	struct put_later *l = coop_inside(coop) || !mask ? NULL : calloc(1, sizeof(*l));

	if (!l) {
		put_all(a, mask);
		return;
	}
	*l = (struct put_later){
		.job = { .name = "end", .run = run_put, .done = free, .ctx = l, .plain = true },
		.a = a,
		.mask = mask,
	};
	coop_submit(coop, &l->job);
}

void agent_inst_free_all(struct agent *a)
{
	for (size_t i = 0; i < SONDE_INSTANCES; i++) {
		inst_free(a->insts[i]);
		a->insts[i] = NULL;
	}
}
