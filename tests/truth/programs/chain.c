// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Chains of vfork and exec, beside busy loops. The executable file is copied under the names stage0, stage1...;
 * each image says by the arguments of failing calls who it is:
 *
 *	lseek(-1000, pid, 0)	lseek(-1001, number of the stage, 0)
 *
 *	chain FOLDER STAGES RUNS CALLS SEED	runs chains of up to STAGES images, the first of all;
 *						each makes CALLS such calls
 *	chain busy				a loop until killed
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void say(long stage, long calls)
{
	for (long i = 0; i < calls; i++) {
		lseek(-1000, getpid(), SEEK_SET);
		lseek(-1001, stage, SEEK_SET);
	}
}

static void exec_stage(const char *folder, long stage, long last, const char *calls)
{
	char path[4096], number[24], end[24];

	snprintf(path, sizeof(path), "%s/stage%ld", folder, stage);
	snprintf(number, sizeof(number), "%ld", stage);
	snprintf(end, sizeof(end), "%ld", last);
	execl(path, path, "stage", folder, number, end, calls, (char *)NULL);
	_exit(127);
}

/* Runs the image of @stage in a child, whose parent is stopped until the exec. */
static int run_stage(const char *folder, long stage, long last, const char *calls)
{
	int status;
	const pid_t child = vfork();

	if (!child)
		exec_stage(folder, stage, last, calls);
	return waitpid(child, &status, 0) == child && !status ? 0 : 1;
}

/* chain stage FOLDER NUMBER LAST CALLS: odd images make the next one in a child, even ones become it. */
static int stage_main(char **argv)
{
	const long number = atol(argv[3]), last = atol(argv[4]), calls = atol(argv[5]);
	int ret = 0;

	say(number, calls);
	if (number < last && number % 2)
		ret = run_stage(argv[2], number + 1, last, argv[5]);
	else if (number < last)
		exec_stage(argv[2], number + 1, last, argv[5]);
	say(number, calls);
	return ret;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "busy"))
		for (;;)
			;
	if (argc == 6 && !strcmp(argv[1], "stage"))
		return stage_main(argv);
	if (argc != 6)
		return 2;
	srandom((unsigned)atoi(argv[5]));
	for (long i = 0, runs = atol(argv[3]); i < runs; i++)
		if (run_stage(argv[1], 0, i ? random() % atol(argv[2]) : atol(argv[2]) - 1, argv[4]))
			return 1;
	return 0;
}
