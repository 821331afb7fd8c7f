// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/str.h"
#include "call/call_event.h"
#include "event/core.h"
#include "event/decode.h"
#include "event/event.h"
#include "event/names.h"
#include "probes/net/net_event.h"
#include "tests/unit/scratch_dir.h"
#include "sinks/json_line.h"
#include "sinks/otlp/otlp_span.h"
#include "sinks/outfile.h"
#include "sinks/sink.h"
#include "sonde/ident_wire.h"
#include "sonde/rec.h"

/* ---- a test event type ---- */

struct toy {
	uint64_t big;
	uint32_t maybe;
	char name[60];
};

static const struct field toy_fields[] = {
	FIELD_ROW(struct toy, big, "toy.big", FIELD_UINT, "a number"),
	FIELD_ROW(struct toy, maybe, "toy.maybe", FIELD_UINT, "a number or nothing", .flags = FIELD_OPTIONAL),
	FIELD_ROW(struct toy, name, "toy.name", FIELD_STR, "a name"),
};
static const struct event_desc toy_desc = {
	.type = SONDE_EV(0x70, 1), .name = "toy.thing", .fields = toy_fields, .n_fields = ARRAY_SIZE(toy_fields),
	.body_size = sizeof(struct toy),
};

/* A type whose author forgot to escape. */
static int careless_line(const struct event *ev, const struct line_opts *o, struct buf *out)
{
	const struct toy *t = ev->body;

	(void)o;
	buf_add_str(out, "careless \\ ");
	buf_add_str(out, t->name);
	return buf_add_str(out, "\n  second line\n");
}
static const struct event_desc careless_desc = {
	.type = SONDE_EV(0x70, 2), .name = "toy.careless", .fields = toy_fields, .n_fields = ARRAY_SIZE(toy_fields),
	.body_size = sizeof(struct toy), .line = careless_line,
};

static const struct toy small = { .big = UINT64_MAX, .name = "x" };

static struct event toy_event(const struct event_desc *desc, const struct toy *body)
{
	return (struct event){
		.desc = desc, .ts_ns = 1000000123, .seq = 7, .cpu = 3, .body = body, .body_len = sizeof(*body),
	};
}

/* ---- one sink over memory ---- */

struct run {
	struct sink sink;
	struct sink_opts opts;
	struct outfile *out;
};

static void begin(struct run *r, const char *name, enum time_mode time)
{
	*r = (struct run){ .opts.time = time };
	assert_int_equal(outfile_open_mem(&r->out), 0);
	assert_non_null(sink_find(name));
	assert_int_equal(sink_open(&r->sink, sink_find(name), &r->opts, r->out, NULL), 0);
}

/* The output, as a string of the test's own. */
static char *end(struct run *r)
{
	const char *data;
	size_t len;
	char *ret;

	assert_int_equal(sink_close(&r->sink), 0);
	data = outfile_mem(r->out, &len);
	ret = len ? strndup(data, len) : strdup("");
	assert_non_null(ret);
	outfile_free(r->out);
	return ret;
}

static void expect(const char *sink, enum time_mode time, const struct event *ev, size_t n, const char *want)
{
	struct run r;
	char *got;

	begin(&r, sink, time);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(sink_event(&r.sink, &ev[i]), 0);
	got = end(&r);
	assert_string_equal(got, want);
	free(got);
}

