// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/macros.h"
#include "tests/unit/scratch_dir.h"
#include "sinks/outfile.h"
#include "sinks/sink.h"
#include "sonde/rec.h"
#include "source/worker_reply.h"
#include "source/source.h"

static void write_file(const char *name, const void *data, size_t len)
{
	int fd = open(in_scratch(name), O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
	close(fd);
}

/* ---- recordings of the test ---- */

struct test_rec {
	struct sonde_rec hdr;
	uint8_t data[64];
};

/* Record @i: of a length that walks over all remainders of the alignment. */
static void make_rec(struct test_rec *r, unsigned i)
{
	*r = (struct test_rec){ .hdr = { .ts_ns = i, .len = (uint32_t)(sizeof(r->hdr) + i * 7 % 64),
					 .type = SONDE_EV(0x70, 1), .seq = i } };
	memset(r->data, (int)i, r->hdr.len - sizeof(r->hdr));
}

/* A recording of @n records, by the sink. Returns owned bytes; @ends (if given) gets where each record ends. */
static char *make_recording(unsigned n, size_t *ret_len, size_t *ends)
{
	const struct sink_opts opts = { .time = TIME_NONE };
	struct test_rec r;
	struct outfile *out;
	const void *data;
	struct sink s;
	char *ret;

	assert_int_equal(outfile_open_mem(&out), 0);
	assert_int_equal(sink_open(&s, sink_find("rec"), &opts, out, NULL), 0);
	for (unsigned i = 0; i < n; i++) {
		make_rec(&r, i);
		assert_int_equal(sink_record(&s, &r.hdr), 0);
		if (ends)
			outfile_mem(out, &ends[i]);
	}
	assert_int_equal(sink_close(&s), 0);
	data = outfile_mem(out, ret_len);
	ret = malloc(*ret_len);
	memcpy(ret, data, *ret_len);
	outfile_free(out);
	return ret;
}

/* Counts records and checks each. */
static int check_rec(void *ctx, const struct sonde_rec *r)
{
	unsigned *n = ctx;
	struct test_rec want;

	make_rec(&want, (*n)++);
	assert_int_equal((uintptr_t)r % 8, 0);
	assert_int_equal(r->len, want.hdr.len);
	assert_memory_equal(r, &want, r->len);
	return 0;
}

static int count_rec(void *ctx, const struct sonde_rec *r)
{
	unsigned *n = ctx;

	assert_true(r->len >= sizeof(*r) && r->len <= SOURCE_RECORD_MAX_BYTES);
	++*n;
	return 0;
}

static const struct source_ops *rec_ops(void)
{
	for (size_t i = 0; all_sources[i]; i++)
		if (!strcmp(all_sources[i]->name, "rec"))
			return all_sources[i];
	fail();
	return NULL;
}

/*
 * Parses @data in windows that grow by @step bytes, each at an address that is @shift off alignment. Returns the last
 * result of parse().
 */
static int parse(const char *data, size_t len, size_t step, size_t shift, source_fn fn, unsigned *n, struct err *err)
{
	const struct source_ops *ops = rec_ops();
	void *state = calloc(1, ops->state_size);
	char *window = malloc(len + 16);
	size_t from = 0, to = 0;
	int64_t r = 0;

	while (r >= 0 && to < len) {
		to = MIN(to + step, len);
		memcpy(window + shift, data + from, to - from);
		r = ops->parse(state, window + shift, to - from, false, fn, n, err);
		from += r > 0 ? (size_t)r : 0;
	}
	if (r >= 0) {
		memcpy(window + shift, data + from, to - from);
		r = ops->parse(state, window + shift, to - from, true, fn, n, err);
	}
	ops->fini(state);
	free(state);
	free(window);
	return r < 0 ? (int)r : 0;
}

#define N 25u

static void a_recording_is_read_in_any_portions(void **state)
{
	size_t len;
	char *data = make_recording(N, &len, NULL);

	(void)state;
	for (size_t step = 1; step < 300; step += step < 20 ? 1 : 17) {
		for (size_t shift = 0; shift < 8; shift += 3) {
			struct err err = { 0 };
			unsigned n = 0;

			assert_int_equal(parse(data, len, step, shift, check_rec, &n, &err), 0);
			assert_int_equal(n, N);
		}
	}
	free(data);
}

static void every_truncation_keeps_the_whole_records(void **state)
{
	size_t ends[N], len;
	char *data = make_recording(N, &len, ends);
	unsigned whole = 0;

	(void)state;
	assert_int_equal(ends[N - 1], len);
	for (size_t cut = 0; cut <= len; cut++) {
		struct err err = { 0 };
		unsigned n = 0;
		int r = parse(data, cut, len, 0, check_rec, &n, &err);
		bool at_end = cut == sizeof(struct sonde_rec_file);

		while (whole < N && ends[whole] <= cut)
			whole++;
		at_end |= whole && ends[whole - 1] == cut;
		assert_int_equal(n, whole);
		assert_int_equal(r, at_end ? 0 : -ENODATA);
		assert_int_equal(err.msg[0] != '\0', !at_end);
	}
	free(data);
}

/* One changed bit anywhere is found, except in unused padding; no wrong record is delivered. */
static void every_changed_bit_is_found(void **state)
{
	size_t ends[N], len;
	char *data = make_recording(N, &len, ends);
	unsigned undetected = 0, padding = 0;

	(void)state;
	for (size_t at = 0; at < len; at++) {
		for (unsigned bit = 0; bit < 8; bit += 5) {
			struct err err = { 0 };
			unsigned n = 0;
			int r;

			data[at] ^= (char)(1 << bit);
			r = parse(data, len, len, 0, check_rec, &n, &err);
			data[at] ^= (char)(1 << bit);
			undetected += r == 0;
			assert_true(r == 0 || ((r == -EBADMSG || r == -ENODATA) && err.msg[0]));
		}
	}
	for (unsigned i = 0; i < N; i++) {
		struct test_rec rec;

		make_rec(&rec, i);
		padding += (8 - rec.hdr.len % 8) % 8;
	}
	assert_int_equal(undetected, padding * 2);
	free(data);
}

static void later_minor_versions_are_read(void **state)
{
	struct sonde_rec_file h;
	size_t len;
	char *old = make_recording(1, &len, NULL), data[1024] = "";
	struct err err = { 0 };
	unsigned n = 0;

	(void)state;
	memcpy(&h, old, sizeof(h));
	h.minor = 9;
	h.header_len = 96;
	h.crc = (uint32_t)crc32(0, (const void *)&h, offsetof(struct sonde_rec_file, crc));
	memcpy(data, &h, sizeof(h));
	memcpy(data + 96, old + sizeof(h), len - sizeof(h));
	assert_int_equal(parse(data, len + 32, 1, 0, check_rec, &n, &err), 0);
	assert_int_equal(n, 1);

	h.major = 2;
	memcpy(data, &h, sizeof(h));
	assert_int_equal(parse(data, len + 32, 1000, 0, check_rec, &n, &err), -EBADMSG);
	assert_string_equal(err.msg, "recording format 2; this version reads format 1");
	h.byte_order = __builtin_bswap32(SONDE_REC_BYTE_ORDER);
	memcpy(data, &h, sizeof(h));
	assert_int_equal(parse(data, len + 32, 1000, 0, check_rec, &n, &err), -EBADMSG);
	assert_non_null(strstr(err.msg, "byte order"));
	free(old);
}

static int refuse(void *ctx, const struct sonde_rec *r)
{
	(void)r;
	return --*(unsigned *)ctx ? 0 : -ECANCELED;
}

static void a_callback_stops_it(void **state)
{
	size_t len;
	char *data = make_recording(N, &len, NULL);
	unsigned left = 3;

	(void)state;
	assert_int_equal(parse(data, len, len, 0, refuse, &left, NULL), -ECANCELED);
	free(data);
}

/* ---- through the worker ---- */

/* As source_read(), but waits for the first record. */
static int read_some(struct source *s, unsigned budget, source_fn fn, unsigned *n, struct err *err)
{
	struct pollfd p = { .fd = source_fd(s), .events = POLLIN };
	int r = source_read(s, budget, fn, n, err);

	while (r == -EAGAIN) {
		assert_int_equal(poll(&p, 1, 10000), 1);
		r = source_read(s, budget, fn, n, err);
	}
	return r;
}

static int read_all(struct source *s, unsigned budget, source_fn fn, unsigned *n, struct err *err)
{
	int r;

	do
		r = read_some(s, budget, fn, n, err);
	while (r > 0);
	return r;
}

static void open_scratch(const char *name, struct source **ret)
{
	struct err err = { 0 };

	assert_int_equal(source_open(in_scratch(name), ret, &err), 0);
	assert_int_equal(source_await_format(*ret, SOURCE_FORMAT_MS, &err), 0);
}

static void a_file_comes_back_as_it_was(void **state)
{
	static const unsigned budgets[] = { 0, 1, 7, 100000 };
	size_t len;
	char *data = make_recording(30000, &len, NULL);

	(void)state;
	write_file("long.rec", data, len);
	for (size_t i = 0; i < ARRAY_SIZE(budgets); i++) {
		struct err err = { 0 };
		struct source *s = NULL;
		unsigned n = 0;

		open_scratch("long.rec", &s);
		assert_ptr_equal(source_format(s), rec_ops());
		assert_in_range(source_read_permille(s), 1, 999);	/* more than the worker's pipe holds */
		assert_int_equal(read_all(s, budgets[i], check_rec, &n, &err), 0);
		assert_int_equal(n, 30000);
		assert_int_equal(source_read_permille(s), 1000);
		assert_int_equal(source_read(s, 1, check_rec, &n, &err), 0);	/* and stays at the end */
		source_close(s);
	}
	free(data);
}

static void a_cut_file_says_where(void **state)
{
	size_t ends[N], len;
	char *data = make_recording(N, &len, ends), want[256];
	struct err err = { 0 };
	struct source *s;
	unsigned n = 0;

	(void)state;
	for (unsigned i = 0; i + 1 < N; i += 6) {
		write_file("cut.rec", data, ends[i] + 9);
		n = 0;
		open_scratch("cut.rec", &s);
		assert_int_equal(read_all(s, 4, check_rec, &n, &err), -ENODATA);
		assert_int_equal(n, i + 1);
		snprintf(want, sizeof(want), "%s/cut.rec: the recording ends inside the record at byte %zu; "
			 "the %u before it are whole", scratch_dir, ends[i], i + 1);
		assert_string_equal(err.msg, want);
		assert_int_equal(source_read(s, 4, check_rec, &n, &err), -ENODATA);
		source_close(s);
	}
	free(data);
}

static void what_is_no_recording_is_refused(void **state)
{
	static const struct { const char *name, *content, *message; int error; } cases[] = {
		{ "empty", "", "the file is empty", -EPROTONOSUPPORT },
		{ "short", "x", "unknown file format", -EPROTONOSUPPORT },
		{ "text", "just some text of more than eight bytes", "unknown file format",
		  -EPROTONOSUPPORT },
	};
	struct source *s = NULL;
	struct err err = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		write_file(cases[i].name, cases[i].content, strlen(cases[i].content));
		err = (struct err){ 0 };
		assert_int_equal(source_open(in_scratch(cases[i].name), &s, &err), 0);
		assert_int_equal(source_await_format(s, SOURCE_FORMAT_MS, &err), cases[i].error);
		assert_non_null(strstr(err.msg, cases[i].message));
		assert_non_null(strstr(err.msg, in_scratch(cases[i].name)));
		source_close(s);
	}
	assert_int_equal(source_open(scratch_dir, &s, &err), -ENOENT);	/* no segments */
	assert_int_equal(source_open(in_scratch("missing"), &s, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "missing: No such file"));
	assert_int_equal(source_open("/dev/zero", &s, &err), 0);
	assert_int_equal(source_await_format(s, 0, &err), 0);	/* not regular: detected at the first read */
	assert_null(source_format(s));
	assert_int_equal(read_all(s, 1, count_rec, NULL, &err), -EPROTONOSUPPORT);
	source_close(s);
	source_close(NULL);
}

