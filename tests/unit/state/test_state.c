// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The engine's rules, each on a few facts, and the property behind them: answers depend on the set of facts, not on
 * their order.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "state/state.h"
#include "state/state_file.h"
#include "state/state_image.h"
#include "state/state_range.h"
#include "state/state_socket.h"
#include "state/state_task.h"

/* ---- facts ---- */

enum kind {
	KIND_EXEC, KIND_SNAPSHOT, KIND_FORK, KIND_RENAME, KIND_EXIT, KIND_LOST, KIND_OWNER, KIND_ACCEPT, KIND_CLOSE,
	KIND__MAX,
};

struct step {
	enum kind kind;
	uint64_t ts_ns;
	uint32_t pid;
	uint64_t start_ns;
	const char *name;	/* comm, and of an exec the program */
	uint32_t other;		/* KIND_FORK: maker; KIND_EXEC and KIND_SNAPSHOT: uid; of sockets: cookie */
	uint32_t tid;		/* 0 = pid */
};

static void apply_socket(struct state *s, const struct step *f)
{
	const struct state_socket_fact fact = {
		.ts_ns = f->ts_ns, .cookie = f->other, .tgid = f->pid, .start_ns = f->start_ns,
		.listener = f->kind == KIND_ACCEPT, .closed = f->kind == KIND_CLOSE,
	};

	assert_int_equal(state_socket_apply(s, &fact), 0);
}

static void apply_task(struct state *s, const struct step *f)
{
	bool image = f->kind == KIND_EXEC || f->kind == KIND_SNAPSHOT;
	const struct state_task_fact fact = {
		.ts_ns = f->ts_ns, .tgid = f->pid, .tid = f->tid ? f->tid : f->pid, .start_ns = f->start_ns,
		.snapshot = f->kind == KIND_SNAPSHOT, .exited = f->kind == KIND_EXIT,
		.comm = f->name, .comm_len = f->name ? strlen(f->name) : 0,
		.exe = image ? f->name : NULL, .exe_len = image ? strlen(f->name) : 0,
		.has_ids = image, .uid = f->other, .maker_tgid = f->kind == KIND_FORK ? f->other : 0,
	};

	assert_int_equal(state_task_apply(s, &fact), 0);
}

static void apply(struct state *s, const struct step *f)
{
	switch (f->kind) {
	case KIND_LOST:
		state_lost(s, f->ts_ns);
		break;
	case KIND_OWNER:
	case KIND_ACCEPT:
	case KIND_CLOSE:
		apply_socket(s, f);
		break;
	case KIND_EXEC:
	case KIND_SNAPSHOT:
	case KIND_FORK:
	case KIND_RENAME:
	case KIND_EXIT:
		apply_task(s, f);
		break;
	case KIND__MAX:
		break;
	}
}

/* "comm:program" of the process at that time; "" = it is unknown. */
static const char *at(struct state *s, uint64_t ts_ns, uint32_t pid, uint64_t start_ns)
{
	static char text[4][64];
	static unsigned turn;
	char *out = text[turn++ % ARRAY_SIZE(text)];
	const struct state_task_at *p;

	out[0] = '\0';
	if (state_task_process(s, pid, start_ns, ts_ns, &p) == 0)
		snprintf(out, sizeof(text[0]), "%.16s:%.*s", p->comm, p->image ? (int)p->image->exe_len : 0,
			 p->image ? p->image->text : "");
	return out;
}

/* ---- order ---- */

#define FORKER 7
#define CHILD 9

/* A shell that execs, forks and renames itself, its child, a reused number, sockets, a snapshot, a loss. */
static const struct step story[] = {
	{ KIND_SNAPSHOT, 1000, FORKER, 500, "sh", 1000 },
	{ KIND_EXEC, 1010, FORKER, 500, "bash", 1000 },
	{ KIND_FORK, 1020, CHILD, 1020, "bash", FORKER },
	{ KIND_EXEC, 1030, CHILD, 1020, "ls", 0 },
	{ KIND_RENAME, 1040, CHILD, 1020, "list", 0 },
	{ KIND_EXIT, 1050, CHILD, 1020 },
	{ KIND_FORK, 1060, CHILD, 1060, "bash", FORKER },
	{ KIND_LOST, 1070, 0, 0 },
	{ KIND_SNAPSHOT, 1080, FORKER, 500, "zsh", 0 },
	{ KIND_OWNER, 1025, FORKER, 500, NULL, 42 },
	{ KIND_ACCEPT, 1022, FORKER, 500, NULL, 43 },
	{ KIND_OWNER, 1035, CHILD, 1020, NULL, 43 },
	{ KIND_CLOSE, 1090, FORKER, 500, NULL, 42 },
	{ KIND_RENAME, 1045, FORKER, 500, "thread", 0, 8 },
};

