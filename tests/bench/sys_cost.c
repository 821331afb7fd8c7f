// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a system call pays while it is watched: CPU time of the calling thread, as the ratio of what sonde adds to
 * what empty programs on the same tracepoints add. All of it in one run, in turns.
 *
 *   bench_sys_cost build/sonde
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macros.h"
#include "tests/bench/bench.h"

#define ROUNDS 6
#define CALLS 4000	/* fit into the ring: a record that is refused costs too little */
#define REPEATS 12	/* of which, over all rounds, the fastest counts: what disturbs only adds */

#define PEER_READY_S 3
#define PEER_REPEATS 4
#define PEER_ROUNDS 2

/* One way of being watched. */
struct mode {
	const char *name;
	const char *words[12];	/* of sonde; empty = no sonde */
	int empty;		/* programs that do nothing: bit 0 at the entry, bit 1 at the exit */
	const char *peer;	/* instead of sonde: a shell's command, which has our pid in $PID; NULL = sonde */
	bool gone;		/* the peer is not there, or did not run to the end */
	double getppid, read;	/* ns a call; 0 = not measured yet */
};

enum { BARE, EMPTY_EXIT, EMPTY_BOTH, OTHER, SMALL, UNTIMED, DATA, SUM, SUM_ALL, SUM_UNTIMED, STRACE, PERF_TRACE,
       BPFTRACE, BPFTRACE_TIMES, MODE__MAX };

static struct mode modes[] = {
	[BARE] = { "unwatched" },
	[EMPTY_EXIT] = { "empty program at the exit", .empty = 2 },
	[EMPTY_BOTH] = { "empty programs at entry and exit", .empty = 3 },
	[OTHER] = { "another call selected", { "-e", "acct", "-o", "null" } },
	[SMALL] = { "getppid selected", { "-e", "getppid", "-o", "null" } },
	[UNTIMED] = { "getppid selected, untimed", { "-e", "getppid", "--untimed", "-o", "null" } },
	[DATA] = { "read selected, 64 bytes", { "-e", "read", "-s", "64", "-o", "null", "--ring-size", "8M" } },
	[SUM] = { "counted in the kernel", { "-c" } },
	[SUM_ALL] = { "counted, every call timed", { "-c", "--times", "all" } },
	[SUM_UNTIMED] = { "counted, untimed", { "-c", "--untimed" } },
	[STRACE] = { "strace -c", .peer = "exec strace -c -p $PID" },
	[PERF_TRACE] = { "perf trace -s", .peer = "exec perf trace -s -p $PID" },
	[BPFTRACE] = { "bpftrace, a count by call",
		       .peer = "exec bpftrace -e 't:raw_syscalls:sys_enter { @[args->id] = count(); }'" },
	[BPFTRACE_TIMES] = { "bpftrace, a histogram of times by call",
			     .peer = "exec bpftrace -e 't:raw_syscalls:sys_enter { @t[tid] = nsecs; } "
				     "t:raw_syscalls:sys_exit /@t[tid]/ { @[args->id] = hist(nsecs - @t[tid]); "
				     "delete(@t[tid]); }'" },
};
_Static_assert(ARRAY_SIZE(modes) == MODE__MAX, "a row per mode");

static int attach_empty(const char *tracepoint)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, o, .expected_attach_type = BPF_TRACE_RAW_TP);
	int id = libbpf_find_vmlinux_btf_id(tracepoint, BPF_TRACE_RAW_TP), fd, link;

	o.attach_btf_id = id < 0 ? 0 : (uint32_t)id;
	fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, "bench_empty", "GPL", insns, ARRAY_SIZE(insns), &o);
	link = fd < 0 ? -1 : bpf_raw_tracepoint_open(NULL, fd);
	if (link < 0)
		bench_die("cannot attach an empty program: run as root");
	close(fd);
	return link;
}

/* Starts sonde and waits until it says that it is ready. */
static pid_t start(const char *sonde, const char *const *more)
{
	const char *words[24] = { sonde, "syscalls", "--local", "-v" };
	char text[4096] = "";
	size_t n = 4, len = 0;
	int fd[2];
	pid_t pid;

	while (*more)
		words[n++] = *more++;
	if (pipe(fd) < 0 || (pid = fork()) < 0)
		bench_die("cannot start sonde");
	if (pid == 0) {
		int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

		dup2(null, 1);
		dup2(fd[1], 2);
		close(fd[0]);
		close(fd[1]);
		execv(sonde, (char **)words);
		_exit(127);
	}
	close(fd[1]);
	while (!strstr(text, "ready")) {
		ssize_t r = read(fd[0], text + len, sizeof(text) - 1 - len);

		if (r <= 0)
			bench_die("sonde did not get ready");
		len += (size_t)r;
		text[len] = 0;
	}
	fcntl(fd[0], F_SETFD, FD_CLOEXEC); /* kept open: what sonde says later must not stop it */
	return pid;
}

