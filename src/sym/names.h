/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of named locations. Private to src/sym.
 */
#ifndef SYM_NAMES_H
#define SYM_NAMES_H

#include <stdbool.h>

struct sym;
struct sym_frame;

void sym_names_init(struct sym *s);
void sym_names_fini(struct sym *s);

/* The file of this location could not be read, so it may have a name. */
bool sym_names_missing(const struct sym_frame *f);

#endif
