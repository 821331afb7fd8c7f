/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names and paths, each kept once. Private to src/sym.
 */
#ifndef SYM_TEXTS_H
#define SYM_TEXTS_H

#include <stddef.h>

struct sym;

/* The symbolizer's own copy of @len bytes of @text, deduplicated; "" beyond the budget. */
const char *sym_texts_keep(struct sym *s, const char *text, size_t len);

#endif
