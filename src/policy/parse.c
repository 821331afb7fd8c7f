// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Parses rule files. A rule is an action and clauses, each at most once. A rule that no packet can match is an error,
 * as it is a typing mistake.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/str.h"
#include "policy/parse.h"

static const char *const action_names[POLICY_ACTION__MAX] = {
	[POLICY_ALLOW] = "allow", [POLICY_DENY] = "deny", [POLICY_AUDIT] = "audit",
};

const char *policy_action_name(enum policy_action a)
{
	return action_names[a];
}

static const struct { const char *name; uint8_t family; int proto; } protos[] = {
	{ "ip", 0, POLICY_ANY_PROTO }, { "ip4", 4, POLICY_ANY_PROTO }, { "ip6", 6, POLICY_ANY_PROTO },
	{ "tcp", 0, IPPROTO_TCP }, { "udp", 0, IPPROTO_UDP }, { "sctp", 0, IPPROTO_SCTP },
	{ "icmp", 4, IPPROTO_ICMP }, { "icmp6", 6, IPPROTO_ICMPV6 },
};

/* ---- values ---- */

/* Copies the word as a C string; -EINVAL if @t is not a word or does not fit. */
static int token_text(const struct policy_token *t, char *ret, size_t cap)
{
	const bool is_word = t->kind == POLICY_WORD && t->len && !memchr(t->text, 0, t->len);

	return is_word && str_copy(ret, cap, t->text, t->len) ? 0 : -EINVAL;
}

static int parse_number(const char *text, uint32_t max, uint32_t *ret)
{
	uint32_t n;

	if (str_to_u32(text, 10, &n) < 0 || n > max)
		return -EINVAL;
	*ret = n;
	return 0;
}

/* The address with the host bits cleared. */
static struct ipaddr mask_address(const struct ipnet *n)
{
	struct ipaddr ip = n->ip;

	for (unsigned bit = n->bits; bit < 8 * ipaddr_bytes(ip.family); bit++)
		ip.addr[bit / 8] &= (uint8_t)~(0x80u >> bit % 8);
	return ip;
}

static int parse_net(const struct policy_token *t, struct ipnet *ret, struct err *err)
{
	struct ipaddr net;
	char text[64];

	if (token_text(t, text, sizeof(text)) < 0 || ipaddr_ipnet_parse(text, ret) < 0)
		return policy_lex_error(t, err,
					"expected an address or a network, such as 10.0.0.0/8 or 2001:db8::/32");
	net = mask_address(ret);
	if (ipaddr_equal(&net, &ret->ip))
		return 0;
	return policy_lex_error(t, err, "host bits are set behind /%u; a single address has /%u or no prefix",
				ret->bits, 8 * ipaddr_bytes(ret->ip.family));
}

static int add_net(struct policy_reader *rd, struct err *err)
{
	struct ipnet net;
	int r = parse_net(&rd->lex.token, &net, err);

	if (r < 0)
		return r;
	if (rd->list == LIST_FROM)
		return vec_push(&rd->rule.from, net);
	return vec_push(&rd->rule.to, net);
}

/* "80", "1024-65535"; @max 255 for ICMP types. */
static int parse_range(const struct policy_token *t, uint32_t max, const char *what, struct policy_ports *ret,
		       struct err *err)
{
	char text[32], *dash;
	uint32_t from, to;

	if (token_text(t, text, sizeof(text)) < 0)
		return policy_lex_error(t, err, "expected %s, or a range FROM-TO", what);
	dash = strchr(text, '-');
	if (dash)
		*dash = 0;
	if (parse_number(text, max, &from) < 0 || (dash && parse_number(dash + 1, max, &to) < 0))
		return policy_lex_error(t, err, "expected %s from 0 to %u, or a range FROM-TO", what, max);
	if (!dash)
		to = from;
	if (to < from)
		return policy_lex_error(t, err, "the end of the range is below its start");
	*ret = (struct policy_ports){ (uint16_t)from, (uint16_t)to };
	return 0;
}

static int add_range(struct policy_reader *rd, struct err *err)
{
	struct policy_ports range;
	bool type = rd->list == LIST_TYPE;
	int r = parse_range(&rd->lex.token, type ? 255 : 65535, type ? "an ICMP type" : "a port", &range, err);

	if (r < 0)
		return r;
	if (rd->list == LIST_SPORT)
		return vec_push(&rd->rule.sports, range);
	return vec_push(&rd->rule.dports, range);
}

