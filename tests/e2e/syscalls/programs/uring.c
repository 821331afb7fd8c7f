// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One request through io_uring that does nothing, and its completion; no library. Exit status 77: not allowed here.
 */
#define _GNU_SOURCE
#include <linux/io_uring.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
	struct io_uring_params p = { 0 };
	struct io_uring_sqe *sqes;
	unsigned *tail, *array;
	long fd = syscall(SYS_io_uring_setup, 4, &p);
	char *ring;

	if (fd < 0)
		return 77;
	ring = mmap(NULL, p.sq_off.array + p.sq_entries * sizeof(unsigned), PROT_READ | PROT_WRITE, MAP_SHARED,
		    (int)fd, IORING_OFF_SQ_RING);
	sqes = mmap(NULL, p.sq_entries * sizeof(*sqes), PROT_READ | PROT_WRITE, MAP_SHARED, (int)fd,
		    IORING_OFF_SQES);
	if (ring == MAP_FAILED || sqes == MAP_FAILED)
		return 1;
	memset(&sqes[0], 0, sizeof(sqes[0]));
	sqes[0].opcode = IORING_OP_NOP;
	sqes[0].user_data = 0xfeed;
	tail = (unsigned *)(void *)(ring + p.sq_off.tail);
	array = (unsigned *)(void *)(ring + p.sq_off.array);
	array[0] = 0;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	return syscall(SYS_io_uring_enter, (int)fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 1 ? 0 : 1;
}