static void each_time_mode_has_its_column(void **state)
{
	struct event ev[2] = { toy_event(&toy_desc, &small), toy_event(&toy_desc, &small) };

	(void)state;
	ev[1].ts_ns += 1500000;
	for (int i = 0; i < 2; i++)
		ev[i].clock_offset_ns = 1763700000LL * 1000000000 + 5;
	expect("text", TIME_LOCAL, ev, 1, "07:40:01.000000 toy.thing big=18446744073709551615 name=x\n");
	expect("text", TIME_RFC3339, ev, 1,
	       "2025-11-21T07:40:01.000000128+03:00 toy.thing big=18446744073709551615 name=x\n");
	expect("text", TIME_EPOCH, ev, 1, "1763700001.000000128 toy.thing big=18446744073709551615 name=x\n");
	expect("text", TIME_MONO, ev, 1, "1.000000123 toy.thing big=18446744073709551615 name=x\n");
	expect("text", TIME_NONE, ev, 1, "toy.thing big=18446744073709551615 name=x\n");
	expect("text", TIME_DELTA, ev, 2, "0.000000 toy.thing big=18446744073709551615 name=x\n"
					  "0.001500 toy.thing big=18446744073709551615 name=x\n");
	expect("text", TIME_REL, ev, 2, "0.000000 toy.thing big=18446744073709551615 name=x\n"
					"0.001500 toy.thing big=18446744073709551615 name=x\n");
	ev[1].ts_ns = ev[0].ts_ns - 1500000;	/* order may step back between batches */
	expect("text", TIME_DELTA, ev, 2, "0.000000 toy.thing big=18446744073709551615 name=x\n"
					  "-0.001500 toy.thing big=18446744073709551615 name=x\n");
	ev[0].clock_offset_ns = 0;		/* unknown yet: time since boot */
	expect("text", TIME_LOCAL, ev, 1, "1.000000 toy.thing big=18446744073709551615 name=x\n");
}

/* Times and offsets of malformed files: no crash, no undefined arithmetic. */
static void absurd_times_are_printed(void **state)
{
	static const int64_t offsets[] = { INT64_MIN, INT64_MAX, -1, 1 };
	static const uint64_t times[] = { 0, 1, INT64_MAX, UINT64_MAX };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(offsets); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(times) * TIME__MAX; k++) {
			struct event ev = toy_event(&toy_desc, &small);
			struct run r;
			char *got;

			ev.clock_offset_ns = offsets[i];
			ev.ts_ns = times[k / TIME__MAX];
			begin(&r, "text", k % TIME__MAX);
			assert_int_equal(sink_event(&r.sink, &ev), 0);
			got = end(&r);
			assert_non_null(strstr(got, "toy.thing"));
			free(got);
			expect("null", TIME_NONE, &ev, 1, "");
			begin(&r, "json", TIME_NONE);
			assert_int_equal(sink_event(&r.sink, &ev), 0);
			free(end(&r));
		}
	}
}

static void a_careless_type_cannot_reach_the_terminal(void **state)
{
	static const struct toy evil = { .name = "a\x1b]52;c;x\a\x7f\xc2\x9b\xff\xe2\x80\xae z\t\r" };
	struct event ev = toy_event(&careless_desc, &evil);

	(void)state;
	expect("text", TIME_NONE, &ev, 1,
	       "careless \\ a\\e]52;c;x\\x07\\x7f\\xc2\\x9b\\xff\\xe2\\x80\\xae z\\t\\r\n  second line\n");
}

static void colour_wraps_what_is_safe(void **state)
{
	const struct core_lost lost = { .count = 5 };
	struct event ev = toy_event(&core_lost_desc, &small);
	struct run r;
	char *got;

	(void)state;
	ev.body = &lost;
	begin(&r, "text", TIME_MONO);
	r.opts.color = true;
	assert_int_equal(sink_event(&r.sink, &ev), 0);
	got = end(&r);
	assert_string_equal(got, "\033[2m1.000000123 \033[0m\033[33msonde.lost 5 events (ring_full): the ring "
			    "buffer was full; a filter or a larger --ring-size helps\033[0m\n");
	free(got);
}

static int shown_line(const struct event *ev, const struct line_opts *o, struct buf *out)
{
	(void)o;
	return ev->tid ? buf_add_str(out, "shown") : 0;
}

/* The columns of relative times count from event to event of those that are shown. */
static void a_hidden_event_has_no_time(void **state)
{
	static const struct { uint64_t ts_ns; uint32_t tid; } events[] = {
		{ 1000, 0 }, { 2000, 1 }, { 5000, 1 }, { 6000, 0 }, { 9000, 1 },
	};
	struct event_desc desc = toy_desc;
	struct event ev;
	struct run r;
	char *got;

	(void)state;
	desc.line = shown_line;
	ev = toy_event(&desc, &small);
	begin(&r, "text", TIME_DELTA);
	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		ev.ts_ns = events[i].ts_ns;
		ev.tid = events[i].tid;
		assert_int_equal(sink_event(&r.sink, &ev), 0);
	}
	got = end(&r);
	assert_string_equal(got, "0.000000 shown\n0.000003 shown\n0.000004 shown\n");
	free(got);
}