static void note_thread(struct state *s, uint64_t ts_ns, char *out)
{
	const struct state_task_at *p;

	if (state_task_thread(s, 8, 500, ts_ns, &p) == 0)
		sprintf(out + strlen(out), " %.16s", p->comm);
}

static void note_socket(struct state *s, uint64_t ts_ns, uint64_t cookie, char *out)
{
	struct state_socket_owner o;

	if (state_socket_find(s, cookie, ts_ns, &o) == 0)
		sprintf(out + strlen(out), " %u/%d", o.tgid, (int)o.how);
}

/* All answers at all times, as one text. */
static void all_answers(struct state *s, char *out)
{
	uint32_t uid;

	out[0] = '\0';
	for (uint64_t ts_ns = 995; ts_ns < 1100; ts_ns += 5) {
		sprintf(out + strlen(out), "%s %s %s %s", at(s, ts_ns, FORKER, 500), at(s, ts_ns, CHILD, 1020),
			at(s, ts_ns, CHILD, 1060), at(s, ts_ns, CHILD, 0));
		note_thread(s, ts_ns, out);
		note_socket(s, ts_ns, 42, out);
		note_socket(s, ts_ns, 43, out);
		if (state_task_user(s, FORKER, 500, ts_ns, &uid))
			sprintf(out + strlen(out), " %u", uid);
		strcat(out, "\n");
	}
}

static void shuffle(unsigned *order, unsigned n, unsigned *seed)
{
	for (unsigned i = n; i > 1; i--) {
		unsigned k = (unsigned)rand_r(seed) % i, was = order[i - 1];

		order[i - 1] = order[k];
		order[k] = was;
	}
}

static void tell(const unsigned *order, bool ask_between, char *ret_answers)
{
	struct state *s = state_new(0);

	for (unsigned i = 0; i < ARRAY_SIZE(story); i++) {
		apply(s, &story[order[i]]);
		if (ask_between)
			all_answers(s, ret_answers);
	}
	all_answers(s, ret_answers);
	state_free(s);
}

/* Also while questions are asked in between: an answer given before a fact came must not survive it. */
static void answers_do_not_depend_on_the_order_of_facts(void **state)
{
	static char expected[16384], found[16384];
	unsigned order[ARRAY_SIZE(story)], seed = 1;

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(story); i++)
		order[i] = i;
	tell(order, false, expected);
	assert_non_null(strstr(expected, "bash:bash"));
	for (unsigned turn = 0; turn < 20000; turn++) {
		shuffle(order, ARRAY_SIZE(story), &seed);
		tell(order, turn % 16 == 0, found);
		assert_string_equal(found, expected);
	}
}

