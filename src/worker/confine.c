// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The steps that confine a forked process, in a required order: descriptors first (the new user must not have an open
 * directory), capabilities together with the user, then the parent-death signal (the kernel clears it when
 * credentials change), the system-call filter last.
 *
 * Credentials: capabilities(7), credentials(7). Filter: seccomp(2).
 */
#include "worker/confine.h"

#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/rights.h"
#include "base/vec.h"
#include "worker/command_signals.h"
#include "worker/worker_opts.h"

#define NOBODY 65534
#define NETWORK_FDS 64
#define OPENER_FDS 64
#define DEFAULT_MEMORY_BYTES (256ull << 20)

/* Bytes of address space in use; 0 without /proc. */
static uint64_t address_space_bytes(void)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/self/statm", "re");
	unsigned long long pages;

	if (!f || fscanf(f, "%llu", &pages) != 1)
		return 0;
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Duplicates @fd if it is one of 0..2. */
static int above_std(int fd)
{
	return fd > STDERR_FILENO ? fd : fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
}

/* Closes all descriptors above 2 but @keep_fd and those of @o. */
static int close_others(const struct worker_opts *o, int keep_fd)
{
	int keep[WORKER_FDS_MAX + 1] = { keep_fd }, from = STDERR_FILENO + 1;
	size_t n = 1;

	if (o->n_fds > WORKER_FDS_MAX)
		return -E2BIG;
	for (size_t i = 0; i < o->n_fds; i++)
		keep[n++] = o->fds[i];
	qsort(keep, n, sizeof(keep[0]), vec_by_int);
	for (size_t i = 0; i < n; i++) {
		if (keep[i] < from)
			continue;
		if (keep[i] > from && close_range((unsigned)from, (unsigned)keep[i] - 1, 0) < 0)
			return -errno;
		from = keep[i] + 1;
	}
	return close_range((unsigned)from, ~0u, 0) < 0 ? -errno : 0;
}

static int give_up_descriptors(const struct worker_opts *o, int in_fd, int out_fd, int keep_fd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)	/* the parent may be unable to open for writing: run without standard error */
		null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	null = null < 0 ? null : above_std(null);
	out_fd = above_std(out_fd);
	in_fd = in_fd < 0 ? null : above_std(in_fd);
	if (null < 0 || out_fd < 0 || in_fd < 0)
		return -errno;
	if (dup2(in_fd, STDIN_FILENO) < 0 || dup2(out_fd, STDOUT_FILENO) < 0)
		return -errno;
	/* sanitizers report on stderr */
	if (!SANITIZED && dup2(null, STDERR_FILENO) < 0)
		return -errno;
	return close_others(o, keep_fd);
}

static void reset_signals(void)
{
	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);	/* fails for SIGKILL and SIGSTOP, which have no handler */
	command_signals_ignore(NULL);
}

static int give_up_user(const struct worker_opts *o)
{
	int uid = o->uid ? (int)o->uid : NOBODY, gid = o->gid ? (int)o->gid : NOBODY, r;

	if (o->rights)
		return rights_keep(o->rights & rights_permitted(), o->rights & rights_permitted());
	if (o->store) {
		r = geteuid() || !o->gid || (setgroups(0, NULL) == 0 && setgid(o->gid) == 0) ? 0 : -errno;
		return r < 0 ? r : rights_keep(0, 0);
	}
	capng_clear(CAPNG_SELECT_ALL);
	if (geteuid() != 0) {
		/* dropping the bounding set needs CAP_SETPCAP; without it the set is harmless */
		r = capng_apply(CAPNG_SELECT_CAPS);
		return r < 0 ? -EPERM : 0;
	}
	r = capng_change_id(uid, gid, CAPNG_DROP_SUPP_GRP | CAPNG_CLEAR_BOUNDING | CAPNG_CLEAR_AMBIENT);
	return r < 0 ? -EPERM : 0;
}

/* True if the kernel still reports a user, group or capability; does not rely on the library. */
static bool has_rights(const struct worker_opts *o, bool was_root)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	if (o->rights)
		return rights_permitted() & ~o->rights;
	if (syscall(SYS_capget, &header, data) < 0)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(data); i++)
		if (data[i].effective || data[i].permitted || data[i].inheritable)
			return true;
	return was_root && !o->store && (getuid() == 0 || geteuid() == 0);
}

