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

_Static_assert(POLICY_RULES_MAX == SONDE_POLICY_WORDS * 64, "a rule is a bit");
_Static_assert((int)POLICY_DENY == SONDE_POLICY_DENY && (int)POLICY_AUDIT == SONDE_POLICY_AUDIT, "one numbering");
_Static_assert((int)POLICY_FRAGMENT == SONDE_POLICY_STATE_FRAGMENT && (int)POLICY_CUT == SONDE_POLICY_STATE_CUT,
	       "one numbering");

/* What a set is made for: the rules that @fits says yes to. */
struct ask {
	bool (*fits)(const struct policy_rule *r, const struct ask *a);
	enum policy_dir dir;
	enum policy_state state;
	uint8_t family;
	int what;		/* SONDE_POLICY_*, a protocol, a port */
	struct ipnet net;
	uint64_t cgroup;
	struct policy_comm comm;
	uint32_t pid;
};

struct build {
	const struct policy *p;
	struct policy_table *t;
	policy_cgroup_fn cgroup;
	void *ctx;
	uint64_t *room;			/* one set */
	VEC(uint64_t) cgroups;		/* ids, one for each path of each rule in order */
	size_t cap_sets;
	struct map exact_done;
};

/* ---- sets ---- */

/* The number of the set that stands in b->room, or -ENOMEM. */
static int64_t number_of(struct build *b)
{
	size_t bytes = b->t->head.n_words * sizeof(uint64_t);
	bool new = false;
	uint32_t *number = map_add(&b->t->known, b->room, &new);

	if (!number)
		return -ENOMEM;
	if (!new)
		return *number;
	if (vec_grow_raw((void **)&b->t->sets, &b->cap_sets, b->t->n_sets + 1, bytes) < 0)
		return -ENOMEM;
	memcpy((char *)b->t->sets + b->t->n_sets * bytes, b->room, bytes);
	*number = b->t->n_sets;
	return b->t->n_sets++;
}

static int64_t set_of(struct build *b, const struct ask *a)
{
	memset(b->room, 0, b->t->head.n_words * sizeof(uint64_t));
	for (size_t i = 0; i < b->p->rules.len; i++)
		if (a->fits(&b->p->rules.items[i], a))
			b->room[i / 64] |= 1ull << i % 64;
	return number_of(b);
}

static int put_set(struct build *b, const struct ask *a, uint32_t *ret)
{
	int64_t n = set_of(b, a);

	if (n < 0)
		return (int)n;
	*ret = (uint32_t)n;
	return 0;
}

/* ---- direction, family, state; protocol ---- */

static bool kind_fits(const struct policy_rule *r, const struct ask *a)
{
	bool l4 = r->sports.len || r->dports.len;

	if (!r->dirs[a->dir] || (r->family && r->family != a->family))
		return false;
	if (r->fragment)
		return a->state == POLICY_FRAGMENT;
	if (r->established)
		return a->state == POLICY_ESTABLISHED;
	return !l4 || a->state == POLICY_WHOLE || a->state == POLICY_ESTABLISHED;
}

static int put_kinds(struct build *b)
{
	int r = 0;

	for (enum policy_dir dir = 0; dir < POLICY_DIR__MAX; dir++)
		for (int ip6 = 0; ip6 < 2; ip6++)
			for (enum policy_state s = 0; r >= 0 && s < POLICY_STATE__MAX; s++) {
				const struct ask a = { .fits = kind_fits, .dir = dir, .state = s,
						       .family = ip6 ? 6 : 4 };

				r = put_set(b, &a, &b->t->head.kind[dir][ip6][s]);
			}
	return r;
}

static bool proto_fits(const struct policy_rule *r, const struct ask *a)
{
	return r->proto == POLICY_ANY_PROTO || r->proto == a->what;
}

