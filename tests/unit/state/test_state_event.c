// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "container/container.h"
#include "event/event.h"
#include "event/names.h"
#include "sonde/ident_wire.h"
#include "sonde/wire.h"
#include "state/state.h"
#include "state/state_call.h"
#include "state/state_event.h"

#define TAIL "0123456789abcdef0123456789abcdef0123456789abcdef0123"
#define ID "0123456789ab" TAIL

/* Types of a probe that the engine has never seen; bodies begin with their fact. */
struct task_body { struct sec_task task; char exe[32]; };
static const struct event_desc task_desc = {
	.type = 0x7001, .name = "t.task", .class = EVENT_STATE, .body_size = sizeof(struct task_body),
};
static const struct event_desc rename_desc = {
	.type = 0x7005, .name = "t.rename", .class = EVENT_STATE, .body_size = sizeof(struct task_body),
};
static const struct event_desc exit_desc = {
	.type = 0x7002, .name = "t.exit", .class = EVENT_STATE, .body_size = sizeof(struct sec_state),
};
static const struct event_desc sock_desc = {
	.type = 0x7003, .name = "t.sock", .class = EVENT_STATE, .body_size = sizeof(struct sec_socket),
};
static const struct event_desc data_desc = { .type = 0x7004, .name = "t.data", .class = EVENT_DATA };

static struct state *engine;	/* of the test that runs */

static struct state *begin(size_t budget_bytes)
{
	engine = state_new(budget_bytes);
	assert_non_null(engine);
	return engine;
}

static void end(struct state *e)
{
	state_free(e);
}

static struct state_stats stats_of(enum state_table table)
{
	struct state_stats st;

	state_stats(engine, table, &st);
	return st;
}

static struct event make(const struct event_desc *d, uint64_t ts, uint32_t pid, uint64_t start, void *body)
{
	struct event ev = {
		.desc = d, .ts_ns = ts, .tgid = pid, .tid = pid, .start_ns = start, .body = body,
		.body_len = d->body_size,
	};
	struct sec_state *head = body;
	struct task_body *task = body;

	if (!body)
		return ev;
	head->kind = d == &task_desc ? SEC_STATE_EXEC : d == &rename_desc ? SEC_STATE_NAME :
		     d == &exit_desc ? SEC_STATE_EXIT : SEC_STATE_SOCKET;
	if (d == &task_desc) {
		head->text = offsetof(struct task_body, exe);
		task->task.exe.len = (uint32_t)strlen(task->exe);
	}
	event_add_section(&ev, SEC_STATE, body, d->body_size);
	return ev;
}

/* Executes /bin/@comm, or has executed it at the time of a snapshot. */
static void task(struct state *e, uint64_t ts, uint32_t pid, uint64_t start, const char *comm, unsigned flags)
{
	struct task_body b = { .task.ppid = 1 };
	struct event ev;

	snprintf(b.task.comm, sizeof(b.task.comm), "%s", comm);
	snprintf(b.exe, sizeof(b.exe), "/bin/%s", comm);
	ev = make(&task_desc, ts, pid, start, &b);
	ev.flags = (uint16_t)flags;
	assert_int_equal(state_event(e, &ev), 0);
}

static void forked(struct state *e, uint64_t ts, uint32_t pid, uint32_t maker, uint64_t maker_start,
		   const char *comm)
{
	struct task_body b = { .task = { .ppid = maker, .maker_tgid = maker, .maker_start_ns = maker_start } };
	struct event ev = make(&task_desc, ts, pid, ts, &b);

	snprintf(b.task.comm, sizeof(b.task.comm), "%s", comm);
	assert_int_equal(state_event(e, &ev), 0);
}

static void renamed(struct state *e, uint64_t ts, uint32_t pid, uint32_t tid, uint64_t start, const char *comm)
{
	struct task_body b = { 0 };
	struct event ev = make(&rename_desc, ts, pid, start, &b);

	ev.tid = tid;
	snprintf(b.task.comm, sizeof(b.task.comm), "%s", comm);
	assert_int_equal(state_event(e, &ev), 0);
}

static void gone(struct state *e, uint64_t ts, uint32_t pid, uint64_t start)
{
	struct sec_state b = { .flag = 1 };
	struct event ev = make(&exit_desc, ts, pid, start, &b);

	assert_int_equal(state_event(e, &ev), 0);
}

