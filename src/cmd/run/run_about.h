/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recordings have the events of several probes: which of them a command that reads one is about.
 */
#ifndef CMD_RUN_ABOUT_H
#define CMD_RUN_ABOUT_H

#include <stdbool.h>

struct run_conf;

#define RUN_ABOUT_TYPES 256

/* Zeroed at the start of a run. */
struct run_about {
	struct run_about_type {
		const struct event_desc *desc;
		bool shown;
	} types[RUN_ABOUT_TYPES];	/* looked up already */
	const struct event_desc *other;	/* a type that was left out; NULL = none */
	bool any;			/* there were events that the command is about */
};

/*
 * Is the type among @types, or not of a probe? NULL: all are. "net.drop" means one type, "net" all of that probe
 * that have no command of their own, as flows have.
 */
bool run_about_shows(struct run_about *a, const char *const *types, const struct event_desc *d);

/* The recording has no event of the command: says what it has instead of @unit, and which command reads that. */
void run_about_say(const struct run_about *a, const struct run_conf *c, const char *unit);

#endif
