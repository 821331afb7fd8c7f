/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A thread that writes screens to the terminal. The caller never blocks: while the terminal accepts no output
 * (Ctrl-S, a frozen emulator), a new screen replaces the pending one.
 */
#ifndef CMD_PAINTER_H
#define CMD_PAINTER_H

#include <stdbool.h>

struct buf;
struct painter;

/* Runs in the thread and may block. @ctx belongs to the thread until painter_free(). */
typedef void (*paint_fn)(void *ctx, const struct buf *picture);

/* @paint NULL = writes the picture's bytes to standard output. 0 or -errno. */
int painter_new(paint_fn paint, void *ctx, struct painter **ret);

/* Takes the content of @picture and leaves it empty, or with the memory of another picture. */
void painter_put(struct painter *p, struct buf *picture);

/*
 * Waits briefly for the last picture, resuming output that Ctrl-S stopped. False if the terminal still accepts
 * nothing: the thread then lives until the process exits, with @ctx. NULL is fine.
 */
bool painter_free(struct painter *p);

#endif