/* Standard input as a pipe whose writer is slow; opening must not wait for it. */
static void a_pipe_is_read_as_it_comes(void **state)
{
	size_t ends[N], len;
	char *data = make_recording(N, &len, ends);
	int fds[2], saved = dup(STDIN_FILENO);
	struct err err = { 0 };
	struct source *s;
	unsigned n = 0;

	(void)state;
	assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
	assert_int_equal(dup2(fds[0], STDIN_FILENO), STDIN_FILENO);
	assert_int_equal(source_open("-", &s, &err), 0);
	assert_null(source_format(s));
	for (unsigned i = 0; i < N; i++) {
		size_t from = i ? ends[i - 1] : 0;
		struct pollfd p = { .fd = source_fd(s), .events = POLLIN };

		assert_int_equal(write(fds[1], data + from, ends[i] - from), ends[i] - from);
		assert_int_equal(poll(&p, 1, 10000), 1);
		while (n == i)
			assert_true(read_some(s, 0, check_rec, &n, &err) >= 0);
		assert_int_equal(n, i + 1);
	}
	assert_ptr_equal(source_format(s), rec_ops());
	assert_int_equal(source_read_permille(s), -1);
	close(fds[1]);
	assert_int_equal(read_some(s, 0, check_rec, &n, &err), 0);
	assert_int_equal(poll(&(struct pollfd){ .fd = source_fd(s), .events = POLLIN }, 1, 0), 1);
	source_close(s);
	dup2(saved, STDIN_FILENO);
	close(saved);
	close(fds[0]);
	free(data);
}

