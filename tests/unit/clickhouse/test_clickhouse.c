// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rows, blocks, the spool and the queue of -o clickhouse:, without a server. test_clickhouse.py reads rows
 * back through one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/macros.h"
#include "clickhouse/clickhouse_block.h"
#include "clickhouse/clickhouse_deliver.h"
#include "clickhouse/clickhouse_form.h"
#include "clickhouse/clickhouse_ledger.h"
#include "clickhouse/clickhouse_row.h"
#include "clickhouse/clickhouse_rows.h"
#include "clickhouse/clickhouse_schema.h"
#include "clickhouse/clickhouse_sender.h"
#include "clickhouse/clickhouse_spool.h"
#include "clickhouse/clickhouse_target.h"
#include "event/core.h"
#include "event/event.h"
#include "event/names.h"
#include "sonde/wire.h"
#include "tests/unit/scratch_dir.h"

/* ---- a test event type ---- */

struct toy {
	uint64_t big;
	int16_t small;
	uint8_t yes, bits;
	struct ipaddr ip;
	uint8_t mac[6];
	char name[10];
};

static const struct xlat_val bit_vals[] = { { 1, "one" }, { 2, "two" } };
static const struct xlat bits_xlat = { .name = "bits", .vals = bit_vals, .n = 2, .is_flags = true };

static const struct field toy_fields[] = {
	FIELD_ROW(struct toy, big, "toy.big", FIELD_UINT, "a number"),
	FIELD_ROW(struct toy, small, "toy.small", FIELD_INT, "a signed number"),
	FIELD_ROW(struct toy, yes, "toy.yes", FIELD_BOOL, "yes or no"),
	FIELD_ROW(struct toy, bits, "toy.bits", FIELD_FLAGS, "bits", .xlat = &bits_xlat),
	FIELD_ROW(struct toy, ip, "toy.ip", FIELD_IP, "an address"),
	FIELD_ROW(struct toy, mac, "toy.mac", FIELD_MAC, "an address of a device"),
	FIELD_ROW(struct toy, name, "toy.its-name", FIELD_STR, "a name"),
	FIELD_ROW(struct toy, name, "toy.again", FIELD_STR, "no column", .flags = FIELD_SILENT),
};
static const struct event_desc toy_desc = {
	.type = SONDE_EV(0x70, 1),
	.name = "toy.thing",
	.fields = toy_fields,
	.n_fields = ARRAY_SIZE(toy_fields),
	.body_size = sizeof(struct toy),
};
static const struct event_desc *const toys[] = { &toy_desc, NULL };

static struct clickhouse_schema *make_schema(struct registry **ret_reg)
{
	struct clickhouse_schema *s;

	*ret_reg = registry_new();
	assert_int_equal(registry_add(*ret_reg, toys), 0);
	assert_int_equal(clickhouse_schema_new(*ret_reg, &s), 0);
	return s;
}

/* Only the six first columns and the type's own: what a server of an older version has. */
static const char own_columns[] =
	"toy_thing\thost\ntoy_thing\trun\ntoy_thing\tseq\ntoy_thing\tts_ns\ntoy_thing\ttime\ntoy_thing\tdate\n"
	"toy_thing\ttoy_big\ntoy_thing\ttoy_small\ntoy_thing\ttoy_yes\ntoy_thing\ttoy_bits\ntoy_thing\ttoy_ip\n"
	"toy_thing\ttoy_mac\ntoy_thing\ttoy_its_name\nrecord\tdata\n";

/* ---- tables ---- */

static void tables_come_from_the_types(void **state)
{
	struct registry *reg;
	struct clickhouse_schema *s = make_schema(&reg);
	const struct clickhouse_ddl old = { .profile = 18 }, new = { .profile = 26, .ttl_days = 7 };
	struct buf text = { 0 };

	(void)state;
	clickhouse_schema_ddl(s, &old, &text);
	assert_non_null(
		strstr(buf_str(&text), "CREATE TABLE IF NOT EXISTS toy_thing\n(\n    host LowCardinality(String),"));
	assert_non_null(strstr(
		buf_str(&text),
		"    toy_small Int16,\n    toy_yes UInt8,\n    toy_bits Array(String),\n"
		"    toy_ip FixedString(16),\n    toy_mac FixedString(6),\n    toy_its_name String,"));
	assert_non_null(strstr(buf_str(&text), "    conn_src FixedString(16),\n"));
	assert_null(strstr(buf_str(&text), "toy_again"));
	assert_null(strstr(buf_str(&text), "CODEC"));
	buf_reset(&text);
	clickhouse_schema_ddl(s, &new, &text);
	assert_non_null(strstr(buf_str(&text), "    toy_ip IPv6 CODEC("));
	assert_non_null(strstr(buf_str(&text), "    toy_bits Array(LowCardinality(String)),\n"));
	assert_non_null(strstr(buf_str(&text), "TTL date + INTERVAL 7 DAY"));
	buf_fini(&text);
	clickhouse_schema_free(s);
	registry_free(reg);
}

