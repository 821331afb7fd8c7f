// SPDX-License-Identifier: GPL-2.0-or-later
#include "policy/table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "policy/policy.h"

_Static_assert(POLICY_RULES_MAX == SONDE_POLICY_WORDS * 64, "one bit for each rule");
_Static_assert((int)POLICY_DENY == SONDE_POLICY_DENY && (int)POLICY_AUDIT == SONDE_POLICY_AUDIT, "one numbering");
_Static_assert((int)POLICY_FRAGMENT == SONDE_POLICY_STATE_FRAGMENT && (int)POLICY_CUT == SONDE_POLICY_STATE_CUT,
	       "one numbering");

/* One value of one field of a packet; its set holds the rules for which @matches is true. */
struct criterion {
	bool (*matches)(const struct policy_rule *r, const struct criterion *c);
	enum policy_dir dir;
	enum policy_state state;
	uint8_t family;
	int type;		/* SONDE_POLICY_*, or a protocol number */
	struct ipnet net;
	struct policy_comm comm;
	uint32_t pid, port;
};

struct build {
	const struct policy *p;
	struct policy_table *t;
	policy_cgroup_fn cgroup;
	void *ctx;
	uint64_t *set;			/* scratch, head.n_words */
	VEC(uint64_t) cgroups;		/* the ids of the paths of all rules, in their order */
	size_t cap_sets;
	struct map exact_done;
};

/* ---- sets ---- */

/* Returns the number of the set equal to b->set, added if new, or -ENOMEM. */
static int64_t intern_set(struct build *b)
{
	size_t bytes = b->t->head.n_words * sizeof(uint64_t);
	bool new = false;
	uint32_t *number = map_add(&b->t->numbers, b->set, &new);

	if (!number)
		return -ENOMEM;
	if (!new)
		return *number;
	if (vec_grow_raw((void **)&b->t->sets, &b->cap_sets, b->t->n_sets + 1, bytes) < 0)
		return -ENOMEM;
	memcpy((char *)b->t->sets + b->t->n_sets * bytes, b->set, bytes);
	*number = b->t->n_sets;
	return b->t->n_sets++;
}

static int64_t make_set(struct build *b, const struct criterion *c)
{
	memset(b->set, 0, b->t->head.n_words * sizeof(uint64_t));
	for (size_t i = 0; i < b->p->rules.len; i++)
		if (c->matches(&b->p->rules.items[i], c))
			b->set[i / 64] |= 1ull << i % 64;
	return intern_set(b);
}

static int add_set(struct build *b, const struct criterion *c, uint32_t *ret)
{
	int64_t n = make_set(b, c);

	if (n < 0)
		return (int)n;
	*ret = (uint32_t)n;
	return 0;
}

/* ---- direction, family, state; protocol ---- */

static bool kind_matches(const struct policy_rule *r, const struct criterion *c)
{
	bool l4 = r->sports.len || r->dports.len;

	if (!r->dirs[c->dir] || (r->family && r->family != c->family))
		return false;
	if (r->fragment)
		return c->state == POLICY_FRAGMENT;
	if (r->established)
		return c->state == POLICY_ESTABLISHED;
	return !l4 || c->state == POLICY_WHOLE || c->state == POLICY_ESTABLISHED;
}

static int add_kinds(struct build *b)
{
	int r = 0;

	for (enum policy_dir dir = 0; dir < POLICY_DIR__MAX; dir++)
		for (int ip6 = 0; ip6 < 2; ip6++)
			for (enum policy_state s = 0; r >= 0 && s < POLICY_STATE__MAX; s++) {
				const struct criterion c = { .matches = kind_matches, .dir = dir, .state = s,
							     .family = ip6 ? SONDE_IPV6 : SONDE_IPV4 };

				r = add_set(b, &c, &b->t->head.kind[dir][ip6][s]);
			}
	return r;
}

static bool proto_matches(const struct policy_rule *r, const struct criterion *c)
{
	return r->proto == POLICY_ANY_PROTO || r->proto == c->type;
}

