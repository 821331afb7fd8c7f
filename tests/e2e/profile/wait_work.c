// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program that waits in known ways for known wakers. Until it reads a line it sleeps in short turns, so that
 * somebody who watches can be seen to watch; then it waits once in each way and prints for each a line:
 *   kind, waiting thread, process and thread of the waker (0: an interrupt, or it does not matter), begin and end
 *   (CLOCK_BOOTTIME, ns)
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WAIT_US 8000

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static long check(long r, const char *what)
{
	if (r < 0)
		die(what);
	return r;
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Shared with children: what the helper of a case does, and who it was. */
static struct shared {
	volatile pid_t pid, tid;
	uint32_t futex;
	volatile pid_t waiter;		/* a thread that is to sleep before the helper acts */
} *shared;

static int fds[2];
static pid_t waiter;

static bool is_asleep(pid_t tid)
{
	char path[64], text[256] = "";
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	return strstr(text, ") S") || strstr(text, ") D");
}

/* However long a busy host keeps it from its CPU. */
static void until_asleep(pid_t tid)
{
	do
		usleep(WAIT_US);
	while (!is_asleep(tid));
}

static void *in_thread(void *act)
{
	until_asleep(shared->waiter);
	shared->pid = getpid();
	shared->tid = gettid();
	((void (*)(void))act)();
	return NULL;
}

static void report(const char *kind, pid_t tid, bool waker, uint64_t begin, uint64_t end)
{
	printf("%s %d %d %d %llu %llu\n", kind, tid, waker ? shared->pid : 0, waker ? shared->tid : 0,
	       (unsigned long long)begin, (unsigned long long)end);
	fflush(stdout);
}

/* @wait in this thread, ended by @act in another thread or, if @process, another process. */
static void one(const char *kind, void (*wait)(void), void (*act)(void), bool process)
{
	uint64_t begin = now(), end;
	pthread_t thread;
	pid_t pid = 0;

	shared->waiter = gettid();
	if (process) {
		pid = (pid_t)check(fork(), "fork");
		if (!pid) {
			in_thread(act);
			_exit(0);
		}
	} else {
		pthread_create(&thread, NULL, in_thread, act);
	}
	wait();
	end = now();
	report(kind, gettid(), true, begin, end);
	if (process)
		waitpid(pid, NULL, 0);
	else
		pthread_join(thread, NULL);
}

static char page[1 << 16];

static void read_one(void) { check(read(fds[0], page, 1), "read"); }
static void write_one(void) { check(write(fds[1], page, 1), "write"); }
static void write_much(void) { check(write(fds[1], page, sizeof(page)), "write"); }
static void read_much(void)
{
	for (int i = 0; i < 64 && read(fds[0], page, sizeof(page)) == sizeof(page); i++)
		;
}

static void fill(int fd)
{
	fcntl(fd, F_SETFL, O_NONBLOCK);
	while (write(fd, page, sizeof(page)) > 0)
		;
	while (write(fd, page, 1) > 0)
		;
	fcntl(fd, F_SETFL, 0);
}

static void close_both(void)
{
	close(fds[0]);
	close(fds[1]);
}

static void pipes(void)
{
	check(pipe(fds), "pipe");
	one("pipe-read", read_one, write_one, false);
	fill(fds[1]);
	fcntl(fds[0], F_SETFL, O_NONBLOCK);
	one("pipe-write", write_one, read_much, false);
	close_both();
}

static void futex_wait(void) { syscall(SYS_futex, &shared->futex, FUTEX_WAIT, 0, NULL, NULL, 0); }
static void futex_wake(void)
{
	shared->futex = 1;
	syscall(SYS_futex, &shared->futex, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void receive(void) { check(recv(fds[0], page, 1, 0), "recv"); }

static struct sockaddr_un addr = { .sun_family = AF_UNIX };
static void connect_it(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	check(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), "connect");
}
static void accept_it(void) { close((int)check(accept(fds[0], NULL, NULL), "accept")); }

static void sockets(void)
{
	check(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), "socketpair");
	one("socket-read", read_one, write_one, true);
	one("socket-read", receive, write_one, false);
	fill(fds[1]);
	fcntl(fds[0], F_SETFL, O_NONBLOCK);
	one("socket-write", write_much, read_much, true);
	close_both();
	snprintf(addr.sun_path + 1, sizeof(addr.sun_path) - 1, "wait_work %d", getpid());
	fds[0] = socket(AF_UNIX, SOCK_STREAM, 0);
	check(bind(fds[0], (struct sockaddr *)&addr, sizeof(addr)), "bind");
	check(listen(fds[0], 0), "listen");
	one("accept", accept_it, connect_it, true);
	connect_it();	/* the queue is full now */
	one("connect", connect_it, accept_it, false);
	close(fds[0]);
}

static int epfd;
static void epoll_it(void)
{
	struct epoll_event ev;

	check(epoll_wait(epfd, &ev, 1, -1), "epoll_wait");
}
static void poll_it(void)
{
	struct pollfd p = { .fd = fds[0], .events = POLLIN };

	check(poll(&p, 1, -1), "poll");
}

static void polls(void)
{
	struct epoll_event ev = { .events = EPOLLIN };

	check(pipe(fds), "pipe");
	epfd = epoll_create1(0);
	check(epoll_ctl(epfd, EPOLL_CTL_ADD, fds[0], &ev), "epoll_ctl");
	one("poll", epoll_it, write_one, false);
	read_one();
	one("poll", poll_it, write_one, true);
	close_both();
}

static void nothing(void) { }

static void children(void)
{
	uint64_t begin = now();
	pid_t pid = (pid_t)check(fork(), "fork");

	if (!pid) {
		in_thread(nothing);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	report("child", gettid(), true, begin, now());
}

static void stops(void)
{
	uint64_t begin = now();
	pid_t pid = (pid_t)check(fork(), "fork");
	int status;

	if (!pid) {
		raise(SIGSTOP);
		_exit(0);
	}
	waitpid(pid, &status, WUNTRACED);
	usleep(WAIT_US);
	shared->pid = shared->tid = getpid();
	kill(pid, SIGCONT);
	waitpid(pid, &status, 0);
	report("stopped", pid, true, begin, now());
}

static void timers(void)
{
	const struct timespec t = { .tv_nsec = WAIT_US * 1000 };
	uint64_t begin = now();

	nanosleep(&t, NULL);
	report("timer", gettid(), false, begin, now());
}

static void wait_signal(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigwaitinfo(&set, NULL);
}
static void send_signal(void) { syscall(SYS_tgkill, getpid(), waiter, SIGUSR1); }

static void signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	waiter = gettid();
	one("signal", wait_signal, send_signal, false);
}

static void lock(void) { check(flock(fds[0], LOCK_EX), "flock"); }
static void unlock(void) { check(flock(fds[1], LOCK_UN), "flock"); }

static void file_locks(const char *path)
{
	fds[0] = (int)check(open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600), "open");
	fds[1] = (int)check(open(path, O_RDWR | O_CLOEXEC), "open");
	flock(fds[1], LOCK_EX);
	one("lock", lock, unlock, true);
	close_both();
}

