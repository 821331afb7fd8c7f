/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file that perf script and perf report read: a recording of sonde, perf.data by default.
 */
#ifndef COMPAT_PERF_INPUT_H
#define COMPAT_PERF_INPUT_H

#include "stack/view.h"

struct cmd_words;
struct err;
struct event;
struct run_conf;

/*
 * Sets c->read: as given, else standard input if it is a pipe, else perf.data. A file that is missing or is perf's
 * own is an error with a sentence: -ENOENT, -EINVAL.
 */
int perf_input_name(struct run_conf *c, struct err *err);

/* One pass over the recording: each selected sample goes to @sink, whose sink_opts.ctx is @ctx. An exit status. */
struct perf_input {
	const struct stack_view *view;
	const struct sink_ops *sink;
	void *ctx;
	struct perf_select *select;
	bool lines, raw_names; /* see struct sym_opts */
};
int perf_input_run(struct run_conf *c, const struct perf_input *in, const struct cmd_words *w);

/*
 * Name of what was sampled: "cpu-clock", "cycles", or that of the events. @before: the name so far, NULL = none;
 * samples give theirs to a recording that also has waits.
 */
const char *perf_input_event(const struct event *ev, const char *before);

#endif
