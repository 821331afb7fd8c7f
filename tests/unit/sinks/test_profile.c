// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Outputs of profiles: samples made by hand against texts written by hand (tests/golden/profile, from the rules that
 * the formats' own programs publish), and pprof read back by a reader of the test's own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <zlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/cursor.h"
#include "event/core.h"
#include "event/names.h"
#include "sinks/outfile.h"
#include "base/protobuf/protobuf.h"
#include "sinks/sink.h"
#include "stack/view.h"

#include "tests/unit/profile_feed.h"

struct run {
	struct sink sink;
	struct sink_opts opts;
	struct outfile *out;
	struct sym sym;
};

static void give(void *ctx, const struct event *ev)
{
	assert_int_equal(sink_event(ctx, ev), 0);
}

static void begin(struct run *r, const char *name, const struct stack_view *v)
{
	*r = (struct run){ .opts = { .stack = v, .cmdline = "sonde profile" } };
	r->opts.sym = &r->sym;
	assert_non_null(sink_find(name));
	assert_int_equal(outfile_open_mem(&r->out), 0);
	assert_int_equal(sink_open(&r->sink, sink_find(name), &r->opts, r->out, NULL), 0);
	assert_int_equal(sink_flush(&r->sink), 0);
}

/* The bytes that came out; the caller's, with a NUL behind them. */
static char *end(struct run *r, size_t *ret_len)
{
	const void *data;
	char *copy;

	assert_int_equal(sink_close(&r->sink), 0);
	data = outfile_mem(r->out, ret_len);
	copy = calloc(1, *ret_len + 1);
	assert_non_null(copy);
	if (*ret_len)
		memcpy(copy, data, *ret_len);
	outfile_free(r->out);
	arena_fini(&r->sym.names);
	return copy;
}

static char *output(const char *sink, const struct stack_view *v, const struct feed *f, size_t n, size_t *ret_len)
{
	struct run r;

	begin(&r, sink, v);
	feed_all(f, n, give, &r.sink);
	return end(&r, ret_len);
}

static void expect_file(const char *sink, const struct stack_view *v, const struct feed *f, size_t n,
			const char *file)
{
	char path[512], want[8192];
	_cleanup_free_ char *got = NULL;
	_cleanup_fclose_ FILE *in = NULL;
	size_t len;

	snprintf(path, sizeof(path), "%s/../golden/profile/%s", TEST_DATA, file);
	in = fopen(path, "r");
	assert_non_null(in);
	len = fread(want, 1, sizeof(want) - 1, in);
	want[len] = '\0';
	got = output(sink, v, f, n, &len);
	assert_string_equal(got, want);
}

#define ALL feed_profile, ARRAY_SIZE(feed_profile)

static void bcc_text_is_bccs(void **state)
{
	const struct stack_view headed = {
		.header = "Sampling at 49 Hertz of all threads by user + kernel stack... Hit Ctrl-C to end.",
	};

	(void)state;
	expect_file("bcc", &headed, ALL, "bcc");
	expect_file("bcc", &(struct stack_view){ .delimiter = true, .addresses = true }, ALL, "bcc-d-A");
}

static void folded_text_is_bccs_but_merged(void **state)
{
	(void)state;
	expect_file("folded", NULL, ALL, "folded");
	expect_file("folded", &(struct stack_view){ .delimiter = true, .annotate = true }, ALL, "folded-d-a");
	expect_file("folded", &(struct stack_view){ .user_only = true }, ALL, "folded-U");
}

static void time_off_the_cpu_falls_into_blocked_and_waiting(void **state)
{
	static const struct feed f[] = {
		{ .comm = "server", .tgid = 100, .times = 2, .end = SONDE_STACK_BOTTOM, .block = true,
		  .value = 1500000, .wait = 250000, .user = { FN(LIB, 1, 0x17), FN(APP, 2, 0x40), FN(APP, 1, 0x24) },
		  .kern = { FN(KERN, 2, 0x71), FN(KERN, 1, 0x76) } },
		{ .comm = "server", .tgid = 100, .times = 2, .end = SONDE_STACK_BOTTOM,
		  .user = { FN(APP, 2, 0x40), FN(APP, 1, 0x24) } },
	};

	(void)state;
	expect_file("folded", &(struct stack_view){ .weight = STACK_OFF_CPU }, f, 1, "folded-off-cpu");
	expect_file("folded", &(struct stack_view){ .weight = STACK_WALL }, f, 2, "folded-wall");
}

static void perf_text_is_perfs(void **state)
{
	const struct stack_view v = { .event = "cpu-clock" };
	struct feed f[3] = { feed_profile[2], feed_profile[4], feed_profile[6] };

	(void)state;
	f[1].times = f[2].times = 1;
	expect_file("perf", &v, f, 3, "perf");
}

