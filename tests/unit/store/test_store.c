// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/macros.h"
#include "tests/unit/scratch_dir.h"
#include "sonde/ident_wire.h"
#include "sonde/store.h"
#include "sonde/symbol_wire.h"
#include "store/crc32c.c"	/* both ways of counting */
#include "store/store_check.h"
#include "store/store_cut.h"
#include "store/store_decode.h"
#include "store/store_dir.h"
#include "store/store_names.h"
#include "store/store_reader.h"
#include "store/store_recover.h"
#include "store/store_writer.h"

#define STATE_TYPE SONDE_EV(1, 9)
#define DATA_TYPE SONDE_EV(4, 1)
#define PROCESSES 200u		/* of the stream below */

static void the_sum_is_that_of_the_rfc(void **state)
{
	uint8_t data[48];
	uint32_t (*const ways[])(uint32_t, const void *, size_t) = { crc32c, portable };

	(void)state;
	for (size_t w = 0; w < ARRAY_SIZE(ways); w++) {
		memset(data, 0, 32);
		assert_int_equal(ways[w](0, data, 32), 0x8a9136aa);
		memset(data, 0xff, 32);
		assert_int_equal(ways[w](0, data, 32), 0x62a8ab43);
		for (unsigned i = 0; i < 32; i++)
			data[i] = (uint8_t)i;
		assert_int_equal(ways[w](0, data, 32), 0x46dd794e);
		assert_int_equal(ways[w](ways[w](0, data, 13), data + 13, 19), 0x46dd794e);
	}
}

/* ---- the stream of the test ---- */

struct test_rec {
	struct sonde_rec hdr;
	struct sonde_ident ident;
	uint8_t data[160];
};

/* Record @i: sorted by time, of all remainders of the alignment; some are state, some processes are rare. */
static void make_rec(struct test_rec *r, uint32_t i)
{
	const bool is_state = i % 50 == 7;
	const uint32_t process = 1 + i / 500 % PROCESSES;

	memset(r, 0, sizeof(*r));
	r->hdr = (struct sonde_rec){
		.ts_ns = NS_PER_S + i * 1000ull, .len = (uint32_t)(sizeof(r->hdr) + sizeof(r->ident) + i * 7 % 160),
		.type = is_state ? STATE_TYPE : DATA_TYPE, .tgid = process, .tid = process, .seq = i,
		.flags = SONDE_RF_IDENT,
	};
	r->ident = (struct sonde_ident){ .sock = i / 300, .call = i / 7, .file = i % 3 ? i / 11 : 0 };
	memset(r->data, (int)i, sizeof(r->data));
}

static bool is_state(void *ctx, uint16_t type)
{
	(void)ctx;
	return type == STATE_TYPE;
}

static struct store_writer *new_writer(const char *name, uint64_t segment_bytes)
{
	const struct store_writer_opts o = {
		.path = in_scratch(name), .segment_bytes = segment_bytes, .is_state = is_state, .options = "the test",
	};
	struct store_writer *w;
	struct err err = { 0 };

	if (store_writer_open(&o, &w, &err) < 0)
		fail_msg("%s", err.msg);
	return w;
}

/* As a live run does when a segment is full. */
static void turn(struct store_writer *w, uint32_t i)
{
	struct sonde_ledger_rec l = { .hdr = { .len = sizeof(l), .type = SONDE_EV_LEDGER }, .seen = i + 1,
				      .delivered = i + 1 };
	struct test_rec r;

	assert_int_equal(store_writer_phase(w, STORE_NAMES), 0);
	assert_int_equal(store_writer_add(w, &l.hdr), 0);
	assert_int_equal(store_writer_phase(w, STORE_STATE), 0);
	make_rec(&r, 7);
	r.hdr.flags |= SONDE_RF_SNAPSHOT;
	assert_int_equal(store_writer_add(w, &r.hdr), 0);
	assert_int_equal(store_writer_phase(w, STORE_DATA), 0);
}

static void add_all(struct store_writer *w, uint32_t from, uint32_t n)
{
	struct test_rec r;

	for (uint32_t i = from; i < from + n; i++) {
		make_rec(&r, i);
		assert_int_equal(store_writer_add(w, &r.hdr), 0);
		if (store_writer_is_due(w))
			turn(w, i);
	}
}

