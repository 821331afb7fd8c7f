/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Looks up the tables of a policy as the program does, without a kernel: longest prefix, hash, ports, sets.
 */
#ifndef TESTS_POLICY_TABLE_H
#define TESTS_POLICY_TABLE_H

#include <stdint.h>
#include <string.h>

#include "event/value.h"
#include "policy/policy.h"
#include "policy/table.h"

static inline uint32_t policy_table_prefix(const struct policy_table *t, uint8_t ask, const struct ipaddr *ip)
{
	uint32_t best = 0, set = 0;

	for (size_t i = 0; i < t->prefixes.len; i++) {
		const struct policy_prefix_row *row = &t->prefixes.items[i];
		struct ipnet net = { .ip.family = row->key.family, .bits = row->key.bits - SONDE_POLICY_PREFIX };

		memcpy(net.ip.addr, row->key.addr, sizeof(net.ip.addr));
		if (row->key.ask == ask && row->key.bits > best && ipaddr_ipnet_contains(&net, ip)) {
			best = row->key.bits;
			set = row->set;
		}
	}
	return set;
}

static inline uint32_t policy_table_exact(const struct policy_table *t, uint32_t ask, const void *key, size_t len)
{
	struct sonde_policy_exact want = { .ask = ask };

	memcpy(want.key, key, len);
	for (size_t i = 0; i < t->exacts.len; i++)
		if (!memcmp(&t->exacts.items[i].key, &want, sizeof(want)))
			return t->exacts.items[i].set;
	return t->head.none[ask];
}

/* The number of the rule, 0 = the default. Cgroups are left out: they need ids. */
static inline uint32_t policy_table_number(const struct policy_table *t, const struct policy_packet *p)
{
	uint32_t in[2 + SONDE_POLICY_ASKS], n = 0;

	if (!p->has_ip)
		return 0;
	in[n++] = t->head.kind[p->dir][p->family == 6][p->state];
	in[n++] = t->head.proto[p->proto];
	if (t->head.asks & 1u << SONDE_POLICY_SRC)
		in[n++] = policy_table_prefix(t, SONDE_POLICY_SRC, &p->saddr);
	if (t->head.asks & 1u << SONDE_POLICY_DST)
		in[n++] = policy_table_prefix(t, SONDE_POLICY_DST, &p->daddr);
	if (t->head.asks & 1u << SONDE_POLICY_SPORT)
		in[n++] = t->ports[0][p->sport];
	if (t->head.asks & 1u << SONDE_POLICY_DPORT)
		in[n++] = t->ports[1][p->dport];
	if (t->head.asks & 1u << SONDE_POLICY_COMM)
		in[n++] = policy_table_exact(t, SONDE_POLICY_COMM, &p->comm, sizeof(p->comm));
	if (t->head.asks & 1u << SONDE_POLICY_PID)
		in[n++] = policy_table_exact(t, SONDE_POLICY_PID, &p->pid, sizeof(p->pid));
	for (uint32_t w = 0; w < t->head.n_words; w++) {
		uint64_t v = ~0ull;

		for (uint32_t i = 0; i < n; i++)
			v &= t->sets[(size_t)in[i] * t->head.n_words + w];
		if (v)
			return w * 64 + (uint32_t)__builtin_ctzll(v) + 1;
	}
	return 0;
}

#endif
