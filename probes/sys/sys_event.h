/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Event types of the sys probe, and the start of their text lines.
 */
#ifndef SYS_EVENT_H
#define SYS_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "event/decode.h"
#include "event/event.h"
#include "event/redact/redact.h"
#include "probes/sys/sys_body.h"

/* sys.sum: struct sys_stats_rec without its header. */
struct sys_stats_body {
	uint16_t nr;
	uint8_t abi, pad;
	uint32_t rank;
	uint64_t calls, errors, total_ns, all_ns;
	uint64_t steps[SYS_STEPS];
	uint64_t timed, max_ns, one_in, first, long_ns;
	uint32_t by, by_pid;
	char by_name[16];
	uint64_t bytes;
};
_Static_assert(sizeof(struct sys_stats_body) == sizeof(struct sys_stats_rec) - sizeof(struct sonde_rec),
	       "the body is the record without its header");

/* sys.gap: a hole in the sequence numbers of one CPU. */
struct sys_gap_body {
	uint64_t since_ns;	/* boot clock: last record before the hole; ev->ts_ns: the first one after it */
	uint32_t missing;
	uint32_t pad;
};

/* Is the output format strace's (--format strace)? */
bool sys_event_text_strace(const struct line_opts *o);
/* Caller at the start of a line: "12    " in strace's format, else "cat[12] ". */
void sys_event_text_who(const struct event *ev, const struct line_opts *o, struct buf *out);

/* Is it the return of fork() or clone() in the new task? */
bool sys_event_is_birth(const struct sys_body *b);

extern const struct event_desc sys_exit_desc, sys_enter_desc, sys_stats_desc, sys_gap_desc;
extern const struct event_desc sys_switch_desc, sys_signal_desc, sys_fault_desc, sys_procexit_desc, sys_uring_desc;
extern const struct event_desc sys_lost_desc, sys_sampling_desc, sys_file_desc;

/* Content of the records: sys_content.c. */
extern const struct content_rule sys_content[];
extern const struct redact_rule sys_redact[];	/* sys_redact.c */

#endif
