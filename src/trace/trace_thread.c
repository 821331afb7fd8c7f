// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Each instant of a known thread is a wait, a system call or time on a CPU. If goroutines move between the threads of
 * a process, two things are known: when none of the threads ran (the call waited), and when some did.
 */
#include "trace/trace_thread.h"

#include "base/macros.h"
#include "base/map.h"
#include "trace/trace_build.h"

#define KINDS_MAX 16u	/* of waits */

static bool is_of(const struct trace_fact *f, const struct trace_part *part)
{
	const struct trace_fact *who = part->who;

	return f->tgid == who->tgid && f->start_ns == who->start_ns && (!part->tid || f->tid == part->tid);
}

/* The first fact that ends at @ns or later. */
static size_t find(const struct trace_build *p, uint64_t ns)
{
	return BISECT(i, p->during.len, p->during.items[i]->ts_ns < ns);
}

/* The next fact of the process or thread from *pos on that overlaps the part. */
static const struct trace_fact *next_fact(const struct trace_build *p, const struct trace_part *part,
					  enum trace_fact_kind kind, size_t *pos)
{
	if (!*pos)
		*pos = find(p, part->from_ns);
	while (*pos < p->during.len) {
		const struct trace_fact *f = p->during.items[(*pos)++];

		if (f->kind == kind && is_of(f, part) && f->from_ns < part->to_ns && f->ts_ns > part->from_ns)
			return f;
	}
	return NULL;
}

static struct trace_segment segment_of(const struct trace_part *part, const struct trace_fact *f)
{
	return (struct trace_segment){
		.from_ns = part->from_ns, .to_ns = part->to_ns, .tgid = part->who->tgid,
		.tid = f ? f->tid : part->tid, .comm = part->who->comm, .row = part->row, .event = f ? f->num : 0,
		.by = part->tid ? TRACE_BY_THREAD : TRACE_BY_PROCESS,
	};
}

/* Paints @s between the two times, but not outside of the part. */
static void paint_within(struct trace_build *p, const struct trace_part *part, struct trace_segment *s,
			 uint64_t from_ns, uint64_t to_ns)
{
	s->from_ns = MAX(from_ns, part->from_ns);
	s->to_ns = MIN(to_ns, part->to_ns);
	if (s->from_ns < s->to_ns)
		trace_build_paint(p, s);
}

/* ---- a thread ---- */

static void paint_runq(struct trace_build *p, const struct trace_part *part, const struct trace_fact *wait)
{
	struct trace_segment s = segment_of(part, wait);

	s.state = TRACE_STATE_RUNNABLE;
	s.cause = wait->of_wait.cause == TRACE_CAUSE_THROTTLED ? TRACE_CAUSE_THROTTLED : TRACE_CAUSE_RUNQ;
	s.detail = wait->of_wait.quota;
	s.waker = wait->of_wait.waker;
	paint_within(p, part, &s, wait->ts_ns - wait->of_wait.runq_ns, wait->ts_ns);
}

/* The system call in which the thread waits; 0 = none is known. */
static uint32_t call_of_wait(const struct trace_build *p, const struct trace_fact *wait)
{
	const struct trace_part around = { .from_ns = wait->from_ns, .to_ns = wait->ts_ns, .who = wait,
					   .tid = wait->tid };
	const struct trace_fact *f;
	size_t pos = 0;

	while ((f = next_fact(p, &around, TRACE_FACT_SYSCALL, &pos)))
		if (f->from_ns <= wait->from_ns && f->ts_ns >= wait->ts_ns)
			return f->of_syscall.name;
	return 0;
}

static uint64_t overlap(const struct trace_fact *f, const struct trace_part *part)
{
	return MIN(f->ts_ns, part->to_ns) - MAX(f->from_ns, part->from_ns);
}

/* Waits of one kind. */
struct kind_sum {
	uint32_t kind;
	uint64_t ns;
	bool is_idle;
};