/* A frame of a stripped file shows where it is; the bcc output has its own word for it. */
static void a_frame_without_a_name_has_its_place(void **state)
{
	static const char *const outputs[] = { "folded", "svg", "speedscope", "perf" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(outputs); i++) {
		size_t len;
		_cleanup_free_ char *text = output(outputs[i], NULL, ALL, &len);

		assert_non_null(strstr(text, "[libfoo.so.1+0x5500]"));
		assert_non_null(strstr(text, "[unknown]"));	/* the address of no mapping */
	}
}

/* The last ones first. */
static void give_backwards(void *ctx, const struct event *ev)
{
	struct event other = *ev;

	other.ts_ns = 200000000000ULL - ev->ts_ns;
	give(ctx, &other);
}

static void perf_text_is_in_the_order_of_time(void **state)
{
	_cleanup_free_ char *text = NULL;
	unsigned samples = 0;
	struct run r;
	double at, last = 0;
	size_t len;

	(void)state;
	begin(&r, "perf", NULL);
	feed_all(feed_profile, 3, give_backwards, &r.sink);
	text = end(&r, &len);
	for (const char *p = text; (p = strstr(p, " [00")); p++, last = at, samples++) {
		at = strtod(p + strlen(" [000] "), NULL);
		assert_true(at > last);
	}
	assert_int_equal(samples, 3 + 1 + 2);
}

/* ---- pprof ---- */

struct message { uint32_t field; uint64_t num; struct cursor bytes; };

static uint64_t varint(struct cursor *c)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t b = cur_u8(c);

		v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80))
			break;
	}
	return v;
}

static bool next_field(struct cursor *c, struct message *ret)
{
	uint64_t tag;

	if (!cur_left(c))
		return false;
	tag = varint(c);
	*ret = (struct message){ .field = (uint32_t)(tag >> 3) };
	if ((tag & 7) == 0) {
		ret->num = varint(c);
	} else {
		assert_int_equal(tag & 7, 2);
		ret->num = varint(c);
		ret->bytes = cur_sub(c, ret->num);
	}
	assert_true(cur_ok(c));
	return true;
}

struct pprof {
	const char *strings[128];
	size_t lens[128], n_strings, n_samples, n_types, n_mappings, n_funcs, n_locs, n_comments;
	uint64_t count, value, comments[16], period, locs_without_line;
};

static void read_location(struct pprof *p, struct cursor c)
{
	struct message m, line;
	unsigned lines = 0;

	while (next_field(&c, &m)) {
		if (m.field == 1)
			assert_int_equal(m.num, ++p->n_locs);	/* ids are 1, 2, 3... */
		if (m.field != 4)
			continue;
		lines++;
		assert_true(next_field(&m.bytes, &line));
		assert_int_equal(line.field, 1);
		assert_in_range(line.num, 1, 64);	/* no line without a function */
	}
	p->locs_without_line += !lines;
}

static void read_sample(struct pprof *p, struct cursor c)
{
	struct message m;
	bool has_pid = false;

	while (next_field(&c, &m)) {
		if (m.field == 2) {
			p->count += varint(&m.bytes);
			p->value += varint(&m.bytes);
			assert_int_equal(cur_left(&m.bytes), 0);	/* as many values as types */
		}
		if (m.field == 3)
			has_pid = true;
	}
	assert_true(has_pid);
	p->n_samples++;
}

static void read_pprof(struct pprof *p, const void *data, size_t len)
{
	struct cursor c = cur_init(data, len);
	struct message m;

	while (next_field(&c, &m)) {
		size_t n = cur_left(&m.bytes);

		switch (m.field) {
		case 1: p->n_types++; break;
		case 2: read_sample(p, m.bytes); break;
		case 3: p->n_mappings++; break;
		case 4: read_location(p, m.bytes); break;
		case 5: p->n_funcs++; break;
		case 6: p->lens[p->n_strings] = n; p->strings[p->n_strings++] = cur_bytes(&m.bytes, n); break;
		case 12: p->period = m.num; break;
		case 13: p->comments[p->n_comments++] = m.num; break;
		default: break;
		}
	}
}

static bool has_string(const struct pprof *p, const char *s)
{
	for (size_t i = 0; i < p->n_strings; i++)
		if (p->lens[i] == strlen(s) && !memcmp(p->strings[i], s, p->lens[i]))
			return true;
	return false;
}

static size_t gunzip(const char *in, size_t len, char *out, size_t cap)
{
	z_stream z = { .next_in = (Bytef *)in, .avail_in = (uInt)len, .next_out = (Bytef *)out,
		       .avail_out = (uInt)cap };

	assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	inflateEnd(&z);
	return z.total_out;
}

