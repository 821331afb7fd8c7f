// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Cost per packet at an interface that `sonde monitor`, `sonde flows` or `sonde capture --keep` watches: test-runs of
 * the attached program itself, found by its name, against an empty program. Cases: emitted (the running sonde drains
 * the ring), refused by a packet filter in the kernel, kept by the flight recorder, counted into a flow at each level
 * of aggregation, evaluated by a rule file. 74 bytes of a TCP connection between two sockets of this process, on
 * loopback in a network namespace of its own; one case with a connection's first packet, which costs more.
 *
 * And what a send and a receive pay for the owner of their socket: runs of these programs in the calls themselves, by
 * the kernel's own count of time, against an empty program at the same place.
 *
 *   bench_packet_cost SONDE
 */
#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macros.h"
#include "tests/bench/programs/bench.h"

#define ROUNDS 15
#define RUNS 4000	/* a round's records fit the ring twice over */
#define PAUSE_US 120000	/* longer than the reader's deadline: each round meets an empty ring */

#define CLIENT_PORT 12345
#define SERVER_PORT 80
#define PACKET(flags) { \
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x08, 0x00, \
	0x45, 0, 0, 60, 0, 1, 0x40, 0, 64, 6, 0, 0, 127, 0, 0, 1, 127, 0, 0, 1, \
	CLIENT_PORT >> 8, CLIENT_PORT & 255, 0, SERVER_PORT, 0, 0, 0, 1, 0, 0, 0, 1, 0xa0, flags, 0xff, 0xff, \
}

static const uint8_t usual[74] = PACKET(TH_ACK), first[74] = PACKET(TH_SYN);

static int empty_program(enum bpf_prog_type type)
{
	struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = -1 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int fd = bpf_prog_load(type, "bench_empty", "GPL", insns, ARRAY_SIZE(insns), NULL);

	if (fd < 0)
		bench_die("cannot load an empty program: run as root");
	return fd;
}

/* The id of the program that descriptor file @name below @dir stands for; 0 = it is something else. */
static uint32_t program_id(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	uint32_t id = 0;
	char line[128];

	while (f && !id && fgets(line, sizeof(line), f))
		if (sscanf(line, "prog_id: %" SCNu32, &id) != 1)
			id = 0;
	if (f)
		fclose(f);
	return id;
}

/* The program of that name that process @pid holds: another sonde on this host has a program of the same name. */
static int find_program(pid_t pid, const char *name)
{
	struct dirent *e;
	char path[64];
	int found = -1;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo", (int)pid);
	d = opendir(path);
	while (d && found < 0 && (e = readdir(d))) {
		struct bpf_prog_info info = { 0 };
		uint32_t len = sizeof(info), id = program_id(dirfd(d), e->d_name);
		int fd = id ? bpf_prog_get_fd_by_id(id) : -1;

		if (fd >= 0 && !bpf_prog_get_info_by_fd(fd, &info, &len) && !strcmp(info.name, name))
			found = fd;
		else if (fd >= 0)
			close(fd);
	}
	if (d)
		closedir(d);
	return found;
}

static double run_ns(int fd, const uint8_t *packet)
{
	LIBBPF_OPTS(bpf_test_run_opts, o, .data_in = packet, .data_size_in = sizeof(usual), .repeat = RUNS);

	if (bpf_prog_test_run_opts(fd, &o) < 0)
		bench_die("cannot run the program");
	return o.duration;
}

static void loopback_up(void)
{
	struct ifreq r = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int s = socket(AF_INET, SOCK_DGRAM, 0);

	if (unshare(CLONE_NEWNET) < 0)
		bench_die("cannot make a network namespace: run as root");
	close(s);
	s = socket(AF_INET, SOCK_DGRAM, 0);
	if (s < 0 || ioctl(s, SIOCSIFFLAGS, &r) < 0)
		bench_die("cannot bring loopback up");
	close(s);
}

