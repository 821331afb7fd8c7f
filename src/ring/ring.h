/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading rings: BPF ring buffers, perf event rings (forward and overwritable) and plain memory behind
 * one reader, which merges them by time. It knows bytes, times and CPUs, and nothing of events.
 *
 * The order promise:
 *  - Records of one ring come in the order of that ring.
 *  - Over all rings, records come by lowest time, batch by batch: at the start of a batch the reader
 *    samples how far each ring is written (bulk rings before life-cycle rings, so that a record of a
 *    process never precedes the record of its birth), and within the batch it always takes the lowest
 *    time. A record that is reserved but not committed holds its ring, and with it everything later than
 *    the ring's last known time, back to the next batch.
 *  - Where CPUs have a plain ring beside their bulk ring, a batch ends at the time when it began: then what one
 *    thread did comes in its order, whichever of the two it went through.
 *  - Between batches order may step back by as much as a producer took between reading its clock and
 *    reserving: whoever needs more must sort over a window.
 */
#ifndef RING_RING_H
#define RING_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct ring_reader;

enum ring_kind {
	RING_BPF,		/* BPF_MAP_TYPE_RINGBUF; layout: kernel/bpf/ringbuf.c */
	RING_PERF,		/* perf event ring, oldest first; layout: include/uapi/linux/perf_event.h */
	RING_PERF_BACKWARD,	/* overwritable: gives nothing unless paused, then once what is new, oldest first */
	RING__MAX,
};

/*
 * One record as delivered. @data is valid until the callback returns. Loss that the kernel tells of comes in
 * the place where it happened, as a record without data that has the time of the one before it.
 */
struct ring_rec {
	uint64_t time_ns;	/* clock of the producer; 0 if the ring has none */
	uint64_t lost;		/* > 0: so many records were lost here; data is NULL, len 0 */
	const void *data;
	uint32_t len;
	uint32_t cpu;		/* real CPU id, not an index */
	unsigned source;	/* as given at add */
};

/*
 * A negative return stops the drain and is returned by it; the record counts as delivered. The callback must
 * not add rings, remove them or drain.
 */
typedef int (*ring_fn)(void *ctx, const struct ring_rec *rec);

struct ring_opts {
	enum ring_kind kind;
	unsigned source;	/* caller's tag */
	uint32_t cpu;
	bool lifecycle;		/* sampled after the bulk rings (see the promise) */
	/*
	 * RING_BPF: offset of a u64 time in each record, -1 = none. RING_PERF*: -1 = take PERF_SAMPLE_TIME
	 * where the event has it.
	 */
	int time_off;
	/*
	 * RING_BPF: memory behind the ring, a power of two and larger than it: records that wait for those of other
	 * rings wait there. 0 = none.
	 */
	size_t stash_bytes;
};

struct ring_stats {
	uint64_t records, bytes;	/* delivered, padding to 8 bytes included */
	uint64_t discarded;		/* BPF_RINGBUF_DISCARD_BIT */
	uint64_t lost;			/* told by PERF_RECORD_LOST */
	uint64_t unknown;		/* perf records of other types */
	uint64_t bad;			/* impossible lengths: within a record it was skipped, else the whole ring */
	uint64_t batches, wakeups;
};

struct ring_reader *ring_reader_new(void);
void ring_reader_free(struct ring_reader *rr);	/* NULL is fine; unmaps, does not close the caller's fds */

/* Maps ring buffer map @map_fd (RING_BPF). The fd stays the caller's. Returns the ring's index or -errno. */
int ring_reader_add_bpf(struct ring_reader *rr, int map_fd, const struct ring_opts *o, struct err *err);

/*
 * Maps one element of an array map that is laid out as a plain ring (bpf/plain.bpf.h): @off bytes into the map, with
 * @data_bytes of data, a power of two. @o as for RING_BPF. Nothing wakes a reader of it: its producers do so through
 * another ring. The fd stays the caller's. Returns the ring's index or -errno.
 */