/* Thousands of random sets: whatever the facts are, their order does not matter. */
static void random_facts_commute(void **state)
{
	static const char *const names[] = { "a", "b", "c" };
	static char one[16384], two[16384];
	unsigned seed = 7, order[12];
	struct step steps[ARRAY_SIZE(order)];

	(void)state;
	for (unsigned turn = 0; turn < 20000; turn++) {
		struct state *s = state_new(0), *t = state_new(0);

		for (unsigned i = 0; i < ARRAY_SIZE(steps); i++) {
			order[i] = i;
			steps[i] = (struct step){
				.kind = (enum kind)(rand_r(&seed) % KIND__MAX),
				.ts_ns = 1000 + (unsigned)rand_r(&seed) % 20 * 5, .pid = FORKER, .start_ns = 500,
				.name = names[rand_r(&seed) % 3], .other = 42,
			};
			if (rand_r(&seed) % 2) {
				steps[i].pid = CHILD;
				steps[i].start_ns = 1020;
				steps[i].other = FORKER;
			}
			if (steps[i].kind >= KIND_OWNER)
				steps[i].other = 42 + (unsigned)rand_r(&seed) % 2;
			if (steps[i].kind == KIND_FORK && steps[i].pid == FORKER)
				steps[i].kind = KIND_EXEC;
			if (steps[i].kind == KIND_FORK)
				steps[i].ts_ns = steps[i].start_ns;
			apply(s, &steps[i]);
		}
		shuffle(order, ARRAY_SIZE(order), &seed);
		for (unsigned i = 0; i < ARRAY_SIZE(order); i++)
			apply(t, &steps[order[i]]);
		all_answers(s, one);
		all_answers(t, two);
		assert_string_equal(one, two);
		state_free(s);
		state_free(t);
	}
}

/* ---- rules ---- */

static void a_late_clone_does_not_undo_an_exec(void **state)
{
	struct state *s = state_new(0);

	(void)state;
	apply(s, &(struct step){ KIND_EXEC, 100, FORKER, 50, "sh", 0 });
	apply(s, &(struct step){ KIND_EXEC, 120, CHILD, 110, "ls", 0 });
	apply(s, &(struct step){ KIND_FORK, 111, CHILD, 110, "sh", FORKER });
	assert_string_equal(at(s, 130, CHILD, 110), "ls:ls");
	assert_string_equal(at(s, 115, CHILD, 110), "sh:sh");
	state_free(s);
}

static void a_child_inherits_an_image_that_is_known_late(void **state)
{
	struct state *s = state_new(0);

	(void)state;
	apply(s, &(struct step){ KIND_FORK, 111, CHILD, 111, "sh", FORKER });
	assert_string_equal(at(s, 120, CHILD, 111), "sh:");
	apply(s, &(struct step){ KIND_EXEC, 100, FORKER, 50, "sh", 0 });
	assert_string_equal(at(s, 120, CHILD, 111), "sh:sh");
	apply(s, &(struct step){ KIND_EXEC, 115, FORKER, 50, "vi", 0 });
	assert_string_equal(at(s, 120, CHILD, 111), "sh:sh");
	state_free(s);
}

/* It outlives its creator. */
static void an_inherited_image_becomes_the_childs_own(void **state)
{
	struct state *s = state_new(0);

	(void)state;
	apply(s, &(struct step){ KIND_EXEC, 100, FORKER, 50, "sh", 0 });
	apply(s, &(struct step){ KIND_FORK, 111, CHILD, 111, "sh", FORKER });
	apply(s, &(struct step){ KIND_EXIT, 120, FORKER, 50 });
	apply(s, &(struct step){ KIND_EXEC, 2 * STATE_KEEP_NS, 11, 200, "late", 0 });
	assert_string_equal(at(s, 110, FORKER, 50), "");
	assert_string_equal(at(s, 2 * STATE_KEEP_NS, CHILD, 111), "sh:sh");
	state_free(s);
}

static void the_time_of_forgotten_changes_is_unknown(void **state)
{
	struct state *s = state_new(0);
	char name[16];

	(void)state;
	for (unsigned i = 1; i <= 20; i++) {
		snprintf(name, sizeof(name), "name%u", i);
		apply(s, &(struct step){ KIND_EXEC, i * 2 * STATE_WINDOW_NS, 7, 50, name, 0 });
	}
	assert_string_equal(at(s, 5 * STATE_WINDOW_NS, 7, 50), ":");
	assert_string_equal(at(s, 37 * STATE_WINDOW_NS, 7, 50), "name18:name18");
	assert_string_equal(at(s, 41 * STATE_WINDOW_NS, 7, 50), "name20:name20");
	state_free(s);
}

static uint32_t user_at(struct state *s, uint64_t ts_ns, uint32_t pid, uint64_t start_ns)
{
	uint32_t uid;

	return state_task_user(s, pid, start_ns, ts_ns, &uid) ? uid : UINT32_MAX;
}

