/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A full-screen terminal: lines out, keys in. A thread draws the newest picture and may block for ever; the caller
 * never does.
 */
#ifndef CMD_SCREEN_H
#define CMD_SCREEN_H

#include <stdbool.h>

struct buf;
struct err;
struct loop;
struct screen;

/* SCREEN_*, the first byte of a line of a picture: how it looks. Colour is never the only sign. */
#define SCREEN_PLAIN ' '
#define SCREEN_BOLD '*'
#define SCREEN_HEAD '#'
#define SCREEN_SELECTED '>'
#define SCREEN_ALERT '!'

/* Keys that are one byte; other bytes stand for themselves. */
#define SCREEN_KEY_ENTER '\n'
#define SCREEN_KEY_ESC 27
#define SCREEN_KEY_BACK 127
#define SCREEN_KEY_REDRAW 12

enum screen_key {
	SCREEN_KEY_UP = 256, SCREEN_KEY_DOWN, SCREEN_KEY_PAGE_UP, SCREEN_KEY_PAGE_DOWN, SCREEN_KEY_HOME,
	SCREEN_KEY_END, SCREEN_KEY_LEFT, SCREEN_KEY_RIGHT, SCREEN_KEY_F1, SCREEN_KEY_F2, SCREEN_KEY_NONE,
	SCREEN_KEY__MAX,
};

#define SCREEN_COLOR 1u /* flags of screen_new() */
#define SCREEN_MOUSE 2u /* clicks and the wheel; the terminal then selects text only with Shift */

struct screen_ops {
	void (*key)(void *ctx, int key); /* a byte, or enum screen_key */
	void (*click)(void *ctx, unsigned x, unsigned y); /* a cell, from 0; the wheel moves by keys */
	void (*show)(void *ctx);	 /* after keys, and when the terminal's size changed */
	void (*quit)(void *ctx);	 /* the terminal is gone */
};

/*
 * Takes over the terminal, with SCREEN_COLOR and SCREEN_MOUSE in @flags. -ENOTTY with a sentence without a terminal,
 * -ENOTSUP if screens were left out of the build; both name @option, the first suggests @instead.
 */
int screen_new(const char *option, const char *instead, unsigned flags, struct screen **ret, struct err *err);
void screen_free(struct screen *s);	/* gives the terminal back; NULL is fine */

/* Keys come from @loop from here on. */
int screen_start(struct screen *s, struct loop *loop, const struct screen_ops *ops, void *ctx, struct err *err);
void screen_size(const struct screen *s, unsigned *ret_width, unsigned *ret_height);
/*
 * Draws a picture: lines, each SCREEN_PLAIN or so, printable text and a NUL. Takes its content. @afresh: every cell,
 * as after other programs wrote to the terminal.
 */
void screen_show(struct screen *s, struct buf *picture, bool afresh);

#endif
