// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Decides the kind of a wait. The state suffices for threads that were stopped, ready to run, or waiting for a lock.
 * Else the functions on the kernel stack decide, and without a stack the system call, as far as it leaves no choice:
 * an interruptible sleep in read(2) of a pipe waits for the pipe, an uninterruptible sleep may wait for memory.
 */
#include "probes/cpu/cpu_wait.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "event/event.h"
#include "event/names.h"
#include "probes/cpu/cpu_event.h"
#include "probes/cpu/cpu_wire.h"
#include "sonde/wire.h"

static const struct xlat_val kind_vals[] = {
	{ CPU_WAIT_UNKNOWN, "unknown" }, { CPU_WAIT_CPU, "cpu" }, { CPU_WAIT_SOCKET_READ, "socket-read" },
	{ CPU_WAIT_SOCKET_WRITE, "socket-write" }, { CPU_WAIT_ACCEPT, "accept" }, { CPU_WAIT_CONNECT, "connect" },
	{ CPU_WAIT_POLL, "poll" }, { CPU_WAIT_FUTEX, "futex" }, { CPU_WAIT_PIPE_READ, "pipe-read" },
	{ CPU_WAIT_PIPE_WRITE, "pipe-write" }, { CPU_WAIT_DISK, "disk" }, { CPU_WAIT_FAULT, "page-fault" },
	{ CPU_WAIT_TIMER, "timer" }, { CPU_WAIT_CHILD, "child" }, { CPU_WAIT_LOCK, "lock" },
	{ CPU_WAIT_SIGNAL, "signal" }, { CPU_WAIT_STOPPED, "stopped" }, { CPU_WAIT_OTHER, "other" },
	{ CPU_WAIT_THROTTLED, "throttled" }, { CPU_WAIT_RECLAIM, "reclaim" },
};
_Static_assert(ARRAY_SIZE(kind_vals) == CPU_WAIT__MAX, "each kind has a name");
const struct xlat cpu_wait_kind_xlat = { .name = "wait_kind", .vals = kind_vals, .n = ARRAY_SIZE(kind_vals) };

static const struct xlat_val by_vals[] = {
	{ CPU_BY_STATE, "state" }, { CPU_BY_STACK, "stack" }, { CPU_BY_CALL, "call" },
	{ CPU_BY_NO_STACK, "no-stack" }, { CPU_BY_NO_FILE, "no-file" }, { CPU_BY_NOT_RECORDED, "not-recorded" },
};
_Static_assert(ARRAY_SIZE(by_vals) == CPU_BY__MAX, "each source has a name");
const struct xlat cpu_wait_by_xlat = { .name = "wait_kind_by", .vals = by_vals, .n = ARRAY_SIZE(by_vals) };

/* ---- kernel stack ---- */

