/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A terminal in full-screen use: a title, one list that scrolls, a line of help. Knows nothing of what the rows are.
 */
#ifndef CMD_SCREEN_H
#define CMD_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct loop;
struct screen;

/* One screen. Strings are borrowed for the call; they must be printable. */
struct screen_page {
	const char *title, *head, *foot;
	size_t n_rows;
	/* The text of row @i, at most @cap bytes with its NUL. */
	void (*row)(void *ctx, size_t i, char *to, size_t cap);
	void *ctx;
};

struct screen_ops {
	void (*show)(void *ctx);	/* once a second, and after keys: calls screen_show() */
	void (*key)(void *ctx, int key); /* a key other than those that scroll; SCREEN_KEY_* or a character */
	void (*quit)(void *ctx);	/* q, or the terminal is gone */
};

#define SCREEN_KEY_ENTER '\n'
#define SCREEN_KEY_BACK 127

/*
 * Takes the terminal. -ENOTTY with a sentence when there is none, -ENOTSUP when screens were left out of the build;
 * both name @option, the first says @instead.
 */
int screen_new(const char *option, const char *instead, struct screen **ret, struct err *err);
void screen_free(struct screen *s);	/* gives the terminal back; NULL is fine */

/* Keys and refreshes come from @loop from here on. */
int screen_start(struct screen *s, struct loop *loop, const struct screen_ops *ops, void *ctx, struct err *err);
void screen_show(struct screen *s, const struct screen_page *page);
size_t screen_selected(const struct screen *s);
void screen_home(struct screen *s);	/* the first row is selected */

#endif
