// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The dialects, in the order of their list.
 */
#include <stddef.h>

#include "compat/compat.h"

const struct dialect *const compat_dialects[] = {
	&dialect_hubble,      &dialect_cilium_dbg,    &dialect_sysdig,	    &dialect_strace,
	&dialect_tcpdump,     &dialect_profile_bpfcc, &dialect_perf_record, &dialect_perf_script,
	&dialect_perf_report, &dialect_perf_top,      &dialect_perf_trace,  NULL,
};