/* Name, and with @with_exe the program, of the process that @ev gets; "" = unknown. */
static const char *who(struct state *e, struct event *ev, bool with_exe)
{
	static char name[64];
	const struct section *sec;
	const struct sec_proc *p;
	const char *comm, *exe;
	size_t comm_len, exe_len;

	assert_int_equal(state_event(e, ev), 0);
	p = event_proc(ev);
	if (!p)
		return "";
	sec = event_section(ev, SEC_PROC);
	comm = event_sec_proc_str(p, sec, p->comm, &comm_len);
	exe = event_sec_proc_str(p, sec, p->exe, &exe_len);
	snprintf(name, sizeof(name), "%.*s%.*s", (int)comm_len, comm, with_exe ? (int)exe_len : 0, exe);
	return name;
}

static const char *name_at(struct state *e, uint64_t ts, uint32_t pid, uint64_t start)
{
	struct event ev = make(&data_desc, ts, pid, start, NULL);

	return who(e, &ev, false);
}

static const char *program_at(struct state *e, uint64_t ts, uint32_t pid, uint64_t start)
{
	struct event ev = make(&data_desc, ts, pid, start, NULL);

	return who(e, &ev, true);
}

static void a_reused_pid_is_another_process(void **state)
{
	struct state *e = begin(0);

	(void)state;
	task(e, 100, 7, 90, "first", 0);
	gone(e, 200, 7, 90);
	task(e, 300, 7, 250, "second", 0);
	assert_string_equal(name_at(e, 310, 7, 250), "second");
	assert_string_equal(name_at(e, 310, 7, 90), "first");	/* a late event of the first */
	assert_string_equal(name_at(e, 150, 7, 0), "first");
	assert_string_equal(name_at(e, 220, 7, 0), "");		/* no process had the pid then */
	assert_string_equal(name_at(e, 310, 7, 0), "second");
	assert_string_equal(name_at(e, 310, 8, 0), "");
	end(e);
}

static void a_snapshot_does_not_overwrite_what_was_told_live(void **state)
{
	struct state *e = begin(0);

	(void)state;
	task(e, 100, 7, 90, "live", 0);
	task(e, 101, 7, 90, "stale", SONDE_RF_SNAPSHOT);
	task(e, 101, 8, 80, "there", SONDE_RF_SNAPSHOT);
	assert_string_equal(name_at(e, 102, 7, 90), "live");
	assert_string_equal(name_at(e, 102, 8, 80), "there");
	end(e);
}

static void a_child_has_its_parents_program_until_it_runs_its_own(void **state)
{
	struct state *e = begin(0);

	(void)state;
	task(e, 100, 7, 90, "sh", 0);
	forked(e, 110, 9, 7, 90, "sh");
	assert_string_equal(program_at(e, 115, 9, 110), "sh/bin/sh");
	task(e, 120, 9, 110, "ls", 0);
	assert_string_equal(program_at(e, 125, 9, 110), "ls/bin/ls");
	assert_string_equal(program_at(e, 119, 9, 110), "sh/bin/sh");	/* an event that came late */
	assert_string_equal(program_at(e, 125, 7, 90), "sh/bin/sh");
	forked(e, 130, 10, 7, 90, "worker");		/* by a thread with a name of its own */
	assert_string_equal(program_at(e, 135, 10, 130), "worker/bin/sh");
	end(e);
}

static void a_chain_of_programs_is_known_at_every_time(void **state)
{
	struct state *e = begin(0);

	(void)state;
	forked(e, 100, 7, 1, 1, "sh");
	task(e, 110, 7, 100, "env", 0);
	task(e, 120, 7, 100, "bash", 0);
	task(e, 130, 7, 100, "ls", 0);
	assert_string_equal(name_at(e, 105, 7, 100), "sh");
	assert_string_equal(name_at(e, 111, 7, 100), "env");
	assert_string_equal(name_at(e, 121, 7, 100), "bash");
	assert_string_equal(name_at(e, 131, 7, 100), "ls");
	end(e);
}

/* The kernel numbers the programs of a process: a number that no record explains is another program. */
static void a_lost_exec_leaves_no_name(void **state)
{
	struct state *e = begin(0);
	struct task_body b = { .task.comm = "sh", .exe = "/bin/sh" };
	struct event ev = make(&task_desc, 100, 7, 90, &b);

	(void)state;
	ev.keys.image = 1001;
	assert_int_equal(state_event(e, &ev), 0);
	ev = make(&data_desc, 110, 7, 90, NULL);
	ev.keys.image = 1001;
	assert_string_equal(who(e, &ev, true), "sh/bin/sh");
	ev = make(&data_desc, 120, 7, 90, NULL);
	ev.keys.image = 1002;
	assert_string_equal(who(e, &ev, true), "");
	end(e);
}

