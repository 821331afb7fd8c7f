/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of user frames in a stream of JSON lines. A name costs a process that reads its file, so they are asked for
 * in batches: lines wait in here, with holes where names belong, until they are old or many enough.
 */
#ifndef SINKS_JSON_NAMES_H
#define SINKS_JSON_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/vec.h"
#include "sym/sym.h"

struct event;
struct outfile;

struct json_hole {
	size_t at;		/* offset in text */
	struct sym_query what;
	bool first;		/* of its array: no comma in front */
};

/* Zeroed but for sym: nothing waits. */
struct json_names {
	struct sym *sym;	/* borrowed */
	struct buf text;	/* whole lines but for the holes */
	VEC(struct json_hole) holes;
	uint64_t since_ns;	/* when the first of them came; 0 = nothing waits */
};

/* Leaves holes for the user stack of @ev at the end of n->text. */
int json_names_leave(struct json_names *n, const struct event *ev);

/* True when what waits should go out. @now_ns: CLOCK_BOOTTIME. */
bool json_names_due(const struct json_names *n, uint64_t now_ns);

/* Fills the holes and writes line after line. 0, -ENOMEM or the error of the write. */
int json_names_write(struct json_names *n, struct outfile *out);
void json_names_fini(struct json_names *n);

#endif
