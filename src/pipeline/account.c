// SPDX-License-Identifier: GPL-2.0-or-later
#include "pipeline/account.h"

#include <stddef.h>

#include "base/macros.h"

struct account *account_of(struct accounts *a, uint16_t instance)
{
	if (instance >= SONDE_INSTANCES)
		return NULL;
	a->of[instance].used = true;
	return &a->of[instance];
}

void account_announce(struct account *a, uint32_t cause, uint64_t count)
{
	if (cause >= SONDE_LOST__MAX)
		return;
	a->announced[cause] += count;
	a->reported[cause] += count;
}

void account_find(struct account *a, uint32_t cause, uint64_t count)
{
	if (cause >= SONDE_LOST__MAX)
		return;
	a->found[cause] += count;
	a->reported[cause] += count;
}

uint64_t account_report(struct account *a, const struct sonde_ledger *total, uint32_t cause)
{
	uint64_t n = total->lost[cause] - MIN(a->reported[cause], total->lost[cause]);

	a->reported[cause] += n;
	return n;
}

static bool has_origin(const struct account *a)
{
	return a->from_kernel || a->origin.seen;
}

/* The ledger of a recording includes the losses its stream announces, the kernel's ledger does not. */
void account_kernel(const struct account *a, struct sonde_ledger *ret)
{
	*ret = a->origin;
	for (int i = 0; i < SONDE_LOST__MAX; i++) {
		uint64_t more = a->from_kernel || !has_origin(a) ? a->announced[i] : 0;

		ret->seen += more;
		ret->lost[i] += more;
	}
}

/*
 * A recording without a ledger (truncated, or a foreign capture): seen is what arrived plus the losses its stream
 * announces.
 */
void account_total(const struct account *a, struct sonde_ledger *ret)
{
	account_kernel(a, ret);
	ret->seen += has_origin(a) ? a->injected : a->records + a->counted;
	ret->delivered = a->delivered + a->counted;
	ret->filtered += a->filtered;
	for (int i = 0; i < SONDE_LOST__MAX; i++) {
		ret->seen += a->found[i];
		ret->lost[i] += a->lost[i] + a->found[i];
	}
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
