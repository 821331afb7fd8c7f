// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Cost of a watched system call: CPU time of the calling thread, as the ratio of sonde's overhead to that of empty
 * programs on the same tracepoints. Empty programs are measured right before and right after each turn of sonde, so a
 * temporary slowdown of the machine affects both. A ratio is the median of such turns.
 *
 *   bench_sys_cost build/sonde
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macros.h"
#include "tests/bench/programs/bench.h"

#define ROUNDS 8
#define CALLS 4000	/* fit into the ring: a record that is refused costs too little */
#define GOOD 3		/* slices of CALLS at full speed, of which the fastest counts: what disturbs only adds */
#define REPEATS 30	/* slices at most, to get them */
#define READ_US 25000	/* between slices the reader empties its rings */
#define REST_US 3000	/* the same without a reader */
#define SPEED_STEPS 100000
#define SPEED_SLACK 1.03
#define SPEED_TRIES 2000	/* about an eighth of a second */

#define PEER_READY_S 3
#define PEER_ROUNDS 2

#define BYTES 64 /* of a read */

enum call { GETPPID, READ, SOCKET_READ, CALL__MAX };
enum empty { EMPTY_NONE, EMPTY_EXIT, EMPTY_BOTH, EMPTY_RECEIVE, EMPTY__MAX };

static const char *const empty_at[EMPTY__MAX][2] = {
	[EMPTY_EXIT] = { "sys_exit" },
	[EMPTY_BOTH] = { "sys_exit", "sys_enter" },
	[EMPTY_RECEIVE] = { "sock_recv_length" },
};

/* One way of being watched. */
struct mode {
	const char *name;
	const char *words[12];	/* of sonde, behind the command */
	const char *command;	/* NULL = syscalls */
	const char *peer;	/* instead of sonde: a shell's command, which has our pid in $PID; NULL = sonde */
	const char *ratio;	/* what its ratio is called; NULL: its name */
	double bound;		/* of the ratio; 0 = a figure without one */
	bool clock;		/* instead of sonde: programs that read the clock and nothing else */
	bool difference;	/* instead of a ratio: nanoseconds beyond the empty programs */
	enum call call;		/* what it is measured by */
	enum empty over;	/* against what it is measured; EMPTY_NONE: empty programs at both */
	bool gone;		/* the peer is absent, or did not run to the end */
	unsigned rounds;
	double ns[ROUNDS];	/* a call */
	double ratios[ROUNDS];
};

static struct mode modes[] = {
	{ "another call selected",
	  { "syscall.name=acct", "-o", "null" },
	  .ratio = "a call that is not selected, to empty programs",
	  .bound = 1.15 },
	{ "the clock read at entry and exit", .clock = true },
	{ "getppid selected",
	  { "syscall.name=getppid", "-o", "null" },
	  .ratio = "a small call that is selected",
	  .bound = 1.75 },
	{ "getppid selected, untimed",
	  { "syscall.name=getppid", "--no-timing", "-o", "null" },
	  .over = EMPTY_EXIT,
	  .ratio = "the same, untimed, to an empty program at the exit",
	  .bound = 2 },
	{ "read selected, 64 bytes",
	  { "syscall.name=read", "-s", "64", "-o", "null", "--ring-size", "8M" },
	  .call = READ,
	  .ratio = "a read with 64 bytes of data",
	  .bound = 4 },
	{ "read of a socket selected, 64 bytes",
	  { "syscall.name=read", "-s", "64", "-o", "null", "--ring-size", "8M" },
	  .call = SOCKET_READ,
	  .ratio = "a read with 64 bytes of a TCP connection",
	  .bound = 2.9 },
	{ "owners of sockets kept",
	  { "--where", "evt.type=drop", "-o", "null" },
	  .command = "monitor",
	  .call = SOCKET_READ,
	  .over = EMPTY_RECEIVE,
	  .ratio = "the user of a socket at a receive, over an empty program",
	  .bound = 60,
	  .difference = true },
	{ "counted in the kernel", { "-c" }, .ratio = "a call that is counted with its latency", .bound = 1.6 },
	{ "counted, every call timed", { "-c", "--times", "all" }, .ratio = "the same, the latency of every call" },
	{ "counted, untimed",
	  { "-c", "--no-timing" },
	  .over = EMPTY_EXIT,
	  .ratio = "a call that is counted alone, to an empty program at the exit" },
	{ "strace -c", .peer = "exec strace -c -p $PID" },
	{ "perf trace -s", .peer = "exec perf trace -s -p $PID" },
	{ "bpftrace, a count by call",
	  .peer = "exec bpftrace -e 't:raw_syscalls:sys_enter { @[args->id] = count(); }'" },
	{ "bpftrace, a histogram of times by call",
	  .peer = "exec bpftrace -e 't:raw_syscalls:sys_enter { @t[tid] = nsecs; } "
		  "t:raw_syscalls:sys_exit /@t[tid]/ { @[args->id] = hist(nsecs - @t[tid]); delete(@t[tid]); }'" },
};

