// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/macros.h"
#include "packet/pcapng.h"
#include "tests/unit/pcapng_sample.h"

/* ---- a strict reader of blocks and options ---- */

struct block {
	uint32_t type;
	struct cursor body;	/* without the two lengths */
};

static struct block blocks[16];
static unsigned n_blocks;

static void read_blocks(const struct outfile *out)
{
	size_t len;
	const void *data = outfile_mem(out, &len);
	struct cursor c = cur_init(data, len);

	n_blocks = 0;
	while (cur_left(&c)) {
		struct block *b = &blocks[n_blocks++];
		uint32_t total;

		assert_true(n_blocks < ARRAY_SIZE(blocks));
		b->type = cur_u32(&c);
		total = cur_u32(&c);
		assert_int_equal(total % 4, 0);
		assert_true(total >= 12);
		b->body = cur_sub(&c, total - 12);
		assert_int_equal(cur_u32(&c), total);
		assert_true(cur_ok(&c));
	}
}

/* The @nth option @code in @c; asserts that the options are well formed and terminated. NULL = absent. */
static const void *option(struct cursor c, uint16_t code, unsigned nth, uint16_t *ret_len)
{
	const void *found = NULL;

	for (;;) {
		uint16_t kind = cur_u16(&c), len = cur_u16(&c);
		const void *data = cur_bytes(&c, len);

		cur_skip(&c, (4 - len % 4) % 4);
		assert_true(cur_ok(&c));
		if (kind == PCAPNG_OPT_END) {
			assert_int_equal(len, 0);
			assert_int_equal(cur_left(&c), 0);
			return found;
		}
		if (kind == code && nth-- == 0) {
			found = data;
			*ret_len = len;
		}
	}
}

static void check_text(struct cursor opts, uint16_t code, unsigned nth, const char *want)
{
	uint16_t len = 0;
	const char *text = option(opts, code, nth, &len);

	if (!text)
		fail_msg("option %u (%u) is missing, expected \"%s\"", code, nth, want);
	if (len != strlen(want) || memcmp(text, want, len))
		fail_msg("option %u (%u) is \"%.*s\", expected \"%s\"", code, nth, len, text, want);
}

static void check_bytes(struct cursor opts, uint16_t code, const void *want, uint16_t want_len)
{
	uint16_t len = 0;
	const void *data = option(opts, code, 0, &len);

	assert_non_null(data);
	assert_int_equal(len, want_len);
	assert_memory_equal(data, want, len);
}

static void check_u64(struct cursor opts, uint16_t code, uint64_t want)
{
	check_bytes(opts, code, &want, sizeof(want));
}

static void check_absent(struct cursor opts, uint16_t code, unsigned nth)
{
	uint16_t len;

	assert_null(option(opts, code, nth, &len));
}

static struct outfile *run(const struct sink_opts *opts)
{
	struct outfile *out;

	assert_int_equal(outfile_open_mem(&out), 0);
	assert_int_equal(sample_run(opts, out), 0);
	read_blocks(out);
	return out;
}

static const struct core_host host = { .release = "6.18.5", .machine = "x86_64" };
static const struct sink_opts plain_opts = {
	.host = &host, .cmdline = "sonde monitor", .filter_text = "udp port 9",
};

static void check_types(const uint32_t *want, unsigned n)
{
	assert_int_equal(n_blocks, n);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(blocks[i].type, want[i]);
}

static void blocks_come_in_order(void **state)
{
	static const uint32_t want[] = {
		PCAPNG_SHB, PCAPNG_IDB, PCAPNG_EPB, PCAPNG_IDB, PCAPNG_EPB, PCAPNG_EPB, PCAPNG_ISB, PCAPNG_ISB,
	};
	struct outfile *out = run(&plain_opts);

	(void)state;
	check_types(want, ARRAY_SIZE(want));
	outfile_free(out);
}

