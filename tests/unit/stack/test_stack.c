// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/vec.h"
#include "stack/functions.h"
#include "stack/stack.h"
#include "stack/top_rows.h"
#include "stack/tree.h"
#include "stack/view.h"

#include "tests/unit/profile_feed.h"

static void add(void *ctx, const struct event *ev)
{
	size_t i;
	int r = stack_set_put(ctx, ev, &i);

	assert_true(r == 0 || r == -ENOENT);
}

static struct stack_set *counted(struct sym *sym, const struct feed *f, size_t n, struct stack_set_opts o)
{
	struct stack_set *s;

	assert_int_equal(stack_set_new(sym, &o, &s), 0);
	feed_all(f, n, add, s);
	return s;
}

static uint64_t sum_counts(const struct stack_set *s)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < stack_set_len(s); i++)
		sum += stack_set_at(s, i)->count;
	return sum;
}

static void equal_stacks_are_one_entry(void **state)
{
	struct sym sym = { 0 };
	struct stack_set *s = counted(&sym, feed_profile, ARRAY_SIZE(feed_profile), (struct stack_set_opts){ 0 });
	const struct stack_entry *e = stack_set_at(s, 0);

	(void)state;
	assert_int_equal(stack_set_len(s), ARRAY_SIZE(feed_profile));
	assert_int_equal(sum_counts(s), 45);
	assert_int_equal(e->count, 3);
	assert_int_equal(e->value, 30000000);
	assert_int_equal(e->n_user, 3);
	assert_int_equal(e->user[0].addr, 0x1017);
	assert_int_equal(e->user_ips[0], FN(LIB, 1, 0x17));
	assert_int_equal(e->kern_ips[2], FN(KERN, 1, 0x76));
	assert_int_equal(sym.located, 24);	/* each different stack once */
	stack_set_free(s);
	arena_fini(&sym.names);
}

/* Every distinguishing property of a stack keeps it apart. */
static void different_ones_stay_apart(void **state)
{
	static const struct feed base = { .comm = "a", .tgid = 1, .times = 1, .end = SONDE_STACK_BOTTOM,
					  .user = { FN(APP, 1, 1), FN(APP, 2, 2) } };
	struct feed f[8];
	struct stack_set *s;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(f); i++)
		f[i] = base;
	f[1].comm = "b";
	f[2].tgid = 2;
	f[3].end = SONDE_STACK_FP;
	f[4].no_kern = true;
	f[5].user[1]++;
	f[6].user[1] = 0;
	f[7].kern[0] = f[7].user[0];
	s = counted(NULL, f, ARRAY_SIZE(f), (struct stack_set_opts){ 0 });
	assert_int_equal(stack_set_len(s), ARRAY_SIZE(f));
	stack_set_free(s);
}

static void threads_are_apart_only_when_asked(void **state)
{
	const struct feed f[] = { { .comm = "a", .tgid = 1, .tid = 1, .times = 2, .user = { 1 } },
				  { .comm = "a", .tgid = 1, .tid = 2, .times = 3, .user = { 1 } } };
	struct stack_set *one = counted(NULL, f, 2, (struct stack_set_opts){ 0 });
	struct stack_set *two = counted(NULL, f, 2, (struct stack_set_opts){ .by_thread = true });

	(void)state;
	assert_int_equal(stack_set_len(one), 1);
	assert_int_equal(stack_set_at(one, 0)->key.tid, 0);
	assert_int_equal(stack_set_len(two), 2);
	assert_int_equal(stack_set_at(two, 1)->key.tid, 2);
	stack_set_free(one);
	stack_set_free(two);
}

/* The file was mapped elsewhere meanwhile: other addresses, the same locations, the same entry. */
static void a_new_mapping_is_located_anew(void **state)
{
	const struct feed f = { .comm = "a", .tgid = 1, .times = 1, .user = { FN(APP, 1, 1) } };
	struct sym sym = { 0 };
	struct stack_set *s = counted(&sym, &f, 1, (struct stack_set_opts){ 0 });

	(void)state;
	feed_all(&f, 1, add, s);
	assert_int_equal(sym.located, 1);
	sym.generation++;
	feed_all(&f, 1, add, s);
	assert_int_equal(sym.located, 2);
	assert_int_equal(stack_set_len(s), 1);
	assert_int_equal(stack_set_at(s, 0)->count, 3);
	stack_set_free(s);
}