/* The record of an exec is made when the program is ready to run; the kernel's work before is the program's too. */
static void a_program_begins_with_its_memory(void **state)
{
	struct state *e = begin(0);
	struct task_body b = { .task = { .comm = "ls", .image_ns = 110 }, .exe = "/bin/ls" };
	struct event ev = make(&task_desc, 120, 7, 90, &b);

	(void)state;
	task(e, 100, 7, 90, "sh", 0);
	assert_int_equal(state_event(e, &ev), 0);
	assert_string_equal(name_at(e, 109, 7, 90), "sh");
	assert_string_equal(name_at(e, 110, 7, 90), "ls");
	end(e);
}

static void a_threads_name_is_not_the_processs(void **state)
{
	struct state *e = begin(0);

	(void)state;
	task(e, 100, 7, 90, "main", 0);
	renamed(e, 110, 7, 8, 90, "thread");
	assert_string_equal(program_at(e, 111, 7, 90), "main/bin/main");
	renamed(e, 120, 7, 7, 90, "other");
	assert_string_equal(program_at(e, 121, 7, 90), "other/bin/main");
	assert_string_equal(program_at(e, 115, 7, 90), "main/bin/main");
	end(e);
}

/* The snapshot runs while events happen: the outcome is the same in either order. */
static void snapshot_and_events_merge_in_any_order(void **state)
{
	static const int orders[][3] = { { 0, 1, 2 }, { 1, 0, 2 }, { 1, 2, 0 } };	/* events keep theirs */

	(void)state;
	for (size_t order = 0; order < sizeof(orders) / sizeof(*orders); order++) {
		struct state *e = begin(0);

		for (int i = 0; i < 3; i++) {
			switch (orders[order][i]) {
			case 0: task(e, 100, 7, 90, "seen", SONDE_RF_SNAPSHOT); break;
			case 1: renamed(e, 110, 7, 7, 90, "named"); break;
			case 2: task(e, 120, 7, 90, "later", 0); break;
			}
		}
		assert_string_equal(program_at(e, 105, 7, 90), "seen/bin/seen");
		assert_string_equal(program_at(e, 115, 7, 90), "named/bin/seen");
		assert_string_equal(program_at(e, 125, 7, 90), "later/bin/later");
		assert_int_equal(stats_of(STATE_PROCESS).entries, 1);
		end(e);
	}
}

/* It executed another program before the iterator reached it: its earlier program is unknown. */
static void a_snapshot_says_nothing_of_the_time_before_an_exec(void **state)
{
	struct state *e = begin(0);

	(void)state;
	task(e, 110, 7, 90, "second", SONDE_RF_SNAPSHOT);
	task(e, 100, 7, 90, "second", 0);
	assert_string_equal(name_at(e, 95, 7, 90), "");
	assert_string_equal(name_at(e, 105, 7, 90), "second");
	end(e);
}

static void a_process_that_is_gone_stays_known_for_a_while(void **state)
{
	const uint64_t second = 1000000000;
	struct state *e = begin(0);

	(void)state;
	task(e, second, 7, second, "short", 0);
	gone(e, 2 * second, 7, second);
	task(e, 20 * second, 8, 20 * second, "other", 0);
	assert_string_equal(name_at(e, 3 * second, 7, second), "short");
	task(e, 70 * second, 9, 70 * second, "much later", 0);
	assert_string_equal(name_at(e, 3 * second, 7, second), "");
	assert_int_equal(stats_of(STATE_PROCESS).entries, 2);
	assert_int_equal(stats_of(STATE_PROCESS).evicted, 0);	/* of age, not for want of room */
	end(e);
}

/* One of another engine's processes becomes the fact of a snapshot at 1000. */
static int tell(void *ctx, const struct event *known)
{
	const struct sec_proc *p = event_proc(known);
	struct task_body b = { .task = { .ppid = p->ppid, .uid = p->uid, .ended = known->ts_ns != 0 } };
	struct event ev = make(&task_desc, 1000, known->tgid, known->start_ns, &b);
	const char *comm;
	size_t len;

	comm = event_sec_proc_str(p, event_section(known, SEC_PROC), p->comm, &len);
	memcpy(b.task.comm, comm, len);
	ev.flags = SONDE_RF_SNAPSHOT;
	assert_int_equal(state_event(ctx, &ev), 0);
	return 0;
}

