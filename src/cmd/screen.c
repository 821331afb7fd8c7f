// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Full-screen lists by ncurses.
 */
#include "cmd/screen.h"

#include <errno.h>

#include "base/err.h"
#include "base/macros.h"

#ifdef HAVE_NCURSES

#include <locale.h>
#include <ncurses.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/loop.h"

#define REFRESH_NS 1000000000ull
#define FIRST_NS 300000000ull
#define HEAD_LINES 3
#define FOOT_LINES 1
#define ROW_BYTES 1024

struct screen {
	SCREEN *term;
	const struct screen_ops *ops;
	void *ctx;
	const char *option;
	size_t n_rows, selected, first;
};

void screen_free(struct screen *s)
{
	if (!s)
		return;
	if (s->term) {
		endwin();
		delscreen(s->term);
	}
	free(s);
}

int screen_new(const char *option, const char *instead, struct screen **ret, struct err *err)
{
	struct screen *s;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return err_set(err, -ENOTTY, "%s needs a terminal; %s", option, instead);
	s = calloc(1, sizeof(*s));
	if (!s)
		return err_errno(err, -ENOMEM, "%s", option);
	setlocale(LC_CTYPE, "");
	s->option = option;
	s->term = newterm(NULL, stdout, stdin);
	if (!s->term) {
		screen_free(s);
		return err_set(err, -ENOTTY, "%s cannot use this terminal (TERM=%s)", option,
			       getenv("TERM") ? getenv("TERM") : "");
	}
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	curs_set(0);
	*ret = s;
	return 0;
}

size_t screen_selected(const struct screen *s)
{
	return s->selected;
}

void screen_home(struct screen *s)
{
	s->selected = s->first = 0;
}

static void put_line(int y, const char *text)
{
	mvprintw(y, 0, "%.*s", COLS > 1 ? COLS - 1 : 0, text);
}

void screen_show(struct screen *s, const struct screen_page *page)
{
	size_t room = LINES > HEAD_LINES + FOOT_LINES ? (size_t)(LINES - HEAD_LINES - FOOT_LINES) : 0;
	char row[ROW_BYTES];

	erase();
	s->n_rows = page->n_rows;
	s->selected = MIN(s->selected, page->n_rows ? page->n_rows - 1 : 0);
	s->first = MIN(s->first, s->selected);
	if (room && s->selected >= s->first + room)
		s->first = s->selected - room + 1;
	put_line(0, page->title);
	attron(A_REVERSE);
	mvhline(HEAD_LINES - 1, 0, ' ', COLS);
	put_line(HEAD_LINES - 1, page->head);
	attroff(A_REVERSE);
	for (size_t i = 0; i < room && s->first + i < page->n_rows; i++) {
		page->row(page->ctx, s->first + i, row, sizeof(row));
		if (s->first + i == s->selected)
			attron(A_BOLD | A_UNDERLINE);
		put_line(HEAD_LINES + (int)i, row);
		attroff(A_BOLD | A_UNDERLINE);
	}
	put_line(LINES - 1, page->foot);
	refresh();
}

/* Moves in the list; false when the key is none that does. */
static bool move_by(struct screen *s, int key)
{
	size_t page = LINES > HEAD_LINES + 2 ? (size_t)(LINES - HEAD_LINES - 2) : 1;

	switch (key) {
	case KEY_UP: case 'k':
		s->selected -= s->selected > 0;
		return true;
	case KEY_DOWN: case 'j':
		s->selected++;
		return true;
	case KEY_PPAGE:
		s->selected -= MIN(s->selected, page);
		return true;
	case KEY_NPAGE: case ' ':
		s->selected += page;
		return true;
	default:
		return false;
	}
}

static int plain_key(int key)
{
	switch (key) {
	case KEY_ENTER: case KEY_RIGHT:
		return SCREEN_KEY_ENTER;
	case KEY_BACKSPACE: case KEY_LEFT:
		return SCREEN_KEY_BACK;
	default:
		return key;
	}
}

static int on_input(void *ctx, _unused_ int fd, uint32_t events)
{
	struct screen *s = ctx;
	int key, n = 0;

	for (; (key = getch()) != ERR; n++) {
		if (move_by(s, key))
			continue;
		if (key == 'q')
			s->ops->quit(s->ctx);
		else
			s->ops->key(s->ctx, plain_key(key));
	}
	if (!n && events & (EPOLLHUP | EPOLLERR))
		s->ops->quit(s->ctx);
	s->ops->show(s->ctx);
	return 0;
}

static int on_refresh(void *ctx, _unused_ uint64_t now_ns)
{
	struct screen *s = ctx;

	s->ops->show(s->ctx);
	return 0;
}

int screen_start(struct screen *s, struct loop *loop, const struct screen_ops *ops, void *ctx, struct err *err)
{
	int r;

	s->ops = ops;
	s->ctx = ctx;
	r = loop_add_io(loop, STDIN_FILENO, EPOLLIN, on_input, s, NULL);
	if (r >= 0)
		r = loop_add_timer(loop, FIRST_NS, REFRESH_NS, on_refresh, s, NULL);
	return r < 0 ? err_errno(err, r, "%s cannot read the terminal", s->option) : 0;
}

#else

void screen_free(_unused_ struct screen *s)
{
}

int screen_new(const char *option, _unused_ const char *instead, _unused_ struct screen **ret, struct err *err)
{
	return err_set(err, -ENOTSUP, "%s was left out of this build: it needs ncursesw", option);
}

int screen_start(_unused_ struct screen *s, _unused_ struct loop *loop, _unused_ const struct screen_ops *ops,
		 _unused_ void *ctx, _unused_ struct err *err)
{
	return 0;
}

void screen_show(_unused_ struct screen *s, _unused_ const struct screen_page *page)
{
}

size_t screen_selected(_unused_ const struct screen *s)
{
	return 0;
}

void screen_home(_unused_ struct screen *s)
{
}

#endif
