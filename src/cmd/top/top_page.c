// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The screen as lines. No terminal here: tests compare the lines.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/macros.h"
#include "base/str.h"
#include "cmd/screen.h"
#include "cmd/top/top_state.h"
#include "event/event.h"
#include "pipeline/pipeline.h"
#include "sinks/time_text.h"
#include "sonde/wire.h"
#include "view/view_fold.h"
#include "view/view_text.h"

#define MIN_WIDTH 40u
#define MIN_HEIGHT 8u
#define NARROW 78u	/* below: a shorter line of keys */
#define FOOT_LINES 2u	/* sentence, keys */

static const char *const help_lines[] = {
	"The second line is the host: cpu and wait (for a CPU) in percent of all CPUs,",
	"rx and tx at the interfaces, remote calls and failed ones, drops; - = not known",
	"",
	"Enter        open the row: its first view, at last its events, then one event",
	"1 ... 9      open the row in another view (named in the footer)",
	"e            events of the row, or of the whole view",
	"Bksp, Esc    back",
	"v, F2        choose a view",
	"/            filter; a bare word is part of a process name; empty: none",
	"n            next row that contains the words of the last /",
	"s, < >       sort by the next column, the previous, the next",
	"r            reverse the order",
	"t            rates of the last interval, or totals since the start",
	"p, Space     pause; counting continues",
	"+ -          longer, shorter interval (0.1 to 10 s)",
	"left, right  hidden columns; of a recording: back and forth by an interval",
	"w            the command line that shows the same",
	"Ctrl-L       draw the screen again",
	"q            quit",
};

/* ---- lines ---- */

static void put_line(struct buf *out, char look, const char *text, unsigned width)
{
	buf_add_char(out, look);
	view_text_cut(text, width, false, out);
	buf_add_char(out, '\0');
}

/* Text at the left, more at the right end: it stays, if a third of the line is left. */
static void put_two(struct buf *out, char look, const char *left, const char *right, unsigned width)
{
	_cleanup_(buf_fini) struct buf line = { 0 };
	unsigned len = 0;

	for (const char *p = right; *p; p++)
		len += (*p & 0xc0) != 0x80;
	if (len + 2 + width / 3 <= width) {
		view_text_cut(left, width - len - 2, true, &line);
		buf_printf(&line, "  %s", right);
	} else {
		buf_add_str(&line, left);
	}
	put_line(out, look, buf_str(&line), width);
}

/* ---- crumbs ---- */

static void put_filter(struct top *t, unsigned width, struct buf *out)
{
	const char *words = t->o.words ? t->o.words : "";

	if (width < NARROW && !t->typed.len && !*words) {
		buf_add_str(out, top_head_state(t));
		return;
	}
	buf_printf(out, "filter: %s%s%s   %s", words, t->typed.len && *words ? " and " : "",
		   t->typed.len ? buf_str(&t->typed)
		   : *words	? ""
				: "(none)",
		   top_head_state(t));
}

static void put_crumbs(struct top *t, unsigned width, struct buf *out)
{
	static const char *const names[] = {
		[TOP_TABLE] = "", [TOP_EVENTS] = " > events", [TOP_EVENT] = " > event", [TOP_VIEWS] = " > views",
		[TOP_HELP] = " > help", [TOP_COMMAND] = " > command line",
	};
	_cleanup_(buf_fini) struct buf left = { 0 }, right = { 0 };

	_Static_assert(ARRAY_SIZE(names) == TOP_PAGE__MAX, "each page has a name");
	if (t->host && strcmp(t->steps[0].view->name, "host") != 0)
		buf_add_str(&left, "host > ");
	for (size_t i = 0; i < t->n_steps; i++) {
		if (t->steps[i].label.len)
			buf_printf(&left, " > %s", buf_str(&t->steps[i].label));
		if (!i || i + 1 < t->n_steps || t->page == TOP_TABLE)	/* else the page's own name */
			buf_printf(&left, "%s%s", i ? " > " : "", t->steps[i].view->title);
	}
	buf_add_str(&left, names[t->page]);
	put_filter(t, width, &right);
	put_two(out, SCREEN_PLAIN, buf_str(&left), buf_str(&right), width);
}

/* ---- lists ---- */

static const struct view_row *row_at(const struct top *t, size_t i)
{
	return i < t->rows.len ? &t->rows.items[i] : NULL;
}

static struct view_text text_of(const struct top *t, unsigned width)
{
	const struct top_step *s = &t->steps[t->n_steps - 1];
	struct view_text text = { .view = s->view,
				  .width = width,
				  .sort = s->sort,
				  .totals = top_shows_totals(t) && !top_is_of_functions(s->view),
				  .skip = t->skip };

