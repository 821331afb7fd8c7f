// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Evaluates the rules for one packet in their order. This is the reference: the tables of policy/table.h must give
 * the same verdicts.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "policy/parse.h"
#include "sonde/notify_wire.h"

static bool nets_match(const struct ipnet *nets, size_t n, const struct ipaddr *ip)
{
	return !n || FIND_ITEM(it, nets, n, ipaddr_ipnet_contains(it, ip));
}

static bool ports_match(const struct policy_ports *ports, size_t n, uint16_t port)
{
	return !n || FIND_ITEM(it, ports, n, port >= it->from && port <= it->to);
}

static bool is_below(const char *path, const char *above)
{
	size_t len = strlen(above);

	if (len == 1)	/* the root */
		return true;
	return !strncmp(path, above, len) && (!path[len] || path[len] == '/');
}

static bool process_matches(const struct policy_rule *r, const struct policy_packet *p)
{
	bool cgroup = !r->cgroups.len, comm = !r->comms.len, pid = !r->pids.len;

	for (size_t i = 0; i < r->cgroups.len && p->cgroup && !cgroup; i++)
		cgroup = is_below(p->cgroup, r->cgroups.items[i]);
	for (size_t i = 0; i < r->comms.len && *p->comm.name && !comm; i++)
		comm = !memcmp(&r->comms.items[i], &p->comm, sizeof(p->comm));
	for (size_t i = 0; i < r->pids.len && p->pid && !pid; i++)
		pid = r->pids.items[i] == p->pid;
	return cgroup && comm && pid;
}

static bool state_matches(const struct policy_rule *r, enum policy_state state)
{
	if (r->fragment)
		return state == POLICY_FRAGMENT;
	if (r->established)
		return state == POLICY_ESTABLISHED;
	return (!r->sports.len && !r->dports.len) || state == POLICY_WHOLE || state == POLICY_ESTABLISHED;
}

static bool policy_rule_matches(const struct policy_rule *r, const struct policy_packet *p)
{
	return p->has_ip && r->dirs[p->dir] && (!r->family || r->family == p->family) &&
	       (r->proto == POLICY_ANY_PROTO || r->proto == p->proto) && state_matches(r, p->state) &&
	       nets_match(r->from.items, r->from.len, &p->saddr) && nets_match(r->to.items, r->to.len, &p->daddr) &&
	       ports_match(r->sports.items, r->sports.len, p->sport) &&
	       ports_match(r->dports.items, r->dports.len, p->dport) && process_matches(r, p);
}

void policy_decide(const struct policy *p, const struct policy_packet *pkt, struct policy_verdict *ret)
{
	*ret = (struct policy_verdict){ .action = p->fallback[pkt->dir] };
	for (size_t i = 0; i < p->rules.len; i++) {
		if (!policy_rule_matches(&p->rules.items[i], pkt))
			continue;
		*ret = (struct policy_verdict){
			.action = p->rules.items[i].action, .rule = &p->rules.items[i], .number = (uint32_t)i + 1,
		};
		return;
	}
}

uint8_t policy_match_kind(const struct policy_rule *r)
{
	bool l3, l4, proto;

	if (!r)
		return SONDE_MATCH_NONE;
	l3 = r->from.len || r->to.len;
	l4 = r->sports.len || r->dports.len;
	proto = r->proto != POLICY_ANY_PROTO;
	if (l3)
		return l4 ? SONDE_MATCH_L3_L4 : proto ? SONDE_MATCH_L3_PROTO : SONDE_MATCH_L3;
	return l4 ? SONDE_MATCH_L4 : proto ? SONDE_MATCH_PROTO : SONDE_MATCH_ALL;
}

/* ---- packets as text ---- */

static bool single_address(const struct ipnet *nets, size_t n, struct ipaddr *ret)
{
	if (n != 1 || nets[0].bits != 8 * ipaddr_bytes(nets[0].ip.family))
		return false;
	*ret = nets[0].ip;
	return true;
}

static bool single_port(const struct policy_ports *ports, size_t n, uint16_t *ret)
{
	if (n > 1 || (n && ports[0].from != ports[0].to))
		return false;
	*ret = n ? ports[0].from : 0;
	return true;
}

static enum policy_state state_of(const struct policy_rule *r)
{
	return r->fragment ? POLICY_FRAGMENT : r->established ? POLICY_ESTABLISHED : POLICY_WHOLE;
}

static int to_packet(struct policy_rule *r, struct policy_packet *p, struct err *err)
{
	if (r->dirs[POLICY_IN] == r->dirs[POLICY_OUT])
		return err_set(err, -EINVAL, "1: no direction: add in or out");
	if (r->proto == POLICY_ANY_PROTO)
		return err_set(err, -EINVAL, "1: no protocol: add one, such as tcp or proto 47");
	*p = (struct policy_packet){
		.dir = r->dirs[POLICY_IN] ? POLICY_IN : POLICY_OUT, .state = state_of(r), .has_ip = true,
		.proto = (uint8_t)r->proto, .pid = r->pids.len ? r->pids.items[0] : 0,
	};
	if (!single_address(r->from.items, r->from.len, &p->saddr) ||
	    !single_address(r->to.items, r->to.len, &p->daddr))
		return err_set(err, -EINVAL, "1: expected one address each for from and to");
	if (!single_port(r->sports.items, r->sports.len, &p->sport) ||
	    !single_port(r->dports.items, r->dports.len, &p->dport))
		return err_set(err, -EINVAL, "1: expected at most one source and one destination port");
	if (r->cgroups.len > 1 || r->comms.len > 1 || r->pids.len > 1)
		return err_set(err, -EINVAL, "1: expected at most one cgroup, comm and pid");
	p->family = p->saddr.family;
	if (r->comms.len)
		p->comm = r->comms.items[0];
	if (r->cgroups.len)
		p->cgroup = TAKE_PTR(r->cgroups.items[0]);
	return 0;
}

int policy_packet_parse(const char *words, struct policy_packet *ret, struct err *err)
{
	struct policy_reader rd = { 0 };
	int r = policy_lex_init(&rd.lex, words, strlen(words), err);
	struct policy_token begin;

	if (r < 0)
		return r;
	begin = rd.lex.token;
	policy_parse_rule_init(&rd.rule, 1);
	r = policy_parse_read_clauses(&rd, err);
	if (r >= 0)
		r = policy_parse_rule_check(&rd, &begin, err);
	if (r >= 0)
		r = to_packet(&rd.rule, ret, err);
	policy_parse_rule_fini(&rd.rule);
	return r;
}

void policy_packet_fini(struct policy_packet *p)
{
	free((char *)p->cgroup);
	p->cgroup = NULL;
}
