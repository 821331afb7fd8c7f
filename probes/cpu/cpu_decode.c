// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records of the cpu probe to events. No state: each record says all there is to say.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/arena.h"
#include "base/cursor.h"
#include "base/macros.h"
#include "event/decode.h"
#include "event/event.h"
#include "probes/cpu/cpu_event.h"
#include "probes/cpu/cpu_wire.h"
#include "sonde/stack_wire.h"

/* include/linux/sched.h; none of these bits has moved since 4.14. */
#define TASK_INTERRUPTIBLE 0x1u
#define TASK_UNINTERRUPTIBLE 0x2u
#define TASK_STOPPED 0x4u
#define TASK_TRACED 0x8u
#define TASK_PARKED 0x40u
#define TASK_NOLOAD 0x400u

static enum cpu_state state_of(const struct cpu_sample_rec *r)
{
	if (!r->state || r->mode & CPU_MODE_PREEMPTED)
		return CPU_STATE_RUNNABLE;
	if (r->state & TASK_UNINTERRUPTIBLE)
		return r->state & TASK_NOLOAD ? CPU_STATE_IDLE : CPU_STATE_DISK;
	if (r->state & TASK_INTERRUPTIBLE)
		return CPU_STATE_SLEEPING;
	if (r->state & TASK_STOPPED)
		return CPU_STATE_STOPPED;
	if (r->state & TASK_TRACED)
		return CPU_STATE_TRACED;
	return r->state & TASK_PARKED ? CPU_STATE_PARKED : CPU_STATE_OTHER;
}

/* A section says that such a stack was asked for: an empty one differs from none. */
static int add_stack(struct event *ev, enum sec_kind kind, struct cursor *c, uint32_t n, struct arena *scratch)
{
	const size_t len = (size_t)n * sizeof(uint64_t);
	void *stack = arena_copy(scratch, cur_bytes(c, len), len);

	return stack ? event_add_section(ev, kind, stack, (uint32_t)len) : -ENOMEM;
}

static int add_stacks(struct event *ev, const struct cpu_sample_rec *r, struct cursor *c, struct arena *scratch)
{
	int ret = 0;

	if (r->mode & CPU_MODE_KERN_ASKED)
		ret = add_stack(ev, SEC_STACK_KERN, c, r->n_kern, scratch);
	if (ret >= 0 && r->mode & CPU_MODE_USER_ASKED)
		ret = add_stack(ev, SEC_STACK_USER, c, r->n_user, scratch);
	return ret;
}

/* Whether the parts of a record fit together. */
static int check(const struct cpu_sample_rec *r, const struct cursor *c)
{
	const size_t stacks = ((size_t)r->n_kern + r->n_user) * sizeof(uint64_t);

	if (cur_left(c) < stacks || r->user_end >= SONDE_STACK__MAX || r->kern_err > 0)
		return -EBADMSG;
	if ((r->n_kern && !(r->mode & CPU_MODE_KERN_ASKED)) || (r->n_user && !(r->mode & CPU_MODE_USER_ASKED)))
		return -EBADMSG;
	return r->wait_ns > r->value || !r->count ? -EBADMSG : 0;
}

static int finish(const struct cpu_sample_rec *r, struct cursor *c, struct event *ev, const struct emitter *em)
{
	int ret;

	ev->keys.cgroup_id = r->cgroup_id;
	ev->keys.netns = r->netns;
	ret = add_stacks(ev, r, c, em->scratch);
	return ret < 0 ? ret : em->emit(em->ctx, ev);
}

static void fill_body(const struct cpu_sample_rec *r, struct cpu_body *b)
{
	*b = (struct cpu_body){
		.value = r->value, .wait_ns = r->wait_ns, .count = r->count, .kern_err = r->kern_err,
		.user_end = r->user_end, .mode = r->mode, .state = (uint8_t)state_of(r),
	};
	memcpy(b->comm, r->comm, sizeof(b->comm));
}

static int decode_sample(const struct sonde_rec *rec, struct event *ev, const struct emitter *em)
{
	struct cursor c = cur_init(rec, rec->len);
	struct cpu_sample_rec r;
	struct cpu_body b;

	if (!cur_copy(&c, &r, sizeof(r)) || check(&r, &c) < 0)
		return -EBADMSG;
	fill_body(&r, &b);
	ev->body = &b;
	return finish(&r, &c, ev, em);
}

