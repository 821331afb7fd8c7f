/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The answer of a resolving worker as bytes, written here and read in resolve_answer.c. Host order: both ends are one
 * program. Internal to src/elf.
 *
 *	struct resolve_head, then its n_addrs x struct resolve_wire_addr, n_funcs x struct resolve_wire_func, and
 *	string_bytes of NUL-terminated strings, of which the first is empty.
 */
#ifndef ELF_RESOLVE_IMPL_H
#define ELF_RESOLVE_IMPL_H

#include "base/buf.h"
#include "base/map.h"
#include "elf/resolve.h"

#define RESOLVE_MAGIC 0x76736572u
#define RESOLVE_STRINGS_MAX (8u << 20)	/* bytes; names beyond it are left out */

struct resolve_head {
	uint32_t magic, n_addrs, n_funcs, string_bytes;
};

struct resolve_wire_addr {
	uint16_t quality, n;	/* functions */
};

struct resolve_wire_func {
	uint32_t name, raw, file, line;	/* offsets in the strings; line */
	uint64_t start;
};

struct answer_writer {
	struct buf addrs, funcs, strings;
	struct map known;	/* hash of a string to its offset: each is sent once */
};

int resolve_answer_begin(struct answer_writer *w);
void resolve_answer_fini(struct answer_writer *w);

/* One address after the other: its functions, then the address. 0 or -ENOMEM. */
int resolve_answer_add_func(struct answer_writer *w, const struct resolve_func *f);
int resolve_answer_add_addr(struct answer_writer *w, enum resolve_quality quality, uint32_t n);

int resolve_answer_write(struct answer_writer *w, int fd);

#endif