static int limit(int resource, uint64_t value)
{
	struct rlimit r;

	if (getrlimit(resource, &r) < 0)
		return -errno;
	/* the soft limit of CPU time sends SIGXCPU, which names the cause; the hard limit sends SIGKILL */
	r.rlim_max = MIN(resource == RLIMIT_CPU ? value + 1 : value, (uint64_t)r.rlim_max);
	r.rlim_cur = MIN(value, (uint64_t)r.rlim_max);
	return setrlimit(resource, &r) < 0 ? -errno : 0;
}

/* SIGPROF ends the process. */
static int limit_ns(uint64_t cpu_ns)
{
	const struct itimerval t = {
		.it_value.tv_sec = (time_t)(cpu_ns / 1000000000),
		.it_value.tv_usec = (suseconds_t)(cpu_ns % 1000000000 / 1000),
	};

	return setitimer(ITIMER_PROF, &t, NULL) < 0 ? -errno : 0;
}

static int set_limits(const struct worker_opts *o, uint64_t used_bytes)
{
	uint64_t memory = o->memory_bytes ? o->memory_bytes : DEFAULT_MEMORY_BYTES;
	int r = 0;

	if (!SANITIZED)
		r = used_bytes ? limit(RLIMIT_AS, used_bytes + memory) : limit(RLIMIT_DATA, memory);
	if (r == 0 && o->cpu_seconds)
		r = limit(RLIMIT_CPU, o->cpu_seconds);
	if (r == 0 && o->cpu_ns)
		r = limit_ns(o->cpu_ns);
	if (r == 0 && !o->store)
		r = limit(RLIMIT_FSIZE, 0);
	if (r == 0)
		r = limit(RLIMIT_CORE, 0);
	/* counts all processes of the user, and `nobody` may have others */
	if (r == 0 && !o->network && !o->store)
		r = limit(RLIMIT_NPROC, 0);
	/* forbids new descriptors; open ones stay usable */
	return r < 0 ? r : limit(RLIMIT_NOFILE, o->network ? NETWORK_FDS : o->rights || o->asks || o->store ?
							     OPENER_FDS : 0);
}