static void write_store(const char *name, uint32_t n, uint64_t segment_bytes)
{
	struct store_writer *w = new_writer(name, segment_bytes);

	add_all(w, 0, n);
	assert_int_equal(store_writer_phase(w, STORE_NAMES), 0);
	assert_int_equal(store_writer_close(w, NULL), 0);
}

static void remove_store(const char *name)
{
	char command[160];

	snprintf(command, sizeof(command), "rm -rf %s", in_scratch(name));
	assert_int_equal(system(command), 0);
}

struct seen {
	uint32_t next;		/* number of the next record, if all come */
	uint32_t n, snapshots, holes, names;
	uint64_t ledger_seen;
	bool gaps;		/* are allowed */
	uint8_t *have;		/* which came; NULL = not asked */
};

static int on_record(void *ctx, const struct sonde_rec *rec)
{
	struct seen *s = ctx;
	struct test_rec want;

	if (rec->type == SONDE_EV_LEDGER) {
		s->ledger_seen = ((const struct sonde_ledger_rec *)rec)->seen;
		return 0;
	}
	if (rec->type == SONDE_EV_TICK) {
		assert_true(s->gaps && rec->flags == SONDE_RF_SKIPPED);
		s->holes++;
		return 0;
	}
	if (rec->type == SONDE_EV_SYMBOLS) {
		assert_int_equal(s->n, 0);	/* before the records that need them */
		s->names++;
		return 0;
	}
	if (rec->flags & SONDE_RF_SNAPSHOT) {
		s->snapshots++;
		return 0;
	}
	assert_int_equal((uintptr_t)rec % 8, 0);
	make_rec(&want, rec->seq);
	assert_int_equal(rec->len, want.hdr.len);
	assert_memory_equal(rec, &want, rec->len);
	assert_true(s->gaps ? rec->seq >= s->next : rec->seq == s->next);
	s->next = rec->seq + 1;
	s->n++;
	if (s->have)
		s->have[rec->seq] = 1;
	return 0;
}

static struct store_report read_store(const char *name, const struct store_query *q, struct seen *seen)
{
	struct store_list l = { 0 };
	struct store_reader *r;
	struct store_report report;
	struct err err = { 0 };
	int dir = store_dir_open(in_scratch(name), &err);

	assert_true(dir >= 0);
	assert_int_equal(store_dir_list(dir, &l), 0);
	assert_int_equal(store_reader_new(q, &r), 0);
	for (size_t i = 0; i < l.files.len; i++) {
		char file[STORE_NAME_BYTES];
		int fd;

		store_dir_name(l.files.items[i].number, l.files.items[i].kind, file);
		fd = openat(dir, file, O_RDONLY);
		assert_true(fd >= 0);
		if (store_reader_segment(r, fd, on_record, seen, &err) < 0 && err.code != -ENODATA)
			fail_msg("%s", err.msg);
		close(fd);
	}
	assert_int_equal(store_reader_end(r, on_record, seen), 0);
	report = *store_reader_report(r);
	store_reader_free(r);
	store_dir_list_fini(&l);
	close(dir);
	return report;
}

/* ---- all of it ---- */

#define N 60000u

/* The same for a first segment that is still written. */
static void follow_store(const char *name, struct seen *seen)
{
	const struct store_query all = { .is_state = is_state, .follow = true };
	struct store_reader *r;
	struct err err = { 0 };
	uint64_t off = 0;
	char file[STORE_NAME_BYTES];
	int dir = store_dir_open(in_scratch(name), &err), fd;

	store_dir_name(0, STORE_PART, file);
	fd = openat(dir, file, O_RDONLY);
	assert_true(fd >= 0);
	assert_int_equal(store_reader_new(&all, &r), 0);
	assert_true(store_reader_follow(r, fd, &off, on_record, seen, &err) >= 0);
	store_reader_free(r);
	close(fd);
	close(dir);
}

static void a_store_comes_back_in_order(void **state)
{
	const struct store_query all = { .is_state = is_state };
	struct seen seen = { 0 };
	struct store_report report;

	(void)state;
	write_store("all", N, 256u << 10);
	report = read_store("all", &all, &seen);
	assert_int_equal(seen.n, N);
	assert_true(report.segments > 3);
	assert_int_equal(seen.snapshots, 0);	/* each segment continues the one before */
	assert_int_equal(report.damages, 0);
	assert_int_equal(seen.ledger_seen, 0);	/* the last segment has none: the sums would not fit */
}

