// SPDX-License-Identifier: GPL-2.0-or-later
/* Four threads that compute; their stacks begin at clone3, not at main. */
#include <pthread.h>

#include "timed.h"

NOINLINE uint64_t compute(uint64_t x) { return timed_spin(x, 100000); }

NOINLINE void serve(uint64_t *x) { *x = compute(*x); KEEP(); }

static void *worker(void *arg)
{
	uint64_t x = (uint64_t)(uintptr_t)arg;

	while (!timed_end)
		serve(&x);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[4];

	timed_begin(argc, argv);
	for (uintptr_t i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, worker, (void *)(i + 1)))
			return 1;
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
