// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Cost of the state engine: a question about a known process against a look-up in a map of the same size, a fact
 * against a copy of its texts in such a map, memory at 100,000 processes and sockets.
 */
#include <malloc.h>
#include <stdbool.h>
#include <string.h>

#include "base/macros.h"
#include "base/map.h"
#include "state/state.h"
#include "state/state_socket.h"
#include "state/state_task.h"
#include "tests/bench/programs/bench.h"

#define ROUNDS 15
#define KNOWN 1000u	/* processes of the questions */
#define QUESTIONS 400000u
#define FACTS 200000u
#define MANY 100000u	/* processes and sockets of the memory figure */
#define BUDGET_MIB 64
#define START_NS 1000u

static const char exe[] = "/usr/lib/postgresql/15/bin/postgres";
static const char args[] = "postgres: 15/main: walwriter";

static void apply(struct state *s, uint32_t pid, uint64_t ts_ns)
{
	const struct state_task_fact f = {
		.ts_ns = ts_ns, .tgid = pid, .tid = pid, .start_ns = START_NS, .has_ids = true, .has_ppid = true,
		.ppid = 1, .cgroup_id = 77, .comm = "postgres", .comm_len = 8, .exe = exe,
		.exe_len = sizeof(exe) - 1, .args = args, .args_len = sizeof(args) - 1,
	};

	if (state_task_apply(s, &f) < 0)
		bench_die("out of memory");
}

static uint32_t pid_of(uint32_t i)
{
	return 1 + i * 2654435761u % KNOWN;
}

/* ns per question. */
static double questions(struct state *s)
{
	uint64_t begin_ns = bench_cpu_ns();
	const struct state_task_at *p;

	for (uint32_t i = 0; i < QUESTIONS; i++)
		if (state_task_process(s, pid_of(i), START_NS, NS_PER_S + i, &p) < 0 || p->cgroup_id != 77)
			bench_die("a process is unknown");
	return (double)(bench_cpu_ns() - begin_ns) / QUESTIONS;
}

static double look_ups(const struct map *m)
{
	uint64_t begin_ns = bench_cpu_ns();

	for (uint32_t i = 0; i < QUESTIONS; i++) {
		uint32_t pid = pid_of(i), **found = map_find(m, &pid);

		if (!found || **found != pid)
			bench_die("a key is unknown");
	}
	return (double)(bench_cpu_ns() - begin_ns) / QUESTIONS;
}

static void compare_questions(void)
{
	struct state *s = state_new(0);
	double asked[ROUNDS], looked[ROUNDS];
	struct map m;

	map_init(&m, sizeof(uint32_t), sizeof(uint32_t *));
	for (uint32_t pid = 1; pid <= KNOWN; pid++) {
		uint32_t *own = malloc(sizeof(*own));

		apply(s, pid, NS_PER_S / 2);
		*own = pid;
		*(uint32_t **)map_add(&m, &pid, NULL) = own;
	}
	questions(s); /* builds the answers */
	for (int i = 0; i < ROUNDS; i++) {
		asked[i] = questions(s);
		looked[i] = look_ups(&m);
	}
	bench_figure("question about a known process", bench_median(asked, ROUNDS), "ns");
	bench_figure("look-up in a map", bench_median(looked, ROUNDS), "ns");
	bench_at_most("question, look-ups of a map", bench_median(asked, ROUNDS) / bench_median(looked, ROUNDS), 1);
	state_free(s);
}

/* ns per fact: a new process at every eighth, else the next program of a known one. */
static double facts(void)
{
	struct state *s = state_new(0);
	uint64_t begin_ns = bench_cpu_ns(), took_ns;

	for (uint32_t i = 0; i < FACTS; i++)
		apply(s, 1 + i / 8, NS_PER_S + i);
	took_ns = bench_cpu_ns() - begin_ns;
	state_free(s);
	return (double)took_ns / FACTS;
}

/* The least work for it: one look-up, one copy of the texts. */
static double copies(void)
{
	uint64_t begin_ns, took_ns;
	struct map m;
	size_t pos = 0;
	void *key, *val;

	map_init(&m, sizeof(uint32_t), sizeof(char *));
	begin_ns = bench_cpu_ns();
	for (uint32_t i = 0; i < FACTS; i++) {
		uint32_t pid = 1 + i / 8;
		char **slot = map_add(&m, &pid, NULL);

		free(*slot);
		*slot = malloc(sizeof(exe) + sizeof(args));
		memcpy(*slot, exe, sizeof(exe));
		memcpy(*slot + sizeof(exe), args, sizeof(args));
	}
	took_ns = bench_cpu_ns() - begin_ns;
	while (map_next(&m, &pos, &key, &val))
		free(*(char **)val);
	map_fini(&m);
	return (double)took_ns / FACTS;
}

static void compare_facts(void)
{
	double applied[ROUNDS], copied[ROUNDS];

	for (int i = 0; i < ROUNDS; i++) {
		applied[i] = facts();
		copied[i] = copies();
	}
	bench_figure("facts a second", 1000 / bench_median(applied, ROUNDS), "million");
	bench_at_most("fact, copies of its texts", bench_median(applied, ROUNDS) / bench_median(copied, ROUNDS), 8);
}

static size_t heap_bytes(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

static void measure_memory(void)
{
	size_t before = heap_bytes();
	struct state *s = state_new((size_t)BUDGET_MIB << 20);
	const struct state_task_at *p;
	struct state_stats st;
	uint64_t evicted = 0;

	for (uint32_t i = 1; i <= MANY; i++) {
		const struct state_socket_fact f = {
			.ts_ns = NS_PER_S, .cookie = i, .tgid = i, .start_ns = START_NS,
		};

		apply(s, i, NS_PER_S);
		if (state_socket_apply(s, &f) < 0 || state_task_process(s, i, START_NS, NS_PER_S, &p) < 0)
			bench_die("a process is unknown");
	}
	bench_at_most("MiB at 100,000 processes and sockets", (double)(heap_bytes() - before) / (1 << 20),
		      BUDGET_MIB);
	for (int t = 0; t < STATE_TABLE__MAX; t++) {
		state_stats(s, (enum state_table)t, &st);
		evicted += st.evicted;
	}
	bench_at_most("evicted at that size", (double)evicted, 0);
	state_free(s);
}

int main(void)
{
	compare_questions();
	compare_facts();
	measure_memory();
	return 0;
}
