/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names in recordings: sonde/symbol_wire.h. Private to src/sym.
 */
#ifndef SYM_RECORDED_H
#define SYM_RECORDED_H

#include <stdbool.h>
#include <stdint.h>

#include "sym/symbolizer.h"

struct event;

void recorded_init(struct sym *s);
void recorded_fini(struct sym *s);

/* Keeps the names in a sonde.symbols event. 0, -ENOMEM or -EBADMSG. */
int recorded_learn(struct sym *s, const struct event *ev);

/* The functions of @addr in @m, as recorded. NULL = the recording has none. */
const struct sym_frame *recorded_find(const struct sym *s, const struct module *m, uint64_t addr, bool caller);

#endif
