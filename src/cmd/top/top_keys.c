// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Keys: moving, sorting, filters, drill-down.
 */
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/macros.h"
#include "base/str.h"
#include "cmd/screen.h"
#include "cmd/top/top_state.h"
#include "event/event.h"
#include "view/view_clause.h"
#include "view/view_fold.h"

#define STEP_MIN_NS (NS_PER_S / 10)
#define STEP_MAX_NS (10 * NS_PER_S)

/* ---- moving ---- */

/* Remembers the row under the cursor by its key. */
static void select_row(struct top *t)
{
	if (t->page == TOP_TABLE && t->cursor < t->rows.len)
		top_step(t)->selected = t->rows.items[t->cursor].id;
}

static bool move_by(struct top *t, int key)
{
	unsigned width, height;
	size_t rows = top_page_rows(t), page;

	screen_size(t->screen, &width, &height);
	page = top_page_room(t, height);
	switch (key) {
	case SCREEN_KEY_UP: case 'k':
		t->cursor -= t->cursor > 0;
		break;
	case SCREEN_KEY_DOWN: case 'j':
		t->cursor++;
		break;
	case SCREEN_KEY_PAGE_UP:
		t->cursor -= MIN(t->cursor, page);
		break;
	case SCREEN_KEY_PAGE_DOWN:
		t->cursor += page;
		break;
	case SCREEN_KEY_HOME:
		t->cursor = 0;
		break;
	case SCREEN_KEY_END:
		t->cursor = rows;
		break;
	default:
		return false;
	}
	t->cursor = MIN(t->cursor, rows ? rows - 1 : 0);
	select_row(t);
	return true;
}

static void go_to(struct top *t, enum top_page page)
{
	t->page = page;
	t->cursor = t->first = 0;
	top_fold_refresh(t);
	if (page == TOP_EVENTS)
		t->cursor = t->list.len ? t->list.len - 1 : 0;
}

/* A page that Backspace leaves for the one before. */
static void show_aside(struct top *t, enum top_page page)
{
	if (t->page < TOP_VIEWS)
		t->behind = t->page;
	go_to(t, page);
}

/* ---- opening ---- */

/* The @n-th name of the drill list, from 1; NULL = none. */
static const struct view *target(const struct view *v, int n)
{
	const char *p = v->drill;
	char name[40];
	size_t len;

	for (; *p && n > 1; n--) {
		p += strcspn(p, " ");
		p += *p == ' ';
	}
	len = strcspn(p, " ");
	if (!len || !str_copy(name, sizeof(name), p, len))
		return NULL;
	return view_find(name);
}

/* Adds a step: the row under the cursor as a clause, seen by @view. */
static bool push(struct top *t, const struct view *view)
{
	const struct view_row *r = t->cursor < t->rows.len ? &t->rows.items[t->cursor] : NULL;
	struct top_step *from = top_step(t), *to;

	if (!r || r->other || t->n_steps == TOP_STEPS || t->page != TOP_TABLE)
		return false;
	from->selected = r->id;
	to = &t->steps[t->n_steps];
	buf_reset(&to->clause);
	buf_reset(&to->label);
	if (!t->o.fill)
		view_clause_of_row(&t->rows, r, &to->clause);
	for (size_t i = 0; i < view_n_keys(from->view); i++)
		buf_printf(&to->label, "%s%s", i ? " " : "", view_rows_cell(&t->rows, r, i));
	to->view = view;
	to->sort = view_col_index(view, view->sort);
	to->reverse = false;
	to->selected = 0;
	t->n_steps++;
	return true;
}

static void recount(struct top *t)
{
	if (top_fold_filter(t) >= 0)
		top_fold_refold(t);
}

static void pop(struct top *t)
{
	if (t->n_steps == 1)
		return;
	t->n_steps--;
	recount(t);
	go_to(t, TOP_TABLE);
}

static void open_view(struct top *t, int n)
{
	const struct view *view = t->o.fill ? top_step(t)->view : target(top_step(t)->view, n);

	if (!view || !push(t, view))
		return;
	recount(t);
	go_to(t, TOP_TABLE);
}

