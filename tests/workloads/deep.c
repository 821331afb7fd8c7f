// SPDX-License-Identifier: GPL-2.0-or-later
/* Two hundred frames of one recursion. */
#include "timed.h"

static uint64_t state = 88172645463325252u;

NOINLINE void descend(int levels)
{
	volatile char room[32];

	room[0] = (char)levels;
	if (levels > 1)
		descend(levels - 1);
	else
		state = timed_spin(state, 200000);
	KEEP();
	room[1] = room[0];
}

int main(int argc, char **argv)
{
	timed_begin(argc, argv);
	while (!timed_end)
		descend(200);
	return 0;
}