static void what_one_engine_knows_can_be_told_to_another(void **state)
{
	struct state *first = begin(0), *e = begin(0);

	(void)state;
	task(first, 100, 7, 90, "reused", 0);
	gone(first, 200, 7, 90);
	task(first, 300, 7, 250, "alive", 0);
	task(first, 400, 8, 350, "ended", 0);
	gone(first, 500, 8, 350);
	assert_int_equal(state_event_known(first, NULL, 200, tell, e), 0);
	assert_string_equal(name_at(e, 1100, 8, 350), "ended");		/* a late event of it */
	assert_string_equal(name_at(e, 1100, 8, 0), "");		/* no process has the number */
	assert_string_equal(name_at(e, 1100, 7, 0), "alive");
	assert_string_equal(name_at(e, 1100, 7, 90), "");		/* it ended before that time */
	end(first);
	end(e);
}

static void a_socket_gives_its_process(void **state)
{
	struct state *e = begin(0);
	struct sec_socket open = { 0 };
	struct event ev = make(&sock_desc, 100, 7, 90, &open);

	(void)state;
	task(e, 90, 7, 90, "owner", 0);
	ev.keys.cookie = 42;
	assert_int_equal(state_event(e, &ev), 0);
	ev = make(&data_desc, 120, 0, 0, NULL);
	ev.keys.cookie = 42;
	assert_int_equal(state_event(e, &ev), 0);
	assert_int_equal(ev.tgid, 7);
	assert_int_equal(ev.start_ns, 90);
	assert_non_null(event_proc(&ev));
	end(e);
}

/* A packet from before accept() names the listener's owner and its program, until the engine knows the user. */
static void a_user_replaces_the_owner_of_the_listener(void **state)
{
	struct state *e = begin(0);
	struct sec_socket accepted = { .listener = 41 }, used = { 0 };
	struct task_body worker = { .task.comm = "worker", .exe = "/bin/server" };
	struct event ev = make(&task_desc, 85, 8, 80, &worker), packet = make(&data_desc, 110, 7, 90, NULL);

	(void)state;
	ev.keys.image = 1002;
	assert_int_equal(state_event(e, &ev), 0);
	ev = make(&sock_desc, 100, 7, 90, &accepted);
	ev.keys.cookie = packet.keys.cookie = 42;
	packet.keys.owner_how = SONDE_HOW_LISTENER;
	packet.keys.cgroup_id = 1;
	packet.keys.image = 1001;
	assert_int_equal(state_event(e, &ev), 0);
	assert_int_equal(state_event(e, &packet), 0);
	assert_int_equal(packet.tgid, 7);
	assert_int_equal(packet.keys.owner_how, SONDE_HOW_LISTENER);
	ev = make(&sock_desc, 120, 8, 80, &used);
	ev.keys.cookie = 42;
	assert_int_equal(state_event_learn(e, &ev), 0);
	assert_int_equal(state_event(e, &packet), 0);
	assert_int_equal(packet.tgid, 8);
	assert_int_equal(packet.start_ns, 80);
	assert_int_equal(packet.keys.owner_how, SONDE_HOW_LATE);
	assert_int_equal(packet.keys.cgroup_id, 0);	/* not that of the listener's owner */
	assert_int_equal(packet.keys.image, 1002);
	assert_non_null(event_section(&packet, SEC_PROC));
	end(e);
}

/* A server forks after it accepted: first data is older than the child that it belongs to. */
static void a_user_younger_than_the_packet_has_the_name_of_its_birth(void **state)
{
	struct state *e = begin(0);
	struct sec_socket accepted = { .listener = 41 }, used = { 0 };
	struct event ev, packet = make(&data_desc, 110, 7, 90, NULL);

	(void)state;
	task(e, 90, 7, 90, "server", 0);
	ev = make(&sock_desc, 100, 7, 90, &accepted);
	ev.keys.cookie = packet.keys.cookie = 42;
	packet.keys.owner_how = SONDE_HOW_LISTENER;
	assert_int_equal(state_event(e, &ev), 0);
	forked(e, 130, 8, 7, 90, "server");
	task(e, 135, 8, 130, "session", 0);
	ev = make(&sock_desc, 140, 8, 130, &used);
	ev.keys.cookie = 42;
	assert_int_equal(state_event_learn(e, &ev), 0);
	assert_string_equal(who(e, &packet, true), "server/bin/server");
	assert_int_equal(packet.tgid, 8);
	assert_int_equal(packet.keys.owner_how, SONDE_HOW_LATE);
	end(e);
}