static int die_with(pid_t parent)
{
	if (prctl(PR_SET_DUMPABLE, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return -errno;
	/* the parent may have exited before the call */
	return getppid() == parent ? 0 : -ESRCH;
}

/* System calls of a parser and malloc. Any other kills the process. */
static const int allowed[] = {
	SCMP_SYS(read), SCMP_SYS(write), SCMP_SYS(readv), SCMP_SYS(writev), SCMP_SYS(pread64), SCMP_SYS(lseek),
	SCMP_SYS(close), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(brk), SCMP_SYS(madvise), SCMP_SYS(exit),
	SCMP_SYS(exit_group), SCMP_SYS(rt_sigreturn), SCMP_SYS(rt_sigprocmask), SCMP_SYS(futex),
	SCMP_SYS(clock_gettime), SCMP_SYS(getrandom), SCMP_SYS(restart_syscall), SCMP_SYS(sched_yield),
	SCMP_SYS(getpid), SCMP_SYS(gettid), SCMP_SYS(select), SCMP_SYS(pselect6),
	SCMP_SYS(sysinfo), /* glibc's qsort() reads the size of the memory */
};

/* Fail, but do not kill: libdw reads the path of a descriptor. */
static const int refused[] = {
#ifdef __NR_readlink
	SCMP_SYS(readlink),
#endif
	SCMP_SYS(readlinkat),
};

/* Further calls of an opener: it finds files, reads their first bytes, passes descriptors. */
static const int allowed_opener[] = {
	SCMP_SYS(openat2), SCMP_SYS(openat), SCMP_SYS(open), SCMP_SYS(fstat), SCMP_SYS(newfstatat), SCMP_SYS(fcntl),
	SCMP_SYS(recvmsg), SCMP_SYS(sendmsg), SCMP_SYS(rt_sigaction),
};

/* Further calls of a writer of stores: src/store, and messages over its sockets. */
static const int allowed_store[] = {
	SCMP_SYS(openat), SCMP_SYS(open), SCMP_SYS(fstat), SCMP_SYS(newfstatat), SCMP_SYS(fstatfs), SCMP_SYS(statfs),
	SCMP_SYS(getdents64), SCMP_SYS(fcntl), SCMP_SYS(flock), SCMP_SYS(pwrite64), SCMP_SYS(ftruncate),
	SCMP_SYS(fchown), SCMP_SYS(fchmod), SCMP_SYS(fsync), SCMP_SYS(fdatasync), SCMP_SYS(renameat),
	SCMP_SYS(renameat2), SCMP_SYS(unlinkat), SCMP_SYS(linkat), SCMP_SYS(mkdir), SCMP_SYS(mkdirat),
	SCMP_SYS(sendfile), SCMP_SYS(memfd_create), SCMP_SYS(uname), SCMP_SYS(clock_nanosleep), SCMP_SYS(nanosleep),
	SCMP_SYS(set_robust_list), SCMP_SYS(rseq), SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigpending), SCMP_SYS(poll),
	SCMP_SYS(ppoll), SCMP_SYS(recvfrom), SCMP_SYS(recvmsg), SCMP_SYS(sendto), SCMP_SYS(sendmsg),
};

/*
 * Further calls of a command that has opened its inputs and outputs: it waits, reads files as an ordinary user (time
 * zones, /proc), starts workers with a narrower filter. Any other call fails with EPERM: a library that starts to use
 * a new call loses a feature, but the command works.
 */
static const int allowed_self[] = {
	SCMP_SYS(fstat), SCMP_SYS(newfstatat), SCMP_SYS(statx), SCMP_SYS(stat), SCMP_SYS(lstat), SCMP_SYS(access),
	SCMP_SYS(faccessat), SCMP_SYS(faccessat2), SCMP_SYS(readlink), SCMP_SYS(readlinkat), SCMP_SYS(getdents64),
	SCMP_SYS(getcwd), SCMP_SYS(memfd_create), SCMP_SYS(ftruncate), SCMP_SYS(fcntl), SCMP_SYS(dup), SCMP_SYS(dup2),
	SCMP_SYS(dup3),
	SCMP_SYS(close_range), SCMP_SYS(pipe2), SCMP_SYS(recvmsg), SCMP_SYS(sendmsg), SCMP_SYS(recvfrom),
	SCMP_SYS(sendto), SCMP_SYS(shutdown), SCMP_SYS(poll), SCMP_SYS(ppoll),
	SCMP_SYS(epoll_create1), SCMP_SYS(epoll_ctl), SCMP_SYS(epoll_wait), SCMP_SYS(epoll_pwait),
	SCMP_SYS(timerfd_create), SCMP_SYS(timerfd_settime), SCMP_SYS(signalfd4), SCMP_SYS(eventfd2),
	SCMP_SYS(nanosleep), SCMP_SYS(clock_nanosleep), SCMP_SYS(clock_getres), SCMP_SYS(gettimeofday),
	SCMP_SYS(time), SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigtimedwait), SCMP_SYS(rt_sigpending),
	SCMP_SYS(sigaltstack), SCMP_SYS(uname), SCMP_SYS(sched_getaffinity), SCMP_SYS(getcpu), SCMP_SYS(getrusage),
	SCMP_SYS(getppid), SCMP_SYS(getuid), SCMP_SYS(geteuid), SCMP_SYS(getgid), SCMP_SYS(getegid),
	/* start and end of workers */
	SCMP_SYS(fork), SCMP_SYS(set_robust_list), SCMP_SYS(rseq), SCMP_SYS(getgroups), SCMP_SYS(capget),
	SCMP_SYS(capset), SCMP_SYS(prctl), SCMP_SYS(seccomp), SCMP_SYS(prlimit64), SCMP_SYS(setrlimit),
	SCMP_SYS(getrlimit), SCMP_SYS(setpriority), SCMP_SYS(setsid), SCMP_SYS(wait4), SCMP_SYS(waitid),
	SCMP_SYS(pidfd_open),
};

#define WRITES (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)
#define NEW_NAMESPACES (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
			CLONE_NEWPID | CLONE_NEWNET)

/* Further calls of a command, restricted by an argument. */
static const struct { int nr; struct scmp_arg_cmp arg; } self_rules[] = {
	{ SCMP_SYS(openat), SCMP_A2(SCMP_CMP_MASKED_EQ, WRITES, 0) },
	{ SCMP_SYS(open), SCMP_A1(SCMP_CMP_MASKED_EQ, WRITES, 0) },
	{ SCMP_SYS(mmap), SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0) },
	{ SCMP_SYS(clone), SCMP_A0(SCMP_CMP_MASKED_EQ, NEW_NAMESPACES, 0) },
	{ SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_EQ, TCGETS) },	/* isatty() */
	{ SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_EQ, TIOCGWINSZ) },
	{ SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_EQ, FIONREAD) },	/* of output pipes */
	{ SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_EQ, TCSETS) },	/* a full screen gives the terminal back */
	{ SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_EQ, TCSETSW) },
	{ SCMP_SYS(kill), SCMP_A1(SCMP_CMP_EQ, SIGKILL) },	/* workers */
	{ SCMP_SYS(tgkill), SCMP_A2(SCMP_CMP_EQ, SIGABRT) },	/* abort() */
};

