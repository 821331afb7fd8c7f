/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Facts of a segment for people, read by a worker without rights (worker/worker.h) or by a test.
 */
#ifndef STORE_STORE_CHECK_H
#define STORE_STORE_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "sonde/store.h"

/* Plain data: it comes through a pipe from a process that parsed untrusted bytes. */
struct store_segment_facts {
	int32_t error;			/* 0, or -errno: the head could not be read */
	bool indexed;			/* false: no index, or a damaged one */
	bool decoded;			/* records were decoded: the members below `lost` are set */
	uint64_t run, start_ns;
	bool begins_run;		/* the first segment of its run */
	uint16_t major, minor;		/* version of its format */
	int64_t clock_offset_ns;
	uint8_t boot_id[16];
	char host[64], release[64], options[512];
	uint64_t t_min, t_max;		/* of the stream; 0 = it has no record */
	uint64_t blocks, records, raw_bytes;	/* of the stream, by the index */
	uint64_t lost;			/* records that the writer left out */
	uint64_t read;			/* records that could be decoded */
	uint64_t damages, damaged_bytes;
	uint64_t by_instance[SONDE_INSTANCES];	/* records that count in the ledger */
	uint64_t delivered[SONDE_INSTANCES];	/* by the ledgers in the segment: since the start of the run */
	bool has_ledger;
};

/* Reads the segment @fd; with @decode all of its records. */
void store_check_segment(int fd, bool decode, struct store_segment_facts *ret);

#endif
