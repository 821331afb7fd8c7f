/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Body of a system call: registers, result, and the chunks of memory and kernel context behind them. An event borrows
 * its body from the record; readers walk the chunks on demand.
 */
#ifndef SYS_BODY_H
#define SYS_BODY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/event.h"
#include "probes/sys/sys_table.h"
#include "probes/sys/sys_wire.h"

/* sys.exit and sys.enter: struct sys_rec from `ret` on; the chunks follow. */
struct sys_body {
	int64_t ret;
	uint64_t latency_ns;
	uint16_t nr;
	uint8_t abi, n_args;
	uint16_t flags, chunks_len;
	uint64_t args[SYS_ARGS];
};
_Static_assert(sizeof(struct sys_body) == sizeof(struct sys_rec) - offsetof(struct sys_rec, ret),
	       "the body is the record without its header");

/* A chunk in place; data is 8-byte aligned and never NULL. */
struct sys_bytes {
	const uint8_t *data;
	uint32_t len;
	uint16_t flags;		/* SYS_CHUNK_F_* */
	bool there;		/* the chunk exists; len may be 0 */
};

/* An argument with its name and type. */
struct sys_value {
	const char *name;
	const struct sys_arg *arg;	/* NULL where the tables do not describe it */
	uint64_t raw;
};

/* Process after a successful clone or exec; strings point into the body. */
struct sys_image {
	struct sys_proc proc;
	const uint8_t *exe, *cwd;	/* path components, last first, NUL after each */
	const uint8_t *name, *args, *env;
};

/* Body of a sys.exit or sys.enter event, NULL for other events. */
const struct sys_body *sys_body_of(const struct event *ev);
/* Is @ev a sys.enter event? */
bool sys_body_is_entry(const struct event *ev);

/* First chunk @what (SYS_CHUNK_*) of argument @arg (index or SYS_OF_*): the memory as the program passed it. */
struct sys_bytes sys_body_chunk(const struct sys_body *b, unsigned arg, unsigned what);
/* Chunk number @nth from 0: memory that the kernel rewrote follows the memory that the program passed. */
struct sys_bytes sys_body_chunk_nth(const struct sys_body *b, unsigned arg, unsigned what, unsigned nth);

unsigned sys_body_n_args(const struct sys_body *b);
struct sys_value sys_body_value(const struct sys_body *b, unsigned i);

/* The descriptor that the call is about: an argument, or the result; -1 = none. */
int32_t sys_body_fd(const struct sys_body *b);

/* Has the call no result, as exit()? */
bool sys_body_never_returns(const struct sys_body *b);

/* False if the event carries no process image. */
bool sys_body_image(const struct sys_body *b, struct sys_image *ret);

static inline bool sys_failed(int64_t ret)
{
	return ret < 0 && ret >= -SYS_ERRNO_LAST;
}

#endif