/* ---- json ---- */

static void a_bare_event_has_the_header_only(void **state)
{
	struct event ev = toy_event(&toy_desc, &small);

	(void)state;
	expect("json", TIME_NONE, &ev, 1, "{\"v\":1,\"type\":\"toy.thing\",\"ts_ns\":1000000123,\"seq\":7,\"cpu\":3,"
					  "\"big\":18446744073709551615,\"name\":\"x\"}\n");
}

struct proc_section {
	struct sec_proc p;
	char text[32];
};

struct packet_section {
	struct sec_packet p;
	uint8_t bytes[4];
};

static const char full_json[] =
	"{\"v\":1,\"type\":\"toy.thing\",\"time\":\"2025-11-21T04:40:01.000000123Z\",\"ts_ns\":1000000123,\"seq\":7,"
	"\"cpu\":3,\"instance\":2,\"probe\":\"net:a\",\"snapshot\":true,"
	"\"proc\":{\"pid\":42,\"tid\":43,\"start_ns\":99,\"image_id\":6,\"ppid\":1,\"uid\":0,\"gid\":0,"
	"\"name\":\"nginx\",\"exe\":\"/usr/bin/nginx\"},"
	"\"cgroup_id\":5,\"netns\":4026531840,\"netns_name\":\"host\",\"cookie\":1763700000123456789,"
	"\"owner_how\":\"listener\",\"open_file\":{\"id\":12},\"tcp\":{\"dir\":\"sent\",\"seq\":0,\"len\":9},"
	"\"rpc_conn\":\"0xc000123456\",\"rpc_stream\":3,"
	"\"conn\":{\"proto\":\"tcp\",\"src\":\"10.0.0.1\",\"sport\":80,\"dst\":\"::1\",\"dport\":4711},"
	"\"big\":18446744073709551615,\"name\":\"x\","
	"\"packet\":{\"link\":\"ethernet\",\"len\":60,\"cap_len\":4,\"dir\":\"in\",\"ifindex\":2,\"iface\":\"eth0\","
	"\"data\":\"dead00ff\"},"
	"\"kstack\":[\"tcp_v4_rcv+0x10\",\"0xffffffff00000000\"],\"comments\":[\"one\",\"two\"]}\n";

static void every_part_of_an_event_is_told(void **state)
{
	static const uint64_t stack[] = { 0xffffffff81000000, 0xffffffff00000000 };
	static const struct proc_section proc = {
		.p = { .tgid = 42, .ppid = 1, .comm = { 0, 5 }, .exe = { 5, 14 } }, .text = "nginx/usr/bin/nginx",
	};
	static const struct packet_section packet = {
		.p = { .link = SONDE_LINK_ETHERNET, .orig_len = 60, .cap_len = 4, .ifindex = 2, .direction = 1 },
		.bytes = { 0xde, 0xad, 0, 0xff },
	};
	struct event ev = toy_event(&toy_desc, &small);
	struct names *names = event_names_new();
	struct run r;
	char *got;

	(void)state;
	event_names_set(names, SONDE_NAME_INSTANCE, 2, "net:a", 5);
	event_names_set(names, SONDE_NAME_NETNS, 4026531840, "host", 4);
	event_names_set(names, SONDE_NAME_KSYM, stack[0], "tcp_v4_rcv+0x10", 15);
	event_names_set(names, SONDE_NAME_IFACE, names_iface_key(4026531840, 2), "eth0", 4);
	ev.names = names;
	ev.clock_offset_ns = 1763700000LL * 1000000000;
	ev.instance = 2;
	ev.flags = SONDE_RF_SNAPSHOT;
	ev.tgid = 42;
	ev.tid = 43;
	ev.start_ns = 99;
	ev.keys = (struct event_keys){
		.cgroup_id = 5, .netns = 4026531840, .cookie = 1763700000123456789, .rpc_conn = 0xc000123456,
		.rpc_stream = 3, .image = 6, .file = 12, .seq_len = 9, .owner_how = SONDE_HOW_LISTENER,
		.ident_flags = SONDE_ID_F_TX,
		.conn = { .proto = 6, .sport = 80, .dport = 4711, .saddr = { 4, { 0 }, { 10, 0, 0, 1 } },
			  .daddr = { .family = 6, .addr[15] = 1 } },
	};
	event_add_section(&ev, SEC_PROC, &proc, sizeof(proc));
	event_add_section(&ev, SEC_PACKET, &packet, sizeof(packet));
	event_add_section(&ev, SEC_STACK_KERN, stack, sizeof(stack));
	event_add_section(&ev, SEC_TEXT, "one\ntwo\n", 8);

	begin(&r, "json", TIME_NONE);
	r.opts.line.hex = true;
	assert_int_equal(sink_event(&r.sink, &ev), 0);
	got = end(&r);
	assert_string_equal(got, full_json);
	free(got);

	begin(&r, "json", TIME_NONE);	/* bytes only on request */
	assert_int_equal(sink_event(&r.sink, &ev), 0);
	got = end(&r);
	assert_null(strstr(got, "data"));
	free(got);
	event_names_free(names);
}

