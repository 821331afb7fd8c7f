/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processes, identities, signals, the system. */
static void do_signals(void)
{
	static char room[256];

	C4(rt_sigprocmask, "SIG_BLOCK, [USR1], [], 8", 0, P(((long[]){ 0x200 })), P(room), 8);
	C4(rt_sigprocmask, "SIG_SETMASK, [], [USR1], 8", 2, P(((long[]){ 0 })), P(room), 8);
	C4(rt_sigaction, "SIGUSR2, NULL, NULL, 4", 12, 0, 0, 4);
	C4(rt_sigaction, "SIGUSR2, {sa_handler=SIG_IGN, sa_mask=[], sa_flags=SA_RESTART}, NULL, 8", 12,
	   P(((long[]){ 1, 0x10000000, 0, 0 })), 0, 8);
	C2(rt_sigpending, "[], 8", P(room), 8);
	C4(rt_sigtimedwait, "[USR1], NULL, {tv_sec=0, tv_nsec=0}, 8", P(((long[]){ 0x200 })), 0,
	   P(((long[]){ 0, 0 })), 8);
	C3(rt_sigqueueinfo, "-1, SIGUSR1, NULL", -1, 10, 0);
	C4(rt_tgsigqueueinfo, "-1, -1, SIGUSR1, NULL", -1, -1, 10, 0);
	C2(rt_sigsuspend, "NULL, 4", 0, 4);
	C2(sigaltstack, "NULL, NULL", 0, 0);
	C2(kill, "%d, 0", getpid(), 0, (int)getpid());
	C2(kill, "999999999, SIGTERM", 999999999, 15);
	C2(tkill, "-1, SIGINT", -1, 2);
	C3(tgkill, "-1, -1, SIGHUP", -1, -1, 1);
	C4(pidfd_send_signal, "-1, SIGINT, NULL, 0", -1, 2, 0, 0);
}

static void do_ids(void)
{
	C0(getpid, "");
	C0(gettid, "");
	C0(getppid, "");
	C0(getuid, "");
	C0(geteuid, "");
	C0(getgid, "");
	C0(getegid, "");
	C0(getpgrp, "");
	C1(getpgid, "0", 0);
	C1(getsid, "-1", -1);
	C2(setpgid, "-1, 0", -1, 0);
	C1(setuid, "-1", -1);
	C1(setgid, "-1", -1);
	C2(setreuid, "-1, -1", -1, -1);
	C2(setregid, "-1, -1", -1, -1);
	C3(setresuid, "-1, -1, -1", -1, -1, -1);
	C3(setresgid, "-1, -1, -1", -1, -1, -1);
	C3(getresuid, "NULL, NULL, NULL", 0, 0, 0);
	C3(getresgid, "NULL, NULL, NULL", 0, 0, 0);
	C1(setfsuid, "-1", -1);
	C1(setfsgid, "-1", -1);
	C2(getgroups, "-1, NULL", -1, 0);
	C2(setgroups, "-1, NULL", -1, 0);
	C2(capget, "NULL, NULL", 0, 0);
	C2(capset, "NULL, NULL", 0, 0);
	C1(umask, "077", 077);
	C1(personality, "0xffffffff", 0xffffffff);
	C1(unshare, "0x1", 1);
	C2(setns, "-1, CLONE_NEWNET", -1, 0x40000000);
}

static void do_scheduling(void)
{
	static char room[256];

	C0(sched_yield, "");
	C2(sched_getparam, "-1, %p", -1, P(room), (void *)room);
	C2(sched_setparam, "-1, [1]", -1, P(((int[]){ 1 })));
	C1(sched_getscheduler, "-1", -1);
	C3(sched_setscheduler, "-1, SCHED_RR, [1]", -1, 2, P(((int[]){ 1 })));
	C1(sched_get_priority_max, "SCHED_FIFO", 1);
	C1(sched_get_priority_min, "SCHED_FIFO", 1);
	C2(sched_rr_get_interval, "-1, %p", -1, P(room), (void *)room);
	C3(sched_setaffinity, "-1, 8, [0]", -1, 8, P(((long[]){ 1 })));
	C3(sched_getaffinity, "0, 1, %p", 0, 1, P(room), (void *)room);
	C3(sched_setattr, "-1, NULL, 0", -1, 0, 0);
	C4(sched_getattr, "-1, NULL, 0, 0", -1, 0, 0, 0);
	C2(getpriority, "PRIO_PROCESS, 0", 0, 0);
	C3(setpriority, "0x9 /* PRIO_??? */, 0, 0", 9, 0, 0);
	C2(ioprio_get, "IOPRIO_WHO_PROCESS, 0", 1, 0);
	C3(ioprio_set, "0 /* IOPRIO_WHO_??? */, 0, 0", 0, 0, 0);
	C2(getrlimit, "RLIMIT_NOFILE, 0xfff", 7, BAD);
	C2(setrlimit, "RLIMIT_NOFILE, {rlim_cur=2, rlim_max=1}", 7, P(((long[]){ 2, 1 })));
	C4(prlimit64, "-1, RLIMIT_STACK, NULL, NULL", -1, 3, 0, 0);
	C2(getrusage, "0x63 /* RUSAGE_??? */, %p", 99, P(room), (void *)room);
	C3(getcpu, "NULL, NULL, NULL", 0, 0, 0);
	C3(membarrier, "MEMBARRIER_CMD_QUERY, 0", 0, 0, 0);
}

