// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The command's own statistics of a run: missing stacks, completeness by process, losses, cost.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "cmd/closing/closing.h"
#include "cmd/profile/profile.h"
#include "sinks/stack/profile.h"
#include "sinks/sink.h"

struct state {
	struct profile profile;		/* counts only if an output or --top reads it */
	struct watch *watch;
	bool counts, closes;
};

static int watch_open(struct sink *s, _unused_ struct err *err)
{
	struct state *st = s->state;

	st->watch = s->opts->ctx;
	st->closes = profile_closing_writes_file(st->watch->conf) && closing_needed(&st->watch->conf->run);
	st->counts = st->watch->top || st->watch->conf->stats || st->closes ||
		     (s->opts->stack && s->opts->stack->max_entries);
	return sinks_profile_open(&st->profile, s->opts);
}

static void take_totals(struct watch *w, const struct event *ev)
{
	const struct cpu_totals *t = ev->body;
	const struct section *text = event_section(ev, SEC_TEXT);

	w->totals.periods += t->periods;
	w->totals.missed += t->missed;
	w->totals.files += t->files;
	w->totals.rows += t->rows;
	w->totals.bytes += t->bytes;
	w->totals.pool_bytes += t->pool_bytes;
	w->totals.loaded += t->loaded;
	w->totals.evicted += t->evicted;
	w->totals.refused += t->refused;
	w->totals.gone += t->gone;
	w->totals.late += t->late;
	w->totals.walked_late += t->walked_late;
	w->totals.stayed_cut += t->stayed_cut;
	if (text)
		buf_add(&w->reasons, text->data, text->len);
}

static int watch_event(struct sink *s, const struct event *ev)
{
	struct state *st = s->state;
	struct watch *w = st->watch;
	int missed;
	size_t i;

	if (ev->desc == &cpu_totals_desc)
		take_totals(w, ev);
	if (st->counts && sinks_profile_take(&st->profile, ev, &i) < 0)
		return 0;
	missed = ev->desc->class == EVENT_DATA ? stack_event_missed(st->profile.set, ev) : -ENOENT;
	if (missed < 0)
		return 0;
	w->samples++;
	w->missed += (unsigned)missed;
	return 0;
}

static int watch_flush(struct sink *s)
{
	struct state *st = s->state;

	if (st->watch->top)
		profile_top_show(st->watch->top, st->profile.set, st->profile.sym);
	return 0;
}

/* ---- --stats ---- */

struct proc_stats {
	char comm[16];
	uint64_t samples, with_user, complete, frames, named;
	uint64_t by_end[SONDE_STACK__MAX];
	uint32_t tgid;
};

static struct proc_stats *stats_of(struct map *m, const struct stack_key *k)
{
	const struct { uint64_t start_ns; uint64_t tgid; } key = { k->start_ns, k->tgid };
	struct proc_stats *p = map_add(m, &key, NULL);

	if (p) {
		p->tgid = k->tgid;
		memcpy(p->comm, k->comm, sizeof(p->comm));
	}
	return p;
}

static int add_stats(struct map *m, struct stack_names *names, const struct stack_entry *e,
		     struct stack_frames *frames)
{
	struct proc_stats *p = stats_of(m, &e->key);
	int r = stack_names_user(names, e, frames);

	if (!p || r < 0)
		return -ENOMEM;
	p->samples += e->count;
	for (size_t i = 0; i < frames->len; i++) {
		if (!frames->items[i].func)
			continue;
		p->frames += e->count;
		p->named += *frames->items[i].func->name ? e->count : 0;
	}
	if (!e->n_user && !stack_entry_missed_user(e))
		return 0;	/* a thread of the kernel */
	p->with_user += e->count;
	p->complete += e->user_end == SONDE_STACK_BOTTOM ? e->count : 0;
	if (e->user_end < SONDE_STACK__MAX)
		p->by_end[e->user_end] += e->count;
	return 0;
}

static int by_samples(const void *a, const void *b)
{
	const struct proc_stats *x = *(struct proc_stats *const *)a, *y = *(struct proc_stats *const *)b;

	return COMPARE(y->samples, x->samples) ?: COMPARE(x->tgid, y->tgid);
}

static void put_share(struct buf *b, uint64_t part, uint64_t of)
{
	if (of)
		buf_printf(b, " %8.1f%%", 100 * (double)part / (double)of);
	else
		buf_printf(b, " %9s", "-");
}

static void put_process(struct buf *b, const struct proc_stats *p)
{
	char comm[64];
	bool first = true;

	str_escape(comm, sizeof(comm), p->comm, strnlen(p->comm, sizeof(p->comm)));
	buf_printf(b, "%-16s %8u %9" PRIu64, comm, p->tgid, p->samples);
	put_share(b, p->complete, p->with_user);
	put_share(b, p->named, p->frames);
	for (uint32_t i = 0; i < SONDE_STACK__MAX; i++) {
		if (!p->by_end[i] || !stack_end_reason(i))
			continue;
		buf_printf(b, "%s%" PRIu64 " %s", first ? "  " : ", ", p->by_end[i], stack_end_reason(i));
		first = false;
	}
	buf_add_char(b, '\n');
}

