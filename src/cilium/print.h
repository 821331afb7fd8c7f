/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Notifications as `cilium-dbg monitor` of release 1.20 prints them: default, -n, -v, -vv, --hex, --json. The quirks
 * of its lines are part of the format; its defects are not (doc/COMPATIBILITY.md names what differs).
 */
#ifndef CILIUM_PRINT_H
#define CILIUM_PRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cilium/notify.h"

struct buf;

struct cilium_print {
	unsigned verbose;	/* 0, 1 (-v) or 2 (-vv) */
	bool hex;		/* --hex: with -vv a dump instead of the dissection */
	bool json;		/* wins over verbose */
	bool numeric;		/* identities as numbers */
	/* Writes the name of an interface to @name, or returns false. NULL = numbers only. */
	bool (*iface)(void *ctx, uint32_t ifindex, char name[static 16]);
	/* What the datapath calls a drop code, a source file; NULL, or to return it: as Cilium does. */
	const char *(*drop)(void *ctx, uint8_t code);
	const char *(*file)(void *ctx, uint8_t id);
	void *ctx;
};

#define CILIUM_RECORD_SAMPLE 9	/* payload types: the record types of perf rings */
#define CILIUM_RECORD_LOST 2

/* What travels: a record out of a ring, or the count of those that were lost. */
struct cilium_payload {
	const uint8_t *data;	/* borrowed */
	size_t len;
	int64_t cpu;
	uint64_t lost;
	int64_t type;		/* CILIUM_RECORD_*, or any other number */
};

/* Appends what is printed for @p: nothing, or whole lines. 0 or -ENOMEM. */
int cilium_print(const struct cilium_payload *p, const struct cilium_print *o, struct buf *out);

/* Parts of lines, for the files of this module. */
void cilium_print_put_iface(struct buf *out, uint32_t ifindex, const struct cilium_print *o);
void cilium_print_put_reason(struct buf *out, const struct cilium_notify *drop, const struct cilium_print *o);
void cilium_debug_put(struct buf *out, const struct cilium_notify *n, const struct cilium_print *o);
void cilium_debug_put_capture(struct buf *out, const struct cilium_notify *n, const struct cilium_print *o);
bool cilium_debug_put_capture_prefix(struct buf *out, const struct cilium_notify *n, const struct cilium_print *o);
void cilium_print_put_point_summary(struct buf *out, const struct cilium_notify *n);
void cilium_json_notify(struct buf *out, const struct cilium_notify *n, int64_t cpu, const struct cilium_print *o);
/* Agent and L7: @data is the payload, its first byte the type. False when it is no such stream. */
bool cilium_l7_put_agent(struct buf *out, const uint8_t *data, size_t len, bool json);
bool cilium_l7_put(struct buf *out, const uint8_t *data, size_t len, bool json);
/* The endpoints of an access-log record; false as above. */
bool cilium_l7_ends(const uint8_t *data, size_t len, uint16_t *ret_src, uint16_t *ret_dst);

#endif
