/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading rings: BPF ring buffers, perf event rings (forward and overwritable) and mmap rings behind one reader that
 * merges them by time. It knows bytes, times and CPUs, not events.
 *
 * The order promise:
 *  - Records of a ring are delivered in the order of that ring.
 *  - Over all rings, records are delivered by lowest time, batch by batch. At the start of a batch the reader samples
 *    the producer position of each ring, bulk rings before life-cycle rings, so that a record of a process never
 *    precedes the record of its birth. Within the batch it always takes the record with the lowest time. A record
 *    that is reserved but not committed holds back its ring, and all records later than the ring's last known time,
 *    until the next batch.
 *  - If CPUs have an mmap ring beside their bulk ring, a batch excludes records later than its start: the records of
 *    a thread come in order, whichever of the two rings they went through.
 *  - Between batches time may step back by the delay of a producer between reading its clock and reserving space. A
 *    consumer that needs total order must sort over a window.
 */
#ifndef RING_RING_H
#define RING_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

enum ring_kind {
	RING_BPF,		/* BPF_MAP_TYPE_RINGBUF; layout: kernel/bpf/ringbuf.c */
	RING_PERF,		/* perf event ring, oldest first; layout: include/uapi/linux/perf_event.h */
	RING_PERF_BACKWARD,	/* overwritable: readable while paused; delivers each record once, oldest first */
	RING__MAX,
};

/*
 * A delivered record. @data is valid until the callback returns. Loss that the kernel reports is delivered in the
 * position where it happened, as a record without data and with the time of the record before it.
 */
struct ring_rec {
	uint64_t time_ns;	/* clock of the producer; 0 if the ring has none */
	uint64_t lost;		/* > 0: number of records lost here; data is NULL, len 0 */
	const void *data;
	uint32_t len;
	uint32_t cpu;		/* real CPU id, not an index */
	unsigned source;	/* struct ring_opts */
};

/*
 * A negative return value stops the drain, which returns it; the record counts as delivered. The callback must not
 * add or remove rings, or drain.
 */
typedef int (*ring_fn)(void *ctx, const struct ring_rec *rec);

struct ring_opts {
	enum ring_kind kind;
	unsigned source;	/* caller's tag */
	uint32_t cpu;
	bool lifecycle;		/* sampled after the bulk rings (order promise) */
	/* Offset of a u64 time in each record. -1: none (RING_BPF), PERF_SAMPLE_TIME if present (RING_PERF*). */
	int time_off;
	/*
	 * RING_BPF: memory that holds records while they wait for those of other rings, so that the kernel's ring
	 * does not fill. A power of two, larger than the ring; 0 = none.
	 */
	size_t stash_bytes;
};

struct ring_stats {
	uint64_t records, bytes;	/* delivered, padding to 8 bytes included */
	uint64_t discarded;		/* BPF_RINGBUF_DISCARD_BIT */
	uint64_t lost;			/* reported by PERF_RECORD_LOST */
	uint64_t unknown;		/* perf records of other types */
	uint64_t bad;			/* impossible lengths: skipped to the end of record or batch */
	uint64_t batches;
};

struct ring_reader *ring_reader_new(void);
void ring_reader_free(struct ring_reader *rr);	/* NULL is fine; unmaps; the fds stay the caller's */

/* Maps the ring buffer map @map_fd (RING_BPF). The fd stays the caller's. The ring's index or -errno. */
int ring_reader_add_bpf(struct ring_reader *rr, int map_fd, const struct ring_opts *o, struct err *err);

/*
 * Maps an element of an array map that holds an mmap ring (bpf/plain.bpf.h): @off bytes into the map, with
 * @data_bytes of data, a power of two. @o as for RING_BPF. The ring never makes ring_reader_fd() readable; its
 * producers wake the reader through another ring. The fd stays the caller's. Returns the ring's index or -errno.
 */
int ring_reader_add_mmap(struct ring_reader *rr, int map_fd, size_t off, size_t data_bytes,
			 const struct ring_opts *o, struct err *err);

/*
 * The same rings over memory of the caller, for tests. data_bytes is a power of two. The ring never makes
 * ring_reader_fd() readable. -EINVAL if @m does not describe a ring.
 */
struct ring_mem {
	uint64_t *cons_pos;	/* RING_BPF */
	const uint64_t *prod_pos;
	void *perf_page;	/* RING_PERF*: struct perf_event_mmap_page * */
	void *data;
	size_t data_bytes;
	bool doubled;		/* data is mapped twice in a row, like the kernel's ring buffers */
	uint64_t sample_type;	/* RING_PERF*: PERF_SAMPLE_RAW, optionally | PERF_SAMPLE_TIME */
};
int ring_reader_add_mem(struct ring_reader *rr, const struct ring_mem *m, const struct ring_opts *o);

/*
 * Delivers one batch, or at most @budget records of it (0 = no limit). Returns the number of calls of @fn, or its
 * negative return value. Never blocks. 0 does not imply empty rings: see the order promise.
 */
int ring_reader_drain(struct ring_reader *rr, unsigned budget, ring_fn fn, void *ctx);

/* Empties rings that have a stash (ring_opts.stash_bytes) into it; the next batch delivers its records. */
void ring_reader_stash(struct ring_reader *rr);

/*
 * An epoll descriptor that becomes readable when a producer requests a wake-up. Level-triggered: after a drain sleep
 * until the latency deadline before polling again, else every unread byte wakes the caller.
 */
int ring_reader_fd(const struct ring_reader *rr);

/* Off: drains the rings one after the other, in order of addition. Default: on. */
void ring_reader_set_merge(struct ring_reader *rr, bool on);

void ring_reader_stats(const struct ring_reader *rr, struct ring_stats *ret);
/* Unread share of the fullest ring, 0..100. */
unsigned ring_reader_fill_pct(const struct ring_reader *rr);

#endif
