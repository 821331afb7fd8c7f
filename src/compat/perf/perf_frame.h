/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames as perf names them.
 */
#ifndef COMPAT_PERF_FRAME_H
#define COMPAT_PERF_FRAME_H

#include <stdbool.h>

#include "stack/view.h"

struct buf;
struct event;
struct opt_strv;

/* Path of the frame's file, without blanks, at which readers split lines: "[kernel.kallsyms]", "[unknown]", "inlined"
 */
void perf_frame_dso(const struct sym *sym, const struct stack_frame *f, struct buf *out);
/* Its short name: the last part of the path. */
void perf_frame_short_dso(const struct sym *sym, const struct stack_frame *f, struct buf *out);

/* --symbols and --dsos: whether the innermost frame (NULL = none) is in the lists; empty lists pass all. */
bool perf_frame_selected(const struct sym *sym, const struct stack_frame *f, const struct opt_strv *symbols,
			 const struct opt_strv *dsos);

/* Whether the sample has more than one frame of the kernel or of the program. */
bool perf_frame_is_chain(const struct event *ev);

#endif