/* Kernel functions in which threads wait, of 5.10 to 6.18, sorted by name. */
static const struct place {
	const char *func;
	enum cpu_wait_kind kind;
} places[] = {
	{ "__do_fault", CPU_WAIT_FAULT },
	{ "__do_sys_pause", CPU_WAIT_SIGNAL },
	{ "__do_wait", CPU_WAIT_CHILD },
	{ "__futex_wait", CPU_WAIT_FUTEX },
	{ "__handle_mm_fault", CPU_WAIT_FAULT },
	{ "__lock_sock", CPU_WAIT_LOCK },
	{ "__sys_accept4", CPU_WAIT_ACCEPT },
	{ "__sys_connect", CPU_WAIT_CONNECT },
	{ "__unix_dgram_recvmsg", CPU_WAIT_SOCKET_READ },
	{ "__x64_sys_pause", CPU_WAIT_SIGNAL },
	{ "_do_fork", CPU_WAIT_CHILD },
	{ "anon_pipe_read", CPU_WAIT_PIPE_READ },
	{ "anon_pipe_write", CPU_WAIT_PIPE_WRITE },
	{ "blk_execute_rq", CPU_WAIT_DISK },
	{ "do_accept", CPU_WAIT_ACCEPT },
	{ "do_epoll_wait", CPU_WAIT_POLL },
	{ "do_freezer_trap", CPU_WAIT_STOPPED },
	{ "do_mem_abort", CPU_WAIT_FAULT },
	{ "do_poll", CPU_WAIT_POLL },
	{ "do_select", CPU_WAIT_POLL },
	{ "do_signal_stop", CPU_WAIT_STOPPED },
	{ "do_sigtimedwait", CPU_WAIT_SIGNAL },
	{ "do_sys_poll", CPU_WAIT_POLL },
	{ "do_try_to_free_pages", CPU_WAIT_RECLAIM },
	{ "do_user_addr_fault", CPU_WAIT_FAULT },
	{ "do_wait", CPU_WAIT_CHILD },
	{ "ep_poll", CPU_WAIT_POLL },
	{ "exc_page_fault", CPU_WAIT_FAULT },
	{ "fcntl_setlk", CPU_WAIT_LOCK },
	{ "fifo_pipe_read", CPU_WAIT_PIPE_READ },
	{ "fifo_pipe_write", CPU_WAIT_PIPE_WRITE },
	{ "flock_lock_inode_wait", CPU_WAIT_LOCK },
	{ "futex_lock_pi", CPU_WAIT_FUTEX },
	{ "futex_wait", CPU_WAIT_FUTEX },
	{ "futex_wait_multiple", CPU_WAIT_FUTEX },
	{ "futex_wait_queue", CPU_WAIT_FUTEX },
	{ "futex_wait_queue_me", CPU_WAIT_FUTEX },
	{ "futex_wait_requeue_pi", CPU_WAIT_FUTEX },
	{ "handle_mm_fault", CPU_WAIT_FAULT },
	{ "hrtimer_nanosleep", CPU_WAIT_TIMER },
	{ "inet_accept", CPU_WAIT_ACCEPT },
	{ "inet_csk_accept", CPU_WAIT_ACCEPT },
	{ "inet_stream_connect", CPU_WAIT_CONNECT },
	{ "jbd2_log_wait_commit", CPU_WAIT_DISK },
	{ "kernel_clone", CPU_WAIT_CHILD },
	{ "kernel_wait4", CPU_WAIT_CHILD },
	{ "locks_lock_inode_wait", CPU_WAIT_LOCK },
	{ "mem_cgroup_handle_over_high", CPU_WAIT_RECLAIM },
	{ "msleep", CPU_WAIT_TIMER },
	{ "msleep_interruptible", CPU_WAIT_TIMER },
	{ "pipe_read", CPU_WAIT_PIPE_READ },
	{ "pipe_wait_readable", CPU_WAIT_PIPE_READ },
	{ "pipe_wait_writable", CPU_WAIT_PIPE_WRITE },
	{ "pipe_write", CPU_WAIT_PIPE_WRITE },
	{ "poll_schedule_timeout", CPU_WAIT_POLL },
	{ "posix_lock_inode_wait", CPU_WAIT_LOCK },
	{ "ptrace_stop", CPU_WAIT_STOPPED },
	{ "reclaim_throttle", CPU_WAIT_RECLAIM },
	{ "shrink_node", CPU_WAIT_RECLAIM },
	{ "sigsuspend", CPU_WAIT_SIGNAL },
	{ "sk_stream_wait_connect", CPU_WAIT_CONNECT },
	{ "sk_stream_wait_memory", CPU_WAIT_SOCKET_WRITE },
	{ "sk_wait_data", CPU_WAIT_SOCKET_READ },
	{ "sock_alloc_send_pskb", CPU_WAIT_SOCKET_WRITE },
	{ "sock_read_iter", CPU_WAIT_SOCKET_READ },
	{ "sock_recvmsg", CPU_WAIT_SOCKET_READ },
	{ "sock_sendmsg", CPU_WAIT_SOCKET_WRITE },
	{ "sock_write_iter", CPU_WAIT_SOCKET_WRITE },
	{ "submit_bio_wait", CPU_WAIT_DISK },
	{ "tcp_recvmsg", CPU_WAIT_SOCKET_READ },
	{ "tcp_sendmsg", CPU_WAIT_SOCKET_WRITE },
	{ "timerfd_read", CPU_WAIT_TIMER },
	{ "try_to_free_mem_cgroup_pages", CPU_WAIT_RECLAIM },
	{ "try_to_free_pages", CPU_WAIT_RECLAIM },
	{ "unix_accept", CPU_WAIT_ACCEPT },
	{ "unix_stream_connect", CPU_WAIT_CONNECT },
	{ "unix_stream_read_generic", CPU_WAIT_SOCKET_READ },
	{ "unix_stream_sendmsg", CPU_WAIT_SOCKET_WRITE },
};

