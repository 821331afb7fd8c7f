/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parts of a call's line. None of them fails but for memory, which the buffer tells.
 */
#ifndef SYS_PRINT_H
#define SYS_PRINT_H

#include "probes/sys/sys_event.h"

struct buf;

/* The @nth chunk @what of argument @arg, from 0: what the kernel left stands behind what it was given. */
struct sys_bytes sys_print_chunk_nth(const struct sys_body *b, unsigned arg, unsigned what, unsigned nth);

/*
 * The call that a socketcall or ipc of a 32-bit program stands for: its name, and @ret with its arguments and nothing
 * else, for the functions here. NULL: it is none of those, or its arguments are not known.
 */
const char *sys_subcall(const struct sys_body *b, struct sys_body *ret);

void sys_print_ptr(uint64_t v, struct buf *out);
/* The memory behind @arg. False: its value is all in its register. */
bool sys_memory_print(const struct sys_body *b, const struct sys_arg *arg, bool entered, const struct sys_look *k,
		      struct buf *out);
/* The descriptors in @m, argument @i of select() and its like, below its first argument. */
void sys_result_print_bits(const struct sys_body *b, unsigned i, struct sys_bytes m, struct buf *out);

/* Argument @i: a vector, a message, several; with what they carry, at most @cap bytes of each (0: all). */
void sys_msg_print_iov(const struct sys_body *b, unsigned i, unsigned cap, struct buf *out);
/* @in: given to the kernel, not filled in by it. */
void sys_msg_print(const struct sys_body *b, unsigned i, bool in, unsigned cap, struct buf *out);
void sys_msg_print_mmsg(const struct sys_body *b, unsigned i, bool entered, unsigned cap, struct buf *out);

#endif