/* A source never blocks: neither opening waits for a FIFO's writer nor reading for half a header or record. */
static void a_silent_writer_blocks_no_call(void **state)
{
	size_t ends[N], len;
	char *data = make_recording(N, &len, ends);
	struct err err = { 0 };
	struct source *s;
	unsigned n = 0;
	int fd;

	(void)state;
	assert_int_equal(mkfifo(in_scratch("silent"), 0600), 0);
	assert_int_equal(source_open(in_scratch("silent"), &s, &err), 0);
	assert_int_equal(source_read(s, 1, check_rec, &n, &err), -EAGAIN);
	fd = open(in_scratch("silent"), O_WRONLY | O_CLOEXEC);
	assert_int_equal(write(fd, data, 5), 5);
	assert_int_equal(source_read(s, 1, check_rec, &n, &err), -EAGAIN);
	assert_int_equal(write(fd, data + 5, ends[0] - 10), ends[0] - 10);
	while (!source_format(s)) {
		assert_int_equal(poll(&(struct pollfd){ .fd = source_fd(s), .events = POLLIN }, 1, 10000), 1);
		assert_int_equal(source_read(s, 1, check_rec, &n, &err), -EAGAIN);
	}
	assert_int_equal(write(fd, data + ends[0] - 5, len - ends[0] + 5), len - ends[0] + 5);
	close(fd);
	assert_int_equal(read_all(s, 0, check_rec, &n, &err), 0);
	assert_int_equal(n, N);
	source_close(s);
	free(data);
}