static void add_any(void *ctx, const struct event *ev)
{
	size_t i;
	int r = stack_set_put(ctx, ev, &i);

	assert_true(r == 0 || r == -ENOSPC);
}

/* Twenty thousand different stacks are all kept, with exact counts; those that do not fit are counted. */
static void nothing_is_lost_in_silence(void **state)
{
	const struct stack_set_opts opts[] = { { 0 }, { .budget_bytes = 1 << 20 }, { .max_entries = 100 } };

	(void)state;
	for (size_t o = 0; o < ARRAY_SIZE(opts); o++) {
		struct stack_set *s;

		assert_int_equal(stack_set_new(NULL, &opts[o], &s), 0);
		for (unsigned round = 0; round < 2; round++)
			for (uint64_t i = 0; i < 20000; i++) {
				struct feed f = { .comm = "a", .tgid = 1, .times = 1, .user = { 1 + i, 7, 8, 9 } };

				feed_all(&f, 1, add_any, s);
			}
		assert_int_equal(sum_counts(s) + stack_set_dropped(s), 40000);
		if (!o)
			assert_int_equal(stack_set_len(s), 20000);
		else
			assert_true(stack_set_len(s) < 20000 && stack_set_dropped(s) > 0);
		if (opts[o].max_entries)
			assert_int_equal(stack_set_len(s), 100);
		stack_set_clear(s);
		assert_int_equal(stack_set_len(s) + stack_set_dropped(s), 0);
		stack_set_free(s);
	}
}

/* ---- frames ---- */

static char *frames_text(struct stack_names *n, const struct stack_entry *e, const struct stack_view *v)
{
	struct stack_frames f = { 0 };
	struct buf b = { 0 };

	assert_int_equal(stack_names_all(n, e, v, &f), 0);
	for (size_t i = 0; i < f.len; i++)
		buf_printf(&b, "%s%s%s", i ? " < " : "", f.items[i].name, f.items[i].inlined ? "*" : "");
	buf_add_char(&b, '\0');
	vec_fini(&f);
	return b.data;
}

/* A handler runs on top of the interrupted frame, whose address is not a return address. */
static void a_signal_frame_is_seen_through(void **state)
{
	const struct feed f = { .comm = "a", .tgid = 1, .times = 1, .end = SONDE_STACK_BOTTOM,
				.user = { FN(APP, 4, 4), FN(APP, 9, 0), FN(APP, 3, 0), FN(APP, 1, 0x24) } };
	struct sym sym = { 0 };
	struct stack_set *s = counted(&sym, &f, 1, (struct stack_set_opts){ 0 });
	struct stack_names *n;
	char *text;

	(void)state;
	assert_int_equal(stack_names_new(s, &sym, &n), 0);
	text = frames_text(n, stack_set_at(s, 0), &(struct stack_view){ 0 });
	assert_string_equal(text, "f4 < __restore_rt < f3 < f1");
	free(text);
	stack_names_free(n);
	stack_set_free(s);
	arena_fini(&sym.names);
}

/* Locations that are interrupted in one stack and call in the next: queried in the batch that needs them. */
static void a_batch_does_not_read_its_own_answers(void **state)
{
	struct sym sym = { 0 };
	struct stack_names *n;
	struct stack_set *s;

	(void)state;
	assert_int_equal(stack_set_new(&sym, &(struct stack_set_opts){ 0 }, &s), 0);
	for (uint64_t i = 0; i < 2000; i++) {
		const struct feed f[] = {
			{ .comm = "a", .tgid = 1, .times = 1,
			  .user = { FN(APP, 4, 4), FN(APP, 9, 0), FN(APP, 10 + i, 8) } },
			{ .comm = "b", .tgid = 1, .times = 1,
			  .user = { FN(APP, 3, 4), FN(APP, 10 + i, 8), FN(APP, 1, 0x24) } },
		};

		feed_all(f, ARRAY_SIZE(f), add, s);
	}
	assert_int_equal(stack_names_new(s, &sym, &n), 0);
	stack_names_free(n);
	stack_set_free(s);
	arena_fini(&sym.names);
}

/*
 * A call that Go's handler injects returns to the interrupted instruction, which may be the first of its function.
 * The call stands behind a trampoline, as the first byte of its function too.
 */
