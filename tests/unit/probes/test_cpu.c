// SPDX-License-Identifier: GPL-2.0-or-later
/* The cpu probe's decoder: records built here, byte for byte, to events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event_words.h"
#include "sonde/stack_wire.h"

#define PROBE_ID 3
#include "probes/cpu/cpu_wire.h"

extern const struct decoder_ops cpu_decoder;
static const struct decoder_ops *const decoders[] = { &cpu_decoder, NULL };

#define FRAMES 8

/* The last event and the number of events. */
struct seen {
	unsigned n;
	const struct event_desc *desc;
	struct event_words text;
	bool has_user, has_kern;
	uint64_t user[FRAMES], kern[FRAMES];
	uint32_t n_user, n_kern, netns;
	uint64_t cgroup_id;
};

union record {
	struct cpu_sample_rec rec;
	uint64_t words[sizeof(struct cpu_sample_rec) / 8 + CPU_WAIT_WORDS + 2 * FRAMES];
};

static bool take_stack(const struct event *ev, enum sec_kind kind, uint64_t *frames, uint32_t *n)
{
	const struct section *s = event_section(ev, kind);

	*n = s ? s->len / 8 : 0;
	if (*n)
		memcpy(frames, s->data, s->len);
	return s != NULL;
}

static int take(void *ctx, struct event *ev)
{
	struct seen *s = ctx;

	s->n++;
	s->desc = ev->desc;
	s->netns = ev->keys.netns;
	s->cgroup_id = ev->keys.cgroup_id;
	s->has_user = take_stack(ev, SEC_STACK_USER, s->user, &s->n_user);
	s->has_kern = take_stack(ev, SEC_STACK_KERN, s->kern, &s->n_kern);
	event_words_take(&s->text, ev);
	return 0;
}

static int decode(struct seen *s, const void *rec, size_t len)
{
	return decode_alone(decoders, rec, len, take, s);
}

/* A sample with the given number of frames: kernel 0xf..f000 up, user 0x1000 up. */
static size_t record(union record *u, uint16_t type, uint16_t n_kern, uint16_t n_user)
{
	const size_t n_wait = type == CPU_REC_BLOCK ? CPU_WAIT_WORDS : 0;

	*u = (union record){ .rec = {
		.hdr = { .ts_ns = 5, .type = type, .flags = SONDE_RF_IDENT, .cpu = 3, .tgid = 77, .tid = 78,
			 .start_ns = 3 },
		.value = 10101010, .cgroup_id = 9, .netns = 4, .comm = "prog", .n_kern = n_kern, .n_user = n_user,
		.user_end = SONDE_STACK_BOTTOM, .count = 1,
		.mode = CPU_MODE_KERNEL | CPU_MODE_KERN_ASKED | CPU_MODE_USER_ASKED,
	} };
	for (unsigned i = 0; i < n_kern; i++)
		u->rec.ips[n_wait + i] = 0xfffffffffffff000 + i;
	for (unsigned i = 0; i < n_user; i++)
		u->rec.ips[n_wait + n_kern + i] = 0x1000 + i;
	u->rec.hdr.len = (uint32_t)(sizeof(u->rec) + (n_wait + n_kern + n_user) * 8u);
	return u->rec.hdr.len;
}

static void a_sample_has_both_stacks(void **state)
{
	struct seen s = { 0 };
	union record u;
	size_t len = record(&u, CPU_REC_SAMPLE, 2, 3);

	(void)state;
	assert_int_equal(decode(&s, &u, len), 0);
	assert_int_equal(s.n, 1);
	assert_string_equal(s.desc->name, "cpu.sample");
	assert_int_equal(s.n_kern, 2);
	assert_int_equal(s.n_user, 3);
	assert_int_equal(s.kern[1], 0xfffffffffffff001);
	assert_int_equal(s.user[0], 0x1000);
	assert_int_equal(s.user[2], 0x1002);
	assert_int_equal(s.netns, 4);
	assert_int_equal(s.cgroup_id, 9);
	has_word(&s.text, "stack.value=10.10101ms ");
	has_word(&s.text, "stack.count=1 ");
	has_word(&s.text, "stack.end=complete ");
	has_word(&s.text, "thread.name=prog ");
	assert_string_equal(buf_str(&s.text.line), "cpu 3 runs prog[77] thread 78 kernel in 0xfffffffffffff000\n"
			    "        0xfffffffffffff000\n        0xfffffffffffff001\n"
			    "        0x1000\n        0x1001\n        0x1002\n");
	event_words_fini(&s.text);
}