static void a_server_gets_what_it_lacks(void **state)
{
	struct registry *reg;
	struct clickhouse_schema *s = make_schema(&reg);
	const struct clickhouse_ddl old = { .profile = 18 }, new = { .profile = 26, .ttl_days = 7 };
	struct buf text = { 0 };

	(void)state;
	assert_int_equal(clickhouse_schema_settle(s, own_columns), 0);
	assert_true(s->n_absent > 0);
	clickhouse_schema_upgrade(s, &old, &text);
	assert_non_null(strstr(buf_str(&text), "CREATE TABLE IF NOT EXISTS ledger\n"));
	assert_non_null(strstr(buf_str(&text), "ALTER TABLE toy_thing ADD COLUMN proc_pid UInt64;\n"));
	assert_null(strstr(buf_str(&text), "toy_big"));
	assert_null(strstr(buf_str(&text), "TTL"));
	buf_reset(&text);
	clickhouse_schema_upgrade(s, &new, &text);
	assert_non_null(strstr(buf_str(&text), "ALTER TABLE toy_thing MODIFY TTL date + INTERVAL 7 DAY;\n"));
	assert_null(strstr(buf_str(&text), "ALTER TABLE ledger MODIFY TTL"));
	assert_string_equal(clickhouse_schema_table(s, &toy_desc)->insert,
			    "INSERT INTO toy_thing (host, run, seq, ts_ns, time, date, toy_big, toy_small, toy_yes, "
			    "toy_bits, toy_ip, toy_mac, toy_its_name) FORMAT RowBinary");
	buf_fini(&text);
	clickhouse_schema_free(s);
	registry_free(reg);
}

/* Types as rows have them, in the order of the insert; only for many rows of a server that is slow with words. */
static void a_form_has_the_types_of_its_columns(void **state)
{
	static const char lines[] =
		"a\tx\tUInt8\t18.16.1\nt\ta\tLowCardinality(String)\t18.16.1\nt\tb\tUInt64\t18.16.1\n"
		"t\tc\tLowCardinality(String)\t18.16.1\nt\td\tLowCardinality(String)\t18.16.1\n";
	struct clickhouse_block b = {
		.head = { .n_rows = 1000 }, .table = "t", .insert = "INSERT INTO t (a, d, b, c) FORMAT RowBinary",
	};
	char newer[sizeof(lines)], type[CLICKHOUSE_FORM_TYPE];
	struct buf url = { 0 };

	(void)state;
	assert_true(clickhouse_form_add_url(lines, &b, &url));
	assert_string_equal(buf_str(&url),
			    "&max_threads=1&sonde_rows_format=RowBinary&sonde_rows_structure=a%20String%2C%20d%20"
			    "String%2C%20b%20UInt64%2C%20c%20String&query=INSERT%20INTO%20t%20%28a%2C%20d%2C%20b%2C"
			    "%20c%29%20SELECT%20a%2C%20d%2C%20b%2C%20c%20FROM%20sonde_rows");
	buf_reset(&url);
	for (size_t i = 0; i < sizeof(lines); i++)
		newer[i] = lines[i] == '8' && lines[i - 1] == '1' ? '9' : lines[i];
	assert_false(clickhouse_form_add_url(newer, &b, &url));
	assert_false(clickhouse_form_add_url(NULL, &b, &url));
	assert_false(clickhouse_form_add_url("t\ta\n", &b, &url));
	b.head.n_rows = 3;
	assert_false(clickhouse_form_add_url(lines, &b, &url));
	b.head.n_rows = 1000;
	b.insert = "INSERT INTO t (a, b, c, e) FORMAT RowBinary";
	assert_false(clickhouse_form_add_url(lines, &b, &url));
	b.insert = "INSERT INTO t (a, b, c) FORMAT RowBinary";
	assert_false(clickhouse_form_add_url(lines, &b, &url));
	assert_int_equal(url.len, 0);
	b.rows = "rows";
	b.head.rows_len = 4;
	clickhouse_form_add_body(&b, &url, type);
	assert_non_null(strstr(buf_str(&url), "\r\n\r\nrows\r\n--"));
	assert_non_null(strstr(buf_str(&url), strchr(type, '=') + 1));
	buf_fini(&url);
}

