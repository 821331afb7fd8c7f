// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A stack and its record arrive separately (cpu_unwind_wire.h): the record of a block comes when the thread is
 * back. The mappings of a process are read once for all its stacks, when the first arrives, because the process may
 * end soon. Memory is bounded: the oldest stack is given up.
 */
#include "probes/cpu/cpu_deferred.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/vec.h"
#include "loop/loop.h"
#include "probes/cpu/cpu_wire.h"
#include "sonde/stack_wire.h"

#define WAITING_BYTES (16u << 20)	/* of copies */
#define WAITING_MAX 4096u		/* stacks; those of blocks wait without their memory */
#define WAIT_NS 3000000000ull		/* for a table */
#define STEP_NS 20000000ull		/* a process may have ended after that */
#define SLICE_NS 2000000ull		/* of walking; then the loop has its turn */
#define REST_NS 1000000ull		/* until the next slice */

/* Of one process. */
struct process {
	uint32_t tgid;
	uint64_t read_ns;
	unsigned asked_again;
	cpu_place_vec places;
	struct process *next;
};

struct late_id {
	uint64_t at_ns;
	uint32_t tid, pad;
};

struct late {
	struct late_id id;
	struct process *process;
	struct cpu_deferred_stack stack;
	void *bytes;			/* memory of stack.bytes; NULL = walked */
	uint64_t *ips;			/* owned, of stack.ips; shrunk after the walk */
	struct cpu_sample_rec *rec;	/* NULL = not yet received */
	struct late *next;
};

struct cpu_deferred {
	struct cpu_deferred_opts opts;
	struct ring_buffer *ring;
	struct late *first, **last;	/* in the order of coming */
	struct map by_id;		/* struct late_id -> struct late * */
	size_t n, waiting_bytes;
	struct process *processes;
	struct loop_source *timer;	/* of the next slice; NULL: walks are not cut */
	struct late *resume;		/* where the slice before ended; NULL = none is under way */
	bool again;			/* walk once more after this round: a table has come meanwhile */
};

/* ---- processes ---- */

#define MAPPED_AGAIN_MAX 8u
#define PLACES_AGAIN_NS 500000000ull	/* mappings may have been added since */

static struct process *process_of(struct cpu_deferred *l, uint32_t tgid, uint64_t at_ns)
{
	struct process *p;

	for (p = l->processes; p; p = p->next)
		if (p->tgid == tgid && at_ns < p->read_ns + PLACES_AGAIN_NS)
			return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->tgid = tgid;
	p->read_ns = clock_boot_ns();
	cpu_tables_places(l->opts.tables, tgid, &p->places);
	p->next = l->processes;
	l->processes = p;
	return p;
}

static void free_processes(struct cpu_deferred *l)
{
	while (l->processes) {
		struct process *p = l->processes;

		l->processes = p->next;
		vec_fini(&p->places);
		free(p);
	}
}

/* ---- stacks that wait ---- */

static void drop_bytes(struct cpu_deferred *l, struct late *w)
{
	uint64_t *ips;

	if (!w->bytes)
		return;
	l->waiting_bytes -= w->stack.copy.len;
	free(TAKE_PTR(w->bytes));
	ips = realloc(w->ips, MAX(w->stack.n_ips, (size_t)1) * sizeof(*ips));
	if (ips)
		w->ips = ips;
}

static void take_out(struct cpu_deferred *l, struct late **at)
{
	struct late *w = *at;

	*at = w->next;
	if (l->resume == w)
		l->resume = w->next;
	if (l->last == &w->next)
		l->last = at;
	map_remove(&l->by_id, &w->id);
	drop_bytes(l, w);
	free(w->ips);
	free(w->rec);
	free(w);
	l->n--;
}

/* Emits the record with the frames found so far. */
static void emit(struct cpu_deferred *l, struct late *w)
{
	const size_t had = w->rec->n_user, most = l->opts.depth ? l->opts.depth : CPU_USER_MAX;
	const size_t room = had < most ? most - had : 0;
	const size_t n = MIN(w->stack.n_ips, room);
	const size_t len = w->rec->hdr.len + n * sizeof(uint64_t);
	struct cpu_sample_rec *r = realloc(w->rec, len);

	if (!r) {
		l->opts.emit(l->opts.ctx, w->rec);
		return;
	}
	w->rec = r;
	memcpy((char *)r + r->hdr.len, w->ips, n * sizeof(uint64_t));
	r->n_user = (uint16_t)(r->n_user + n);
	r->hdr.len = (uint32_t)len;
	r->user_end = (uint8_t)(n < w->stack.n_ips ? SONDE_STACK_DEPTH : w->stack.end);
	r->mode |= CPU_MODE_LATER;
	l->opts.emit(l->opts.ctx, r);
}

