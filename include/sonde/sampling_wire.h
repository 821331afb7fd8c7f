/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The rate at which a probe records below a limit of CPU time (--max-cpu).
 */
#ifndef SONDE_SAMPLING_WIRE_H
#define SONDE_SAMPLING_WIRE_H

#include "sonde/wire.h"

#define SONDE_EV_SAMPLING SONDE_EV(0, 10)

/* From now on hdr.instance records about one event in @one_in; its ledger counts the others as sampled. */
struct sonde_sampling_rec {
	struct sonde_rec hdr;
	__u32 one_in;
	__u32 cost_permille; /* of one CPU: the recording process and all its programs, over the last second */
	__u32 budget_permille;
	__u32 pad;
};

#ifndef __cplusplus
_Static_assert(sizeof(struct sonde_sampling_rec) == 56, "sonde_sampling_rec is ABI");
#endif

#endif
