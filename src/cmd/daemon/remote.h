/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A run that uses an agent's probes: finds the agent and subscribes.
 */
#ifndef CMD_REMOTE_H
#define CMD_REMOTE_H

struct client;
struct err;
struct probe_select;
struct run_conf;
struct run_ops;

/*
 * Connects and subscribes to the probes that @spec would load here. 1: *ret_client has the stream; 0: this run is
 * local (no agent, --agent=no, or something that only this process can do); -errno with a sentence. @where: the
 * filter that the agent applies; NULL = none.
 */
int remote_open(const struct run_conf *c, const struct run_ops *spec, const struct probe_select *sel,
		const char *where, struct client **ret_client, struct err *err);

/* The second half: subscribes @client, which is connected, to the probes of @spec. */
int remote_subscribe(struct client *client, const struct run_conf *c, const struct run_ops *spec,
		     const struct probe_select *sel, const char *where, struct err *err);

#endif
