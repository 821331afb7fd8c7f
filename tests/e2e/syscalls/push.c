// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A process, its child under another name and a thread with a name of its own: calls that fail and succeed, quick and
 * slow ones. For filters of every kind.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/socket.h>
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
