/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of named locations. Private to src/sym.
 */
#ifndef SYM_NAMES_H
#define SYM_NAMES_H

#include <stddef.h>

struct sym;

void sym_names_init(struct sym *s);
void sym_names_fini(struct sym *s);

/* The symbolizer's copy of @len bytes of @text, one of each; "" beyond the budget. */
const char *sym_names_text(struct sym *s, const char *text, size_t len);

#endif
