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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/buf.h"
#include "loop/loop.h"
#include "cmd/painter.h"

#define REFRESH_NS 1000000000ull
#define FIRST_NS 300000000ull
#define HEAD_LINES 3
#define FOOT_LINES 1
#define ROW_BYTES 1024
#define PICTURE_HEAD 3	/* lines of a picture: title, head, foot; then rows */
#define SELECTED '>'	/* first byte of the selected row, a blank in others */

/*
 * After screen_new() ncurses belongs to the painter's thread, which may be held by the terminal. Keys and the size of
 * the terminal are read without it.
 */
struct screen {
	SCREEN *term;
	struct painter *painter;
	struct termios modes;	/* of before */
	struct buf picture;
	const struct screen_ops *ops;
	void *ctx;
	const char *option;
	size_t n_rows, selected, first;
};

static void terminal_size(struct winsize *ret)
{
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, ret) < 0 || !ret->ws_row || !ret->ws_col)
		*ret = (struct winsize){ .ws_row = 24, .ws_col = 80 };
}

/* A terminal that takes nothing gets its modes back, which needs no output. */
void screen_free(struct screen *s)
{
	if (!s)
		return;
	if (!painter_free(s->painter)) {
		tcsetattr(STDIN_FILENO, TCSANOW, &s->modes);
		return;
	}
	if (s->term) {
		endwin();
		delscreen(s->term);
	}
	buf_fini(&s->picture);
	free(s);
}

/* ---- in the painter's thread ---- */

static void put_line(int y, const char *text)
{
	mvprintw(y, 0, "%.*s", COLS > 1 ? COLS - 1 : 0, text);
}

static void put_row(int y, const char *row)
{
	if (*row == SELECTED)
		attron(A_BOLD | A_UNDERLINE);
	put_line(y, row + 1);
	attroff(A_BOLD | A_UNDERLINE);
}

static void paint_line(int n, const char *line)
{
	if (n == 0) {
		put_line(0, line);
	} else if (n == 1) {
		attron(A_REVERSE);
		mvhline(HEAD_LINES - 1, 0, ' ', COLS);
		put_line(HEAD_LINES - 1, line);
		attroff(A_REVERSE);
	} else if (n == 2) {
		put_line(LINES - 1, line);
	} else if (n - PICTURE_HEAD + HEAD_LINES < LINES - FOOT_LINES) {
		put_row(n - PICTURE_HEAD + HEAD_LINES, line);
	}
}

/* Lines end with a NUL. */
static void paint(void *ctx, const struct buf *picture)
{
	const char *line = picture->data, *end = line + picture->len;
	struct winsize size;

	(void)ctx;
	terminal_size(&size);
	if (size.ws_row != LINES || size.ws_col != COLS)
		resizeterm(size.ws_row, size.ws_col);
	erase();
	for (int n = 0; line < end; n++, line += strlen(line) + 1)
		paint_line(n, line);
	refresh();
}

/* ---- in the caller's ---- */

static int take_terminal(struct screen *s, struct err *err)
{
	setlocale(LC_CTYPE, "");
	tcgetattr(STDIN_FILENO, &s->modes);
	s->term = newterm(NULL, stdout, stdin);
	if (!s->term)
		return err_set(err, -ENOTTY, "%s cannot use this terminal (TERM=%s)", s->option,
			       getenv("TERM") ? getenv("TERM") : "");
	cbreak();
	noecho();
	curs_set(0);
	return 0;
}