/* Unprivileged system calls that neither HTTP nor a resolver uses. */
static const int refused_network[] = {
	SCMP_SYS(execve), SCMP_SYS(execveat), SCMP_SYS(ptrace), SCMP_SYS(process_vm_readv),
	SCMP_SYS(process_vm_writev),
	SCMP_SYS(bpf), SCMP_SYS(perf_event_open), SCMP_SYS(userfaultfd), SCMP_SYS(io_uring_setup), SCMP_SYS(unshare),
	SCMP_SYS(setns), SCMP_SYS(mount), SCMP_SYS(keyctl), SCMP_SYS(add_key), SCMP_SYS(request_key),
	SCMP_SYS(listen), SCMP_SYS(unlinkat), SCMP_SYS(renameat2), SCMP_SYS(mkdirat), SCMP_SYS(linkat),
	SCMP_SYS(symlinkat), SCMP_SYS(fchmodat), SCMP_SYS(fchownat), SCMP_SYS(truncate), SCMP_SYS(kill),
};

static int add_network_rules(scmp_filter_ctx f)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(refused_network); i++)
		r = seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), refused_network[i], 0);
	return r;
}

static int allow(scmp_filter_ctx f, const int *calls, size_t n)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++)
		r = seccomp_rule_add(f, SCMP_ACT_ALLOW, calls[i], 0);
	return r;
}

/* A server: its clients, who they are, small answers at once. */
static int add_accept_rules(scmp_filter_ctx f)
{
	int r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(accept4), 0);

	if (r == 0)
		r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(getsockopt), 2, SCMP_A1(SCMP_CMP_EQ, SOL_SOCKET),
				     SCMP_A2(SCMP_CMP_EQ, SO_PEERCRED));
	return r ? r : seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(setsockopt), 1,
					SCMP_A1(SCMP_CMP_EQ, IPPROTO_TCP));
}

static int add_self_rules(scmp_filter_ctx f, bool accepts)
{
	const struct scmp_arg_cmp no_exec = SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);
	int r = allow(f, allowed, ARRAY_SIZE(allowed));

	if (r == 0)
		r = allow(f, allowed_self, ARRAY_SIZE(allowed_self));
	if (r == 0 && accepts)
		r = add_accept_rules(f);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(self_rules); i++)
		r = seccomp_rule_add(f, SCMP_ACT_ALLOW, self_rules[i].nr, 1, self_rules[i].arg);
	if (r == 0)	/* a full screen stops itself at Ctrl-Z */
		r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 2,
				     SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid()), SCMP_A2(SCMP_CMP_EQ, SIGSTOP));
	if (r == 0)
		r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1, no_exec);
	/* the C library falls back to clone(), whose flags the filter can check */
	return r ? r : seccomp_rule_add(f, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
}

static int add_opener_rules(scmp_filter_ctx f, const struct worker_opts *o)
{
	int r = allow(f, allowed_opener, ARRAY_SIZE(allowed_opener));

	if (r < 0 || !o->unlink_fd)
		return r;
	return seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(unlinkat), 2,
				SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)o->unlink_fd), SCMP_A2(SCMP_CMP_EQ, 0));
}

/* Requests and replies over its input only. */
static int add_asking_rules(scmp_filter_ctx f)
{
	static const int calls[] = { SCMP_SYS(sendto), SCMP_SYS(recvmsg) };
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(calls); i++)
		r = seccomp_rule_add(f, SCMP_ACT_ALLOW, calls[i], 1, SCMP_A0(SCMP_CMP_EQ, STDIN_FILENO));
	return r;
}

static int add_store_rules(scmp_filter_ctx f)
{
	int r = allow(f, allowed_store, ARRAY_SIZE(allowed_store));

	if (r == 0)	/* threads */
		r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
				     SCMP_A0(SCMP_CMP_MASKED_EQ, NEW_NAMESPACES, 0));
	return r ? r : seccomp_rule_add(f, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
}