int ring_reader_add_plain(struct ring_reader *rr, int map_fd, size_t off, size_t data_bytes,
			  const struct ring_opts *o, struct err *err);

/*
 * The same rings over plain memory, for tests. data_bytes is a power of two; a single copy of the data is
 * enough: torn records are put together. Nothing wakes a reader of these. -EINVAL when it makes no ring.
 */
struct ring_mem {
	uint64_t *cons_pos;	/* RING_BPF */
	const uint64_t *prod_pos;
	void *perf_page;	/* RING_PERF*: struct perf_event_mmap_page * */
	void *data;
	size_t data_bytes;
	bool doubled;		/* data is mapped twice in a row, as the kernel's ring buffers are */
	uint64_t sample_type;	/* RING_PERF*: PERF_SAMPLE_RAW, optionally | PERF_SAMPLE_TIME */
};
int ring_reader_add_mem(struct ring_reader *rr, const struct ring_mem *m, const struct ring_opts *o);

/*
 * One batch, or at most @budget records of it (0 = no limit). Returns how often @fn was called, or what it
 * returned when negative. Never blocks. 0 does not mean that the rings are empty: see the promise.
 */
int ring_reader_drain(struct ring_reader *rr, unsigned budget, ring_fn fn, void *ctx);

/*
 * An epoll descriptor that becomes readable when a producer asked for a wake-up. Level-triggered in the
 * kernel: after a drain sleep to the latency deadline instead of polling at once, or every unread byte
 * wakes again.
 */
int ring_reader_fd(const struct ring_reader *rr);

/* Merging off: rings are drained one after the other, in order of addition. Default on. */
void ring_reader_set_merge(struct ring_reader *rr, bool on);

void ring_reader_stats(const struct ring_reader *rr, struct ring_stats *ret);
/* Share of the fullest ring that is unread, 0..100. */
unsigned ring_reader_fill_pct(const struct ring_reader *rr);

/*
 * ---- perf event arrays ----
 * One perf event of type PERF_COUNT_SW_BPF_OUTPUT per possible CPU, put into a PERF_EVENT_ARRAY map.
 * Offline CPUs are skipped and can be added later with perf_rings_refresh().
 */
struct perf_rings;

struct perf_rings_opts {
	size_t ring_bytes;		/* data area per CPU; rounded up to a power of two pages */
	bool overwritable;		/* write_backward; reading requires pause */
	uint32_t watermark_bytes;	/* wake up when so much is unread; must be below ring_bytes */
	uint32_t wakeup_events;		/* or after so many records; never both (-EINVAL) */
	bool with_time;			/* PERF_SAMPLE_TIME with CLOCK_BOOTTIME, needed for merging */
	unsigned source;
};

/* Opens, maps and enables; adds each ring to @rr, which must outlive the result. */
int perf_rings_open(int array_map_fd, const struct perf_rings_opts *o, struct ring_reader *rr,
		    struct perf_rings **ret, struct err *err);
void perf_rings_close(struct perf_rings *p);	/* NULL is fine */
int perf_rings_pause(struct perf_rings *p);	/* PERF_EVENT_IOC_PAUSE_OUTPUT; outputs fail meanwhile */
int perf_rings_resume(struct perf_rings *p);
int perf_rings_refresh(struct perf_rings *p, struct err *err); /* CPUs that came online; returns how many */
int perf_rings_n(const struct perf_rings *p);	/* CPUs with a ring */

/*
 * Waits for data, at most until @deadline_ns (CLOCK_BOOTTIME; 0 = for ever), then drains. Returns as a drain
 * does, 0 at the deadline or after ring_reader_flush(), or a negative errno (-EINTR after a signal). At the
 * deadline and at a flush the rings are drained too, whether or not a producer asked for a wake-up, and 0
 * comes only when nothing is left.
 */
int ring_reader_read(struct ring_reader *rr, uint64_t deadline_ns, unsigned budget, ring_fn fn, void *ctx);

/* Makes a ring_reader_read() that waits (or the next one) return after draining. Any thread. */
int ring_reader_flush(struct ring_reader *rr);

#endif
