// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "enrich/container.h"
#include "enrich/enrich.h"
#include "enrich/proc_table.h"
#include "event/event.h"
#include "event/names.h"
#include "sonde/wire.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* Types of a probe that enrich has never heard of, with the words it knows. */
struct task_body { uint32_t ppid, maker; uint64_t maker_start; char comm[16], exe[32]; };
static const struct field task_fields[] = {
	FIELD_ROW(struct task_body, comm, "task.comm", FIELD_STR, "name"),
	FIELD_ROW(struct task_body, exe, "task.exe", FIELD_STR, "program", .flags = FIELD_OPTIONAL),
	FIELD_ROW(struct task_body, ppid, "task.ppid", FIELD_UINT, "parent"),
	FIELD_ROW(struct task_body, maker, "task.maker", FIELD_UINT, "who forked"),
	FIELD_ROW(struct task_body, maker_start, "task.maker_start", FIELD_NS, "its start"),
};
static const struct event_desc task_desc = {
	.type = 0x7001, .name = "t.task", .class = EVENT_STATE, .fields = task_fields, .n_fields = 5,
	.body_size = sizeof(struct task_body),
};
struct exit_body { uint8_t last; };
static const struct field exit_fields[] = { FIELD_ROW(struct exit_body, last, "exit.last", FIELD_BOOL, "gone") };
static const struct event_desc exit_desc = {
	.type = 0x7002, .name = "t.exit", .class = EVENT_STATE, .fields = exit_fields, .n_fields = 1,
	.body_size = sizeof(struct exit_body),
};
struct sock_body { uint8_t closed; };
static const struct field sock_fields[] = { FIELD_ROW(struct sock_body, closed, "sock.closed", FIELD_BOOL, "gone") };
static const struct event_desc sock_desc = {
	.type = 0x7003, .name = "t.sock", .class = EVENT_STATE, .fields = sock_fields, .n_fields = 1,
	.body_size = sizeof(struct sock_body),
};
static const struct event_desc data_desc = { .type = 0x7004, .name = "t.data", .class = EVENT_DATA };

static struct event make(const struct event_desc *d, uint64_t ts, uint32_t pid, uint64_t start, const void *body)
{
	return (struct event){
		.desc = d, .ts_ns = ts, .tgid = pid, .tid = pid, .start_ns = start, .body = body, .body_len = d->body_size,
	};
}

static void task(struct enrich *e, uint64_t ts, uint32_t pid, uint64_t start, const char *comm, unsigned flags)
{
	struct task_body b = { .ppid = 1 };
	struct event ev = make(&task_desc, ts, pid, start, &b);

	snprintf(b.comm, sizeof(b.comm), "%s", comm);
	ev.flags = (uint16_t)flags;
	assert_int_equal(enrich_event(e, &ev, NULL), 0);
}

static void gone(struct enrich *e, uint64_t ts, uint32_t pid, uint64_t start)
{
	struct exit_body b = { .last = 1 };
	struct event ev = make(&exit_desc, ts, pid, start, &b);

	assert_int_equal(enrich_event(e, &ev, NULL), 0);
}

/* The name that an event of (pid, start) at @ts gets; "" when its process is not known. */
static const char *name_at(struct enrich *e, uint64_t ts, uint32_t pid, uint64_t start)
{
	static char name[32];
	struct event ev = make(&data_desc, ts, pid, start, NULL);
	const struct sec_proc *p;
	const char *s;
	size_t len;

	assert_int_equal(enrich_event(e, &ev, NULL), 0);
	p = event_proc(&ev);
	if (!p)
		return "";
	s = sec_proc_str(p, event_section(&ev, SEC_PROC), p->comm, &len);
	snprintf(name, sizeof(name), "%.*s", (int)len, s);
	return name;
}

static void a_reused_pid_is_another_process(void **state)
{
	struct enrich *e = enrich_new(0);

	(void)state;
	task(e, 100, 7, 90, "first", 0);
	gone(e, 200, 7, 90);
	task(e, 300, 7, 250, "second", 0);
	assert_string_equal(name_at(e, 310, 7, 250), "second");
	assert_string_equal(name_at(e, 310, 7, 90), "first");	/* a late event of the first */
	assert_string_equal(name_at(e, 150, 7, 0), "first");
	assert_string_equal(name_at(e, 220, 7, 0), "");		/* nobody had the pid then */
	assert_string_equal(name_at(e, 310, 7, 0), "second");
	assert_string_equal(name_at(e, 310, 8, 0), "");
	enrich_free(e);
}

