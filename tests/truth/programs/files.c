// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Workers that get, pass and lose descriptors in every way, and read from them. Each read asks for 1000 + K bytes,
 * K being the row of the log that says which file the descriptor means: as fstat(), /proc/self/fd and SO_COOKIE say.
 *
 *	files FOLDER WORKERS STEPS READS SEED
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define SLOTS 48
#define FIRST 1000
#define RANGE 300	/* descriptors from here are for close_range */
#define PARENT_FILES 3
#define LOG_FD 900
#define SOCKET_FD 901	/* to the next worker */
#define PEER_FD 902	/* from the worker before */

static char folder[4000];
static int slots[SLOTS], rows_of[SLOTS], n_slots, row, reads, parent_fds[PARENT_FILES];
static char buffer[1 << 20];

static void write_row(int fd, int k)
{
	char link[64], path[4096] = "", line[5000], address[INET_ADDRSTRLEN + 8] = "";
	struct sockaddr_in sin = { 0 };
	unsigned long long cookie = 0;
	socklen_t len = sizeof(cookie), sin_len = sizeof(sin);
	struct stat st = { 0 };
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n < 0 ? 0 : n] = 0;
	if (fstat(fd, &st) || getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &len))
		cookie = 0;
	if (!getsockname(fd, (struct sockaddr *)&sin, &sin_len) && sin.sin_family == AF_INET) {
		inet_ntop(AF_INET, &sin.sin_addr, address, INET_ADDRSTRLEN);
		snprintf(address + strlen(address), 8, ":%u", ntohs(sin.sin_port));
	}
	n = snprintf(line, sizeof(line),
		     "{\"pid\": %d, \"k\": %d, \"fd\": %d, \"dev\": %llu, \"ino\": %llu, \"mode\": %u, "
		     "\"cookie\": %llu, \"address\": \"%s\", \"path\": \"%s\"}\n",
		     getpid(), k, fd, (unsigned long long)st.st_dev, (unsigned long long)st.st_ino, st.st_mode,
		     cookie, address, path);
	if (write(LOG_FD, line, (size_t)n) != n)
		_exit(3);
}

static void forget(int i)
{
	close(slots[i]);
	n_slots--;
	slots[i] = slots[n_slots];
	rows_of[i] = rows_of[n_slots];
}

static void take(int fd)
{
	if (fd < 0)
		return;
	if (n_slots == SLOTS)
		forget((int)(random() % SLOTS));
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	slots[n_slots] = fd;
	rows_of[n_slots++] = row;
	write_row(fd, row++);
}

static void use(void)
{
	for (int i = 0; i < reads && n_slots; i++) {
		const int at = (int)(random() % n_slots);

		syscall(SYS_read, slots[at], buffer, FIRST + rows_of[at]);
	}
}

static int open_file(int flags)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/file%ld", folder, random() % 40);
	return open(path, flags, 0600);
}

static int inet_socket(void)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const int fd = socket(AF_INET, SOCK_DGRAM | (random() % 2 ? SOCK_CLOEXEC : 0), 0);

	return bind(fd, (struct sockaddr *)&sin, sizeof(sin)) ? -1 : fd;
}

static void two(int kind)
{
	int fds[2];

	if (kind ? pipe2(fds, O_CLOEXEC) : socketpair(AF_UNIX, SOCK_STREAM, 0, fds))
		return;
	take(fds[0]);
	take(fds[1]);
}

static int anonymous(void)
{
	switch (random() % 4) {
	case 0: return eventfd(0, EFD_CLOEXEC);
	case 1: return epoll_create1(0);
	case 2: return memfd_create("memory", 0);
	default: return timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	}
}

/* Duplicates @fd onto a descriptor that is another slot's: that one means another file now. */
static void duplicate(int fd)
{
	const int at = (int)(random() % n_slots);

	if (slots[at] == fd || dup3(fd, slots[at], random() % 2 ? O_CLOEXEC : 0) < 0)
		return;
	rows_of[at] = row;
	write_row(slots[at], row++);
}

static void send_one(int fd)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 }, byte = 'x';
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(int));
	sendmsg(SOCKET_FD, &msg, MSG_DONTWAIT);
}

static void receive_one(void)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 }, byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *c;
	int fd;

	if (recvmsg(PEER_FD, &msg, MSG_DONTWAIT | (random() % 2 ? MSG_CMSG_CLOEXEC : 0)) < 1)
		return;
	c = CMSG_FIRSTHDR(&msg);
	if (!c || c->cmsg_type != SCM_RIGHTS)
		return;
	memcpy(&fd, CMSG_DATA(c), sizeof(int));
	take(fd);
}

static void take_from_parent(void)
{
	const int pidfd = (int)syscall(SYS_pidfd_open, getppid(), 0);

	take((int)syscall(SYS_pidfd_getfd, pidfd, parent_fds[random() % PARENT_FILES], 0));
	close(pidfd);
}