/* The exec of a setuid program may be what was lost. */
static void users_are_unsure_after_a_loss(void **state)
{
	struct state *s = state_new(0);

	(void)state;
	apply(s, &(struct step){ KIND_SNAPSHOT, 100, 7, 50, "su", 1000 });
	apply(s, &(struct step){ KIND_EXEC, 110, 8, 60, "su", 1000 });
	assert_int_equal(user_at(s, 120, 7, 50), 1000);
	assert_int_equal(user_at(s, 120, 8, 60), 1000);
	apply(s, &(struct step){ KIND_LOST, 150 });
	assert_int_equal(user_at(s, 160, 7, 50), UINT32_MAX);
	assert_int_equal(user_at(s, 160, 8, 60), UINT32_MAX);
	apply(s, &(struct step){ KIND_SNAPSHOT, 140, 7, 50, "su", 1000 }); /* from before the loss: proves nothing */
	assert_int_equal(user_at(s, 160, 7, 50), UINT32_MAX);
	apply(s, &(struct step){ KIND_SNAPSHOT, 170, 7, 50, "su", 0 });
	assert_int_equal(user_at(s, 180, 7, 50), 0);
	assert_int_equal(user_at(s, 120, 7, 50), 1000);
	apply(s, &(struct step){ KIND_SNAPSHOT, 175, 8, 60, "su", 33 });
	assert_int_equal(user_at(s, 180, 8, 60), 33);
	state_free(s);
}

static void a_lost_exec_shows_in_the_number_of_the_image(void **state)
{
	struct state *s = state_new(0);
	struct state_task_fact f = {
		.ts_ns = 100, .tgid = 7, .tid = 7, .start_ns = 50, .image = 1001, .comm = "sh", .comm_len = 2,
		.exe = "sh", .exe_len = 2,
	};
	const struct state_task_at *p;

	(void)state;
	assert_int_equal(state_task_apply(s, &f), 0);
	f = (struct state_task_fact){
		.ts_ns = 110, .tgid = 8, .tid = 8, .start_ns = 110, .image = 2001, .maker_tgid = 7,
		.maker_start_ns = 50, .comm = "sh", .comm_len = 2,
	};
	assert_int_equal(state_task_apply(s, &f), 0);
	assert_int_equal(state_task_process(s, 8, 110, 120, &p), 0);
	assert_int_equal(p->image_number, 2001);	/* the program is inherited, its number is not */
	assert_true(state_task_has_image(s, p, 2001));
	assert_false(state_task_has_image(s, p, 2002));
	state_free(s);
}

static void an_evicted_process_differs_from_an_unknown_one(void **state)
{
	struct state *s = state_new(64 << 10);
	const struct state_task_at *p;

	(void)state;
	for (uint32_t pid = 1; pid < 1000; pid++)
		apply(s, &(struct step){ KIND_EXEC, pid, pid, pid, "many", 0 });
	assert_int_equal(state_task_process(s, 1, 1, 2000, &p), -ESTALE);
	assert_int_equal(state_task_process(s, 5000, 5000, 2000, &p), -ENOENT);
	assert_string_equal(at(s, 2000, 999, 999), "many:many");
	state_free(s);
}

/* Numbers 1,024 apart and equal ones share a place among the tasks found lately. */
static void a_task_that_was_asked_for_is_not_taken_for_another(void **state)
{
	struct state *s = state_new(64 << 10);
	const struct state_task_at *p;

	(void)state;
	apply(s, &(struct step){ KIND_EXEC, 10, 9, 10, "first", 0 });
	assert_string_equal(at(s, 2000, 9, 10), "first:first");
	apply(s, &(struct step){ KIND_EXEC, 20, 9, 20, "second", 0 });
	apply(s, &(struct step){ KIND_EXEC, 30, 9 + 1024, 30, "third", 0 });
	for (int i = 0; i < 2; i++) {
		assert_string_equal(at(s, 2000, 9, 20), "second:second");
		assert_string_equal(at(s, 2000, 9, 10), "first:first");
		assert_string_equal(at(s, 2000, 9 + 1024, 30), "third:third");
	}
	assert_int_equal(state_task_process(s, 9, 30, 2000, &p), -ENOENT);
	for (uint32_t pid = 10; pid < 1000; pid++) {
		apply(s, &(struct step){ KIND_EXEC, 30 + pid, pid, pid, "many", 0 });
		assert_int_equal(state_task_process(s, pid, pid, 2000, &p), 0);
	}
	assert_int_equal(state_task_process(s, 9 + 1024, 30, 2000, &p), -ESTALE);
	assert_int_equal(state_task_process(s, 10, 10, 2000, &p), -ESTALE);
	state_free(s);
}

