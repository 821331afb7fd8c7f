/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names that all parts of a store share. The format is include/sonde/store.h.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

struct sonde_rec;

/* A record, 8-byte aligned and r->len bytes readable. A negative return ends the reading and is returned. */
typedef int (*store_fn)(void *ctx, const struct sonde_rec *r);

#endif
