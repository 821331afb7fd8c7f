/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events of the sys probe as strace's lines, in its files.
 */
#ifndef COMPAT_STRACE_SINK_H
#define COMPAT_STRACE_SINK_H

#include <stdint.h>

struct err;
struct strace_opts;
struct strace_sink;

/*
 * Opens the output. @command_pid is read at the first event: the command's process, 0 without one; @pids are the
 * threads of -p. All are borrowed. -EINVAL or the error of the file with a sentence.
 */
int strace_sink_new(const struct strace_opts *o, const uint32_t *command_pid, struct strace_sink **ret,
		    struct err *err);
/* Prints the table if there is one, closes all files and waits for the command behind "|". 0 or the first error. */
int strace_sink_finish(struct strace_sink *s);
void strace_sink_free(struct strace_sink *s); /* NULL is fine */

/* Called once, when the last process of -p has exited. */
void strace_sink_on_end(struct strace_sink *s, void (*fn)(void *ctx), void *ctx);

/* Sinks whose sink_opts.ctx is a struct strace_sink; the second one has descriptors of all arguments. */
extern const struct sink_ops strace_sink_plain, strace_sink_named;

#endif
