/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prints notifications as `cilium-dbg monitor` of release 1.20 does: default, -n, -v, -vv, --hex, --json. Keeps the
 * quirks of its lines but not its bugs (doc/COMPATIBILITY.md lists the differences).
 */
#ifndef CILIUM_PRINT_H
#define CILIUM_PRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cilium/notify.h"

struct cilium_print {
	unsigned verbose;	/* 0, 1 (-v) or 2 (-vv) */
	bool hex;		/* --hex: -vv dumps bytes instead of dissecting */
	bool json;		/* overrides verbose */
	bool numeric;		/* print identities as numbers */
	/* Stores an interface's name in @name, or returns false. NULL = print numbers. */
	bool (*iface)(void *ctx, uint32_t ifindex, char name[static 16]);
	/* The datapath's names for a drop code and a source file. NULL, as function or result: use Cilium's. */
	const char *(*drop)(void *ctx, uint8_t code);
	const char *(*file)(void *ctx, uint8_t id);
	void *ctx;
};

#define CILIUM_RECORD_SAMPLE 9	/* payload types, equal to the record types of perf rings */
#define CILIUM_RECORD_LOST 2

/* One message of the monitor socket: a ring record, or a count of lost records. */
struct cilium_payload {
	const uint8_t *data;	/* borrowed */
	size_t len;
	int64_t cpu;
	uint64_t lost;
	int64_t type;		/* CILIUM_RECORD_*; other numbers are possible */
};

/* Appends whole lines for @p, or nothing. 0 or -ENOMEM. */
int cilium_print(const struct cilium_payload *p, const struct cilium_print *o, struct buf *out);

/* Parts of lines, private to src/cilium. */
void cilium_print_put_iface(struct buf *out, uint32_t ifindex, const struct cilium_print *o);
void cilium_print_put_reason(struct buf *out, const struct cilium_notify *drop, const struct cilium_print *o);
void cilium_debug_put(struct buf *out, const struct cilium_notify *n, const struct cilium_print *o);
void cilium_debug_put_capture(struct buf *out, const struct cilium_notify *n, const struct cilium_print *o);
bool cilium_debug_put_capture_prefix(struct buf *out, const struct cilium_notify *n, const struct cilium_print *o);
void cilium_print_put_point_summary(struct buf *out, const struct cilium_notify *n);
void cilium_json_notify(struct buf *out, const struct cilium_notify *n, int64_t cpu, const struct cilium_print *o);
/* Agent and L7 records: @data is the payload, starting with the type byte. False if the stream is invalid. */
bool cilium_l7_put_agent(struct buf *out, const uint8_t *data, size_t len, bool json);
bool cilium_l7_put(struct buf *out, const uint8_t *data, size_t len, bool json);
/* Endpoint ids of an access-log record; false as above. */
bool cilium_l7_ends(const uint8_t *data, size_t len, uint16_t *ret_src, uint16_t *ret_dst);

#endif
