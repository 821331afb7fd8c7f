/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Unaligned access by words. For BPF clang splits unaligned loads of typed memory into single bytes: eight loads and
 * shifts per word. These functions take untyped pointers. x86 and arm64 access words at any address, and their
 * kernels allow it outside of packets and the stack.
 */
#ifndef BPF_WORDS_BPF_H
#define BPF_WORDS_BPF_H

#include "bpf/kernel.h"

#include <bpf/bpf_helpers.h>

static __always_inline __u32 u32_in(const void *p)
{
	return *(const __u32 *)p;
}

static __always_inline __u64 u64_in(const void *p)
{
	return *(const __u64 *)p;
}

static __always_inline void put_u64(void *p, __u64 v)
{
	*(__u64 *)p = v;
}

/* @n: a constant. */
static __always_inline void copy_words(void *to, const void *from, __u32 n)
{
	__u64 *d = to;
	const __u64 *s = from;

#pragma unroll
	for (__u32 i = 0; i < n; i++)
		d[i] = s[i];
}

#define LINE 64			/* bytes of a cache line, or of half of one */

/*
 * Prefetches memory by loads that do not depend on each other. A program that runs rarely finds its memory evicted
 * from the cache and would wait for each line in turn.
 */
static __always_inline void fetch(const void *from, __u32 bytes)
{
	for (__u32 i = 0; i < bytes; i += LINE)
		(void)*((const volatile __u8 *)from + i);
}

#endif
