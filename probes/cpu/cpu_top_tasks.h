/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processes that use the CPUs, read from /proc: the first samples will probably hit these. For a process that the
 * guess misses, the first samples stop at the first file without a table.
 */
#ifndef CPU_TOP_TASKS_H
#define CPU_TOP_TASKS_H

#include <stdbool.h>
#include <stdint.h>

struct coop;

/*
 * Calls @fn for each process that is runnable, or that has used 2 % of a CPU since its start. Stops after @budget_ns
 * of CPU time; a job passes the turn in between, and stops when cancelled. @proc_fd: a /proc. @comm: up to 15 bytes.
 */
typedef void (*cpu_top_tasks_fn)(void *ctx, uint32_t tgid, const char *comm);
void cpu_top_tasks_each(int proc_fd, uint64_t budget_ns, struct coop *coop, cpu_top_tasks_fn fn, void *ctx);

/* Parses a line of /proc/PID/stat: is the process busy? @now_ticks: time since boot in USER_HZ. */
bool cpu_top_tasks_stat(const char *line, uint64_t now_ticks, char ret_comm[static 16]);

#endif