static void header_names_the_recorded_host(void **state)
{
	struct outfile *out = run(&plain_opts);
	struct cursor c = blocks[0].body;

	(void)state;
	assert_int_equal(cur_u32(&c), 0x1a2b3c4d);
	assert_int_equal(cur_u16(&c), 1);
	assert_int_equal(cur_u16(&c), 0);
	assert_int_equal(cur_u64(&c), UINT64_MAX);
	check_text(c, PCAPNG_SHB_HARDWARE, 0, "x86_64");
	check_text(c, PCAPNG_SHB_OS, 0, "Linux 6.18.5");
	check_text(c, PCAPNG_SHB_USERAPPL, 0, "sonde " SONDE_VERSION);
	check_text(c, PCAPNG_OPT_COMMENT, 0, "sonde monitor");
	outfile_free(out);
}

static void interfaces_have_names_and_namespaces(void **state)
{
	struct outfile *out = run(&plain_opts);
	struct cursor c = blocks[1].body;

	(void)state;
	assert_int_equal(cur_u16(&c), SONDE_LINK_RAW);
	cur_skip(&c, 2);
	assert_int_equal(cur_u32(&c), 0);
	check_text(c, PCAPNG_IF_NAME, 0, "if2");	/* the same number as eth0, in another namespace */
	check_text(c, PCAPNG_IF_DESCRIPTION, 0, "netns blue");
	check_bytes(c, PCAPNG_IF_TSRESOL, "\x09", 1);
	check_bytes(c, PCAPNG_IF_FILTER, "\0udp port 9", 11);
	c = blocks[3].body;
	assert_int_equal(cur_u16(&c), SONDE_LINK_ETHERNET);
	cur_skip(&c, 6);
	check_text(c, PCAPNG_IF_NAME, 0, "eth0");
	check_text(c, PCAPNG_IF_DESCRIPTION, 0, "netns [4026531840]");
	outfile_free(out);
}

/* Checks the fixed part; returns the bytes after the packet. */
static struct cursor check_packet(unsigned block, uint32_t iface, uint64_t ns, const void *data, uint32_t len)
{
	struct cursor c = blocks[block].body;
	uint64_t high;

	assert_int_equal(cur_u32(&c), iface);
	high = cur_u32(&c);
	assert_true((high << 32 | cur_u32(&c)) == ns + SAMPLE_OFFSET_NS);
	assert_int_equal(cur_u32(&c), len);
	assert_int_equal(cur_u32(&c), len + 100);
	assert_memory_equal(cur_bytes(&c, len), data, len);
	cur_skip(&c, (4 - len % 4) % 4);
	return c;
}

static void packets_carry_what_is_known(void **state)
{
	struct outfile *out = run(&plain_opts);
	const uint32_t in = 1, out_dir = 2, ids[2] = { 4711, 4712 };
	struct cursor c = check_packet(2, 0, 1000000001, sample_udp + 14, sizeof(sample_udp) - 14);

	(void)state;
	check_bytes(c, PCAPNG_EPB_FLAGS, &out_dir, 4);
	check_text(c, PCAPNG_OPT_COMMENT, 0, "evt.type=toy.gone gone.point=to-network");
	check_absent(c, PCAPNG_OPT_COMMENT, 1);
	check_absent(c, PCAPNG_EPB_DROPCOUNT, 0);
	check_absent(c, PCAPNG_EPB_PROCESS_THREAD, 0);
	check_absent(c, PCAPNG_EPB_VERDICT, 0);

	c = check_packet(4, 1, 1000000002, sample_udp, sizeof(sample_udp));
	check_bytes(c, PCAPNG_EPB_FLAGS, &in, 4);
	check_u64(c, PCAPNG_EPB_DROPCOUNT, 17);
	check_bytes(c, PCAPNG_EPB_PROCESS_THREAD, ids, 8);
	check_text(c, PCAPNG_OPT_COMMENT, 0,
		   "evt.type=toy.gone gone.reason=NO_SOCKET gone.where=udp_rcv+0x10 gone.point=\"to stack\"");
	check_text(c, PCAPNG_OPT_COMMENT, 1,
		   "proc.pid=4711 proc.name=curl proc.exe=/usr/bin/curl proc.ppid=1 thread.tid=4712 owner.by=rx_sk");
	check_text(c, PCAPNG_OPT_COMMENT, 2, "stack=udp_rcv+0x10;0xffff800000002000");
	check_text(c, PCAPNG_OPT_COMMENT, 3, "first note");
	check_text(c, PCAPNG_OPT_COMMENT, 4, "second \\e note");
	check_absent(c, PCAPNG_OPT_COMMENT, 5);

	c = check_packet(5, 1, 1000000003, sample_udp, sizeof(sample_udp));
	check_bytes(c, PCAPNG_EPB_VERDICT, "\x02\x01\0\0\0\0\0\0\0", 9);
	check_absent(c, PCAPNG_EPB_DROPCOUNT, 0);
	outfile_free(out);
}

