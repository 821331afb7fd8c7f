// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "tests/unit/pcapng_sample.h"
#include "tests/unit/records.h"

extern const struct source_ops pcap_source, pcapng_source;

static char file[65536];

static size_t load(const char *name)
{
	char path[512];
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), TEST_DATA "/captures/%s", name);
	f = fopen(path, "re");
	if (!f)
		fail_msg("no %s", path);
	n = fread(file, 1, sizeof(file), f);
	fclose(f);
	return n;
}

static const struct source_ops *format_of(const void *data, size_t len)
{
	bool is_pcap = pcap_source.match(data, len), is_pcapng = pcapng_source.match(data, len);

	assert_true(is_pcap != is_pcapng);
	return is_pcap ? &pcap_source : &pcapng_source;
}

/* The records of a file are @want, in windows of any size. */
static void check_file(const char *name, const char *want)
{
	size_t len = load(name);
	const struct source_ops *ops = format_of(file, len);
	struct buf out = { 0 };

	for (size_t step = 1; step <= len; step += step < 64 ? 1 : 97) {
		struct err err = { 0 };

		buf_reset(&out);
		if (records_parse(ops, file, len, step, &out, &err) < 0)
			fail_msg("%s in steps of %zu: %s", name, step, err.msg);
		if (strcmp(buf_str(&out), want))
			fail_msg("%s in steps of %zu:\n%s\nexpected:\n%s", name, step, buf_str(&out), want);
	}
	buf_fini(&out);
}

#define PCAP_TAIL(a, b, c) \
	"host  \n" \
	"clock 1700000000" a "\n" \
	"packet 1 ts=0 link=1 cap=43 orig=43 if=0 dir=0 pid=0/0 text=[] sum=780a\n" \
	"packet 2 ts=" b " link=1 cap=42 orig=43 if=0 dir=0 pid=0/0 text=[] sum=a\n" \
	"clock 1699999999" c "\n" \
	"packet 3 ts=0 link=1 cap=41 orig=43 if=0 dir=0 pid=0/0 text=[] sum=a\n"

static void pcap_in_both_orders_and_units(void **state)
{
	static const char us[] = PCAP_TAIL("000005000", "1999994000", "000007000");
	static const char ns[] = PCAP_TAIL("000000005", "1000999994", "000000007");

	(void)state;
	check_file("us-le.pcap", us);
	check_file("us-be.pcap", us);
	check_file("ns-le.pcap", ns);
	check_file("ns-be.pcap", ns);
}

static const char one_section[] =
	"host 6.1.0 x86_64\n"
	"name 3 0 eth0\n"
	"name 3 1 wlan0\n"
	"clock 1700000000000000001\n"
	"packet 1 ts=0 link=1 cap=43 orig=43 if=0 dir=1 pid=42/43 text=[first\nsecond\nline] sum=780a\n"
	"packet 2 ts=1999 link=1 cap=20 orig=43 if=1 dir=2 pid=0/0 text=[lost=9 before this packet] sum=670a\n"
	"packet 3 ts=100499999999 link=101 cap=29 orig=29 if=2 dir=0 pid=0/0 text=[] sum=7845\n"
	"packet 4 ts=100499999999 link=1 cap=43 orig=43 if=0 dir=0 pid=0/0 text=[] sum=780a\n"
	"packet 5 ts=2999 link=1 cap=43 orig=43 if=1 dir=1 pid=0/0 text=[lost=3 before this packet] sum=780a\n";

static const char next_section[] =
	"name 3 3 eth0\n"
	"name 3 4 wlan0\n"
	"packet 6 ts=0 link=1 cap=43 orig=43 if=3 dir=1 pid=42/43 text=[first\nsecond\nline] sum=780a\n"
	"packet 7 ts=1999 link=1 cap=20 orig=43 if=4 dir=2 pid=0/0 text=[lost=9 before this packet] sum=670a\n"
	"packet 8 ts=100499999999 link=101 cap=29 orig=29 if=5 dir=0 pid=0/0 text=[] sum=7845\n"
	"packet 9 ts=100499999999 link=1 cap=43 orig=43 if=3 dir=0 pid=0/0 text=[] sum=780a\n"
	"packet 10 ts=2999 link=1 cap=43 orig=43 if=4 dir=1 pid=0/0 text=[lost=3 before this packet] sum=780a\n";

static void pcapng_in_both_orders(void **state)
{
	char both[4096];

	(void)state;
	check_file("le.pcapng", one_section);
	check_file("be.pcapng", one_section);
	snprintf(both, sizeof(both), "%s%s", one_section, next_section);
	check_file("two-sections.pcapng", both);
}

/* Truncated at every byte: the records are the first of the whole file's, and a sentence reports the truncation. */
static void check_cuts(const char *name)
{
	size_t len = load(name), whole = 0;
	const struct source_ops *ops = format_of(file, len);
	struct buf all = { 0 }, out = { 0 };

	assert_int_equal(records_parse(ops, file, len, len, &all, NULL), 0);
	for (size_t cut = 0; cut < len; cut++) {
		struct err err = { 0 };
		int r;

		buf_reset(&out);
		r = records_parse(ops, file, cut, 61, &out, &err);
		if (r == 0) {
			whole++;
		} else if (r != -ENODATA || !strstr(err.msg, "ends inside")) {
			fail_msg("%s cut at %zu: %d, \"%s\"", name, cut, r, err.msg);
		}
		if (out.len > all.len || memcmp(out.data, all.data, out.len))
			fail_msg("%s cut at %zu: other records than the whole file", name, cut);
	}
	assert_true(whole >= 3 && whole <= 40);	/* between blocks only */
	buf_fini(&all);
	buf_fini(&out);
}