static struct state_socket_owner owner_at(struct state *s, uint64_t ts_ns, uint64_t cookie)
{
	struct state_socket_owner o = { 0 };

	assert_int_equal(state_socket_find(s, cookie, ts_ns, &o), cookie == 42 ? 0 : -ENOENT);
	return o;
}

static const char *file_of(struct state *s, uint16_t instance, uint64_t number)
{
	const void *data;
	uint32_t len;

	return state_file_find(s, instance, number, &data, &len) == 0 ? data : "";
}

static void file_numbers_belong_to_an_instance(void **state)
{
	struct state *s = state_new(0);

	(void)state;
	assert_string_equal(file_of(s, 0, 1), "");
	assert_int_equal(state_file_set(s, 0, 1, "/a", 3), 0);
	assert_int_equal(state_file_set(s, 3, 1, "/b", 3), 0);
	assert_string_equal(file_of(s, 0, 1), "/a");
	assert_string_equal(file_of(s, 3, 1), "/b");
	assert_int_equal(state_file_set(s, 0, 1, "/c", 3), 0);	/* a new epoch: the later record counts */
	assert_string_equal(file_of(s, 0, 1), "/c");
	state_free(s);
}

static void unused_files_make_room(void **state)
{
	struct state *s = state_new(1 << 20);
	struct state_stats st;
	const void *data;
	uint32_t len;

	(void)state;
	for (uint64_t number = 1; number <= 5000; number++) {
		assert_int_equal(state_file_set(s, 0, number, "/a", 3), 0);
		assert_string_equal(file_of(s, 0, 1), "/a");
	}
	state_stats(s, STATE_FILE, &st);
	assert_in_range(st.bytes, 1, (1 << 20) / 8);
	assert_int_equal(st.evicted, 5000 - st.entries);
	assert_string_equal(file_of(s, 0, 5000), "/a");
	assert_int_equal(state_file_find(s, 0, 3000, &data, &len), -ESTALE);
	assert_int_equal(state_file_find(s, 0, 6000, &data, &len), -ENOENT);
	state_free(s);
}

static void a_socket_belongs_to_who_used_it_last(void **state)
{
	struct state *s = state_new(0);

	(void)state;
	apply(s, &(struct step){ KIND_OWNER, 100, 7, 50, NULL, 42 });
	apply(s, &(struct step){ KIND_OWNER, 120, 8, 60, NULL, 42 });
	assert_int_equal(owner_at(s, 110, 42).tgid, 7);
	assert_int_equal(owner_at(s, 130, 42).tgid, 8);
	assert_true(owner_at(s, 130, 42).shared);
	assert_int_equal(owner_at(s, 130, 43).tgid, 0);
	state_free(s);
}

static void a_connection_belongs_to_who_accepts_it(void **state)
{
	struct state *s = state_new(0);

	(void)state;
	apply(s, &(struct step){ KIND_ACCEPT, 100, 7, 50, NULL, 42 });
	assert_int_equal(owner_at(s, 110, 42).tgid, 7);
	assert_int_equal(owner_at(s, 110, 42).how, STATE_OWNER_LISTENER);
	apply(s, &(struct step){ KIND_OWNER, 120, 8, 60, NULL, 42 });
	assert_int_equal(owner_at(s, 110, 42).tgid, 8);
	assert_int_equal(owner_at(s, 110, 42).how, STATE_OWNER_LATER);
	assert_int_equal(owner_at(s, 120, 42).how, STATE_OWNER_USER);
	assert_false(owner_at(s, 120, 42).shared);
	state_free(s);
}

/* ---- bytes ---- */

static struct state_range_answer bytes_at(struct state *s, uint32_t seq, uint32_t len)
{
	struct state_range_answer a = { .call = 99 };