/* ---- rows ---- */

static void rows_are_as_the_format_says(void **state)
{
	static const char want[] = "\4host"
				   "\1\0\0\0\0\0\0\0"
				   "\2\0\0\0\0\0\0\0"
				   "\0\x28\x6b\xee\0\0\0\0"
				   "\4\0\0\0"
				   "\0\0" /* 4 s */
				   "\xff\xff\xff\xff\xff\xff\xff\xff"
				   "\xfe\xff"
				   "\1"
				   "\2\3one\0030x4"
				   "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\1"
				   "\2\0\0\0\0\1"
				   "\3a'b";
	const struct toy body = {
		.big = UINT64_MAX,
		.small = -2,
		.yes = 1,
		.bits = 5,
		.ip = { .family = 4, .addr = { 10, 0, 0, 1 } },
		.mac = { 2, 0, 0, 0, 0, 1 },
		.name = "a'b",
	};
	const struct event ev = { .desc = &toy_desc, .body = &body, .body_len = sizeof(body) };
	const struct clickhouse_row row = { .host = "host", .run = 1, .seq = 2, .ts_ns = 4000000000 };
	struct registry *reg;
	struct clickhouse_schema *s = make_schema(&reg);
	struct clickhouse_row_plan *plan;
	struct buf out = { 0 };

	(void)state;
	assert_int_equal(clickhouse_schema_settle(s, own_columns), 0);
	plan = clickhouse_row_plan_new(clickhouse_schema_table(s, &toy_desc));
	assert_non_null(plan);
	assert_int_equal(clickhouse_row_put(plan, &row, &ev, &out, 0), 0);
	assert_int_equal(out.len, sizeof(want) - 1);
	assert_memory_equal(out.data, want, out.len);
	buf_fini(&out);
	clickhouse_row_plan_free(plan);
	clickhouse_schema_free(s);
	registry_free(reg);
}

static void put_row(struct clickhouse_row_plan *plan, const struct event *ev, struct buf *out)
{
	static const struct clickhouse_row row = { .host = "host", .run = 1, .seq = 2, .ts_ns = 4000000000 };

	assert_int_equal(clickhouse_row_put(plan, &row, ev, out, 0), 0);
}

/* All fields of an event that hides those of other processes are read by event_get(); the toy has none of them. */
static void assert_row(struct clickhouse_row_plan *plan, const struct event *ev)
{
	struct event slow = *ev;
	struct buf a = { 0 }, b = { 0 };

	slow.hide = HIDE_OTHERS;
	put_row(plan, &slow, &b);
	put_row(plan, ev, &a);
	buf_reset(&a);
	buf_reset(&b);
	put_row(plan, ev, &a);
	put_row(plan, &slow, &b);
	assert_int_equal(a.len, b.len);
	assert_memory_equal(a.data, b.data, a.len);
	buf_fini(&a);
	buf_fini(&b);
}

