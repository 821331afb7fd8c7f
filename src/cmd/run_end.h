/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The end of a run, on standard error: its ledger and its losses.
 */
#ifndef CMD_RUN_END_H
#define CMD_RUN_END_H

struct pipeline;

void run_end_say(const struct pipeline *p, unsigned verbose);

#endif
