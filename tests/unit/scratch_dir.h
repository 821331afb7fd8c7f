/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A temporary folder of the test program: scratch_setup() and scratch_teardown() are its cmocka group's.
 */
#ifndef TESTS_SCRATCH_DIR_H
#define TESTS_SCRATCH_DIR_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static char scratch_dir[] = "/tmp/sonde-test-XXXXXX";

/* World-readable: a worker without rights reads the files. */
static inline int scratch_setup(void **state)
{
	(void)state;
	return mkdtemp(scratch_dir) && chmod(scratch_dir, 0755) == 0 ? 0 : -1;
}

static inline int scratch_teardown(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", scratch_dir);
	return system(command);
}

/* The path of @name in the folder, until the next call. */
static inline const char *in_scratch(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", scratch_dir, name);
	return path;
}

#endif
