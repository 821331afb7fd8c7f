// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Producers for tests and benchmarks, driven by test-run: the helpers of bpf/ring.bpf.h beside the bare calls
 * that they are measured against. Every program makes one record of 64 bytes per run unless it says otherwise.
 */
#include "bpf/ring.bpf.h"
#include "bpf/filter.bpf.h"
#include "tests/bpf/load_wire.h"

char LICENSE[] SEC("license") = "GPL";

/* ---- the helpers' competitors ---- */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* set at run time */
} load_ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__type(key, __u32);
	__type(value, __u32);
	/* one slot per possible CPU by default */
} load_perf SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} load_count SEC(".maps");

static __always_inline __u64 next_number(void)
{
	__u32 zero = 0;
	__u64 *n = bpf_map_lookup_elem(&load_count, &zero);

	return n ? ++*n : 0;
}

SEC("tc")
int load_empty(void *ctx)
{
	return 0;
}

/* Reserve, one word, submit, no wake-up. */
SEC("tc")
int load_bare(void *ctx)
{
	struct load_rec *r = bpf_ringbuf_reserve(&load_ring, sizeof(*r), 0);

	if (!r)
		return 1;
	r->number = 1;
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	return 0;
}

/* The same with the header that every record has; the keys as a tc program has them. */
SEC("tc")
int load_bare_keys(void *ctx)
{
	struct load_rec *r = bpf_ringbuf_reserve(&load_ring, sizeof(*r), 0);
	struct sonde_ledger none = { 0 };

	if (!r)
		return 1;
	rec_init_keys(&r->hdr, &none, LOAD_REC, sizeof(*r), 0, 1, 2, 3);
	r->number = 1;
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	return 0;
}

/* The same with the keys of the current task. */
SEC("tc")
int load_bare_task(void *ctx)
{
	struct load_rec *r = bpf_ringbuf_reserve(&load_ring, sizeof(*r), 0);
	struct sonde_ledger none = { 0 };

	if (!r)
		return 1;
	rec_init(&r->hdr, &none, LOAD_REC, sizeof(*r), 0);
	r->number = 1;
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	return 0;
}

/* ---- the helpers ---- */

SEC("tc")
int load_keys(void *ctx)
{
	struct sonde_ledger *l = ledger_seen(LOAD_CLASS);
	struct load_rec *r;

	if (!l)
		return 1;
	r = rec_reserve(l, LANE_BULK, sizeof(*r));
	if (!r)
		return 1;
	rec_init_keys(&r->hdr, l, LOAD_REC, sizeof(*r), LOAD_CLASS, 1, 2, 3);
	r->number = 1;
	rec_submit(l, LANE_BULK, r);
	return 0;
}

SEC("tc")
int load_task(void *ctx)
{
	struct sonde_ledger *l = ledger_seen(LOAD_CLASS);
	struct load_rec *r;

	if (!l)
		return 1;
	r = rec_reserve(l, LANE_BULK, sizeof(*r));
	if (!r)
		return 1;
	rec_init(&r->hdr, l, LOAD_REC, sizeof(*r), LOAD_CLASS);
	r->number = 1;
	rec_submit(l, LANE_BULK, r);
	return 0;
}

/*
 * Every way a record can go, by its number: of 16, one is filtered, one sampled, one given back after the
 * reserve (counted as a failed copy), two are of variable length, two go to the life-cycle lane.
 */
SEC("tc")
int load_mixed(void *ctx)
{
	struct sonde_ledger *l = ledger_seen(LOAD_CLASS);
	__u64 number = next_number();
	__u32 way = number & 15;
	struct load_rec *r, scratch;
	enum lane lane = way < 2 ? LANE_LIFE : LANE_BULK;

	if (!l)
		return 1;
	if (way == 2) {
		rec_filtered(l);
		return 0;
	}
	if (way == 3) {
		rec_sampled(l);
		return 0;
	}
	if (way == 4 || way == 5) {
		__builtin_memset(&scratch, 0, sizeof(scratch));
		rec_init_keys(&scratch.hdr, l, LOAD_REC, LOAD_SHORT, LOAD_CLASS, 1, 2, 3);
		scratch.number = number;
		rec_output(l, lane, &scratch, LOAD_SHORT);
		return 0;
	}
	r = rec_reserve(l, lane, sizeof(*r));
	if (!r)
		return 1;
	rec_init_keys(&r->hdr, l, LOAD_REC, sizeof(*r), LOAD_CLASS, 1, 2, 3);
	r->number = number;
	if (way == 6) {
		bpf_ringbuf_discard(r, BPF_RB_NO_WAKEUP);
		rec_lost(l, SONDE_LOST_COPY);
		return 0;
	}
	rec_submit(l, lane, r);
	return 0;
}

/* 1 if the calling task is selected. */
SEC("tc")
int load_selected(void *ctx)
{
	return select_task();
}

SEC("tc")
int load_owner_selected(void *ctx)
{
	const struct sonde_owner o = { .tgid = LOAD_PID, .comm = "wanted", .cgroup_id = LOAD_CGROUP };

	return select_owner(&o) && select_netns(LOAD_NETNS);
}

/* Into the perf event array; the test-run's return value is the helper's, negated. */
SEC("tc")
int load_perf_output(void *ctx)
{
	struct load_rec r = { 0 };

	r.hdr.len = sizeof(r);
	r.hdr.type = LOAD_REC;
	r.number = next_number();
	return -bpf_perf_event_output(ctx, &load_perf, BPF_F_CURRENT_CPU, &r, sizeof(r));
}

/* ---- what a kernel refuses; loaded one at a time ---- */

/* An access behind the end of a map's value. */
SEC("?tc")
int load_bad_access(void *ctx)
{
	__u32 zero = 0;
	__u64 *n = bpf_map_lookup_elem(&load_count, &zero);

	return n ? n[7] : 0;
}

static long (*no_such_helper)(void) = (void *)9999;

SEC("?tc")
int load_bad_helper(void *ctx)
{
	return no_such_helper();
}

SEC("?tp_btf/no_such_tracepoint")
int load_bad_tracepoint(void *ctx)
{
	return 0;
}
