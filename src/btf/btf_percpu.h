/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Per-CPU variables of the kernel. Kernels without CONFIG_KALLSYMS_ALL hide their addresses from programs; the
 * distance between two of them is in the BTF.
 */
#ifndef BTF_BTF_PERCPU_H
#define BTF_BTF_PERCPU_H

#include <stdint.h>

struct btf;

/* Bytes from variable @from to variable @to of one CPU. -ENOENT if @types lacks either. */
int btf_percpu_distance(const struct btf *types, const char *from, const char *to, int64_t *ret);

#endif
