// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Maps memory that can be executed and unmaps it, as fast as it can.
 *
 * mmap_storm: until it is ended. mmap_storm N LIBRARY: N times, all within a moment; then it loads the library and
 * runs its function spin() for two and a half seconds of CPU time.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

int main(int argc, char **argv)
{
	void (*spin)(void);
	void *library;

	for (long left = argc > 2 ? atol(argv[1]) : -1; left; left -= left > 0) {
		void *p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (p == MAP_FAILED || munmap(p, 4096) < 0)
			return 1;
	}
	library = dlopen(argv[2], RTLD_NOW);
	spin = library ? (void (*)(void))dlsym(library, "spin") : NULL;
	if (!spin)
		return 2;
	spin();
	return 0;
}