static int add_protos(struct build *b)
{
	int r = 0;

	for (int proto = 0; r >= 0 && proto < 256; proto++) {
		const struct criterion c = { .matches = proto_matches, .type = proto };

		r = add_set(b, &c, &b->t->head.proto[proto]);
	}
	return r;
}

/* ---- addresses ---- */

static bool net_matches(const struct policy_rule *r, const struct criterion *c)
{
	const struct ipnet *nets = c->type == SONDE_POLICY_SRC ? r->from.items : r->to.items;
	size_t n = c->type == SONDE_POLICY_SRC ? r->from.len : r->to.len;

	return !n || FIND_ITEM(it, nets, n, it->bits <= c->net.bits && ipaddr_ipnet_contains(it, &c->net.ip));
}

static int add_net(struct build *b, int type, const struct ipnet *net, struct map *done)
{
	struct policy_prefix_row row = {
		.key = { .bits = SONDE_POLICY_PREFIX + net->bits, .ask = (uint8_t)type, .family = net->ip.family },
	};
	const struct criterion c = { .matches = net_matches, .type = type, .net = *net };
	int r;

	memcpy(row.key.addr, net->ip.addr, sizeof(row.key.addr));
	r = map_note(done, &row.key);
	if (r <= 0)
		return r;
	r = add_set(b, &c, &row.set);
	if (r < 0 || vec_push(&b->t->prefixes, row) < 0)
		return r < 0 ? r : -ENOMEM;
	return 0;
}

static int add_nets(struct build *b, int type)
{
	static const struct ipnet all[] = { { .ip.family = SONDE_IPV4 }, { .ip.family = SONDE_IPV6 } };
	struct map done;
	int r = 0;

	map_init(&done, sizeof(struct sonde_policy_prefix), 1);
	vec_each(rule, &b->p->rules) {
		const struct ipnet *nets = type == SONDE_POLICY_SRC ? rule->from.items : rule->to.items;
		size_t n = type == SONDE_POLICY_SRC ? rule->from.len : rule->to.len;

		if (n)
			b->t->head.asks |= 1u << type;
		for (size_t k = 0; r >= 0 && k < n; k++)
			r = add_net(b, type, &nets[k], &done);
	}
	/* an address outside all networks matches the rules without this criterion */
	for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(all); i++)
		r = add_net(b, type, &all[i], &done);
	map_fini(&done);
	return r;
}

/* ---- ports ---- */

static bool port_matches(const struct policy_rule *r, const struct criterion *c)
{
	const struct policy_ports *ports = c->type == SONDE_POLICY_SPORT ? r->sports.items : r->dports.items;
	size_t n = c->type == SONDE_POLICY_SPORT ? r->sports.len : r->dports.len;

	return !n || FIND_ITEM(it, ports, n, c->port >= it->from && c->port <= it->to);
}

/* Marks the first port of each range and the first one after it: ports between two marks share a set. */
static bool mark_ports(const struct policy *p, int type, uint8_t *marks)
{
	bool any = false;

	vec_each(r, &p->rules) {
		const struct policy_ports *ports = type == SONDE_POLICY_SPORT ? r->sports.items : r->dports.items;
		size_t n = type == SONDE_POLICY_SPORT ? r->sports.len : r->dports.len;

		for (size_t k = 0; k < n; k++) {
			marks[ports[k].from] = marks[ports[k].to + 1] = 1;
			any = true;
		}
	}
	marks[0] = 1;
	return any;
}

static int add_ports(struct build *b, int type)
{
	_cleanup_free_ uint8_t *marks = calloc(SONDE_POLICY_PORTS + 1, 1);
	uint32_t **ports = &b->t->ports[type == SONDE_POLICY_DPORT], set = 0;
	int r = 0;

	if (!marks)
		return -ENOMEM;
	if (!mark_ports(b->p, type, marks))
		return 0;
	*ports = calloc(SONDE_POLICY_PORTS, sizeof(**ports));
	if (!*ports)
		return -ENOMEM;
	b->t->head.asks |= 1u << type;
	for (uint32_t port = 0; r >= 0 && port < SONDE_POLICY_PORTS; port++) {
		const struct criterion c = { .matches = port_matches, .type = type, .port = port };

		if (marks[port])
			r = add_set(b, &c, &set);
		(*ports)[port] = set;
	}
	return r;
}