static void do_system(void)
{
	static char room[512];

	C1(uname, "0xfff", BAD);
	C1(sysinfo, "0xfff", BAD);
	C3(syslog, "0x63, NULL, 0", 99, 0, 0);
	C2(sethostname, "0xfff, -1", BAD, -1);
	C2(setdomainname, "0xfff, -1", BAD, -1);
	C4(reboot, "0x1, 0x2, 0x3, NULL", 1, 2, 3, 0);
	C3(init_module, "NULL, 0, \"\"", 0, 0, P(""));
	C3(finit_module, "-1, \"a=b\", 0", -1, P("a=b"), 0);
	C2(delete_module, "\"sd_none\", O_NONBLOCK", P("sd_none"), 04000);
	C4(kexec_load, "0, 0, NULL, 0xff", 0, 0, 0, 0xff);
	C3(getrandom, "\"\", 0, GRND_NONBLOCK", P(room), 0, 1);
	C3(bpf, "0x3e7 /* BPF_??? */, NULL, 0", 999, 0, 0);
	C5(perf_event_open, "NULL, 0, -1, -1, PERF_FLAG_FD_CLOEXEC", 0, 0, -1, -1, 8);
	C3(seccomp, "0x63 /* SECCOMP_SET_MODE_??? */, 0, NULL", 99, 0, 0);
	C4(ptrace, "0x3e7 /* PTRACE_??? */, -1, 0, 0", 999, -1, 0, 0);
	C5(prctl, "PR_GET_DUMPABLE", 3, 0, 0, 0, 0);
	C5(kcmp, "-1, -1, KCMP_FILE, 0, 0", -1, -1, 0, 0, 0);
	C5(keyctl, "0x3e7 /* KEYCTL_??? */, 0, 0, 0, 0", 999, 0, 0, 0, 0);
	C5(add_key, "\"sd\", \"none\", NULL, 0, 0", P("sd"), P("none"), 0, 0, 0);
	C4(request_key, "\"sd\", \"none\", NULL, 0", P("sd"), P("none"), 0, 0);
	C2(io_setup, "0, NULL", 0, 0);
	C1(io_destroy, "0x1", 1);
	C3(io_submit, "0x1, 0, NULL", 1, 0, 0);
	C3(io_cancel, "0x1, NULL, NULL", 1, 0, 0);
	C5(io_getevents, "0x1, 0, 0, NULL, NULL", 1, 0, 0, 0, 0);
	C2(io_uring_setup, "0, NULL", 0, 0);
	C6(io_uring_enter, "-1, 1, 0, IORING_ENTER_GETEVENTS, NULL, 0", -1, 1, 0, 1, 0, 0);
	C4(io_uring_register, "-1, IORING_REGISTER_FILES, NULL, 0", -1, 2, 0, 0);
	C3(landlock_create_ruleset, "NULL, 0, 0", 0, 0, 0);
	C4(landlock_add_rule, "-1, LANDLOCK_RULE_PATH_BENEATH, NULL, 0", -1, 1, 0, 0);
	C2(landlock_restrict_self, "-1, 0x10000000", -1, 0x10000000);
	C6(process_vm_readv, "-1, NULL, 0, NULL, 0, 0", -1, 0, 0, 0, 0, 0);
	C6(process_vm_writev, "-1, NULL, 0, NULL, 0, 0", -1, 0, 0, 0, 0, 0);
}

static void do_process(void)
{
	static char room[256];
	long pid;

	do_signals();
	do_ids();
	do_scheduling();
	do_system();
	C3(execve, "\"/none/x\", [\"x\", \"-y\"], []", P("/none/x"), P(((char *[]){ "x", "-y", NULL })),
	   P(((char *[]){ NULL })));
	C5(execveat, "-1, \"x\", [\"x\"], [], AT_EMPTY_PATH", -1, P("x"), P(((char *[]){ "x", NULL })),
	   P(((char *[]){ NULL })), 0x1000);
	C2(clone3, "NULL, 0", 0, 0);
	C2(pidfd_open, "-1, 0", -1, 0);
	C3(pidfd_getfd, "-1, 0, 0", -1, 0, 0);
	C1(set_tid_address, "%p", P(room), (void *)room);
	C2(arch_prctl, "ARCH_SET_FS, 0xffffffffffffff00", 0x1002, -256);
	pid = fork();
	if (pid == 0)
		_exit(3);
	C4(wait4, "%ld, [{WIFEXITED(s) && WEXITSTATUS(s) == 3}], 0, NULL", pid, P(room), 0, 0, pid);
	C4(wait4, "-1, NULL, WNOHANG, NULL", -1, 0, 1, 0);
	C5(waitid, "P_ALL, 0, NULL, WNOHANG|WEXITED, NULL", 0, 0, 0, 5, 0);
}
