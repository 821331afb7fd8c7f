// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A slot's number is 0 during a write and changes with every packet, so a copy between two equal numbers is whole: a
 * seqlock with the writer in BPF. Before 6.15 BPF has no barriers, so on machines that reorder stores the numbers
 * alone prove nothing: slots close ahead of the writer are left out too.
 */
#include "probes/net/recorder/net_recorder_ring.h"

#include <string.h>

#define MARGIN 8u /* slots: microseconds at the highest rate, and stores take nanoseconds */

static uint64_t number_of(const struct net_slot *s)
{
	return __atomic_load_n(&s->seq, __ATOMIC_ACQUIRE);
}

static uint32_t margin(const struct net_recorder_ring *s)
{
	return s->n > 2 * MARGIN ? MARGIN : 1;
}

/* True if the writer is so close that packet @i of the ring may be overwritten in part. */
static bool is_reached(const struct net_recorder_ring *s, uint64_t i)
{
	uint64_t pos = __atomic_load_n(&s->pos->n, __ATOMIC_ACQUIRE);

	return pos + margin(s) > i + s->n;
}

/* Copies packet @i. False if it is missing or torn. */
static bool copy_slot(const struct net_recorder_ring *s, uint64_t i, struct net_slot *scratch,
		      struct net_recorder_ring_stats *st)
{
	const struct net_slot *slot = (const void *)(s->slots + (i & (s->n - 1)) * s->slot_bytes);
	uint64_t before = number_of(slot);

	if (!before)
		return false;
	memcpy(scratch, slot, s->slot_bytes);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (before != i + 1 || number_of(slot) != before || is_reached(s, i)) {
		st->torn++;
		return false;
	}
	return scratch->cap_len <= s->slot_bytes - sizeof(*scratch) && scratch->cap_len <= scratch->orig_len;
}

int net_recorder_ring_read(const struct net_recorder_ring *s, uint64_t from_ns, uint64_t to_ns,
			   struct net_slot *scratch, net_slot_fn fn, void *ctx, struct net_recorder_ring_stats *st)
{
	uint64_t end = __atomic_load_n(&s->pos->n, __ATOMIC_ACQUIRE);
	bool lapped = end + margin(s) > s->n;
	uint64_t first = lapped ? end + margin(s) - s->n : 0;
	int r = 0;

	st->lapped |= lapped;
	for (uint64_t i = first; r >= 0 && i < end; i++) {
		if (!copy_slot(s, i, scratch, st))
			continue;
		if (!st->oldest_ns || scratch->ts_ns < st->oldest_ns)
			st->oldest_ns = scratch->ts_ns;
		if (scratch->ts_ns >= from_ns && scratch->ts_ns <= to_ns)
			r = fn(ctx, scratch);
	}
	return r < 0 ? r : 0;
}