/* Adds @ns to the kind's row; kinds beyond @max are left out. */
static void add_kind(struct kind_sum *sums, size_t *n, size_t max, const struct trace_wait_fact *wait, uint64_t ns)
{
	size_t i = 0;

	while (i < *n && sums[i].kind != wait->kind)
		i++;
	if (i == max)
		return;
	if (i == *n)
		sums[(*n)++] = (struct kind_sum){ .kind = wait->kind, .is_idle = wait->is_idle };
	sums[i].ns += ns;
}

/*
 * The kind of wait in which the thread spent more than half of the part, in one wait or in many short ones, as of
 * many writes to a disk. Kind 0 = there is none.
 */
static struct kind_sum main_wait(const struct trace_build *p, const struct trace_part *part)
{
	struct kind_sum sums[KINDS_MAX];
	const struct trace_fact *f;
	size_t n = 0, pos = 0;

	if (part->from_ns >= part->to_ns)
		return (struct kind_sum){ 0 };
	while (part->tid && (f = next_fact(p, part, TRACE_FACT_WAIT, &pos)))
		add_kind(sums, &n, KINDS_MAX, &f->of_wait, overlap(f, part));
	for (size_t i = 0; i < n; i++)
		if (sums[i].ns > (part->to_ns - part->from_ns) / 2)
			return sums[i];
	return (struct kind_sum){ 0 };
}

uint32_t trace_thread_busy(const struct trace_build *p, const struct trace_part *part)
{
	const struct kind_sum most = main_wait(p, part);

	return most.is_idle ? 0 : most.kind;
}

/* Kind of the waits of the thread that held the lock; 0 = it ran. */
static uint32_t wait_of_holder(const struct trace_build *p, const struct trace_fact *wait)
{
	const struct trace_part meanwhile = {
		.from_ns = wait->from_ns, .to_ns = wait->ts_ns - wait->of_wait.runq_ns, .who = wait,
		.tid = wait->of_wait.waker_tid,
	};

	return main_wait(p, &meanwhile).kind;
}

/* The call that the waker of the thread served when it ended the wait; 0 = none is known. */
static uint32_t call_of_waker(const struct trace_build *p, const struct trace_fact *wait)
{
	const uint64_t woken_ns = wait->ts_ns - wait->of_wait.runq_ns;

	for (size_t i = 0; wait->of_wait.waker_tid && i < p->served.len; i++) {
		const struct trace_fact *f = p->served.items[i];

		if (f->tid == wait->of_wait.waker_tid && f->tgid == wait->of_wait.waker_tgid && !f->goid &&
		    f->from_ns <= woken_ns && f->ts_ns >= woken_ns)
			return f->of_call.method;
	}
	return 0;
}

/* Sleeping part of a wait, its cause with details. Threads of Go wait in futexes if no goroutine is ready. */
static void set_cause(const struct trace_build *p, const struct trace_part *part, const struct trace_fact *wait,
		      struct trace_segment *s)
{
	const bool is_go = part->who->goid || wait->goid;

	s->state = wait->of_wait.state;
	s->cause = wait->of_wait.cause == TRACE_CAUSE_LOCK && is_go ? TRACE_CAUSE_WAIT : wait->of_wait.cause;
	s->detail = wait->of_wait.kind;
	s->waker = wait->of_wait.waker;
	s->waker_call = call_of_waker(p, wait);
	if (s->cause == TRACE_CAUSE_LOCK)
		s->detail = wait_of_holder(p, wait);
	else if (s->cause == TRACE_CAUSE_DISK || s->cause == TRACE_CAUSE_FAULT || s->cause == TRACE_CAUSE_RECLAIM ||
		 s->cause == TRACE_CAUSE_KERNEL_LOCK)
		s->detail = call_of_wait(p, wait);
	else if (s->cause != TRACE_CAUSE_WAIT)
		s->detail = 0;
}

static void paint_wait(struct trace_build *p, const struct trace_part *part, const struct trace_fact *wait)
{
	struct trace_segment s = segment_of(part, wait);

	set_cause(p, part, wait, &s);
	paint_within(p, part, &s, wait->from_ns, wait->ts_ns - wait->of_wait.runq_ns);
	paint_runq(p, part, wait);
}

