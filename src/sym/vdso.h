/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The code that the kernel maps into every process. Ours equals that of all processes of our word size. Private to
 * src/sym.
 */
#ifndef SYM_VDSO_H
#define SYM_VDSO_H

#include <stddef.h>

/* Bytes of our own; 0 = none. */
size_t vdso_len(void);

/* A descriptor of a copy, an ELF file; -ENOENT without a vDSO, or -errno. */
int vdso_open(void);

#endif
