/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Records of libscap's events, from a capture file or from a probe.
 *
 * A record is the header and a struct sec_params of src/event/params.h with its lengths and bytes. Rows of the tables
 * at the beginning of a file (machine, threads, descriptors, users, ...) have type numbers from SCAP_ROW_MACHINE on
 * and SONDE_RF_SNAPSHOT; tables/scap_rows.tsv describes them like events.
 */
#ifndef SONDE_SCAP_WIRE_H
#define SONDE_SCAP_WIRE_H

#include "sonde/wire.h"

#define SONDE_SCAP_ID 64	/* a probe id that no probe has */

#define SONDE_EV_SCAP SONDE_EV(SONDE_SCAP_ID, 1)
#define SONDE_EV_SCAP_ROW SONDE_EV(SONDE_SCAP_ID, 2)
#define SONDE_EV_SCAP_INTERNAL SONDE_EV(SONDE_SCAP_ID, 3)	/* an event, not a record */
#define SONDE_EV_SCAP_PROCINFO SONDE_EV(SONDE_SCAP_ID, 4)	/* an event, not a record */

struct sonde_scap_rec {
	struct sonde_rec hdr;
	__u8 params[];		/* struct sec_params, 8-byte aligned */
};

#endif
