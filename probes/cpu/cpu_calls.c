// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * System calls in which threads wait, by what they wait for. Calls that this machine's headers lack are left out.
 */
#include "probes/cpu/cpu_calls.h"

#include <sys/syscall.h>

const uint8_t cpu_calls[CPU_CALLS] = {
	[SYS_read] = CPU_CALL_READ,
	[SYS_readv] = CPU_CALL_READ,
	[SYS_pread64] = CPU_CALL_READ,
	[SYS_preadv] = CPU_CALL_READ,
	[SYS_preadv2] = CPU_CALL_READ,
	[SYS_write] = CPU_CALL_WRITE,
	[SYS_writev] = CPU_CALL_WRITE,
	[SYS_pwrite64] = CPU_CALL_WRITE,
	[SYS_pwritev] = CPU_CALL_WRITE,
	[SYS_pwritev2] = CPU_CALL_WRITE,
	[SYS_recvfrom] = CPU_CALL_SOCKET_READ,
	[SYS_recvmsg] = CPU_CALL_SOCKET_READ,
	[SYS_recvmmsg] = CPU_CALL_SOCKET_READ,
	[SYS_sendto] = CPU_CALL_SOCKET_WRITE,
	[SYS_sendmsg] = CPU_CALL_SOCKET_WRITE,
	[SYS_sendmmsg] = CPU_CALL_SOCKET_WRITE,
	[SYS_accept] = CPU_CALL_ACCEPT,
	[SYS_accept4] = CPU_CALL_ACCEPT,
	[SYS_connect] = CPU_CALL_CONNECT,
	[SYS_ppoll] = CPU_CALL_POLL,
	[SYS_pselect6] = CPU_CALL_POLL,
	[SYS_epoll_pwait] = CPU_CALL_POLL,
	[441] = CPU_CALL_POLL,		/* epoll_pwait2: as the next numbers, the same on all machines */
	[SYS_futex] = CPU_CALL_FUTEX,
	[449] = CPU_CALL_FUTEX,		/* futex_waitv */
	[455] = CPU_CALL_FUTEX,		/* futex_wait */
	[SYS_nanosleep] = CPU_CALL_SLEEP,
	[SYS_clock_nanosleep] = CPU_CALL_SLEEP,
	[SYS_wait4] = CPU_CALL_CHILD,
	[SYS_waitid] = CPU_CALL_CHILD,
	[SYS_rt_sigsuspend] = CPU_CALL_SIGNAL,
	[SYS_rt_sigtimedwait] = CPU_CALL_SIGNAL,
	[SYS_flock] = CPU_CALL_LOCK,
	[SYS_fcntl] = CPU_CALL_LOCK,	/* its other commands do not sleep */
	[SYS_splice] = CPU_CALL_SPLICE,
	[SYS_tee] = CPU_CALL_SPLICE,
	[SYS_vmsplice] = CPU_CALL_SPLICE,
	[SYS_sendfile] = CPU_CALL_SPLICE,
	[SYS_clone] = CPU_CALL_CLONE,
	[435] = CPU_CALL_CLONE,		/* clone3 */
#ifdef SYS_poll				/* older machines have these as well */
	[SYS_poll] = CPU_CALL_POLL,
	[SYS_select] = CPU_CALL_POLL,
	[SYS_epoll_wait] = CPU_CALL_POLL,
	[SYS_pause] = CPU_CALL_SIGNAL,
	[SYS_vfork] = CPU_CALL_CLONE,
#endif
};
