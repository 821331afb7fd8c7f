/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The calls that the words of sonde trace and sonde explain choose: CALL | METHOD | conn TUPLE | pid PID | EXPR.
 */
#ifndef CMD_TRACE_SELECT_H
#define CMD_TRACE_SELECT_H

#include <stdbool.h>
#include <stdint.h>

#include "event/value.h"

struct err;
struct event;
struct opt_strv;
struct registry;
struct trace_fact;

struct trace_select {
	uint64_t id;	/* event_call_id(); 0 = by the members below */
	uint32_t pid;
	const char *method; /* borrowed; NULL = not by method */
	uint16_t ports[2]; /* of a connection, either way round; 0 = not by connection */
	struct ipaddr ends[2];
	char *expr;		/* owned; NULL = none */
	struct filter *filter;	/* owned; of expr, made by trace_select_compile() */
};

/* Reads the words; an empty list selects everything. 0, or -EINVAL with @err. */
int trace_select_parse(struct trace_select *s, const struct opt_strv *words, struct err *err);
int trace_select_compile(struct trace_select *s, const struct registry *reg, struct err *err);
void trace_select_fini(struct trace_select *s);

/* @ev: an rpc.call event, @call the fact of it. */
bool trace_select_match(const struct trace_select *s, const struct event *ev, const struct trace_fact *call);

#endif