static int add_rules(scmp_filter_ctx f, const struct worker_opts *o)
{
	const struct scmp_arg_cmp no_exec = SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);
	int r = allow(f, allowed, ARRAY_SIZE(allowed));

	if (r == 0 && o->rights)
		r = add_opener_rules(f, o);
	if (r == 0 && o->asks)
		r = add_asking_rules(f);
	if (r == 0 && o->store)
		r = add_store_rules(f);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(refused); i++)
		r = seccomp_rule_add(f, SCMP_ACT_ERRNO(EACCES), refused[i], 0);
	if (r == 0)
		r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1, no_exec);
	if (r == 0)
		r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2, no_exec,
				     SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_ANONYMOUS, MAP_ANONYMOUS));
	/* abort() signals itself, so that the parent gets the reason */
	if (r == 0)
		r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
				     SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid()));
	return r;
}

/* Action for a system call without a rule. @o NULL: for the calling process. */
static uint32_t unmatched_action(const struct worker_opts *o)
{
	if (!o || o->refuse)
		return SCMP_ACT_ERRNO(EPERM);
	return o->network ? SCMP_ACT_ALLOW : SCMP_ACT_KILL_PROCESS;
}

/* @o NULL: for the calling process, @accepts as in confine_self(). */
static int filter_syscalls(const struct worker_opts *o, bool accepts)
{
	scmp_filter_ctx f;
	int r;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	if (SANITIZED)
		return 0;
	f = seccomp_init(unmatched_action(o));
	if (!f)
		return -ENOMEM;
	r = seccomp_attr_set(f, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	if (r == 0 && !o)	/* a binary tree: all calls cost the same */
		r = seccomp_attr_set(f, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (r == 0)
		r = !o ? add_self_rules(f, accepts) : o->network ? add_network_rules(f) : add_rules(f, o);
	if (r == 0)
		r = seccomp_load(f);
	seccomp_release(f);
	return r;
}

bool confine_works(void)
{
	return !SANITIZED;
}

/*
 * With autogroups (sched(7)), the default of desktops, a nice value applies only within a session. A new session with
 * its own /proc/PID/autogroup gives it full effect.
 */
static void set_nice(int nice)
{
	char text[8];
	int fd, len = snprintf(text, sizeof(text), "%d", nice);
	ssize_t n;

	setpriority(PRIO_PROCESS, 0, nice);
	if (setsid() < 0)
		return;
	fd = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	n = write(fd, text, (size_t)len);
	(void)n;	/* not permitted: keep the priority */
	close(fd);
}

int confine(const struct worker_opts *o, int in_fd, int out_fd, int keep_fd, pid_t parent, const char **ret_step)
{
	uint64_t used_bytes = address_space_bytes();
	bool was_root = geteuid() == 0;
	int r;

	if (o->nice)
		set_nice(o->nice);
	*ret_step = "close its descriptors";
	r = give_up_descriptors(o, in_fd, out_fd, keep_fd);
	if (r < 0)
		return r;
	reset_signals();
	prctl(PR_SET_NAME, o->name ? o->name : "sonde-worker");
	*ret_step = "drop its user and capabilities";
	r = give_up_user(o);
	if (r < 0)
		return r;
	if (has_rights(o, was_root))
		return -EPERM;
	*ret_step = "end with its parent";
	r = die_with(parent);
	if (r < 0)
		return r;
	*ret_step = "limit its resources";
	r = set_limits(o, used_bytes);
	if (r < 0)
		return r;
	*ret_step = "filter its system calls";
	return filter_syscalls(o, false);
}

int confine_self(bool accepts, struct err *err)
{
	static const struct worker_opts ordinary = { 0 };
	bool was_root = geteuid() == 0;
	int r;

	if (SANITIZED)
		return 0;
	tzset();	/* TZ may name a file that the new user cannot read */
	r = give_up_user(&ordinary);
	if (r >= 0 && has_rights(&ordinary, was_root))
		r = -EPERM;
	if (r >= 0)
		r = limit(RLIMIT_CORE, 0);
	if (r >= 0 && prctl(PR_SET_DUMPABLE, 0) < 0)
		r = -errno;
	if (r >= 0)
		r = filter_syscalls(NULL, accepts);
	return r < 0 ? err_errno(err, r, "cannot drop privileges before reading") : 0;
}