	if (!t->o.fill)
		text.missing = top_fold_missing(t, s->view);
	view_text_fit(&text);
	return text;
}

int top_page_heading(const struct top *t, unsigned width, unsigned x)
{
	const struct view_text text = text_of(t, width);

	return view_text_at(&text, x);
}

/* Does the run make no event that the view counts? */
static bool is_idle(const struct top *t, const struct view *v)
{
	return !t->o.fill && top_fold_missing(t, v) + 1ull == 1ull << view_n_cols(v);
}

/* "cpu.sample, cpu.block" */
static void put_types(const struct view *v, struct buf *out)
{
	for (size_t i = 0; i < view_n_cols(v); i++) {
		bool is_new = true;

		for (size_t k = 0; k < i; k++)
			is_new = is_new && strcmp(v->cols[k].type, v->cols[i].type) != 0;
		if (is_new)
			buf_printf(out, "%s%s", i ? ", " : "", v->cols[i].type);
	}
}

/* Lines of @width, to copy the whole text. */
static void put_wrapped(const struct buf *text, unsigned width, size_t room, struct buf *out)
{
	for (size_t i = 0, at = 0; i < room; i++, at += width) {
		buf_add_char(out, SCREEN_PLAIN);
		if (at < text->len)
			buf_add(out, text->data + at, MIN((size_t)width, text->len - at));
		buf_add_char(out, '\0');
	}
}

/* The command line that shows the same. */
static void put_command_line(struct top *t, const struct view *view, struct buf *out)
{
	bool any = false;

	buf_printf(out, "sonde top %s", view->name);
	if (t->o.run->read)
		buf_printf(out, " -r %s", t->o.run->read);
	buf_add_str(out, " '");
	if (t->o.words && *t->o.words) {
		buf_printf(out, "(%s)", t->o.words);
		any = true;
	}
	for (size_t i = 0; i < t->n_steps; i++)
		if (t->steps[i].clause.len) {
			buf_printf(out, "%s%s", any ? " and " : "", buf_str(&t->steps[i].clause));
			any = true;
		}
	if (t->typed.len) {
		buf_printf(out, "%s(%s)", any ? " and " : "", buf_str(&t->typed));
		any = true;
	}
	if (any)
		buf_add_char(out, '\'');
	else
		out->len -= 2;
}

static void put_idle(struct top *t, unsigned width, size_t room, struct buf *out)
{
	const struct view *v = t->steps[t->n_steps - 1].view;
	_cleanup_(buf_fini) struct buf types = { 0 }, line = { 0 };

	put_types(v, &types);
	buf_printf(&line, "%s: %s has no events of %s%s", v->title, t->replays ? "the recording" : "this run",
		   buf_str(&types), t->replays ? "" : "; start with");
	put_line(out, SCREEN_PLAIN, "", width);
	put_line(out, SCREEN_PLAIN, buf_str(&line), width);
	buf_reset(&line);
	if (!t->replays)
		put_command_line(t, v, &line);
	if (room > 2)
		put_wrapped(&line, width, room - 2, out);
}

static void put_table(struct top *t, unsigned width, size_t room, struct buf *out)
{
	const struct view_text text = text_of(t, width);
	_cleanup_(buf_fini) struct buf line = { 0 };

	view_text_head(&text, &line);
	put_line(out, SCREEN_HEAD, buf_str(&line), width);
	if (is_idle(t, text.view) && room > 2) {
		put_idle(t, width, room, out);
		return;
	}
	for (size_t i = t->first; i < t->first + room; i++) {
		const struct view_row *r = row_at(t, i);

		buf_reset(&line);
		if (r)
			view_text_row(&text, &t->rows, r, &line);
		put_line(out, r && i == t->cursor ? SCREEN_SELECTED : SCREEN_PLAIN, buf_str(&line), width);
	}
}

static void event_text(const struct top *t, struct view_kept_at at, struct buf *out)
{
	const struct line_opts plain = { 0 };
	struct event ev;
	char clock[40];
	time_t secs;
	struct tm tm;
	int64_t ns;

	if (!view_kept_next(t->kept, &at, &ev))
		return;
	ns = (int64_t)ev.ts_ns + ev.clock_offset_ns;
	secs = (time_t)(ns / (int64_t)NS_PER_S);
	if (localtime_r(&secs, &tm) && strftime(clock, sizeof(clock), "%H:%M:%S", &tm))
		buf_printf(out, "%s.%06d ", clock, (int)(ns % (int64_t)NS_PER_S / 1000));
	event_line(&ev, &plain, out);
	if (out->len && out->data[out->len - 1] == '\n')
		out->len--;
}

