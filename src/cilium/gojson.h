/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JSON strings as Go's encoding/json writes them: escapes <, > and & too. */
#ifndef CILIUM_GOJSON_H
#define CILIUM_GOJSON_H

#include <stddef.h>

struct buf;

void gojson_string(struct buf *out, const char *s, size_t len);	/* including the quotes */

#endif