static void a_snapshot_does_not_overwrite_what_was_told_live(void **state)
{
	struct enrich *e = enrich_new(0);

	(void)state;
	task(e, 100, 7, 90, "live", 0);
	task(e, 101, 7, 90, "stale", SONDE_RF_SNAPSHOT);
	task(e, 101, 8, 80, "there", SONDE_RF_SNAPSHOT);
	assert_string_equal(name_at(e, 102, 7, 90), "live");
	assert_string_equal(name_at(e, 102, 8, 80), "there");
	enrich_free(e);
}

static void a_child_has_its_parents_program_until_it_runs_its_own(void **state)
{
	struct enrich *e = enrich_new(0);
	struct task_body b = { .maker = 7, .maker_start = 90, .comm = "child" };
	struct task_body parent = { .comm = "sh", .exe = "/bin/sh" };
	struct event ev = make(&task_desc, 100, 7, 90, &parent);
	const struct sec_proc *p;
	size_t len;

	(void)state;
	assert_int_equal(enrich_event(e, &ev, NULL), 0);
	ev = make(&task_desc, 110, 9, 110, &b);
	assert_int_equal(enrich_event(e, &ev, NULL), 0);
	ev = make(&data_desc, 120, 9, 110, NULL);
	assert_int_equal(enrich_event(e, &ev, NULL), 0);
	p = event_proc(&ev);
	assert_non_null(p);
	assert_memory_equal(sec_proc_str(p, event_section(&ev, SEC_PROC), p->exe, &len), "/bin/sh", 7);
	assert_int_equal(len, 7);
	enrich_free(e);
}

static void a_socket_gives_its_process(void **state)
{
	struct enrich *e = enrich_new(0);
	struct sock_body open = { 0 };
	struct event ev = make(&sock_desc, 100, 7, 90, &open);

	(void)state;
	task(e, 90, 7, 90, "owner", 0);
	ev.keys.cookie = 42;
	assert_int_equal(enrich_event(e, &ev, NULL), 0);
	ev = make(&data_desc, 120, 0, 0, NULL);
	ev.keys.cookie = 42;
	assert_int_equal(enrich_event(e, &ev, NULL), 0);
	assert_int_equal(ev.tgid, 7);
	assert_int_equal(ev.start_ns, 90);
	assert_non_null(event_proc(&ev));
	enrich_free(e);
}

/* Thousands of processes in a small budget: memory stays bounded, evictions are counted, ended ones go first. */
static void the_budget_holds(void **state)
{
	struct enrich *e = enrich_new(64 << 10);
	struct enrich_stats st;

	(void)state;
	task(e, 1, 1, 1, "init", 0);
	for (uint32_t i = 2; i < 5000; i++) {
		task(e, i, i, i, "short", 0);
		gone(e, i, i, i);
		assert_string_equal(name_at(e, i, 1, 1), "init");
	}
	enrich_stats(e, &st);
	assert_true(st.processes < 400);
	assert_true(st.evicted > 4000);
	enrich_free(e);
}

static void cgroups_name_containers(void **state)
{
	static const struct { const char *path; size_t len; } cases[] = {
		{ "/system.slice/docker-" ID ".scope", 64 },
		{ "/docker/" ID, 64 },
		{ "/docker/" ID "/init.scope", 64 },
		{ "/kubepods.slice/kubepods-pod1.slice/cri-containerd-" ID ".scope", 64 },
		{ "/kubepods/burstable/pod1/" ID, 64 },
		{ "/machine.slice/libpod-" ID ".scope/container", 64 },
		{ "/kubepods.slice/crio-" ID ".scope", 64 },
		{ "/lxc.payload.web1/system.slice", 4 },
		{ "/system.slice/ssh.service", 0 },
		{ "/user.slice/user-0.slice/session-1.scope", 0 },
		{ "/docker/" ID "0", 0 },
		{ "", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *id = NULL;

		assert_int_equal(container_id(cases[i].path, &id), cases[i].len);
		if (cases[i].len == 64)
			assert_memory_equal(id, ID, 64);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reused_pid_is_another_process),
		cmocka_unit_test(a_snapshot_does_not_overwrite_what_was_told_live),
		cmocka_unit_test(a_child_has_its_parents_program_until_it_runs_its_own),
		cmocka_unit_test(a_socket_gives_its_process),
		cmocka_unit_test(the_budget_holds),
		cmocka_unit_test(cgroups_name_containers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