/* Some descriptors of a high range mean files, are closed at once, and mean other files. */
static void close_some(void)
{
	int at;

	for (int turn = 0; turn < 2; turn++) {
		for (int i = 0; i < 3; i++) {
			const int fd = open_file(O_RDWR | O_CREAT);

			at = fcntl(fd, F_DUPFD, RANGE);
			close(fd);
			write_row(at, row);
			syscall(SYS_read, at, buffer, FIRST + row++);
		}
		syscall(SYS_close_range, RANGE, LOG_FD - 1, 0);
	}
	for (int i = n_slots - 1; i >= 0; i--)
		if (slots[i] >= RANGE && slots[i] < LOG_FD)
			forget(i);
}

/* After an exec or in a child: what is open is what /proc says. */
static void look_again(void)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;

	n_slots = 0;
	while ((e = readdir(d))) {
		const int fd = atoi(e->d_name);

		if (fd > 2 && fd < LOG_FD && fd != dirfd(d))
			take(fd);
	}
	closedir(d);
}

static void in_child(void)
{
	const pid_t child = fork();

	if (!child) {
		row = 0;
		look_again();
		use();
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

static void become_again(int steps)
{
	char words[6 + PARENT_FILES][24];
	char *argv[] = { "files", "again", folder, words[0], words[1], words[2], words[3], words[4], words[5],
			 words[6], NULL };
	const long values[] = { steps, reads, random(), row, parent_fds[0], parent_fds[1], parent_fds[2] };

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		snprintf(words[i], sizeof(words[i]), "%ld", values[i]);
	execv("/proc/self/exe", argv);
	_exit(4);
}

static void step(int left)
{
	const int some = n_slots ? slots[random() % n_slots] : -1;

	switch (random() % 16) {
	case 0: case 1: take(open_file(O_RDWR | O_CREAT)); break;
	case 2: case 3: take(open_file(O_RDWR | O_CREAT | O_CLOEXEC)); break;
	case 4: take(inet_socket()); break;
	case 5: two(0); break;
	case 6: two(1); break;
	case 7: take(anonymous()); break;
	case 8: if (n_slots > 1) duplicate(some); break;
	case 9: case 10: if (some >= 0) send_one(some); break;
	case 11: case 12: receive_one(); break;
	case 13: take_from_parent(); break;
	case 14: close_some(); break;
	default:
		switch (random() % 4) {
		case 0: become_again(left - 1); break;
		case 1: in_child(); break;
		default: if (n_slots) forget((int)(random() % n_slots));
		}
	}
}

static void open_log(void)
{
	char path[4200];
	int fd;

	snprintf(path, sizeof(path), "%s/%d", getenv("TRUTH"), getpid());
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
	dup3(fd, LOG_FD, 0);
	close(fd);
}

static int work(int steps)
{
	for (; steps > 0; steps--) {
		step(steps);
		use();
	}
	return 0;
}

/* Files that only the parent has open, for pidfd_getfd; made after the workers, which learn the numbers. */
static int parent(int workers, int ring[][2], int control[][2])
{
	int status, bad = 0;

	for (int i = 0; i < PARENT_FILES; i++)
		parent_fds[i] = i ? open_file(O_RDWR | O_CREAT) : inet_socket();
	for (int i = 0; i < workers; i++)
		if (write(control[i][1], parent_fds, sizeof(parent_fds)) != sizeof(parent_fds))
			return 5;
	for (int i = 0; i < workers; i++) {
		close(ring[i][0]);
		close(ring[i][1]);
	}
	while (wait(&status) > 0)
		bad |= status;
	return bad ? 6 : 0;
}

static int worker(int i, int workers, int ring[][2], int control[][2], int steps, unsigned int seed)
{
	open_log();
	dup3(ring[i][0], SOCKET_FD, 0);
	dup3(ring[(i + workers - 1) % workers][1], PEER_FD, 0);
	if (read(control[i][0], parent_fds, sizeof(parent_fds)) != sizeof(parent_fds))
		return 7;
	syscall(SYS_close_range, 3, LOG_FD - 1, 0);
	srandom(seed + (unsigned)i);
	return work(steps);
}

int main(int argc, char **argv)
{
	int ring[64][2], control[64][2], workers;

	if (argc == 10 && !strcmp(argv[1], "again")) {
		snprintf(folder, sizeof(folder), "%s", argv[2]);
		reads = atoi(argv[4]);
		srandom((unsigned)atol(argv[5]));
		row = atoi(argv[6]);
		for (int i = 0; i < PARENT_FILES; i++)
			parent_fds[i] = atoi(argv[7 + i]);
		look_again();
		return work(atoi(argv[3]));
	}
	if (argc != 6)
		return 2;
	snprintf(folder, sizeof(folder), "%s", argv[1]);
	workers = atoi(argv[2]);
	reads = atoi(argv[4]);
	for (int i = 0; i < workers; i++)
		if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ring[i]) || pipe(control[i]))
			return 8;
	for (int i = 0; i < workers; i++)
		if (!fork())
			return worker(i, workers, ring, control, atoi(argv[3]), (unsigned)atol(argv[5]));
	return parent(workers, ring, control);
}