/* Places of fields and kept names change nothing in the row. */
static void rows_are_as_their_fields(void **state)
{
	struct registry *reg;
	struct clickhouse_schema *s = make_schema(&reg);
	struct clickhouse_row_plan *plan = clickhouse_row_plan_new(clickhouse_schema_table(s, &toy_desc));
	struct names *names = event_names_new();
	struct toy body = { .big = 1ull << 40, .small = -2, .yes = 2, .bits = 7, .mac = { 2 }, .name = "0123456789" };
	struct {
		struct sec_proc head;
		char text[300];
	} proc = { .head = { .comm = { 0, 4 }, .exe = { 4, 296 }, .container = { 0, 12 } } };
	struct event ev = { .desc = &toy_desc, .body = &body, .body_len = sizeof(body), .cpu = 3, .instance = 1 };

	(void)state;
	assert_non_null(names);
	assert_non_null(plan);
	memset(proc.text, 'x', sizeof(proc.text));
	assert_row(plan, &ev);
	ev.names = names;
	ev.tgid = 0x12345678;
	ev.tid = 9;
	ev.start_ns = 1ull << 50;
	ev.keys = (struct event_keys){ .cgroup_id = 8, .cookie = 5, .goid = 6, .rpc_conn = 7, .rpc_stream = 8,
				       .netns = 9, .image = 10, .call = 11, .file = 12, .owner_how = 2,
				       .conn = { .saddr = { .family = 6, .addr = { 1 } }, .sport = 65535,
						 .daddr = { .family = 4, .addr = { 2 } }, .dport = 1, .proto = 6 } };
	body.ip = (struct ipaddr){ .family = 6, .addr = { 0xfd, 1, 2 } };
	assert_int_equal(event_add_section(&ev, SEC_PROC, &proc, sizeof(proc)), 0);
	for (unsigned i = 0; i < 40; i++) {
		char name[80];

		snprintf(name, sizeof(name), "%0*u", (int)(2 * i), i);
		assert_int_equal(event_names_set(names, SONDE_NAME_CONTAINER, 8 + i % 3, name, strlen(name)), 0);
		assert_int_equal(event_names_set(names, SONDE_NAME_NETNS, 9, name, i % 4 ? strlen(name) : 0), 0);
		assert_row(plan, &ev);
		assert_row(plan, &ev);
		ev.keys.cgroup_id = 8 + i % 3;
		body.bits = (uint8_t)i;
		ev.keys.conn.proto = (uint8_t)i;
		assert_row(plan, &ev);
	}
	event_names_free(names);
	clickhouse_row_plan_free(plan);
	clickhouse_schema_free(s);
	registry_free(reg);
}

/* The rows before it get a column too, and the insert names those of all rows. */
static void rows_get_the_columns_that_have_values(void **state)
{
	struct registry *reg;
	struct clickhouse_schema *s = make_schema(&reg);
	struct clickhouse_row_plan *plan = clickhouse_row_plan_new(clickhouse_schema_table(s, &toy_desc));
	struct toy bodies[] = { { .big = 1 }, { .bits = 3, .name = "name" }, { .small = 4, .bits = 1 } };
	struct buf grown = { 0 }, again = { 0 };

	(void)state;
	assert_non_null(plan);
	for (unsigned i = 0; i < 2; i++)
		for (unsigned k = 0; k < ARRAY_SIZE(bodies); k++) {
			struct event ev = { .desc = &toy_desc, .body = &bodies[k], .body_len = sizeof(bodies[k]) };

			ev.tid = k == 1 ? 7 : 0;
			put_row(plan, &ev, i ? &again : &grown);
		}
	assert_int_equal(grown.len, again.len);
	assert_memory_equal(grown.data, again.data, again.len);
	assert_string_equal(clickhouse_row_plan_insert(plan),
			    "INSERT INTO toy_thing (host, run, seq, ts_ns, time, date, toy_big, toy_mac, "
			    "evt_probe_instance, toy_bits, toy_its_name, thread_tid, toy_small) FORMAT RowBinary");
	buf_fini(&grown);
	buf_fini(&again);
	clickhouse_row_plan_free(plan);
	clickhouse_schema_free(s);
	registry_free(reg);
}

struct seen {
	uint64_t rows, bytes, last;
};

static int on_row(void *ctx, uint64_t seq, const void *data, size_t len)
{
	struct seen *s = ctx;

	assert_int_equal((uintptr_t)data % 8, 0);
	s->rows++;
	s->bytes += len;
	s->last = seq;
	return 0;
}

static void answers_come_in_any_pieces(void **state)
{
	char answer[8 + 1 + 3 + 8 + 2 + 200];

	(void)state;
	memset(answer, 0, sizeof(answer));
	answer[0] = 7;
	memcpy(answer + 8, "\3abc", 4);
	answer[12] = 9;
	memcpy(answer + 20, "\xc8\1", 2); /* 200 */
	for (size_t step = 1; step <= sizeof(answer); step++) {
		struct seen seen = { 0 };
		struct clickhouse_rows r = { .fn = on_row, .ctx = &seen };

		for (size_t at = 0; at < sizeof(answer); at += step)
			assert_int_equal(clickhouse_rows_feed(&r, answer + at, MIN(step, sizeof(answer) - at)), 0);
		assert_int_equal(seen.rows, 2);
		assert_int_equal(seen.bytes, 203);
		assert_int_equal(seen.last, 9);
		assert_int_equal(r.pending.len, 0);
		clickhouse_rows_fini(&r);
	}
}