/* Key of a search: the name of a symbol up to its offset or the compiler's suffix ("pipe_read.cold+0x37"). */
struct symbol {
	const char *name;
	size_t len;
};

static int compare(const void *key, const void *row)
{
	const struct symbol *s = key;
	const struct place *p = row;
	int r = strncmp(s->name, p->func, s->len);

	return r ? r : -(int)(unsigned char)p->func[s->len];
}

static enum cpu_wait_kind kind_of(const char *symbol)
{
	const struct symbol s = { .name = symbol, .len = strcspn(symbol, ".+ ") };
	const struct place *p = bsearch(&s, places, ARRAY_SIZE(places), sizeof(places[0]), compare);

	return p ? p->kind : CPU_WAIT_UNKNOWN;
}

/*
 * Decides by the innermost function of the table. The one exception is waiting for the disk, which the kernel counts
 * itself: its functions are many, and the page fault that it serves is the better answer. Memory that must be freed
 * first is the better answer than both.
 */
static struct cpu_verdict judge_stack(const struct event *ev, bool io)
{
	const struct section *s = event_section(ev, SEC_STACK_KERN);
	const uint64_t *ips = s ? s->data : NULL;
	struct cpu_verdict v = { io ? CPU_WAIT_DISK : CPU_WAIT_UNKNOWN, CPU_BY_NO_STACK };
	bool named = false;

	for (size_t i = 0; i < (s ? s->len / sizeof(*ips) : 0); i++) {
		const char *name = event_names_get(ev->names, SONDE_NAME_KSYM, ips[i]);
		enum cpu_wait_kind kind = name ? kind_of(name) : CPU_WAIT_UNKNOWN;

		named |= name != NULL;
		if (kind == CPU_WAIT_RECLAIM || v.kind == CPU_WAIT_UNKNOWN ||
		    (v.kind == CPU_WAIT_DISK && kind == CPU_WAIT_FAULT))
			v.kind = kind;
	}
	if (named && v.kind == CPU_WAIT_UNKNOWN)
		v.kind = CPU_WAIT_OTHER;
	v.by = named ? CPU_BY_STACK : CPU_BY_NO_STACK;
	return v;
}

/* ---- system call ---- */

#define FILE_FIFO 1	/* S_IFMT >> 12 */
#define FILE_REGULAR 8
#define FILE_SOCKET 12

static struct cpu_verdict judge_file(const struct cpu_wait *w, enum cpu_wait_kind pipe, enum cpu_wait_kind sock)
{
	switch (w->file) {
	case FILE_FIFO: return (struct cpu_verdict){ pipe, CPU_BY_CALL };
	case FILE_SOCKET: return (struct cpu_verdict){ sock, CPU_BY_CALL };
	case FILE_REGULAR: return (struct cpu_verdict){ CPU_WAIT_UNKNOWN, CPU_BY_NO_STACK };
	case CPU_FILE_UNKNOWN: return (struct cpu_verdict){ CPU_WAIT_UNKNOWN, CPU_BY_NO_FILE };
	default: return (struct cpu_verdict){ CPU_WAIT_OTHER, CPU_BY_CALL };
	}
}