static int add_cgroup(struct policy_reader *rd, struct err *err)
{
	const struct policy_token *t = &rd->lex.token;
	size_t len = t->len;
	_cleanup_free_ char *path = NULL;

	if (t->kind != POLICY_WORD || !len || t->text[0] != '/' || memchr(t->text, 0, len) ||
	    memmem(t->text, len, "/../", 4) || (len >= 3 && !memcmp(t->text + len - 3, "/..", 3)))
		return policy_lex_error(t, err, "expected a path below the cgroup2 mount, such as /system.slice");
	while (len > 1 && t->text[len - 1] == '/')
		len--;
	path = strndup(t->text, len);
	return path ? vec_push(&rd->rule.cgroups, TAKE_PTR(path)) : -ENOMEM;
}

static int add_comm(struct policy_reader *rd, struct err *err)
{
	struct policy_comm comm = { "" };

	if (token_text(&rd->lex.token, comm.name, sizeof(comm.name)) < 0)
		return policy_lex_error(&rd->lex.token, err, "expected a command name of 1 to 15 bytes");
	return vec_push(&rd->rule.comms, comm);
}

static int add_pid(struct policy_reader *rd, struct err *err)
{
	char text[16];
	uint32_t pid;

	if (token_text(&rd->lex.token, text, sizeof(text)) < 0 || parse_number(text, INT32_MAX, &pid) < 0 ||
	    !pid)
		return policy_lex_error(&rd->lex.token, err, "expected a process id");
	return vec_push(&rd->rule.pids, pid);
}

/* ---- clauses ---- */

static const struct {
	const char *word;
	int (*add)(struct policy_reader *rd, struct err *err);
} lists[LIST__MAX] = {
	[LIST_FROM] = { "from", add_net }, [LIST_TO] = { "to", add_net }, [LIST_SPORT] = { "sport", add_range },
	[LIST_PORT] = { "port", add_range }, [LIST_TYPE] = { "type", add_range },
	[LIST_CGROUP] = { "cgroup", add_cgroup }, [LIST_COMM] = { "comm", add_comm }, [LIST_PID] = { "pid", add_pid },
};

static int mark_clause(struct policy_reader *rd, unsigned clause, const struct policy_token *t, struct err *err)
{
	if (rd->seen & 1u << clause)
		return policy_lex_error(t, err, "duplicate clause in this rule");
	rd->seen |= 1u << clause;
	return 0;
}

/* A list of "any" alone stays empty. */
static int read_list(struct policy_reader *rd, struct err *err)
{
	bool net = rd->list == LIST_FROM || rd->list == LIST_TO;
	int r = policy_lex_next(&rd->lex, err);

	if (r >= 0 && net && policy_lex_token_is(&rd->lex.token, "any"))
		return policy_lex_next(&rd->lex, err);
	for (;;) {
		if (r >= 0 && rd->items++ >= POLICY_ITEMS_MAX)
			r = policy_lex_error(&rd->lex.token, err, "a file has at most %u items in its lists",
					     POLICY_ITEMS_MAX);
		if (r >= 0)
			r = lists[rd->list].add(rd, err);
		if (r >= 0)
			r = policy_lex_next(&rd->lex, err);
		if (r < 0 || rd->lex.token.kind != POLICY_COMMA)
			return r;
		r = policy_lex_next(&rd->lex, err);
	}
}

static int read_proto_number(struct policy_reader *rd, struct err *err)
{
	uint32_t n;
	char text[8];
	int r = policy_lex_next(&rd->lex, err);

	if (r < 0)
		return r;
	if (token_text(&rd->lex.token, text, sizeof(text)) < 0 || parse_number(text, 255, &n) < 0)
		return policy_lex_error(&rd->lex.token, err, "expected a protocol number from 0 to 255");
	rd->rule.proto = (int)n;
	return policy_lex_next(&rd->lex, err);
}

/* 1 = read a protocol, 0 = the token is something else. */
static int read_proto(struct policy_reader *rd, struct err *err)
{
	const struct policy_token *t = &rd->lex.token;
	bool by_number = policy_lex_token_is(t, "proto");
	size_t i = 0;
	int r;

	while (i < ARRAY_SIZE(protos) && !policy_lex_token_is(t, protos[i].name))
		i++;
	if (i == ARRAY_SIZE(protos) && !by_number)
		return 0;
	r = mark_clause(rd, CLAUSE_PROTO, t, err);
	if (r >= 0 && by_number)
		r = read_proto_number(rd, err);
	if (r < 0 || by_number)
		return r < 0 ? r : 1;
	rd->rule.proto = protos[i].proto;
	rd->rule.family = protos[i].family;
	r = policy_lex_next(&rd->lex, err);
	return r < 0 ? r : 1;
}

