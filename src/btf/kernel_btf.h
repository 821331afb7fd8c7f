/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the running kernel's BTF: in /sys/kernel/btf/vmlinux, in the kernel by id (since 5.11, with CAP_SYS_ADMIN),
 * in a file of the user, or in one of the files on disk that libbpf tries.
 */
#ifndef BTF_KERNEL_BTF_H
#define BTF_KERNEL_BTF_H

#define KERNEL_BTF "/sys/kernel/btf/vmlinux"

struct err;

struct kernel_btf {
	struct btf *types;	/* owned; NULL: libbpf finds them itself, or nothing was found */
	char source[256];	/* description for `sonde doctor`; "" = nothing was found */
};

/*
 * @file: --btf, raw BTF or an ELF file with a section .BTF, or NULL. A file that does not describe the running kernel
 * is refused: with foreign types programs would read the wrong memory. Without @file, 0 even if nothing is found. The
 * caller frees ret->types.
 */
int kernel_btf_find(const char *file, struct kernel_btf *ret, struct err *err);

/* The steps for a file, for tests: read it; compare it with @kernel (NULL: with the running kernel's ids). */
int kernel_btf_read(const char *file, struct btf **ret, struct err *err);
int kernel_btf_check(const char *file, const struct btf *types, const struct btf *kernel, struct err *err);

#endif
