// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A foreign program: prints where its functions are, then waits for the end of its standard input. Built in several
 * ways, with a known build id.
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
