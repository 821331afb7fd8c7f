// SPDX-License-Identifier: GPL-2.0-or-later
/* Records wait for the fact that completes them, no longer than HOLD_NS, and stay in order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdbool.h>
#include <string.h>

#include "pipeline/pipeline_hold.h"
#include "sonde/ident_wire.h"
#include "sonde/wire.h"
#include "state/state.h"
#include "state/state_socket.h"
#include "state/state_task.h"

#define CONNECTION 42

struct ident_rec {
	struct sonde_rec hdr;
	struct sonde_ident id;
};

static struct ident_rec record(uint64_t ts_ns)
{
	return (struct ident_rec){
		.hdr = { .ts_ns = ts_ns, .len = sizeof(struct ident_rec), .type = SONDE_EV(3, 1), .instance = 1,
			 .flags = SONDE_RF_IDENT, .tgid = 7, .start_ns = 50 },
	};
}

static struct ident_rec packet(uint64_t ts_ns)
{
	struct ident_rec r = record(ts_ns);

	r.id.sock = CONNECTION;
	r.id.owner_how = SONDE_HOW_LISTENER;
	return r;
}

static struct ident_rec call(uint64_t ts_ns, uint64_t image)
{
	struct ident_rec r = record(ts_ns);

	r.id.image = image;
	return r;
}

static void owner(struct state *s, uint64_t ts_ns, uint32_t tgid, bool listener)
{
	const struct state_socket_fact f = {
		.ts_ns = ts_ns, .cookie = CONNECTION, .tgid = tgid, .start_ns = 50, .listener = listener,
	};

	assert_int_equal(state_socket_apply(s, &f), 0);
}

static void exec(struct state *s, uint64_t ts_ns, uint64_t image)
{
	const struct state_task_fact f = {
		.ts_ns = ts_ns, .tgid = 7, .tid = 7, .start_ns = 50, .image = image, .comm = "a", .comm_len = 1,
		.exe = "/a", .exe_len = 2,
	};

	assert_int_equal(state_task_apply(s, &f), 0);
}

static uint64_t next(struct pipeline_hold *h, struct state *s, uint64_t now_ns)
{
	struct held held;

	return pipeline_hold_next(h, s, now_ns, &held) ? held.rec->ts_ns : 0;
}

static void a_packet_waits_for_the_user_of_its_connection(void **state)
{
	struct state *s = state_new(0);
	struct pipeline_hold h = { 0 };
	struct ident_rec first = packet(1000), second = record(1010);

	(void)state;
	owner(s, 990, 7, true);
	assert_false(pipeline_hold_needed(&h, s, &second.hdr));
	assert_true(pipeline_hold_needed(&h, s, &first.hdr));
	assert_int_equal(pipeline_hold_add(&h, s, &first.hdr, false), 0);
	assert_true(pipeline_hold_needed(&h, s, &second.hdr));
	assert_int_equal(pipeline_hold_add(&h, s, &second.hdr, false), 0);
	assert_int_equal(next(&h, s, 1010), 0);
	owner(s, 1020, 8, false);
	assert_int_equal(next(&h, s, 1020), 1000);
	assert_int_equal(next(&h, s, 1020), 1010);
	assert_true(pipeline_hold_is_empty(&h));
	assert_false(pipeline_hold_needed(&h, s, &first.hdr));
	pipeline_hold_fini(&h);
	state_free(s);
}

static void a_wait_in_vain_ends(void **state)
{
	struct state *s = state_new(0);
	struct pipeline_hold h = { 0 };
	struct ident_rec first = packet(1000);

	(void)state;
	owner(s, 990, 7, true);
	assert_int_equal(pipeline_hold_add(&h, s, &first.hdr, false), 0);
	assert_false(pipeline_hold_is_late(&h, 1000 + HOLD_NS));
	assert_int_equal(next(&h, s, 1000 + HOLD_NS), 0);
	assert_true(pipeline_hold_is_late(&h, 1001 + HOLD_NS));
	assert_int_equal(next(&h, s, 1001 + HOLD_NS), 1000);
	pipeline_hold_fini(&h);
	state_free(s);
}

/* Without the hooks that tell users, no record would ever complete a packet: the stream must not crawl. */
static void waits_that_are_always_in_vain_become_rare(void **state)
{
	struct state *s = state_new(0);
	struct pipeline_hold h = { 0 };
	struct ident_rec r = packet(1000);
	unsigned held = 0;

	(void)state;
	owner(s, 990, 7, true);
	for (unsigned i = 0; i < 1000; i++) {
		if (!pipeline_hold_needed(&h, s, &r.hdr))
			continue;
		held++;
		assert_int_equal(pipeline_hold_add(&h, s, &r.hdr, false), 0);
		assert_int_equal(next(&h, s, UINT64_MAX), 1000);
	}
	assert_in_range(held, 64, 100);
	pipeline_hold_fini(&h);
	state_free(s);
}