static struct sockaddr_in loopback_port(uint16_t port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(port),
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

struct ends {
	int client, server;
};

/* The connection of the packets; it stays open to the end. */
static struct ends establish(void)
{
	struct sockaddr_in server = loopback_port(SERVER_PORT), client = loopback_port(CLIENT_PORT);
	struct ends e = { .client = socket(AF_INET, SOCK_STREAM, 0) };
	int l = socket(AF_INET, SOCK_STREAM, 0);

	if (bind(l, (void *)&server, sizeof(server)) < 0 || listen(l, 1) < 0 ||
	    bind(e.client, (void *)&client, sizeof(client)) < 0 ||
	    connect(e.client, (void *)&server, sizeof(server)) < 0 || (e.server = accept(l, NULL, NULL)) < 0)
		bench_die("cannot connect on loopback");
	return e;
}

/* Starts sonde and waits until it says that it is ready. */
static pid_t start(char **words)
{
	char text[4096] = "";
	size_t n = 0;
	int fd[2];
	pid_t pid;

	if (pipe(fd) < 0 || (pid = fork()) < 0)
		bench_die("cannot start sonde");
	if (!pid) {
		bench_receive_sigint();
		dup2(fd[1], STDERR_FILENO);
		dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
		execv(words[0], words);
		_exit(127);
	}
	close(fd[1]);
	while (!strstr(text, "ready")) {
		ssize_t got = read(fd[0], text + n, sizeof(text) - 1 - n);

		if (got <= 0)
			bench_die("sonde did not get ready");
		n += (size_t)got;
	}
	return pid; /* the pipe stays open: sonde's last words must not end it */
}

/* Median over interleaved rounds of what @words' program costs beyond the empty one. */
static double cost_of_packet(const uint8_t *packet, const char *name, char **words, int empty)
{
	double beyond[ROUNDS];
	pid_t pid = start(words);
	int fd = find_program(pid, name);

	if (fd < 0)
		bench_die("the program of sonde cannot be found");
	for (int i = 0; i < ROUNDS; i++) {
		double base = run_ns(empty, packet);

		beyond[i] = run_ns(fd, packet) - base;
		usleep(PAUSE_US);
	}
	close(fd);
	bench_stop(pid);
	return bench_median(beyond, ROUNDS);
}

static double cost_of(const char *name, char **words, int empty)
{
	return cost_of_packet(usual, name, words, empty);
}

/* All packets belong to a flow that was reported in the warm-up: the rest is the cost of most packets. */
static void flow_figures(char *sonde, int empty)
{
	static const char *const levels[] = { "none", "low", "medium", "max" };

	for (size_t i = 0; i < ARRAY_SIZE(levels); i++) {
		char *words[] = {
			sonde, "flows", "-i", "lo", "--aggregation", (char *)levels[i], "-o", "null", NULL,
		};
		char what[64];

		snprintf(what, sizeof(what), "flows, aggregation %s, over empty", levels[i]);
		bench_figure(what, cost_of("sonde_flow_o_l2", words, empty), "ns");
	}
}

/* No rule matches until the last, which requires a port and two networks; the packet is counted, not reported. */
static void rule_figures(char *sonde, int empty)
{
	static const unsigned sizes[] = { 1, 64, 1024 };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		char path[] = "/tmp/packet-cost-XXXXXX", what[64];
		char *words[] = { sonde, "policy", path, "-i", "lo", "--verdicts", "none", "-o", "null", NULL };
		int fd = mkstemp(path);
		FILE *f = fd < 0 ? NULL : fdopen(fd, "w");

		if (!f)
			bench_die("cannot write a rule file");
		for (unsigned n = 1; n < sizes[i]; n++)
			fprintf(f, "deny in tcp from 10.%u.%u.0/24 to 127.0.0.0/8 port %u\n", n / 256, n % 256, n);
		fprintf(f, "deny in tcp from 127.0.0.0/8 to 127.0.0.1 port 80\n");
		fclose(f);
		snprintf(what, sizeof(what), "held against %u rules, over empty", sizes[i]);
		bench_figure(what, cost_of("sonde_rule_i_l2", words, empty), "ns");
		unlink(path);
	}
}

