/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * User side of the flight recorder of `sonde capture --keep`: its options and triggers.
 */
#ifndef CMD_RECORDER_H
#define CMD_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/opt.h"

struct event;
struct net_conf;
struct recorder;
struct run_conf;
struct run_ops;

struct record_conf {
	uint64_t keep_ns, after_ns, memory;
	const char *on;
	uint32_t dumps;
};

extern const struct record_conf record_conf_default;
extern const struct opt record_opts[];

/* *ret is NULL without --keep. @c and @run are borrowed. -EINVAL with a sentence. */
int recorder_open(const struct record_conf *c, const struct run_conf *run, struct recorder **ret, struct err *err);
void recorder_close(struct recorder *r);	/* NULL is fine */

void recorder_set_net(const struct record_conf *c, struct net_conf *net);
void recorder_set_spec(struct recorder *r, struct run_ops *spec);

/* Checks an event for a trigger. False if it is not (yet) for the outputs. */
bool recorder_pass(struct recorder *r, const struct event *ev);

#endif