static void every_cut_ends_with_the_last_whole_record(void **state)
{
	(void)state;
	check_cuts("us-le.pcap");
	check_cuts("ns-be.pcap");
	check_cuts("le.pcapng");
	check_cuts("be.pcapng");
	check_cuts("two-sections.pcapng");
}

static void check_bad(const struct source_ops *ops, size_t len, const char *words)
{
	struct buf out = { 0 };
	struct err err = { 0 };

	assert_int_equal(records_parse(ops, file, len, 50, &out, &err), -EBADMSG);
	if (!strstr(err.msg, words))
		fail_msg("\"%s\" does not say \"%s\"", err.msg, words);
	buf_fini(&out);
}

static void broken_files_are_refused_with_the_place(void **state)
{
	size_t len;
	uint32_t huge = 300000;

	(void)state;
	len = load("us-le.pcap");
	memcpy(file + 24 + 8, &huge, 4);
	check_bad(&pcap_source, len, "at byte 24 claims 300000 bytes");
	len = load("us-le.pcap");
	file[4] = 9;
	check_bad(&pcap_source, len, "version 9");
	len = load("le.pcapng");
	file[9] = 0;
	check_bad(&pcapng_source, len, "byte order");
	len = load("le.pcapng");
	file[12] = 2;
	check_bad(&pcapng_source, len, "version is not 1");
	len = load("le.pcapng");
	file[4] += 4;
	check_bad(&pcapng_source, len, "in the block at byte 0");
	len = load("le.pcapng");
	file[4] += 1;
	check_bad(&pcapng_source, len, "length is impossible");
	len = load("le.pcapng");
	file[7] = 1;
	check_bad(&pcapng_source, len, "longer than a packet can be");
	len = load("le.pcapng");
	memmove(file, file + file[4], len -= (size_t)file[4]);
	check_bad(&pcapng_source, len, "precedes the section header");
}

static int stop(void *ctx, const struct sonde_rec *r)
{
	(void)r;
	return --*(int *)ctx ? 0 : -ECANCELED;
}

static void the_callback_can_stop(void **state)
{
	size_t len = load("le.pcapng");
	_cleanup_free_ void *st = calloc(1, pcapng_source.state_size);
	int n = 4;

	(void)state;
	assert_int_equal(pcapng_source.parse(st, file, len, true, stop, &n, NULL), -ECANCELED);
	assert_int_equal(n, 0);
	pcapng_source.fini(st);
}

/* The source reads the sink's output: packets, times, names, direction, process, comments. */
static void the_sinks_files_come_back(void **state)
{
	static const struct core_host host = { .release = "6.18.5", .machine = "x86_64" };
	static const char want[] =
		"host 6.18.5 x86_64\n"
		"name 3 0 if2\n"
		"clock 1700000001000000001\n"
		"packet 1 ts=0 link=101 cap=29 orig=129 if=0 dir=2 pid=0/0 "
		"text=[evt.type=toy.gone gone.point=to-network] sum=7845\n"
		"name 3 1 eth0\n"
		"packet 2 ts=1 link=1 cap=43 orig=143 if=1 dir=1 pid=4711/4712 text=[lost=17 before this packet\n"
		"evt.type=toy.gone gone.reason=NO_SOCKET gone.where=udp_rcv+0x10 gone.point=\"to stack\"\n"
		"proc.pid=4711 proc.name=curl proc.exe=/usr/bin/curl proc.ppid=1 thread.tid=4712 owner.by=rx_sk\n"
		"stack=udp_rcv+0x10;0xffff800000002000\n"
		"first note\n"
		"second \\e note] sum=780a\n"
		"packet 3 ts=2 link=1 cap=43 orig=143 if=1 dir=1 pid=0/0 "
		"text=[evt.type=toy.gone gone.verdict=XDP_DROP] sum=780a\n";
	const struct sink_opts opts = { .host = &host, .process_blocks = true };
	struct outfile *out;
	struct buf text = { 0 };
	const void *data;
	size_t len;

	(void)state;
	assert_int_equal(outfile_open_mem(&out), 0);
	assert_int_equal(sample_run(&opts, out), 0);
	data = outfile_mem(out, &len);
	assert_int_equal(records_parse(&pcapng_source, data, len, 100, &text, NULL), 0);
	assert_string_equal(buf_str(&text), want);
	buf_fini(&text);
	outfile_free(out);
}

static void formats_are_told_by_content(void **state)
{
	(void)state;
	assert_false(pcap_source.match("", 0));
	assert_false(pcapng_source.match("", 0));
	assert_false(pcap_source.match("\xd4\xc3\xb2", 3));
	assert_false(pcapng_source.match("GIF89a\0\0\0\0\0\0", 12));
	assert_true(pcapng_source.match("\n\r\r\n\x1c\0\0\0", 8));
	assert_false(pcapng_source.match("\n\r\r\n\x1c\0\0\0abcd", 12));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pcap_in_both_orders_and_units),
		cmocka_unit_test(pcapng_in_both_orders),
		cmocka_unit_test(every_cut_ends_with_the_last_whole_record),
		cmocka_unit_test(broken_files_are_refused_with_the_place),
		cmocka_unit_test(the_callback_can_stop),
		cmocka_unit_test(the_sinks_files_come_back),
		cmocka_unit_test(formats_are_told_by_content),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
