/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Processes whose HTTP/2 is probed inside the program. BPF programs that see the same frames at sockets leave them
 * out, so that each call has one source.
 */
#ifndef BPF_GO_HTTP2_BPF_H
#define BPF_GO_HTTP2_BPF_H

#include "bpf/kernel.h"

#include <bpf/bpf_helpers.h>

/* By tgid; the value is the module of its program (struct gohttp2_key) without the lowest bit. */
UNIT_MAP_FLAGS(sonde_go_http2, HASH, BPF_F_NO_PREALLOC, 65536, __u32, __u32);

static __always_inline bool is_go_http2(__u32 tgid)
{
	return bpf_map_lookup_elem(&sonde_go_http2, &tgid) != NULL;
}

#endif