/* The events of the selected row: a step of its own, so that Backspace leads back to the row. */
static void open_events(struct top *t)
{
	if (t->o.fill)
		return;
	if (push(t, top_step(t)->view))
		recount(t);
	go_to(t, TOP_EVENTS);
}

/* The first target with events. */
static int first_target(const struct top *t)
{
	const struct view *from = t->steps[t->n_steps - 1].view, *v;

	for (int n = 1; !t->o.fill && (v = target(from, n)); n++)
		if (top_fold_missing(t, v) + 1ull != 1ull << view_n_cols(v))
			return n;
	return 1;
}

/* Has a row been opened? Not the host, which is all events. */
static bool is_of_one(const struct top *t)
{
	return FIND_ITEM(it, t->steps, t->n_steps, it->clause.len);
}

/* A view of one row opens its events; so does one without targets. */
static void enter(struct top *t)
{
	switch (t->page) {
	case TOP_TABLE:
		if (t->o.fill || (!is_of_one(t) && target(top_step(t)->view, 1)))
			open_view(t, first_target(t));
		else
			open_events(t);
		break;
	case TOP_EVENTS:
		if (t->cursor < t->list.len) {
			t->opened = t->list.items[t->cursor];
			go_to(t, TOP_EVENT);
		}
		break;
	case TOP_VIEWS:
		top_step(t)->view = &views[MIN(t->cursor, view_n - 1)];
		top_step(t)->sort = view_col_index(top_step(t)->view, top_step(t)->view->sort);
		top_fold_refold(t);
		go_to(t, TOP_TABLE);
		break;
	case TOP_EVENT:
	case TOP_HELP:
	case TOP_COMMAND:
	case TOP_PAGE__MAX:
		break;
	}
}

static void back(struct top *t)
{
	switch (t->page) {
	case TOP_EVENT:
		go_to(t, TOP_EVENTS);
		break;
	case TOP_VIEWS:
	case TOP_HELP:
	case TOP_COMMAND:
		go_to(t, t->behind);
		break;
	case TOP_EVENTS:
	case TOP_TABLE:
		t->page = TOP_TABLE;
		pop(t);
		break;
	case TOP_PAGE__MAX:
		break;
	}
}

/* ---- typing ---- */

/* A bare word means a part of a process name. */
static void set_filter(struct top *t)
{
	_cleanup_(buf_fini) struct buf was = t->typed;

	t->typed = (struct buf){ 0 };
	if (t->input.len && view_clause_is_plain(buf_str(&t->input)) && !strchr(buf_str(&t->input), '.'))
		buf_printf(&t->typed, "proc.name contains %s", buf_str(&t->input));
	else
		buf_add(&t->typed, t->input.data, t->input.len);
	if (top_fold_filter(t) < 0) {
		buf_reset(&t->typed);
		buf_add(&t->typed, was.data, was.len);
		return;
	}
	top_fold_refold(t);
	top_fold_refresh(t);
}

static void type(struct top *t, int key)
{
	switch (key) {
	case SCREEN_KEY_ENTER:
		t->typing = false;
		set_filter(t);
		break;
	case SCREEN_KEY_ESC:
		t->typing = false;
		break;
	case SCREEN_KEY_BACK:
		t->input.len -= t->input.len > 0;
		break;
	default:
		if (key >= ' ' && key < 256 && key != SCREEN_KEY_BACK)
			buf_add_char(&t->input, (char)key);
	}
}

static void find_next(struct top *t)
{
	const char *words = buf_str(&t->input);

	for (size_t k = 1; t->input.len && t->page == TOP_TABLE && k <= t->rows.len; k++) {
		size_t i = (t->cursor + k) % t->rows.len;

		for (size_t c = 0; c < view_n_keys(t->rows.view); c++)
			if (strstr(view_rows_cell(&t->rows, &t->rows.items[i], c), words)) {
				t->cursor = i;
				select_row(t);
				return;
			}
	}
}