/* Clauses of a single word. 1 = read one, 0 = the token is something else. */
static int read_flag(struct policy_reader *rd, struct err *err)
{
	static const char *const words[] = { "in", "out", "established", "fragment" };
	static const unsigned clauses[] = { CLAUSE_DIR, CLAUSE_DIR, CLAUSE_ESTABLISHED, CLAUSE_FRAGMENT };
	struct policy_rule *rule = &rd->rule;
	size_t i = 0;
	int r;

	while (i < ARRAY_SIZE(words) && !policy_lex_token_is(&rd->lex.token, words[i]))
		i++;
	if (i == ARRAY_SIZE(words))
		return 0;
	r = mark_clause(rd, clauses[i], &rd->lex.token, err);
	if (r < 0)
		return r;
	if (i < POLICY_DIR__MAX)
		rule->dirs[i == 0 ? POLICY_OUT : POLICY_IN] = false;
	rule->established |= i == 2;
	rule->fragment |= i == 3;
	r = policy_lex_next(&rd->lex, err);
	return r < 0 ? r : 1;
}

static int read_clause(struct policy_reader *rd, struct err *err)
{
	int r = read_flag(rd, err);

	if (r == 0)
		r = read_proto(rd, err);
	if (r != 0)
		return r < 0 ? r : 0;
	for (unsigned i = 0; i < LIST__MAX; i++) {
		if (!policy_lex_token_is(&rd->lex.token, lists[i].word))
			continue;
		r = mark_clause(rd, CLAUSE__MAX + i, &rd->lex.token, err);
		rd->list = i;
		return r < 0 ? r : read_list(rd, err);
	}
	return policy_lex_error(&rd->lex.token, err,
				"expected a clause: in, out, a protocol (ip, ip4, ip6, tcp, udp, "
				"sctp, icmp, icmp6, proto N), from, to, sport, port, type, established, fragment, "
				"cgroup, comm or pid");
}

/* ---- a whole rule ---- */

static bool has_family(const struct ipnet *nets, size_t n, uint8_t family)
{
	return !n || FIND_ITEM(it, nets, n, it->ip.family == family);
}

static bool family_possible(const struct policy_rule *r, uint8_t family)
{
	return (!r->family || r->family == family) && has_family(r->from.items, r->from.len, family) &&
	       has_family(r->to.items, r->to.len, family);
}

static bool proto_has_ports(int proto)
{
	return proto == IPPROTO_TCP || proto == IPPROTO_UDP || proto == IPPROTO_SCTP;
}

static bool has_list(const struct policy_reader *rd, unsigned list)
{
	return rd->seen & 1u << (CLAUSE__MAX + list);
}

int policy_parse_rule_check(const struct policy_reader *rd, const struct policy_token *t, struct err *err)
{
	const struct policy_rule *r = &rd->rule;
	bool ports = has_list(rd, LIST_SPORT) || has_list(rd, LIST_PORT), type = has_list(rd, LIST_TYPE);

	if (ports && !proto_has_ports(r->proto))
		return policy_lex_error(t, err, "sport and port need tcp, udp or sctp");
	if (type && r->proto != IPPROTO_ICMP && r->proto != IPPROTO_ICMPV6)
		return policy_lex_error(t, err, "type needs icmp or icmp6");
	if (r->established && r->proto != IPPROTO_TCP)
		return policy_lex_error(t, err, "established needs tcp");
	if (r->fragment && (ports || type || r->established))
		return policy_lex_error(t, err, "fragment excludes ports, types and established");
	if (!family_possible(r, 4) && !family_possible(r, 6))
		return policy_lex_error(t, err, "IPv4 and IPv6 in one rule: no packet matches both");
	return 0;
}

void policy_parse_rule_init(struct policy_rule *r, uint32_t line)
{
	*r = (struct policy_rule){ .line = line, .proto = POLICY_ANY_PROTO, .dirs = { true, true } };
}

void policy_parse_rule_fini(struct policy_rule *r)
{
	vec_fini(&r->from);
	vec_fini(&r->to);
	vec_fini(&r->sports);
	vec_fini(&r->dports);
	for (size_t i = 0; i < r->cgroups.len; i++)
		free(r->cgroups.items[i]);
	vec_fini(&r->cgroups);
	vec_fini(&r->comms);
	vec_fini(&r->pids);
	free(TAKE_PTR(r->text));
}