static void a_signal_injects_a_call(void **state)
{
	const struct feed f = { .comm = "a",
				.tgid = 1,
				.times = 1,
				.end = SONDE_STACK_BOTTOM,
				.user = { FN(APP, 9, 0), FN(APP, 8, 0), FN(APP, 3, 0), FN(APP, 1, 0x24) } };
	struct sym sym = { 0 };
	struct stack_set *s = counted(&sym, &f, 1, (struct stack_set_opts){ 0 });
	struct stack_names *n;
	char *text;

	(void)state;
	assert_int_equal(stack_names_new(s, &sym, &n), 0);
	text = frames_text(n, stack_set_at(s, 0), &(struct stack_view){ 0 });
	assert_string_equal(text, "__restore_rt < runtime.asyncPreempt.abi0 < f3 < f1");
	free(text);
	stack_names_free(n);
	stack_set_free(s);
	arena_fini(&sym.names);
}

static void every_place_is_asked_for_once(void **state)
{
	struct sym sym = { 0 };
	struct stack_set *s = counted(&sym, feed_profile, ARRAY_SIZE(feed_profile), (struct stack_set_opts){ 0 });
	struct stack_names *n;
	char *text;

	(void)state;
	assert_int_equal(stack_names_new(s, &sym, &n), 0);
	assert_int_equal(sym.asked, 17);	/* of 24 frames; a return address counts apart from an address */
	assert_in_range(sym.batches, 1, 3);	/* each is a process that reads a file */
	text = frames_text(n, stack_set_at(s, 7), &(struct stack_view){ .user_only = true });
	assert_string_equal(text, "tiny* < f5 < f1");
	free(text);
	stack_names_free(n);
	stack_set_free(s);
	arena_fini(&sym.names);
}

static void each_end_of_a_stack_has_its_words(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < SONDE_STACK__MAX; i++)
		assert_int_equal(stack_end_reason(i) != NULL, i != SONDE_STACK_NONE && i != SONDE_STACK_BOTTOM);
	assert_non_null(stack_end_reason(200));
}

/* ---- the tree and the table ---- */

static void a_tree_adds_up(void **state)
{
	struct sym sym = { 0 };
	struct stack_set *s = counted(&sym, feed_profile, ARRAY_SIZE(feed_profile), (struct stack_set_opts){ 0 });
	const struct stack_view wall = { .weight = STACK_WALL };
	struct stack_tree *t;

	(void)state;
	assert_int_equal(stack_tree_new(&t), 0);
	assert_int_equal(stack_tree_add(t, s, &sym, &(struct stack_view){ 0 }, STACK_OLD, false), 0);
	assert_int_equal(stack_tree_add(t, s, &sym, &wall, STACK_NEW, false), 0);
	assert_int_equal(stack_tree_sort(t), 0);
	assert_int_equal(stack_tree_at(t, 0)->total[STACK_OLD], 45);
	assert_int_equal(stack_tree_at(t, 0)->total[STACK_NEW], 450000);
	for (uint32_t i = 0; i < stack_tree_len(t); i++) {
		const struct stack_node *n = stack_tree_at(t, i);
		uint64_t sum = n->self[STACK_OLD];
		const char *before = "";

		for (uint32_t c = n->child; c; c = stack_tree_at(t, c)->next) {
			sum += stack_tree_at(t, c)->total[STACK_OLD];
			assert_int_equal(stack_tree_at(t, c)->parent, i);
			assert_true(strcmp(before, stack_tree_at(t, c)->name) < 0);
			before = stack_tree_at(t, c)->name;
		}
		assert_int_equal(sum, n->total[STACK_OLD]);
	}
	stack_tree_free(t);
	stack_set_free(s);
	arena_fini(&sym.names);
}

static const struct top_row *row(const struct top_rows *rows, const char *name)
{
	for (size_t i = 0; i < rows->len; i++)
		if (!strcmp(rows->items[i].name, name))
			return &rows->items[i];
	return NULL;
}

