/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Large blocks of the heap, once they are freed. For programs of this project only: users of libsonde have their
 * own settings of malloc(3).
 */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

/*
 * Large blocks are mappings of their own from now on, unmapped when they are freed. The limit of the C library grows
 * with them, and then the heap of every worker has them too.
 */
void heap_return_large(void);

/*
 * Until heap_let_go(), freed blocks stay in the heap. For loading BPF objects: libbpf reads and parses the kernel's
 * BTF again for each, 12 MB in pages that the kernel would have to provide anew.
 */
void heap_keep(void);
void heap_let_go(void);

#endif
