/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which processes need the CPUs, out of /proc: whose stacks are going to be walked. A guess, made before the first
 * sample; who is left out costs a sample or two that stop at the first file without a table.
 */
#ifndef CPU_TOP_TASKS_H
#define CPU_TOP_TASKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Calls @fn for each process that is running or ready to run, or that used two hundredths of a CPU since it began,
 * while @budget_ns last. @proc_fd: a directory of processes. @comm: its name, 15 bytes at most.
 */
typedef void (*cpu_top_tasks_fn)(void *ctx, uint32_t tgid, const char *comm);
void cpu_top_tasks_each(int proc_fd, uint64_t budget_ns, cpu_top_tasks_fn fn, void *ctx);

/* The line of /proc/PID/stat says so. @now_ticks: of USER_HZ, since boot. */
bool cpu_top_tasks_stat(const char *line, uint64_t now_ticks, char ret_comm[static 16]);

#endif