static void sock(struct state *e, uint64_t cookie, bool closed)
{
	struct sec_socket body = { .head.flag = closed };
	struct event ev = make(&sock_desc, 100, 7, 90, &body);

	ev.keys.cookie = cookie;
	assert_int_equal(state_event(e, &ev), 0);
}

static struct event of_socket(struct state *e, uint64_t cookie)
{
	struct event ev = make(&data_desc, 120, 0, 0, NULL);

	ev.keys.cookie = cookie;
	assert_int_equal(state_event(e, &ev), 0);
	return ev;
}

static uint32_t owner(struct state *e, uint64_t cookie)
{
	return of_socket(e, cookie).tgid;
}

/* Closed sockets are found for a while and evicted first; evicted open ones are counted. */
static void sockets_stay_within_the_budget(void **state)
{
	struct state *e = begin(64 << 10);	/* 128 sockets */

	(void)state;
	task(e, 90, 7, 90, "owner", 0);
	for (uint64_t cookie = 1; cookie <= 1000; cookie++) {
		sock(e, cookie, false);
		if (cookie > 100)
			sock(e, cookie, true);
	}
	assert_in_range(stats_of(STATE_SOCKET).entries, 100, 128);
	assert_int_equal(stats_of(STATE_SOCKET).evicted, 0);
	assert_int_equal(owner(e, 1), 7);
	assert_int_equal(owner(e, 1000), 7);
	assert_int_equal(owner(e, 500), 0);
	for (uint64_t cookie = 2001; cookie <= 2200; cookie++)
		sock(e, cookie, false);
	assert_int_equal(stats_of(STATE_SOCKET).entries, 128);
	assert_int_equal(stats_of(STATE_SOCKET).evicted, 300 - 128);
	assert_int_equal(owner(e, 2200), 7);
	assert_int_equal(of_socket(e, 2001).tgid, 0);
	assert_int_equal(of_socket(e, 2001).keys.owner_how, SONDE_HOW_EVICTED);
	assert_int_equal(of_socket(e, 3000).keys.owner_how, SONDE_HOW_UNKNOWN);	/* never seen */
	end(e);
}

/* Thousands of processes in a small budget: memory stays bounded, evictions are counted, exited ones go first. */
static void the_budget_holds(void **state)
{
	struct state *e = begin(64 << 10);

	(void)state;
	task(e, 1, 1, 1, "init", 0);
	for (uint32_t i = 2; i < 5000; i++) {
		task(e, i, i, i, "short", 0);
		gone(e, i, i, i);
		assert_string_equal(name_at(e, i, 1, 1), "init");
	}
	assert_true(stats_of(STATE_PROCESS).entries < 400);
	assert_true(stats_of(STATE_PROCESS).evicted > 4000);
	end(e);
}

