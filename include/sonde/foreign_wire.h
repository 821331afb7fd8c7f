/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Records that hold what another datapath told: notifications as Cilium's monitor has them, from its agent's socket,
 * from a recorded stream of it, or from the event map of any datapath that writes those layouts.
 */
#ifndef SONDE_FOREIGN_WIRE_H
#define SONDE_FOREIGN_WIRE_H

#include "sonde/wire.h"

#define SONDE_FOREIGN_ID 65	/* in the place of a probe's id: no probe has it */

#define SONDE_EV_FOREIGN SONDE_EV(SONDE_FOREIGN_ID, 1)

/* No records: what a SONDE_EV_FOREIGN decodes to beside packets, drops and losses. */
#define SONDE_EV_FOREIGN_DEBUG SONDE_EV(SONDE_FOREIGN_ID, 2)
#define SONDE_EV_FOREIGN_CAPTURE SONDE_EV(SONDE_FOREIGN_ID, 3)
#define SONDE_EV_FOREIGN_POLICY SONDE_EV(SONDE_FOREIGN_ID, 5)
#define SONDE_EV_FOREIGN_RECORDER SONDE_EV(SONDE_FOREIGN_ID, 6)
#define SONDE_EV_FOREIGN_SOCK SONDE_EV(SONDE_FOREIGN_ID, 7)
#define SONDE_EV_FOREIGN_L7 SONDE_EV(SONDE_FOREIGN_ID, 8)
#define SONDE_EV_FOREIGN_AGENT SONDE_EV(SONDE_FOREIGN_ID, 9)
#define SONDE_EV_FOREIGN_OTHER SONDE_EV(SONDE_FOREIGN_ID, 10)

/*
 * Its drop codes in the name space of drop reasons: the upper half is this, where the kernel's own have a subsystem
 * (counted from 0); the code is the lower half. Their names are in the stream.
 */
#define SONDE_FOREIGN_REASON 0xffff0000u

struct sonde_foreign_rec {
	struct sonde_rec hdr;
	__s64 cpu;		/* as told; hdr.cpu as far as that fits */
	__s64 kind;		/* record type of a perf ring: 9 sample, 2 lost; other numbers may come */
	__u64 lost;
	__u32 len;		/* of the notification */
	__u32 pad;
	__u8 data[];		/* begins with its type byte; ring padding may stand at the end */
};

#ifndef __cplusplus
_Static_assert(sizeof(struct sonde_foreign_rec) == 72, "sonde_foreign_rec is ABI");
#endif

#endif
