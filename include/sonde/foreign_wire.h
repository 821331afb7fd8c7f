/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Records with notifications of another datapath, in the layouts of Cilium's monitor: from its agent's socket, from a
 * recorded stream, or from the event map of any datapath that writes these layouts.
 */
#ifndef SONDE_FOREIGN_WIRE_H
#define SONDE_FOREIGN_WIRE_H

#include "sonde/wire.h"

#define SONDE_FOREIGN_ID 65	/* a probe id that no probe has */

#define SONDE_EV_FOREIGN SONDE_EV(SONDE_FOREIGN_ID, 1)

/* Not records: events that a SONDE_EV_FOREIGN decodes to, beside packets, drops and losses. */
#define SONDE_EV_FOREIGN_DEBUG SONDE_EV(SONDE_FOREIGN_ID, 2)
#define SONDE_EV_FOREIGN_CAPTURE SONDE_EV(SONDE_FOREIGN_ID, 3)
#define SONDE_EV_FOREIGN_POLICY SONDE_EV(SONDE_FOREIGN_ID, 5)
#define SONDE_EV_FOREIGN_RECORDER SONDE_EV(SONDE_FOREIGN_ID, 6)
#define SONDE_EV_FOREIGN_SOCK SONDE_EV(SONDE_FOREIGN_ID, 7)
#define SONDE_EV_FOREIGN_L7 SONDE_EV(SONDE_FOREIGN_ID, 8)
#define SONDE_EV_FOREIGN_AGENT SONDE_EV(SONDE_FOREIGN_ID, 9)
#define SONDE_EV_FOREIGN_OTHER SONDE_EV(SONDE_FOREIGN_ID, 10)

/*
 * Its drop codes as drop reasons: this value in the upper half, where the kernel's reasons have a subsystem (from 0),
 * and the code in the lower half. The stream has their names.
 */
#define SONDE_FOREIGN_REASON 0xffff0000u

struct sonde_foreign_rec {
	struct sonde_rec hdr;
	__s64 cpu;		/* as received; hdr.cpu if it fits there */
	__s64 kind;		/* record type of a perf ring: 9 sample, 2 lost, or others */
	__u64 lost;
	__u32 len;		/* of the notification */
	__u32 pad;
	__u8 data[];		/* starts with the type byte; may end with padding of the ring */
};

#ifndef __cplusplus
_Static_assert(sizeof(struct sonde_foreign_rec) == 72, "sonde_foreign_rec is ABI");
#endif

#endif
