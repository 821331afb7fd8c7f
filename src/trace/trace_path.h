/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Puts one call together. Private to src/trace.
 */
#ifndef TRACE_PATH_H
#define TRACE_PATH_H

struct trace_build;
struct trace_fact;

/* @call: a fact of the window of @b, which is empty otherwise. 0 or -ENOMEM; call trace_build_fini() in any case. */
int trace_path_build(struct trace_build *b, const struct trace_fact *call);

#endif
