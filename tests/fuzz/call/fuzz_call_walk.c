// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The walks of the programs through heads of HTTP/1 and frames of HTTP/2. The input: bit 0 of a byte is the protocol;
 * then operations, each behind
 *
 *	bit 0		direction
 *	bit 1		it begins a turn
 *	bits 2-4	buffers; 0: they are unknown
 *	bit 5		the last one cannot be read
 *	bit 6		it has room behind the operation, up to the input's end
 *
 * two bytes of size, and a byte for each buffer but the last: its size.
 *
 * Checked: only bytes of the buffers are read; the records are the operation, in order, with its bytes; frames are
 * found and kept the same in one buffer as in several.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/macros.h"
#include "tests/bpf/call_walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct walk_fuzz {
	const uint8_t *bytes;	/* of the operation; NULL = unknown */
	uint64_t begin, at;	/* first byte of the operation, next byte of a record */
	uint64_t kept;		/* digest of the bytes that are kept, and where */
};

static void walk_fuzz_record(void *ctx, const struct call_data_rec *r, const uint8_t *kept)
{
	struct walk_fuzz *f = ctx;

	if (r->offset != f->at || r->kept > r->size || r->kept > CALL_HEAD_MAX || (r->kept && !f->bytes))
		abort();
	if (r->kept && memcmp(f->bytes + (r->offset - f->begin), kept, r->kept) != 0)
		abort();
	for (uint64_t i = 0; i < r->kept; i++)
		f->kept = (f->kept ^ (r->offset + i) ^ (uint64_t)kept[i] << 32) * 0x100000001b3u;
	f->at += r->size;
}

static void walk_fuzz_send(struct call_sock *s, unsigned dir, uint32_t size, const struct walk_buffer *buffers,
			   size_t n, bool turn, struct walk_fuzz *f)
{
	static struct call_room room;
	bool sent;

	f->begin = f->at = s->bytes[dir];
	walk_test.record = walk_fuzz_record;
	walk_test.ctx = f;
	sent = walk_operation(&room, s, dir, size, buffers, n, turn);
	if (f->at != f->begin + (sent ? size : 0))
		abort();
}

/* The next operation's buffers, from the input; the last one has what the others left. */
static uint32_t walk_fuzz_buffers(struct cursor *in, uint8_t how, size_t n, struct walk_buffer *buffers)
{
	uint32_t size = cur_u16(in), left;
	const uint8_t *at;

	for (size_t i = 0; i < n; i++)
		buffers[i] = (struct walk_buffer){ .len = i + 1 < n ? cur_u8(in) : size };
	if (!n)
		return size * 16;
	left = size = (uint32_t)MIN(size, cur_left(in));
	if (!size)
		return 0;
	at = cur_bytes(in, size);
	for (size_t i = 0; i < n; i++) {
		buffers[i].len = buffers[i].room = MIN(buffers[i].len, left);
		buffers[i].bytes = at;
		at += buffers[i].len;
		left -= (uint32_t)buffers[i].len;
	}
	buffers[n - 1].faults = how & 32;
	buffers[n - 1].room += how & 64 ? cur_left(in) : 0;
	return size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cursor in = cur_init(data, size);
	struct call_sock s = { .guess = cur_u8(&in) & 1 ? CALL_GUESS_HTTP2 : CALL_GUESS_HTTP }, whole;

	while (cur_left(&in)) {
		struct walk_buffer buffers[WALK_BUFFERS], one;
		struct walk_fuzz split = { 0 }, same = { 0 };
		uint8_t how = cur_u8(&in);
		unsigned dir = how & 1;
		size_t n = how >> 2 & 7;
		uint32_t len = walk_fuzz_buffers(&in, how, n, buffers);

		if (!cur_ok(&in))
			break;
		if (!len)
			continue;
		whole = s;
		split.bytes = n ? buffers[0].bytes : NULL;
		walk_fuzz_send(&s, dir, len, buffers, n, how & 2, &split);
		if (s.guess == CALL_GUESS_HTTP || n < 2 || whole.frames.lost[dir] || buffers[n - 1].faults)
			continue;
		one = (struct walk_buffer){ .bytes = buffers[0].bytes, .len = len, .room = len };
		same.bytes = one.bytes;
		walk_fuzz_send(&whole, dir, len, &one, 1, how & 2, &same);
		if (same.kept != split.kept || memcmp(&s.frames, &whole.frames, sizeof(s.frames)) != 0)
			abort();
	}
	return 0;
}