/* Another tool, which says in its own way or not at all that it is ready: it gets the time that any needs. */
static pid_t start_peer(const char *command)
{
	char pid_text[16];
	pid_t pid;

	snprintf(pid_text, sizeof(pid_text), "%d", (int)getpid());
	setenv("PID", pid_text, 1);
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	pid = fork();
	if (pid < 0)
		bench_die("cannot start another tool");
	if (pid == 0) {
		int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

		dup2(null, 1);
		dup2(null, 2);
		execl("/bin/sh", "sh", "-c", command, NULL);
		_exit(127);
	}
	sleep(PEER_READY_S);
	return pid;
}

static double call_ns(bool reads, int zero, int repeats)
{
	double best = 1e18;
	char room[64];

	for (int i = 0; i < repeats; i++) {
		uint64_t before = bench_cpu_ns();

		for (int k = 0; k < CALLS; k++) {
			if (reads)
				syscall(SYS_read, zero, room, sizeof(room));
			else
				syscall(SYS_getppid);
		}
		best = MIN(best, (double)(bench_cpu_ns() - before) / CALLS);
		usleep(25000); /* the reader empties its rings: a refused record would be too cheap */
	}
	return best;
}

static void keep_best(double *best, double v)
{
	if (!*best || v < *best)
		*best = v;
}

static void measure(struct mode *m, const char *sonde, int zero)
{
	int enter = m->empty & 1 ? attach_empty("sys_enter") : -1;
	int leave = m->empty & 2 ? attach_empty("sys_exit") : -1;
	pid_t pid = m->peer ? start_peer(m->peer) : m->words[0] ? start(sonde, m->words) : 0;
	int repeats = m->peer ? PEER_REPEATS : REPEATS;

	keep_best(&m->getppid, call_ns(false, zero, repeats));
	keep_best(&m->read, call_ns(true, zero, repeats));
	m->gone |= m->peer && waitpid(pid, NULL, WNOHANG) != 0;
	if (pid > 0 && !m->gone) {
		kill(pid, SIGINT);
		waitpid(pid, NULL, 0);
	}
	if (enter >= 0)
		close(enter);
	if (leave >= 0)
		close(leave);
}

/* Added cost as a ratio to that of empty programs. */
static double added(double v, double empty, double bare)
{
	return (v - bare) / (empty - bare);
}

int main(int argc, char **argv)
{
	const struct mode *bare = &modes[BARE], *leave = &modes[EMPTY_EXIT], *both = &modes[EMPTY_BOTH];
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	if (argc != 2 || zero < 0)
		bench_die("usage: bench_sys_cost SONDE");
	for (unsigned round = 0; round < ROUNDS; round++)
		for (unsigned i = 0; i < MODE__MAX; i++)
			if (!modes[i].peer || (round < PEER_ROUNDS && !modes[i].gone))
				measure(&modes[i], argv[1], zero);
	for (unsigned i = 0; i < MODE__MAX; i++) {
		bench_figure(modes[i].name, modes[i].getppid, "ns a getppid");
		bench_figure(modes[i].name, modes[i].read, "ns a read");
	}
	bench_at_most("a call that is not selected, to empty programs",
		      added(modes[OTHER].getppid, both->getppid, bare->getppid), 1.15);
	bench_at_most("a small call that is selected",
		      added(modes[SMALL].getppid, both->getppid, bare->getppid), 2.0);
	bench_at_most("the same, untimed, to an empty program at the exit",
		      added(modes[UNTIMED].getppid, leave->getppid, bare->getppid), 2.0);
	bench_at_most("a read with 64 bytes of data", added(modes[DATA].read, both->read, bare->read), 4.0);
	bench_at_most("a call that is counted with its latency",
		      added(modes[SUM].getppid, both->getppid, bare->getppid), 1.6);
	bench_figure("the same, the latency of every call",
		     added(modes[SUM_ALL].getppid, both->getppid, bare->getppid), "times");
	bench_figure("a call that is counted alone, to an empty program at the exit",
		     added(modes[SUM_UNTIMED].getppid, leave->getppid, bare->getppid), "times");
	for (unsigned i = STRACE; i < MODE__MAX; i++)
		if (modes[i].gone)
			printf("note\t%s does not run here\n", modes[i].name);
		else
			bench_figure(modes[i].name, added(modes[i].getppid, both->getppid, bare->getppid), "times");
	return 0;
}
