// SPDX-License-Identifier: GPL-2.0-or-later
/* A known share of the kernel: half of the time computes, the other half reads zeros in pieces of half a megabyte. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "timed.h"

static char bytes[1 << 20];
static uint64_t state = 88172645463325252u;
static int zeros;

NOINLINE void in_user(void) { state = timed_spin(state, timed_uneven(200000)); KEEP(); }

NOINLINE void in_kernel(void)
{
	for (int i = 0; i < 16; i++)
		if (read(zeros, bytes, timed_uneven(sizeof(bytes) / 2)) < 0)
			abort();
}

static struct part parts[] = { { "user", 0 }, { "kernel", 0 } };
static void (*const work[])(void) = { in_user, in_kernel };

int main(int argc, char **argv)
{
	zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	memset(bytes, 1, sizeof(bytes));	/* the pages are there, so that no fault counts as computing */
	timed_begin(argc, argv);
	while (!timed_end)
		for (int i = 0; i < 2; i++) {
			uint64_t t = timed_now(CLOCK_THREAD_CPUTIME_ID);

			work[i]();
			parts[i].ns += timed_now(CLOCK_THREAD_CPUTIME_ID) - t;
		}
	return timed_print(parts, 2);
}
