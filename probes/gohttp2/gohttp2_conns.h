/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Types of connections of one file: the rows of the kernel side's table, and their names for what leads to no socket.
 */
#ifndef GOHTTP2_CONNS_H
#define GOHTTP2_CONNS_H

#include <stdint.h>

struct gobin_answer;

struct gohttp2_conns *gohttp2_conns_new(const struct gobin_answer *a);	/* NULL without memory */
void gohttp2_conns_free(struct gohttp2_conns *c);	/* NULL is fine */

/* Adds the rows to the map @fd, or removes them. @module: lowest bit 0. */
void gohttp2_conns_publish(const struct gohttp2_conns *c, int fd, uint32_t module);
void gohttp2_conns_withdraw(const struct gohttp2_conns *c, int fd, uint32_t module);

/* Name of the type with this descriptor in the file; NULL = unknown. */
const char *gohttp2_conns_name(const struct gohttp2_conns *c, uint64_t type);

#endif