/* A line of an event may hold tabs. */
static void put_event_line(const struct top *t, size_t i, unsigned width, struct buf *out)
{
	_cleanup_(buf_fini) struct buf line = { 0 };

	event_text(t, t->list.items[i], &line);
	for (size_t k = 0; k < line.len; k++)
		if (line.data[k] == '\t' || line.data[k] == '\n')
			line.data[k] = ' ';
	put_line(out, i == t->cursor ? SCREEN_SELECTED : SCREEN_PLAIN, buf_str(&line), width);
}

/* Does the view count system calls that this run has as sums alone? */
static bool has_only_sums(const struct top *t, const struct view *v)
{
	const struct view_col single = { .type = "sys.exit", .op = VIEW_SUM, .field = "" };	/* no sum has it */

	for (size_t i = 0; i < view_n_cols(v); i++)
		if (!strcmp(v->cols[i].type, single.type))
			return top_fold_has(t, v, &v->cols[i]) && !top_fold_has(t, v, &single);
	return false;
}

static void put_events(struct top *t, unsigned width, size_t room, struct buf *out)
{
	_cleanup_(buf_fini) struct buf line = { 0 };
	char head[120];
	const uint64_t gone = view_kept_gone(t->kept);

	if (gone)
		snprintf(head, sizeof(head), "%zu events, oldest first, of the latest %llu", t->list.len,
			 (unsigned long long)view_kept_n(t->kept));
	else
		snprintf(head, sizeof(head), "%zu events, oldest first", t->list.len);
	put_line(out, SCREEN_HEAD, head, width);
	if (!t->list.len && has_only_sums(t, top_step(t)->view) && room > 2) {
		put_line(out, SCREEN_PLAIN, "", width);
		put_line(out, SCREEN_PLAIN, "system calls are summed by the kernel here; for single ones start with",
			 width);
		put_command_line(t, view_find("files"), &line);
		put_wrapped(&line, width, room - 2, out);
		return;
	}
	for (size_t i = t->first; i < t->first + room; i++) {
		if (i < t->list.len)
			put_event_line(t, i, width, out);
		else
			put_line(out, SCREEN_PLAIN, "", width);
	}
}

static void put_field(const struct event *ev, const struct field *f, bool common, struct buf *out)
{
	struct value v = { 0 };

	if (f->flags & (FIELD_ALIAS | FIELD_ARGUMENT | FIELD_EITHER) ||
	    (common ? event_get_common(ev, f, &v) : event_get(ev, f, &v)) < 0 || v.kind == VAL_NONE)
		return;
	buf_printf(out, "%-22s ", f->name);
	value_text(&v, out);
	buf_add_char(out, '\0');
}

/* All known fields, a NUL-terminated line each. */
static void fields_of(const struct top *t, struct buf *out)
{
	struct view_kept_at at = t->opened;
	struct event ev;

	if (!t->kept || !view_kept_next(t->kept, &at, &ev))
		return;
	for (size_t i = 0; i < event_n_common_fields; i++)
		put_field(&ev, &event_common_fields[i], true, out);
	for (size_t i = 0; i < ev.desc->n_fields; i++)
		put_field(&ev, &ev.desc->fields[i], false, out);
}

static size_t count_lines(const struct buf *b)
{
	size_t n = 0;

	for (size_t i = 0; i < b->len; i++)
		n += !b->data[i];
	return n;
}

static void put_event(struct top *t, unsigned width, size_t room, struct buf *out)
{
	_cleanup_(buf_fini) struct buf fields = { 0 };
	const char *line;
	size_t n = 0;

	fields_of(t, &fields);
	put_line(out, SCREEN_HEAD, "FIELD                  VALUE", width);
	for (line = fields.data; line && line < fields.data + fields.len && n < t->first + room;
	     line += strlen(line) + 1, n++)
		if (n >= t->first)
			put_line(out, n == t->cursor ? SCREEN_SELECTED : SCREEN_PLAIN, line, width);
	for (n = n > t->first ? n - t->first : 0; n < room; n++)
		put_line(out, SCREEN_PLAIN, "", width);
}

static void put_views(struct top *t, unsigned width, size_t room, struct buf *out)
{
	char line[160];

	put_line(out, SCREEN_HEAD, "VIEW               CONTENT", width);
	for (size_t i = t->first; i < t->first + room; i++) {
		*line = '\0';
		if (i < view_n)
			snprintf(line, sizeof(line), "%-18s %s", views[i].name, views[i].title);
		put_line(out, i == t->cursor && i < view_n ? SCREEN_SELECTED : SCREEN_PLAIN, line, width);
	}
}

static void put_help(const struct top *t, unsigned width, size_t room, struct buf *out)
{
	put_line(out, SCREEN_HEAD, "KEYS", width);
	for (size_t i = t->first; i < t->first + room; i++)
		put_line(out, SCREEN_PLAIN, i < ARRAY_SIZE(help_lines) ? help_lines[i] : "", width);
}