/* ---- processes ---- */

static bool none_matches(const struct policy_rule *r, const struct criterion *c)
{
	return c->type == SONDE_POLICY_CGROUP ? !r->cgroups.len : c->type == SONDE_POLICY_COMM ? !r->comms.len :
	       c->type == SONDE_POLICY_PID ? !r->pids.len : true;
}

static bool comm_matches(const struct policy_rule *r, const struct criterion *c)
{
	return !r->comms.len || vec_find(it, &r->comms, !memcmp(it, &c->comm, sizeof(c->comm)));
}

static bool pid_matches(const struct policy_rule *r, const struct criterion *c)
{
	return !r->pids.len || vec_find(it, &r->pids, *it == c->pid);
}

/* 1 = added, 0 = the table has the key already. */
static int new_exact(struct build *b, int type, const void *key, size_t len, struct policy_exact_row **ret)
{
	struct policy_exact_row row = { .key.ask = (uint32_t)type };
	bool new = false;

	memcpy(row.key.key, key, len);
	if (!map_add(&b->exact_done, &row.key, &new) || vec_grow(&b->t->exacts) < 0)
		return -ENOMEM;
	if (!new)
		return 0;
	*ret = &b->t->exacts.items[b->t->exacts.len++];
	**ret = row;
	b->t->head.asks |= 1u << type;
	return 1;
}

static int add_exact(struct build *b, const struct criterion *c, const void *key, size_t len)
{
	struct policy_exact_row *row;
	int r = new_exact(b, c->type, key, len, &row);

	return r > 0 ? add_set(b, c, &row->set) : r;
}

static int add_processes(struct build *b)
{
	int r = 0;

	for (int type = 0; r >= 0 && type < SONDE_POLICY_ASKS; type++) {
		const struct criterion c = { .matches = none_matches, .type = type };

		r = add_set(b, &c, &b->t->head.none[type]);
	}
	vec_each(rule, &b->p->rules) {
		for (size_t k = 0; r >= 0 && k < rule->comms.len; k++) {
			const struct criterion c = { .matches = comm_matches, .type = SONDE_POLICY_COMM,
					       .comm = rule->comms.items[k] };

			r = add_exact(b, &c, &c.comm, sizeof(c.comm));
		}
		for (size_t k = 0; r >= 0 && k < rule->pids.len; k++) {
			const struct criterion c = { .matches = pid_matches, .type = SONDE_POLICY_PID,
					       .pid = rule->pids.items[k] };

			r = add_exact(b, &c, &c.pid, sizeof(c.pid));
		}
	}
	return r;
}

static int add_level(struct sonde_policy_head *h, uint32_t level)
{
	for (uint32_t i = 0; i < h->n_levels; i++)
		if (h->levels[i] == level)
			return 0;
	if (level > UINT8_MAX || h->n_levels == SONDE_POLICY_LEVELS)
		return -E2BIG;
	h->levels[h->n_levels++] = (uint8_t)level;
	return 0;
}

/* Runs after all paths are resolved, because two paths may name the same cgroup. */
static int add_cgroup(struct build *b, uint64_t id)
{
	struct policy_exact_row *row;
	size_t next = 0;
	int64_t n;
	int r = new_exact(b, SONDE_POLICY_CGROUP, &id, sizeof(id), &row);

	if (r <= 0)
		return r;
	memset(b->set, 0, b->t->head.n_words * sizeof(uint64_t));
	for (size_t i = 0; i < b->p->rules.len; i++) {
		const struct policy_rule *rule = &b->p->rules.items[i];
		bool matches = !rule->cgroups.len;

		for (size_t k = 0; k < rule->cgroups.len; k++)
			matches |= b->cgroups.items[next++] == id;
		if (matches)
			b->set[i / 64] |= 1ull << i % 64;
	}
	n = intern_set(b);
	row->set = n < 0 ? 0 : (uint32_t)n;
	return n < 0 ? (int)n : 0;
}

