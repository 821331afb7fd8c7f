/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records of format 1.0 (net_1_wire.h) as records of today.
 */
#ifndef NET_DECODE_1_H
#define NET_DECODE_1_H

#include <stdint.h>

struct arena;
struct sonde_rec;

/* SONDE_HOW_* of a NET_OWNER_1_*. */
uint8_t net_decode_1_how(uint8_t owner_by);

/* *ret: struct net_rec in @scratch. -EBADMSG if @rec is truncated, -ENOMEM. */
int net_decode_1_upgrade(const struct sonde_rec *rec, struct arena *scratch, const struct sonde_rec **ret);

#endif