/* The only child of this process. */
static pid_t only_child(void)
{
	char path[64];
	int pid = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	f = fopen(path, "r");
	if (!f || fscanf(f, "%d", &pid) != 1)
		pid = 0;
	if (f)
		fclose(f);
	return pid;
}

static void a_worker_that_dies_is_told(void **state)
{
	struct err err = { 0 };
	struct source *s;
	unsigned n = 0;
	pid_t pid;

	(void)state;
	assert_int_equal(mkfifo(in_scratch("fifo"), 0600), 0);
	{
		int fd = open(in_scratch("fifo"), O_RDWR | O_CLOEXEC);

		assert_int_equal(source_open(in_scratch("fifo"), &s, &err), 0);
		pid = only_child();
		if (!pid) {
			print_message("skipped: /proc does not tell children here\n");
			source_close(s);
			close(fd);
			skip();
		}
		assert_int_equal(write(fd, "some", 4), 4);	/* it waits for more */
		assert_int_equal(kill(pid, SIGKILL), 0);
		assert_int_equal(read_some(s, 1, count_rec, &n, &err), -ECHILD);
		assert_non_null(strstr(err.msg, in_scratch("fifo")));
		assert_non_null(strstr(err.msg, "was killed"));
		assert_int_equal(source_read(s, 1, count_rec, &n, &err), -ECHILD);
		source_close(s);
		close(fd);
	}
	assert_int_equal(only_child(), 0);
}

