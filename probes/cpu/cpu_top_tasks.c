// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Format: proc_pid_stat(5). A process's name may hold anything, a parenthesis too: the rest stands behind the last.
 */
#include "probes/cpu/cpu_top_tasks.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/str.h"
#include "loop/coop.h"

#define BUSY_SHARE 50	/* 1/50 of the time since its start */

bool cpu_top_tasks_stat(const char *line, uint64_t now_ticks, char ret_comm[static 16])
{
	const char *comm = strchr(line, '('), *rest = strrchr(line, ')');
	unsigned long long user, sys, start;
	char state;

	/* state ppid pgrp session tty tpgid flags minflt cminflt majflt cmajflt utime stime ... starttime */
	if (!comm || !rest || rest <= comm ||
	    sscanf(rest + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %*d %*d %llu",
		   &state, &user, &sys, &start) != 4)
		return false;
	if (state == 'Z' || state == 'X')
		return false;
	snprintf(ret_comm, 16, "%.*s", (int)(rest - comm - 1), comm + 1);
	return state == 'R' || (now_ticks > start && (user + sys) * BUSY_SHARE >= now_ticks - start);
}

static bool is_busy(int proc_fd, const char *pid, uint64_t now_ticks, char ret_comm[static 16])
{
	char path[64], line[1024];
	_cleanup_close_ int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "%.32s/stat", pid);
	fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);
	if (n <= 0)
		return false;
	line[n] = '\0';
	return cpu_top_tasks_stat(line, now_ticks, ret_comm);
}

void cpu_top_tasks_each(int proc_fd, uint64_t budget_ns, struct coop *coop, cpu_top_tasks_fn fn, void *ctx)
{
	const uint64_t begin_ns = clock_boot_ns(), tick_ns = 1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK);
	const uint64_t cpu_ns = clock_thread_cpu_ns();
	_cleanup_(closedirp) DIR *dir = io_opendir(proc_fd, ".");
	const struct dirent *e;
	char comm[16];
	uint64_t pid;

	while (dir && (e = readdir(dir)) && clock_thread_cpu_ns() - cpu_ns < budget_ns && coop_yield(coop) == 0) {
		if (str_to_u64(e->d_name, 10, &pid) < 0 || pid > UINT32_MAX)
			continue;
		if (is_busy(proc_fd, e->d_name, begin_ns / tick_ns, comm))
			fn(ctx, (uint32_t)pid, comm);
	}
}