static void a_segment_alone_begins_with_its_state(void **state)
{
	const struct store_query all = { .is_state = is_state };
	struct seen seen = { .gaps = true };
	char file[STORE_NAME_BYTES], path[256];

	(void)state;
	store_dir_name(0, STORE_SEALED, file);
	snprintf(path, sizeof(path), "%s/%s", in_scratch("all"), file);
	assert_int_equal(unlink(path), 0);
	read_store("all", &all, &seen);
	assert_true(seen.n < N);
	assert_int_equal(seen.snapshots, 1);
}

/* ---- segments made of others ---- */

static int open_first(const char *name, int *ret_dir)
{
	char file[STORE_NAME_BYTES];
	int fd;

	*ret_dir = store_dir_open(in_scratch(name), NULL);
	assert_true(*ret_dir >= 0);
	store_dir_name(0, STORE_SEALED, file);
	fd = openat(*ret_dir, file, O_RDONLY);
	assert_true(fd >= 0);
	return fd;
}

#define CUT 30000u	/* a whole block is before it, and a part of one */

static void a_part_has_the_state_before_it(void **state)
{
	struct store_query q = { .is_state = is_state };
	struct seen seen = { .gaps = true, .have = calloc(N, 1) };
	char file[STORE_NAME_BYTES];
	int64_t from_ns, to_ns;
	int dir, fd, part, to;

	(void)state;
	write_store("whole", N, 64u << 20);
	fd = open_first("whole", &dir);
	assert_int_equal(store_cut_span(fd, &from_ns, &to_ns), 0);
	assert_int_equal(to_ns - from_ns, (N - 1) * 1000);
	part = store_dir_create(in_scratch("part"), 0700, NULL);
	store_dir_name(0, STORE_SEALED, file);
	to = openat(part, file, O_RDWR | O_CREAT, 0600);
	q.since_ns = from_ns + CUT * 1000;
	assert_int_equal(store_cut(fd, to, &q), 0);
	q.since_ns = 0;
	assert_int_equal(read_store("part", &q, &seen).damages, 0);
	for (uint32_t i = 0; i < N; i++)
		assert_int_equal(seen.have[i], i >= CUT || i % 50 == 7);
	assert_int_equal(store_cut_span(to, &from_ns, &to_ns), 0);
	assert_int_equal(to_ns - from_ns, (N - CUT - 1) * 1000);
	close(to);
	close(part);
	close(fd);
	close(dir);
	free(seen.have);
}

static void add_names(int dir, unsigned n, int want)
{
	const struct store_file f = { .kind = STORE_SEALED };
	const struct sonde_symbols_rec r = { .hdr = { .type = SONDE_EV_SYMBOLS, .len = sizeof(r) } };
	struct buf names = { 0 };

	for (unsigned i = 0; i < n; i++)
		buf_add(&names, &r, sizeof(r));
	assert_int_equal(store_names_add(dir, &f, &names), want);
	buf_fini(&names);
}

static void a_sealed_segment_gets_names(void **state)
{
	const struct store_query all = { .is_state = is_state };
	struct seen seen = { 0 }, again = { 0 };
	struct stat before, after;
	int dir, fd, old;

	(void)state;
	write_store("named", 5000, 64u << 20);
	old = open_first("named", &dir);
	assert_int_equal(fstat(old, &before), 0);
	add_names(dir, 3, 0);
	add_names(dir, 40000, 0);	/* several blocks */
	assert_int_equal(read_store("named", &all, &seen).damages, 0);
	assert_int_equal(seen.n, 5000);
	assert_int_equal(seen.names, 40003);
	close(dir);
	fd = open_first("named", &dir);
	assert_int_equal(fstat(fd, &after), 0);
	assert_true(after.st_ino != before.st_ino && after.st_mode == before.st_mode);
	assert_memory_equal(&after.st_mtim, &before.st_mtim, sizeof(after.st_mtim));
	close(fd);
	/* without a sound foot nothing is changed */
	fd = openat(dir, "0000000000000000.seg", O_RDWR);
	assert_int_equal(ftruncate(fd, after.st_size - 1), 0);
	add_names(dir, 1, -EBADMSG);
	read_store("named", &all, &again);
	assert_int_equal(again.n, 5000);
	close(fd);
	close(old);
	close(dir);
}