/* Closing with everything unread leaves no process behind, and does not wait for the end of the file. */
static void an_unread_source_is_closed(void **state)
{
	struct source *s;

	(void)state;
	assert_int_equal(source_open(in_scratch("long.rec"), &s, NULL), 0);
	source_close(s);
	assert_int_equal(only_child(), 0);
}

/* ---- answers ---- */

static int next_of(const struct buf *b, size_t len, struct answer *a)
{
	struct cursor c = cur_init(b->data, len);

	return worker_reply_next(&c, a);
}

static void answers_are_checked(void **state)
{
	struct buf b = { 0 };
	struct answer a;
	struct test_rec r;
	char text[600];
	uint32_t word;

	(void)state;
	make_rec(&r, 5);
	worker_reply_add_record(&b, &r.hdr);
	assert_int_equal(next_of(&b, b.len, &a), 1);
	assert_int_equal(a.kind, ANSWER_RECORD);
	assert_memory_equal(a.rec, &r, r.hdr.len);
	for (size_t cut = 0; cut < b.len; cut++)
		assert_int_equal(next_of(&b, cut, &a), 0);
	((struct sonde_rec *)(b.data + 8))->len++;	/* contradicts the answer's length */
	assert_int_equal(next_of(&b, b.len, &a), -EBADMSG);

	for (uint32_t kind = 0; kind < 5; kind++) {
		static const uint32_t bad[] = { 0, 1, 3, SOURCE_RECORD_MAX_BYTES + 1, UINT32_MAX };

		for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
			memcpy(b.data, &bad[i], 4);
			memcpy(b.data + 4, &kind, 4);
			assert_int_equal(next_of(&b, b.len, &a), -EBADMSG);
		}
	}
	buf_reset(&b);
	worker_reply_add_end(&b, -EBADMSG, "evil \x1b[2J words\n");
	assert_int_equal(next_of(&b, b.len, &a), 1);
	assert_int_equal(a.code, -EBADMSG);
	assert_string_equal(a.text, "evil \\e[2J words\\n");
	word = 1;
	memcpy(b.data + 8, &word, 4);		/* a positive code */
	assert_int_equal(next_of(&b, b.len, &a), -EBADMSG);
	memset(text, 'x', sizeof(text));
	text[599] = '\0';
	buf_reset(&b);
	worker_reply_add_end(&b, 0, text);
	assert_int_equal(next_of(&b, b.len, &a), -EBADMSG);
	buf_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_recording_is_read_in_any_portions),
		cmocka_unit_test(every_truncation_keeps_the_whole_records),
		cmocka_unit_test(every_changed_bit_is_found),
		cmocka_unit_test(later_minor_versions_are_read),
		cmocka_unit_test(a_callback_stops_it),
		cmocka_unit_test(a_file_comes_back_as_it_was),
		cmocka_unit_test(a_cut_file_says_where),
		cmocka_unit_test(what_is_no_recording_is_refused),
		cmocka_unit_test(a_pipe_is_read_as_it_comes),
		cmocka_unit_test(a_silent_writer_blocks_no_call),
		cmocka_unit_test(a_worker_that_dies_is_told),
		cmocka_unit_test(an_unread_source_is_closed),
		cmocka_unit_test(answers_are_checked),
	};

	return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
