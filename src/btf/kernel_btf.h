/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the running kernel's BTF is: /sys/kernel/btf/vmlinux; in the kernel itself, which hands it out by id (5.11,
 * CAP_SYS_ADMIN); in a file that the user names; or in one of the files on disk that libbpf tries.
 */
#ifndef BTF_KERNEL_BTF_H
#define BTF_KERNEL_BTF_H

#define KERNEL_BTF "/sys/kernel/btf/vmlinux"

struct btf;
struct err;

struct kernel_btf {
	struct btf *types;	/* owned; NULL: libbpf reads them by itself, or there are none */
	char source[256];	/* for people; "" = there are none */
};

/*
 * @file: --btf, raw BTF or an ELF file with a section .BTF, or NULL. A file is refused unless it describes the
 * running kernel: types of another kernel would attach programs to the wrong places. Without @file, 0 also when
 * nothing is found. The caller frees ret->types.
 */
int kernel_btf_find(const char *file, struct kernel_btf *ret, struct err *err);

/* The two steps of a file, for tests: reads it; compares it with @kernel (NULL: with the running kernel's ids). */
int kernel_btf_read(const char *file, struct btf **ret, struct err *err);
int kernel_btf_check(const char *file, const struct btf *types, const struct btf *kernel, struct err *err);

#endif