/* ---- order and time ---- */

/* Columns from left to right, then keys. */
static void sort_by(struct top *t, int by)
{
	struct top_step *s = top_step(t);
	size_t cols = view_n_cols(s->view), n = cols + view_n_keys(s->view);
	size_t at = s->sort < VIEW_COLS ? s->sort : cols + s->sort - VIEW_COLS;

	at = (at + n + (size_t)(by + (int)n)) % n;
	s->sort = at < cols ? at : VIEW_COLS + at - cols;
	top_fold_refresh(t);
}

static void set_step(struct top *t, uint64_t ns)
{
	t->step_ns = MAX(STEP_MIN_NS, MIN(ns, STEP_MAX_NS));
	if (t->fold)
		view_fold_set_step(t->fold, t->step_ns);
	if (t->host)
		view_fold_set_step(t->host, t->step_ns);
	top_fold_pace(t);
}

static void hide_columns(struct top *t, int by)
{
	size_t most = view_n_cols(top_step(t)->view) - 1;

	if (t->replays)
		top_fold_step(t, by);
	else
		t->skip = by < 0 ? t->skip - (t->skip > 0) : MIN(t->skip + 1, most);
}

static void change_table(struct top *t, int key)
{
	switch (key) {
	case 's': case '>':
		sort_by(t, 1);
		break;
	case '<':
		sort_by(t, -1);
		break;
	case 'r':
		top_step(t)->reverse = !top_step(t)->reverse;
		top_fold_refresh(t);
		break;
	case 't':
		t->totals = !t->totals;
		top_fold_refresh(t);
		break;
	case 'n':
		find_next(t);
		break;
	case 'e':
		open_events(t);
		break;
	default:
		if (key >= '1' && key <= '9')
			open_view(t, key - '0');
	}
}

/* The row under the pointer; a second click opens it. A click on a heading sorts by it, a second one reverses. */
void top_keys_click(struct top *t, unsigned x, unsigned y, unsigned width)
{
	const int row = top_page_line(t, y);
	const int by = row == -2 && t->page == TOP_TABLE ? top_page_heading(t, width, x) : -1;

	if (by >= 0) {
		top_step(t)->reverse = top_step(t)->sort == (size_t)by && !top_step(t)->reverse;
		top_step(t)->sort = (size_t)by;
		top_fold_refresh(t);
	} else if (row >= 0 && (size_t)row == t->cursor) {
		enter(t);
	} else if (row >= 0) {
		t->cursor = (size_t)row;
		select_row(t);
	}
}

void top_keys(struct top *t, int key)
{
	if (t->typing) {
		type(t, key);
		return;
	}
	buf_reset(&t->said);
	if (move_by(t, key))
		return;
	switch (key) {
	case 'q':
		top_fold_quit(t);
		break;
	case SCREEN_KEY_ENTER:
		enter(t);
		break;
	case SCREEN_KEY_BACK: case SCREEN_KEY_ESC:
		back(t);
		break;
	case SCREEN_KEY_LEFT: case SCREEN_KEY_RIGHT:
		hide_columns(t, key == SCREEN_KEY_LEFT ? -1 : 1);
		break;
	case SCREEN_KEY_REDRAW:
		t->afresh = true;
		break;
	case 'v': case SCREEN_KEY_F2:
		if (!t->o.fill)
			show_aside(t, TOP_VIEWS);
		break;
	case '?': case SCREEN_KEY_F1:
		show_aside(t, TOP_HELP);
		break;
	case '/':
		t->typing = !t->o.fill;
		buf_reset(&t->input);
		break;
	case 'p': case ' ':
		t->paused = !t->paused;
		break;
	case '+':
		set_step(t, t->step_ns * 2);
		break;
	case '-':
		set_step(t, t->step_ns / 2);
		break;
	case 'w':
		show_aside(t, TOP_COMMAND);
		break;
	default:
		if (t->page == TOP_TABLE)
			change_table(t, key);
	}
}
