/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The live half of events beside the calls (sys_trace.bpf.c).
 */
#ifndef SYS_TRACE_H
#define SYS_TRACE_H

#include <stdint.h>

#include "probe/probe.h"

struct err;
struct trace;

/*
 * Loads the programs of @events (SYS_EVENT_*), which are not 0. Fails only when none of them can be loaded; who else
 * is missing is told by sys_trace_report().
 */
int sys_trace_new(struct probe *p, unsigned events, struct trace **ret, struct err *err);
void sys_trace_free(struct trace *t);				       /* NULL is fine, likewise below */
uint64_t sys_trace_suppressed(const struct trace *t, unsigned n_cpus); /* events left out for their names */
int sys_trace_attach(struct trace *t);				       /* how many are attached */
void sys_trace_detach(struct trace *t);
void sys_trace_report(const struct trace *t, bool failed_only, hook_report_fn fn, void *ctx);

#endif