static void an_empty_stack_is_not_a_missing_one(void **state)
{
	struct seen s = { 0 };
	union record u;
	size_t len = record(&u, CPU_REC_SAMPLE, 0, 0);

	(void)state;
	u.rec.mode = CPU_MODE_USER_ASKED;
	u.rec.user_end = SONDE_STACK_MEMORY;
	assert_int_equal(decode(&s, &u, len), 0);
	assert_true(s.has_user);
	assert_int_equal(s.n_user, 0);
	assert_false(s.has_kern);
	has_word(&s.text, "stack.end=unreadable ");
	assert_string_equal(buf_str(&s.text.line), "cpu 3 runs prog[77] thread 78 user\n"
			    "        [ends: unreadable]\n");
	event_words_fini(&s.text);
}

static void a_late_sample_says_for_how_many_it_stands(void **state)
{
	struct seen s = { 0 };
	union record u;
	size_t len = record(&u, CPU_REC_SAMPLE, 1, 0);

	(void)state;
	u.rec.count = 4;
	assert_int_equal(decode(&s, &u, len), 0);
	has_word(&s.text, "stack.count=4 ");
	assert_non_null(strstr(buf_str(&s.text.line), " kernel x4 in "));
	event_words_fini(&s.text);
}

static void a_block_tells_waiting_from_blocking(void **state)
{
	struct seen s = { 0 };
	union record u;
	size_t len = record(&u, CPU_REC_BLOCK, 1, 1);

	(void)state;
	u.rec.value = 12031000;
	u.rec.wait_ns = 4000;
	u.rec.state = 1;
	assert_int_equal(decode(&s, &u, len), 0);
	assert_string_equal(s.desc->name, "cpu.block");
	has_word(&s.text, "stack.value=12.031ms ");
	has_word(&s.text, "stack.wait=4us ");
	has_word(&s.text, "stack.state=sleeping ");
	assert_string_equal(buf_str(&s.text.line), "prog[77] thread 78 off for 12.031 ms (0.004 ms waiting for a "
			    "CPU) sleeping in 0xfffffffffffff000\n        0xfffffffffffff000\n        0x1000\n");
	event_words_fini(&s.text);
}

/* Recordings of older versions: no waker, and the kind only as far as state and stack tell. */
static void an_older_block_has_no_facts(void **state)
{
	struct seen s = { 0 };
	union record u;
	size_t len = record(&u, CPU_REC_BLOCK_2, 1, 1);

	(void)state;
	u.rec.value = 12031000;
	u.rec.state = 1;
	assert_int_equal(decode(&s, &u, len), 0);
	assert_string_equal(s.desc->name, "cpu.block");
	assert_int_equal(s.user[0], 0x1000);
	has_word(&s.text, "block.kind=unknown ");
	has_word(&s.text, "block.kind_by=not-recorded ");
	has_no_word(&s.text, "block.waker");
	event_words_fini(&s.text);
}

static struct cpu_wait *wait_of(union record *u)
{
	return (struct cpu_wait *)u->rec.ips;
}

