// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde profile --top: functions by their own and their whole weight, processes, and who calls whom, once a second.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/err.h"
#include "base/macros.h"
#include "cmd/profile.h"

#ifdef HAVE_NCURSES

#include <locale.h>
#include <ncurses.h>

#include "agent/pipeline.h"
#include "base/loop.h"
#include "stack/top_rows.h"

#define REFRESH_NS 1000000000ULL
#define FIRST_NS 300000000ULL
#define HEAD_LINES 3
#define FOOT_LINES 1
#define MAX_DRILL 16

struct top {
	const struct stack_view *view;
	const struct stack_set *set;	/* of the run; NULL before and after */
	struct sym *sym;
	struct pipeline *pipeline;
	SCREEN *screen;
	struct top_rows rows;
	enum top_kind kind;
	const char *drill[MAX_DRILL];	/* whose callers are shown, the first the innermost; owned */
	size_t n_drill, selected, first;
	bool by_total, paused;
};

void top_free(struct top *t)
{
	if (!t)
		return;
	if (t->screen) {
		endwin();
		delscreen(t->screen);
	}
	while (t->n_drill)
		free((char *)t->drill[--t->n_drill]);
	top_rows_fini(&t->rows);
	free(t);
}

int top_new(const struct stack_view *view, struct top **ret, struct err *err)
{
	struct top *t;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return err_set(err, -ENOTTY, "--top needs a terminal; -o folded or --stats work without one");
	t = calloc(1, sizeof(*t));
	if (!t)
		return err_errno(err, -ENOMEM, "--top");
	t->view = view;
	setlocale(LC_CTYPE, "");
	t->screen = newterm(NULL, stdout, stdin);
	if (!t->screen) {
		top_free(t);
		return err_set(err, -ENOTTY, "--top cannot use this terminal (TERM=%s)",
			       getenv("TERM") ? getenv("TERM") : "");
	}
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	curs_set(0);
	*ret = t;
	return 0;
}

/* ---- the picture ---- */

static void put_head(const struct top *t)
{
	static const char *const kinds[] = {
		[TOP_FUNCTIONS] = "functions", [TOP_PROCESSES] = "processes", [TOP_CALLERS] = "callers of ",
	};

	_Static_assert(ARRAY_SIZE(kinds) == TOP_KIND__MAX, "a word per kind");
	mvprintw(0, 0, "sonde profile: %llu %s in %zu stacks  %s%s%s", (unsigned long long)t->rows.total,
		 stack_weight_units[t->view->weight], t->set ? stack_set_len(t->set) : 0, kinds[t->kind],
		 t->kind == TOP_CALLERS ? t->drill[t->n_drill - 1] : "", t->paused ? "  [paused]" : "");
	attron(A_REVERSE);
	mvhline(HEAD_LINES - 1, 0, ' ', COLS);
	mvprintw(HEAD_LINES - 1, 0, "%8s %8s  %s", t->by_total ? "self" : "self*", t->by_total ? "total*" : "total",
		 "name");
	attroff(A_REVERSE);
}

static double percent(const struct top *t, uint64_t part)
{
	return t->rows.total ? 100 * (double)part / (double)t->rows.total : 0;
}

static void draw(struct top *t)
{
	size_t room = LINES > HEAD_LINES + FOOT_LINES ? (size_t)(LINES - HEAD_LINES - FOOT_LINES) : 0;

	erase();
	put_head(t);
	if (t->selected >= t->rows.len)
		t->selected = t->rows.len ? t->rows.len - 1 : 0;
	if (t->selected < t->first)
		t->first = t->selected;
	if (room && t->selected >= t->first + room)
		t->first = t->selected - room + 1;
	for (size_t i = 0; i < room && t->first + i < t->rows.len; i++) {
		const struct top_row *row = &t->rows.items[t->first + i];

		if (t->first + i == t->selected)
			attron(A_BOLD | A_UNDERLINE);
		mvprintw(HEAD_LINES + (int)i, 0, "%7.2f%% %7.2f%%  %.*s", percent(t, row->self),
			 percent(t, row->total), COLS > 20 ? COLS - 20 : 0, row->name);
		attroff(A_BOLD | A_UNDERLINE);
	}
	mvprintw(LINES - 1, 0, "%.*s", COLS > 1 ? COLS - 1 : 0,
		 "enter: callers  backspace: back  tab: functions/processes  s: sort  p: pause  q: quit");
	refresh();
}

