/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events with packets as tcpdump's lines on standard output.
 */
#ifndef COMPAT_TCPDUMP_SINK_H
#define COMPAT_TCPDUMP_SINK_H

#include <stdbool.h>
#include <stdint.h>

struct tcpdump_opts;

/*
 * @o is borrowed. @with_iface: interface and direction in front of lines, as for "-i any"; @count_only: no lines.
 * Reads the names of services unless numbers are asked for. NULL = out of memory.
 */
struct tcpdump_sink *tcpdump_sink_new(const struct tcpdump_opts *o, bool with_iface, bool count_only);
void tcpdump_sink_free(struct tcpdump_sink *s); /* NULL is fine */
uint64_t tcpdump_sink_count(const struct tcpdump_sink *s);

extern const struct sink_ops tcpdump_sink_ops; /* sink_opts.ctx: a struct tcpdump_sink */

#endif