int screen_new(const char *option, const char *instead, struct screen **ret, struct err *err)
{
	struct screen *s;
	int r;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return err_set(err, -ENOTTY, "%s needs a terminal; %s", option, instead);
	s = calloc(1, sizeof(*s));
	if (!s)
		return err_errno(err, -ENOMEM, "%s", option);
	s->option = option;
	r = take_terminal(s, err);
	if (r >= 0) {
		r = painter_new(paint, NULL, &s->painter);
		if (r < 0)
			err_errno(err, r, "%s", option);
	}
	if (r < 0) {
		screen_free(s);
		return r;
	}
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

static size_t rows_of_terminal(void)
{
	struct winsize size;

	terminal_size(&size);
	return size.ws_row > HEAD_LINES + FOOT_LINES ? size.ws_row - HEAD_LINES - FOOT_LINES : 0;
}

static void add_line(struct buf *to, const char *text)
{
	buf_add(to, text, strlen(text) + 1);
}

void screen_show(struct screen *s, const struct screen_page *page)
{
	size_t room = rows_of_terminal();
	char row[ROW_BYTES];

	s->n_rows = page->n_rows;
	s->selected = MIN(s->selected, page->n_rows ? page->n_rows - 1 : 0);
	s->first = MIN(s->first, s->selected);
	if (room && s->selected >= s->first + room)
		s->first = s->selected - room + 1;
	buf_reset(&s->picture);
	add_line(&s->picture, page->title);
	add_line(&s->picture, page->head);
	add_line(&s->picture, page->foot);
	for (size_t i = s->first; i < page->n_rows && i < s->first + room; i++) {
		page->row(page->ctx, i, row, sizeof(row));
		buf_add_char(&s->picture, i == s->selected ? SELECTED : ' ');
		add_line(&s->picture, row);
	}
	if (!buf_error(&s->picture))
		painter_put(s->painter, &s->picture);
}

/* ---- keys ---- */

enum { KEY_IS_UP = 256, KEY_IS_DOWN, KEY_IS_PAGE_UP, KEY_IS_PAGE_DOWN, KEY_IS_NOTHING };

/* Behind ESC [ or ESC O; @len bytes are there. Takes the letter or number and tilde that end it. */
static int sequence_key(const char *p, size_t len, size_t *ret_len)
{
	size_t n = 0;

	while (n < len && (unsigned char)p[n] < 0x40)
		n++;
	*ret_len = n + (n < len);
	if (n == len)
		return KEY_IS_NOTHING;
	switch (p[n]) {
	case 'A': return KEY_IS_UP;
	case 'B': return KEY_IS_DOWN;
	case 'C': case 'M': return SCREEN_KEY_ENTER;
	case 'D': return SCREEN_KEY_BACK;
	case '~': return p[0] == '5' ? KEY_IS_PAGE_UP : p[0] == '6' ? KEY_IS_PAGE_DOWN : KEY_IS_NOTHING;
	default: return KEY_IS_NOTHING;
	}
}

/* The key at @p and its length. */
static int key_at(const char *p, size_t len, size_t *ret_len)
{
	int key;

	*ret_len = 1;
	switch (p[0]) {
	case '\033':
		if (len < 3 || (p[1] != '[' && p[1] != 'O'))
			return KEY_IS_NOTHING;
		key = sequence_key(p + 2, len - 2, ret_len);
		*ret_len += 2;
		return key;
	case '\r': return SCREEN_KEY_ENTER;
	case '\b': return SCREEN_KEY_BACK;
	case 'k': return KEY_IS_UP;
	case 'j': return KEY_IS_DOWN;
	case ' ': return KEY_IS_PAGE_DOWN;
	default: return (unsigned char)p[0];
	}
}

/* Moves in the list; false when the key is none that does. */
static bool move_by(struct screen *s, int key)
{
	size_t rows = rows_of_terminal(), page = rows > 1 ? rows - 1 : 1;

	switch (key) {
	case KEY_IS_UP:
		s->selected -= s->selected > 0;
		return true;
	case KEY_IS_DOWN:
		s->selected++;
		return true;
	case KEY_IS_PAGE_UP:
		s->selected -= MIN(s->selected, page);
		return true;
	case KEY_IS_PAGE_DOWN:
		s->selected += page;
		return true;
	default:
		return key == KEY_IS_NOTHING;
	}
}

static int on_input(void *ctx, int fd, _unused_ uint32_t events)
{
	struct screen *s = ctx;
	char bytes[256];
	ssize_t got = read(fd, bytes, sizeof(bytes));
	size_t len;

	if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))	/* the terminal is gone */
		s->ops->quit(s->ctx);
	for (ssize_t at = 0; at < got; at += (ssize_t)len) {
		int key = key_at(bytes + at, (size_t)(got - at), &len);

		if (move_by(s, key))
			continue;
		if (key == 'q')
			s->ops->quit(s->ctx);
		else
			s->ops->key(s->ctx, key);
	}
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