static void runs_are_added_up(void **state)
{
	const struct store_query all = { 0 };
	struct seen seen = { .gaps = true };

	(void)state;
	for (int run = 0; run < 3; run++) {
		struct store_writer *w = new_writer("runs", 0);
		struct sonde_ledger_rec l = { .hdr = { .len = sizeof(l), .type = SONDE_EV_LEDGER }, .seen = 100 };

		add_all(w, 100 * (uint32_t)run, 100);
		assert_int_equal(store_writer_phase(w, STORE_NAMES), 0);
		assert_int_equal(store_writer_add(w, &l.hdr), 0);
		assert_int_equal(store_writer_close(w, NULL), 0);
	}
	read_store("runs", &all, &seen);
	assert_int_equal(seen.n, 300);
	assert_int_equal(seen.ledger_seen, 300);
}

/* ---- questions ---- */

static uint64_t key_of(const struct test_rec *r, unsigned by)
{
	const uint64_t keys[] = { r->hdr.tgid, r->ident.sock, r->ident.call, r->ident.file };

	return keys[by];
}

static void check_question(unsigned by, uint64_t key, uint64_t *blocks, uint64_t *skipped)
{
	struct store_query q = { .is_state = is_state };
	struct seen seen = { .gaps = true, .have = calloc(N, 1) };
	struct store_report report;
	uint32_t last = 0;
	struct test_rec r;

	q.keys[by] = (struct store_keys){ .items = &key, .len = 1 };
	report = read_store("asked", &q, &seen);
	for (uint32_t i = 0; i < N; i++) {
		make_rec(&r, i);
		if (key_of(&r, by) != key)
			continue;
		last = i;
		assert_int_equal(seen.have[i], 1);
	}
	for (uint32_t i = 7; i < last; i += 50)	/* all state before it, in one segment */
		assert_int_equal(seen.have[i], 1);
	assert_true(seen.holes <= report.blocks);
	*blocks += report.blocks;
	*skipped += report.skipped_blocks;
	assert_int_equal(seen.ledger_seen, 0);
	free(seen.have);
}

static void a_question_reads_the_blocks_that_answer_it(void **state)
{
	uint64_t blocks = 0, skipped = 0;

	(void)state;
	write_store("asked", N, 64u << 20);
	for (uint64_t key = 1; key < 100; key += 13)
		for (unsigned by = 0; by < SONDE_STORE_BY__MAX; by++)
			check_question(by, key, &blocks, &skipped);
	assert_true(skipped > 5 * blocks);
}

static void times_select_blocks(void **state)
{
	struct store_query q = { .is_state = is_state };
	struct seen seen = { .gaps = true, .have = calloc(N, 1) };
	const int64_t offset = clock_boot_offset_ns();
	struct store_report report;

	(void)state;
	q.until_ns = offset + (int64_t)(NS_PER_S + 100 * 1000);
	report = read_store("asked", &q, &seen);
	assert_true(report.blocks >= 1 && report.blocks <= 2 && report.skipped_blocks > 3);
	for (uint32_t i = 0; i < 90; i++)	/* the wall clock may be adjusted a little meanwhile */
		assert_int_equal(seen.have[i], 1);
	free(seen.have);
	seen = (struct seen){ .gaps = true };
	q = (struct store_query){ .since_ns = offset + (int64_t)(100 * NS_PER_S), .is_state = is_state };
	report = read_store("asked", &q, &seen);
	assert_int_equal(report.blocks + seen.n, 0);
}

static void a_probe_without_records_is_not_read(void **state)
{
	const struct store_query q = { .probes = 1ull << 5, .is_state = is_state };
	struct seen seen = { .gaps = true };

	(void)state;
	assert_int_equal(read_store("asked", &q, &seen).blocks, 0);
}

/* ---- damage ---- */

/* The only segment of a store, in memory. */
static void load(const char *name, enum store_kind kind, struct buf *ret)
{
	char file[STORE_NAME_BYTES], path[256];
	int fd;

	store_dir_name(0, kind, file);
	snprintf(path, sizeof(path), "%s/%s", in_scratch(name), file);
	fd = open(path, O_RDONLY);
	assert_true(fd >= 0);
	assert_int_equal(io_read_to_end(fd, 64u << 20, ret), 0);
	close(fd);
}

static void save(const char *name, enum store_kind kind, const void *data, size_t len)
{
	char file[STORE_NAME_BYTES], path[256];
	int fd;

	mkdir(in_scratch(name), 0755);
	store_dir_name(0, kind, file);
	snprintf(path, sizeof(path), "%s/%s", in_scratch(name), file);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(io_write_all(fd, data, len), 0);
	close(fd);
}

