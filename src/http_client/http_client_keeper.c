// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One message at a time, in memory that both processes share: it is read here, so a sender that ends leaves no part
 * of it in the socket. Knows nothing of HTTP.
 */
#include "http_client/http_client_keeper.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/macros.h"
#include "http_client/http_client_child.h"
#include "worker/restart.h"

#define DELAY_MOST_NS (15 * NS_PER_S)

struct keeper {
	const struct http_client_child *conf;
	int in_fd, out_fd;
	char *message; /* of POST_MESSAGE_MAX bytes, shared with the sender */
	pid_t pid;     /* of the sender; 0 = none runs */
	int pid_fd, sock;
	uint64_t since_ns, due_ns, delay_ns; /* start of the sender; the next start; pause before it */
	char why[sizeof(((struct http_client_answer *)0)->why)]; /* how the last one ended */
};

static bool answer(const struct keeper *k, const struct http_client_answer *a)
{
	return write(k->out_fd, a, sizeof(*a)) == sizeof(*a);
}

/* ---- the sender ---- */

/* Has the messages of the command by @sock only. */
_Noreturn static void run_sender(const struct keeper *k, int sock, pid_t keeper)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != keeper || dup2(STDERR_FILENO, k->in_fd) < 0 ||
	    dup2(STDERR_FILENO, k->out_fd) < 0)
		_exit(1);
	prctl(PR_SET_NAME, "sonde-post");
	_exit(http_client_child(k->conf, k->message, sock));
}

static int start_sender(struct keeper *k)
{
	const pid_t self = getpid();
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	k->pid = fork();
	if (!k->pid) {
		close(pair[0]);
		run_sender(k, pair[1], self);
	}
	close(pair[1]);
	k->sock = pair[0];
	k->pid_fd = k->pid < 0 ? -1 : (int)syscall(SYS_pidfd_open, k->pid, 0);
	k->since_ns = clock_boot_ns();
	return k->pid < 0 ? -EAGAIN : 0;
}

/* Its answer, or -ECHILD if it has ended: what it has said before counts. */
static int wait_answer(const struct keeper *k, struct http_client_answer *ret)
{
	struct pollfd p[] = { { .fd = k->sock, .events = POLLIN }, { .fd = k->pid_fd, .events = POLLIN } };

	TEMP_FAILURE_RETRY(poll(p, ARRAY_SIZE(p), -1));
	return recv(k->sock, ret, sizeof(*ret), MSG_DONTWAIT) == sizeof(*ret) ? 0 : -ECHILD;
}

static void describe_end(struct keeper *k, int status)
{
	if (WIFSIGNALED(status))
		snprintf(k->why, sizeof(k->why), "the process that sends ended (%.60s)", strsignal(WTERMSIG(status)));
	else
		snprintf(k->why, sizeof(k->why), "the process that sends ended (status %d)", WEXITSTATUS(status));
}

static void start_later(struct keeper *k)
{
	const uint64_t now_ns = clock_boot_ns();

	k->due_ns = now_ns + restart_pause(&k->delay_ns, now_ns - k->since_ns, DELAY_MOST_NS);
}

/* It has ended, or breaks the protocol. kill(2) is refused to processes that use the network. */
static bool end_sender(struct keeper *k)
{
	struct http_client_answer a = { .outcome = POST_ENDED };
	int status = 0;

	if (k->pid > 0) {
		syscall(SYS_pidfd_send_signal, k->pid_fd, SIGKILL, NULL, 0);
		TEMP_FAILURE_RETRY(waitpid(k->pid, &status, 0));
	}
	describe_end(k, status);
	if (k->pid_fd >= 0)
		close(k->pid_fd);
	if (k->sock >= 0)
		close(k->sock);
	k->pid = 0;
	k->pid_fd = k->sock = -1;
	start_later(k);
	memcpy(a.why, k->why, sizeof(a.why));
	return answer(k, &a);
}

/* False if the command is gone. */
static bool restart_sender(struct keeper *k)
{
	struct http_client_answer a;

	if (start_sender(k) >= 0 && wait_answer(k, &a) >= 0 && a.outcome == POST_READY)
		return true;
	return end_sender(k);
}

/* ---- messages ---- */

/* Its answer is the sender's, or says that the sender ended. False: the command is gone. */
static bool pass_message(struct keeper *k)
{
	struct http_client_head head;
	struct http_client_answer a = { .outcome = POST_UNREACHED };
	bool ended;

	if (io_read_all(k->in_fd, &head, sizeof(head)) < 0 || head.len > POST_MESSAGE_MAX ||
	    io_read_all(k->in_fd, k->message, head.len) < 0)
		return false;
	ended = send(k->sock, &head, sizeof(head), MSG_NOSIGNAL) != sizeof(head) || wait_answer(k, &a) < 0;
	if (ended && !end_sender(k))
		return false;
	if (ended) {
		a = (struct http_client_answer){ .outcome = POST_UNREACHED };
		memcpy(a.why, k->why, sizeof(a.why));
	}
	a.n = head.n;
	return answer(k, &a);
}

/* Milliseconds until the next start; -1 while a sender runs. */
static int wait_ms(const struct keeper *k)
{
	const uint64_t now_ns = clock_boot_ns();

	if (k->pid)
		return -1;
	return now_ns < k->due_ns ? (int)((k->due_ns - now_ns) / NS_PER_MS) + 1 : 0;
}

/* Without a sender messages wait in the command's queue. False: the command is gone. */
static bool turn(struct keeper *k)
{
	struct pollfd p[] = { { .fd = k->in_fd, .events = k->pid ? POLLIN : 0 },
			      { .fd = k->pid_fd, .events = POLLIN } };

	if (poll(p, ARRAY_SIZE(p), wait_ms(k)) < 0)
		return errno == EINTR;
	if (p[1].revents)
		return end_sender(k);
	if (p[0].revents)
		return k->pid && pass_message(k);
	return k->pid || wait_ms(k) ? true : restart_sender(k);
}

int http_client_keeper(void *ctx, int in_fd, int out_fd)
{
	struct keeper k = { .conf = ctx, .in_fd = in_fd, .out_fd = out_fd, .pid_fd = -1, .sock = -1 };
	struct http_client_answer a = { .outcome = POST_NO_LIBRARY };

	k.message = mmap(NULL, POST_MESSAGE_MAX, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (k.message == MAP_FAILED || start_sender(&k) < 0 || wait_answer(&k, &a) < 0)
		snprintf(a.why, sizeof(a.why), "cannot start the process that sends");
	if (!answer(&k, &a) || a.outcome != POST_READY)
		return 1;
	while (turn(&k))
		;
	return 0;
}
