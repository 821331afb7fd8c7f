// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/net/policy/net_policy.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "policy/policy.h"
#include "policy/table.h"
#include "host/cgroup2.h"
#include "probe/env.h"
#include "probe/probe.h"
#include "probes/net/net_conf.h"
#include "probes/net/policy/net_policy_wire.h"
#include "probes/net/net_part.h"
#include "probes/net/packet/net_tc.h"

#include "net_policy.skel.h"

#define WORDS_MIN 16u		/* 1,024 rules: lets a short file grow at a reload */
#define INNER_MAP (1u << 12)	/* BPF_F_INNER_MAP, in linux/bpf.h since 5.10 */

struct net_policy {
	struct probe *p;
	const struct net_setup *setup;
	struct policy *rules;		/* active */
	struct policy_table *table;
	uint32_t words;			/* size of a set in 64-bit words, fixed at load */
	uint32_t generation;		/* of the active table; 0 = none installed yet */
	int texts;			/* owned; map of struct net_policy_text, -1 = none */
};

DEFINE_CLEANUP(struct policy *, policy_free)
DEFINE_CLEANUP(struct policy_table *, policy_table_free)

static const struct net_policy_conf *conf_of(const struct net_policy *n)
{
	return &((const struct net_conf *)n->p->conf)->policy;
}

/* ---- text to tables ---- */