static int count(void *ctx, const struct sonde_rec *r)
{
	(void)r;
	++*(uint32_t *)ctx;
	return 0;
}

/* Ends of the whole chunks in @b and the number of stream records up to each. */
static size_t list_chunks(const struct buf *b, size_t *ends, uint32_t *records, size_t max)
{
	struct store_decode *d;
	size_t at = SONDE_STORE_HEAD_BYTES, n = 0;
	uint32_t total = 0;

	assert_int_equal(store_decode_new(&d), 0);
	while (n < max) {
		const int64_t size = store_decode_size(b->data + at, b->len - at);
		struct sonde_store_chunk h;

		if (size <= 0 || (uint64_t)size > b->len - at)
			break;
		memcpy(&h, b->data + at, sizeof(h));
		if (h.kind == SONDE_STORE_INDEX)
			break;
		assert_true(store_decode_chunk(d, b->data + at, h.role == SONDE_STORE_DATA ? count : NULL,
					       &total) >= 0);
		at += (size_t)size;
		ends[n] = at;
		records[n++] = total;
	}
	store_decode_free(d);
	return n;
}

/* Each length around the end of a chunk, and every eleventh of the others. */
static size_t step_to(size_t end, size_t len)
{
	return len + 40 > end && len < end + 40 ? 1 : 11;
}

static void every_truncation_keeps_the_whole_chunks(void **state)
{
	const struct store_query all = { .is_state = is_state };
	struct buf b = { 0 };
	size_t ends[64], n, next = 0;
	uint32_t records[64];

	(void)state;
	write_store("small", 900, 0);
	load("small", STORE_SEALED, &b);
	n = list_chunks(&b, ends, records, ARRAY_SIZE(ends));
	assert_true(n > 3);
	for (size_t len = 0; len < b.len; len += step_to(next < n ? ends[next] : b.len, len)) {
		struct seen seen = { 0 };

		save("torn", STORE_PART, b.data, len);
		read_store("torn", &all, &seen);
		next += next < n && ends[next] <= len;
		assert_int_equal(seen.n, next ? records[next - 1] : 0);
	}
	buf_fini(&b);
}

static void what_a_crash_left_is_sealed(void **state)
{
	const struct store_query all = { .is_state = is_state };
	struct buf b = { 0 };
	size_t ends[64], n;
	uint32_t records[64];
	struct store_writer *w;

	(void)state;
	load("small", STORE_SEALED, &b);
	n = list_chunks(&b, ends, records, ARRAY_SIZE(ends));
	for (size_t i = 0; i + 1 < n; i++) {
		struct seen seen = { 0 };
		struct store_report report;

		save("crash", STORE_PART, b.data, ends[i] + 33);
		w = new_writer("crash", 0);
		assert_int_equal(store_writer_close(w, NULL), 0);
		report = read_store("crash", &all, &seen);
		assert_int_equal(seen.n, records[i]);
		assert_int_equal(report.damages, 0);
		remove_store("crash");
	}
	buf_fini(&b);
}

/* Takes all pages that are free. */
static void fill_disk(const char *folder)
{
	static const char page[4096];
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/rest", folder);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	while (write(fd, page, sizeof(page)) > 0)
		;
	assert_int_equal(errno, ENOSPC);
	close(fd);
}

/* A part of the index fits: the segment is sealed without one, as it is where nothing fits. */
static void a_full_disk_is_no_obstacle(void **state)
{
	const struct store_query all = { .is_state = is_state };
	struct store_segment_facts facts;
	struct buf b = { 0 };
	size_t ends[64], n;
	uint32_t records[64];
	unsigned without = 0;

	(void)state;
	write_store("many", 6000, 0);	/* chunks that end anywhere in a page */
	load("many", STORE_SEALED, &b);
	n = list_chunks(&b, ends, records, ARRAY_SIZE(ends));
	mkdir(in_scratch("disk"), 0755);
	if (mount("none", in_scratch("disk"), "tmpfs", 0, "size=512k,mode=0755") < 0) {
		print_message("skipped: a small tmpfs cannot be mounted (%s)\n", strerror(errno));
		buf_fini(&b);
		skip();
	}
	for (size_t i = 0; i + 1 < n; i++) {
		struct seen seen = { 0 };
		int dir, fd;

		save("disk", STORE_PART, b.data, ends[i]);
		fill_disk(in_scratch("disk"));
		dir = store_dir_open(in_scratch("disk"), NULL);
		errno = 0;	/* a short write sets none */
		assert_int_equal(store_recover(dir, 0), 0);
		close(dir);
		fd = open_first("disk", &dir);
		store_check_segment(fd, false, &facts);
		without += !facts.indexed;
		assert_int_equal(read_store("disk", &all, &seen).damages, 0);
		assert_int_equal(seen.n, records[i]);
		assert_int_equal(unlinkat(dir, "rest", 0), 0);
		close(fd);
		close(dir);
	}
	assert_int_equal(umount(in_scratch("disk")), 0);
	assert_true(without);
	buf_fini(&b);
}

