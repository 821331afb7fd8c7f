/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The headers of a frame into what is known of its call.
 */
#ifndef GORPC_HEADERS_H
#define GORPC_HEADERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "probes/gorpc/gorpc_wire.h"

struct gorpc_call;

/* Are the fields whole? The functions below rely on it. */
bool gorpc_headers_check(struct cursor fields);
bool gorpc_headers_has(struct cursor fields, enum gorpc_header which);
/* 0 or -ENOMEM. */
int gorpc_headers_apply(struct gorpc_call *c, struct cursor fields);

#endif
