/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Body of the cpu probe's events, between cpu_decode.c (records to bodies) and cpu_desc.c (rows and lines). The
 * words of the rows are the contract with everybody else.
 */
#ifndef CPU_EVENT_H
#define CPU_EVENT_H

#include <stdint.h>

#include "probes/cpu/cpu_wire.h"

/* How a thread that left a CPU waits; as ps(1) tells them apart. */
enum cpu_state {
	CPU_STATE_RUNNABLE, CPU_STATE_SLEEPING, CPU_STATE_DISK, CPU_STATE_STOPPED, CPU_STATE_TRACED, CPU_STATE_PARKED,
	CPU_STATE_IDLE, CPU_STATE_OTHER, CPU_STATE__MAX,
};

struct cpu_body {
	uint64_t value;		/* ns, or events */
	uint64_t wait_ns;
	uint32_t count;
	int32_t kern_err;	/* negative errno, 0 = none */
	uint8_t user_end;	/* SONDE_STACK_* */
	uint8_t mode;		/* CPU_MODE_* */
	uint8_t state;		/* enum cpu_state */
	uint8_t pad[5];
	char comm[16];
};

/* Of cpu.block. */
struct cpu_block {
	struct cpu_body body;
	uint64_t sleep_ns;	/* body.value less body.wait_ns */
	struct cpu_wait wait;	/* zero in recordings of older versions; `quota` is below */
	struct cpu_quota quota;	/* zero without wait.quota_of */
};

/* cpu.totals; the reasons are in SEC_TEXT. Units: struct cpu_totals_rec. */
struct cpu_totals {
	uint64_t periods, missed;
	uint64_t files, rows, bytes, pool_bytes, loaded, evicted, refused, gone, late, walked_late, stayed_cut;
};

extern const struct event_desc cpu_sample_desc, cpu_block_desc, cpu_totals_desc;

#endif
