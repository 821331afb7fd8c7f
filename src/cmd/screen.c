// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Full screens by ncurses.
 */
#include "cmd/screen.h"

#include <errno.h>

#include "base/err.h"
#include "base/macros.h"

#ifdef HAVE_NCURSES

#include <locale.h>
#include <ncurses.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/buf.h"
#include "cmd/painter.h"
#include "loop/loop.h"

#define AFRESH '\f'	/* first byte of a picture: draw every cell */
#define PAIR_ALERT 1
#define MOUSE_ON "\033[?1000h\033[?1006h" /* buttons, as "ESC [ < button ; x ; y M" */
#define MOUSE_OFF "\033[?1006l\033[?1000l"
#define WHEEL_LINES 3

/*
 * After screen_new() ncurses belongs to the painter's thread, which the terminal may block. Keys and the terminal's
 * size are read without ncurses.
 */
struct screen {
	SCREEN *term;
	struct painter *painter;
	struct termios modes;	/* of before */
	struct buf picture;
	const struct screen_ops *ops;
	void *ctx;
	const char *option;
	unsigned flags; /* SCREEN_COLOR, SCREEN_MOUSE */
	sigset_t mask;	/* of before */
	struct loop_source *stop; /* SIGTSTP; NULL before screen_start() */
	atomic_bool suspends;	  /* the painter is to stop the process */
};

static void terminal_size(struct winsize *ret)
{
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, ret) < 0 || !ret->ws_row || !ret->ws_col)
		*ret = (struct winsize){ .ws_row = 24, .ws_col = 80 };
}

void screen_size(_unused_ const struct screen *s, unsigned *ret_width, unsigned *ret_height)
{
	struct winsize size;

	terminal_size(&size);
	*ret_width = size.ws_col;
	*ret_height = size.ws_row;
}

static void put_mouse(const struct screen *s, const char *mode)
{
	if (!(s->flags & SCREEN_MOUSE))
		return;
	fputs(mode, stdout);
	fflush(stdout);
}

/* Restores the modes of a blocked terminal, which needs no output. */
void screen_free(struct screen *s)
{
	if (!s)
		return;
	loop_remove(s->stop);
	pthread_sigmask(SIG_SETMASK, &s->mask, NULL);
	if (!painter_free(s->painter)) {
		tcsetattr(STDIN_FILENO, TCSANOW, &s->modes);
		return;
	}
	if (s->term) {
		put_mouse(s, MOUSE_OFF);
		endwin();
		delscreen(s->term);
	}
	buf_fini(&s->picture);
	free(s);
}

/* ---- in the painter's thread ---- */

static attr_t look_of(char look)
{
	switch (look) {
	case SCREEN_BOLD: return A_BOLD;
	case SCREEN_HEAD: return A_REVERSE;
	case SCREEN_SELECTED: return A_BOLD | A_UNDERLINE;
	case SCREEN_ALERT: return has_colors() ? A_BOLD | COLOR_PAIR(PAIR_ALERT) : A_BOLD;
	default: return A_NORMAL;
	}
}

/* The last cell of the last line stays empty: some terminals scroll when it is written. */
static void paint_line(int y, const char *line)
{
	attr_t look = look_of(*line);

	attron(look);
	if (*line == SCREEN_HEAD)
		mvhline(y, 0, ' ', COLS);
	mvaddnstr(y, 0, line + 1, -1);
	attroff(look);
}

/* Gives the terminal back and stops the process; goes on when it is continued. */
static void suspend(const struct screen *s)
{
	put_mouse(s, MOUSE_OFF);
	endwin();
	raise(SIGSTOP); /* to this thread: it must not go on while the others stop */
	put_mouse(s, MOUSE_ON);
	clearok(curscr, TRUE);
}

/* Lines end with a NUL. */
static void paint(void *ctx, const struct buf *picture)
{
	struct screen *s = ctx;
	const char *line = picture->data, *end = line + picture->len;
	struct winsize size;

	if (atomic_exchange(&s->suspends, false))
		suspend(s);
	terminal_size(&size);
	if (size.ws_row != LINES || size.ws_col != COLS)
		resizeterm(size.ws_row, size.ws_col);
	erase();
	if (line < end && *line == AFRESH) {
		clearok(curscr, TRUE);
		line++;
	}
	for (int y = 0; line < end && y < LINES; y++, line += strlen(line) + 1)
		paint_line(y, line);
	refresh();
}

/* ---- in the caller's thread ---- */

/* In all threads: one of them would run ncurses' handler beside the painter. */
static void hold_stops(struct screen *s)
{
	sigset_t stop;

	sigemptyset(&stop);
	sigaddset(&stop, SIGTSTP);
	pthread_sigmask(SIG_BLOCK, &stop, &s->mask);
}

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
	put_mouse(s, MOUSE_ON);
	if (s->flags & SCREEN_COLOR && has_colors()) {
		start_color();
		use_default_colors();
		init_pair(PAIR_ALERT, COLOR_RED, -1);
	}
	return 0;
}

