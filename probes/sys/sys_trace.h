/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Live half of the events beside system calls (sys_trace.bpf.c).
 */
#ifndef SYS_TRACE_H
#define SYS_TRACE_H

#include <stdint.h>

#include "probe/probe.h"

struct trace;

/*
 * Loads the programs of @events (SYS_EVENT_*, not 0). Fails only if none loads; sys_trace_report() lists missing
 * ones.
 */
int sys_trace_new(struct probe *p, unsigned events, struct trace **ret, struct err *err);
void sys_trace_free(struct trace *t);				       /* NULL is fine here and below */
uint64_t sys_trace_suppressed(const struct trace *t, unsigned n_cpus); /* events dropped by --suppress */
int sys_trace_attach(struct trace *t);				       /* returns the number attached */
void sys_trace_detach(struct trace *t);
void sys_trace_report(const struct trace *t, bool failed_only, hook_report_fn fn, void *ctx);

#endif
