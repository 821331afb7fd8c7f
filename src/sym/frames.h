/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of named locations.
 */
#ifndef SYM_FRAMES_H
#define SYM_FRAMES_H

#include <stdbool.h>
#include <stddef.h>

struct sym;
struct sym_frame;
struct sym_query;

/*
 * Names @n locations; looks up each unique one once and keeps it. @caller: the location is a return address, so the
 * instruction before it counts. 0, or -ENOMEM; functions without a name have "".
 */
int sym_frames(struct sym *s, const struct sym_query *q, size_t n, struct sym_frame *ret);

/* Private to src/sym. */
void sym_frames_init(struct sym *s);
void sym_frames_fini(struct sym *s);

/* The file of this location could not be read, so it may have a name. */
bool sym_frames_missing(const struct sym_frame *f);

#endif
