// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde profile -o FILE: seconds and samples while it runs, samples, processes and unnamed frames at the end.
 */
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/vec.h"
#include "cmd/closing/closing.h"
#include "cmd/profile/profile.h"
#include "sinks/stack/profile.h"
#include "sinks/sink.h"

/* The file of "NAME:FILE" or "FILE.suffix"; NULL = standard output or a server. */
static const char *file_of(const char *output)
{
	const char *path = NULL;

	if (!sink_of_output(output, NULL, &path) || !path || !strcmp(path, "-") || strstr(path, "://"))
		return NULL;
	return path;
}

bool profile_closing_writes_file(const struct profile_conf *c)
{
	return vec_find(it, &c->run.outputs, file_of(*it));
}

struct sums {
	uint64_t samples, unknown;
	struct map processes;	/* struct process_key -> u8 */
};

struct process_key {
	uint64_t start_ns, tgid;
};

static bool has_unknown(const struct stack_frames *frames)
{
	return vec_find(it, frames, !strcmp(it->name, "[unknown]"));
}

static int add_entry(struct sums *s, const struct profile *p, struct stack_names *names,
		     const struct stack_entry *e, struct stack_frames *frames)
{
	const struct process_key key = { e->key.start_ns, e->key.tgid };
	int r = stack_names_all(names, e, &p->view, frames);

	if (r < 0 || !map_add(&s->processes, &key, NULL))
		return -ENOMEM;
	s->samples += e->count;
	s->unknown += has_unknown(frames) ? e->count : 0;
	return 0;
}

static int add_up(struct sums *s, const struct profile *p)
{
	_cleanup_(stack_names_freep) struct stack_names *names = NULL;
	struct stack_frames frames = { 0 };
	int r = stack_names_new(p->set, p->sym, &names);

	for (size_t i = 0; r >= 0 && i < stack_set_len(p->set); i++)
		r = add_entry(s, p, names, stack_set_at(p->set, i), &frames);
	vec_fini(&frames);
	return r;
}

static void put_file(struct buf *b, const char *path, const struct sums *s)
{
	buf_printf(b, "%s: ", path);
	closing_add_count(b, s->samples, "sample");
	buf_add_str(b, ", ");
	closing_add_count(b, s->processes.len, "process");
	if (s->samples)
		buf_printf(b, ", %.1f %% [unknown]", 100 * (double)s->unknown / (double)s->samples);
	buf_add_char(b, '\n');
}

void profile_closing(const struct profile_conf *c, const struct profile *p, struct buf *ret)
{
	struct sums s = { 0 };

	map_init(&s.processes, sizeof(struct process_key), sizeof(uint8_t));
	if (add_up(&s, p) >= 0)
		for (size_t i = 0; i < c->run.outputs.len; i++)
			if (file_of(c->run.outputs.items[i]))
				put_file(ret, file_of(c->run.outputs.items[i]), &s);
	map_fini(&s.processes);
}

void profile_closing_progress(void *ctx, uint64_t secs, struct buf *line)
{
	const struct watch *w = ctx;
	const uint64_t of = w->conf->run.duration_ns / NS_PER_S;

	buf_printf(line, "%" PRIu64 " s", secs);
	if (of)
		buf_printf(line, " of %" PRIu64, of);
	buf_add_str(line, ", ");
	closing_add_count(line, w->samples, "sample");
}
