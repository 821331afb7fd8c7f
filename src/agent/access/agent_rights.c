// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two tables: capabilities by use, system calls by action. Workers inherit the filter and add a narrower one
 * (worker/confine.c), so their setup is allowed here too.
 */
#include "agent/access/agent_rights.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/fs.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/macros.h"
#include "base/rights.h"

/* ---- capabilities ---- */

/*
 * BPF programs and maps; tracing and samples; packets and cgroups; /proc/PID of other processes, their files and
 * mapped files (/proc/PID/map_files); kernel symbol addresses, which separate harmless frees from drops.
 */
#define PROBES \
	(RIGHT(CAP_BPF) | RIGHT(CAP_PERFMON) | RIGHT(CAP_NET_ADMIN) | RIGHT(CAP_SYS_PTRACE) | \
	 RIGHT(CAP_DAC_READ_SEARCH) | RIGHT(CAP_CHECKPOINT_RESTORE) | RIGHT(CAP_SYSLOG))
/* Workers of root switch to an unprivileged user, and are killed on timeout. Those of other users keep theirs. */
#define WORKERS (RIGHT(CAP_SETUID) | RIGHT(CAP_SETGID) | RIGHT(CAP_SETPCAP) | RIGHT(CAP_KILL))

int agent_rights_keep(bool admin, struct agent_rights *ret, struct err *err)
{
	uint64_t keep = PROBES | (geteuid() == 0 ? WORKERS : 0) | (admin ? RIGHT(CAP_SYS_ADMIN) : 0);
	const struct rlimit none = { 0 };
	int r;

	keep &= rights_permitted();
	*ret = (struct agent_rights){ .permitted = keep, .working = keep & ~RIGHT(CAP_SYS_ADMIN) };
	/* Memory holds other users' data: no core dump, no debugger but root's. */
	if (setrlimit(RLIMIT_CORE, &none) < 0 || prctl(PR_SET_DUMPABLE, 0) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_errno(err, -errno, "cannot give up rights");
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	r = rights_keep(ret->permitted, ret->working);
	if (r >= 0 && rights_permitted() != keep)
		r = -EPERM;
	return r < 0 ? err_errno(err, r, "cannot give up rights") : 0;
}

/* ---- system calls ---- */

static const int allowed[] = {
	/* bytes */
	SCMP_SYS(read), SCMP_SYS(write), SCMP_SYS(readv), SCMP_SYS(writev), SCMP_SYS(pread64),
	SCMP_SYS(lseek), SCMP_SYS(close), SCMP_SYS(close_range), SCMP_SYS(dup), SCMP_SYS(dup3),
	SCMP_SYS(fcntl), SCMP_SYS(flock), SCMP_SYS(pipe2), SCMP_SYS(memfd_create), SCMP_SYS(splice),
	SCMP_SYS(vmsplice), SCMP_SYS(ftruncate),
	/* files: openat() below; openat2() reads only: a filter cannot inspect its struct open_how */
	SCMP_SYS(openat2), SCMP_SYS(fstat), SCMP_SYS(newfstatat), SCMP_SYS(statx), SCMP_SYS(fstatfs),
	SCMP_SYS(statfs), SCMP_SYS(getdents64), SCMP_SYS(readlinkat), SCMP_SYS(faccessat),
	SCMP_SYS(faccessat2), SCMP_SYS(getcwd), SCMP_SYS(unlinkat), SCMP_SYS(name_to_handle_at),
	SCMP_SYS(open_by_handle_at), /* cgroups by their ids */
	/* waiting */
	SCMP_SYS(epoll_create1), SCMP_SYS(epoll_ctl), SCMP_SYS(epoll_pwait), SCMP_SYS(ppoll),
	SCMP_SYS(pselect6), SCMP_SYS(timerfd_create), SCMP_SYS(timerfd_settime), SCMP_SYS(signalfd4),
	SCMP_SYS(eventfd2), SCMP_SYS(nanosleep), SCMP_SYS(clock_nanosleep), SCMP_SYS(clock_gettime),
	SCMP_SYS(clock_getres), SCMP_SYS(gettimeofday), SCMP_SYS(restart_syscall), SCMP_SYS(sched_yield),
	SCMP_SYS(futex),
	/* sockets: socket() below */
	SCMP_SYS(accept4), SCMP_SYS(accept), SCMP_SYS(connect), SCMP_SYS(bind), SCMP_SYS(sendto),
	SCMP_SYS(sendmsg), SCMP_SYS(sendmmsg), SCMP_SYS(recvfrom), SCMP_SYS(recvmsg), SCMP_SYS(recvmmsg),
	SCMP_SYS(getsockopt), SCMP_SYS(setsockopt), SCMP_SYS(getsockname), SCMP_SYS(getpeername),
	SCMP_SYS(shutdown), SCMP_SYS(listen),
	/* memory: mmap() and mprotect() below */
	SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise),
	/* probes: bpf() below */
	SCMP_SYS(perf_event_open), SCMP_SYS(process_vm_readv), SCMP_SYS(membarrier),
	/* this process and its workers */
	SCMP_SYS(getpid), SCMP_SYS(getppid), SCMP_SYS(gettid), SCMP_SYS(getuid), SCMP_SYS(geteuid),
	SCMP_SYS(getgid), SCMP_SYS(getegid), SCMP_SYS(getresuid), SCMP_SYS(getresgid), SCMP_SYS(getgroups),
	SCMP_SYS(setresuid), SCMP_SYS(setresgid), SCMP_SYS(setgroups), SCMP_SYS(capget), SCMP_SYS(capset),
	SCMP_SYS(prctl), SCMP_SYS(seccomp), SCMP_SYS(prlimit64), SCMP_SYS(setrlimit), SCMP_SYS(getrlimit),
	SCMP_SYS(setpriority), SCMP_SYS(setsid), SCMP_SYS(umask), SCMP_SYS(set_robust_list), SCMP_SYS(rseq),
	SCMP_SYS(setitimer), SCMP_SYS(wait4), SCMP_SYS(waitid), SCMP_SYS(pidfd_open),
	SCMP_SYS(pidfd_send_signal), SCMP_SYS(exit), SCMP_SYS(exit_group), SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn), SCMP_SYS(sigaltstack), SCMP_SYS(sched_getaffinity),
	SCMP_SYS(getrusage), SCMP_SYS(getcpu),
	/* libraries */
	SCMP_SYS(uname), SCMP_SYS(sysinfo), SCMP_SYS(getrandom),
	/* older names of the same calls, where the architecture has them */
	SCMP_SYS(poll), SCMP_SYS(epoll_wait), SCMP_SYS(stat), SCMP_SYS(lstat), SCMP_SYS(access),
	SCMP_SYS(readlink), SCMP_SYS(unlink), SCMP_SYS(rmdir), SCMP_SYS(dup2), SCMP_SYS(pipe), SCMP_SYS(fork),
	SCMP_SYS(time), SCMP_SYS(getdents), SCMP_SYS(select), SCMP_SYS(arch_prctl),
};