static void statistics_hold_the_ledger(void **state)
{
	struct outfile *out = run(&plain_opts);
	struct cursor c = blocks[6].body;

	(void)state;
	assert_int_equal(cur_u32(&c), 0);
	cur_skip(&c, 8);
	check_u64(c, PCAPNG_ISB_IFRECV, 120);
	check_u64(c, PCAPNG_ISB_IFDROP, 17);
	check_u64(c, PCAPNG_ISB_USRDELIV, 1);
	check_text(c, PCAPNG_OPT_COMMENT, 0,
		   "scope=all_interfaces seen=120 delivered=100 filtered=2 sampled=1 lost=17");
	c = blocks[7].body;
	assert_int_equal(cur_u32(&c), 1);
	cur_skip(&c, 8);
	check_absent(c, PCAPNG_ISB_IFRECV, 0);
	check_u64(c, PCAPNG_ISB_USRDELIV, 2);
	outfile_free(out);
}

static void process_blocks_come_when_asked(void **state)
{
	struct sink_opts opts = plain_opts;
	static const uint32_t want[] = {
		PCAPNG_SHB, PCAPNG_IDB, PCAPNG_EPB, PCAPNG_IDB, PCAPNG_CB, PCAPNG_EPB, PCAPNG_EPB,
		PCAPNG_ISB, PCAPNG_ISB,
	};
	const uint32_t ppid = 1, uid = 1000;
	struct outfile *out;
	struct cursor c, entry;

	(void)state;
	opts.process_blocks = true;
	out = run(&opts);
	check_types(want, ARRAY_SIZE(want));
	c = blocks[4].body;
	assert_int_equal(cur_u32(&c), 32622);
	assert_int_equal(cur_u32(&c), 3);
	entry = cur_sub(&c, cur_u32(&c));
	assert_int_equal(cur_u32(&entry), 4711);
	check_text(entry, PCAPNG_WS_PROCESS_NAME, 0, "curl");
	check_text(entry, PCAPNG_WS_PROCESS_PATH, 0, "/usr/bin/curl");
	check_bytes(entry, PCAPNG_WS_PROCESS_CMDLINE, SAMPLE_ARGS, sizeof(SAMPLE_ARGS) - 1);
	check_bytes(entry, PCAPNG_WS_PROCESS_PPID, &ppid, 4);
	check_bytes(entry, PCAPNG_WS_PROCESS_UID, &uid, 4);
	check_u64(entry, PCAPNG_WS_PROCESS_START, SAMPLE_OFFSET_NS + 5000);
	assert_null(option(c, PCAPNG_OPT_COMMENT, 0, &(uint16_t){ 0 }));
	outfile_free(out);
}

