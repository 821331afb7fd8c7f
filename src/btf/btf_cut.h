/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A part of the kernel's type information: the types that a BPF object names, and what these hold by value. libbpf
 * looks through all types for each name that an object relocates against; of 130,000 types two thousand are left, and
 * what took 30 ms takes one.
 *
 * Format: Documentation/bpf/btf.rst of the kernel.
 */
#ifndef BTF_BTF_CUT_H
#define BTF_BTF_CUT_H

#include <stddef.h>

struct btf;
struct buf;

/*
 * Adds to @ret the types of @raw (native byte order) whose names stand in @names, a flavour ("___x") taken off.
 * Pointers lead nowhere in it: no relocation follows them. 0, -EBADMSG or -ENOMEM.
 */
int btf_cut(const void *raw, size_t len, const struct btf *names, struct buf *ret);

/* That part of the running kernel's types, as a memory file; -errno, -ENOENT without BTF. */
int btf_cut_kernel(const struct btf *names);

#endif
