// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Text lines: the time, then the line of the event's type. Types escape what they print; this file checks every byte
 * again, as a second barrier before the terminal.
 */
#include <errno.h>
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
	struct buf line;	/* from the type */
	struct buf out;		/* to be written */
};

static bool is_plain(const char *s, size_t len)
{
	unsigned char bad = 0;

	/* Branch-free, so that it is vectorised. */
	for (size_t i = 0; i < len; i++)
		bad |= ((unsigned char)s[i] < 0x20 && s[i] != '\n') | ((unsigned char)s[i] >= 0x7f);
	return !bad;
}

/* Copies allowed bytes (text, escape sequences, newlines) and escapes all others. */
static void add_safe(struct buf *out, const char *s, size_t len)
{
	if (is_plain(s, len)) {
		buf_add(out, s, len);
		return;
	}
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

static void compose(struct text *t, const struct sink_opts *o, const struct event *ev)
{
	bool meta = ev->desc->class == EVENT_META, timed = !ev->desc->table && o->time != TIME_NONE;

	if (o->color && timed)
		buf_add_str(&t->out, COLOR_TIME);
	if (timed)
		time_text_column(&t->time, o->time, ev, &t->out);
	if (o->color && timed)
		buf_add_str(&t->out, COLOR_OFF);
	if (!o->color || !meta) {
		add_safe(&t->out, t->line.data, t->line.len);
		return;
	}
	buf_add_str(&t->out, COLOR_META);
	add_safe(&t->out, t->line.data, t->line.len - 1);
	buf_add_str(&t->out, COLOR_OFF "\n");
}

/* A user-defined line, which includes its own time. */
static int printed_event(struct sink *s, const struct event *ev)
{
	struct text *t = s->state;
	int r;

	time_text_full(&t->time, s->opts->time, ev, &t->out);
	r = format_event(s->opts->line.print, ev, buf_str(&t->out), &t->line);
	if (r < 0 || !t->line.len)
		return r;
	buf_reset(&t->out);
	add_safe(&t->out, t->line.data, t->line.len);
	return buf_error(&t->out) ? buf_error(&t->out) : outfile_record(s->out, t->out.data, t->out.len);
}

static int text_event(struct sink *s, const struct event *ev)
{
	struct text *t = s->state;
	int r;

	if (ev->desc->type == SONDE_EV_LEDGER)	/* printed to stderr at the end, on request */
		return 0;
	buf_reset(&t->line);
	buf_reset(&t->out);
	if (s->opts->line.print && ev->desc->class != EVENT_META)
		return printed_event(s, ev);
	r = event_line(ev, &s->opts->line, &t->line);
	if (r < 0 || !t->line.len)
		return r;
	if (t->line.data[t->line.len - 1] != '\n')
		buf_add_char(&t->line, '\n');
	if (buf_error(&t->line))
		return buf_error(&t->line);
	compose(t, s->opts, ev);
	return buf_error(&t->out) ? buf_error(&t->out) : outfile_record(s->out, t->out.data, t->out.len);
}

static int text_close(struct sink *s)
{
	struct text *t = s->state;

	buf_fini(&t->line);
	buf_fini(&t->out);
	return 0;
}

const struct sink_ops text_sink = {
	.name = "text", .summary = "one line per event", .suffix = ".txt", .state_size = sizeof(struct text),
	.event = text_event, .close = text_close,
};