/* ns of a run of @prog from *from on; *from becomes now. */
static double mean_ns(int prog, struct bpf_prog_info *from)
{
	struct bpf_prog_info now = { 0 };
	uint32_t len = sizeof(now);
	double ns;

	if (bpf_prog_get_info_by_fd(prog, &now, &len) < 0)
		bench_die("the kernel does not say what a program took");
	ns = (double)(now.run_time_ns - from->run_time_ns) / (double)(now.run_cnt - from->run_cnt);
	*from = now;
	return ns;
}

static void talk(const struct ends *e)
{
	char byte = 'x';

	for (int i = 0; i < RUNS; i++)
		if (send(e->client, &byte, 1, 0) != 1 || recv(e->server, &byte, 1, 0) != 1)
			bench_die("the connection is gone");
}

/* Median over rounds of what the program @name of process @pid costs at @hook beyond an empty one there. */
static double call_cost(pid_t pid, const char *name, const char *hook, const struct ends *e)
{
	int prog = find_program(pid, name), empty = empty_program(BPF_PROG_TYPE_RAW_TRACEPOINT);
	struct bpf_prog_info ours = { 0 }, none = { 0 };
	int link = bpf_raw_tracepoint_open(hook, empty);
	double beyond[ROUNDS];

	if (prog < 0 || link < 0)
		bench_die("the program of sonde, or its tracepoint, cannot be found");
	for (int i = -1; i < ROUNDS; i++) {
		double ns;

		talk(e);
		ns = mean_ns(prog, &ours) - mean_ns(empty, &none);
		if (i >= 0) /* the first round is the warm-up */
			beyond[i] = ns;
	}
	close(link);
	close(empty);
	close(prog);
	return bench_median(beyond, ROUNDS);
}

static void call_figures(char *sonde, const struct ends *e)
{
	char *words[] = { sonde, "monitor", "-i", "lo", "--where", "evt.type=drop", "-o", "null", NULL };
	int counting = bpf_enable_stats(BPF_STATS_RUN_TIME);
	pid_t pid = start(words);

	if (find_program(pid, "proc_send") < 0) {
		printf("note\tbefore 6.3 no program runs at each send and receive\n");
	} else {
		bench_at_most("owner's bookkeeping of a send, ns over empty",
			      call_cost(pid, "proc_send", "sock_send_length", e), 60);
		bench_at_most("owner's bookkeeping of a receive, ns over empty",
			      call_cost(pid, "proc_recv", "sock_recv_length", e), 60);
	}
	bench_stop(pid);
	close(counting);
}

int main(int argc, char **argv)
{
	char *sonde = argc == 2 ? argv[1] : "build/sonde";
	char *all[] = { sonde, "monitor", "-i", "lo", "--where", "evt.type=trace", "-o", "null", NULL };
	char *refused[] = {
		sonde, "monitor", "-i", "lo", "--where", "evt.type=trace", "-o", "null", "tcp", "port", "81", NULL,
	};
	char *kept_in[] = {
		sonde, "capture", "--agent=no", "-i", "lo", "-Q", "in", "--keep", "5s", "-w", "/dev/null", NULL,
	};
	char *kept_out[] = { sonde, "capture", "--agent=no", "-i", "lo", "--keep", "5s", "-w", "/dev/null", NULL };
	struct ends ends;
	int empty;

	loopback_up();
	ends = establish();
	empty = empty_program(BPF_PROG_TYPE_SCHED_CLS);
	bench_figure("empty program, test-run", run_ns(empty, usual), "ns");
	bench_figure("refused by `tcp port 81`, over empty", cost_of("sonde_in_l2", refused, empty), "ns");
	bench_figure("emitted at ingress, over empty", cost_of("sonde_in_l2", all, empty), "ns");
	bench_figure("emitted at egress, over empty", cost_of("sonde_out_l2", all, empty), "ns");
	bench_figure("a first packet emitted at ingress, over empty",
		     cost_of_packet(first, "sonde_in_l2", all, empty), "ns");
	bench_figure("kept for a dump at ingress, over empty", cost_of("sonde_keep_i_l2", kept_in, empty), "ns");
	bench_figure("kept for a dump at egress, over empty", cost_of("sonde_keep_o_l2", kept_out, empty), "ns");
	flow_figures(sonde, empty);
	rule_figures(sonde, empty);
	call_figures(sonde, &ends);
	return 0;
}
