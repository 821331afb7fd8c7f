// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * speedscope profiles: https://www.speedscope.app/file-format-schema.json. One sampled profile per process (or per
 * thread, if threads are separate); profiles share frames; stacks are outermost first.
 */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/vec.h"
#include "event/json.h"
#include "sinks/outfile.h"
#include "sinks/stack/profile.h"
#include "sinks/sink.h"

#define SCHEMA "https://www.speedscope.app/file-format-schema.json"

struct frame_key { const char *name, *file; uint64_t line; };	/* the symbolizer's pointers, compared by address */

struct writer {
	struct profile *p;
	struct stack_names *names;
	struct buf head, body;
	struct json frames, profiles;
	struct map index;		/* struct frame_key -> u32 + 1 */
	uint32_t n_frames;
	struct stack_frames stack;
	struct buf weights;
};

static uint32_t frame_index(struct writer *w, const char *name, const struct sym_func *f)
{
	const struct frame_key key = { name, f ? f->file : NULL, f ? f->line : 0 };
	uint32_t *i = map_add(&w->index, &key, NULL);

	if (!i) {
		w->head.error = -ENOMEM;
		return 0;
	}
	if (*i)
		return *i - 1;
	json_open(&w->frames, '{');
	json_put_text(&w->frames, "name", name);
	if (f && f->file && *f->file)
		json_put_text(&w->frames, "file", f->file);
	if (f && f->line)
		json_put_u64(&w->frames, "line", f->line);
	json_close(&w->frames, '}');
	*i = ++w->n_frames;
	return *i - 1;
}

static int put_sample(struct writer *w, const struct stack_line *l, struct json *weights)
{
	int r = stack_names_all(w->names, l->entry, &w->p->view, &w->stack);

	json_open(&w->profiles, '[');
	for (size_t i = w->stack.len; i-- > 0;)
		json_u64(&w->profiles, frame_index(w, w->stack.items[i].name, w->stack.items[i].func));
	if (l->state)
		json_u64(&w->profiles, frame_index(w, l->state, NULL));
	json_close(&w->profiles, ']');
	json_u64(weights, l->weight);
	return r;
}

static bool same_owner(const struct stack_key *a, const struct stack_key *b)
{
	return a->tgid == b->tgid && a->tid == b->tid && a->start_ns == b->start_ns;
}

static int by_owner(const void *a, const void *b)
{
	const struct stack_key *x = &((const struct stack_line *)a)->entry->key;
	const struct stack_key *y = &((const struct stack_line *)b)->entry->key;

	return COMPARE(x->tgid, y->tgid) ?: COMPARE(x->start_ns, y->start_ns) ?: COMPARE(x->tid, y->tid);
}

static void put_name(struct json *j, const struct stack_key *k)
{
	_cleanup_(buf_fini) struct buf b = { 0 };

	buf_add(&b, k->comm, strnlen(k->comm, sizeof(k->comm)));
	buf_printf(&b, k->tid ? " (%u/%u)" : " (%u)", k->tgid, k->tid);
	json_put_str(j, "name", b.data ? b.data : "", b.len);
}

/* One process: lines [0, n). Collects weights in a second buffer, since samples and weights are separate arrays. */
static int put_profile(struct writer *w, const struct stack_line *lines, size_t n)
{
	struct json *j = &w->profiles, weights = { .out = &w->weights };
	uint64_t sum = 0;
	int r = 0;

	buf_reset(&w->weights);
	json_open(j, '{');
	json_put_str(j, "type", "sampled", 7);
	put_name(j, &lines[0].entry->key);
	json_key(j, "unit");
	if (w->p->view.weight == STACK_SAMPLES)
		json_str(j, "none", 4);
	else
		json_str(j, "microseconds", 12);
	json_put_open(j, "samples", '[');
	for (size_t i = 0; r >= 0 && i < n; i++) {
		r = put_sample(w, &lines[i], &weights);
		sum += lines[i].weight;
	}
	json_close(j, ']');
	json_put_open(j, "weights", '[');
	buf_add(&w->body, w->weights.data, w->weights.len);
	json_close(j, ']');
	json_put_u64(j, "startValue", 0);
	json_put_u64(j, "endValue", sum);
	json_close(j, '}');
	return r < 0 ? r : buf_error(&w->weights);
}

static int put_profiles(struct writer *w)
{
	struct stack_line_list lines = { 0 };
	int r = stack_lines_list(w->p->set, w->p->view.weight, false, &lines);

	vec_sort(&lines, by_owner);
	for (size_t i = 0, n; r >= 0 && i < lines.len; i += n) {
		for (n = 1; i + n < lines.len; n++)
			if (!same_owner(&lines.items[i].entry->key, &lines.items[i + n].entry->key))
				break;
		r = put_profile(w, &lines.items[i], n);
	}
	vec_fini(&lines);
	return r;
}

/* Readers display the file's name, so it carries the losses. */
static void put_head(struct writer *w)
{
	struct json *j = &w->frames;
	const char *losses = sinks_profile_losses(w->p);
	_cleanup_(buf_fini) struct buf name = { 0 };

	buf_printf(&name, "sonde profile (%s)", sinks_profile_kind(w->p));
	if (w->p->lost)
		buf_printf(&name, ", %llu samples lost", (unsigned long long)w->p->lost);
	json_open(j, '{');
	json_put_text(j, "$schema", SCHEMA);
	json_put_text(j, "exporter", "sonde@" SONDE_VERSION);
	json_put_str(j, "name", name.data ? name.data : "", name.len);
	if (*losses)
		json_put_str(j, "sonde_ledger", losses, strlen(losses) - 1);
	json_put_open(j, "shared", '{');
	json_put_open(j, "frames", '[');
}

static int write_all(struct writer *w, struct outfile *out)
{
	int r = stack_names_new(w->p->set, w->p->sym, &w->names);

	if (r < 0)
		return r;
	put_head(w);
	json_open(&w->profiles, '[');
	r = put_profiles(w);
	json_close(&w->profiles, ']');
	json_close(&w->frames, ']');
	json_close(&w->frames, '}');
	json_key(&w->frames, "profiles");
	buf_add(&w->head, w->body.data, w->body.len);
	buf_add_str(&w->head, "}\n");
	if (r >= 0)
		r = buf_error(&w->body) ? buf_error(&w->body) : buf_error(&w->head);
	return r < 0 ? r : outfile_record(out, w->head.data, w->head.len);
}

static int speedscope_close(struct sink *s)
{
	struct writer w = { .p = s->state };
	int r;

	w.p->view.delimiter = false;
	w.frames.out = &w.head;
	w.profiles.out = &w.body;
	map_init(&w.index, sizeof(struct frame_key), sizeof(uint32_t));
	r = write_all(&w, s->out);
	stack_names_free(w.names);
	buf_fini(&w.head);
	buf_fini(&w.body);
	buf_fini(&w.weights);
	map_fini(&w.index);
	vec_fini(&w.stack);
	sinks_profile_fini(s->state);
	return r;
}

const struct sink_ops speedscope_sink = {
	.name = "speedscope", .summary = "profile for speedscope.app, a view per process",
	.suffix = ".speedscope.json", .flags = SINK_AT_CLOSE, .shows = SINK_SHOWS_STACKS,
	.state_size = sizeof(struct profile),
	.open = sinks_profile_sink_open, .event = sinks_profile_sink_event, .close = speedscope_close,
};