static void a_block_names_its_waker(void **state)
{
	struct seen s = { 0 };
	union record u;
	size_t len = record(&u, CPU_REC_BLOCK, 0, 0);

	(void)state;
	u.rec.value = 12031000;
	u.rec.wait_ns = 31000;
	u.rec.state = 1;
	*wait_of(&u) = (struct cpu_wait){
		.waker_start_ns = 8, .waker_image = 9, .waker_goid = 7, .waker_tgid = 55, .waker_tid = 56,
		.waker_comm = "front", .waker = CPU_WAKER_THREAD, .call = CPU_CALL_FUTEX,
	};
	assert_int_equal(decode(&s, &u, len), 0);
	has_word(&s.text, "block.kind=futex ");
	has_word(&s.text, "block.kind_by=call ");
	has_word(&s.text, "block.sleep_ns=12ms ");
	has_word(&s.text, "block.runq_ns=31us ");
	has_word(&s.text, "block.waker.pid=55 ");
	has_word(&s.text, "block.waker.tid=56 ");
	has_word(&s.text, "block.waker.name=front ");
	has_word(&s.text, "block.waker.goid=7 ");
	has_no_word(&s.text, "block.waker.irq");
	assert_string_equal(buf_str(&s.text.line), "prog[77] thread 78 off for 12.031 ms (0.031 ms waiting for a "
			    "CPU) sleeping, futex, woken by front[55] thread 56 goroutine 7\n");
	event_words_fini(&s.text);
}

static void an_interrupt_is_no_thread(void **state)
{
	struct seen s = { 0 };
	union record u;
	size_t len = record(&u, CPU_REC_BLOCK, 0, 0);

	(void)state;
	u.rec.value = 5000000;
	u.rec.state = 1;
	*wait_of(&u) = (struct cpu_wait){
		.waker = CPU_WAKER_HARDIRQ, .call = CPU_CALL_SLEEP, .flags = CPU_WAIT_F_NOT_WOKEN,
	};
	assert_int_equal(decode(&s, &u, len), 0);
	has_word(&s.text, "block.kind=timer ");
	has_word(&s.text, "block.waker.irq=hardirq ");
	has_no_word(&s.text, "block.waker.pid");
	has_no_word(&s.text, "block.runq_ns");
	assert_non_null(strstr(buf_str(&s.text.line), "sleeping, timer, woken by hardirq\n"));
	event_words_fini(&s.text);
	wait_of(&u)->waker = CPU_WAKER__MAX;
	assert_int_equal(decode(&s, &u, len), -EBADMSG);
	wait_of(&u)->waker = 0;
	wait_of(&u)->call = CPU_CALL__MAX;
	assert_int_equal(decode(&s, &u, len), -EBADMSG);
}

/* It lies where a waker would, which a throttled thread has not. */
static void a_quota_is_no_waker(void **state)
{
	struct seen s = { 0 };
	union record u;
	size_t len = record(&u, CPU_REC_BLOCK, 0, 0);
	const struct cpu_wait throttled = {
		.quota = { .cgroup_id = 4711, .quota_ns = 10000000, .period_ns = 100000000,
			   .throttled_ns = 2500000000, .n_periods = 50, .n_throttled = 30 },
		.quota_of = CPU_QUOTA_V1, .flags = CPU_WAIT_F_THROTTLED,
	};

	(void)state;
	u.rec.value = u.rec.wait_ns = 90000000;
	*wait_of(&u) = throttled;
	assert_int_equal(decode(&s, &u, len), 0);
	has_word(&s.text, "block.kind=throttled ");
	has_word(&s.text, "block.quota.time=10ms ");
	has_word(&s.text, "block.quota.period=100ms ");
	has_word(&s.text, "block.quota.periods=50 ");
	has_word(&s.text, "block.quota.throttled=30 ");
	has_word(&s.text, "block.quota.throttled_ns=2.5s ");
	has_no_word(&s.text, "block.quota.cgroup");
	has_no_word(&s.text, "block.waker");
	assert_non_null(strstr(buf_str(&s.text.line), "throttled by cgroup 4711 (10.000 ms of CPU time per "
						      "100.000 ms)\n"));
	event_words_fini(&s.text);
	wait_of(&u)->quota_of = CPU_QUOTA__MAX;
	assert_int_equal(decode(&s, &u, len), -EBADMSG);
	*wait_of(&u) = throttled;
	wait_of(&u)->waker = CPU_WAKER_THREAD;
	assert_int_equal(decode(&s, &u, len), -EBADMSG);
	*wait_of(&u) = throttled;
	wait_of(&u)->flags = 0;
	assert_int_equal(decode(&s, &u, len), -EBADMSG);
}