/* Continues the walk. A starting process maps files one after the other: a missing mapping is looked up again. */
static void walk(struct cpu_deferred *l, struct late *w)
{
	struct process *p = w->process;

	if (!p->places.len)
		return;	/* the process ended before its mappings were read: the stack stays truncated */
	cpu_deferred_walk(&w->stack, l->opts.tables, &p->places);
	if (w->stack.end != SONDE_STACK_NO_MAPPING || !p->places.len || p->asked_again == MAPPED_AGAIN_MAX)
		return;
	p->asked_again++;
	p->places.len = 0;
	cpu_tables_places(l->opts.tables, p->tgid, &p->places);
	if (p->places.len)
		cpu_deferred_walk(&w->stack, l->opts.tables, &p->places);
}

/* The walk of this stack cannot proceed. */
static bool is_over(const struct cpu_deferred *l, const struct late *w, uint64_t now_ns)
{
	if (w->stack.end != SONDE_STACK_NO_TABLE || !w->process->places.len)
		return true;
	return now_ns > w->id.at_ns + (cpu_tables_busy(l->opts.tables) ? WAIT_NS : WAIT_NS / 3);
}

static struct late **resume_at(struct cpu_deferred *l)
{
	struct late **at = &l->first;

	while (l->resume && *at != l->resume)
		at = &(*at)->next;
	return at;
}

/* A slice has ended before @next, or the round, at NULL. */
static void arrange_next(struct cpu_deferred *l, struct late *next)
{
	l->resume = next;
	if (!next && l->again)
		l->again = false;
	else if (!next)
		return;
	loop_set_timer(l->timer, REST_NS, 0);
}

/* @last: do not wait any longer. Otherwise for a slice, from where the one before ended. */
static void walk_all(struct cpu_deferred *l, bool last)
{
	const uint64_t now_ns = clock_boot_ns();
	struct late **at = last ? &l->first : resume_at(l);

	while (*at && (last || !l->timer || clock_boot_ns() < now_ns + SLICE_NS)) {
		struct late *w = *at;

		if (w->bytes)
			walk(l, w);
		if (w->bytes && (last || is_over(l, w, now_ns)))
			drop_bytes(l, w);
		if (!w->bytes && w->rec)
			emit(l, w);
		if (last || (!w->bytes && w->rec))
			take_out(l, at);
		else
			at = &w->next;
	}
	if (l->timer)
		arrange_next(l, *at);
	if (!l->first)
		free_processes(l);
}

static int on_timer(void *ctx, _unused_ uint64_t now_ns)
{
	struct cpu_deferred *l = ctx;

	if (l->first)
		walk_all(l, false);
	return 0;
}

/* ---- from the kernel ---- */

static void give_up_oldest(struct cpu_deferred *l)
{
	struct late *w = l->first;

	if (w->rec)
		emit(l, w);
	take_out(l, &l->first);
}

static int add_stack(struct cpu_deferred *l, const struct cpu_copy_stack *c)
{
	const struct late_id id = { .at_ns = c->head.at_ns, .tid = c->head.tid };
	const size_t len = c->head.len - sizeof(c->w);
	struct late *w, **known;

	while (l->first && (l->n >= WAITING_MAX || l->waiting_bytes + len > WAITING_BYTES))
		give_up_oldest(l);
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->bytes = malloc(MAX(len, (size_t)1));
	w->ips = malloc(CPU_DEFERRED_FRAMES * sizeof(w->ips[0]));
	w->process = process_of(l, c->head.tgid, c->head.at_ns);
	known = map_add(&l->by_id, &id, NULL);
	if (!w->bytes || !w->ips || !w->process || !known) {
		map_remove(&l->by_id, &id);
		free(w->bytes);
		free(w->ips);
		free(w);
		return -ENOMEM;
	}
	*known = w;
	memcpy(w->bytes, c->bytes, len);
	w->id = id;
	w->stack = (struct cpu_deferred_stack){
		.copy = { .w = c->w, .base = c->w.sp, .bytes = w->bytes, .len = len },
		.noted = true,
		.end = SONDE_STACK_NO_TABLE,
		.ips = w->ips,
	};
	*l->last = w;
	l->last = &w->next;
	l->n++;
	l->waiting_bytes += len;
	return 0;
}