static void other_answers_are_refused(void **state)
{
	static const char text[] = "Code: 241, e.displayText() = DB::Exception: \xff\xff\xff\xff\xff\xff\xff\xff";
	struct seen seen = { 0 };
	struct clickhouse_rows r = { .fn = on_row, .ctx = &seen };

	(void)state;
	assert_int_equal(clickhouse_rows_feed(&r, text + 36, sizeof(text) - 36), -EBADMSG);
	clickhouse_rows_fini(&r);
	assert_true(clickhouse_deliver_is_refused(404, "Code: 60, e.displayText() = Table x doesn't exist"));
	assert_true(clickhouse_deliver_is_refused(500, "Code: 27, e.displayText() = Cannot parse input"));
	assert_true(clickhouse_deliver_is_refused(401, ""));
	assert_false(clickhouse_deliver_is_refused(500, "Code: 241, e.displayText() = Memory limit exceeded"));
	assert_false(
		clickhouse_deliver_is_refused(500, "Code: 216, e.displayText() = Query with id is already running"));
	assert_false(clickhouse_deliver_is_refused(503, ""));
}

/* ---- blocks ---- */

static void make_block(struct buf *bytes, uint64_t run, unsigned n)
{
	struct clickhouse_schema *s;
	struct clickhouse_block_maker m = { .run = run, .bytes = bytes };

	assert_int_equal(clickhouse_schema_new(NULL, &s), 0);
	m.table = &s->tables.items[CLICKHOUSE_TABLE_RECORD];
	for (unsigned i = 0; i < n; i++) {
		assert_false(clickhouse_block_is_full(&m, 1000 + i));
		assert_int_equal(clickhouse_block_begin_row(&m, 1000 + i, 1), 0);
		buf_add_str(bytes, "row");
		clickhouse_block_end_row(&m, 1000 + i);
	}
	assert_true(clickhouse_block_is_full(&m, 86400 * 1000000000ull)); /* the next day */
	assert_int_equal(clickhouse_block_finish(&m, "it's"), 0);
	clickhouse_schema_free(s);
}

static void a_block_says_what_it_is(void **state)
{
	struct clickhouse_block b;
	struct buf bytes = { 0 };

	(void)state;
	make_block(&bytes, 5, 3);
	assert_int_equal(clickhouse_block_parse(bytes.data, bytes.len, &b), 0);
	assert_int_equal(b.head.n_rows, 3);
	assert_int_equal(b.head.rows_len, 9);
	assert_string_equal(b.table, "record");
	assert_string_equal(b.id, "0000000000000005-record-0");
	assert_string_equal(b.where,
			    "date = toDate(0) AND host = 'it\\'s' AND ts_ns BETWEEN 1000 AND 1002 AND run = 5 AND "
			    "seq BETWEEN 0 AND 2");
	clickhouse_block_set_again(bytes.data);
	assert_int_equal(clickhouse_block_parse(bytes.data, bytes.len, &b), 0);
	assert_int_equal(b.head.flags, CLICKHOUSE_BLOCK_AGAIN);
	for (size_t i = 0; i < bytes.len; i++) {
		const bool in_flags = i >= 12 && i < 16;

		bytes.data[i] ^= 0x20;
		if (!in_flags)
			assert_int_equal(clickhouse_block_parse(bytes.data, bytes.len, &b), -EBADMSG);
		bytes.data[i] ^= 0x20;
	}
	for (size_t len = 0; len < bytes.len; len++)
		assert_int_equal(clickhouse_block_parse(bytes.data, len, &b), -EBADMSG);
	buf_fini(&bytes);
}

/* ---- the spool ---- */

