// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A process, its child under another name and a thread with a name of its own: calls that fail and succeed, quick and
 * slow ones. For filters of every kind.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void calls(void)
{
	const struct timespec slow = { .tv_nsec = 60000000 };
	char room[16];
	int fd = open("/dev/zero", O_RDONLY), s = socket(AF_UNIX, SOCK_STREAM, 0);

	for (int i = 0; i < 20; i++) {
		syscall(SYS_read, fd, room, sizeof(room));
		syscall(SYS_getppid);
		syscall(SYS_read, -1, room, sizeof(room));
	}
	open("/nowhere/at/all", O_RDONLY);
	open("/dev/zero/below", O_RDONLY);
	syscall(SYS_lseek, fd, 4096, SEEK_SET);
	nanosleep(&slow, NULL);
	syscall(SYS_write, fd, room, 0);
	close(s);
	close(fd);
}

/* Reads one byte, whatever it is; then says its size. */
static void touch(int fd)
{
	char room[16];
	struct stat st;

	syscall(SYS_read, fd, room, 1);
	syscall(SYS_fstat, fd, &st);
	syscall(SYS_lseek, fd, 0, SEEK_CUR);
}

static void touch_path(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY), copy = dup(fd);

	touch(fd);
	touch(copy);
	syscall(SYS_stat, path, &st);
	syscall(SYS_access, path, R_OK);
	close(fd);
	close(copy);
}

/* Files by all kinds of paths, and descriptors of all kinds. */
static void files(void)
{
	static const char *const paths[] = {
		"/tmp/push/in/one", "/tmp/push/in/two", "/tmp/push/out/three", "/tmp/push//in/one", "/tmp/push/in",
		"/tmp/push/out/../in/two", "/tmp/push/link/one", "one", "../out/three", "/tmp/push/./in/one",
		"/tmp/push/in/pipe", "/tmp/push/gone", "/tmp/push/in/gone", "/tmp/push/indeed", "/dev/zero",
	};
	const struct sockaddr_in any = { .sin_family = AF_INET };
	int ends[2], kinds[8] = { socket(AF_INET, SOCK_DGRAM, 0), socket(AF_INET6, SOCK_DGRAM, 0),
				  socket(AF_UNIX, SOCK_DGRAM, 0), socket(AF_NETLINK, SOCK_RAW, 0), epoll_create1(0),
				  eventfd(1, EFD_NONBLOCK), -1, AT_FDCWD };

	chdir("/tmp/push/in");
	for (unsigned i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		touch_path(paths[i]);
	bind(kinds[0], (const struct sockaddr *)&any, sizeof(any));
	for (int i = 0; i < 4; i++)
		fcntl(kinds[i], F_SETFL, O_NONBLOCK);
	for (int i = 0; i < 8; i++)
		touch(kinds[i]);
	pipe(ends);
	write(ends[1], "x", 1);
	touch(ends[0]);
	/* A number and perhaps an address of before, now another file. */
	for (int i = 0; i < 20; i++)
		touch_path(paths[i % 3]);
	for (int i = 0; i < 6; i++)
		close(kinds[i]);
	close(ends[0]);
	close(ends[1]);
	chdir("/");
}

static void *thread(void *unused)
{
	prctl(PR_SET_NAME, "push-thread");
	calls();
	return unused;
}

int main(void)
{
	pthread_t t;

	calls();
	files();
	if (fork() == 0) {
		prctl(PR_SET_NAME, "push-child");
		calls();
		_exit(3);
	}
	wait(NULL);
	pthread_create(&t, NULL, thread, NULL);
	pthread_join(t, NULL);
	return 0;
}
