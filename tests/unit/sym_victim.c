// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Somebody else's program: says where its functions are, then waits until its standard input ends. Built in several
 * ways, with a build id that is known.
 */
#include <stdio.h>

int victim_global(int x);

__attribute__((noinline)) static int victim_static(int x)
{
	return x * 7 + 1;
}

__attribute__((noinline)) int victim_global(int x)
{
	return victim_static(x) * 3 + 1;
}

int main(int argc, char **argv)
{
	printf("%p %p %d %s\n", (void *)victim_global, (void *)victim_static, victim_global(argc), argv[0]);
	fflush(stdout);
	return getchar() == 'x';
}