int screen_new(const char *option, const char *instead, unsigned flags, struct screen **ret, struct err *err)
{
	struct screen *s;
	int r;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return err_set(err, -ENOTTY, "%s needs a terminal; %s", option, instead);
	s = calloc(1, sizeof(*s));
	if (!s)
		return err_errno(err, -ENOMEM, "%s", option);
	s->option = option;
	s->flags = flags;
	hold_stops(s);
	r = take_terminal(s, err);
	if (r >= 0) {
		r = painter_new(paint, s, &s->painter);
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

void screen_show(struct screen *s, struct buf *picture, bool afresh)
{
	buf_reset(&s->picture);
	if (afresh)
		buf_add_char(&s->picture, AFRESH);
	buf_add(&s->picture, picture->data, picture->len);
	buf_reset(picture);
	if (!buf_error(&s->picture))
		painter_put(s->painter, &s->picture);
}

/* ---- keys ---- */

static int numbered_key(int number)
{
	switch (number) {
	case 1: case 7: return SCREEN_KEY_HOME;
	case 4: case 8: return SCREEN_KEY_END;
	case 5: return SCREEN_KEY_PAGE_UP;
	case 6: return SCREEN_KEY_PAGE_DOWN;
	case 11: return SCREEN_KEY_F1;
	case 12: return SCREEN_KEY_F2;
	default: return SCREEN_KEY_NONE;
	}
}

/* After ESC [ or ESC O, with @len bytes available. Consumes up to the final letter, or number and tilde. */
static int sequence_key(const char *p, size_t len, size_t *ret_len)
{
	size_t n = 0;

	while (n < len && (unsigned char)p[n] < 0x40)
		n++;
	*ret_len = n + (n < len);
	if (n == len)
		return SCREEN_KEY_NONE;
	switch (p[n]) {
	case 'A': return SCREEN_KEY_UP;
	case 'B': return SCREEN_KEY_DOWN;
	case 'C': return SCREEN_KEY_RIGHT;
	case 'D': return SCREEN_KEY_LEFT;
	case 'F': return SCREEN_KEY_END;
	case 'H': return SCREEN_KEY_HOME;
	case 'M': return SCREEN_KEY_ENTER;
	case 'P': return SCREEN_KEY_F1;
	case 'Q': return SCREEN_KEY_F2;
	case '~': return numbered_key(atoi(p));
	default: return SCREEN_KEY_NONE;
	}
}

static int key_at(const char *p, size_t len, size_t *ret_len)
{
	int key;

	*ret_len = 1;
	switch (p[0]) {
	case '\033':
		if (len < 2 || (p[1] != '[' && p[1] != 'O'))
			return SCREEN_KEY_ESC;
		key = sequence_key(p + 2, len - 2, ret_len);
		*ret_len += 2;
		return key;
	case '\r': return SCREEN_KEY_ENTER;
	case '\b': return SCREEN_KEY_BACK;
	default: return (unsigned char)p[0];
	}
}

/* Of "ESC [ < button ; x ; y M", behind the "<"; a release ends in "m". */
static void on_mouse(struct screen *s, const char *p)
{
	unsigned button, x, y;
	char end;

	if (sscanf(p, "%u;%u;%u%c", &button, &x, &y, &end) != 4 || end != 'M' || !x || !y)
		return;
	for (int i = 0; (button == 64 || button == 65) && i < WHEEL_LINES; i++)
		s->ops->key(s->ctx, button == 64 ? SCREEN_KEY_UP : SCREEN_KEY_DOWN);
	if (button == 0 && s->ops->click)
		s->ops->click(s->ctx, x - 1, y - 1);
}

static bool is_mouse(const char *p, size_t len)
{
	return len > 3 && p[0] == '\033' && p[1] == '[' && p[2] == '<';
}

static int on_input(void *ctx, int fd, _unused_ uint32_t events)
{
	struct screen *s = ctx;
	char bytes[256];
	ssize_t got = read(fd, bytes, sizeof(bytes) - 1);
	size_t len;

	if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))	/* the terminal is gone */
		s->ops->quit(s->ctx);
	if (got > 0)
		bytes[got] = '\0';
	for (ssize_t at = 0; at < got; at += (ssize_t)len) {
		int key = key_at(bytes + at, (size_t)(got - at), &len);

		if (is_mouse(bytes + at, len))
			on_mouse(s, bytes + at + 3);
		else
			s->ops->key(s->ctx, key);
	}
	s->ops->show(s->ctx);
	return 0;
}

/* Ctrl-Z: the painter has the terminal. */
static int on_stop(void *ctx, _unused_ int signo)
{
	struct screen *s = ctx;

	atomic_store(&s->suspends, true);
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
		r = loop_add_signal(loop, SIGTSTP, on_stop, s, &s->stop);
	return r < 0 ? err_errno(err, r, "%s cannot read the terminal", s->option) : 0;
}

#else

void screen_free(_unused_ struct screen *s)
{
}

int screen_new(const char *option, _unused_ const char *instead, _unused_ unsigned flags,
	       _unused_ struct screen **ret, struct err *err)
{
	return err_set(err, -ENOTSUP, "%s was left out of this build: it needs ncursesw", option);
}

int screen_start(_unused_ struct screen *s, _unused_ struct loop *loop, _unused_ const struct screen_ops *ops,
		 _unused_ void *ctx, _unused_ struct err *err)
{
	return 0;
}

void screen_size(_unused_ const struct screen *s, unsigned *ret_width, unsigned *ret_height)
{
	*ret_width = 80;
	*ret_height = 24;
}

void screen_show(_unused_ struct screen *s, _unused_ struct buf *picture, _unused_ bool afresh)
{
}

#endif
