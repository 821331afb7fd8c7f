/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Bytes of memory as words. clang reads and copies what it knows as bytes one at a time, since BPF promises nothing
 * about words that are not aligned: a word is then eight loads and as many shifts. Memory that comes in here has no
 * type. x86 and arm64 take words at any address, and their kernels let programs do so outside of packets and the
 * stack.
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
 * What is read later is asked for now, all of it at once: a program that does a little every now and then finds none
 * of its memory near the CPU, and waits for each line that it comes to.
 */
static __always_inline void fetch(const void *from, __u32 bytes)
{
	for (__u32 i = 0; i < bytes; i += LINE)
		(void)*((const volatile __u8 *)from + i);
}

#endif