	assert_int_equal(state_range_find(s, &(struct state_range){ .cookie = 42, .seq = seq, .len = len }, &a), 0);
	return a;
}

static void frame(struct state *s, uint32_t seq, uint32_t len, uint32_t stream)
{
	const struct state_range r = { .cookie = 42, .seq = seq, .len = len };

	assert_int_equal(state_range_add(s, &r, stream), 0);
}

static void bytes_belong_to_the_call_of_their_frame(void **state)
{
	const uint32_t base = UINT32_MAX - 120; /* sequence numbers wrap in the third frame */
	struct state *s = state_new(0);

	(void)state;
	frame(s, base, 50, 0);
	frame(s, base + 50, 50, 1);
	frame(s, base + 100, 50, 3);
	frame(s, base + 150, 50, 3);
	assert_false(bytes_at(s, base + 50, 50).whole); /* the request is not known yet */
	assert_int_equal(state_range_set_call(s, 42, 1, 7), 0);
	assert_int_equal(state_range_set_call(s, 42, 3, 8), 0);
	assert_int_equal(bytes_at(s, base + 50, 50).call, 7);
	assert_int_equal(bytes_at(s, base + 99, 1).call, 7);
	assert_int_equal(bytes_at(s, base + 100, 100).call, 8);
	assert_int_equal(bytes_at(s, base, 50).call, 0);
	assert_true(bytes_at(s, base, 50).whole);
	assert_int_equal(bytes_at(s, base, 51).call, 7);
	assert_true(bytes_at(s, base + 99, 2).several);
	assert_int_equal(bytes_at(s, base + 99, 2).call, 0);
	assert_false(bytes_at(s, base + 190, 20).whole); /* read later */
	assert_int_equal(bytes_at(s, base + 190, 20).call, 8);
	assert_true(bytes_at(s, base - 24, 60).whole);	 /* a preface */
	assert_false(bytes_at(s, base - 24, 24).whole);
	assert_false(state_range_has(s, 43));
	state_free(s);
}

static void a_socket_keeps_its_latest_frames(void **state)
{
	struct state *s = state_new(0);

	(void)state;
	for (uint32_t i = 0; i < 1000; i++) {
		frame(s, 10 * i, 10, 2 * i + 1);
		assert_int_equal(state_range_set_call(s, 42, 2 * i + 1, 5000 + i), 0);
	}
	assert_int_equal(bytes_at(s, 9990, 10).call, 5999);
	assert_int_equal(bytes_at(s, 10 * (1000 - 256), 10).call, 6000 - 256);
	assert_int_equal(bytes_at(s, 10 * (1000 - 257), 10).call, 0);
	assert_false(bytes_at(s, 10 * (1000 - 257), 10).whole);
	for (uint64_t cookie = 100; cookie < 100 + 1024; cookie++)
		assert_int_equal(state_range_set_call(s, cookie, 1, 1), 0);
	assert_false(state_range_has(s, 42));
	state_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_do_not_depend_on_the_order_of_facts),
		cmocka_unit_test(random_facts_commute),
		cmocka_unit_test(a_late_clone_does_not_undo_an_exec),
		cmocka_unit_test(a_child_inherits_an_image_that_is_known_late),
		cmocka_unit_test(an_inherited_image_becomes_the_childs_own),
		cmocka_unit_test(the_time_of_forgotten_changes_is_unknown),
		cmocka_unit_test(users_are_unsure_after_a_loss),
		cmocka_unit_test(a_lost_exec_shows_in_the_number_of_the_image),
		cmocka_unit_test(an_evicted_process_differs_from_an_unknown_one),
		cmocka_unit_test(a_task_that_was_asked_for_is_not_taken_for_another),
		cmocka_unit_test(file_numbers_belong_to_an_instance),
		cmocka_unit_test(unused_files_make_room),
		cmocka_unit_test(a_socket_belongs_to_who_used_it_last),
		cmocka_unit_test(a_connection_belongs_to_who_accepts_it),
		cmocka_unit_test(bytes_belong_to_the_call_of_their_frame),
		cmocka_unit_test(a_socket_keeps_its_latest_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