static void an_event_within_an_exec_waits_for_its_record(void **state)
{
	struct state *s = state_new(0);
	struct pipeline_hold h = { 0 };
	struct ident_rec before = call(1000, 1), within = call(1010, 2);

	(void)state;
	exec(s, 900, 1);
	assert_false(pipeline_hold_needed(&h, s, &before.hdr));
	assert_true(pipeline_hold_needed(&h, s, &within.hdr));
	assert_int_equal(pipeline_hold_add(&h, s, &within.hdr, true), 0);
	assert_int_equal(next(&h, s, 1010), 0);
	exec(s, 1005, 2);
	assert_int_equal(next(&h, s, 1020), 1010);
	assert_false(pipeline_hold_needed(&h, s, &within.hdr));
	pipeline_hold_fini(&h);
	state_free(s);
}

static uint64_t name(struct pipeline_hold *h, uint32_t space, uint64_t cgroup_id, const char *text)
{
	_Alignas(8) char bytes[256] = { 0 };
	struct sonde_name_rec *n = (void *)bytes;

	n->space = space;
	n->key = cgroup_id;
	n->name_len = (uint32_t)strlen(text);
	memcpy(n->name, text, n->name_len);
	n->hdr = (struct sonde_rec){ .type = SONDE_EV_NAME, .len = (uint32_t)sizeof(*n) + n->name_len };
	return pipeline_hold_learn(h, &n->hdr);
}

#define DOCKER "/docker/0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void an_event_of_a_new_container_waits_for_its_name(void **state)
{
	struct state *s = state_new(0);
	struct pipeline_hold h = { 0 };
	struct ident_rec of_7 = record(1000), of_8 = record(1010);

	(void)state;
	of_7.id.cgroup_id = 7;
	of_8.id.cgroup_id = 8;
	assert_false(name(&h, SONDE_NAME_CGROUP, 6, "/user.slice"));
	assert_false(name(&h, SONDE_NAME_CGROUP, 7, DOCKER));
	assert_false(name(&h, SONDE_NAME_CGROUP, 8, DOCKER));
	assert_true(pipeline_hold_needed(&h, s, &of_7.hdr));
	assert_int_equal(pipeline_hold_add(&h, s, &of_7.hdr, false), 0);
	assert_int_equal(pipeline_hold_add(&h, s, &of_8.hdr, false), 0);
	assert_true(name(&h, SONDE_NAME_POD, 7, "pod"));
	assert_int_equal(next(&h, s, 1000 + HOLD_NAMES_NS), 0);
	assert_true(name(&h, SONDE_NAME_CONTAINER, 7, "web"));
	assert_int_equal(next(&h, s, 1020), 1000);
	assert_false(pipeline_hold_is_late(&h, 1010 + HOLD_NAMES_NS));
	assert_int_equal(next(&h, s, 1010 + HOLD_NAMES_NS), 0);
	assert_true(pipeline_hold_is_late(&h, 1011 + HOLD_NAMES_NS));
	assert_int_equal(next(&h, s, 1011 + HOLD_NAMES_NS), 1010);
	assert_false(pipeline_hold_needed(&h, s, &of_7.hdr)); /* a wait in vain is the only one */
	assert_false(pipeline_hold_needed(&h, s, &of_8.hdr));
	pipeline_hold_fini(&h);
	state_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_packet_waits_for_the_user_of_its_connection),
		cmocka_unit_test(a_wait_in_vain_ends),
		cmocka_unit_test(waits_that_are_always_in_vain_become_rare),
		cmocka_unit_test(an_event_within_an_exec_waits_for_its_record),
		cmocka_unit_test(an_event_of_a_new_container_waits_for_its_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