static int find_cgroup(struct build *b, const struct policy_rule *rule, const char *path, struct err *err)
{
	uint32_t level = 0;
	uint64_t id = 0;
	int r = b->cgroup ? b->cgroup(b->ctx, path, &id, &level) : -ENOENT;

	if (r < 0)
		return err_set(err, -EINVAL, "%u: cgroup %s does not exist", rule->line, path);
	if (add_level(&b->t->head, level) < 0)
		return err_set(err, -EINVAL, "%u: cgroups are at more than %u different depths", rule->line,
			       SONDE_POLICY_LEVELS);
	return vec_push(&b->cgroups, id);
}

static int add_cgroups(struct build *b, struct err *err)
{
	int r = 0;

	vec_each(rule, &b->p->rules) {
		for (size_t k = 0; r >= 0 && k < rule->cgroups.len; k++)
			r = find_cgroup(b, rule, rule->cgroups.items[k], err);
	}
	for (size_t i = 0; r >= 0 && i < b->cgroups.len; i++)
		r = add_cgroup(b, b->cgroups.items[i]);
	return r;
}

/* ---- rules ---- */

static int add_rules(struct build *b)
{
	vec_each(r, &b->p->rules) {
		if (vec_grow(&b->t->rules) < 0)
			return -ENOMEM;
		b->t->rules.items[b->t->rules.len++] = (struct sonde_policy_rule){
			.line = r->line, .action = (uint8_t)r->action, .match = policy_match_kind(r),
		};
	}
	for (enum policy_dir d = 0; d < POLICY_DIR__MAX; d++)
		b->t->head.fallback[d] = (struct sonde_policy_rule){
			.line = b->p->fallback_line[d], .action = (uint8_t)b->p->fallback[d],
		};
	return 0;
}

static int build(struct build *b, struct err *err)
{
	int r = add_kinds(b);

	if (r >= 0)
		r = add_protos(b);
	for (int type = SONDE_POLICY_SRC; r >= 0 && type <= SONDE_POLICY_DST; type++)
		r = add_nets(b, type);
	for (int type = SONDE_POLICY_SPORT; r >= 0 && type <= SONDE_POLICY_DPORT; type++)
		r = add_ports(b, type);
	if (r >= 0)
		r = add_processes(b);
	if (r >= 0)
		r = add_cgroups(b, err);
	return r < 0 ? r : add_rules(b);
}

int policy_table_compile(const struct policy *p, policy_cgroup_fn cgroup, void *ctx, struct policy_table **ret,
			 struct err *err)
{
	uint32_t words = MAX((uint32_t)((p->rules.len + 63) / 64), 1u);
	struct build b = { .p = p, .cgroup = cgroup, .ctx = ctx, .t = calloc(1, sizeof(*b.t)) };
	int r = -ENOMEM;

	b.set = calloc(words, sizeof(uint64_t));
	if (b.t && b.set) {
		b.t->head.n_words = words;
		map_init(&b.exact_done, sizeof(struct sonde_policy_exact), 1);
		map_init(&b.t->numbers, words * (uint32_t)sizeof(uint64_t), sizeof(uint32_t));
		r = build(&b, err);
	}
	free(b.set);
	vec_fini(&b.cgroups);
	map_fini(&b.exact_done);
	if (r >= 0) {
		*ret = b.t;
		return 0;
	}
	policy_table_free(b.t);
	return r == -ENOMEM ? err_errno(err, r, "cannot compile the rules") : r;
}

void policy_table_free(struct policy_table *t)
{
	if (!t)
		return;
	map_fini(&t->numbers);
	free(t->sets);
	free(t->ports[0]);
	free(t->ports[1]);
	vec_fini(&t->prefixes);
	vec_fini(&t->exacts);
	vec_fini(&t->rules);
	free(t);
}
