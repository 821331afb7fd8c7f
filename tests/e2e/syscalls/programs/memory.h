/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory, shared memory, queues, semaphores, futexes, time. */
static void do_memory(void)
{
	static char room[512];
	long at = C6(mmap, "NULL, 8192, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0", 0, 8192, 3, 0x22,
	   -1, 0);
	long brk = C1(brk, "NULL", 0);

	C1(brk, "%#lx", brk, brk);
	C3(mprotect, "%#lx, 4096, PROT_READ", at, 4096, 1, at);
	C3(madvise, "%#lx, 4096, MADV_DONTNEED", at, 4096, 4, at);
	C3(msync, "%#lx, 4096, MS_SYNC", at, 4096, 4, at);
	C3(mincore, "%#lx, 8192, %p", at, 8192, P(room), at, (void *)room);
	C2(mlock, "%#lx, 4096", at, 4096, at);
	C3(mlock2, "%#lx, 4096, MLOCK_ONFAULT", at, 4096, 1, at);
	C2(munlock, "%#lx, 4096", at, 4096, at);
	C1(mlockall, "0", 0);
	C0(munlockall, "");
	C5(mremap, "%#lx, 4096, 8192, MREMAP_FIXED, NULL", at, 4096, 8192, 2, 0, at);
	C5(remap_file_pages, "%#lx, 4096, PROT_NONE, 0, MAP_FILE", at, 4096, 0, 0, 0, at);
	C2(munmap, "%#lx, 8192", at, 8192, at);
	C2(munmap, "0x1, 1", 1, 1);
	C4(pkey_mprotect, "0x1000, 4096, PROT_READ, 99", 0x1000, 4096, 1, 99);
	C2(pkey_alloc, "0x1, 0", 1, 0);
	C1(pkey_free, "99", 99);
	C3(mseal, "0x1, 1, 0", 1, 1, 0);
	C1(userfaultfd, "O_CLOEXEC|0x40000000", 0x40080000);
	C5(process_madvise, "-1, NULL, 0, MADV_COLD, 0", -1, 0, 0, 20, 0);
	C2(process_mrelease, "-1, 0", -1, 0);
	C6(mbind, "NULL, 0, MPOL_DEFAULT, NULL, 0, 0x80", 0, 0, 0, 0, 0, 0x80);
	C3(set_mempolicy, "MPOL_DEFAULT, NULL, 0", 0, 0, 0);
	C5(get_mempolicy, "[MPOL_DEFAULT], NULL, 0, NULL, 0", P(room), 0, 0, 0, 0);
	C4(migrate_pages, "-1, 0, NULL, NULL", -1, 0, 0, 0);
	C6(move_pages, "-1, 0, NULL, NULL, NULL, 0", -1, 0, 0, 0, 0, 0);
	C4(set_mempolicy_home_node, "NULL, 0, 0, 0x1", 0, 0, 0, 1);
	C3(shmget, "0x7f000001, 4096, IPC_EXCL|0600", 0x7f000001, 4096, 02000 | 0600);
	C3(shmat, "-1, NULL, SHM_RDONLY", -1, 0, 010000);
	C3(shmctl, "-1, IPC_RMID, NULL", -1, 0, 0);
	C1(shmdt, "0x1000", 0x1000);
	C3(semget, "0x7f000002, 1, IPC_EXCL|0600", 0x7f000002, 1, 02000 | 0600);
	C3(semop, "-1, [{sem_num=0, sem_op=-1, sem_flg=IPC_NOWAIT}], 1", -1, P(((short[]){ 0, -1, 04000 })), 1);
	C4(semtimedop, "-1, [{sem_num=0, sem_op=1, sem_flg=SEM_UNDO}], 1, {tv_sec=1, tv_nsec=2}", -1,
	   P(((short[]){ 0, 1, 0x1000 })), 1, P(((long[]){ 1, 2 })));
	C4(semctl, "-1, 0, GETVAL, 0", -1, 0, 12, 0);
	C2(msgget, "0x7f000003, IPC_EXCL|0600", 0x7f000003, 02000 | 0600);
	C4(msgsnd, "-1, [7], 4, IPC_NOWAIT", -1, P(((long[]){ 7, 0 })), 4, 04000);
	C5(msgrcv, "-1, %p, 4, 0, IPC_NOWAIT", -1, P(room), 4, 0, 04000, (void *)room);
	C3(msgctl, "-1, IPC_STAT, NULL", -1, 2, 0);
	C4(mq_open, "\"sd-none\", O_RDONLY", P("sd-none"), 0, 0, 0);
	C1(mq_unlink, "\"sd-none\"", P("sd-none"));
	C5(mq_timedsend, "-1, \"ab\", 2, 1, NULL", -1, P("ab"), 2, 1, 0);
	C5(mq_timedreceive, "-1, %p, 2, NULL, NULL", -1, P(room), 2, 0, 0, (void *)room);
	C2(mq_notify, "-1, NULL", -1, 0);
	C3(mq_getsetattr, "-1, NULL, NULL", -1, 0, 0);
	C6(futex, "%p, FUTEX_WAKE_PRIVATE, 1", P(room), 0x81, 1, 0, 0, 0, (void *)room);
	C4(futex_wake, "%p, 0x1, 1, FUTEX2_SIZE_U32|FUTEX2_PRIVATE", P(room), 1, 1, 130, (void *)room);
	C2(set_robust_list, "NULL, 1", 0, 1);
	C3(get_robust_list, "-1, %p, %p", -1, P(room), P(room), (void *)room, (void *)room);
	C4(rseq, "NULL, 0x1, 0, 0", 0, 1, 0, 0);
}

static void do_time(void)
{
	static char room[512];

	C2(gettimeofday, "NULL, NULL", 0, 0);
	C2(settimeofday, "NULL, %p", 0, BAD, (void *)BAD);
	C1(time, "NULL", 0);
	C2(clock_gettime, "0x63 /* CLOCK_??? */, %p", 99, P(room), (void *)room);
	C2(clock_settime, "0x63 /* CLOCK_??? */, {tv_sec=1, tv_nsec=2}", 99, P(((long[]){ 1, 2 })));
	C2(clock_getres, "CLOCK_MONOTONIC, {tv_sec=0, tv_nsec=1}", 1, P(room));
	C2(nanosleep, "{tv_sec=0, tv_nsec=1000}, NULL", P(((long[]){ 0, 1000 })), 0);
	C4(clock_nanosleep, "CLOCK_MONOTONIC, TIMER_ABSTIME, {tv_sec=0, tv_nsec=1}, NULL", 1, 1, P(((long[]){ 0,
	   1 })), 0);
	C2(getitimer, "0x9 /* ITIMER_??? */, %p", 9, P(room), (void *)room);
	C3(setitimer,
	   "ITIMER_REAL, {it_interval={tv_sec=0, tv_usec=0}, it_value={tv_sec=0, tv_usec=0}}, "
	   "NULL", 0, P(((long[]){ 0, 0, 0, 0 })), 0);
	C1(alarm, "0", 0);
	C3(timer_create, "0x63 /* CLOCK_??? */, NULL, %p", 99, 0, P(room), (void *)room);
	C4(timer_settime, "99, 0, NULL, NULL", 99, 0, 0, 0);
	C2(timer_gettime, "99, %p", 99, P(room), (void *)room);
	C1(timer_getoverrun, "99", 99);
	C1(timer_delete, "99", 99);
	C1(adjtimex, "0xfff", BAD);
	C2(clock_adjtime, "0x63 /* CLOCK_??? */, 0xfff", 99, BAD);
	C1(times, "NULL", 0);
}
