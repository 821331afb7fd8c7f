/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Typed loads: a field of a struct of the kernel costs one load, where a probe read calls a helper. A bad address
 * reads as 0.
 *
 * User space writes the ids of the types. bpf_core_type_id_kernel() is not for this: libbpf answers it by the BTF
 * that it relocates with, and a reduced copy (src/btf/btf_cut.h) numbers its types anew.
 */
#ifndef BPF_TYPED_BPF_H
#define BPF_TYPED_BPF_H

#include "bpf/kernel.h"
#include "sonde/types_wire.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

UNIT_SHARED const volatile __u32 sonde_types[SONDE_TYPE__MAX] = { 0 };	/* 0 = unknown */

extern void *bpf_rdonly_cast(const void *obj, __u32 btf_id) __ksym __weak;	/* since 6.2 */

/* The kernel's struct @name at @addr. Only where HAS_TYPE(@name). */
#define TYPE_ID(name) sonde_types[SONDE_TYPE_##name]
#define HAS_TYPE(name) (bpf_ksym_exists(bpf_rdonly_cast) && TYPE_ID(name))
#define TYPED(addr, name) bpf_rdonly_cast((const void *)(addr), TYPE_ID(name))

#endif
