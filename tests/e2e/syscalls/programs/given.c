// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Calls whose arguments are not what they were by the time the call is left: the kernel writes over them before
 * anybody returns, in the caller and in the task that shares its memory. Each must be shown as it was given.
 */
#define _GNU_SOURCE
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Without a function of its own: two tasks return from this on one stack. */
static inline __attribute__((always_inline)) long raw(long nr, long a, long b)
{
#if defined(__x86_64__)
	long r;

	__asm__ volatile("syscall" : "=a"(r) : "a"(nr), "D"(a), "S"(b) : "rcx", "r11", "memory");
	return r;
#else
	register long x8 __asm__("x8") = nr, x0 __asm__("x0") = a, x1 __asm__("x1") = b;

	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1) : "memory");
	return x0;
#endif
}

/* The number of the new task goes where its flags were. */
static void make(uint64_t flags)
{
	struct clone_args a = { .flags = flags | CLONE_PARENT_SETTID, .exit_signal = SIGCHLD };

	a.parent_tid = (uintptr_t)&a.flags;
	if (raw(SYS_clone3, (long)&a, sizeof(a)) == 0)
		raw(SYS_exit_group, 0, 0);
	wait(NULL);
}

int main(void)
{
	struct timeval tv = { .tv_sec = 7 };
	struct timespec ts = { .tv_sec = 8 };
	struct pollfd none = { .fd = -1 };
	int fds[2], other[2];
	fd_set set;

	make(CLONE_VM | CLONE_VFORK);
	make(CLONE_VFORK);
	if (pipe(fds) < 0 || pipe(other) < 0 || write(fds[1], "x", 1) != 1)
		return 1;
	FD_ZERO(&set);
	FD_SET(fds[0], &set);
	FD_SET(other[0], &set);
	if (syscall(SYS_pselect6, other[1] + 1, &set, NULL, NULL, &ts, NULL) != 1 || FD_ISSET(other[0], &set))
		return 1;
	ts = (struct timespec){ .tv_nsec = 1000000 };
	if (syscall(SYS_ppoll, &none, 1, &ts, NULL, 8) != 0 || ts.tv_nsec)
		return 1;
#ifdef SYS_select
	FD_SET(other[0], &set);
	if (syscall(SYS_select, other[1] + 1, &set, NULL, NULL, &tv) != 1 || FD_ISSET(other[0], &set))
		return 1;
#endif
	(void)tv;
	return 0;
}
