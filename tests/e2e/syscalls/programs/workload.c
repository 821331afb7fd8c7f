// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Does a little of everything that a capture must tell: files, sockets of all families, processes, threads, pipes,
 * epoll, signals. For each step it writes a line that a reader of the capture has to show: the event's type, its
 * direction, and what its descriptor is called.
 *
 *	workload SAID DIRECTORY
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static FILE *said;
static const char *dir;

#define MUST(call) do { if ((call) < 0) { perror(#call); exit(1); } } while (0)

/* type, direction, number, letter and name of the descriptor */
static void say(const char *type, char way, int fd, char letter, const char *form, ...)
{
	va_list ap;

	fprintf(said, "%s\t%c\t%d\t%c\t", type, way, fd, letter);
	va_start(ap, form);
	vfprintf(said, form, ap);
	va_end(ap);
	fputc('\n', said);
}

static void files(void)
{
	char path[256], buf[64] = { 0 };
	int fd, copy, sub;

	snprintf(path, sizeof(path), "%s/file", dir);
	MUST(fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0640));
	say("openat", '<', fd, 'f', "%s", path);
	MUST(write(fd, "hello, capture\n", 15));
	say("write", '>', fd, 'f', "%s", path);
	MUST(copy = dup(fd));
	say("dup", '<', copy, 'f', "%s", path);
	MUST(pread(copy, buf, 5, 7));
	say("pread", '>', copy, 'f', "%s", path);
	MUST(lseek(copy, 0, SEEK_SET));
	MUST(read(copy, buf, sizeof(buf)));
	say("read", '>', copy, 'f', "%s", path);
	close(copy);
	say("close", '>', copy, 'f', "%s", path);
	MUST(sub = open(dir, O_RDONLY | O_DIRECTORY));
	say("openat", '<', sub, 'd', "%s", dir);
	close(fd);
	MUST(fd = openat(sub, "file", O_RDONLY));
	say("openat", '<', fd, 'f', "%s", path);
	close(fd);
	close(sub);
	MUST(chdir(dir));
	MUST(fd = open("./file", O_RDONLY));
	say("openat", '<', fd, 'f', "%s", path);
	close(fd);
	if (open("nowhere", O_RDONLY) >= 0)
		exit(1);
}

static void tcp4(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) }, me;
	socklen_t len = sizeof(a);
	int listener, client, server, other;
	char c;

	MUST(listener = socket(AF_INET, SOCK_STREAM, 0));
	MUST(bind(listener, (void *)&a, sizeof(a)));
	MUST(listen(listener, 4));
	MUST(getsockname(listener, (void *)&a, &len));
	MUST(client = socket(AF_INET, SOCK_STREAM, 0));
	MUST(connect(client, (void *)&a, sizeof(a)));
	len = sizeof(me);
	MUST(getsockname(client, (void *)&me, &len));
	say("connect", '<', client, '4', "127.0.0.1:%d->127.0.0.1:%d", ntohs(me.sin_port), ntohs(a.sin_port));
	MUST(server = accept(listener, NULL, NULL));
	say("accept", '<', server, '4', "127.0.0.1:%d->127.0.0.1:%d", ntohs(me.sin_port), ntohs(a.sin_port));
	MUST(send(client, "x", 1, 0));
	say("sendto", '>', client, '4', "127.0.0.1:%d->127.0.0.1:%d", ntohs(me.sin_port), ntohs(a.sin_port));
	MUST(read(server, &c, 1));
	say("read", '>', server, '4', "127.0.0.1:%d->127.0.0.1:%d", ntohs(me.sin_port), ntohs(a.sin_port));
	MUST(other = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
	connect(other, (void *)&a, sizeof(a));
	len = sizeof(me);
	MUST(getsockname(other, (void *)&me, &len));
	MUST(poll(&(struct pollfd){ .fd = other, .events = POLLOUT }, 1, 1000));
	MUST(write(other, "y", 1));
	say("write", '>', other, '4', "127.0.0.1:%d->127.0.0.1:%d", ntohs(me.sin_port), ntohs(a.sin_port));
	close(other);
	MUST(shutdown(client, SHUT_WR));
	say("shutdown", '>', client, '4', "127.0.0.1:*->127.0.0.1:%d", ntohs(a.sin_port));
	close(server);
	close(client);
	close(listener);
}

static void tcp6(void)
{
	struct sockaddr_in6 a = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT }, me;
	socklen_t len = sizeof(a);
	int listener, client, server;

	MUST(listener = socket(AF_INET6, SOCK_STREAM, 0));
	MUST(bind(listener, (void *)&a, sizeof(a)));
	MUST(listen(listener, 4));
	MUST(getsockname(listener, (void *)&a, &len));
	MUST(client = socket(AF_INET6, SOCK_STREAM, 0));
	MUST(connect(client, (void *)&a, sizeof(a)));
	len = sizeof(me);
	MUST(getsockname(client, (void *)&me, &len));
	say("connect", '<', client, '6', "::1:%d->::1:%d", ntohs(me.sin6_port), ntohs(a.sin6_port));
	MUST(server = accept4(listener, NULL, NULL, SOCK_CLOEXEC));
	say("accept", '<', server, '6', "::1:%d->::1:%d", ntohs(me.sin6_port), ntohs(a.sin6_port));
	close(server);
	close(client);
	close(listener);
}

