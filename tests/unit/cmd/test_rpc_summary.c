// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of the summary of calls: what is counted when there are too many, and without memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "cmd/rpc/rpc_summary.h"
#include "event/event.h"
#include "sinks/sink.h"

#define ROWS_MAX 20000

static bool no_memory;	/* for copies of strings */

char *strndup(const char *s, size_t n)
{
	size_t len = strnlen(s, n);
	char *copy = no_memory ? NULL : malloc(len + 1);

	if (!copy)
		return NULL;
	memcpy(copy, s, len);
	copy[len] = '\0';
	return copy;
}

struct body {
	uint64_t latency;
	char name[16], side[8];
};

static int get(const struct event *ev, const struct field *f, struct value *ret)
{
	const struct body *b = ev->body;
	const char *text = strcmp(f->name, "rpc.name") ? b->side : b->name;

	*ret = (struct value){ .kind = VAL_STR, .str = text, .len = strlen(text) };
	return 0;
}

static const struct field fields[] = {
	{ .name = "rpc.name", .kind = FIELD_GET, .like = FIELD_LIKE(FIELD_STR), .doc = "method" },
	{ .name = "rpc.side", .kind = FIELD_GET, .like = FIELD_LIKE(FIELD_STR), .doc = "side" },
	FIELD_ROW(struct body, latency, "rpc.latency", FIELD_UINT, "time"),
};
static const struct event_desc desc = {
	.type = 0x7101, .name = "rpc.call", .doc = "a call", .fields = fields, .n_fields = 3, .get = get,
	.body_size = sizeof(struct body),
};

static int count(struct rpc_summary *s, const char *name)
{
	const struct sink_opts opts = { .ctx = s };
	struct sink sink = { .ops = &rpc_summary_sink, .opts = &opts };
	struct body body = { .latency = 1000, .side = "server" };
	const struct event ev = { .desc = &desc, .body = &body, .body_len = sizeof(body) };

	snprintf(body.name, sizeof(body.name), "%s", name);
	return rpc_summary_sink.event(&sink, &ev);
}

static unsigned calls_of(const struct rpc_summary *s, const char *name)
{
	struct buf out = { 0 };
	char key[64];
	const char *at;
	unsigned n = 0;

	assert_int_equal(rpc_summary_print(s, true, &out), 0);
	snprintf(key, sizeof(key), "\"name\":\"%s\"", name);
	at = strstr(buf_str(&out), key);
	if (at)
		assert_int_equal(sscanf(strstr(at, "\"calls\":"), "\"calls\":%u", &n), 1);
	buf_fini(&out);
	return n;
}

static void a_known_method_keeps_its_row(void **state)
{
	struct rpc_summary *s;
	char name[16];

	(void)state;
	assert_int_equal(rpc_summary_new(false, &s), 0);
	for (unsigned i = 0; i < ROWS_MAX + 7; i++) {
		snprintf(name, sizeof(name), "m%u", i);
		assert_int_equal(count(s, name), 0);
	}
	assert_int_equal(count(s, "m3"), 0);
	assert_int_equal(count(s, "m3"), 0);
	assert_int_equal(calls_of(s, "m3"), 3);
	assert_int_equal(calls_of(s, "(other)"), 7);
	rpc_summary_free(s);
}

static void a_lack_of_memory_is_told(void **state)
{
	struct rpc_summary *s;

	(void)state;
	assert_int_equal(rpc_summary_new(false, &s), 0);
	no_memory = true;
	assert_int_equal(count(s, "a"), -ENOMEM);
	no_memory = false;
	assert_int_equal(calls_of(s, "a"), 0);
	assert_int_equal(count(s, "a"), 0);
	assert_int_equal(calls_of(s, "a"), 1);
	rpc_summary_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_known_method_keeps_its_row),
		cmocka_unit_test(a_lack_of_memory_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
