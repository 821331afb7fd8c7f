/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counts system calls for the last line of sonde syscalls; for struct tally.
 */
#ifndef CMD_SYS_CLOSING_H
#define CMD_SYS_CLOSING_H

#include <stdint.h>

struct buf;
struct event;

struct sys_closing {
	const struct tally *tally;	/* of the run: time and losses */
	uint64_t calls, failed;
};

void sys_closing_event(void *ctx, const struct event *ev);	/* @ctx: a struct sys_closing */
void sys_closing_line(void *ctx, struct buf *line);

#endif
