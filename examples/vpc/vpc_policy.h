/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The security group of an endpoint: its permitted ports. Unlisted ports are denied; a rule may also permit and only
 * report (audit).
 */
#ifndef VPC_POLICY_H
#define VPC_POLICY_H

#include "vpc_packet.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, struct vpc_rule_key);
	__type(value, struct vpc_rule);
} vpc_rules SEC(".maps");

/* Whether the first packet of a connection to @dst may pass; reports the verdict. */
static __always_inline int policy_allows(const struct vpc_packet *v, const struct vpc_endpoint *dst)
{
	struct vpc_rule_key key = { .dst_ip = dst->ip, .proto = v->t.proto };
	struct sonde_verdict verdict = {
		.verdict = -DROP_POLICY_DENIED, .remote_identity = v->p.src_identity, .proto = v->t.proto,
		.bits = SONDE_POLICY_INGRESS,
	};
	struct vpc_rule *rule;

	if (v->t.proto != IPPROTO_ICMP)
		key.dst_port = verdict.dst_port = bpf_ntohs(v->t.dport);
	rule = bpf_map_lookup_elem(&vpc_rules, &key);
	if (rule) {
		verdict.cookie = rule->cookie;
		verdict.bits |= SONDE_POLICY_MATCH(key.dst_port ? SONDE_MATCH_L4 : SONDE_MATCH_PROTO);
		if (rule->action != VPC_DENY)
			verdict.verdict = 0;
		if (rule->action == VPC_AUDIT)
			verdict.bits |= SONDE_POLICY_AUDITED;
	}
	sonde_policy_verdict(&v->p, &verdict);
	return !verdict.verdict;
}

#endif