/* Without a kernel stack. */
static void facts_decide_or_leave_it_open(void **state)
{
	static const struct {
		uint32_t state;
		uint8_t call, file, flags;
		const char *want, *by;
	} cases[] = {
		{ 0, 0, 0, 0, "cpu ", "state " },
		{ 0, 0, 0, CPU_WAIT_F_THROTTLED, "throttled ", "state " },
		{ 1, CPU_CALL_READ, 1, 0, "pipe-read ", "call " },
		{ 1, CPU_CALL_READ, 12, 0, "socket-read ", "call " },
		{ 1, CPU_CALL_READ, 2, 0, "other ", "call " },
		{ 1, CPU_CALL_READ, 8, 0, "unknown ", "no-stack " },
		{ 1, CPU_CALL_WRITE, CPU_FILE_UNKNOWN, 0, "unknown ", "no-file " },
		{ 1, CPU_CALL_WRITE, 1, 0, "pipe-write ", "call " },
		{ 2, CPU_CALL_WRITE, 1, CPU_WAIT_F_LOCK, "lock ", "state " },
		{ 2, CPU_CALL_WRITE, 1, 0, "unknown ", "no-stack " },
		{ 2, CPU_CALL_READ, 8, CPU_WAIT_F_IO, "disk ", "state " },
		{ 2, CPU_CALL_NONE, 0, CPU_WAIT_F_IO, "page-fault ", "state " },
		{ 2, CPU_CALL_NONE, 0, CPU_WAIT_F_IO | CPU_WAIT_F_KERNEL, "disk ", "state " },
		{ 2, CPU_CALL_NONE, 0, CPU_WAIT_F_IO | CPU_WAIT_F_ENDING, "disk ", "state " },
		{ 1, CPU_CALL_OTHER, 0, CPU_WAIT_F_IO, "other ", "call " },
		{ 1, CPU_CALL_SPLICE, 0, 0, "unknown ", "no-stack " },
		{ 1, CPU_CALL_FUTEX, 0, CPU_WAIT_F_FROZEN, "stopped ", "state " },
		{ 4, CPU_CALL_NONE, 0, 0, "stopped ", "state " },
		{ 1, CPU_CALL_UNKNOWN, 0, 0, "unknown ", "not-recorded " },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct seen s = { 0 };
		union record u;
		size_t len = record(&u, CPU_REC_BLOCK, 0, 0);
		char want[64];

		u.rec.state = cases[i].state;
		*wait_of(&u) = (struct cpu_wait){
			.call = cases[i].call, .file = cases[i].file, .flags = cases[i].flags,
		};
		assert_int_equal(decode(&s, &u, len), 0);
		snprintf(want, sizeof(want), "block.kind=%s", cases[i].want);
		has_word(&s.text, want);
		snprintf(want, sizeof(want), "block.kind_by=%s", cases[i].by);
		has_word(&s.text, want);
		event_words_fini(&s.text);
	}
}

/* The kernel's state bits combine (TASK_KILLABLE, TASK_IDLE); a preempted thread is runnable nevertheless. */
static void states_have_the_names_of_ps(void **state)
{
	static const struct { uint32_t state; uint8_t mode; const char *want; } cases[] = {
		{ 0, 0, "stack.state=runnable " }, { 1, 0, "stack.state=sleeping " }, { 2, 0, "stack.state=disk " },
		{ 0x102, 0, "stack.state=disk " }, { 0x402, 0, "stack.state=idle " },
		{ 4, 0, "stack.state=stopped " }, { 8, 0, "stack.state=traced " },
		{ 0x40, 0, "stack.state=parked " }, { 0x80, 0, "stack.state=other " },
		{ 1, CPU_MODE_PREEMPTED, "stack.state=runnable " },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct seen s = { 0 };
		union record u;
		size_t len = record(&u, CPU_REC_BLOCK, 0, 0);

		u.rec.state = cases[i].state;
		u.rec.mode |= cases[i].mode;
		assert_int_equal(decode(&s, &u, len), 0);
		has_word(&s.text, cases[i].want);
		if (cases[i].mode)
			has_word(&s.text, "preempted");
		else
			has_no_word(&s.text, "preempted");
		event_words_fini(&s.text);
	}
}