/* A changed byte costs at most its block, is reported, and never gives a wrong record (on_record compares). */
static void a_changed_byte_costs_its_block(void **state)
{
	const struct store_query all = { .is_state = is_state };
	struct buf b = { 0 };
	uint32_t most = 0;

	(void)state;
	write_store("hurt", 20000, 0);
	load("hurt", STORE_SEALED, &b);
	for (size_t at = SONDE_STORE_HEAD_BYTES; at < b.len; at += 19997) {
		for (enum store_kind kind = STORE_PART; kind <= STORE_SEALED; kind++) {
			struct seen seen = { .gaps = true }, followed = seen;

			b.data[at] ^= 0x41;
			save(kind == STORE_PART ? "hurt1" : "hurt2", kind, b.data, b.len);
			b.data[at] ^= 0x41;
			read_store(kind == STORE_PART ? "hurt1" : "hurt2", &all, &seen);
			if (kind == STORE_PART) {
				follow_store("hurt1", &followed);
				assert_int_equal(followed.n, seen.n);
			}
			assert_true(seen.n <= 20000 && seen.n + 8000 > 20000);
			most = MAX(most, 20000 - seen.n);
		}
	}
	assert_true(most > 0);
	buf_fini(&b);
}

static void a_later_version_is_refused(void **state)
{
	struct sonde_store_head h;
	struct err err = { 0 };
	struct buf b = { 0 };

	(void)state;
	load("small", STORE_SEALED, &b);
	memcpy(&h, b.data, sizeof(h));
	assert_int_equal(store_decode_head(&h, &err), 0);
	assert_string_equal(h.options, "the test");
	h.minor++;
	h.crc = crc32c(0, &h, offsetof(struct sonde_store_head, crc));
	assert_int_equal(store_decode_head(&h, &err), 0);
	h.major++;
	assert_int_equal(store_decode_head(&h, &err), -EPROTONOSUPPORT);
	h.major--;
	h.host[0] ^= 1;
	assert_int_equal(store_decode_head(&h, &err), -EBADMSG);
	buf_fini(&b);
}

/* ---- the writer ---- */

static void a_second_writer_is_refused(void **state)
{
	struct store_writer *w = new_writer("two", 0), *second;
	const struct store_writer_opts o = { .path = in_scratch("two"), .is_state = is_state };
	char pid[32];
	struct err err = { 0 };

	(void)state;
	assert_int_equal(store_writer_open(&o, &second, &err), -EBUSY);
	snprintf(pid, sizeof(pid), "by pid %d;", (int)getpid());
	assert_non_null(strstr(err.msg, pid));
	assert_int_equal(store_writer_close(w, NULL), 0);
}