/* The call of a thread that sleeps interruptibly. */
static struct cpu_verdict judge_call(const struct cpu_wait *w)
{
	static const enum cpu_wait_kind kinds[CPU_CALL__MAX] = {
		[CPU_CALL_OTHER] = CPU_WAIT_OTHER, [CPU_CALL_SOCKET_READ] = CPU_WAIT_SOCKET_READ,
		[CPU_CALL_SOCKET_WRITE] = CPU_WAIT_SOCKET_WRITE, [CPU_CALL_ACCEPT] = CPU_WAIT_ACCEPT,
		[CPU_CALL_CONNECT] = CPU_WAIT_CONNECT, [CPU_CALL_POLL] = CPU_WAIT_POLL,
		[CPU_CALL_FUTEX] = CPU_WAIT_FUTEX, [CPU_CALL_SLEEP] = CPU_WAIT_TIMER,
		[CPU_CALL_CHILD] = CPU_WAIT_CHILD, [CPU_CALL_SIGNAL] = CPU_WAIT_SIGNAL,
		[CPU_CALL_LOCK] = CPU_WAIT_LOCK,
	};

	if (w->call == CPU_CALL_READ)
		return judge_file(w, CPU_WAIT_PIPE_READ, CPU_WAIT_SOCKET_READ);
	if (w->call == CPU_CALL_WRITE)
		return judge_file(w, CPU_WAIT_PIPE_WRITE, CPU_WAIT_SOCKET_WRITE);
	return (struct cpu_verdict){ kinds[w->call], kinds[w->call] ? CPU_BY_CALL : CPU_BY_NO_STACK };
}

static struct cpu_verdict judge_facts(const struct cpu_block *b, bool io)
{
	const struct cpu_wait *w = &b->wait;

	if (w->call == CPU_CALL_UNKNOWN)
		return (struct cpu_verdict){ CPU_WAIT_UNKNOWN, CPU_BY_NOT_RECORDED };
	if (io && w->call == CPU_CALL_NONE && !(w->flags & (CPU_WAIT_F_KERNEL | CPU_WAIT_F_ENDING)))
		return (struct cpu_verdict){ CPU_WAIT_FAULT, CPU_BY_STATE };
	if (io)
		return (struct cpu_verdict){ CPU_WAIT_DISK, CPU_BY_STATE };
	if (b->body.state == CPU_STATE_SLEEPING)
		return judge_call(w);
	return (struct cpu_verdict){ CPU_WAIT_UNKNOWN, CPU_BY_NO_STACK };
}

struct cpu_verdict cpu_wait_judge(const struct event *ev)
{
	const struct cpu_block *b = ev->body;
	const uint8_t state = b->body.state, flags = b->wait.flags;
	const bool io = state == CPU_STATE_DISK && flags & CPU_WAIT_F_IO;
	struct cpu_verdict v;

	if (state == CPU_STATE_RUNNABLE)
		return (struct cpu_verdict){ flags & CPU_WAIT_F_THROTTLED ? CPU_WAIT_THROTTLED : CPU_WAIT_CPU,
					     CPU_BY_STATE };
	if (state == CPU_STATE_STOPPED || state == CPU_STATE_TRACED || flags & CPU_WAIT_F_FROZEN)
		return (struct cpu_verdict){ CPU_WAIT_STOPPED, CPU_BY_STATE };
	if (flags & CPU_WAIT_F_LOCK)
		return (struct cpu_verdict){ CPU_WAIT_LOCK, CPU_BY_STATE };
	v = judge_stack(ev, io);
	return v.by == CPU_BY_STACK ? v : judge_facts(b, io);
}
