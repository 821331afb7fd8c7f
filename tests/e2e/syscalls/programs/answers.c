// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Makes calls whose answer stands where their question stood: waiting for descriptors, with and without one, in vain
 * and until a signal comes; times that are left; messages, several at once. Between two marks.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define CALL(name, ...) syscall(SYS_##name, ##__VA_ARGS__)
#define MARK() CALL(close, -77)

static void on_signal(int signo)
{
	(void)signo;
}

/* Again and again until the next call has ended: the first may come before it has begun. */
static void alarm_soon(void)
{
	struct itimerval soon = { { 0, 20000 }, { 0, 20000 } };

	CALL(setitimer, ITIMER_REAL, &soon, NULL);
}

static void alarm_off(void)
{
	struct itimerval never = { { 0, 0 }, { 0, 0 } };

	CALL(setitimer, ITIMER_REAL, &never, NULL);
}

#define BROKEN_OFF(...) do { alarm_soon(); CALL(__VA_ARGS__); alarm_off(); } while (0)

static fd_set *set(fd_set *s, int fd)
{
	FD_ZERO(s);
	FD_SET(fd, s);
	return s;
}

static void wait_for(int in, int out)
{
	struct pollfd both[2] = { { in, POLLIN, 0 }, { out, POLLOUT, 0 } }, none = { 99, POLLIN, 0 };
	struct timespec ms = { 0, 1000000 }, five = { 5, 0 };
	fd_set r, w;
	char c;

	CALL(ppoll, both, 1, &ms, NULL, 8);
	CALL(ppoll, both, 0, &ms, NULL, 8);
	ms = (struct timespec){ 0, 1000000 };
	CALL(pselect6, in + 1, set(&r, in), NULL, NULL, &ms, NULL);
	CALL(ppoll, both, 2, &five, NULL, 8);
	CALL(write, out, "x", 1);
	CALL(ppoll, both, 2, NULL, NULL, 8);
	CALL(ppoll, &none, 1, NULL, NULL, 8);
	CALL(ppoll, (void *)8, 1, NULL, NULL, 8);
	CALL(pselect6, out + 1, set(&r, in), set(&w, out), NULL, NULL, NULL);
	CALL(pselect6, 60, set(&r, 59), NULL, NULL, NULL, NULL);
#ifdef SYS_select
	struct timeval sec = { 3, 0 };

	CALL(poll, both, 2, 100);
	CALL(poll, both, 2, -1);
	CALL(select, out + 1, set(&r, in), set(&w, out), NULL, &sec);
#endif
	CALL(read, in, &c, 1);
}

static void wait_by_epoll(int in, int out)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.u64 = 5 }, got[4];
	int fd = epoll_create1(0);
	char c;

	CALL(epoll_ctl, fd, EPOLL_CTL_ADD, in, &ev);
	CALL(epoll_pwait, fd, got, 4, 1, NULL, 8);
	CALL(write, out, "x", 1);
	CALL(epoll_pwait, fd, got, 4, -1, NULL, 8);
	CALL(read, in, &c, 1);
	BROKEN_OFF(epoll_pwait, fd, got, 4, -1, NULL, 8);
	CALL(close, fd);
}

static void break_off(int in)
{
	struct timespec day = { 86400, 0 }, left;
	struct pollfd one = { in, POLLIN, 0 };
	fd_set r;

	BROKEN_OFF(nanosleep, &day, &left);
	BROKEN_OFF(clock_nanosleep, CLOCK_REALTIME, 0, &day, &left);
	BROKEN_OFF(clock_nanosleep, CLOCK_REALTIME, 0, &day, NULL);
	day.tv_sec = 5000000000;
	BROKEN_OFF(clock_nanosleep, CLOCK_REALTIME, TIMER_ABSTIME, &day, &left);
	BROKEN_OFF(ppoll, &one, 1, NULL, NULL, 8);
	BROKEN_OFF(pselect6, in + 1, set(&r, in), NULL, NULL, NULL, NULL);
#ifdef SYS_poll
	BROKEN_OFF(poll, &one, 1, 86400000);
#endif
	left = (struct timespec){ 0, 1000 };
	CALL(nanosleep, &left, NULL);
}

static void send_several(void)
{
	struct iovec out[3] = { { "ab", 2 }, { "cde", 3 }, { "fghi", 4 } };
	char room[3][64] = { { 0 } };
	struct iovec in[3] = { { room[0], 64 }, { room[1], 64 }, { room[2], 64 } };
	struct mmsghdr m[3] = { { .msg_hdr = { .msg_iov = out, .msg_iovlen = 2 } },
				{ .msg_hdr = { .msg_iov = out + 2, .msg_iovlen = 1 } },
				{ .msg_hdr = { .msg_iov = out + 1, .msg_iovlen = 2 } } }, n[3];
	struct timespec sec = { 10, 0 };
	int pair[2];

	memset(n, 0, sizeof(n));
	for (int i = 0; i < 3; i++)
		n[i].msg_hdr = (struct msghdr){ .msg_iov = in + i, .msg_iovlen = 1 };
	CALL(socketpair, AF_UNIX, SOCK_DGRAM, 0, pair);
	CALL(sendmmsg, pair[0], m, 3, 0);
	CALL(recvmmsg, pair[1], n, 2, 0, &sec);
	CALL(recvmmsg, pair[1], n, 3, MSG_DONTWAIT, NULL);
	CALL(recvmmsg, pair[1], n, 3, MSG_DONTWAIT, NULL);
	CALL(sendmmsg, 99, m, 3, 0);
	CALL(sendmsg, pair[0], &m[0].msg_hdr, 0);
	CALL(recvmsg, pair[1], &n[0].msg_hdr, 0);
}

int main(void)
{
	struct sigaction sa = { .sa_handler = on_signal };
	int pipes[2];

	MARK();
	if (pipe2(pipes, 0) < 0 || sigaction(SIGALRM, &sa, NULL) < 0)
		return 1;
	wait_for(pipes[0], pipes[1]);
	wait_by_epoll(pipes[0], pipes[1]);
	break_off(pipes[0]);
	send_several();
	MARK();
	return 0;
}
