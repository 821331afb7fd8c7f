// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Cost of a store: writing the records of a recording (the argument) twelve times over, against zstd alone over the
 * same bytes; their size; reading all of it, and one process of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/io.h"
#include "base/macros.h"
#include "sonde/rec.h"
#include "store/store_dir.h"
#include "store/store_reader.h"
#include "store/store_writer.h"
#include "tests/bench/programs/bench.h"

#define COPIES 12u
#define COPY_NS (100 * NS_PER_S)	/* between two copies of the recording */
#define COPY_PIDS 4000000u
#define RECORDING_MAX_BYTES (1u << 30)
#define PLAIN_BYTES 130		/* of a record, by which the bounds were set; zstd's time goes by bytes */

struct input {
	struct buf records;	/* each padded to 8 bytes */
	uint64_t n;
};

/* Frames of rec.h, checked by the product's reader before: here only taken apart. */
static void load(const char *path, struct input *in)
{
	struct buf file = { 0 };
	struct cursor c;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || io_read_to_end(fd, RECORDING_MAX_BYTES, &file) < 0)
		bench_die("cannot read the recording");
	c = cur_init(file.data, file.len);
	cur_skip(&c, sizeof(struct sonde_rec_file));
	while (cur_left(&c)) {
		const uint32_t len = cur_u32(&c);
		const void *rec = (cur_skip(&c, sizeof(uint32_t)), cur_bytes(&c, len));

		cur_skip(&c, ROUND_UP(len, 8u) - len);
		if (!cur_ok(&c))
			break;
		buf_add(&in->records, rec, len);
		buf_align(&in->records, 8);
		in->n++;
	}
	if (buf_error(&in->records) < 0 || !in->n)
		bench_die("no records");
	buf_fini(&file);
	close(fd);
}

/* As in the product: processes, names and mappings. */
static bool is_state(void *ctx, uint16_t type)
{
	(void)ctx;
	return type >> 8 == 1 || (type >> 8 == 0 && type != SONDE_EV_PACKET && type != SONDE_EV_TICK);
}

/* Calls @fn for each record of each copy, later and with other processes than in the copy before. */
static void walk(struct input *in, unsigned copies, void (*fn)(void *ctx, const struct sonde_rec *r), void *ctx)
{
	for (unsigned copy = 0; copy < copies; copy++)
		for (size_t at = 0; at < in->records.len;) {
			struct sonde_rec *r = (void *)(in->records.data + at);

			if (copy) {
				r->ts_ns += COPY_NS;
				r->tgid += r->tgid ? COPY_PIDS : 0;
			}
			fn(ctx, r);
			at += ROUND_UP(r->len, 8u);
		}
}

static void add(void *ctx, const struct sonde_rec *r)
{
	if (store_writer_add(ctx, r) < 0)
		bench_die("cannot write a record");
}

static void write_store(struct input *in, const char *path)
{
	const struct store_writer_opts o = { .path = path, .segment_bytes = 4ull << 30, .is_state = is_state,
					    .tells_owners = true };
	struct store_writer_stats st;
	struct store_writer *w;
	struct err err = { 0 };
	uint64_t begin_ns;
	double seconds;

	if (store_writer_open(&o, &w, &err) < 0)
		bench_die(err.msg);
	begin_ns = bench_cpu_ns();
	walk(in, COPIES, add, w);
	seconds = (double)(bench_cpu_ns() - begin_ns) / NS_PER_S;
	store_writer_stats(w, &st);
	if (store_writer_close(w, &err) < 0)
		bench_die(err.msg);
	bench_figure("bytes of a record, raw", (double)st.raw_bytes / (double)st.records, "B");
	bench_figure("bytes of a record, stored", (double)st.stored_bytes / (double)st.records, "B");
	bench_at_least("size, raw over stored", (double)st.raw_bytes / (double)st.stored_bytes, 7.5);
	bench_figure("writer, million records per second of CPU", (double)st.records / seconds / 1e6, "M/s");
	bench_at_least("the same of records of 130 bytes", (double)st.raw_bytes / PLAIN_BYTES / seconds / 1e6, 3.0);
}

struct plain {
	ZSTD_CCtx *zstd;
	struct buf raw;
	char *out;
	size_t cap;
};

static void add_plain(void *ctx, const struct sonde_rec *r)
{
	struct plain *p = ctx;

	buf_add(&p->raw, r, r->len);
	buf_align(&p->raw, 8);
	if (p->raw.len < 1u << 20)
		return;
	if (ZSTD_isError(ZSTD_compressCCtx(p->zstd, p->out, p->cap, p->raw.data, p->raw.len, 1)))
		bench_die("zstd failed");
	buf_reset(&p->raw);
}

