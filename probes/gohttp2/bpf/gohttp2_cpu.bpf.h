/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Caches of one CPU, valid with preemption off. All are one element of an array: unlike a per-CPU map, it is found
 * without a pointer that would have to be loaded first.
 */
#ifndef GOHTTP2_CPU_BPF_H
#define GOHTTP2_CPU_BPF_H

#include "probes/gohttp2/bpf/gohttp2_state.bpf.h"

/* ---- the origin of requests (gohttp2_conns.bpf.h) ---- */

#define NEAR_SLOTS 16		/* a power of two, as the next two */

/* Origin of a request as its record holds it. Valid until a connection of the process closes. */
struct gohttp2_near {
	__u64 addr, g;
	__u32 born, tgid, closed, ports;
	__u64 sk;
	struct gohttp2_frame_rec rec; /* only the members that describe the connection */
};

/* ---- immutable memory (gohttp2_string_cache.bpf.h) ---- */

#define TEXT_BYTES 128		/* of a cached value; a power of two */
#define TEXT_SLOTS 128

struct gohttp2_text {
	__u64 addr, epoch;	/* address in the program, GC epoch */
	__u32 tgid, len;
	__u64 words[TEXT_BYTES / 8];
};

/* ---- fields of whole frames (gohttp2_fields.bpf.h) ---- */

#define AGAIN_HEADERS 12
#define AGAIN_BYTES 256		/* of fields */
#define AGAIN_SLOTS 32

struct gohttp2_header_cache {
	__u64 print;		/* fingerprint of the headers below; 0 = empty */
	__u64 missed;		/* fingerprint of the last miss */
	__u64 epoch;
	__u32 tgid, selected;
	__u32 n, len;		/* headers; bytes of fields */
	struct gohttp2_hf hf[AGAIN_HEADERS];
	__u8 data[AGAIN_BYTES];
};

struct gohttp2_cpu {
	struct gohttp2_near near[NEAR_SLOTS];
	struct gohttp2_text text[TEXT_SLOTS];
	struct gohttp2_header_cache again[AGAIN_SLOTS];
};

UNIT_MAP(gohttp2_cpus, ARRAY, 1 /* CPUs, set at run time */, __u32, struct gohttp2_cpu);

static __always_inline struct gohttp2_cpu *my_cpu(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&gohttp2_cpus, &cpu);
}

#endif
