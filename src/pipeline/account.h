/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The loss ledger of one pipeline: what the kernel counted, what a recording says was counted, and what
 * happened to each record in this process, added up per instance so that
 * seen = delivered + filtered + sampled + lost.
 */
#ifndef AGENT_ACCOUNT_H
#define AGENT_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "sonde/wire.h"

struct account {
	bool used;			/* some record or count named this instance */
	bool from_kernel;		/* live: `origin` is the kernel's own ledger */
	struct sonde_ledger origin;	/* kernel's ledger, or the one in the recording */
	uint64_t reported[SONDE_LOST__MAX];	/* losses that the stream has */
	uint64_t injected;		/* of records: made by the live half, which the kernel's ledger cannot know */
	uint64_t records;		/* that arrived here */
	uint64_t delivered;		/* to the bus, or absorbed as state */
	uint64_t counted;		/* by SONDE_EV_COUNTED: delivered as a part of a sum */
	uint64_t filtered;		/* refused in user space */
	uint64_t lost[SONDE_LOST__MAX];	/* in user space */
	uint64_t announced[SONDE_LOST__MAX];	/* by the stream: of rings that no ledger of the kernel covers */
};

struct accounts {
	struct account of[SONDE_INSTANCES];
};

/* The account of @instance, or NULL when the number is out of range. Marks it used. */
struct account *account_of(struct accounts *a, uint16_t instance);

/* The stream says that @count records were lost: they were seen by whoever says so. */
void account_announce(struct account *a, uint32_t cause, uint64_t count);

/* How many of the losses in @total the stream does not have yet; it has them from now on. */
uint64_t account_report(struct account *a, const struct sonde_ledger *total, uint32_t cause);

/* Counts of the kernel and of rings outside its ledger, without this process's part. */
void account_kernel(const struct account *a, struct sonde_ledger *ret);

/* The closed sums of one instance. */
void account_total(const struct account *a, struct sonde_ledger *ret);

/* Records the kernel wrote that never arrived, with no cause known. 0 in a ledger that closes. */
uint64_t account_gap(const struct account *a);

/* Adds @b to @sum, member by member (not seq). */
void account_add(struct sonde_ledger *sum, const struct sonde_ledger *b);

#endif
