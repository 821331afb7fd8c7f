/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The walks of probes/call/bpf through heads of HTTP/1 and frames of HTTP/2, compiled for tests. User memory is the
 * buffers of an operation: a read of any other byte aborts. Records go to the test.
 */
#ifndef TESTS_CALL_WALK_H
#define TESTS_CALL_WALK_H

#include <errno.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"

#pragma GCC system_header /* the programs are compiled with other warnings */

/* In place of headers that need clang's target or a kernel. */
#define BPF_KERNEL_H
#define BPF_RING_BPF_H
#define BPF_GO_HTTP2_BPF_H
#define __BPF_HELPERS__
#define __BPF_CORE_READ_H__

#define SEC(name)
#define UNIT_SHARED __attribute__((weak))
#define UNIT_MAP(name, ...) static int name
#define __uint(name, value) int (*name)[value]
#define __type(name, value) value *name
#define __hidden
#define __noinline __attribute__((noinline))
#define __always_inline inline
#define barrier_var(value)
#define bpf_core_enum_value_exists(type, value) true
#define bpf_loop(n, step, ctx, flags) \
	({ \
		uint32_t end_ = (n), i_ = 0; \
		while (i_ < end_ && !(step)(i_++, ctx)) \
			; \
	})
#define bpf_map_lookup_elem(map, key) ((void)(map), (void)(key), NULL)
#define bpf_map_update_elem(map, key, value, flags) ((void)(map), (void)(key), (void)(value))
#define is_go_http2(tgid) ((void)(tgid), false)
#define ledger_seen(class) (&walk_test.ledger)
#define rec_output(ledger, lane, rec, len) (walk_test.record(walk_test.ctx, rec, (const uint8_t *)((rec) + 1)), 0)

#include "probes/call/call_wire.h"

struct walk_buffer {
	const void *bytes;
	size_t len, room;	/* bytes of the operation; of them and those behind that can be read */
	bool faults;
};

#define WALK_BUFFERS 8

static struct {
	struct sonde_ledger ledger;
	const struct walk_buffer *buffers;
	struct {
		uint64_t base, len;
	} iov[WALK_BUFFERS];
	size_t n;
	/* @kept: the record's bytes. */
	void (*record)(void *ctx, const struct call_data_rec *r, const uint8_t *kept);
	void *ctx;
} walk_test;

static bool walk_holds(const void *bytes, size_t len, uintptr_t at, size_t n)
{
	uintptr_t begin = (uintptr_t)bytes;

	return at >= begin && n <= len && at - begin <= len - n;
}

static long bpf_probe_read_user(void *to, uint32_t n, const void *from)
{
	uintptr_t at = (uintptr_t)from;
	bool found = walk_holds(walk_test.iov, sizeof(*walk_test.iov) * walk_test.n, at, n);

	for (size_t i = 0; i < walk_test.n && !found; i++) {
		const struct walk_buffer *b = &walk_test.buffers[i];

		found = walk_holds(b->bytes, b->room, at, n);
		if (found && b->faults)
			return -EFAULT;
	}
	if (!found && n)
		abort();
	memcpy(to, from, n);
	return 0;
}

#include "probes/call/bpf/call_walk.bpf.c"
#include "probes/call/bpf/call_heads.bpf.c"
#undef STEPS_MAX /* each has its own */
#include "probes/call/bpf/call_frames.bpf.c"

/*
 * An operation of @size bytes; @n = 0: its buffers are unknown. False: the place in the messages is unknown, and
 * nothing was recorded.
 */
static _unused_ bool walk_operation(struct call_room *room, struct call_sock *s, unsigned dir, uint32_t size,
				    const struct walk_buffer *buffers, size_t n, bool turn)
{
	struct call_user_bytes b = { 0 };

	walk_test.buffers = buffers;
	walk_test.n = n;
	for (size_t i = 0; i < n; i++) {
		walk_test.iov[i].base = (uintptr_t)buffers[i].bytes;
		walk_test.iov[i].len = n > 1 ? buffers[i].len : buffers[i].room;
	}
	if (n == 1)
		b.base = walk_test.iov[0].base;
	else if (n)
		b = (struct call_user_bytes){ .base = (uintptr_t)walk_test.iov, .n_iov = n };
	room->walk = (struct call_walk){ .offset = s->bytes[dir], .size = size, .dir = dir };
	room->rec = (struct call_data_rec){ .dir = (uint8_t)dir, .flags = turn ? CALL_F_TURN : 0 };
	s->bytes[dir] += size;
	return s->guess == CALL_GUESS_HTTP ? call_heads_send(room, &s->heads, &b, turn)
					   : call_frames_send(room, &s->frames, &b, turn);
}

#endif