/* The program never uses these: a process that calls one was taken over. */
static const int deadly[] = {
	SCMP_SYS(execve), SCMP_SYS(execveat), SCMP_SYS(ptrace), SCMP_SYS(process_vm_writev), SCMP_SYS(mount),
	SCMP_SYS(umount2), SCMP_SYS(pivot_root), SCMP_SYS(chroot), SCMP_SYS(move_mount), SCMP_SYS(open_tree),
	SCMP_SYS(fsopen), SCMP_SYS(fsmount), SCMP_SYS(mount_setattr), SCMP_SYS(init_module),
	SCMP_SYS(finit_module), SCMP_SYS(delete_module), SCMP_SYS(kexec_load), SCMP_SYS(kexec_file_load),
	SCMP_SYS(reboot), SCMP_SYS(swapon), SCMP_SYS(swapoff), SCMP_SYS(settimeofday),
	SCMP_SYS(clock_settime), SCMP_SYS(adjtimex), SCMP_SYS(clock_adjtime), SCMP_SYS(iopl),
	SCMP_SYS(ioperm), SCMP_SYS(userfaultfd), SCMP_SYS(io_uring_setup), SCMP_SYS(add_key),
	SCMP_SYS(keyctl), SCMP_SYS(request_key), SCMP_SYS(personality), SCMP_SYS(modify_ldt), SCMP_SYS(acct),
	SCMP_SYS(quotactl), SCMP_SYS(mknodat), SCMP_SYS(mknod), SCMP_SYS(pidfd_getfd), SCMP_SYS(kcmp),
};

struct rule {
	int nr;
	struct scmp_arg_cmp arg;
	uint32_t action;
};

#define NEW_NAMESPACES \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)
#define WRITES (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)
#define REQUESTS 0xff00 /* of ioctl(): type letter, _IOC_TYPE */
#define KIND_OF(letter) ((scmp_datum_t)(letter) << 8)
#define SOCKIOS 0x89 /* type of SIOC*: linux/sockios.h */

