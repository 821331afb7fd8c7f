/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of user frames in JSON lines. Resolving names starts a process that reads the symbol file, so they are
 * resolved in batches: lines with placeholders wait until they are old or numerous enough.
 */
#ifndef SINKS_JSON_NAMES_H
#define SINKS_JSON_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/vec.h"
#include "sym/sym.h"

struct outfile;

struct json_hole {
	size_t at;		/* offset in text */
	struct sym_query what;
	bool first;		/* first element of its array: no comma before it */
};

/* Starts zeroed except for sym. */
struct json_names {
	struct sym *sym;	/* borrowed */
	struct buf text;	/* complete lines except for the placeholders */
	VEC(struct json_hole) holes;
	uint64_t since_ns;	/* arrival of the first waiting line; 0 = none waits */
};

/* Appends placeholders for the user stack of @ev to n->text. */
int json_names_leave(struct json_names *n, const struct event *ev);

/*
 * Should the waiting lines be written? @now_ns: CLOCK_BOOTTIME. A replay (@replay) waits until memory is short,
 * because a recording has the names at its end.
 */
bool json_names_due(const struct json_names *n, uint64_t now_ns, bool replay);

/* Fills in the names and writes each line. 0, -ENOMEM or the write's error. */
int json_names_write(struct json_names *n, struct outfile *out);
void json_names_fini(struct json_names *n);

#endif