static int put_protos(struct build *b)
{
	int r = 0;

	for (int proto = 0; r >= 0 && proto < 256; proto++) {
		const struct ask a = { .fits = proto_fits, .what = proto };

		r = put_set(b, &a, &b->t->head.proto[proto]);
	}
	return r;
}

/* ---- addresses ---- */

static bool net_fits(const struct policy_rule *r, const struct ask *a)
{
	const struct ipnet *nets = a->what == SONDE_POLICY_SRC ? r->from.items : r->to.items;
	size_t n = a->what == SONDE_POLICY_SRC ? r->from.len : r->to.len;

	for (size_t i = 0; i < n; i++)
		if (nets[i].bits <= a->net.bits && ipnet_contains(&nets[i], &a->net.ip))
			return true;
	return !n;
}

static int put_net(struct build *b, int what, const struct ipnet *net, struct map *done)
{
	struct policy_prefix_row row = {
		.key = { .bits = SONDE_POLICY_PREFIX + net->bits, .ask = (uint8_t)what, .family = net->ip.family },
	};
	const struct ask a = { .fits = net_fits, .what = what, .net = *net };
	bool new = false;
	int r;

	memcpy(row.key.addr, net->ip.addr, sizeof(row.key.addr));
	if (!map_add(done, &row.key, &new))
		return -ENOMEM;
	if (!new)
		return 0;
	r = put_set(b, &a, &row.set);
	if (r < 0 || vec_grow(&b->t->prefixes) < 0)
		return r < 0 ? r : -ENOMEM;
	b->t->prefixes.items[b->t->prefixes.len++] = row;
	return 0;
}

static int put_nets(struct build *b, int what)
{
	static const struct ipnet all[] = { { .ip.family = 4 }, { .ip.family = 6 } };
	struct map done;
	int r = 0;

	map_init(&done, sizeof(struct sonde_policy_prefix), 1);
	for (size_t i = 0; i < b->p->rules.len; i++) {
		const struct policy_rule *rule = &b->p->rules.items[i];
		const struct ipnet *nets = what == SONDE_POLICY_SRC ? rule->from.items : rule->to.items;
		size_t n = what == SONDE_POLICY_SRC ? rule->from.len : rule->to.len;

		if (n)
			b->t->head.asks |= 1u << what;
		for (size_t k = 0; r >= 0 && k < n; k++)
			r = put_net(b, what, &nets[k], &done);
	}
	/* what no network holds finds the rules that do not mind */
	for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(all); i++)
		r = put_net(b, what, &all[i], &done);
	map_fini(&done);
	return r;
}

/* ---- ports ---- */

static bool port_fits(const struct policy_rule *r, const struct ask *a)
{
	const struct policy_ports *ports = a->what == SONDE_POLICY_SPORT ? r->sports.items : r->dports.items;
	size_t n = a->what == SONDE_POLICY_SPORT ? r->sports.len : r->dports.len;

	for (size_t i = 0; i < n; i++)
		if (a->pid >= ports[i].from && a->pid <= ports[i].to)
			return true;
	return !n;
}

/* Marks where ranges begin and behind where they end: between marks all ports are alike. */
static bool mark_ports(const struct policy *p, int what, uint8_t *marks)
{
	bool any = false;

	for (size_t i = 0; i < p->rules.len; i++) {
		const struct policy_rule *r = &p->rules.items[i];
		const struct policy_ports *ports = what == SONDE_POLICY_SPORT ? r->sports.items : r->dports.items;
		size_t n = what == SONDE_POLICY_SPORT ? r->sports.len : r->dports.len;

		for (size_t k = 0; k < n; k++) {
			marks[ports[k].from] = marks[ports[k].to + 1] = 1;
			any = true;
		}
	}
	marks[0] = 1;
	return any;
}

