/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The live stream of sonde ui: of an agent, or of a pipeline in a process of its own that keeps the rights.
 */
#ifndef CMD_UI_LIVE_H
#define CMD_UI_LIVE_H

struct client;
struct err;
struct record_sets;
struct run_conf;
struct ui_live;

/*
 * Subscribes to the probes of @sets. *ret_client has the stream; *ret_live is the process behind it, NULL if an agent
 * is. 0 or -errno with a sentence; then close what was returned.
 */
int ui_live_open(const struct run_conf *c, const struct record_sets *sets, struct client **ret_client,
		 struct ui_live **ret_live, struct err *err);
/* The same of an agent, over the connected socket @fd, which is taken over. */
int ui_live_attach(int fd, const struct run_conf *c, const struct record_sets *sets, struct client **ret_client,
		   struct err *err);
/* Waits for the end of the process, after its client has left. NULL is fine. */
void ui_live_close(struct ui_live *l);

#endif