static void udp(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) }, from;
	struct iovec iov = { "three", 5 };
	struct msghdr m = { .msg_name = &a, .msg_namelen = sizeof(a), .msg_iov = &iov, .msg_iovlen = 1 };
	struct mmsghdr many[2] = { { .msg_hdr = m }, { .msg_hdr = m } };
	socklen_t len = sizeof(a);
	char buf[16];
	int to, fd;

	MUST(to = socket(AF_INET, SOCK_DGRAM, 0));
	MUST(bind(to, (void *)&a, sizeof(a)));
	MUST(getsockname(to, (void *)&a, &len));
	MUST(fd = socket(AF_INET, SOCK_DGRAM, 0));
	MUST(sendto(fd, "one", 3, 0, (void *)&a, sizeof(a)));
	len = sizeof(from);
	say("sendto", '<', fd, '4', "*->127.0.0.1:%d", ntohs(a.sin_port));
	MUST(recvfrom(to, buf, sizeof(buf), 0, (void *)&from, &len));
	say("recvfrom", '<', to, '4', "127.0.0.1:%d->127.0.0.1:%d", ntohs(from.sin_port), ntohs(a.sin_port));
	MUST(sendmsg(fd, &m, 0));
	say("sendmsg", '<', fd, '4', "*:%d->127.0.0.1:%d", ntohs(from.sin_port), ntohs(a.sin_port));
	MUST(recvmsg(to, &(struct msghdr){ .msg_iov = &(struct iovec){ buf, 16 }, .msg_iovlen = 1 }, 0));
	MUST(sendmmsg(fd, many, 2, 0));
	close(fd);
	close(to);
}

static void unix_sockets(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int listener, client, server, pair[2];

	snprintf(a.sun_path, sizeof(a.sun_path), "%s/socket", dir);
	MUST(listener = socket(AF_UNIX, SOCK_STREAM, 0));
	MUST(bind(listener, (void *)&a, sizeof(a)));
	MUST(listen(listener, 4));
	MUST(client = socket(AF_UNIX, SOCK_STREAM, 0));
	MUST(connect(client, (void *)&a, sizeof(a)));
	say("connect", '<', client, 'u', "*%s", a.sun_path);
	MUST(server = accept(listener, NULL, NULL));
	say("accept", '<', server, 'u', "*%s", a.sun_path);
	MUST(write(client, "x", 1));
	say("write", '>', client, 'u', "*%s", a.sun_path);
	MUST(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
	MUST(write(pair[0], "x", 1));
	say("write", '>', pair[0], 'u', "*");
	close(pair[0]);
	close(pair[1]);
	close(server);
	close(client);
	close(listener);
}

static void *thread(void *arg)
{
	char path[256];
	int fd;

	prctl(PR_SET_NAME, "second");
	snprintf(path, sizeof(path), "%s/file", dir);
	MUST(fd = open(path, O_RDONLY));
	say("openat", '<', fd, 'f', "%s", path);
	close(fd);
	return arg;
}

static void processes(char **argv)
{
	int ends[2], status;
	pthread_t t;
	pid_t pid;
	char c;

	MUST(pipe(ends));
	say("pipe", '<', ends[1], 'p', "*");
	fflush(said);
	MUST(pid = fork());
	if (!pid) {
		dup2(ends[1], 9);
		MUST(write(9, "x", 1));
		execl("/bin/cat", "cat", "file", (char *)NULL);
		_exit(1);
	}
	MUST(read(ends[0], &c, 1));
	say("read", '>', ends[0], 'p', "*");
	MUST(waitpid(pid, &status, 0));
	close(ends[0]);
	close(ends[1]);
	if (pthread_create(&t, NULL, thread, argv) || pthread_join(t, NULL))
		exit(1);
}

static void on_signal(int signo)
{
	(void)signo;
}

static void waiting(void)
{
	struct itimerspec soon = { .it_value.tv_nsec = 1000000 };
	struct epoll_event e = { .events = EPOLLIN };
	int ep, timer, event;
	uint64_t n = 1;

	MUST(ep = epoll_create1(EPOLL_CLOEXEC));
	MUST(event = eventfd(0, EFD_CLOEXEC));
	say("eventfd", '<', event, 'e', "");
	MUST(timer = timerfd_create(CLOCK_MONOTONIC, 0));
	say("timerfd_create", '<', timer, 't', "");
	MUST(epoll_ctl(ep, EPOLL_CTL_ADD, event, &e));
	MUST(epoll_ctl(ep, EPOLL_CTL_ADD, timer, &e));
	MUST(write(event, &n, sizeof(n)));
	say("write", '>', event, 'e', "");
	MUST(timerfd_settime(timer, 0, &soon, NULL));
	MUST(syscall(SYS_epoll_wait, ep, &e, 1, 1000));
	MUST(read(timer, &n, sizeof(n)));
	say("read", '>', timer, 't', "");
	signal(SIGUSR1, on_signal);
	MUST(kill(getpid(), SIGUSR1));
	close(timer);
	close(event);
	close(ep);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	said = fopen(argv[1], "we");
	dir = argv[2];
	if (!said)
		return 2;
	files();
	tcp4();
	tcp6();
	udp();
	unix_sockets();
	processes(argv);
	waiting();
	return fclose(said) ? 1 : 0;
}
