/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A parser of src/call as a fuzz target. The input is a list of chunks, each behind a byte that says its kind:
 *
 *	bit 0		direction: 0 received, 1 sent
 *	bits 1-2	a hole behind the chunk: none, 1, 100 or 100,000 bytes
 *	bits 3-7	length: 0-29 bytes, 30: the next byte, 31: the next two bytes, little endian
 *
 * Checked: memory is given back; a call that is shown has a request or a response, its times are in order, its texts
 * lie in its bytes; and the same bytes in single steps give the same calls if there are no holes and no misses. Where
 * segments decide whether a connection is taken for the protocol (CALL_FUZZ_SEGMENTS), only if both are from the same
 * chunk on, or neither is.
 */
#ifndef TESTS_CALL_FUZZ_H
#define TESTS_CALL_FUZZ_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/macros.h"
#include "call/call_conn.h"
#include "call/call_protocol.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#ifndef CALL_FUZZ_SEGMENTS
#define CALL_FUZZ_SEGMENTS false
#endif

struct call_fuzz {
	uint64_t calls, digest;
	uint64_t last_ns;
	uint64_t classified_ns;	/* chunk since which the protocol is known; 0 = it is not at the end */
};

static void call_fuzz_mix(struct call_fuzz *f, const void *data, size_t len)
{
	const uint8_t *p = data;

	for (size_t i = 0; i < len; i++)
		f->digest = (f->digest ^ p[i]) * 0x100000001b3u;
}

static void call_fuzz_ended(void *ctx, struct call_conn *conn, const struct call *c)
{
	struct call_fuzz *f = ctx;

	(void)conn;
	if (!c->request.begun && !c->response.begun)
		abort();
	if (c->request.last_ns > f->last_ns || c->response.last_ns > f->last_ns || c->kind >= CALL_KIND__MAX)
		abort();
	for (int i = 0; i < CALL_TEXT__MAX; i++) {
		size_t len;
		const char *text = call_entry_text(c, (enum call_text)i, &len);

		if (len > CALL_TEXT_BYTES || (text && text + len > c->bytes.data + c->bytes.len))
			abort();
		call_fuzz_mix(f, text, len);
	}
	call_fuzz_mix(f, &c->status, sizeof(c->status));
	call_fuzz_mix(f, &c->rows, sizeof(c->rows));
	call_fuzz_mix(f, &c->statement_id, sizeof(c->statement_id));
	call_fuzz_mix(f, &c->error, sizeof(c->error));
	f->calls++;
}

static const struct call_pool_ops call_fuzz_ops = { .ended = call_fuzz_ended };

/* A chunk of the input; false at its end. */
static bool call_fuzz_next(struct cursor *c, enum call_dir *dir, struct call_chunk *chunk)
{
	static const uint32_t holes[] = { 0, 1, 100, 100000 };
	uint8_t head = cur_u8(c);
	size_t len = head >> 3;

	if (!cur_ok(c))
		return false;
	if (len == 30)
		len = cur_u8(c);
	else if (len == 31)
		len = cur_u16(c);
	len = MIN(len, cur_left(c));
	*dir = head & 1 ? CALL_DIR_SENT : CALL_DIR_RECEIVED;
	*chunk = (struct call_chunk){ .len = (uint32_t)len, .hole = holes[head >> 1 & 3], .data = cur_bytes(c, len) };
	return true;
}

/* Feeds the input, in chunks of at most @most bytes. Returns whether it had holes, or bytes were missed. */
static bool call_fuzz_run(uint32_t kinds, struct cursor in, size_t most, bool datagrams, struct call_fuzz *f)
{
	uint64_t offsets[CALL_DIR__MAX] = { 0 };
	struct call_pool pool;
	struct call_conn *conn;
	struct call_chunk chunk;
	enum call_dir dir;
	bool holes = false;

	call_pool_init(&pool, &call_fuzz_ops, f);
	pool.conf.kinds = kinds;
	conn = call_conn_new(&pool, CALL_ROLE_UNKNOWN, false, NULL);
	while (call_fuzz_next(&in, &dir, &chunk)) {
		size_t at = 0;

		holes |= chunk.hole > 0;
		f->last_ns += 1000;
		do {
			struct call_chunk part = chunk;

			part.data = chunk.data ? (const uint8_t *)chunk.data + at : NULL;
			part.len = (uint32_t)MIN(chunk.len - at, most);
			part.hole = at + part.len == chunk.len ? chunk.hole : 0;
			part.offset = offsets[dir] + at;
			part.time_ns = f->last_ns;
			if (datagrams)
				call_conn_datagram(conn, dir, &part);
			else
				call_conn_feed(conn, dir, &part);
			at += part.len;
		} while (at < chunk.len);
		offsets[dir] += chunk.len + chunk.hole;
		if (!call_conn_protocol(conn))
			f->classified_ns = 0;
		else if (!f->classified_ns)
			f->classified_ns = f->last_ns;
		if (pool.bytes > 256 << 10)
			abort();
	}
	call_conn_close(conn);
	call_conn_free(conn);
	if (pool.bytes)
		abort();
	call_pool_fini(&pool);
	for (int i = 0; i < CALL_MISS__MAX; i++)
		holes |= pool.missed[i] > 0;
	return holes;
}

static inline int call_fuzz(uint32_t kinds, const uint8_t *data, size_t size)
{
	struct call_fuzz whole = { 0 }, steps = { 0 };
	struct cursor in = cur_init(data, size);

	if (call_fuzz_run(kinds, in, SIZE_MAX, false, &whole) || size >= 4096 ||
	    call_fuzz_run(kinds, in, 1, false, &steps) ||
	    (CALL_FUZZ_SEGMENTS && whole.classified_ns != steps.classified_ns))
		return 0;
	if (whole.calls != steps.calls || whole.digest != steps.digest)
		abort();
	return 0;
}

#endif
