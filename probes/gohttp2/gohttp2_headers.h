/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Applies the headers of a frame to its call.
 */
#ifndef GOHTTP2_HEADERS_H
#define GOHTTP2_HEADERS_H

#include <stdbool.h>

#include "base/cursor.h"
#include "probes/gohttp2/gohttp2_wire.h"

struct gohttp2_call;

/* Are the fields well-formed? The functions below rely on it. */
bool gohttp2_headers_check(struct cursor fields);
bool gohttp2_headers_has(struct cursor fields, enum gohttp2_header which);
/* 0 or -ENOMEM. */
int gohttp2_headers_apply(struct gohttp2_call *c, struct cursor fields);

#endif