static void what_contradicts_itself_is_refused(void **state)
{
	struct seen s = { 0 };
	union record u;
	size_t len;

	(void)state;
	for (int i = 0; i < 8; i++) {
		len = record(&u, i < 6 ? CPU_REC_SAMPLE : CPU_REC_BLOCK, 2, 2);
		switch (i) {
		case 0: u.rec.n_user = 3; break;		/* more frames than bytes */
		case 1: u.rec.n_kern = 0xffff; u.rec.n_user = 0xffff; break;
		case 2: u.rec.user_end = SONDE_STACK__MAX; break;
		case 3: u.rec.mode = CPU_MODE_KERN_ASKED; break;	/* a user stack that was not requested */
		case 4: u.rec.mode = CPU_MODE_USER_ASKED; break;
		case 5: u.rec.count = 0; break;
		case 6: u.rec.wait_ns = u.rec.value + 1; break;
		case 7: u.rec.kern_err = 1; break;
		}
		assert_int_equal(decode(&s, &u, len), -EBADMSG);
	}
	for (len = sizeof(struct sonde_rec); len < sizeof(u.rec) + 32; len++) {
		record(&u, CPU_REC_SAMPLE, 2, 2);
		u.rec.hdr.len = (uint32_t)len;
		assert_int_equal(decode(&s, &u, len), -EBADMSG);
	}
	assert_int_equal(s.n, 0);
	event_words_fini(&s.text);
}

/* Requests for unwind tables are for the live half: no event, no error. */
static void requests_are_no_events(void **state)
{
	struct cpu_need_rec need = { .hdr = { .type = CPU_REC_NEED, .len = sizeof(need) } };
	struct seen s = { 0 };

	(void)state;
	assert_int_equal(decode(&s, &need, sizeof(need)), 0);
	need.hdr.len--;
	assert_int_equal(decode(&s, &need, sizeof(need) - 1), -EBADMSG);
	need.hdr.type = SONDE_EV(PROBE_ID, 200);
	assert_int_equal(decode(&s, &need, sizeof(need) - 1), -ENOSYS);
	assert_int_equal(s.n, 0);
}

/* Missed samples and table use: they concern the stream, so no filter removes them. */
static void the_end_tells_what_was_missed(void **state)
{
	struct { struct cpu_totals_rec rec; char text[8]; } u = {
		.rec = { .hdr = { .type = CPU_REC_TOTALS, .len = sizeof(u) }, .periods = 100, .missed = 3,
			 .evicted = 2 },
		.text = { 'a', '\n', 'b', 'c', 'd', 'e', 'f', 'g' },
	};
	struct seen s = { 0 };

	(void)state;
	assert_int_equal(decode(&s, &u, sizeof(u)), 0);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.desc->class, EVENT_META);
	has_word(&s.text, "totals.missed=3 ");
	has_word(&s.text, "totals.evicted=2 ");
	has_word(&s.text, "totals.reasons=");
	u.rec.missed = 101;	/* more than existed */
	assert_int_equal(decode(&s, &u, sizeof(u)), -EBADMSG);
	u.rec.missed = 3;
	u.rec.hdr.len = sizeof(u.rec) - 1;
	assert_int_equal(decode(&s, &u, sizeof(u.rec) - 1), -EBADMSG);
	event_words_fini(&s.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sample_has_both_stacks),
		cmocka_unit_test(an_empty_stack_is_not_a_missing_one),
		cmocka_unit_test(a_late_sample_says_for_how_many_it_stands),
		cmocka_unit_test(a_block_tells_waiting_from_blocking),
		cmocka_unit_test(an_older_block_has_no_facts),
		cmocka_unit_test(a_block_names_its_waker),
		cmocka_unit_test(an_interrupt_is_no_thread),
		cmocka_unit_test(a_quota_is_no_waker),
		cmocka_unit_test(facts_decide_or_leave_it_open),
		cmocka_unit_test(states_have_the_names_of_ps),
		cmocka_unit_test(what_contradicts_itself_is_refused),
		cmocka_unit_test(requests_are_no_events),
		cmocka_unit_test(the_end_tells_what_was_missed),
	};

	return cmocka_run_group_tests_name("cpu", tests, NULL, NULL);
}
