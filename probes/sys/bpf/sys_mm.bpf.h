/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Address space size and page faults of a task. Types carry suffixes and only the fields that are read here.
 */
#ifndef SYS_MM_BPF_H
#define SYS_MM_BPF_H

#include "bpf/kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct percpu_counter___sys {
	__s64 count;
};

/* Since 6.2. */
struct mm_struct___percpu {
	struct percpu_counter___sys rss_stat[4];
};

struct mm_rss_stat___plain {
	atomic64_t count[4];
};

/* Before 6.2. */
struct mm_struct___plain {
	struct mm_rss_stat___plain rss_stat;
};

struct mm_struct___size {
	unsigned long total_vm;
};

struct task_struct___mm {
	struct mm_struct___size *mm;
	unsigned long min_flt, maj_flt;
};

#pragma clang attribute pop

const volatile __u32 sys_page_kb = 4;

static __always_inline __u64 rss_pages(void *mm)
{
	struct mm_struct___percpu *p = mm;
	struct mm_struct___plain *q = mm;
	__s64 file, anon, shmem;

	if (bpf_core_field_exists(p->rss_stat[0].count)) {
		file = BPF_CORE_READ(p, rss_stat[0].count);
		anon = BPF_CORE_READ(p, rss_stat[1].count);
		shmem = BPF_CORE_READ(p, rss_stat[3].count);
	} else {
		file = BPF_CORE_READ(q, rss_stat.count[0].counter);
		anon = BPF_CORE_READ(q, rss_stat.count[1].counter);
		shmem = BPF_CORE_READ(q, rss_stat.count[3].counter);
	}
	file += anon + shmem;
	return file > 0 ? file : 0;
}

static __always_inline __u64 swap_pages(void *mm)
{
	struct mm_struct___percpu *p = mm;
	struct mm_struct___plain *q = mm;
	__s64 n = bpf_core_field_exists(p->rss_stat[0].count) ? BPF_CORE_READ(p, rss_stat[2].count) :
								 BPF_CORE_READ(q, rss_stat.count[2].counter);

	return n > 0 ? n : 0;
}

static __always_inline void mm_read(void *of, __u64 *maj_faults, __u64 *min_faults, __u64 *size_kb, __u64 *rss_kb,
				    __u64 *swap_kb)
{
	struct task_struct___mm *task = of;
	struct mm_struct___size *mm = BPF_CORE_READ(task, mm);
	__u64 kb_per_page = sys_page_kb;

	*maj_faults = BPF_CORE_READ(task, maj_flt);
	*min_faults = BPF_CORE_READ(task, min_flt);
	*size_kb = mm ? BPF_CORE_READ(mm, total_vm) * kb_per_page : 0;
	*rss_kb = mm ? rss_pages(mm) * kb_per_page : 0;
	*swap_kb = mm ? swap_pages(mm) * kb_per_page : 0;
}

#endif