static void the_ledger_is_json_only(void **state)
{
	const struct core_ledger l = { .seen = 10, .delivered = 7, .lost = 3, .lost_by[SONDE_LOST_RING_FULL] = 3 };
	const struct event_desc *desc = NULL;
	struct event ev = toy_event(&toy_desc, &small);
	static const char line[] =
		"{\"v\":1,\"type\":\"sonde.ledger\",\"ts_ns\":1000000123,\"seq\":7,\"cpu\":3,\"seen\":10,"
		"\"delivered\":7,\"filtered\":0,\"sampled\":0,\"lost\":3,\"lost_by\":{\"ring_full\":3}}\n";

	(void)state;
	for (size_t i = 0; core_descs[i]; i++)
		if (core_descs[i]->type == SONDE_EV_LEDGER)
			desc = core_descs[i];
	assert_non_null(desc);
	ev.desc = desc;
	ev.body = &l;
	expect("text", TIME_NONE, &ev, 1, "");
	expect("json", TIME_NONE, &ev, 1, line);
	expect("null", TIME_NONE, &ev, 1, line);
}

/* ---- hostile names ---- */

static uint32_t next_random(uint32_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 17;
	return *x ^= *x << 5;
}

/* Name @i: each byte at each place of a short name first, then terminal control sequences, then noise. */
static void hostile_name(char name[static 60], unsigned i, uint32_t *seed)
{
	static const char *const evil[] = {
		"\x1b[2J", "\x1b]0;title\a", "\x1b]52;c;aGk=\a", "\x1bP+q\x1b\\", "\xc2\x9b" "31m", "\xc2\x9d" "52;",
		"\xe2\x80\xae" "gpj.exe", "\xe2\x81\xa6", "\xc0\x8a", "\xe0\x80\x8a", "\xf0\x80\x80\x8a",
		"\xed\xa0\x80", "\xf4\x90\x80\x80", "\n2026-01-01 fake line", "\r", "\b\b\b", "\x7f", "\xef\xbb\xbf",
		"\xe2\x80\xa8", "\"}\n{",
		"\\\"", "\\", "\\n", "%s%n", "\xff\xfe", "\xc3", "a\xcc\x80",
	};

	memset(name, 0, 60);
	if (i < 255 * 4) {
		memcpy(name, "abcd", 4);
		name[i % 4] = (char)(i / 4 + 1);
	} else if (i < 255 * 4 + ARRAY_SIZE(evil)) {
		strcpy(name, evil[i - 255 * 4]);
	} else {
		for (unsigned k = 0; k < 59; k++)
			name[k] = (char)(next_random(seed) % 255 + 1);
	}
}

