/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Connections of real clients and servers, recorded at the client: seeds of the fuzz targets (call_fuzz.h
 * has their format).
 */
#ifndef TESTS_CALL_REPLAY_H
#define TESTS_CALL_REPLAY_H

#include <stdio.h>

#include "base/cursor.h"
#include "call_feed.h"

/* Feeds tests/fuzz/corpus/@name, chunk by chunk, and closes the connection. */
static _unused_ void feed_file(struct feed *f, const char *name)
{
	static const uint32_t holes[] = { 0, 1, 100, 100000 };
	static uint8_t bytes[1 << 20];
	char path[512];
	struct cursor c;
	FILE *file;

	snprintf(path, sizeof(path), "%s/../fuzz/corpus/%s", TEST_DATA, name);
	file = fopen(path, "re");
	assert_non_null(file);
	c = cur_init(bytes, fread(bytes, 1, sizeof(bytes), file));
	fclose(file);
	while (cur_left(&c)) {
		uint8_t head = cur_u8(&c);
		size_t len = head >> 3;

		len = len == 30 ? cur_u8(&c) : len == 31 ? cur_u16(&c) : len;
		feed_bytes(f, head & 1 ? CALL_DIR_SENT : CALL_DIR_RECEIVED, cur_bytes(&c, len), len,
			   holes[head >> 1 & 3]);
		assert_true(cur_ok(&c));
	}
	call_conn_close(f->conn);
}

/* The calls of a recording. */
static _unused_ void assert_replay(const char *name, const char *calls)
{
	struct feed f;

	feed_init(&f);
	f.terse = true;
	feed_file(&f, name);
	assert_string_equal(feed_calls(&f), calls);
	feed_fini(&f);
}

#endif