static void a_later_run_finds_the_blocks(void **state)
{
	struct clickhouse_spool *mine, *found;
	struct clickhouse_spool_list l = { 0 };
	struct buf bytes = { 0 };
	struct err err = { 0 };
	uint64_t after = 0;
	char dir[128];

	(void)state;
	snprintf(dir, sizeof(dir), "%s", in_scratch("spool"));
	assert_int_equal(clickhouse_spool_open(dir, 0x10, &mine, &err), 0);
	for (uint64_t i = 0; i < 12; i++)
		assert_int_equal(clickhouse_spool_put(mine, 11 - i, "block", 5, i == 0), 0);
	clickhouse_spool_remove(mine, 3);
	assert_int_equal(clickhouse_spool_adopt(dir, &after, &found), 0); /* locked */
	clickhouse_spool_close(mine);
	after = 0;
	assert_int_equal(clickhouse_spool_adopt(dir, &after, &found), 1);
	assert_int_equal(after, 0x10);
	assert_int_equal(clickhouse_spool_list(found, &l), 0);
	assert_int_equal(l.files.len, 11);
	for (size_t i = 0; i < l.files.len; i++) {
		assert_int_equal(l.files.items[i].number, i < 3 ? i : i + 1);
		assert_int_equal(l.files.items[i].bytes, 5);
		assert_int_equal(clickhouse_spool_get(found, l.files.items[i].number, &bytes), 0);
		assert_memory_equal(bytes.data, "block", 5);
		clickhouse_spool_remove(found, l.files.items[i].number);
	}
	clickhouse_spool_close(found); /* empty: it goes */
	after = 0;
	assert_int_equal(clickhouse_spool_adopt(dir, &after, &found), 0);
	assert_int_equal(rmdir(dir), 0);
	vec_fini(&l.files);
	buf_fini(&bytes);
}

/* Takes over folders and removes them until it is killed. */
static pid_t start_adopter(const char *dir)
{
	const pid_t pid = fork();
	struct clickhouse_spool *found;
	uint64_t after;

	assert_true(pid >= 0);
	while (!pid) {
		after = 0;
		if (clickhouse_spool_adopt(dir, &after, &found) > 0)
			clickhouse_spool_close(found);
	}
	return pid;
}

/* A run that starts beside another one keeps its folder: it is locked before the other one can find it. */
static void a_new_folder_is_not_taken_over(void **state)
{
	struct clickhouse_spool *mine;
	struct err err = { 0 };
	char dir[128];
	pid_t pid;

	(void)state;
	snprintf(dir, sizeof(dir), "%s", in_scratch("race"));
	assert_int_equal(mkdir(dir, 0700), 0);
	pid = start_adopter(dir);
	for (uint64_t run = 1; run <= 1000; run++) {
		if (clickhouse_spool_open(dir, run, &mine, &err) < 0)
			fail_msg("run %llu: %s", (unsigned long long)run, err.msg);
		assert_int_equal(clickhouse_spool_put(mine, 0, "block", 5, false), 0);
		clickhouse_spool_remove(mine, 0);
		clickhouse_spool_close(mine);
	}
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(rmdir(dir), 0);
}

/* A disk that does not answer until the test lets it. */
static sem_t disk, reached;
static bool slow;

int fdatasync(int fd)
{
	(void)fd;
	if (!slow)
		return 0;
	sem_post(&reached);
	return sem_wait(&disk);
}

static void a_slow_disk_does_not_hold_the_caller(void **state)
{
	struct clickhouse_spool *spool;
	struct buf bytes = { 0 };
	struct err err = { 0 };
	char dir[128];

	(void)state;
	snprintf(dir, sizeof(dir), "%s", in_scratch("slow"));
	slow = true;
	assert_int_equal(clickhouse_spool_open(dir, 0x10, &spool, &err), 0);
	for (uint64_t i = 0; i < 3; i++)
		assert_int_equal(clickhouse_spool_put(spool, i, "block", 5, true), 0);
	assert_int_equal(clickhouse_spool_get(spool, 2, &bytes), 0);
	assert_int_equal(bytes.len, 5);
	for (uint64_t i = 0; i < 3; i++) {
		assert_int_equal(sem_wait(&reached), 0); /* each file comes to the disk */
		assert_int_equal(sem_post(&disk), 0);
		clickhouse_spool_remove(spool, i);
	}
	clickhouse_spool_close(spool);
	slow = false;
	assert_int_equal(rmdir(dir), 0);
	buf_fini(&bytes);
}

/* Blocks are statements, which others must not be able to leave there. */
static void a_spool_of_others_is_refused(void **state)
{
	struct clickhouse_spool *spool;
	struct err err = { 0 };
	char dir[128];

	(void)state;
	snprintf(dir, sizeof(dir), "%s", in_scratch("shared"));
	assert_int_equal(mkdir(dir, 0700), 0);
	assert_int_equal(chmod(dir, 0770), 0);
	assert_int_equal(clickhouse_spool_open(dir, 0x10, &spool, &err), -EPERM);
	assert_non_null(strstr(err.msg, "must belong to this user"));
	assert_int_equal(rmdir(dir), 0);
}

/* ---- the queue ---- */

