// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Text lines: the time, then the line of the event's type. Types escape what they print; this file checks every byte
 * again, as a second barrier before the terminal.
 */
#include <string.h>

#include "base/buf.h"
#include "base/str.h"
#include "event/event.h"
#include "event/format.h"
#include "sinks/outfile.h"
#include "sinks/sink.h"
#include "sinks/time_text.h"
#include "sonde/wire.h"

#define COLOR_TIME "\033[2m"
#define COLOR_META "\033[33m"
#define COLOR_OFF "\033[0m"

struct text {
	struct time_text time;
	struct buf shown_time;	/* of a user-defined line */
	struct buf line;	/* copy of a line for a second escaping */
};

/*
 * Are all bytes printable ASCII or newlines? Most events are one line without a backslash: words decide it, and the
 * last two overlap.
 */
static bool is_plain(const char *s, size_t len)
{
	const size_t words = len > sizeof(uint64_t) && s[len - 1] == '\n' ? len - 1 : 0;
	uint64_t word;
	size_t at = 0;

	for (; at + sizeof(word) <= words; at += sizeof(word)) {
		memcpy(&word, s + at, sizeof(word));
		if (!str_word_is_plain(word, '\\'))
			break;
	}
	if (words && at + sizeof(word) > words) {
		memcpy(&word, s + words - sizeof(word), sizeof(word));
		if (str_word_is_plain(word, '\\'))
			return true;
	}
	while (len) {
		size_t n = str_plain_span(s, len, '\\');

		if (n < len && s[n] != '\n' && s[n] != '\\')
			return false;
		n += n < len;
		s += n;
		len -= n;
	}
	return true;
}

/* Copies allowed bytes (text, escape sequences, newlines) and escapes all others. */
static void add_safe(struct buf *out, const char *s, size_t len)
{
	while (len) {
		size_t n = 0;

		while (n < len && s[n] != '\n' && s[n] != '\\')
			n++;
		str_escape_buf(out, s, n);
		if (n < len)
			buf_add_char(out, s[n++]);
		s += n;
		len -= n;
	}
}

/* Moves the line that @out has from @from on to t->line. */
static void take_line(struct text *t, struct buf *out, size_t from)
{
	buf_reset(&t->line);
	buf_add(&t->line, out->data + from, out->len - from);
	out->len = from;
	if (buf_error(&t->line))
		out->error = buf_error(&t->line);
}

static void make_safe(struct text *t, struct buf *out, size_t from)
{
	if (buf_error(out) || is_plain(out->data + from, out->len - from))
		return;
	take_line(t, out, from);
	add_safe(out, t->line.data, t->line.len);
}

static void color_meta(struct text *t, struct buf *out, size_t from)
{
	if (buf_error(out))
		return;
	take_line(t, out, from);
	buf_add_str(out, COLOR_META);
	add_safe(out, t->line.data, t->line.len - 1);
	buf_add_str(out, COLOR_OFF "\n");
}

/* False: the line has no time. */
static bool add_time(struct text *t, const struct sink_opts *o, const struct event *ev, struct buf *out)
{
	if (ev->desc->table || o->time == TIME_NONE)
		return false;
	if (o->color)
		buf_add_str(out, COLOR_TIME);
	time_text_column(&t->time, o->time, ev, out);
	if (o->color)
		buf_add_str(out, COLOR_OFF);
	return true;
}

/* A user-defined line, which includes its own time. */
static int printed_event(struct sink *s, const struct event *ev)
{
	struct buf *out = outfile_begin(s->out);
	const size_t from = out->len;
	struct text *t = s->state;
	int r;

	buf_reset(&t->shown_time);
	time_text_full(&t->time, s->opts->time, ev, &t->shown_time);
	r = format_event(s->opts->line.print, ev, buf_str(&t->shown_time), out);
	if (r < 0) {
		outfile_cancel(s->out);
		return r;
	}
	make_safe(t, out, from);
	return outfile_end(s->out);
}

/* The line goes to the file's buffer, and leaves it if it is empty: the event is hidden then, and had no time. */
static int text_event(struct sink *s, const struct event *ev)
{
	struct text *t = s->state;
	struct buf *out;
	size_t from;
	bool timed;
	int r;

	if (ev->desc->type == SONDE_EV_LEDGER)	/* printed to stderr at the end, on request */
		return 0;
	if (s->opts->line.print && ev->desc->class != EVENT_META)
		return printed_event(s, ev);
	out = outfile_begin(s->out);
	timed = add_time(t, s->opts, ev, out);
	from = out->len;
	r = event_line(ev, &s->opts->line, out);
	if (r < 0 || out->len == from) {
		if (timed)
			time_text_undo(&t->time);
		outfile_cancel(s->out);
		return r;
	}
	if (out->data[out->len - 1] != '\n')
		buf_add_char(out, '\n');
	if (s->opts->color && ev->desc->class == EVENT_META)
		color_meta(t, out, from);
	else
		make_safe(t, out, from);
	return outfile_end(s->out);
}

static int text_close(struct sink *s)
{
	struct text *t = s->state;

	buf_fini(&t->shown_time);
	buf_fini(&t->line);
	return 0;
}

const struct sink_ops text_sink = {
	.name = "text", .summary = "one line per event", .suffix = ".txt", .state_size = sizeof(struct text),
	.event = text_event, .close = text_close,
};