static void put_cost(struct buf *b)
{
	struct rusage self, children;

	getrusage(RUSAGE_SELF, &self);
	getrusage(RUSAGE_CHILDREN, &children);
	buf_printf(b, "sonde itself: %.2f s of CPU, at most %ld MB of memory; symbol readers: %ld MB\n",
		   (double)(self.ru_utime.tv_sec + self.ru_stime.tv_sec) +
			   (double)(self.ru_utime.tv_usec + self.ru_stime.tv_usec) / 1e6,
		   self.ru_maxrss / 1024, children.ru_maxrss / 1024);
}

static void put_totals(struct buf *b, const struct watch *w)
{
	const struct cpu_totals *t = &w->totals;
	size_t at = 0;

	if (t->periods)
		buf_printf(b, "sampling clock: %" PRIu64 " periods, %" PRIu64 " of them without a sample\n",
			   t->periods, t->missed);
	if (t->walked_late || t->stayed_cut)
		buf_printf(b, "stacks that came before their unwind table: %" PRIu64 " walked later, %" PRIu64
			   " cut short\n", t->walked_late, t->stayed_cut);
	if (!t->files && !t->refused)
		return;
	buf_printf(b, "unwind tables: %" PRIu64 " files, %" PRIu64 " rows, %" PRIu64 " KB in %" PRIu64
		   " KB of the kernel", t->files, t->rows, t->bytes >> 10, t->pool_bytes >> 10);
	buf_printf(b, "; loaded %" PRIu64 ", evicted %" PRIu64 ", refused %" PRIu64 ", process gone %" PRIu64
		   ", too slow %" PRIu64 "\n", t->loaded, t->evicted, t->refused, t->gone, t->late);
	while (at < w->reasons.len) {
		const char *line = w->reasons.data + at;
		const char *end = memchr(line, '\n', w->reasons.len - at);
		size_t len = end ? (size_t)(end - line) : w->reasons.len - at;

		buf_add_str(b, "  refused: ");
		str_escape_buf(b, line, len);
		buf_add_char(b, '\n');
		at += len + 1;
	}
}

static int put_stats(struct profile *p, const struct watch *w, struct map *m, struct buf *b)
{
	VEC(struct proc_stats *) list = { 0 };
	size_t pos = 0;
	void *key, *val;

	while (map_next(m, &pos, &key, &val)) {
		if (vec_push(&list, val) < 0)
			break;
	}
	vec_sort(&list, by_samples);
	buf_printf(b, "%-16s %8s %9s %9s %9s  %s\n", "process", "pid", "samples", "complete", "named", "cut short");
	for (size_t i = 0; i < list.len; i++)
		put_process(b, list.items[i]);
	buf_printf(b, "%zu different stacks\n", stack_set_len(p->set));
	buf_add_str(b, sinks_profile_losses(p));
	put_totals(b, w);
	put_cost(b);
	vec_fini(&list);
	return buf_error(b);
}

static int say_stats(struct profile *p, const struct watch *w)
{
	_cleanup_(stack_names_freep) struct stack_names *names = NULL;
	_cleanup_(buf_fini) struct buf b = { 0 };
	struct stack_frames frames = { 0 };
	struct map m;
	int r = stack_names_new(p->set, p->sym, &names);

	map_init(&m, 16, sizeof(struct proc_stats));
	for (size_t i = 0; r >= 0 && i < stack_set_len(p->set); i++)
		r = add_stats(&m, names, stack_set_at(p->set, i), &frames);
	if (r >= 0)
		r = put_stats(p, w, &m, &b);
	if (r >= 0)
		fputs(buf_str(&b), stderr);
	vec_fini(&frames);
	map_fini(&m);
	return r;
}

static int watch_close(struct sink *s)
{
	struct state *st = s->state;
	struct watch *w = st->watch;
	int r = 0;

	if (w->top)
		profile_top_stop(w->top);
	closing_progress_free(TAKE_PTR(w->progress));
	if (st->closes)
		profile_closing(w->conf, &st->profile, &w->closing);
	if (w->conf->stats && w->samples)
		r = say_stats(&st->profile, w);
	sinks_profile_fini(&st->profile);
	return r;
}

/* bcc's sentences, where it has them; bcc counts rows, sonde counts samples. */
void profile_watch_report(const struct watch *w)
{
	const struct cpu_totals *t = &w->totals;

	if (w->closing.len)
		fwrite(w->closing.data, 1, w->closing.len, stderr);
	if (t->missed * 100 > t->periods)
		fprintf(stderr, "WARNING: %" PRIu64 " of %" PRIu64 " sampling periods (%.1f%%) passed without a "
			"sample: the kernel throttled them, or this machine had no time to run.\n", t->missed,
			t->periods, 100 * (double)t->missed / (double)t->periods);
	if (w->missed)
		fprintf(stderr, "WARNING: %" PRIu64 " stack traces could not be displayed.\n", w->missed);
	if (w->full)
		fprintf(stderr, "WARNING: hash table full. Consider increasing --hash-storage-size.\n"
			"WARNING: %" PRIu64 " samples have stacks that found no room.\n", w->full);
}

const struct sink_ops watch_sink = {
	.name = "watch", .summary = "for the command itself", .state_size = sizeof(struct state),
	.open = watch_open, .event = watch_event, .flush = watch_flush, .close = watch_close,
};