/* Printable UTF-8 lines only; returns the number of lines. */
static unsigned check_printable(const char *s)
{
	unsigned lines = 0;

	while (*s) {
		size_t n = strcspn(s, "\n\\");

		assert_true(str_is_plain(s, n));
		s += n;
		lines += *s == '\n';
		s += *s != '\0';
	}
	return lines;
}

/* Follows the strings of a line: every escape is valid in RFC 8259, and quotes come in pairs. */
static void check_json_strings(const char *s, size_t len)
{
	bool inside = false;

	for (size_t i = 0; i < len; i++) {
		if (s[i] == '"')
			inside = !inside;
		if (s[i] != '\\')
			continue;
		assert_true(inside && i + 1 < len);
		i++;
		assert_non_null(strchr("\"\\/bfnrtu", s[i]));
		if (s[i] != 'u')
			continue;
		assert_true(i + 4 < len);
		assert_int_equal(strspn(s + i + 1, "0123456789abcdef") >= 4, 1);
		i += 4;
	}
	assert_false(inside);
}

static char *print_hostile(const char *sink, unsigned n)
{
	uint32_t seed = 2463534242;
	struct run r;

	begin(&r, sink, TIME_NONE);
	for (unsigned i = 0; i < n; i++) {
		struct proc_section proc = { .p = { .tgid = 1, .comm = { 0, 32 } } };
		struct toy toy = { .big = i };
		struct event ev = toy_event(&toy_desc, &toy);

		hostile_name(toy.name, i, &seed);
		memcpy(proc.text, toy.name, sizeof(proc.text));
		event_add_section(&ev, SEC_PROC, &proc, sizeof(proc));
		event_add_section(&ev, SEC_TEXT, toy.name, sizeof(toy.name));
		event_add_section(&ev, SEC_PACKET, toy.name, 1);
		assert_int_equal(sink_event(&r.sink, &ev), 0);
	}
	return end(&r);
}

static void two_thousand_hostile_names_print_safely(void **state)
{
	char *text = print_hostile("text", 2000), *json = print_hostile("json", 2000);
	unsigned lines = 0;

	(void)state;
	assert_int_equal(check_printable(text), 2000);
	assert_int_equal(check_printable(json), 2000);
	for (const char *s = json; *s; s = strchr(s, '\n') + 1, lines++)
		check_json_strings(s, strcspn(s, "\n"));
	assert_int_equal(lines, 2000);
	free(text);
	free(json);
}

/* ---- the table ---- */

static void every_row_can_be_found_and_closed(void **state)
{
	struct registry *reg = registry_new();

	(void)state;
	for (size_t i = 0; all_sinks[i]; i++) {
		const struct sink_ops *ops = all_sinks[i];
		struct sink_opts opts = { .time = TIME_NONE, .reg = reg };
		struct outfile *out;
		struct sink s;

		assert_ptr_equal(sink_find(ops->name), ops);
		assert_non_null(ops->summary);
		assert_true((ops->flags & SINK_RAW) ? ops->record != NULL : ops->event != NULL);
		if (ops->flags & SINK_FOLDER)
			assert_int_equal(outfile_open_name(in_scratch(ops->name), &out), 0);
		else
			assert_int_equal(outfile_open_mem(&out), 0);
		assert_int_equal(sink_open(&s, ops, &opts, out, NULL), 0);
		assert_int_equal(sink_flush(&s), 0);
		assert_int_equal(sink_close(&s), 0);
		assert_int_equal(sink_close(&s), 0);	/* any state */
		outfile_free(out);
	}
	assert_null(sink_find("jsn"));
	registry_free(reg);
}

static int never_event(struct sink *s, const struct event *ev)
{
	(void)s;
	return ev->n_sec || ev->desc->class == EVENT_META ? 1 : -EINVAL;
}