/* Action by one argument. */
static const struct rule rules[] = {
	{ SCMP_SYS(openat), SCMP_A2(SCMP_CMP_MASKED_EQ, WRITES, 0), SCMP_ACT_ALLOW },
	{ SCMP_SYS(open), SCMP_A1(SCMP_CMP_MASKED_EQ, WRITES, 0), SCMP_ACT_ALLOW },
	{ SCMP_SYS(mmap), SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0), SCMP_ACT_ALLOW },
	{ SCMP_SYS(mprotect), SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0), SCMP_ACT_ALLOW },
	{ SCMP_SYS(clone), SCMP_A0(SCMP_CMP_MASKED_EQ, NEW_NAMESPACES, 0), SCMP_ACT_ALLOW },
	{ SCMP_SYS(setns), SCMP_A1(SCMP_CMP_EQ, CLONE_NEWNET), SCMP_ACT_ALLOW },
	{ SCMP_SYS(bpf), SCMP_A0(SCMP_CMP_NE, BPF_OBJ_PIN), SCMP_ACT_ALLOW },
	{ SCMP_SYS(socket), SCMP_A0(SCMP_CMP_EQ, AF_UNIX), SCMP_ACT_ALLOW },
	{ SCMP_SYS(socketpair), SCMP_A0(SCMP_CMP_EQ, AF_UNIX), SCMP_ACT_ALLOW }, /* a connection of the page */
	{ SCMP_SYS(socket), SCMP_A0(SCMP_CMP_EQ, AF_NETLINK), SCMP_ACT_ALLOW },
	{ SCMP_SYS(socket), SCMP_A0(SCMP_CMP_EQ, AF_INET), SCMP_ACT_ALLOW }, /* name resolution, ioctl() */
	{ SCMP_SYS(socket), SCMP_A0(SCMP_CMP_EQ, AF_INET6), SCMP_ACT_ALLOW },
	{ SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_MASKED_EQ, REQUESTS, KIND_OF('$')), SCMP_ACT_ALLOW },  /* perf */
	{ SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_MASKED_EQ, REQUESTS, KIND_OF(SOCKIOS)), SCMP_ACT_ALLOW }, /* interface */
	{ SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_EQ, FS_IOC_GETVERSION), SCMP_ACT_ALLOW }, /* identity of a file */
	{ SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_EQ, TCGETS), SCMP_ACT_ALLOW },	      /* isatty() */
	{ SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_EQ, FIONREAD), SCMP_ACT_ALLOW },	      /* of output pipes */
	{ SCMP_SYS(kill), SCMP_A1(SCMP_CMP_EQ, SIGKILL), SCMP_ACT_ALLOW },	      /* workers */
	{ SCMP_SYS(kill), SCMP_A1(SCMP_CMP_EQ, 0), SCMP_ACT_ALLOW },
};

static int add_list(scmp_filter_ctx f, const int *list, size_t n, uint32_t action)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++)
		r = seccomp_rule_add(f, action, list[i], 0);
	return r == -EDOM ? 0 : r;
}

static int add_rules(scmp_filter_ctx f)
{
	int r = add_list(f, allowed, ARRAY_SIZE(allowed), SCMP_ACT_ALLOW);

	if (r == 0)
		r = add_list(f, deadly, ARRAY_SIZE(deadly), SCMP_ACT_KILL_PROCESS);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(rules); i++)
		r = seccomp_rule_add(f, rules[i].action, rules[i].nr, 1, rules[i].arg);
	/* glibc falls back to clone(), whose flags a filter can check. */
	if (r == 0)
		r = seccomp_rule_add(f, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	/* abort() signals itself; a worker allows its own. */
	return r ? r : seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1, SCMP_A2(SCMP_CMP_EQ, SIGABRT));
}

int agent_rights_filter(struct err *err)
{
	scmp_filter_ctx f;
	int r;

	if (SANITIZED)
		return 0;
	f = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	if (!f)
		return err_errno(err, -ENOMEM, "cannot filter system calls");
	r = seccomp_attr_set(f, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	if (r == 0)
		r = seccomp_attr_set(f, SCMP_FLTATR_CTL_OPTIMIZE, 2); /* binary tree: same cost for every call */
	if (r == 0)
		r = seccomp_attr_set(f, SCMP_FLTATR_CTL_TSYNC, 1); /* also the thread of btf/btf_root.h */
	if (r == 0)
		r = add_rules(f);
	if (r == 0)
		r = seccomp_load(f);
	seccomp_release(f);
	return r < 0 ? err_errno(err, r, "cannot filter system calls") : 0;
}
