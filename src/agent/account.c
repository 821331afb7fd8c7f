// SPDX-License-Identifier: GPL-2.0-or-later
#include "agent/account.h"

#include <stddef.h>

struct account *account_of(struct accounts *a, uint16_t instance)
{
	if (instance >= SONDE_INSTANCES)
		return NULL;
	a->of[instance].used = true;
	return &a->of[instance];
}

void ledger_add(struct sonde_ledger *sum, const struct sonde_ledger *b)
{
	sum->seen += b->seen;
	sum->delivered += b->delivered;
	sum->filtered += b->filtered;
	sum->sampled += b->sampled;
	for (int i = 0; i < SONDE_LOST__MAX; i++)
		sum->lost[i] += b->lost[i];
}

/*
 * A recording without a ledger (it was cut, or is a foreign capture) knows of no loss before it: what was
 * seen is what arrived.
 */
void account_total(const struct account *a, struct sonde_ledger *ret)
{
	bool told = a->from_kernel || a->origin.seen;

	*ret = (struct sonde_ledger){
		.seen = told ? a->origin.seen + a->injected : a->records + a->counted,
		.delivered = a->delivered + a->counted,
		.filtered = a->origin.filtered + a->filtered,
		.sampled = a->origin.sampled,
	};
	for (int i = 0; i < SONDE_LOST__MAX; i++)
		ret->lost[i] = a->origin.lost[i] + a->lost[i];
}

uint64_t account_gap(const struct account *a)
{
	struct sonde_ledger t;
	uint64_t sum;

	account_total(a, &t);
	sum = t.delivered + t.filtered + t.sampled;
	for (int i = 0; i < SONDE_LOST__MAX; i++)
		sum += t.lost[i];
	return t.seen > sum ? t.seen - sum : sum - t.seen;
}