static void events_without_the_needed_section_are_skipped(void **state)
{
	struct sink_ops ops = { .name = "x", .needs = 1u << SEC_PACKET, .event = never_event };
	struct event plain = toy_event(&toy_desc, &small), packet = plain, lost = plain;
	struct sink_opts opts = { 0 };
	struct sink s;

	(void)state;
	event_add_section(&packet, SEC_PACKET, "", 0);
	event_add_section(&plain, SEC_TEXT, "", 0);
	lost.desc = &core_lost_desc;
	assert_int_equal(sink_open(&s, &ops, &opts, NULL, NULL), 0);
	assert_int_equal(sink_event(&s, &plain), 0);
	assert_int_equal(sink_event(&s, &packet), 1);
	assert_int_equal(sink_event(&s, &lost), 0);
	ops.flags = SINK_META;
	assert_int_equal(sink_event(&s, &lost), 1);
	sink_close(&s);
}

static void binary_formats_refuse_a_terminal(void **state)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY);
	struct sink_opts opts = { 0 };
	struct err err = { 0 };
	struct outfile *out;
	struct sink s;

	(void)state;
	if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0) {
		print_message("skipped: no pseudo terminal here (%s)\n", strerror(errno));
		skip();
	}
	assert_int_equal(outfile_open(ptsname(master), &out, NULL), 0);
	assert_true(outfile_is_tty(out));
	assert_int_equal(sink_open(&s, sink_find("rec"), &opts, out, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "-o rec:FILE"));
	assert_int_equal(sink_open(&s, sink_find("text"), &opts, out, &err), 0);
	sink_close(&s);
	outfile_free(out);
	close(master);
}

/* ---- rec ---- */

static void a_recording_has_the_written_form(void **state)
{
	struct sonde_host_rec host = {
		.hdr = { .len = sizeof(host), .type = SONDE_EV_HOST }, .page_size = 4096, .release = "6.1.0-test",
	};
	struct { struct sonde_rec hdr; char text[5]; } odd = { { .len = 45, .type = SONDE_EV(0x70, 1) }, "hello" };
	struct sonde_rec_file file;
	struct sonde_rec_frame frame;
	struct run r;
	const char *data;
	size_t len;

	(void)state;
	begin(&r, "rec", TIME_NONE);
	assert_int_equal(sink_record(&r.sink, &host.hdr), 0);
	assert_int_equal(sink_record(&r.sink, &odd.hdr), 0);
	odd.hdr.len = 39;
	assert_int_equal(sink_record(&r.sink, &odd.hdr), -EMSGSIZE);
	assert_int_equal(sink_close(&r.sink), 0);
	data = outfile_mem(r.out, &len);
	assert_int_equal(len, 64 + 8 + sizeof(host) + 8 + 48);
	memcpy(&file, data, sizeof(file));
	assert_memory_equal(file.magic, "\x93SONDE\r\n", 8);
	assert_int_equal(file.page_size, 4096);
	assert_string_equal(file.release, "6.1.0-test");
	assert_int_equal(file.crc, crc32(0, (const void *)data, 60));
	memcpy(&frame, data + 64 + 8 + sizeof(host), sizeof(frame));
	assert_int_equal(frame.len, 45);
	odd.hdr.len = 45;
	assert_int_equal(frame.crc, crc32(crc32(0, (const void *)&frame.len, 4), (const void *)&odd, 45));
	assert_memory_equal(data + len - 48, &odd, 45);
	assert_memory_equal(data + len - 3, "\0\0\0", 3);
	outfile_free(r.out);
}

static void check_keys(const struct event_desc *const *descs)
{
	for (size_t i = 0; descs[i]; i++) {
		for (unsigned k = 0; k < descs[i]->n_fields; k++) {
			const char *key = event_field_key(&descs[i]->fields[k]);

			if (descs[i]->fields[k].flags & (FIELD_ALIAS | FIELD_SILENT))
				continue;
			if (json_line_reserves(key))
				fail_msg("%s: a field has the key %s, which JSON lines have", descs[i]->name, key);
			for (unsigned o = 0; o < k; o++)
				if (!(descs[i]->fields[o].flags & (FIELD_ALIAS | FIELD_SILENT)) &&
				    !strcmp(key, event_field_key(&descs[i]->fields[o])))
					fail_msg("%s: two fields have the key %s", descs[i]->name, key);
		}
	}
}