static void cgroups_name_containers(void **state)
{
	static const struct { const char *path, *id; } cases[] = {
		{ "/system.slice/docker-" ID ".scope", ID },
		{ "/docker/" ID, ID },
		{ "/docker/" ID "/init.scope", ID },
		{ "/docker/" ID "/docker/ba9876543210" TAIL, "ba9876543210" TAIL },
		{ "/kubepods.slice/kubepods-pod1.slice/cri-containerd-" ID ".scope", ID },
		{ "/system.slice/containerd.service/kubepods-pod1.slice:cri-containerd:" ID, ID },
		{ "/kubepods/burstable/pod1/" ID, ID },
		{ "/machine.slice/libpod-" ID ".scope/container", ID },
		{ "/machine.slice/libpod-conmon-" ID ".scope", NULL },
		{ "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope", ID },
		{ "/kubepods.slice/crio-" ID ".scope", ID },
		{ "/kubepods.slice/crio-conmon-" ID ".scope", NULL },
		{ "/lxc.payload.web1/system.slice", "web1" },
		{ "/lxc/web2", "web2" },
		{ "/machine.slice/systemd-nspawn@web3.service/payload", "web3" },
		{ "/system.slice/ssh.service", NULL },
		{ "/user.slice/user-0.slice/session-1.scope", NULL },
		{ "/docker/" ID "0", NULL },
		{ "/docker/G123456789abcdef" TAIL, NULL },
		{ "/", NULL },
		{ "", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char id[CONTAINER_ID_MAX];
		bool found = container_from_cgroup(cases[i].path, id);

		if (found && cases[i].id)
			assert_string_equal(id, cases[i].id);
		else if (found != !!cases[i].id)
			fail_msg("%s: %s", cases[i].path, found ? id : "not found");
	}
}

/* The container comes with the cgroup's name, which may come after the process. */
static void a_process_gets_its_container(void **state)
{
	struct state *e = begin(0);
	struct names *names = event_names_new();
	struct task_body b = { .task = { .comm = "nginx", .vpid = 3 }, .exe = "/usr/sbin/nginx" };
	struct event ev = make(&task_desc, 100, 7, 90, &b);
	const struct sec_proc *p;
	size_t len;

	(void)state;
	ev.keys.cgroup_id = 77;
	assert_int_equal(state_event(e, &ev), 0);
	assert_int_equal(event_proc(&ev)->container.len, 0);
	event_names_set(names, SONDE_NAME_CGROUP, 77, "/docker/" ID, strlen("/docker/" ID));
	ev = make(&data_desc, 110, 7, 90, NULL);
	ev.names = names;
	assert_int_equal(state_event(e, &ev), 0);
	p = event_proc(&ev);
	assert_memory_equal(event_sec_proc_str(p, event_section(&ev, SEC_PROC), p->container, &len), ID, 64);
	assert_int_equal(len, 64);
	assert_int_equal(p->vpid, 3);
	assert_int_equal(ev.keys.cgroup_id, 77);
	event_names_free(names);
	end(e);
}

/* ---- calls ---- */

static void calls_by_number(void **state)
{
	struct state *c = begin(0);
	const struct sec_call *s;
	uint32_t len = 0;

	(void)state;
	assert_null(state_call_find(c, 7, &len));
	assert_int_equal(state_call_learn(c, 7, "a.B/C", 5, "/a.B/C", 6), 0);
	assert_int_equal(state_call_learn(c, 7, "other", 5, "", 0), 0);	/* a number has one call */
	s = state_call_find(c, 7, &len);
	assert_int_equal(len, sizeof(*s) + 11);
	assert_memory_equal(s + 1, "a.B/C/a.B/C", 11);
	assert_int_equal(s->path.off, 5);
	assert_int_equal(s->path.len, 6);
	for (uint64_t i = 8; i < 8 + 3 * 16384; i++)	/* older ones are forgotten, the last are not */
		assert_int_equal(state_call_learn(c, i, "x", 1, NULL, 0), 0);
	assert_null(state_call_find(c, 7, &len));
	assert_non_null(state_call_find(c, 8 + 2 * 16384, &len));
	end(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_by_number),
		cmocka_unit_test(a_reused_pid_is_another_process),
		cmocka_unit_test(a_snapshot_does_not_overwrite_what_was_told_live),
		cmocka_unit_test(a_child_has_its_parents_program_until_it_runs_its_own),
		cmocka_unit_test(a_chain_of_programs_is_known_at_every_time),
		cmocka_unit_test(a_lost_exec_leaves_no_name),
		cmocka_unit_test(a_program_begins_with_its_memory),
		cmocka_unit_test(a_threads_name_is_not_the_processs),
		cmocka_unit_test(snapshot_and_events_merge_in_any_order),
		cmocka_unit_test(a_snapshot_says_nothing_of_the_time_before_an_exec),
		cmocka_unit_test(a_process_that_is_gone_stays_known_for_a_while),
		cmocka_unit_test(what_one_engine_knows_can_be_told_to_another),
		cmocka_unit_test(a_socket_gives_its_process),
		cmocka_unit_test(a_user_replaces_the_owner_of_the_listener),
		cmocka_unit_test(a_user_younger_than_the_packet_has_the_name_of_its_birth),
		cmocka_unit_test(sockets_stay_within_the_budget),
		cmocka_unit_test(a_process_gets_its_container),
		cmocka_unit_test(the_budget_holds),
		cmocka_unit_test(cgroups_name_containers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