/* Cost of a call unwatched and with empty programs. */
static struct {
	unsigned n;
	double ns[ROUNDS * ARRAY_SIZE(modes) * 2];
} floors[EMPTY__MAX][CALL__MAX];

static int attach(const char *tracepoint, const struct bpf_insn *insns, size_t n)
{
	LIBBPF_OPTS(bpf_prog_load_opts, o, .expected_attach_type = BPF_TRACE_RAW_TP);
	int id = libbpf_find_vmlinux_btf_id(tracepoint, BPF_TRACE_RAW_TP), fd, link;

	o.attach_btf_id = id < 0 ? 0 : (uint32_t)id;
	fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, "bench_empty", "GPL", insns, n, &o);
	link = fd < 0 ? -1 : bpf_raw_tracepoint_open(NULL, fd);
	if (link < 0)
		bench_die("cannot attach a program: run as root, on Linux 6.3 or newer");
	close(fd);
	return link;
}

/* A program that does nothing, or reads the clock once. */
static int attach_empty(const char *tracepoint, bool clock)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_ktime_get_ns },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};

	return attach(tracepoint, insns + !clock, ARRAY_SIZE(insns) - !clock);
}

/* Starts sonde and waits until it says that it is ready. */
static pid_t start(const char *sonde, const struct mode *m)
{
	const char *words[24] = { sonde, m->command ? m->command : "syscalls", "--agent=no", "-v" };
	const char *const *more = m->words;
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

		bench_receive_sigint();
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

		bench_receive_sigint();
		dup2(null, 1);
		dup2(null, 2);
		execl("/bin/sh", "sh", "-c", command, NULL);
		_exit(127);
	}
	sleep(PEER_READY_S);
	return pid;
}

/*
 * Nanoseconds of a step of work that needs no kernel and keeps the core's units busy. Whoever shares the core slows
 * it down, to two thirds of its speed and for any length of time: system calls are as much slower in those moments.
 */
static double step_ns(void)
{
	uint64_t before = bench_cpu_ns(), a = 1, b = 2, c = 3, d = 4, e = 5, f = 6;

	for (uint64_t i = 0; i < SPEED_STEPS; i++) {
		a += i;
		b ^= a;
		c += i;
		d ^= c;
		e += i;
		f ^= e;
		__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
	}
	return (double)(bench_cpu_ns() - before) / SPEED_STEPS;
}

static double full_speed_ns = 1e18;	/* the fastest step so far */

static bool full_speed(void)
{
	double ns = step_ns();

	full_speed_ns = MIN(full_speed_ns, ns);
	return ns < full_speed_ns * SPEED_SLACK;
}

static int zero, sender, receiver; /* /dev/zero; both ends of a TCP connection */

static void connect_ends(void)
{
	const struct sockaddr_in any = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const int room = 8 * CALLS * BYTES;
	struct sockaddr_in at;
	socklen_t len = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	sender = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(listener, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)); /* the accepted socket inherits it */
	if (bind(listener, (const struct sockaddr *)&any, sizeof(any)) < 0 || listen(listener, 1) < 0 ||
	    getsockname(listener, (struct sockaddr *)&at, &len) < 0 ||
	    connect(sender, (struct sockaddr *)&at, len) < 0 ||
	    (receiver = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) < 0)
		bench_die("cannot connect to loopback");
	close(listener);
}

/* Has the bytes of a slice at the receiver, all of them before it begins. */
static void fill_socket(void)
{
	static const char bytes[CALLS * BYTES];
	int have;

	for (size_t n = 0; n < sizeof(bytes);) {
		ssize_t r = send(sender, bytes + n, sizeof(bytes) - n, 0);

		if (r <= 0)
			bench_die("cannot send to loopback");
		n += (size_t)r;
	}
	do {
		if (ioctl(receiver, FIONREAD, &have) < 0)
			bench_die("cannot ask a socket");
	} while ((size_t)have < sizeof(bytes));
}

static double slice_ns(enum call call)
{
	const int fd = call == READ ? zero : receiver;
	char room[BYTES];
	uint64_t before;

	if (call == SOCKET_READ)
		fill_socket();
	before = bench_cpu_ns();
	for (int k = 0; k < CALLS; k++) {
		if (call == GETPPID)
			syscall(SYS_getppid);
		else
			syscall(SYS_read, fd, room, sizeof(room));
	}
	return (double)(bench_cpu_ns() - before) / CALLS;
}

static unsigned slow;	/* measurements without a slice at full speed */