static void functions_have_self_and_total(void **state)
{
	/* f1 calls itself: its total is not counted twice. */
	const struct feed f[] = {
		{ .comm = "a", .tgid = 1, .times = 4, .end = SONDE_STACK_BOTTOM,
		  .user = { FN(APP, 2, 1), FN(APP, 1, 9), FN(APP, 1, 9) } },
		{ .comm = "b", .tgid = 2, .times = 3, .end = SONDE_STACK_BOTTOM, .user = { FN(APP, 1, 1) } },
	};
	struct sym sym = { 0 };
	struct stack_set *s = counted(&sym, f, 2, (struct stack_set_opts){ 0 });
	const struct stack_view v = { 0 };
	struct top_rows rows = { 0 };

	(void)state;
	assert_int_equal(top_rows_fill(&rows, s, &sym, &v, TOP_FUNCTIONS, NULL, false), 0);
	assert_int_equal(rows.total, 7);
	assert_string_equal(rows.items[0].name, "f2");
	assert_int_equal(row(&rows, "f1")->self, 3);
	assert_int_equal(row(&rows, "f1")->total, 7);
	assert_int_equal(top_rows_fill(&rows, s, &sym, &v, TOP_FUNCTIONS, NULL, true), 0);
	assert_string_equal(rows.items[0].name, "f1");
	assert_int_equal(top_rows_fill(&rows, s, &sym, &v, TOP_PROCESSES, NULL, false), 0);
	assert_int_equal(rows.len, 2);
	assert_int_equal(row(&rows, "a")->total, 4);
	assert_int_equal(top_rows_fill(&rows, s, &sym, &v, TOP_CALLERS, "f2", false), 0);
	assert_int_equal(rows.len, 1);
	assert_int_equal(row(&rows, "f1")->total, 4);
	top_rows_fini(&rows);
	stack_set_free(s);
	arena_fini(&sym.names);
}

struct listing { struct event_functions *functions; char text[256]; };

static void list_one(void *ctx, const struct event *ev)
{
	struct listing *l = ctx;
	const char *names;
	size_t len, at = 0;

	l->text[0] = '\0';
	if (l->functions->list(l->functions, ev, &names, &len) < 0)
		return;
	for (size_t i = 0; i < len; i += strlen(names + i) + 1)
		at += (size_t)snprintf(l->text + at, sizeof(l->text) - at, "%s%s", i ? ";" : "", names + i);
}

/* The names of the frames that a profile shows; equal stacks are named once, those without a name again at times. */
static void functions_of_an_event_have_names(void **state)
{
	const struct feed whole = { .comm = "a", .tgid = 1, .times = 9, .end = SONDE_STACK_BOTTOM,
				    .kern = { FN(KERN, 2, 1) }, .user = { FN(LIB, 3, 1), FN(APP, 5, 9) } };
	const struct feed unknown = { .comm = "a", .tgid = 1, .times = 64, .end = SONDE_STACK_BOTTOM,
				      .user = { 0x17 } };
	const struct feed none = { .comm = "a", .tgid = 1, .times = 1, .no_user = true, .no_kern = true };
	struct sym sym = { 0 };
	struct stack_functions *f;
	struct listing l = { 0 };

	(void)state;
	assert_int_equal(stack_functions_new(&sym, &f), 0);
	l.functions = stack_functions_of(f);
	feed_all(&whole, 1, list_one, &l);
	assert_string_equal(l.text, "k2;lib3;tiny;f5");
	assert_int_equal(sym.asked, 3);
	feed_all(&unknown, 1, list_one, &l);
	assert_string_equal(l.text, "[unknown]");
	assert_in_range(sym.asked, 5, 20);
	feed_all(&none, 1, list_one, &l);
	assert_string_equal(l.text, "");
	assert_null(stack_functions_of(NULL));
	stack_functions_free(f);
	arena_fini(&sym.names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_stacks_are_one_entry),
		cmocka_unit_test(different_ones_stay_apart),
		cmocka_unit_test(threads_are_apart_only_when_asked),
		cmocka_unit_test(a_new_mapping_is_located_anew),
		cmocka_unit_test(nothing_is_lost_in_silence),
		cmocka_unit_test(a_signal_frame_is_seen_through),
		cmocka_unit_test(a_batch_does_not_read_its_own_answers),
		cmocka_unit_test(every_place_is_asked_for_once),
		cmocka_unit_test(a_signal_injects_a_call),
		cmocka_unit_test(each_end_of_a_stack_has_its_words),
		cmocka_unit_test(a_tree_adds_up),
		cmocka_unit_test(functions_have_self_and_total),
		cmocka_unit_test(functions_of_an_event_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