static int put_ports(struct build *b, int what)
{
	_cleanup_free_ uint8_t *marks = calloc(SONDE_POLICY_PORTS + 1, 1);
	uint32_t **ports = &b->t->ports[what == SONDE_POLICY_DPORT], set = 0;
	int r = 0;

	if (!marks)
		return -ENOMEM;
	if (!mark_ports(b->p, what, marks))
		return 0;
	*ports = calloc(SONDE_POLICY_PORTS, sizeof(**ports));
	if (!*ports)
		return -ENOMEM;
	b->t->head.asks |= 1u << what;
	for (uint32_t port = 0; r >= 0 && port < SONDE_POLICY_PORTS; port++) {
		const struct ask a = { .fits = port_fits, .what = what, .pid = port };

		if (marks[port])
			r = put_set(b, &a, &set);
		(*ports)[port] = set;
	}
	return r;
}

/* ---- processes ---- */

static bool none_fits(const struct policy_rule *r, const struct ask *a)
{
	return a->what == SONDE_POLICY_CGROUP ? !r->cgroups.len : a->what == SONDE_POLICY_COMM ? !r->comms.len :
	       a->what == SONDE_POLICY_PID ? !r->pids.len : true;
}

static bool comm_fits(const struct policy_rule *r, const struct ask *a)
{
	for (size_t i = 0; i < r->comms.len; i++)
		if (!memcmp(&r->comms.items[i], &a->comm, sizeof(a->comm)))
			return true;
	return !r->comms.len;
}

static bool pid_fits(const struct policy_rule *r, const struct ask *a)
{
	for (size_t i = 0; i < r->pids.len; i++)
		if (r->pids.items[i] == a->pid)
			return true;
	return !r->pids.len;
}

/* 1 = a row for it was made. */
static int new_exact(struct build *b, int what, const void *key, size_t len, struct policy_exact_row **ret)
{
	struct policy_exact_row row = { .key.ask = (uint32_t)what };
	bool new = false;

	memcpy(row.key.key, key, len);
	if (!map_add(&b->exact_done, &row.key, &new) || vec_grow(&b->t->exacts) < 0)
		return -ENOMEM;
	if (!new)
		return 0;
	*ret = &b->t->exacts.items[b->t->exacts.len++];
	**ret = row;
	b->t->head.asks |= 1u << what;
	return 1;
}

static int put_exact(struct build *b, const struct ask *a, const void *key, size_t len)
{
	struct policy_exact_row *row;
	int r = new_exact(b, a->what, key, len, &row);

	return r > 0 ? put_set(b, a, &row->set) : r;
}