static void compress_alone(struct input *in)
{
	struct plain p = { .zstd = ZSTD_createCCtx(), .cap = ZSTD_compressBound(4u << 20) };
	uint64_t begin_ns;

	p.out = malloc(p.cap);
	begin_ns = bench_cpu_ns();
	walk(in, COPIES, add_plain, &p);
	bench_figure("zstd alone, million records per second of CPU",
		     (double)in->n * COPIES / ((double)(bench_cpu_ns() - begin_ns) / NS_PER_S) / 1e6, "M/s");
	buf_fini(&p.raw);
	free(p.out);
	ZSTD_freeCCtx(p.zstd);
}

struct first { uint64_t n, bytes, first_ns, begin_ns, key; };

static int count(void *ctx, const struct sonde_rec *r)
{
	struct first *f = ctx;

	f->n++;
	f->bytes += r->len;
	if (!f->first_ns && f->key && r->tgid == f->key)
		f->first_ns = bench_cpu_ns() - f->begin_ns;
	return 0;
}

static struct store_report read_store(const char *path, const struct store_query *q, struct first *f)
{
	struct store_list l = { 0 };
	struct store_report report;
	struct store_reader *r;
	struct err err = { 0 };
	int dir;

	f->begin_ns = bench_cpu_ns();
	dir = store_dir_open(path, &err);
	if (dir < 0 || store_dir_list(dir, &l) < 0 || store_reader_new(q, &r) < 0)
		bench_die(err.msg);
	for (size_t i = 0; i < l.files.len; i++) {
		char name[STORE_NAME_BYTES];
		int fd;

		store_dir_name(l.files.items[i].number, l.files.items[i].kind, name);
		fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || store_reader_segment(r, fd, count, f, &err) < 0)
			bench_die(err.msg);
		close(fd);
	}
	report = *store_reader_report(r);
	store_reader_free(r);
	store_dir_list_fini(&l);
	close(dir);
	return report;
}

static void read_all(const char *path)
{
	const struct store_query all = { .is_state = is_state };
	struct first f = { 0 };
	double seconds;

	read_store(path, &all, &f);
	seconds = (double)(bench_cpu_ns() - f.begin_ns) / NS_PER_S;
	bench_figure("reader, million records per second of CPU", (double)f.n / seconds / 1e6, "M/s");
	bench_at_least("the same of records of 130 bytes", (double)f.bytes / PLAIN_BYTES / seconds / 1e6, 8.0);
}

/* The process of the middle copy with the fewest records. */
static uint64_t rare_process(const struct input *in)
{
	struct { uint32_t tgid, n; } seen[4096] = { 0 };
	size_t best = 0, n = 0;

	for (size_t at = 0; at < in->records.len;) {
		const struct sonde_rec *r = (const void *)(in->records.data + at);
		const uint32_t tgid = r->tgid % COPY_PIDS;
		size_t i = 0;

		while (i < n && seen[i].tgid != tgid)
			i++;
		if (i == n && n < ARRAY_SIZE(seen))
			seen[n++].tgid = tgid;
		if (i < ARRAY_SIZE(seen))
			seen[i].n++;
		at += ROUND_UP(r->len, 8u);
	}
	for (size_t i = 0; i < n; i++)
		if (seen[i].tgid && (!seen[best].tgid || seen[i].n < seen[best].n))
			best = i;
	return seen[best].tgid + (uint64_t)COPY_PIDS * (COPIES / 2);
}

static void read_one(const char *path, uint64_t key)
{
	const struct store_query q = {
		.keys[SONDE_STORE_BY_PROCESS] = { .items = &key, .len = 1 }, .is_state = is_state,
	};
	struct first f = { .key = key };
	struct store_report p = read_store(path, &q, &f);

	bench_figure("one process: blocks read", (double)p.blocks, "");
	bench_figure("one process: blocks of the store", (double)(p.blocks + p.skipped_blocks), "");
	bench_figure("one process: all of it, CPU", (double)(bench_cpu_ns() - f.begin_ns) / NS_PER_MS, "ms");
	if (!f.first_ns)
		bench_die("the process has no record");
	bench_at_most("one process: the first record, ms of CPU", (double)f.first_ns / NS_PER_MS, 100.0);
}

int main(int argc, char **argv)
{
	char path[] = "/tmp/sonde-bench-XXXXXX", command[64];
	struct input in = { 0 };

	if (argc != 2 || !mkdtemp(path))
		bench_die("usage: bench_store_cost RECORDING");
	load(argv[1], &in);
	printf("note\t%u times %llu records, %.0f MB\n", COPIES, (unsigned long long)in.n,
	       (double)in.records.len * COPIES / 1e6);
	write_store(&in, path);
	read_all(path);
	read_one(path, rare_process(&in));
	compress_alone(&in);
	snprintf(command, sizeof(command), "rm -rf %s", path);
	return system(command) != 0;
}