static int local_port(char *ret_url, size_t cap, const char *rest)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(sin);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (void *)&sin, sizeof(sin)), 0);
	assert_int_equal(getsockname(fd, (void *)&sin, &len), 0);
	snprintf(ret_url, cap, "http://127.0.0.1:%u/db?%s", ntohs(sin.sin_port), rest);
	return fd;
}

/* Takes a row of the table `ledger`; rows that it counts as lost, if it is about the table `record`. */
static uint64_t lost_of(struct cursor *c)
{
	uint64_t lost = 0;
	bool record;

	cur_skip(c, cur_u8(c) + 8 + 8 + 8 + 4 + 2 + 8); /* host, run, seq, ts_ns, time, date, of_run */
	record = cur_peek(c, 0) == 6 && !memcmp(c->pos + 1, "record", 6);
	cur_skip(c, cur_u8(c) + 8 + 8); /* tbl, made, delivered */
	for (unsigned i = 0; i < 4; i++)
		lost += cur_u64(c);
	cur_skip(c, 8 + 1); /* spooled, final */
	return record ? lost : 0;
}

/* Rows of the table `record` in the folder of a run that has ended, and those that its ledger there says are lost. */
static uint64_t rows_in(const char *dir, uint64_t *ret_lost)
{
	struct clickhouse_spool_list l = { 0 };
	struct clickhouse_spool *found;
	struct clickhouse_block b;
	struct buf bytes = { 0 };
	uint64_t after = 0, rows = 0;

	*ret_lost = 0;
	assert_int_equal(clickhouse_spool_adopt(dir, &after, &found), 1);
	assert_int_equal(clickhouse_spool_list(found, &l), 0);
	for (size_t i = 0; i < l.files.len; i++) {
		struct cursor c;

		assert_int_equal(clickhouse_spool_get(found, l.files.items[i].number, &bytes), 0);
		assert_int_equal(clickhouse_block_parse(bytes.data, bytes.len, &b), 0);
		if (!strcmp(b.table, "record"))
			rows += b.head.n_rows;
		c = cur_init(b.rows, strcmp(b.table, "ledger") ? 0 : b.head.rows_len);
		while (cur_left(&c))
			*ret_lost = MAX(*ret_lost, lost_of(&c));
		assert_true(cur_ok(&c));
	}
	clickhouse_spool_close(found);
	vec_fini(&l.files);
	buf_fini(&bytes);
	return rows;
}

/*
 * The blocks of a run whose server is away stay for the next one; over the limit the oldest go, and are counted, also
 * by what a kill leaves.
 */
static void nothing_is_lost_without_a_count(void **state)
{
	struct clickhouse_sender_opts o = { 0 };
	struct clickhouse_ledger_count before, c;
	struct clickhouse_sender *s;
	struct buf block = { 0 }, large = { 0 };
	struct err err = { 0 };
	char url[256], rest[192], dir[128];
	const char *known;
	uint64_t lost;
	int r;

	(void)state;
	snprintf(dir, sizeof(dir), "%s", in_scratch("away"));
	snprintf(rest, sizeof(rest), "spool=%s&spool-size=1000", dir);
	close(local_port(url, sizeof(url), rest));
	o.url = url;
	r = clickhouse_sender_open(&o, &s, &known, &err);
	if (r == -ENOSYS)
		skip();
	assert_int_equal(r, 0);
	assert_null(known);
	make_block(&block, 5, 100); /* more than 300 bytes each */
	for (unsigned i = 0; i < 30; i++)
		clickhouse_sender_put(s, block.data, block.len);
	make_block(&large, 5, 1000); /* it waits in memory, and nothing goes for it */
	clickhouse_sender_count(s, &before);
	clickhouse_sender_put(s, large.data, large.len);
	clickhouse_sender_count(s, &c);
	assert_int_equal(c.lost_spool + c.lost_queue, before.lost_spool + before.lost_queue);
	assert_int_equal(c.made, 4000 + 2); /* a row of the ledger per table, itself among them */
	assert_true(c.lost_spool >= 1000);
	assert_int_equal(c.delivered + c.lost_queue + c.lost_refused, 0);
	clickhouse_sender_free(s); /* as a kill: what is on the disk stays */
	assert_int_equal(rows_in(dir, &lost) + lost, 3000);
	assert_int_equal(lost, c.lost_spool);
	o.wait = true; /* a replay refuses to begin */
	assert_int_equal(clickhouse_sender_open(&o, &s, &known, &err), -EHOSTUNREACH);
	buf_fini(&block);
	buf_fini(&large);
}