static void paint_thread(struct trace_build *p, const struct trace_part *part)
{
	bool known = p->min_wait_ns != UINT64_MAX;
	struct trace_segment s = segment_of(part, NULL);
	const struct trace_fact *f;
	size_t pos = 0;

	s.state = known ? TRACE_STATE_RUNNING : TRACE_STATE_UNKNOWN;
	s.cause = known ? TRACE_CAUSE_CPU : TRACE_CAUSE_UNKNOWN;
	trace_build_paint(p, &s);
	while ((f = next_fact(p, part, TRACE_FACT_SYSCALL, &pos))) {
		s.event = f->num;
		s.cause = TRACE_CAUSE_SYSCALL;
		s.detail = f->of_syscall.name;
		paint_within(p, part, &s, f->from_ns, f->ts_ns);
	}
	pos = 0;
	while ((f = next_fact(p, part, TRACE_FACT_WAIT, &pos)))
		paint_wait(p, part, f);
}

/* ---- a process ---- */

/* Nothing ran until the wait that ended first: later ones are painted before earlier ones. */
static void paint_idle(struct trace_build *p, const struct trace_part *part)
{
	for (size_t first = find(p, part->from_ns), i = p->during.len; i > first; i--) {
		const struct trace_fact *f = p->during.items[i - 1];
		struct trace_segment s;

		if (f->kind != TRACE_FACT_WAIT || !is_of(f, part) || f->from_ns >= part->to_ns)
			continue;
		s = segment_of(part, f);
		s.state = f->of_wait.state == TRACE_STATE_RUNNABLE ? TRACE_STATE_SLEEPING : f->of_wait.state;
		s.cause = TRACE_CAUSE_IDLE;
		s.detail = f->of_wait.kind;
		s.waker = f->of_wait.waker;
		s.waker_call = call_of_waker(p, f);
		s.tid = 0;
		paint_within(p, part, &s, part->from_ns, f->ts_ns - f->of_wait.runq_ns);
	}
}

/* Does the thread wait in the middle of its work? Waits for messages, locks and timers may be the lack of it. */
static bool is_work(const struct trace_fact *wait)
{
	return wait->of_wait.cause == TRACE_CAUSE_STOPPED || wait->of_wait.cause == TRACE_CAUSE_DISK ||
	       wait->of_wait.cause == TRACE_CAUSE_FAULT || wait->of_wait.cause == TRACE_CAUSE_RECLAIM ||
	       wait->of_wait.cause == TRACE_CAUSE_KERNEL_LOCK;
}

static void paint_work(struct trace_build *p, const struct trace_part *part)
{
	const struct trace_fact *f;
	size_t pos = 0;

	while ((f = next_fact(p, part, TRACE_FACT_WAIT, &pos))) {
		struct trace_segment s = segment_of(part, f);

		if (!is_work(f))
			continue;
		set_cause(p, part, f, &s);
		paint_within(p, part, &s, f->from_ns, f->ts_ns - f->of_wait.runq_ns);
	}
}

/* A thread ran after its last wait at least up to its last system call; no event says when it began to wait again. */
static void paint_last_run(struct trace_build *p, const struct trace_part *part, struct trace_segment *s,
			   uint64_t since_ns)
{
	const struct trace_part thread = { .from_ns = MAX(since_ns, part->from_ns), .to_ns = part->to_ns,
					   .who = part->who, .tid = s->tid };
	const struct trace_fact *f;
	uint64_t until_ns = 0;
	size_t pos = 0;

	while (thread.from_ns < thread.to_ns && (f = next_fact(p, &thread, TRACE_FACT_SYSCALL, &pos)))
		until_ns = MAX(until_ns, f->of_syscall.ret < 0 ? f->from_ns : f->ts_ns);
	paint_within(p, part, s, since_ns, until_ns);
}

