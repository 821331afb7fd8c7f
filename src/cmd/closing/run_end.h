/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The end of a run, on standard error: its ledger and losses, and why nothing was shown.
 */
#ifndef CMD_RUN_END_H
#define CMD_RUN_END_H

#include <stdint.h>

struct pipeline;

struct run_end {
	const struct run_conf *conf;
	const struct run_ops *spec;
	const struct other_netns *others;	/* since the start; NULL = not examined */
	uint64_t ran_ns;	/* 0: stopped during the start */
};

void run_end_say(const struct pipeline *p, const struct run_end *c);

#endif
