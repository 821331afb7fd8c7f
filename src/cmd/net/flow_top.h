/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables over flows and drops: who speaks most, to which ports, what is dropped most and why. Fed by a sink, so live
 * and from recordings alike. Reports of a flow carry totals: what one adds is its difference to the report before.
 */
#ifndef CMD_FLOW_TOP_H
#define CMD_FLOW_TOP_H

#include <stdbool.h>
#include <stdint.h>

struct buf;
struct flow_top;
struct sink_ops;

enum flow_top_kind { FLOW_TOP_NONE, FLOW_TOP_TALKERS, FLOW_TOP_PORTS, FLOW_TOP_DROPS, FLOW_TOP__MAX };
extern const char *const flow_top_names[];	/* by kind, NULL-terminated */

int flow_top_new(enum flow_top_kind kind, struct flow_top **ret);	/* 0 or -ENOMEM */
void flow_top_free(struct flow_top *t);					/* NULL is fine */

/*
 * Appends the table of what came since the last call with @interval (else of everything), the heaviest @max rows
 * of it (0 = all); as text, or one object a line. 0 or -ENOMEM.
 */
int flow_top_print(struct flow_top *t, bool interval, bool json, unsigned max, struct buf *out);

/* A sink whose sink_opts.ctx is a struct flow_top. */
extern const struct sink_ops flow_top_sink;

#endif