/* A wait has a waker or a quota, in one place. */
static int split_quota(struct cpu_block *b)
{
	struct cpu_wait *w = &b->wait;

	if (!w->quota_of)
		return 0;
	if (w->quota_of >= CPU_QUOTA__MAX || w->waker != CPU_WAKER_UNKNOWN || !(w->flags & CPU_WAIT_F_THROTTLED))
		return -EBADMSG;
	b->quota = w->quota;
	memset(&w->quota, 0, sizeof(w->quota));
	return 0;
}

/* Older recordings have no struct cpu_wait. */
static int decode_block(const struct sonde_rec *rec, struct event *ev, const struct emitter *em)
{
	const bool has_wait = rec->type == CPU_REC_BLOCK;
	struct cursor c = cur_init(rec, rec->len);
	struct cpu_block b = { .wait.file = CPU_FILE_UNKNOWN };
	struct cpu_sample_rec r;

	if (!cur_copy(&c, &r, sizeof(r)) || (has_wait && !cur_copy(&c, &b.wait, sizeof(b.wait))) ||
	    check(&r, &c) < 0 || b.wait.waker >= CPU_WAKER__MAX || b.wait.call >= CPU_CALL__MAX ||
	    split_quota(&b) < 0)
		return -EBADMSG;
	fill_body(&r, &b.body);
	b.sleep_ns = r.value - r.wait_ns;
	ev->body = &b;
	return finish(&r, &c, ev, em);
}

static int decode_totals(const struct sonde_rec *rec, struct event *ev, const struct emitter *em)
{
	const size_t fixed = rec->type == CPU_REC_TOTALS ? sizeof(struct cpu_totals_rec) :
							   offsetof(struct cpu_totals_rec, walked_late);
	struct cursor c = cur_init(rec, rec->len);
	struct cpu_totals_rec r = { 0 };
	struct cpu_totals b;
	size_t len;
	int ret = 0;

	if (!cur_copy(&c, &r, fixed) || r.missed > r.periods)
		return -EBADMSG;
	b = (struct cpu_totals){
		.periods = r.periods, .missed = r.missed, .files = r.files, .rows = r.rows, .bytes = r.bytes,
		.pool_bytes = r.pool_bytes, .loaded = r.loaded, .evicted = r.evicted, .refused = r.refused,
		.gone = r.gone, .late = r.late, .walked_late = r.walked_late, .stayed_cut = r.stayed_cut,
	};
	ev->body = &b;
	len = cur_left(&c);
	if (len)
		ret = event_add_section(ev, SEC_TEXT, cur_bytes(&c, len), (uint32_t)len);
	return ret < 0 ? ret : em->emit(em->ctx, ev);
}

/* The live half handles these. Older recordings have no mtime_ns. */
static int check_need(const struct sonde_rec *rec, _unused_ struct event *ev, _unused_ const struct emitter *em)
{
	const bool fits = rec->len >= sizeof(struct cpu_need_rec) ||
			  rec->len == offsetof(struct cpu_need_rec, mtime_ns);

	return fits ? 0 : -EBADMSG;
}

static const struct decode_row rows[] = {
	{ CPU_REC_SAMPLE, &cpu_sample_desc, decode_sample, .ident = true },
	{ CPU_REC_BLOCK_2, &cpu_block_desc, decode_block, .ident = true },
	{ CPU_REC_NEED, NULL, check_need },
	{ CPU_REC_TOTALS_4, &cpu_totals_desc, decode_totals },
	{ CPU_REC_TOTALS, &cpu_totals_desc, decode_totals },
	{ CPU_REC_BLOCK, &cpu_block_desc, decode_block, .ident = true },
	{ 0 },
};

static const struct event_desc *const events[] = { &cpu_sample_desc, &cpu_block_desc, &cpu_totals_desc, NULL };

/* Addresses and names of threads. */
static const struct content_rule content[] = {
	{ CPU_REC_SAMPLE }, { CPU_REC_BLOCK_2 }, { CPU_REC_NEED }, { CPU_REC_TOTALS_4 }, { CPU_REC_TOTALS },
	{ CPU_REC_BLOCK }, { 0 },
};

extern const struct decoder_ops cpu_decoder;
const struct decoder_ops cpu_decoder = {
	.name = "cpu",
	.probe = 3,
	.events = events,
	.rows = rows,
	.content = content,
};
