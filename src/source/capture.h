/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside src/source only: what the readers of capture files share, that is the records they make.
 *
 * Time: a capture file has wall-clock times, records have time since boot. The first packet's time becomes the
 * offset of a clock record, and packets carry what is above it; a packet from before it (files may be out of order)
 * is preceded by a clock record of its own. Wall-clock times are exact either way; differences across such a
 * record are not.
 */
#ifndef SOURCE_CAPTURE_H
#define SOURCE_CAPTURE_H

#include "base/buf.h"
#include "base/cursor.h"
#include "source/source.h"

#define CAPTURE_MAX_PACKET 262144u	/* as libpcap and Wireshark have it: no capture holds longer ones */
#define CAPTURE_MAX_TEXT 65536u		/* comments of one packet */

/* A zeroed struct is ready; fn and ctx are set by each parse call. */
struct capture {
	struct buf rec;		/* scratch: the record that is being built */
	source_fn fn;
	void *ctx;
	uint64_t at;		/* bytes of the file before the window: for messages */
	uint64_t skip;		/* bytes of a block that nobody reads */
	int64_t offset_ns;	/* of the newest clock record */
	bool has_clock;
	uint32_t seq;
};

struct capture_packet {
	int64_t time_ns;	/* since 1970 */
	uint32_t link, iface;
	uint32_t cap_len, orig_len;
	uint32_t pid, tid;	/* 0 = unknown */
	uint16_t direction;	/* 0 unknown, 1 in, 2 out */
	const void *data;
	const char *text;	/* comments, separated by \n; cut beyond CAPTURE_MAX_TEXT */
	size_t text_len;
};

void capture_fini(struct capture *c);

/* First in every stream. Texts may be NULL. 0, -ENOMEM, or the callback's negative return; likewise below. */
int capture_host(struct capture *c, const char *os, size_t os_len, const char *hardware, size_t hardware_len);
/* A name for a number: SONDE_NAME_*. */
int capture_name(struct capture *c, uint32_t space, uint64_t key, const char *name, size_t len);
int capture_iface(struct capture *c, uint32_t iface, const char *name, size_t len);
int capture_packet(struct capture *c, const struct capture_packet *p);

/* A record of @len bytes whose header has type, cpu, tid and flags; sets its time, number and length. */
int capture_record(struct capture *c, struct sonde_rec *r, size_t len, int64_t time_ns);

/*
 * Reads the block at @c. Returns its length; 0 when it is not here to its end, or when nobody reads it and its length
 * was put into skip; or a negative errno.
 */
typedef int64_t (*capture_block_fn)(void *state, struct cursor c, struct err *err);

/*
 * Has @fn read the blocks of a window, one after the other. Returns the bytes that are done with, or a negative
 * errno: -ENODATA at @eof inside of a block.
 */
int64_t capture_blocks(struct capture *c, struct cursor window, bool eof, capture_block_fn fn, void *state,
		       struct err *err);

/* The sentence of a file that ends inside of something. Returns -ENODATA. */
int capture_cut(const struct capture *c, const char *what, struct err *err);

/* @seconds + @ns as ns, held within what an int64_t can say. */
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
