/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What of the net probe works on this host, hook by hook, for `sonde doctor`.
 */
#ifndef NET_NET_CHECK_H
#define NET_NET_CHECK_H

#include "probe/probe.h"

int net_check(struct probe_env *env, hook_report_fn fn, void *ctx);

#endif
