/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Addresses of the namespaces that the user-space half watches: it writes them, programs and dumps look them up.
 */
#ifndef NET_LOCAL_BPF_H
#define NET_LOCAL_BPF_H

#include "bpf/kernel.h"

#include <bpf/bpf_helpers.h>

#include "probes/net/net_wire.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, struct net_addr);
	__type(value, __u8);
} inst_net_local SEC(".maps");

#endif