/* The id of a cgroup is the inode number of its directory. */
static int find_cgroup(void *ctx, const char *path, uint64_t *ret_id, uint32_t *ret_level)
{
	_cleanup_close_ int root = cgroup2_open(probe_env_host_root(ctx));
	struct stat st;

	if (root < 0)
		return root;
	if (fstatat(root, path[1] ? path + 1 : ".", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	*ret_id = st.st_ino;
	*ret_level = 0;
	for (const char *c = path; *c; c++)
		*ret_level += c[0] == '/' && c[1] && c[1] != '/';
	return 0;
}

static int read_rules(struct net_policy *n, const char *text, struct policy **ret_rules, struct policy_table **ret,
		      struct err *err)
{
	_cleanup_(policy_freep) struct policy *rules = NULL;
	int r = policy_parse(text, strlen(text), &rules, err);

	if (r >= 0)
		r = policy_table_compile(rules, find_cgroup, n->p->env, ret, err);
	if (r < 0) {
		err_prefix(err, "%s", conf_of(n)->name);
		return r;
	}
	*ret_rules = TAKE_PTR(rules);
	return 0;
}

/* ---- tables into maps ---- */

struct generation {
	int sets, trie, hash, ports, rules;
};

static void generation_close(struct generation *g)
{
	int *fds[] = { &g->sets, &g->trie, &g->hash, &g->ports, &g->rules };

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		cleanup_close(fds[i]);
		*fds[i] = -1;
	}
}

static int create_map(enum bpf_map_type type, const char *name, uint32_t key, uint32_t value, uint32_t n,
		      uint32_t flags)
{
	LIBBPF_OPTS(bpf_map_create_opts, o, .map_flags = flags);
	int fd = bpf_map_create(type, name, key, value, MAX(n, 1u), &o);

	return fd < 0 ? -errno : fd;
}

static int update_map(int fd, const void *key, const void *value)
{
	return bpf_map_update_elem(fd, key, value, BPF_ANY) < 0 ? -errno : 0;
}

static int fill_sets(const struct policy_table *t, int fd)
{
	uint64_t set[SONDE_POLICY_WORDS] = { 0 };
	int r = 0;

	for (uint32_t i = 0; r >= 0 && i < t->n_sets; i++) {
		memcpy(set, t->sets + (size_t)i * t->head.n_words, t->head.n_words * sizeof(*set));
		r = update_map(fd, &i, set);
	}
	return r;
}

/* Unused port tables hold set 0; programs do not read them. */
static int fill_ports(const struct policy_table *t, int fd)
{
	_cleanup_free_ uint32_t *none = calloc(SONDE_POLICY_PORTS, sizeof(*none));
	int r = none ? 0 : -ENOMEM;

	for (uint32_t row = 0; r >= 0 && row < 2; row++)
		r = update_map(fd, &row, t->ports[row] ? t->ports[row] : none);
	return r;
}

static int fill_maps(const struct policy_table *t, const struct generation *g)
{
	int r = fill_sets(t, g->sets);

	for (size_t i = 0; r >= 0 && i < t->prefixes.len; i++)
		r = update_map(g->trie, &t->prefixes.items[i].key, &t->prefixes.items[i].set);
	for (size_t i = 0; r >= 0 && i < t->exacts.len; i++)
		r = update_map(g->hash, &t->exacts.items[i].key, &t->exacts.items[i].set);
	for (uint32_t i = 0; r >= 0 && i < t->rules.len; i++)
		r = update_map(g->rules, &i, &t->rules.items[i]);
	return r < 0 ? r : fill_ports(t, g->ports);
}

static int first_error(const struct generation *g)
{
	const int fds[] = { g->sets, g->trie, g->hash, g->ports, g->rules };

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		if (fds[i] < 0)
			return fds[i];
	return 0;
}

static int generation_create(const struct net_policy *n, const struct policy_table *t, struct generation *g)
{
	int r;

	*g = (struct generation){
		.sets = create_map(BPF_MAP_TYPE_ARRAY, "policy_sets", 4, n->words * 8, t->n_sets, INNER_MAP),
		.trie = create_map(BPF_MAP_TYPE_LPM_TRIE, "policy_trie", sizeof(struct sonde_policy_prefix), 4,
				   (uint32_t)t->prefixes.len, BPF_F_NO_PREALLOC),
		.hash = create_map(BPF_MAP_TYPE_HASH, "policy_hash", sizeof(struct sonde_policy_exact), 4,
				   (uint32_t)t->exacts.len, 0),
		.ports = create_map(BPF_MAP_TYPE_ARRAY, "policy_ports", 4, SONDE_POLICY_PORTS * 4, 2, 0),
		.rules = create_map(BPF_MAP_TYPE_ARRAY, "policy_rules", 4, sizeof(struct sonde_policy_rule),
				    (uint32_t)t->rules.len, INNER_MAP),
	};
	r = first_error(g);
	if (r >= 0)
		r = fill_maps(t, g);
	if (r < 0)
		generation_close(g);
	return r;
}

static int instance_map(const struct net_policy *n, const char *name)
{
	return probe_env_instance_map(n->p->env, n->p->instance, name);
}

/* Fills the inactive slot, then activates it with one store. */
static int install(struct net_policy *n, struct policy_table *t)
{
	const uint32_t next = (n->generation + 1) & 1, zero = 0;
	struct generation g;
	int r = generation_create(n, t, &g);

	if (r < 0)
		return r;
	t->head.generation = n->generation + 1;
	r = update_map(instance_map(n, "inst_net_policy_head"), &next, &t->head);
	if (r >= 0)
		r = update_map(instance_map(n, "inst_net_policy_sets"), &next, &g.sets);
	if (r >= 0)
		r = update_map(instance_map(n, "inst_net_policy_trie"), &next, &g.trie);
	if (r >= 0)
		r = update_map(instance_map(n, "inst_net_policy_hash"), &next, &g.hash);
	if (r >= 0)
		r = update_map(instance_map(n, "inst_net_policy_ports"), &next, &g.ports);
	if (r >= 0)
		r = update_map(instance_map(n, "inst_net_policy_rules"), &next, &g.rules);
	if (r >= 0)
		r = update_map(instance_map(n, "inst_net_policy"), &zero, &next);
	generation_close(&g);
	if (r >= 0)
		n->generation++;
	return r;
}

/* ---- names ---- */

/* `sonde counters --policy` finds the map by its name. Errors are ignored: the rules work without it. */
static void put_text(const struct net_policy *n, uint64_t key, uint32_t counts, const char *text)
{
	struct net_policy_text t = { .counts = counts };

	snprintf(t.text, sizeof(t.text), "%s", text);
	if (n->texts >= 0)
		update_map(n->texts, &key, &t);
}

static void put_head(struct net_policy *n)
{
	int counts = instance_map(n, "inst_net_counts");
	struct bpf_map_info info = { 0 };
	uint32_t len = sizeof(info);

	if (counts < 0 || bpf_map_get_info_by_fd(counts, &info, &len) < 0)
		return;
	n->texts = create_map(BPF_MAP_TYPE_HASH, NET_POLICY_TEXTS_NAME, sizeof(uint64_t),
			      sizeof(struct net_policy_text), NET_POLICY_TEXTS, BPF_F_NO_PREALLOC);
	put_text(n, NET_POLICY_HEAD, info.id, conf_of(n)->name);
}

static void publish_rule(const struct net_policy *n, uint32_t line, const char *text)
{
	uint64_t key = (uint64_t)n->generation << 32 | line;

	probe_env_inject_name(n->p->env, SONDE_NAME_POLICY_RULE, key, text);
	put_text(n, key, 0, text);
}

static void publish_names(const struct net_policy *n)
{
	const struct policy *rules = n->rules;
	char text[512];

	for (size_t i = 0; i < rules->rules.len; i++)
		publish_rule(n, rules->rules.items[i].line, rules->rules.items[i].text);
	for (enum policy_dir d = 0; d < POLICY_DIR__MAX; d++) {
		if (!rules->fallback_line[d])
			continue;
		snprintf(text, sizeof(text), "default %s", policy_action_name(rules->fallback[d]));
		publish_rule(n, rules->fallback_line[d], text);
	}
	publish_rule(n, 0, "default allow");
	probe_env_inject_name(n->p->env, SONDE_NAME_SOURCE_FILE, NET_POLICY_FILE, conf_of(n)->name);
}

/* ---- life ---- */

static void close_policy(void *part)
{
	struct net_policy *n = part;

	if (!n)
		return;
	policy_free(n->rules);
	policy_table_free(n->table);
	cleanup_close(&n->texts);
	free(n);
}
DEFINE_CLEANUP(struct net_policy *, close_policy)

static int open_policy(struct net_parts *all, void **ret, struct err *err)
{
	_cleanup_(close_policyp) struct net_policy *n = calloc(1, sizeof(*n));
	int r;

	if (!n)
		return err_errno(err, -ENOMEM, "cannot allocate the rules");
	n->p = all->p;
	n->setup = &all->setup;
	n->texts = -1;
	r = read_rules(n, conf_of(n)->text, &n->rules, &n->table, err);
	if (r < 0)
		return r;
	n->words = MAX(WORDS_MIN, n->table->head.n_words);
	*ret = TAKE_PTR(n);
	return 0;
}

const struct net_part net_policy_part = { .open = open_policy, .close = close_policy };

static void free_skel(void *skel)
{
	net_policy_bpf__destroy(skel);
}

static int load(struct net_policy *n, uint32_t netns, struct net_policy_bpf *skel, struct err *err)
{
	const struct net_policy_conf *c = conf_of(n);
	uint32_t report = c->report;
	int sets, r = net_setup_apply(n->setup, n->p, skel->obj, netns, err);

	if (r < 0)
		return r;
	probe_rodata_set(skel->obj, "net_policy_report", &report, sizeof(report));
	probe_rodata_set(skel->obj, "net_policy_words", &n->words, sizeof(n->words));
	/* template of the inner maps */
	sets = create_map(BPF_MAP_TYPE_ARRAY, "policy_sets", 4, n->words * 8, 1, INNER_MAP);
	r = sets < 0 ? sets : bpf_map__set_inner_map_fd(skel->maps.inst_net_policy_sets, sets);
	if (r >= 0)
		r = probe_env_load(n->p->env, skel->obj, err);
	else
		err_errno(err, r, "cannot create the tables of the rules");
	cleanup_close(&sets);
	return r;
}

int net_policy_load(const struct net_parts *all, uint32_t netns, struct net_tc_progs *ret, struct err *err)
{
	struct net_policy *n = all->part[NET_PART_POLICY];
	struct net_policy_bpf *skel = net_policy_bpf__open();
	int r = skel ? load(n, netns, skel, err) : err_errno(err, -errno, "cannot open the programs of the rules");

	if (r >= 0 && !n->generation) {	/* first namespace; the others share the tables */
		r = install(n, n->table);
		if (r < 0) {
			err_errno(err, r, "cannot load the rules into the kernel");
		} else {
			put_head(n);
			publish_names(n);
		}
	}
	if (r < 0) {
		net_policy_bpf__destroy(skel);
		return r;
	}
	*ret = (struct net_tc_progs){
		.fd = { { bpf_program__fd(skel->progs.sonde_rule_i_l2),
			  bpf_program__fd(skel->progs.sonde_rule_o_l2) },
			{ bpf_program__fd(skel->progs.sonde_rule_i_l3),
			  bpf_program__fd(skel->progs.sonde_rule_o_l3) } },
		.points_fd = bpf_map__fd(skel->maps.net_points), .local_fd = bpf_map__fd(skel->maps.inst_net_local),
		.skel = skel, .free = free_skel,
	};
	return 0;
}

int net_policy_replace(struct net_policy *n, const char *text, struct err *err)
{
	_cleanup_(policy_table_freep) struct policy_table *table = NULL;
	_cleanup_(policy_freep) struct policy *rules = NULL;
	int r = read_rules(n, text, &rules, &table, err);

	if (r < 0)
		return r;
	if (table->head.n_words > n->words)
		return err_set(err, -E2BIG, "%s: %zu rules exceed the %u that a reload allows; restart sonde policy",
			       conf_of(n)->name, rules->rules.len, n->words * 64);
	r = install(n, table);
	if (r < 0)
		return err_errno(err, r, "cannot load the rules into the kernel");
	policy_free(n->rules);
	policy_table_free(n->table);
	n->rules = TAKE_PTR(rules);
	n->table = TAKE_PTR(table);
	publish_names(n);
	return 0;
}