static void a_run_without_packets_is_a_file(void **state)
{
	struct sink_opts opts = { 0 };
	struct outfile *out;
	struct sink s;

	(void)state;
	assert_int_equal(outfile_open_mem(&out), 0);
	assert_int_equal(sink_open(&s, sink_find("pcapng"), &opts, out, NULL), 0);
	assert_int_equal(sink_close(&s), 0);
	read_blocks(out);
	assert_int_equal(n_blocks, 1);
	assert_int_equal(blocks[0].type, PCAPNG_SHB);
	outfile_free(out);
}

/* As an output does: what the format calls a repetition is left out. */
static size_t file_bytes(const char *format, const uint8_t *ways, size_t n)
{
	const struct sample_body body = { .point = 2 };
	const struct sink_ops *ops = sink_find(format);
	struct event ev = { .desc = &sample_desc, .body = &body, .body_len = sizeof(body) }, one;
	void *seen = calloc(1, ops->seen_size);
	struct outfile *out;
	struct sink s;
	size_t len;

	assert_non_null(seen);
	assert_int_equal(outfile_open_mem(&out), 0);
	assert_int_equal(sink_open(&s, ops, &plain_opts, out, NULL), 0);
	for (size_t i = 0; i < n; i++) {
		struct sample_packet p = sample_packet(77, ways[i] & 4 ? 2 : 1, ways[i] & 3, SONDE_LINK_ETHERNET);

		one = ev;
		event_add_section(&one, SEC_PACKET, &p, (uint32_t)sizeof(p.head) + p.head.cap_len);
		one.names = event_names_new();
		if (!ops->repeats(seen, &one))
			assert_int_equal(sink_event(&s, &one), 0);
		event_names_free((struct names *)one.names);
	}
	assert_int_equal(sink_close(&s), 0);
	outfile_mem(out, &len);
	outfile_free(out);
	free(seen);
	return len;
}

/* Other interfaces, single passes and drops (which have no direction) are not taken for a second pass. */
static void loopback_packets_are_there_once(void **state)
{
	enum { DROP = PACKET_DIR_UNKNOWN, IN = PACKET_DIR_IN, OUT = PACKET_DIR_OUT };
	enum { ETH_IN = 4 | IN, ETH_OUT = 4 | OUT };
	static const char *const formats[] = { "pcapng", "pcap" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
#define WAYS(...) (const uint8_t[]){ __VA_ARGS__ }
#define BYTES(...) file_bytes(formats[i], WAYS(__VA_ARGS__), sizeof(WAYS(__VA_ARGS__)))
		const size_t none = file_bytes(formats[i], NULL, 0), one = BYTES(OUT), more = BYTES(OUT, OUT) - one;

		assert_true(one > none && more > 0);
		assert_int_equal(BYTES(OUT, IN), one);
		assert_int_equal(BYTES(OUT, OUT, IN, IN), one + more);
		assert_int_equal(BYTES(OUT, IN, IN), one + more);
		assert_true(BYTES(IN) > none);
		assert_true(BYTES(OUT, IN, DROP) > one);
		assert_true(BYTES(ETH_OUT, ETH_IN) > BYTES(ETH_OUT));
	}
}

/* For other readers: the sample as a file. */
static int write_sample(const char *path)
{
	struct outfile *out;
	int r = outfile_open(path, &out, NULL);

	if (r == 0)
		r = sample_run(&plain_opts, out);
	return r < 0 ? r : outfile_close(out);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_come_in_order),
		cmocka_unit_test(header_names_the_recorded_host),
		cmocka_unit_test(interfaces_have_names_and_namespaces),
		cmocka_unit_test(packets_carry_what_is_known),
		cmocka_unit_test(statistics_hold_the_ledger),
		cmocka_unit_test(process_blocks_come_when_asked),
		cmocka_unit_test(a_run_without_packets_is_a_file),
		cmocka_unit_test(loopback_packets_are_there_once),
	};

	if (argc == 3 && !strcmp(argv[1], "--write"))
		return write_sample(argv[2]) < 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