/* Whole, over several lines: to copy it. */
static void put_command(struct top *t, unsigned width, size_t room, struct buf *out)
{
	_cleanup_(buf_fini) struct buf line = { 0 };

	put_command_line(t, top_step(t)->view, &line);
	put_line(out, SCREEN_HEAD, "COMMAND", width);
	put_wrapped(&line, width, room, out);
}

/* ---- footer ---- */

static void put_keys(struct top *t, unsigned width, struct buf *out)
{
	_cleanup_(buf_fini) struct buf line = { 0 };

	if (t->page != TOP_TABLE) {
		put_line(out, SCREEN_PLAIN, t->page == TOP_EVENT || t->page >= TOP_HELP ? "Bksp back  q quit" :
			 "Enter open  Bksp back  q quit", width);
		return;
	}
	buf_add_str(&line,
		    width < NARROW
			    ? "Enter open  Bksp back  ? help  q quit"
			    : "Enter open  Bksp back  v views  / filter  s sort  p pause  e events  ? help  q");
	put_line(out, SCREEN_PLAIN, buf_str(&line), width);
}

static void put_sentence(struct top *t, unsigned width, struct buf *out)
{
	_cleanup_(buf_fini) struct buf line = { 0 };
	const char *drill = top_step(t)->view->drill;
	unsigned n = 0;

	if (t->typing) {
		buf_printf(&line, "/%s_", buf_str(&t->input));
	} else if (t->said.len) {
		buf_add_str(&line, buf_str(&t->said));
	} else if (t->page == TOP_TABLE && *drill) {
		buf_add_str(&line, "open:");
		while (*drill) {
			size_t len = strcspn(drill, " ");

			buf_printf(&line, " %u %.*s", ++n, (int)len, drill);
			drill += len + (drill[len] == ' ');
		}
	}
	put_line(out, t->said.len || t->typing ? SCREEN_BOLD : SCREEN_PLAIN, buf_str(&line), width);
}

/* ---- the page ---- */

size_t top_page_rows(const struct top *t)
{
	_cleanup_(buf_fini) struct buf fields = { 0 };

	switch (t->page) {
	case TOP_TABLE:
		return t->rows.len;
	case TOP_EVENTS:
		return t->list.len;
	case TOP_EVENT:
		fields_of(t, &fields);
		return count_lines(&fields);
	case TOP_VIEWS:
		return view_n;
	case TOP_HELP:
		return ARRAY_SIZE(help_lines);
	case TOP_COMMAND:
		return 0;
	case TOP_PAGE__MAX:
		break;
	}
	return 0;
}

/* Title, host, crumbs, heading. */
static unsigned head_lines(const struct top *t)
{
	return t->host ? 4 : 3;
}

size_t top_page_room(const struct top *t, unsigned height)
{
	const unsigned other = head_lines(t) + FOOT_LINES;

	return height > other ? height - other : 1;
}

int top_page_line(const struct top *t, unsigned y)
{
	const unsigned head = head_lines(t);

	if (y + 1 == head)
		return -2;
	return y < head || t->first + y - head >= top_page_rows(t) ? -1 : (int)(t->first + y - head);
}

/* Keeps the cursor in the list and in sight. */
static void scroll(struct top *t, size_t room)
{
	size_t rows = top_page_rows(t);

	t->cursor = MIN(t->cursor, rows ? rows - 1 : 0);
	t->first = MIN(t->first, t->cursor);
	if (t->cursor >= t->first + room)
		t->first = t->cursor - room + 1;
}

void top_page_draw(struct top *t, unsigned width, unsigned height, struct buf *out)
{
	size_t room = top_page_room(t, height);

	if (width < MIN_WIDTH || height < MIN_HEIGHT) {
		put_line(out, SCREEN_PLAIN, "sonde top needs 40 columns and 8 lines", width);
		return;
	}
	scroll(t, room);
	top_head_title(t, width, out);
	if (t->host)
		top_head_host(t, width, out);
	put_crumbs(t, width, out);
	switch (t->page) {
	case TOP_TABLE: put_table(t, width, room, out); break;
	case TOP_EVENTS: put_events(t, width, room, out); break;
	case TOP_EVENT: put_event(t, width, room, out); break;
	case TOP_VIEWS: put_views(t, width, room, out); break;
	case TOP_HELP: put_help(t, width, room, out); break;
	case TOP_COMMAND: put_command(t, width, room, out); break;
	case TOP_PAGE__MAX: break;
	}
	put_sentence(t, width, out);
	put_keys(t, width - 1, out);
}