static void on_news(void *ctx, const char *sentence)
{
	assert_string_equal(ctx, ""); /* once */
	snprintf(ctx, 1024, "%s", sentence);
}

/* It accepts the connection, and that is all: a live run begins with its spool and says so once. */
static void a_server_without_an_answer_does_not_hold_the_start(void **state)
{
	char news[1024] = "";
	struct clickhouse_sender_opts o = { .ask_ms = 200, .news = on_news, .news_ctx = news };
	struct clickhouse_sender *s;
	struct err err = { 0 };
	char url[256], rest[192];
	const char *known;
	int fd, r;

	(void)state;
	snprintf(rest, sizeof(rest), "spool=%s", in_scratch("mute"));
	fd = local_port(url, sizeof(url), rest);
	assert_int_equal(listen(fd, 8), 0);
	o.url = url;
	r = clickhouse_sender_open(&o, &s, &known, &err);
	if (r == -ENOSYS)
		skip();
	assert_int_equal(r, 0);
	assert_null(known);
	assert_non_null(strstr(news, "rows wait in the spool /"));
	clickhouse_sender_free(s);
	o.wait = true;
	assert_int_equal(clickhouse_sender_open(&o, &s, &known, &err), -EHOSTUNREACH);
	assert_non_null(strstr(err.msg, "127.0.0.1"));
	close(fd);
}

static void urls_are_checked(void **state)
{
	static const char *const bad[] = {
		"ftp://h/db",
		"http://",
		"http:///db",
		"http://h/d b",
		"http://h/db?x=1",
		"http://u:secret@h/db",
		"http://h/db?spool=relative",
		"clickhouse://h/db?run=x",
		"http://h/db?password-file=/dev/null",
	};
	struct clickhouse_target t;
	struct err err = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_true(clickhouse_target_parse(bad[i], &t, &err) < 0);
	assert_int_equal(clickhouse_target_parse("clickhouse://me@[::1]/x?host=a&run=7", &t, &err), 0);
	assert_string_equal(t.base, "http://[::1]:8123/?database=x");
	assert_string_equal(t.headers[0], "X-ClickHouse-User: me");
	assert_null(t.headers[1]);
	assert_string_equal(t.host, "a");
	assert_int_equal(t.run, 7);
	assert_true(clickhouse_target_is_input("clickhouses://h/db"));
	assert_false(clickhouse_target_is_input("http://h/db"));
}

/* A part of a password would be refused by the server, without a word about the file. */
static void passwords_are_whole(void **state)
{
	struct clickhouse_target t;
	struct err err = { 0 };
	char path[128], url[192];

	(void)state;
	snprintf(path, sizeof(path), "%s", in_scratch("password"));
	snprintf(url, sizeof(url), "http://h/db?password-file=%s", path);
	for (unsigned len = 197; len < 201; len++) {
		const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

		for (unsigned i = 0; i < len; i++)
			assert_int_equal(write(fd, "x", 1), 1);
		assert_int_equal(write(fd, "\nnext", 5), 5);
		close(fd);
		assert_int_equal(clickhouse_target_parse(url, &t, &err), len < 199 ? 0 : -E2BIG);
		if (len < 199)
			assert_int_equal(strlen(t.headers[0]), strlen("X-ClickHouse-Key: ") + len);
	}
	assert_int_equal(unlink(path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_come_from_the_types),
		cmocka_unit_test(a_form_has_the_types_of_its_columns),
		cmocka_unit_test(a_server_gets_what_it_lacks),
		cmocka_unit_test(rows_are_as_the_format_says),
		cmocka_unit_test(rows_are_as_their_fields),
		cmocka_unit_test(rows_get_the_columns_that_have_values),
		cmocka_unit_test(answers_come_in_any_pieces),
		cmocka_unit_test(other_answers_are_refused),
		cmocka_unit_test(a_block_says_what_it_is),
		cmocka_unit_test(a_later_run_finds_the_blocks),
		cmocka_unit_test(a_new_folder_is_not_taken_over),
		cmocka_unit_test(a_slow_disk_does_not_hold_the_caller),
		cmocka_unit_test(a_spool_of_others_is_refused),
		cmocka_unit_test(nothing_is_lost_without_a_count),
		cmocka_unit_test(a_server_without_an_answer_does_not_hold_the_start),
		cmocka_unit_test(urls_are_checked),
		cmocka_unit_test(passwords_are_whole),
	};

	return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