/* A record whose stack was given up is emitted as it is. */
static int add_rec(struct cpu_deferred *l, const struct cpu_copy *c)
{
	const struct late_id id = { .at_ns = c->at_ns, .tid = c->tid };
	struct late **known = map_find(&l->by_id, &id);
	struct cpu_sample_rec *r = malloc(c->len);

	if (!r)
		return -ENOMEM;
	memcpy(r, c + 1, c->len);
	r->hdr.flags |= SONDE_RF_HELD;
	if (known && !(*known)->rec) {
		(*known)->rec = r;
		return 0;
	}
	l->opts.emit(l->opts.ctx, r);
	free(r);
	return 0;
}

static int take_entry(void *ctx, void *data, size_t size)
{
	const struct cpu_copy *c = data;
	struct cpu_deferred *l = ctx;

	if (size < sizeof(*c) || c->len > size - sizeof(*c))
		return 0;
	if (c->kind == CPU_COPY_STACK && c->len >= sizeof(struct cpu_walk))
		add_stack(l, data);
	else if (c->kind == CPU_COPY_REC && c->len >= sizeof(struct cpu_sample_rec))
		add_rec(l, c);
	return 0;
}

/* ---- the whole ---- */

DEFINE_CLEANUP(struct cpu_deferred *, cpu_deferred_free)

int cpu_deferred_new(const struct cpu_deferred_opts *o, struct cpu_deferred **ret, struct err *err)
{
	_cleanup_(cpu_deferred_freep) struct cpu_deferred *l = calloc(1, sizeof(*l));

	if (!l)
		return err_errno(err, -ENOMEM, "stacks cannot be walked later");
	l->opts = *o;
	map_init(&l->by_id, sizeof(struct late_id), sizeof(struct late *));
	l->last = &l->first;
	l->ring = ring_buffer__new(o->ring_fd, take_entry, l, NULL);
	if (!l->ring)
		return err_errno(err, -errno, "stacks cannot be walked later");
	if (o->loop && loop_add_timer(o->loop, 0, 0, on_timer, l, &l->timer) == 0)
		loop_name(l->timer, "late stacks");
	*ret = TAKE_PTR(l);
	return 0;
}

void cpu_deferred_free(struct cpu_deferred *l)
{
	if (!l)
		return;
	loop_remove(l->timer);
	while (l->first)
		take_out(l, &l->first);
	free_processes(l);
	map_fini(&l->by_id);
	ring_buffer__free(l->ring);
	free(l);
}

void cpu_deferred_take(struct cpu_deferred *l)
{
	ring_buffer__consume(l->ring);
}

void cpu_deferred_go_on(struct cpu_deferred *l)
{
	ring_buffer__consume(l->ring);
	l->again = l->resume;
	if (l->first)
		walk_all(l, false);
}

void cpu_deferred_end(struct cpu_deferred *l, uint64_t limit_ns)
{
	const uint64_t end_ns = clock_boot_ns() + limit_ns;

	cpu_deferred_go_on(l);
	while (l->waiting_bytes && cpu_tables_busy(l->opts.tables) && clock_boot_ns() < end_ns) {
		cpu_tables_wait(l->opts.tables, STEP_NS);
		cpu_deferred_go_on(l);
	}
	walk_all(l, true);
}

void cpu_deferred_wait(struct cpu_deferred *l, uint64_t limit_ns)
{
	const uint64_t end_ns = clock_boot_ns() + limit_ns;

	for (uint64_t now_ns = clock_boot_ns(); now_ns < end_ns; now_ns = clock_boot_ns()) {
		cpu_deferred_take(l);
		if (!cpu_tables_busy(l->opts.tables))
			break;
		cpu_tables_wait(l->opts.tables, MIN(STEP_NS, end_ns - now_ns));
	}
}
