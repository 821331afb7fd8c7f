/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Records of what libscap calls an event: from a capture file, or from a probe that speaks its terms.
 *
 * One record is the header, then a struct sec_params of src/event/params.h with its lengths and bytes. Rows of the
 * tables at the beginning of a file (machine, threads, descriptors, users, ...) are the same with type numbers
 * from SCAP_ROW_MACHINE on and SONDE_RF_SNAPSHOT; the rows of a table are described as events are, in
 * tables/scap_rows.tsv.
 */
#ifndef SONDE_SCAP_WIRE_H
#define SONDE_SCAP_WIRE_H

#include "sonde/wire.h"

#define SONDE_SCAP_ID 64	/* in the place of a probe's id: no probe has it */

#define SONDE_EV_SCAP SONDE_EV(SONDE_SCAP_ID, 1)
#define SONDE_EV_SCAP_ROW SONDE_EV(SONDE_SCAP_ID, 2)
#define SONDE_EV_SCAP_INTERNAL SONDE_EV(SONDE_SCAP_ID, 3)	/* no record: what some SONDE_EV_SCAP decode to */

struct sonde_scap_rec {
	struct sonde_rec hdr;
	__u8 params[];		/* struct sec_params, 8-byte aligned */
};

#endif
