/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests each hook of the net probe on this host, for `sonde doctor`.
 */
#ifndef NET_NET_CHECK_H
#define NET_NET_CHECK_H

#include "probe/probe.h"

int net_check(struct probe_env *env, hook_report_fn fn, void *ctx);

#endif