/* ---- page faults, and a lock that is held during one ---- */

static int uffd;
static char *region;
static volatile pid_t second_reader_tid;
static volatile bool is_reading;

static void fault_register(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };

	uffd = (int)check(syscall(SYS_userfaultfd, O_CLOEXEC), "userfaultfd");
	check(ioctl(uffd, UFFDIO_API, &api), "UFFDIO_API");
	region = mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	reg.range.start = (uintptr_t)region;
	reg.range.len = 2 * 4096;
	check(ioctl(uffd, UFFDIO_REGISTER, &reg), "UFFDIO_REGISTER");
}

static void resolve(unsigned i)
{
	struct uffdio_copy copy = {
		.dst = (uintptr_t)region + i * 4096, .src = (uintptr_t)page, .len = 4096,
	};

	check(ioctl(uffd, UFFDIO_COPY, &copy), "UFFDIO_COPY");
}

static void resolve_first(void) { resolve(0); }
static void resolve_second(void)
{
	while (!second_reader_tid)
		usleep(WAIT_US);
	until_asleep(second_reader_tid);
	resolve(1);
}
static void touch(void) { *(volatile char *)region = 1; }
static void read_into_page(void)
{
	is_reading = true;
	check(read(fds[0], region + 4096, 1), "read");
}

struct locked {
	pid_t tid;
	uint64_t begin, end;
};

static void *second_reader(void *arg)
{
	struct locked *l = arg;
	char c;

	while (!is_reading)
		usleep(WAIT_US);
	until_asleep(getpid());
	l->tid = gettid();
	l->begin = now();
	second_reader_tid = l->tid;
	check(read(fds[0], &c, 1), "read");	/* the first reader holds the lock of the file's position */
	l->end = now();
	return NULL;
}

static void faults(const char *path)
{
	struct locked l;
	pthread_t second;

	fault_register();
	one("page-fault", touch, resolve_first, false);
	fds[0] = fds[1] = (int)check(open(path, O_RDWR | O_CLOEXEC), "open");
	check(write(fds[0], page, 100), "write");
	lseek(fds[0], 0, SEEK_SET);
	pthread_create(&second, NULL, second_reader, &l);
	one("page-fault", read_into_page, resolve_second, false);
	pthread_join(second, NULL);
	shared->pid = getpid();
	shared->tid = gettid();
	report("lock", l.tid, true, l.begin, l.end);
	close(fds[0]);
}

/* The waker is the disk. On a file system in memory nothing is waited for. */
static void disk(const char *path)
{
	int fd = (int)check(open(path, O_RDWR | O_CLOEXEC), "open");
	uint64_t begin = now();

	check(write(fd, page, sizeof(page)), "write");
	fsync(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	check(pread(fd, page, sizeof(page), 0), "pread");
	report("disk", gettid(), false, begin, now());
	close(fd);
}

int main(int argc, char **argv)
{
	struct pollfd in = { .fd = 0, .events = POLLIN };

	if (argc != 2)
		return 2;
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	while (poll(&in, 1, 0) == 0)
		usleep(1000);
	pipes();
	one("futex", futex_wait, futex_wake, false);
	sockets();
	polls();
	children();
	stops();
	timers();
	signals();
	file_locks(argv[1]);
	faults(argv[1]);
	disk(argv[1]);
	return 0;
}
