/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records that readers of capture files produce. Private to src/source.
 *
 * Time: capture files hold wall-clock times, records hold time since boot. The first packet's time becomes the offset
 * of a clock record and packets carry the difference to it. An earlier packet (files may be unordered) gets a clock
 * record of its own. Wall-clock times are therefore exact; differences across such a record are not.
 */
#ifndef SOURCE_CAPTURE_H
#define SOURCE_CAPTURE_H

#include "base/buf.h"
#include "base/cursor.h"
#include "source/source_ops.h"

#define CAPTURE_MAX_PACKET 262144u	/* limit of libpcap and Wireshark */
#define CAPTURE_MAX_TEXT 65536u		/* comments of a packet */

/* Starts zeroed; each parse call sets fn and ctx. */
struct capture {
	struct buf rec;		/* scratch: the record under construction */
	source_fn fn;
	void *ctx;
	uint64_t at;		/* file offset of the window, for messages */
	uint64_t skip;		/* bytes left of an ignored block */
	int64_t offset_ns;	/* from the latest clock record */
	bool has_clock;
	uint32_t seq;
};

struct capture_packet {
	int64_t time_ns;	/* since 1970 */
	uint32_t link, iface;
	uint32_t cap_len, orig_len;
	uint32_t pid, tid;	/* 0 = unknown */
	uint16_t direction;	/* enum packet_direction */
	const void *data;
	const char *text;	/* comments separated by  ; truncated to CAPTURE_MAX_TEXT */
	size_t text_len;
};

void capture_fini(struct capture *c);

/*
 * First call of every stream. Strings may be NULL. All functions here return 0, -ENOMEM, or the callback's negative
 * return.
 */
int capture_host(struct capture *c, const char *os, size_t os_len, const char *hardware, size_t hardware_len);
/* Names a number of space SONDE_NAME_*. */
int capture_name(struct capture *c, uint32_t space, uint64_t key, const char *name, size_t len);
int capture_iface(struct capture *c, uint32_t iface, const char *name, size_t len);
int capture_packet(struct capture *c, const struct capture_packet *p);

/* Passes on a record of @len bytes; sets its time, number and length. The caller sets type, cpu, tid and flags. */
int capture_record(struct capture *c, struct sonde_rec *r, size_t len, int64_t time_ns);

/*
 * Parses the block at @c. Returns its length; 0 if it is incomplete, or ignored and its length was added to skip; or
 * -errno.
 */
typedef int64_t (*capture_block_fn)(void *state, struct cursor c, struct err *err);

/*
 * Calls @fn for each block of @window. Returns the bytes consumed, or -errno: -ENODATA if @eof falls inside a block.
 */
int64_t capture_blocks(struct capture *c, struct cursor window, bool eof, capture_block_fn fn, void *state,
		       struct err *err);

/* Reports a file that ends inside @what. Returns -ENODATA. */
int capture_cut(const struct capture *c, const char *what, struct err *err);

/* @seconds + @ns in ns, clamped to int64_t. */
int64_t capture_time(int64_t seconds, uint64_t ns);

static inline uint16_t capture_u16(struct cursor *c, bool swap)
{
	uint16_t v = cur_u16(c);

	return swap ? __builtin_bswap16(v) : v;
}

static inline uint32_t capture_u32(struct cursor *c, bool swap)
{
	uint32_t v = cur_u32(c);

	return swap ? __builtin_bswap32(v) : v;
}

static inline uint64_t capture_u64(struct cursor *c, bool swap)
{
	uint64_t v = cur_u64(c);

	return swap ? __builtin_bswap64(v) : v;
}

#endif
