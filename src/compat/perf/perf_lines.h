/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples in the lines of perf script.
 */
#ifndef COMPAT_PERF_LINES_H
#define COMPAT_PERF_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/opt.h"

#define PERF_FIELD_COMM 1u
#define PERF_FIELD_TID 2u
#define PERF_FIELD_PID 4u
#define PERF_FIELD_TIME 8u
#define PERF_FIELD_CPU 16u
#define PERF_FIELD_EVENT 32u
#define PERF_FIELD_IP 64u
#define PERF_FIELD_SYM 128u
#define PERF_FIELD_SYMOFF 256u
#define PERF_FIELD_DSO 512u
#define PERF_FIELD_PERIOD 1024u
#define PERF_FIELD_SRCLINE 2048u

struct perf_lines {
	unsigned fields; /* PERF_FIELD_* */
	bool no_chain;	 /* the innermost frame only */
	bool ns, reltime, deltatime;
	uint32_t max_stack;		     /* frames; 0 = all */
	struct opt_strv stop, symbols, dsos; /* lists separated by commas */

	bool header, header_only;
	const char *file;    /* its name in the header */
	struct outfile *out; /* borrowed */
};

/* "comm,ip,sym", "+period,-cpu", "sw:time,event": into *fields. 0, or -EINVAL with a sentence. */
int perf_lines_fields(const char *text, unsigned *fields, struct err *err);
unsigned perf_lines_default(void);

extern const struct sink_ops perf_lines_sink; /* sink_opts.ctx is a struct perf_lines */

#endif
