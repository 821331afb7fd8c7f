/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names that calls are counted by: ids in a resource are left out, so that calls of one kind are one row.
 */
#ifndef CALL_CALL_GROUP_H
#define CALL_CALL_GROUP_H

#include <stddef.h>

struct buf;

/*
 * Appends @text with "_" for each segment that is an id: digits only; or hexadecimal digits and dashes, eight bytes
 * or more, a digit among them (UUIDs, hashes, dates). A segment ends at one of @separators. "v2" and "cafe" stay.
 */
void call_group_add(struct buf *out, const char *text, size_t len, const char *separators);

#endif