static int put_processes(struct build *b)
{
	int r = 0;

	for (int what = 0; r >= 0 && what < SONDE_POLICY_ASKS; what++) {
		const struct ask a = { .fits = none_fits, .what = what };

		r = put_set(b, &a, &b->t->head.none[what]);
	}
	for (size_t i = 0; i < b->p->rules.len; i++) {
		const struct policy_rule *rule = &b->p->rules.items[i];

		for (size_t k = 0; r >= 0 && k < rule->comms.len; k++) {
			const struct ask a = { .fits = comm_fits, .what = SONDE_POLICY_COMM,
					       .comm = rule->comms.items[k] };

			r = put_exact(b, &a, &a.comm, sizeof(a.comm));
		}
		for (size_t k = 0; r >= 0 && k < rule->pids.len; k++) {
			const struct ask a = { .fits = pid_fits, .what = SONDE_POLICY_PID,
					       .pid = rule->pids.items[k] };

			r = put_exact(b, &a, &a.pid, sizeof(a.pid));
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

/* A cgroup's set is made after all paths are known: two may be one. */
static int put_cgroup(struct build *b, uint64_t id)
{
	struct policy_exact_row *row;
	size_t next = 0;
	int64_t n;
	int r = new_exact(b, SONDE_POLICY_CGROUP, &id, sizeof(id), &row);

	if (r <= 0)
		return r;
	memset(b->room, 0, b->t->head.n_words * sizeof(uint64_t));
	for (size_t i = 0; i < b->p->rules.len; i++) {
		const struct policy_rule *rule = &b->p->rules.items[i];
		bool fits = !rule->cgroups.len;

		for (size_t k = 0; k < rule->cgroups.len; k++)
			fits |= b->cgroups.items[next++] == id;
		if (fits)
			b->room[i / 64] |= 1ull << i % 64;
	}
	n = number_of(b);
	row->set = n < 0 ? 0 : (uint32_t)n;
	return n < 0 ? (int)n : 0;
}

static int find_cgroup(struct build *b, const struct policy_rule *rule, const char *path, struct err *err)
{
	uint32_t level = 0;
	uint64_t id = 0;
	int r = b->cgroup ? b->cgroup(b->ctx, path, &id, &level) : -ENOENT;

	if (r < 0)
		return err_set(err, -EINVAL, "%u: there is no cgroup %s here", rule->line, path);
	if (add_level(&b->t->head, level) < 0)
		return err_set(err, -EINVAL, "%u: cgroups of more than %u depths are named", rule->line,
			       SONDE_POLICY_LEVELS);
	if (vec_grow(&b->cgroups) < 0)
		return -ENOMEM;
	b->cgroups.items[b->cgroups.len++] = id;
	return 0;
}

static int put_cgroups(struct build *b, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < b->p->rules.len; i++) {
		const struct policy_rule *rule = &b->p->rules.items[i];

		for (size_t k = 0; r >= 0 && k < rule->cgroups.len; k++)
			r = find_cgroup(b, rule, rule->cgroups.items[k], err);
	}
	for (size_t i = 0; r >= 0 && i < b->cgroups.len; i++)
		r = put_cgroup(b, b->cgroups.items[i]);
	return r;
}

/* ---- rules ---- */

static int put_rules(struct build *b)
{
	for (size_t i = 0; i < b->p->rules.len; i++) {
		const struct policy_rule *r = &b->p->rules.items[i];

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
	int r = put_kinds(b);

	if (r >= 0)
		r = put_protos(b);
	for (int what = SONDE_POLICY_SRC; r >= 0 && what <= SONDE_POLICY_DST; what++)
		r = put_nets(b, what);
	for (int what = SONDE_POLICY_SPORT; r >= 0 && what <= SONDE_POLICY_DPORT; what++)
		r = put_ports(b, what);
	if (r >= 0)
		r = put_processes(b);
	if (r >= 0)
		r = put_cgroups(b, err);
	return r < 0 ? r : put_rules(b);
}

int policy_compile(const struct policy *p, policy_cgroup_fn cgroup, void *ctx, struct policy_table **ret,
		   struct err *err)
{
	uint32_t words = MAX((uint32_t)((p->rules.len + 63) / 64), 1u);
	struct build b = { .p = p, .cgroup = cgroup, .ctx = ctx, .t = calloc(1, sizeof(*b.t)) };
	int r = -ENOMEM;

	b.room = calloc(words, sizeof(uint64_t));
	if (b.t && b.room) {
		b.t->head.n_words = words;
		map_init(&b.exact_done, sizeof(struct sonde_policy_exact), 1);
		map_init(&b.t->known, words * (uint32_t)sizeof(uint64_t), sizeof(uint32_t));
		r = build(&b, err);
	}
	free(b.room);
	vec_fini(&b.cgroups);
	map_fini(&b.exact_done);
	if (r >= 0) {
		*ret = b.t;
		return 0;
	}
	policy_table_free(b.t);
	return r == -ENOMEM ? err_errno(err, r, "cannot keep the tables of the rules") : r;
}

void policy_table_free(struct policy_table *t)
{
	if (!t)
		return;
	map_fini(&t->known);
	free(t->sets);
	free(t->ports[0]);
	free(t->ports[1]);
	vec_fini(&t->prefixes);
	vec_fini(&t->exacts);
	vec_fini(&t->rules);
	free(t);
}