/* The fastest of @good slices before and after which the machine was at full speed; if there is none, of all. */
static double call_ns(enum call call, int good, unsigned pause_us)
{
	double best = 1e18, any = 1e18, ns;

	for (int i = 0, n = 0; i < REPEATS && n < good; i++) {
		bool full = full_speed();

		ns = slice_ns(call);
		any = MIN(any, ns);
		if (full_speed() && full) {
			best = MIN(best, ns);
			n++;
		}
		usleep(pause_us);
	}
	slow += best == 1e18;
	return best < 1e18 ? best : any;
}

/* A call with empty programs, or with such that read the clock. */
static double empty_ns(enum empty e, enum call call, bool clock)
{
	int links[2];
	double ns;

	for (int i = 0; i < 2; i++)
		links[i] = empty_at[e][i] ? attach_empty(empty_at[e][i], clock) : -1;
	ns = call_ns(call, GOOD, REST_US);
	for (int i = 0; i < 2; i++)
		if (links[i] >= 0)
			close(links[i]);
	return ns;
}

static void measure_floors(enum call call)
{
	for (int e = EMPTY_NONE; e < EMPTY__MAX; e++)
		if (e != EMPTY_RECEIVE || call == SOCKET_READ)
			floors[e][call].ns[floors[e][call].n++] = empty_ns(e, call, false);
}

/* Of the last two measurements, those before and after the mode. */
static double floor_ns(enum empty e, enum call call)
{
	const double *last = &floors[e][call].ns[floors[e][call].n - 2];

	return (last[0] + last[1]) / 2;
}

static double watched_ns(struct mode *m, const char *sonde)
{
	double ns;
	pid_t pid;

	if (m->clock)
		return empty_ns(EMPTY_BOTH, m->call, true);
	pid = m->peer ? start_peer(m->peer) : start(sonde, m);
	ns = call_ns(m->call, m->peer ? 1 : GOOD, READ_US);
	m->gone |= m->peer && waitpid(pid, NULL, WNOHANG) != 0;
	if (!m->gone)
		bench_stop(pid);
	return ns;
}

/* Added cost as a ratio to that of empty programs, or how much more it is. */
static void measure(struct mode *m, const char *sonde)
{
	enum empty over = m->over ? m->over : EMPTY_BOTH;
	double ns = watched_ns(m, sonde), bare;

	measure_floors(m->call);
	bare = floor_ns(EMPTY_NONE, m->call);
	m->ns[m->rounds] = ns;
	m->ratios[m->rounds++] =
		m->difference ? ns - floor_ns(over, m->call) : (ns - bare) / (floor_ns(over, m->call) - bare);
}

static const char *const units[] = { "ns a getppid", "ns a read", "ns a read of a socket" };

static void tell_floors(void)
{
	static const char *const names[] = { "unwatched", "empty program at the exit",
					     "empty programs at entry and exit",
					     "empty program where sockets receive" };
	for (int e = EMPTY_NONE; e < EMPTY__MAX; e++)
		for (int c = e == EMPTY_RECEIVE ? SOCKET_READ : GETPPID; c < CALL__MAX; c++)
			bench_figure(names[e], bench_median(floors[e][c].ns, floors[e][c].n), units[c]);
}

static void tell(struct mode *m)
{
	const char *name = m->ratio ? m->ratio : m->name;
	double ratio;

	if (m->gone) {
		printf("note\t%s does not run here\n", m->name);
		return;
	}
	bench_figure(m->name, bench_median(m->ns, m->rounds), units[m->call]);
	ratio = bench_median(m->ratios, m->rounds);
	if (m->bound)
		bench_at_most(name, ratio, m->bound);
	else
		bench_figure(name, ratio, "times");
	printf("note\t%s: %.2f to %.2f in the middle half of %u rounds\n", name, m->ratios[m->rounds / 4],
	       m->ratios[m->rounds - 1 - m->rounds / 4], m->rounds);
}

int main(int argc, char **argv)
{
	zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	if (argc != 2 || zero < 0)
		bench_die("usage: bench_sys_cost SONDE");
	connect_ends();
	for (int i = 0; i < SPEED_TRIES; i++)
		full_speed();
	for (unsigned round = 0; round < ROUNDS; round++) {
		for (int c = 0; c < CALL__MAX; c++)
			measure_floors(c);
		for (struct mode *m = modes; m < modes + ARRAY_SIZE(modes); m++)
			if (!m->peer || (round < PEER_ROUNDS && !m->gone))
				measure(m, argv[1]);
	}
	tell_floors();
	printf("note\t%u of all measurements never found the machine at full speed\n", slow);
	for (struct mode *m = modes; m < modes + ARRAY_SIZE(modes); m++)
		tell(m);
	return 0;
}