static void pprof_has_what_readers_want(void **state)
{
	const struct stack_view v = { .delimiter = true };	/* the period is that of the samples */
	_cleanup_free_ char *packed = NULL, *raw = calloc(1, 1 << 16);
	struct pprof p = { 0 };
	size_t len;

	(void)state;
	packed = output("pprof", &v, ALL, &len);
	read_pprof(&p, raw, gunzip(packed, len, raw, 1 << 16));
	assert_int_equal(p.n_types, 2);
	assert_int_equal(p.n_samples, ARRAY_SIZE(feed_profile));
	assert_int_equal(p.count, 45);
	assert_int_equal(p.value, 450000000);
	assert_int_equal(p.period, 10000000);
	assert_int_equal(p.n_mappings, 4);
	assert_int_equal(p.lens[0], 0);
	assert_int_equal(p.locs_without_line, 1);	/* the address of no mapping */
	assert_true(has_string(&p, "[libfoo.so.1+0x5500]"));
	assert_true(has_string(&p, "0123456789abcdef"));
	assert_true(has_string(&p, "operator<(std::pair<int, char>; \"x\" & y)"));
	assert_true(has_string(&p, "[truncated: no unwind info in libfoo.so.1]"));
	assert_true(has_string(&p, "kworker/0:1"));
	assert_false(has_string(&p, "-"));		/* the delimiter is for texts */
}

static void varints_are_as_long_as_they_must_be(void **state)
{
	struct buf b = { 0 };

	(void)state;
	protobuf_uint(&b, 1, 0);
	assert_int_equal(b.len, 0);
	protobuf_uint(&b, 1, 150);
	assert_memory_equal(b.data, "\x08\x96\x01", 3);	/* the example of the format's own text */
	buf_reset(&b);
	protobuf_bytes(&b, 2, "testing", 7);
	assert_memory_equal(b.data, "\x12\x07testing", 9);
	buf_reset(&b);
	protobuf_varint(&b, UINT64_MAX);
	assert_int_equal(b.len, 10);
	buf_fini(&b);
}

/* ---- losses ---- */

static void losses_are_in_the_files(void **state)
{
	static const char *const outputs[] = { "svg", "speedscope", "pprof" };
	const struct core_ledger l = { .seen = 100, .delivered = 93, .lost = 7,
				       .lost_by = { [SONDE_LOST_RING_FULL] = 7 } };
	const struct event_desc *const *ledger = core_descs;
	_cleanup_free_ char *raw = calloc(1, 1 << 16);

	(void)state;
	while ((*ledger)->type != SONDE_EV_LEDGER)
		ledger++;
	for (size_t i = 0; i < ARRAY_SIZE(outputs); i++) {
		struct event ev = { .desc = *ledger, .body = &l, .body_len = sizeof(l) };
		char *text;
		struct run r;
		size_t len;

		begin(&r, outputs[i], NULL);
		feed_all(ALL, give, &r.sink);
		assert_int_equal(sink_event(&r.sink, &ev), 0);
		text = end(&r, &len);
		if (i == 2)
			gunzip(text, len, raw, 1 << 16);
		assert_non_null(memmem(i == 2 ? raw : text, i == 2 ? 1 << 16 : len,
				       "file: 100 seen, 7 lost (ring_full 7)", 36));
		free(text);
	}
}

static void an_empty_profile_is_a_whole_file(void **state)
{
	(void)state;
	for (size_t i = 0; all_sinks[i]; i++) {
		struct run r;
		size_t len;

		if (!(all_sinks[i]->flags & SINK_AT_CLOSE))
			continue;
		begin(&r, all_sinks[i]->name, NULL);
		free(end(&r, &len));
		if (!strcmp(all_sinks[i]->name, "folded") || !strcmp(all_sinks[i]->name, "bcc") ||
		    !strcmp(all_sinks[i]->name, "perf") || !strcmp(all_sinks[i]->name, "prometheus"))
			assert_int_equal(len, 0);
		else
			assert_true(len > 0);
	}
}

static void a_suffix_says_the_format(void **state)
{
	(void)state;
	assert_string_equal(sink_find_suffix("a/b.svg")->name, "svg");
	assert_string_equal(sink_find_suffix("x.pb.gz")->name, "pprof");
	assert_string_equal(sink_find_suffix("x.speedscope.json")->name, "speedscope");
	assert_null(sink_find_suffix(".svg"));
	assert_null(sink_find_suffix("svg"));
	assert_null(sink_find_suffix("x.png"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bcc_text_is_bccs),
		cmocka_unit_test(folded_text_is_bccs_but_merged),
		cmocka_unit_test(time_off_the_cpu_falls_into_blocked_and_waiting),
		cmocka_unit_test(perf_text_is_perfs),
		cmocka_unit_test(a_frame_without_a_name_has_its_place),
		cmocka_unit_test(perf_text_is_in_the_order_of_time),
		cmocka_unit_test(pprof_has_what_readers_want),
		cmocka_unit_test(varints_are_as_long_as_they_must_be),
		cmocka_unit_test(losses_are_in_the_files),
		cmocka_unit_test(an_empty_profile_is_a_whole_file),
		cmocka_unit_test(a_suffix_says_the_format),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
