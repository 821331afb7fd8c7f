/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loss ledger of one pipeline, per instance: the kernel's or the recording's counts plus the fate of each record in
 * this process, so that seen = delivered + filtered + sampled + lost.
 */
#ifndef PIPELINE_ACCOUNT_H
#define PIPELINE_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "sonde/wire.h"

struct account {
	bool used;			/* a record or a count named this instance */
	bool from_kernel;		/* live: @origin is the kernel's ledger */
	struct sonde_ledger origin;	/* the kernel's ledger, or the recording's */
	uint64_t reported[SONDE_LOST__MAX];	/* losses already reported in the stream */
	uint64_t injected;		/* records made by the live half; the kernel's ledger lacks them */
	uint64_t records;		/* records that arrived */
	uint64_t unrecorded;		/* of these, left out of recordings: their process is not selected */
	uint64_t delivered;		/* published, or absorbed as state */
	uint64_t counted;		/* hits that arrived as a sum (SONDE_EV_COUNTED) */
	uint64_t filtered;		/* refused in user space */
	uint64_t lost[SONDE_LOST__MAX];	/* in user space */
	uint64_t found[SONDE_LOST__MAX];	/* by decoders: events that no record counts */
	uint64_t announced[SONDE_LOST__MAX];	/* by the stream: losses in rings outside the kernel's ledger */
};

struct accounts {
	struct account of[SONDE_INSTANCES];
};

/* Account of @instance; NULL if out of range. Marks it used. */
struct account *account_of(struct accounts *a, uint16_t instance);

/* The stream announced the loss of @count records: adds them to seen and lost. */
void account_announce(struct account *a, uint32_t cause, uint64_t count);

/* A decoder found that @count events are missing: adds them to seen and lost. A replay finds them again. */
void account_find(struct account *a, uint32_t cause, uint64_t count);

/* Losses in @total that the stream does not report yet. Marks them as reported. */
uint64_t account_report(struct account *a, const struct sonde_ledger *total, uint32_t cause);

/* Counts of the kernel and of rings outside its ledger, without those of this process. */
void account_kernel(const struct account *a, struct sonde_ledger *ret);

/* Final sums of one instance. */
void account_total(const struct account *a, struct sonde_ledger *ret);

/* Records that the kernel wrote and that never arrived, without a known cause. 0 in a closed ledger. */
uint64_t account_gap(const struct account *a);

#endif
