/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes records to a store: one process at a time, as segments that are sealed at a size or an age. A record is in
 * the file at most STORE_FLUSH_NS after it was added, in a chunk that a reader accepts, whatever ends the process.
 *
 * The caller ends a segment when store_writer_is_due() says so:
 *
 *   store_writer_phase(w, STORE_NAMES);	the next records are names of the segment
 *   store_writer_phase(w, STORE_STATE);	the segment ends; the next snapshot records are the state of a new one
 *   store_writer_phase(w, STORE_DATA);		the stream again
 *
 * Records of the stream that come during STORE_STATE follow the state. On a full disk the writer removes the oldest
 * sealed segment; without one it leaves records out, counts them, and tries again every STORE_RETRY_NS.
 */
#ifndef STORE_STORE_WRITER_H
#define STORE_STORE_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "store/store_dir.h"

struct sonde_rec;
struct store_writer;

#define STORE_FLUSH_NS 1000000000ull
#define STORE_RETRY_NS 5000000000ull
#define STORE_SEGMENT_BYTES (64ull << 20)
#define STORE_SEGMENT_NS (600 * 1000000000ull)

enum store_phase { STORE_DATA, STORE_NAMES, STORE_STATE, STORE_PHASE__MAX };

struct store_writer_opts {
	const char *path;		/* of the directory; created if it does not exist */
	mode_t mode;			/* of files; the directory also gets the bits to enter it. 0 = 0600 */
	gid_t group;			/* with mode 0640 */
	uint64_t segment_bytes;		/* stored; 0 = STORE_SEGMENT_BYTES */
	uint64_t segment_ns;		/* 0 = STORE_SEGMENT_NS */
	uint64_t sync_ns;		/* fdatasync() as often; 0 = at the end of a segment only */
	/*
	 * A flight recorder: segments stay in memory and are dropped after keep_ns, until store_writer_trigger(). 0 =
	 * they go to the directory.
	 */
	uint64_t keep_ns;
	uint64_t after_ns;		/* recorded after a trigger */
	struct store_limits limits;
	const char *options;		/* for the head: the command line; may be NULL */
	/* Does the type update tables of the readers? Readers of a part get all such records before it. */
	bool (*is_state)(void *ctx, uint16_t type);
	void *ctx;
	bool tells_owners;		/* store_writer_owner() is called */
};

/* Strings of @o are borrowed for the call only. 0, -EBUSY if another process writes it, or -errno. */
int store_writer_open(const struct store_writer_opts *o, struct store_writer **ret, struct err *err);

int store_writer_add(struct store_writer *w, const struct sonde_rec *r);	/* 0 or -ENOMEM */
/* The process of a record that named none, or another one, became known: at most STORE_OWNER_NS after its time. */
void store_writer_owner(struct store_writer *w, uint64_t ts_ns, uint32_t tgid);
int store_writer_flush(struct store_writer *w);	/* to be called some times a second */
bool store_writer_is_due(const struct store_writer *w);
int store_writer_phase(struct store_writer *w, enum store_phase phase);

/*
 * A flight recorder: the kept records, and the stream up to after_ns from now, go to the directory as segments. 1,
 * or 0 if a dump is under way or ended less than keep_ns ago: the trigger is counted.
 */
int store_writer_trigger(struct store_writer *w);

struct store_writer_stats {
	uint64_t records, raw_bytes, stored_bytes;
	uint64_t lost;		/* records left out for lack of room */
	int error;		/* why, the last time; 0 = none was */
	bool resting;		/* the disk is full: tried again later */
	bool idle;		/* all sealed segments are complete on the disk */
	uint64_t segments;	/* sealed */
	uint64_t dumps;		/* complete in the directory */
	uint64_t more_triggers;	/* that made no dump of their own */
};
void store_writer_stats(const struct store_writer *w, struct store_writer_stats *ret);

/* Seals the segment and waits until it is on the disk. The first error of the run, or 0. NULL is fine. */
int store_writer_close(struct store_writer *w, struct err *err);

#endif
