// SPDX-License-Identifier: GPL-2.0-or-later
/* Masks of memory nodes, timers with a value of their own, floppy commands: calls whose lines strace decodes. */
#define _GNU_SOURCE
#include <linux/fd.h>
#include <linux/mempolicy.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void nodes(void)
{
	static unsigned long few[2] = { 5, 0x80 }, many[64];
	static char page[8192] __attribute__((aligned(4096)));
	int mode;

	many[0] = 1;
	for (unsigned long max = 0; max < 4; max++)
		syscall(SYS_set_mempolicy, MPOL_BIND, few, (unsigned long[]){ 0, 1, 65, 128 }[max]);
	syscall(SYS_set_mempolicy, MPOL_BIND | MPOL_F_STATIC_NODES, few, 129);
	syscall(SYS_set_mempolicy, MPOL_BIND, NULL, 10);
	syscall(SYS_set_mempolicy, MPOL_BIND, 8, 64);
	syscall(SYS_set_mempolicy, MPOL_BIND, many, 32 * 64 + 1);
	syscall(SYS_set_mempolicy, MPOL_BIND, many, 33 * 64 + 1);
	syscall(SYS_set_mempolicy, MPOL_BIND, many, -1);
	syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0);
	syscall(SYS_get_mempolicy, &mode, many, 1024, NULL, 0);
	syscall(SYS_get_mempolicy, &mode, few, 65, NULL, 0);
	syscall(SYS_get_mempolicy, NULL, many, 1025, NULL, MPOL_F_MEMS_ALLOWED);
	syscall(SYS_get_mempolicy, &mode, NULL, 0, page, MPOL_F_NODE | MPOL_F_ADDR);
	syscall(SYS_get_mempolicy, &mode, few, 64, page, MPOL_F_NODE | 8);
	syscall(SYS_mbind, page, 4096, MPOL_BIND, few, 65, MPOL_MF_STRICT | MPOL_MF_MOVE);
	syscall(SYS_migrate_pages, 0, 65, few, many);
}

static void timer(int notify, int signo, unsigned long value)
{
	struct sigevent e = { .sigev_notify = notify, .sigev_signo = signo };
	int timer = 0;

	e.sigev_value.sival_ptr = (void *)value;
	e._sigev_un._tid = notify == SIGEV_THREAD_ID ? getpid() : 0;
	syscall(SYS_timer_create, CLOCK_MONOTONIC, &e, &timer);
	syscall(SYS_mq_notify, -1, &e);
}

static void floppy(void)
{
	static const unsigned long commands[] = {
		FDGETPRM, FDSETPRM, FDDEFPRM, FDCLRPRM, FDGETDRVPRM, FDGETDRVSTAT, FDPOLLDRVSTAT, FDGETDRVTYP,
		FDRESET, FDRAWCMD, FDEJECT, FDFLUSH, FDGETFDCSTAT, FDWERRORGET, FDFMTTRK,
	};

	for (unsigned i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		ioctl(-1, commands[i], commands);
}

int main(void)
{
	nodes();
	timer(SIGEV_SIGNAL, SIGUSR1, 42);
	timer(SIGEV_SIGNAL, SIGUSR1, 0x1234567890);
	timer(SIGEV_SIGNAL, SIGUSR1, -1ul);
	timer(SIGEV_SIGNAL, SIGUSR1, 0);
	timer(SIGEV_THREAD_ID, SIGUSR2, 7);
	timer(SIGEV_NONE, 0, 0);
	timer(SIGEV_THREAD, 0, 0x77);
	timer(77, 99, 0);
	floppy();
	return 0;
}