/* A parser may take either of two members with the same name. */
static void no_member_of_a_json_line_comes_twice(void **state)
{
	(void)state;
	check_keys(core_descs);
	for (size_t i = 0; all_decoders[i]; i++)
		check_keys(all_decoders[i]->events);
}

/* Is @text in the span of a call over the transport? */
static bool span_has(uint8_t proto, const char *text)
{
	struct call_event_body body = { .kind = CALL_KIND_DNS, .side = CALL_EVENT_SIDE_CLIENT, .opened_ns = 500 };
	struct registry *reg = registry_new();
	struct otlp_spans spans = { 0 };
	struct event ev = { .body = &body, .body_len = sizeof(body), .ts_ns = 1000 };
	bool found;

	for (size_t i = 0; all_decoders[i]; i++)
		assert_int_equal(registry_add(reg, all_decoders[i]->events), 0);
	ev.desc = registry_find_name(reg, "rpc.call");
	ev.keys.conn = (struct conn){ .saddr.family = 4, .daddr.family = 4, .sport = 5, .dport = 53, .proto = proto };
	assert_int_equal(otlp_span(&spans, &ev), 0);
	found = memmem(spans.span.data, spans.span.len, text, strlen(text));
	otlp_span_fini(&spans);
	registry_free(reg);
	return found;
}

static void spans_have_the_transport_of_the_call(void **state)
{
	(void)state;
	assert_true(span_has(17, "udp") && !span_has(17, "tcp"));
	assert_true(span_has(6, "tcp") && !span_has(6, "udp"));
}

#define METRICS_IDS 500000u	/* src/metrics/metrics.c keeps as many */

/* A host with more live flows loses the totals of some, not the output. */
static void metrics_outlive_too_many_ids(void **state)
{
	struct registry *reg = registry_new();
	struct sink_opts opts = { .reg = reg };
	struct net_flow_event body = { .packets = 1, .bytes = 10, .dir = 2 };
	struct event ev = { .body = &body, .body_len = sizeof(body), .ts_ns = 1000, .instance = 1 };
	struct outfile *out;
	struct sink s;

	(void)state;
	for (size_t i = 0; all_decoders[i]; i++)
		assert_int_equal(registry_add(reg, all_decoders[i]->events), 0);
	ev.desc = registry_find_name(reg, "net.flow");
	assert_non_null(ev.desc);
	assert_int_equal(outfile_open_mem(&out), 0);
	assert_int_equal(sink_open(&s, sink_find("otlp-metrics"), &opts, out, NULL), 0);
	for (body.id = 1; body.id <= METRICS_IDS + 3; body.id++)
		assert_int_equal(sink_event(&s, &ev), 0);
	assert_int_equal(sink_close(&s), -ENOMEM);
	assert_int_equal(outfile_dropped(out), 3);
	assert_true(outfile_bytes(out) > 0);
	outfile_free(out);
	registry_free(reg);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_time_mode_has_its_column),
		cmocka_unit_test(absurd_times_are_printed),
		cmocka_unit_test(a_careless_type_cannot_reach_the_terminal),
		cmocka_unit_test(colour_wraps_what_is_safe),
		cmocka_unit_test(a_hidden_event_has_no_time),
		cmocka_unit_test(a_bare_event_has_the_header_only),
		cmocka_unit_test(every_part_of_an_event_is_told),
		cmocka_unit_test(the_ledger_is_json_only),
		cmocka_unit_test(two_thousand_hostile_names_print_safely),
		cmocka_unit_test(every_row_can_be_found_and_closed),
		cmocka_unit_test(events_without_the_needed_section_are_skipped),
		cmocka_unit_test(binary_formats_refuse_a_terminal),
		cmocka_unit_test(a_recording_has_the_written_form),
		cmocka_unit_test(no_member_of_a_json_line_comes_twice),
		cmocka_unit_test(spans_have_the_transport_of_the_call),
		cmocka_unit_test(metrics_outlive_too_many_ids),
	};

	setenv("TZ", "UTC-3", 1);	/* three hours east */
	tzset();
	return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