static void only_root_reads_it(void **state)
{
	struct stat st;
	char path[256];

	(void)state;
	assert_int_equal(stat(in_scratch("small"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	snprintf(path, sizeof(path), "%s/0000000000000000.seg", in_scratch("small"));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

static uint64_t bytes_of(const char *name, uint64_t *ret_first)
{
	struct store_list l = { 0 };
	uint64_t bytes = 0;
	int dir = store_dir_open(in_scratch(name), NULL);

	assert_int_equal(store_dir_list(dir, &l), 0);
	for (size_t i = 0; i < l.files.len; i++)
		bytes += l.files.items[i].bytes;
	*ret_first = l.files.items[0].number;
	store_dir_list_fini(&l);
	close(dir);
	return bytes;
}

static void limits_remove_the_oldest(void **state)
{
	const struct store_writer_opts o = {
		.path = in_scratch("limits"), .segment_bytes = 128u << 10, .limits.max_bytes = 600u << 10,
		.is_state = is_state,
	};
	struct store_writer *w;
	char from[256], to[256];
	uint64_t first;

	(void)state;
	assert_int_equal(store_writer_open(&o, &w, NULL), 0);
	add_all(w, 0, 20000);
	assert_int_equal(store_writer_close(w, NULL), 0);
	snprintf(from, sizeof(from), "%s/0000000000000000.seg", in_scratch("limits"));
	snprintf(to, sizeof(to), "%s/0000000000000000.keep", in_scratch("limits"));
	assert_int_equal(rename(from, to), 0);
	assert_int_equal(store_writer_open(&o, &w, NULL), 0);
	add_all(w, 0, 2 * N);
	assert_int_equal(store_writer_close(w, NULL), 0);
	assert_true(bytes_of("limits", &first) <= 600u << 10);
	assert_int_equal(first, 0);	/* was kept */
	assert_int_equal(access(to, F_OK), 0);
}

/* Two segments are the least that a size can be: they are a little larger than that when they end. */
static void the_latest_segment_stays(void **state)
{
	const struct store_limits limits = { .max_bytes = 2000 };
	char name[STORE_NAME_BYTES];
	uint64_t first;
	int dir;

	(void)state;
	assert_int_equal(mkdir(in_scratch("latest"), 0700), 0);
	dir = store_dir_open(in_scratch("latest"), NULL);
	for (uint64_t i = 0; i < 3; i++) {
		int fd;

		store_dir_name(i, i < 2 ? STORE_SEALED : STORE_PART, name);
		fd = openat(dir, name, O_WRONLY | O_CREAT, 0600);
		assert_int_equal(ftruncate(fd, i < 2 ? 1010 : 10), 0);
		close(fd);
	}
	assert_int_equal(store_dir_trim(dir, &limits, 1000), 1);
	assert_int_equal(bytes_of("latest", &first), 1020);
	assert_int_equal(first, 1);
	close(dir);
}

/* Adds records until it is killed, and says through @fd which one the clock has passed for a second. */
static void write_for_ever(int fd)
{
	struct store_writer *w = new_writer("killed", 1u << 20);
	uint32_t old[11] = { 0 };	/* records added up to 0.1, 0.2 ... 1.1 s ago */
	struct test_rec r;

	for (uint32_t i = 0, tick = 0;; tick++) {
		const struct timespec pause = { .tv_nsec = 10 * NS_PER_MS };

		for (unsigned k = 0; k < 50; k++, i++) {
			make_rec(&r, i);
			store_writer_add(w, &r.hdr);
			if (store_writer_is_due(w))
				turn(w, i);
		}
		store_writer_flush(w);
		nanosleep(&pause, NULL);
		if (tick % 11)
			continue;
		memmove(old + 1, old, sizeof(old) - sizeof(old[0]));
		old[0] = i;
		if (write(fd, &old[10], sizeof(old[10])) < 0)
			return;
	}
}

static void kill_9_costs_less_than_a_second(void **state)
{
	const struct store_query all = { .is_state = is_state };

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		const struct timespec life = { .tv_sec = 1, .tv_nsec = (long)((300 + i * 170) * NS_PER_MS) };
		struct seen seen = { 0 };
		uint32_t safe = 0, one;
		int ends[2];
		pid_t child;

		remove_store("killed");
		assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
		child = fork();
		if (!child) {
			write_for_ever(ends[1]);
			_exit(1);
		}
		close(ends[1]);
		nanosleep(&life, NULL);
		assert_int_equal(kill(child, SIGKILL), 0);
		assert_int_equal(waitpid(child, NULL, 0), child);
		while (read(ends[0], &one, sizeof(one)) == sizeof(one))
			safe = one;
		close(ends[0]);
		read_store("killed", &all, &seen);
		assert_true(seen.n >= safe && seen.n > 0);
	}
}

/* A file that cannot grow: as on a full disk, but for the error. Reading finds all that was not counted as lost. */
static void records_without_room_are_counted(void **state)
{
	const struct store_query all = { .is_state = is_state };
	struct rlimit before, small;
	struct store_writer *w = new_writer("full", 0);
	struct store_writer_stats stats;
	struct seen seen = { .gaps = true };

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &before);
	small = before;
	small.rlim_cur = 300u << 10;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	add_all(w, 0, N);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	store_writer_stats(w, &stats);
	assert_true(stats.lost > 1000 && stats.lost < N);
	assert_int_equal(stats.error, -EFBIG);
	assert_int_equal(store_writer_close(w, NULL), -EFBIG);
	assert_int_equal(read_store("full", &all, &seen).damages, 0);
	assert_int_equal(seen.n + stats.lost, N);
}

/* ---- the flight recorder ---- */

/* Adds @n records, with a turn where the writer asks for one. */
static uint32_t add_for(struct store_writer *w, uint32_t from, uint64_t ns)
{
	const struct timespec pause = { .tv_nsec = 5 * NS_PER_MS };
	const uint64_t end_ns = clock_boot_ns() + ns;

	while (clock_boot_ns() < end_ns) {
		add_all(w, from, 20);
		from += 20;
		store_writer_flush(w);
		if (store_writer_is_due(w))
			turn(w, from);
		nanosleep(&pause, NULL);
	}
	return from;
}

static void a_trigger_writes_the_kept_time(void **state)
{
	const struct store_writer_opts o = {
		.path = in_scratch("kept"), .keep_ns = 3 * NS_PER_S, .after_ns = NS_PER_S / 2, .is_state = is_state,
	};
	const struct store_query all = { .is_state = is_state };
	struct seen seen = { .gaps = true };
	struct store_writer_stats stats;
	struct store_writer *w;
	uint32_t i, at, end;
	DIR *d;

	(void)state;
	assert_int_equal(store_writer_open(&o, &w, NULL), 0);
	i = add_for(w, 0, 6 * NS_PER_S);
	d = opendir(in_scratch("kept"));
	for (struct dirent *e; (e = readdir(d));)
		assert_null(strstr(e->d_name, ".seg"));
	closedir(d);
	at = i;
	assert_int_equal(store_writer_trigger(w), 1);
	assert_int_equal(store_writer_trigger(w), 0);
	end = add_for(w, i, NS_PER_S);
	assert_int_equal(store_writer_trigger(w), 0);	/* too soon */
	i = add_for(w, end, NS_PER_S);
	store_writer_stats(w, &stats);
	assert_int_equal(stats.dumps, 1);
	assert_int_equal(stats.more_triggers, 2);
	assert_int_equal(store_writer_close(w, NULL), 0);
	seen.have = calloc(i, 1);
	assert_int_equal(read_store("kept", &all, &seen).damages, 0);
	assert_int_equal(seen.snapshots, 1);
	assert_int_equal(seen.have[0], 0);
	for (uint32_t k = at - at * 3 / 6; k < at; k++)	/* half of six seconds, at an even pace */
		assert_int_equal(seen.have[k], 1);
	assert_true(seen.next > at && seen.next <= end);
	free(seen.have);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_sum_is_that_of_the_rfc),
		cmocka_unit_test(a_store_comes_back_in_order),
		cmocka_unit_test(a_segment_alone_begins_with_its_state),
		cmocka_unit_test(a_part_has_the_state_before_it),
		cmocka_unit_test(a_sealed_segment_gets_names),
		cmocka_unit_test(runs_are_added_up),
		cmocka_unit_test(a_question_reads_the_blocks_that_answer_it),
		cmocka_unit_test(times_select_blocks),
		cmocka_unit_test(a_probe_without_records_is_not_read),
		cmocka_unit_test(every_truncation_keeps_the_whole_chunks),
		cmocka_unit_test(what_a_crash_left_is_sealed),
		cmocka_unit_test(a_full_disk_is_no_obstacle),
		cmocka_unit_test(a_changed_byte_costs_its_block),
		cmocka_unit_test(a_later_version_is_refused),
		cmocka_unit_test(a_second_writer_is_refused),
		cmocka_unit_test(only_root_reads_it),
		cmocka_unit_test(limits_remove_the_oldest),
		cmocka_unit_test(the_latest_segment_stays),
		cmocka_unit_test(kill_9_costs_less_than_a_second),
		cmocka_unit_test(records_without_room_are_counted),
		cmocka_unit_test(a_trigger_writes_the_kept_time),
	};

	/* in memory: hundreds of segments are synced */
	_Static_assert(sizeof("/dev/shm/sd-XXXXXX") <= sizeof(scratch_dir), "the other name fits");
	strcpy(scratch_dir, "/dev/shm/sd-XXXXXX");
	return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
