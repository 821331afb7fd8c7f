/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The controller of --max-cpu: from the cost of each probe in the last period to the rate of each in the next one. It
 * has no clock and no kernel.
 *
 * Above the limit, the rate of the most expensive probe is halved until the expected cost is below the limit, or
 * the other probes cost too little to help. After a quiet time below three quarters of the limit, one rate is doubled
 * if the cost would stay there. If a doubled rate exceeds the limit at once, the quiet time doubles, up to about a
 * minute; it is halved after a calm time.
 */
#ifndef BUDGET_CONTROL_H
#define BUDGET_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BUDGET_ONE_IN_MOST 64u /* a power of two, as all rates are */

/* A probe in one period. */
struct budget_share {
	bool steered;	    /* it can leave events out */
	uint32_t one_in;    /* rate: 1 = everything, 2, 4 ... BUDGET_ONE_IN_MOST; changed by the controller */
	uint64_t kernel_ns; /* run time of its programs */
	uint64_t records;   /* that this process read: its CPU time is divided among the probes by them */
};

struct budget_control {	   /* zeros at the start */
	unsigned quiet;	   /* periods below three quarters of the limit since the last change */
	unsigned patience; /* as many are needed before a rate is doubled; 0 = the least */
	unsigned trial;	   /* periods left in which a doubled rate is blamed for exceeding the limit */
	unsigned calm;	   /* periods below the limit so far */
};

/* CPU time of the last period, ns: of the programs and of this process together. */
uint64_t budget_control_cost(const struct budget_share *s, size_t n, uint64_t user_ns);

/* Sets the rates of @s for the next period. @limit_ns: of a period. True if a rate changed. */
bool budget_control_step(struct budget_control *c, uint64_t limit_ns, uint64_t user_ns, struct budget_share *s,
			 size_t n);

#endif