/* @since_ns of a thread: end of its last wait; it ran from there to the next. */
static void paint_running(struct trace_build *p, const struct trace_part *part)
{
	struct trace_segment s = segment_of(part, NULL);
	const struct trace_fact *f;
	struct map since_ns;
	size_t pos = 0;
	void *key, *value;

	map_init(&since_ns, sizeof(uint32_t), sizeof(uint64_t));
	s.state = TRACE_STATE_RUNNING;
	s.cause = TRACE_CAUSE_CPU;
	while ((f = next_fact(p, part, TRACE_FACT_WAIT, &pos))) {
		bool is_new;
		uint64_t *since = map_add(&since_ns, &f->tid, &is_new);

		if (!since) {
			p->nomem = true;
			break;
		}
		s.tid = f->tid;
		s.event = f->num;
		paint_within(p, part, &s, is_new ? part->from_ns : *since, f->from_ns);
		*since = f->ts_ns;
	}
	s.event = 0;
	for (pos = 0; map_next(&since_ns, &pos, &key, &value);) {
		s.tid = *(const uint32_t *)key;
		paint_last_run(p, part, &s, *(const uint64_t *)value);
	}
	map_fini(&since_ns);
}

static void paint_process(struct trace_build *p, const struct trace_part *part)
{
	struct trace_segment s = segment_of(part, NULL);
	const struct trace_fact *f;
	size_t pos = 0;

	s.by = TRACE_BY_NONE;
	trace_build_paint(p, &s);
	paint_idle(p, part);
	paint_work(p, part);
	while ((f = next_fact(p, part, TRACE_FACT_WAIT, &pos)))
		paint_runq(p, part, f);
	paint_running(p, part);
}

/* ---- both ---- */

void trace_thread_paint(struct trace_build *p, const struct trace_part *part)
{
	if (part->from_ns >= part->to_ns)
		return;
	if (part->tid)
		paint_thread(p, part);
	else
		paint_process(p, part);
}

void trace_thread_served(struct trace_build *p, const struct trace_part *part, uint64_t number)
{
	const struct trace_fact *f;
	size_t pos = 0;

	while (number && (f = next_fact(p, part, TRACE_FACT_SYSCALL, &pos))) {
		struct trace_part call = *part;

		if (f->call != number)
			continue;
		call.tid = f->tid;
		call.from_ns = MAX(f->from_ns, part->from_ns);
		call.to_ns = MIN(f->ts_ns, part->to_ns);
		trace_thread_paint(p, &call);
		trace_build_item(p, &(struct trace_item){ .fact = f, .row = part->row });
	}
}

void trace_thread_paint_held(struct trace_build *p, const struct trace_part *part)
{
	const struct trace_fact *f;
	size_t pos = 0;

	while (part->tid && (f = next_fact(p, part, TRACE_FACT_WAIT, &pos)))
		if (is_work(f))
			paint_wait(p, part, f);
		else
			paint_runq(p, part, f);
}

uint64_t trace_thread_woken(const struct trace_build *p, const struct trace_fact *call)
{
	const struct trace_part part = { .from_ns = call->from_ns, .to_ns = call->ts_ns, .who = call,
					 .tid = call->tid };
	const struct trace_fact *f;
	uint64_t woken_ns = call->from_ns;
	size_t pos = 0;

	while ((f = next_fact(p, &part, TRACE_FACT_WAIT, &pos)))
		if (f->ts_ns <= call->ts_ns && f->of_wait.state == TRACE_STATE_SLEEPING)
			woken_ns = MAX(woken_ns, f->ts_ns - f->of_wait.runq_ns);
	return woken_ns;
}

uint64_t trace_thread_runq(const struct trace_build *p, const struct trace_part *part)
{
	const struct trace_fact *f;
	uint64_t sum = 0;
	size_t pos = 0;

	while (part->tid && (f = next_fact(p, part, TRACE_FACT_WAIT, &pos))) {
		uint64_t from = MAX(f->ts_ns - f->of_wait.runq_ns, part->from_ns), to = MIN(f->ts_ns, part->to_ns);

		sum += from < to ? to - from : 0;
	}
	return sum;
}
