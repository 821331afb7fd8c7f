/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writer of a resolving worker's answer, which resolve_answer_parse() reads (elf/resolve.h).
 */
#ifndef ELF_RESOLVE_ANSWER_H
#define ELF_RESOLVE_ANSWER_H

#include "base/buf.h"
#include "base/map.h"
#include "elf/resolve.h"

struct answer_writer {
	struct buf addrs, funcs, strings;
	struct map known;	/* hash of a string to its offset: equal strings are stored once */
};

int resolve_answer_begin(struct answer_writer *w);
void resolve_answer_fini(struct answer_writer *w);

/* Appends the answer for the next address, with its functions. 0 or -ENOMEM. */
int resolve_answer_add_func(struct answer_writer *w, const struct resolve_func *f);
int resolve_answer_add_addr(struct answer_writer *w, enum resolve_quality quality, uint32_t n);

int resolve_answer_write(struct answer_writer *w, int fd);

#endif
