// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Makes the system calls of 32-bit programs from a program of 64 bits, which needs no 32-bit library: by their own
 * gate, with all that is passed below 4 GB. Between two marks. Ends with 77 where the kernel has no such calls.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static sigjmp_buf no_gate;

static void on_fault(int signo)
{
	(void)signo;
	siglongjmp(no_gate, 1);
}

#if defined(__x86_64__)
static long call(long nr, long a, long b, long c, long d, long e)
{
	long ret;

	__asm__ volatile("int $0x80" : "=a"(ret) : "0"(nr), "b"(a), "c"(b), "d"(c), "S"(d), "D"(e) :
			 "memory", "r8", "r9", "r10", "r11");
	return ret;
}
#else
static long call(long nr, long a, long b, long c, long d, long e)
{
	(void)nr, (void)a, (void)b, (void)c, (void)d, (void)e;
	return -ENOSYS;
}
#endif

/* Memory below 4 GB. */
struct low {
	char path[64], room[256], name[16];
	int32_t time[2], timeval[2], itimer[4];
	int64_t time64[2];
	uint32_t limit[2], iov[4], pair[2];
	struct { uint32_t name, namelen, iov, iovlen, control, controllen, flags, len; } msg[2];
	struct { int32_t fd; uint16_t events, revents; } poll[2];
	uint32_t set[4];
	uint8_t addr[16];
	uint64_t off;
};

#define P(member) ((long)(uintptr_t)&low->member)
#define C(nr, ...) C_(nr, ##__VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define C_(nr, a, b, c, d, e, ...) call(nr, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e))

static void files(struct low *low)
{
	long fd;

	strcpy(low->path, "/dev/null");
	fd = C(295, -100, P(path), 2, 0);	/* openat */
	C(106, P(path), P(room));		/* stat */
	C(108, fd, P(room));			/* fstat */
	C(197, fd, P(room));			/* fstat64 */
	C(300, -100, P(path), P(room), 0);	/* fstatat64 */
	C(4, fd, P(path), 9);			/* write */
	low->iov[0] = (uint32_t)P(path);
	low->iov[1] = 5;
	low->iov[2] = (uint32_t)P(path[5]);
	low->iov[3] = 4;
	C(146, fd, P(iov), 2);			/* writev */
	C(19, fd, 0, 0);			/* lseek */
	C(76, 7, P(limit));			/* getrlimit */
	C(6, fd);				/* close */
}

static void times(struct low *low)
{
	low->time[1] = 1000;
	C(162, P(time), 0);			/* nanosleep */
	C(265, 1, P(time));			/* clock_gettime */
	C(403, 1, P(time64));			/* clock_gettime64 */
	C(78, P(timeval), 0);			/* gettimeofday */
	low->itimer[2] = 3000;
	low->itimer[3] = 4;
	C(104, 0, P(itimer), 0);		/* setitimer */
	low->itimer[2] = low->itimer[3] = 0;
	C(104, 0, P(itimer), 0);
}

static void sockets(struct low *low)
{
	static const uint8_t addr[16] = { 2, 0, 0, 9, 127, 0, 0, 1 };
	long fd = C(359, 2, 2, 0);		/* socket */

	memcpy(low->addr, addr, sizeof(addr));
	C(362, fd, P(addr), 16);		/* connect */
	C(6, fd);
	C(360, 1, 2, 0, P(pair));		/* socketpair */
	for (int i = 0; i < 2; i++) {
		low->msg[i].iov = (uint32_t)P(iov) + 8 * (uint32_t)i;
		low->msg[i].iovlen = 1;
	}
	C(370, low->pair[0], P(msg), 0);	/* sendmsg */
	C(345, low->pair[0], P(msg), 2, 0);	/* sendmmsg */
	low->poll[0].fd = (int32_t)low->pair[1];
	low->poll[0].events = 1;
	C(168, P(poll), 1, 1000);		/* poll */
	low->set[0] = 1u << low->pair[1];
	low->timeval[0] = 9;
	low->timeval[1] = 0;
	C(142, low->pair[1] + 1, P(set), 0, 0, P(timeval));	/* _newselect */
	low->iov[0] = (uint32_t)P(room);
	low->iov[1] = 64;
	C(372, low->pair[1], P(msg), 0);	/* recvmsg */
}

int main(void)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT;
	struct low *low = mmap(NULL, sizeof(*low), PROT_READ | PROT_WRITE, flags, -1, 0);

	signal(SIGSEGV, on_fault);
	if (low == MAP_FAILED || sigsetjmp(no_gate, 1) || C(20) != getpid())
		return 77;
	syscall(SYS_close, -77);
	files(low);
	times(low);
	sockets(low);
	syscall(SYS_close, -77);
	return 0;
}
