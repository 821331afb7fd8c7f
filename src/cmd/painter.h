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

/* @paint NULL = the picture's bytes go to standard output. 0 or -errno. */
int painter_new(paint_fn paint, void *ctx, struct painter **ret);

/* Takes the content of @picture, which is empty or holds another picture's memory afterwards. */
void painter_put(struct painter *p, struct buf *picture);

/*
 * Waits a moment for the last picture. Output that Ctrl-S stopped is started for it. False if the terminal takes
 * nothing even then: the thread is left to the end of the process, with @ctx. NULL is fine.
 */
bool painter_free(struct painter *p);

#endif
