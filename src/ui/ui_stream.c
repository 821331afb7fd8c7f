// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/ui_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/map.h"
#include "ui/ui_answer.h"
#include "ui/ui_jobs.h"
#include "ui/ui_memory.h"
#include "ui/ui_query.h"
#include "ui/answers/ui_about.h"
#include "ui/answers/ui_scan.h"
#include "view/view_kept.h"

struct sub {
	struct ui_stream *s;
	struct ui_query q;
	bool dead;		/* it cannot be answered */
	bool due;		/* waits for its turn */
	bool fresh;		/* `line` was not taken yet */
	struct buf line;
	uint64_t hash;		/* of the last answer */
	uint64_t changes;	/* of the memory, at the last answer */
};

struct ui_stream {
	struct ui_stream_opts o;
	struct sub subs[UI_QUERY_SUBS];
	size_t n, next;		/* next: whose turn it is */
	struct ui_job *job;	/* one at a time; NULL = none */
	struct sub *asked;
	struct buf out;		/* lines that are being taken */
	size_t taken;
	struct buf beat;
	bool answered;		/* every subscription once */
};

static void ask_next(struct ui_stream *s);

static void put_head(struct sub *sub)
{
	buf_reset(&sub->line);
	buf_printf(&sub->line, "{\"sub\":%zu,", (size_t)(sub - sub->s->subs));
}

static void put_error(struct sub *sub, unsigned status, const char *body, size_t len)
{
	put_head(sub);
	/* {"error":...} goes on in the same object */
	buf_printf(&sub->line, "\"status\":%u,", status);
	buf_add(&sub->line, body + 1, len - 1);
	buf_add_char(&sub->line, '\n');
	sub->fresh = true;
}

static void on_done(void *ctx, struct ui_answer *a)
{
	struct ui_stream *s = ctx;
	struct sub *sub = s->asked;
	uint64_t hash = map_hash(a->body.data, a->body.len);

	s->job = NULL;
	if (a->status != 200 && a->body.len) {
		put_error(sub, a->status, a->body.data, a->body.len);
		sub->dead = a->status < 500;
		sub->hash = 0; /* the next answer takes the error's place, also if it is the one before */
	} else if (hash != sub->hash) {
		put_head(sub);
		buf_add_str(&sub->line, "\"answer\":");
		buf_add(&sub->line, a->body.data, a->body.len);
		buf_add_str(&sub->line, "}\n");
		sub->fresh = true;
		sub->hash = hash;
	}
	ask_next(s);
	if (sub->fresh)
		s->o.ready(s->o.ctx);
}

/* The next subscription that is due. */
static void ask_next(struct ui_stream *s)
{
	for (size_t i = 0; i < s->n && !s->job; i++) {
		struct sub *sub = &s->subs[s->next];

		s->next = (s->next + 1) % s->n;
		if (!sub->due || sub->dead)
			continue;
		sub->due = false;
		sub->changes = s->o.memory->changes;
		s->asked = sub;
		s->job = ui_jobs_add(s->o.jobs, &sub->q, on_done, s);
	}
}

/* Only the range of a live stream moves by itself. */
static bool may_change(const struct ui_stream *s, const struct sub *sub)
{
	return s->o.memory->facts.live || sub->changes != s->o.memory->changes;
}

void ui_stream_tick(struct ui_stream *s)
{
	struct json j = { .out = &s->beat };

	buf_reset(&s->beat);
	json_open(&j, '{');
	ui_answer_put_time(&j, "beat", ui_memory_now());
	json_put_u64(&j, "lost", ui_memory_lost(s->o.memory, 0, UINT64_MAX));
	ui_about_put_causes(&j, "causes", s->o.memory);
	json_put_u64(&j, "events", view_kept_n(s->o.memory->kept));
	json_put_u64(&j, "gone", view_kept_gone(s->o.memory->kept));
	ui_answer_put_time(&j, "end", ui_memory_end(s->o.memory));
	json_put_bool(&j, "reading", s->o.memory->reading);
	json_close(&j, '}');
	buf_add_char(&s->beat, '\n');
	for (size_t i = 0; i < s->n; i++)
		s->subs[i].due = s->subs[i].due || may_change(s, &s->subs[i]);
	ask_next(s);
}

/* Moves what waits into `out`. */
static void fill(struct ui_stream *s)
{
	buf_reset(&s->out);
	s->taken = 0;
	buf_add(&s->out, s->beat.data, s->beat.len);
	buf_reset(&s->beat);
	for (size_t i = 0; i < s->n; i++) {
		if (!s->subs[i].fresh)
			continue;
		buf_add(&s->out, s->subs[i].line.data, s->subs[i].line.len);
		s->subs[i].fresh = false;
		buf_fini(&s->subs[i].line);
		s->subs[i].line = (struct buf){ 0 };
	}
}

size_t ui_stream_take(struct ui_stream *s, char *to, size_t cap)
{
	size_t n;

	if (s->taken == s->out.len)
		fill(s);
	n = MIN(cap, s->out.len - s->taken);
	if (n)
		memcpy(to, s->out.data + s->taken, n);
	s->taken += n;
	return n;
}

static void sub_init(struct ui_stream *s, struct sub *sub, const char *target)
{
	struct ui_answer a = { 0 };
	struct err err = { 0 };
	int r;

	sub->s = s;
	sub->due = true;
	r = ui_query_parse(target, &sub->q, &err);
	if (r >= 0 && sub->q.path == UI_LIVE)
		r = err_set(&err, -EINVAL, "a stream cannot subscribe to a stream");
	if (r >= 0)
		return;
	sub->dead = true;
	ui_answer_fail(&a, r, &err, NULL);
	if (a.body.len)
		put_error(sub, a.status, a.body.data, a.body.len);
	ui_answer_fini(&a);
}

int ui_stream_new(const struct ui_stream_opts *o, const struct ui_query *q, struct ui_stream **ret)
{
	struct ui_stream *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->o = *o;
	s->n = q->n_subs;
	for (size_t i = 0; i < s->n; i++)
		sub_init(s, &s->subs[i], q->subs[i]);
	ui_stream_tick(s);
	*ret = s;
	return 0;
}

void ui_stream_free(struct ui_stream *s)
{
	if (!s)
		return;
	ui_jobs_cancel(s->job);
	for (size_t i = 0; i < s->n; i++) {
		ui_query_fini(&s->subs[i].q);
		buf_fini(&s->subs[i].line);
	}
	buf_fini(&s->out);
	buf_fini(&s->beat);
	free(s);
}