static void update(struct top *t)
{
	if (t->set && !t->paused)
		top_rows_fill(&t->rows, t->set, t->sym, t->view, t->kind,
			      t->n_drill ? t->drill[t->n_drill - 1] : NULL, t->by_total);
	draw(t);
}

/* ---- keys ---- */

static void enter(struct top *t)
{
	char *name = t->selected < t->rows.len && t->kind != TOP_PROCESSES && t->n_drill < MAX_DRILL
			     ? strdup(t->rows.items[t->selected].name) : NULL;

	if (!name)
		return;
	t->drill[t->n_drill++] = name;
	t->kind = TOP_CALLERS;
	t->selected = t->first = 0;
}

static void back(struct top *t)
{
	if (!t->n_drill)
		return;
	free((char *)t->drill[--t->n_drill]);
	t->kind = t->n_drill ? TOP_CALLERS : TOP_FUNCTIONS;
	t->selected = t->first = 0;
}

static void swap_kind(struct top *t)
{
	while (t->n_drill)
		back(t);
	t->kind = t->kind == TOP_PROCESSES ? TOP_FUNCTIONS : TOP_PROCESSES;
	t->selected = t->first = 0;
}

static void on_key(struct top *t, int key)
{
	size_t page = LINES > HEAD_LINES + 2 ? (size_t)(LINES - HEAD_LINES - 2) : 1;

	switch (key) {
	case 'q':
		pipeline_stop(t->pipeline);
		break;
	case KEY_UP: case 'k':
		t->selected -= t->selected > 0;
		break;
	case KEY_DOWN: case 'j':
		t->selected++;
		break;
	case KEY_PPAGE:
		t->selected -= MIN(t->selected, page);
		break;
	case KEY_NPAGE: case ' ':
		t->selected += page;
		break;
	case '\n': case KEY_ENTER: case KEY_RIGHT:
		enter(t);
		break;
	case KEY_BACKSPACE: case 127: case KEY_LEFT:
		back(t);
		break;
	case '\t':
		swap_kind(t);
		break;
	case 's':
		t->by_total = !t->by_total;
		break;
	case 'p':
		t->paused = !t->paused;
		break;
	default:
		break;
	}
}

static int on_input(void *ctx, _unused_ int fd, uint32_t events)
{
	struct top *t = ctx;
	int key, n = 0;

	while ((key = getch()) != ERR) {
		on_key(t, key);
		n++;
	}
	if (!n && events & (EPOLLHUP | EPOLLERR))
		pipeline_stop(t->pipeline);	/* the terminal is gone */
	update(t);
	return 0;
}

static int on_refresh(void *ctx, _unused_ uint64_t now_ns)
{
	update(ctx);
	return 0;
}

int top_start(struct top *t, struct loop *loop, struct pipeline *p, struct err *err)
{
	int r = loop_add_io(loop, STDIN_FILENO, EPOLLIN, on_input, t, NULL);

	t->pipeline = p;
	if (r >= 0)
		r = loop_add_timer(loop, FIRST_NS, REFRESH_NS, on_refresh, t, NULL);
	return r < 0 ? err_errno(err, r, "--top cannot read the terminal") : 0;
}

void top_show(struct top *t, const struct stack_set *set, struct sym *sym)
{
	t->set = set;
	t->sym = sym;
}

void top_stop(struct top *t)
{
	t->set = NULL;
}

#else

void top_free(_unused_ struct top *t)
{
}

int top_new(_unused_ const struct stack_view *view, _unused_ struct top **ret, struct err *err)
{
	return err_set(err, -ENOTSUP, "--top was left out of this build: it needs ncursesw");
}

int top_start(_unused_ struct top *t, _unused_ struct loop *loop, _unused_ struct pipeline *p,
	      _unused_ struct err *err)
{
	return 0;
}

void top_show(_unused_ struct top *t, _unused_ const struct stack_set *set, _unused_ struct sym *sym)
{
}

void top_stop(_unused_ struct top *t)
{
}

#endif