int policy_parse_read_clauses(struct policy_reader *rd, struct err *err)
{
	int r = 0;

	rd->seen = 0;
	while (r >= 0 && rd->lex.token.kind != POLICY_EOL && rd->lex.token.kind != POLICY_EOF)
		r = read_clause(rd, err);
	return r;
}

/* 1 = found, 0 = not an action. */
static int find_action(const struct policy_token *t, enum policy_action *ret)
{
	for (enum policy_action a = 0; a < POLICY_ACTION__MAX; a++) {
		if (policy_lex_token_is(t, action_names[a])) {
			*ret = a;
			return 1;
		}
	}
	return 0;
}

static int read_rule(struct policy_reader *rd, struct policy *p, struct err *err)
{
	const struct policy_token begin = rd->lex.token;
	int r;

	policy_parse_rule_init(&rd->rule, begin.line);
	find_action(&begin, &rd->rule.action);
	r = policy_lex_next(&rd->lex, err);
	if (r >= 0)
		r = policy_parse_read_clauses(rd, err);
	if (r >= 0)
		r = policy_parse_rule_check(rd, &begin, err);
	if (r >= 0 && p->rules.len >= POLICY_RULES_MAX)
		r = policy_lex_error(&begin, err, "a file has at most %u rules", POLICY_RULES_MAX);
	if (r >= 0)
		r = vec_grow(&p->rules);
	if (r >= 0) {
		rd->rule.text = strndup(begin.text, (size_t)(rd->lex.end - begin.text));
		r = rd->rule.text ? 0 : -ENOMEM;
	}
	if (r >= 0)
		p->rules.items[p->rules.len++] = rd->rule;
	else
		policy_parse_rule_fini(&rd->rule);
	return r;
}

/* "default deny in" */
static int read_default(struct policy_reader *rd, struct policy *p, struct err *err)
{
	const struct policy_token begin = rd->lex.token;
	enum policy_action a;
	bool in, out;
	int r = policy_lex_next(&rd->lex, err);

	if (r < 0)
		return r;
	if (!find_action(&rd->lex.token, &a))
		return policy_lex_error(&rd->lex.token, err, "expected allow, deny or audit after default");
	r = policy_lex_next(&rd->lex, err);
	if (r < 0)
		return r;
	in = policy_lex_token_is(&rd->lex.token, "in");
	out = policy_lex_token_is(&rd->lex.token, "out");
	if (in || out)
		r = policy_lex_next(&rd->lex, err);
	if (r >= 0 && rd->lex.token.kind != POLICY_EOL && rd->lex.token.kind != POLICY_EOF)
		r = policy_lex_error(&rd->lex.token, err,
				     "expected the end of the line: a default has an action "
				     "and a direction");
	for (enum policy_dir d = 0; r >= 0 && d < POLICY_DIR__MAX; d++) {
		if (d == POLICY_IN ? out : in)
			continue;
		if (p->fallback_line[d])
			return policy_lex_error(&begin, err, "line %u sets the default for %s already",
						p->fallback_line[d], d == POLICY_IN ? "in" : "out");
		p->fallback[d] = a;
		p->fallback_line[d] = begin.line;
	}
	return r;
}

static int read_line(struct policy_reader *rd, struct policy *p, struct err *err)
{
	enum policy_action a;

	if (rd->lex.token.kind == POLICY_EOL)
		return policy_lex_next(&rd->lex, err);
	if (policy_lex_token_is(&rd->lex.token, "default"))
		return read_default(rd, p, err);
	if (find_action(&rd->lex.token, &a))
		return read_rule(rd, p, err);
	return policy_lex_error(&rd->lex.token, err,
				"expected allow, deny, audit or default at the start of the line");
}

int policy_parse(const char *text, size_t len, struct policy **ret, struct err *err)
{
	struct policy_reader rd = { 0 };
	struct policy *p;
	int r;

	if (len > POLICY_TEXT_MAX)
		return err_set(err, -EINVAL, "1:1: a rule file has at most %u bytes", POLICY_TEXT_MAX);
	p = calloc(1, sizeof(*p));
	r = p ? policy_lex_init(&rd.lex, text, len, err) : -ENOMEM;
	while (r >= 0 && rd.lex.token.kind != POLICY_EOF)
		r = read_line(&rd, p, err);
	if (r >= 0) {
		*ret = p;
		return 0;
	}
	policy_free(p);
	return r == -ENOMEM ? err_errno(err, r, "cannot store the rules") : r;
}

void policy_free(struct policy *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->rules.len; i++)
		policy_parse_rule_fini(&p->rules.items[i]);
	vec_fini(&p->rules);
	free(p);
}
