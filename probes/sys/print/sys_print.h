/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * System calls as strace(1) prints them. All functions append to @out; buf_error() reports a lack of memory.
 *
 * sys_print.c prints a whole call, sys_memory.c the memory behind one argument, sys_msg.c I/O vectors and messages,
 * sys_struct.c structures, sys_result.c results; sys_text.h has single values.
 */
#ifndef SYS_PRINT_H
#define SYS_PRINT_H

#include "probes/sys/sys_body.h"

struct buf;

/* How much of a call to print. */
struct sys_print_opts {
	unsigned cap;		/* longest string, bytes; 0 = no limit */
	bool full;		/* all members of structures, and whole environments (strace -v) */
	bool names;		/* "fd: 3" in place of "3"; without arguments that are 0, as perf trace prints them */
	const struct sec_file *file; /* of the call's descriptor, to print its name as strace -y does; NULL = none */
	/*
	 * Append what stands behind a descriptor (AT_FDCWD included) and a process id, or nothing. NULL = the name of
	 * `file`, and nothing.
	 */
	void (*add_fd)(void *ctx, int32_t fd, struct buf *out);
	void (*add_pid)(void *ctx, int32_t pid, struct buf *out);
	void *ctx;
};

extern const struct sys_print_opts sys_print_all;

/* "openat(AT_FDCWD, "/etc/passwd", O_RDONLY) = 3". @column of @out: position of "=" after a short call; 0 = any. */
int sys_print_call(const struct sys_body *b, bool entered, const struct sys_print_opts *o, size_t column,
		   struct buf *out);
/* The arguments, separated by ", ". */
int sys_print_args(const struct sys_body *b, bool entered, const struct sys_print_opts *o, struct buf *out);
/* Pads with blanks so that the text after one more blank begins at @column of @out. */
void sys_print_pad(size_t column, struct buf *out);

int sys_result_print(const struct sys_body *b, struct buf *out);
/* Values that the kernel returned in memory, in parentheses after @before: "(in [3], left {...})", "(Timeout)". Empty
   for calls without such values. */
int sys_result_print_answer(const struct sys_body *b, const char *before, struct buf *out);

/* Memory behind @arg. False if the value is in the register itself. */
bool sys_memory_print(const struct sys_body *b, const struct sys_arg *arg, bool entered,
		      const struct sys_print_opts *o, struct buf *out);
/* Descriptor set @m of argument @i of select(), up to the number of descriptors in argument 0. */
void sys_result_print_fdset(const struct sys_body *b, unsigned i, struct sys_bytes m, struct buf *out);

/* I/O vector, message or array of messages in argument @i, with at most @cap bytes of each payload (0 = all). */
void sys_msg_print_iov(const struct sys_body *b, unsigned i, unsigned cap, struct buf *out);
/* @in: the program filled in the message, not the kernel. */
void sys_msg_print(const struct sys_body *b, unsigned i, bool in, unsigned cap, struct buf *out);
void sys_msg_print_mmsg(const struct sys_body *b, unsigned i, bool entered, unsigned cap, struct buf *out);

/* A structure. @full: all members; @answered: also members that the kernel fills in. */
void sys_struct_print(const struct sys_struct *s, unsigned abi, bool full, bool answered, const uint8_t *data,
		      size_t len, struct buf *out);

/*
 * The system call inside socketcall() or ipc() of a 32-bit program: returns its name and fills @ret with its
 * arguments. NULL if the call is neither, or its arguments are unknown.
 */
const char *sys_subcall(const struct sys_body *b, struct sys_body *ret);

#endif
