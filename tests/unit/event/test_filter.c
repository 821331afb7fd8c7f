// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "event/core.h"
#include "event/event.h"
#include "event/filter/filter.h"
#include "event/names.h"

/* ---- two event types with every kind of field ---- */

struct body {
	uint64_t latency_ns;
	int64_t delta;
	uint64_t symbol;
	uint32_t iface, number;
	struct ipaddr ip;
	uint16_t reason;
	uint8_t mac[6];
	uint8_t color, bits, flag, pad;
	char text[16];
};

static const struct xlat_val color_vals[] = { { 0, "red" }, { 1, "green" }, { 7, "Blue" } };
static const struct xlat color_xlat = { .vals = color_vals, .n = ARRAY_SIZE(color_vals) };
static const struct xlat_val bit_vals[] = { { 1, "FIN" }, { 2, "SYN" }, { 16, "ACK" } };
static const struct xlat bit_xlat = { .vals = bit_vals, .n = ARRAY_SIZE(bit_vals), .is_flags = true };

static int get_any(const struct event *ev, const struct field *f, struct value *ret)
{
	(void)ev, (void)f;
	*ret = (struct value){ .kind = VAL_STR, .str = "dynamic", .len = 7 };
	return 0;
}

static const struct field full_fields[] = {
	FIELD_ROW(struct body, latency_ns, "t.latency", FIELD_NS, ""),
	FIELD_ROW(struct body, delta, "t.delta", FIELD_INT, ""),
	FIELD_ROW(struct body, symbol, "t.symbol", FIELD_NAME, "", .space = SONDE_NAME_KSYM),
	FIELD_ROW(struct body, iface, "t.iface", FIELD_IFACE, ""),
	FIELD_ROW(struct body, number, "t.number", FIELD_UINT, "", .flags = FIELD_OPTIONAL),
	FIELD_ROW(struct body, ip, "t.ip", FIELD_IP, ""),
	FIELD_ROW(struct body, reason, "t.reason", FIELD_NAME, "", .space = SONDE_NAME_DROP_REASON),
	FIELD_ROW(struct body, mac, "t.mac", FIELD_MAC, ""),
	FIELD_ROW(struct body, color, "t.color", FIELD_ENUM, "", .xlat = &color_xlat),
	FIELD_ROW(struct body, bits, "t.bits", FIELD_FLAGS, "", .xlat = &bit_xlat),
	FIELD_ROW(struct body, flag, "t.flag", FIELD_BOOL, ""),
	FIELD_ROW(struct body, text, "t.text", FIELD_STR, "", .flags = FIELD_OPTIONAL),
	{ .name = "t.any", .kind = FIELD_GET },
};
static const struct event_desc full_desc = {
	.type = SONDE_EV(0x70, 1), .name = "t.full", .fields = full_fields, .n_fields = ARRAY_SIZE(full_fields),
	.body_size = sizeof(struct body), .get = get_any,
};
/* The same fields with other kinds: a text where the first type has an address, and its own evt.dir. */
static const struct field small_fields[] = {
	FIELD_ROW(struct body, number, "t.number", FIELD_UINT, ""),
	FIELD_ROW(struct body, text, "t.ip", FIELD_STR, ""),
	FIELD_ROW(struct body, text, "evt.dir", FIELD_STR, ""),
};
static const struct event_desc small_desc = {
	.type = SONDE_EV(0x70, 2), .name = "t.small", .fields = small_fields, .n_fields = ARRAY_SIZE(small_fields),
	.body_size = sizeof(struct body),
};
static const struct event_desc meta_desc = { .type = SONDE_EV(0x70, 3), .name = "t.meta", .class = EVENT_META };
static const struct event_desc *const descs[] = { &full_desc, &small_desc, &meta_desc, NULL };

/* ---- the events that the expressions are asked about ---- */

struct fixture {
	struct registry *reg;
	struct names *names;
	struct body body;
	struct event full, small, meta;
	struct { struct sec_proc p; char text[64]; } proc;
	uint64_t stack[2];
	struct event_functions functions;
	struct arena scratch;
};

static struct sec_str proc_str(struct fixture *x, uint32_t *at, const char *s)
{
	struct sec_str r = { *at, (uint32_t)strlen(s) };

	memcpy(x->proc.text + *at, s, r.len);
	*at += r.len;
	return r;
}

static void name(struct fixture *x, uint32_t space, uint64_t key, const char *s)
{
	assert_int_equal(event_names_set(x->names, space, key, s, strlen(s)), 0);
}

/* Of the small event: as a symbolizer names them. */
static int list_functions(struct event_functions *f, const struct event *ev, const char **ret, size_t *ret_len)
{
	static const char names[] = "main\0std::vector<int>::push_back\0runtime.gcDrain";

	(void)f, (void)ev;
	*ret = names;
	*ret_len = sizeof(names);
	return 0;
}

static int setup(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));
	uint32_t at = 0;

	x->reg = registry_new();
	x->names = event_names_new();
	assert_int_equal(registry_add(x->reg, descs), 0);
	x->body = (struct body){ .latency_ns = 2500000, .delta = -5, .symbol = 0xffffffff81000012, .iface = 3,
				 .number = 80, .reason = 3, .mac = { 2, 0, 0, 0, 0, 0xab }, .color = 7,
				 .bits = 18, .flag = 1, .text = "/usr/bin/ngin" };
	assert_int_equal(ipaddr_parse("10.1.2.3", &x->body.ip), 0);
	name(x, SONDE_NAME_DROP_REASON, 3, "NO_SOCKET");
	name(x, SONDE_NAME_KSYM, 0xffffffff81000012, "tcp_v4_rcv+0x12 [tcp]");
	name(x, SONDE_NAME_IFACE, names_iface_key(77, 3), "eth0");
	name(x, SONDE_NAME_NETNS, 77, "host");
	x->proc.p.comm = proc_str(x, &at, "nginx: w");
	x->proc.p.exe = proc_str(x, &at, "/usr/sbin/nginx");
	x->proc.p.uid = 33;
	x->full = (struct event){ .desc = &full_desc, .ts_ns = 1000, .seq = 9, .clock_offset_ns = 500, .tgid = 42,
				  .tid = 43, .cpu = 1, .body = &x->body, .body_len = sizeof(x->body),
				  .names = x->names };
	x->full.keys = (struct event_keys){ .netns = 77, .cookie = 5, .conn = { .sport = 4711, .dport = 443,
									       .proto = IPPROTO_TCP } };
	assert_int_equal(ipaddr_parse("192.168.1.5", &x->full.keys.conn.saddr), 0);
	assert_int_equal(ipaddr_parse("fe80::1", &x->full.keys.conn.daddr), 0);
	event_add_section(&x->full, SEC_PROC, &x->proc, sizeof(x->proc));
	x->stack[0] = 0xffffffff81000012;
	x->stack[1] = 0xffffffff81000099;	/* without a name */
	event_add_section(&x->full, SEC_STACK_KERN, x->stack, sizeof(x->stack));
	x->full.scratch = &x->scratch;
	x->functions.list = list_functions;
	x->small = (struct event){ .desc = &small_desc, .body = &x->body, .body_len = sizeof(x->body),
				   .functions = &x->functions };
	x->meta = (struct event){ .desc = &meta_desc };
	*state = x;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *x = *state;

	registry_free(x->reg);
	event_names_free(x->names);
	arena_fini(&x->scratch);
	free(x);
	return 0;
}

static struct filter *parse(const struct fixture *x, const char *text)
{
	struct filter *f = NULL;
	struct err e = { 0 };

	if (filter_parse(x->reg, text, &f, &e) < 0)
		fail_msg("%s: %s", text, e.msg);
	return f;
}

/* ---- verdicts ---- */

struct row { const char *text; bool full, small; };

static const struct row rows[] = {
	{ "", true, true },
	{ "   ", true, true },
	/* numbers */
	{ "t.number=80", true, true },
	{ "t.number == 0x50", true, true },
	{ "t.number=080", true, true },
	{ "t.number!=80", false, false },
	{ "t.number<80", false, false },
	{ "t.number<=80", true, true },
	{ "t.number>79", true, true },
	{ "t.number>=81", false, false },
	{ "t.number<1k", true, true },
	{ "t.number in (1, 2,80)", true, true },
	{ "t.number intersects (1,80)", true, true },
	{ "t.number in (1)", false, false },
	{ "t.number in ()", false, false },
	{ "not t.number in ()", true, true },
	{ "t.delta=-5", true, false },
	{ "t.delta<0", true, false },
	{ "t.delta>-6", true, false },
	{ "t.delta<-6", false, false },
	{ "t.delta<=-5", true, false },
	{ "t.delta>18446744073709551615", false, false },
	{ "t.delta>-18446744073709551615", true, false },
	{ "t.latency>2ms", true, false },
	{ "t.latency=2.5ms", true, false },
	{ "t.latency<2500000", false, false },
	{ "t.latency<=2500000", true, false },
	{ "t.flag", true, false },
	{ "t.flag=true", true, false },
	{ "t.flag=no", false, false },
	{ "t.flag=1", true, false },
	/* names of numbers */
	{ "t.color=blue", true, false },
	{ "t.color=7", true, false },
	{ "t.color!=red", true, false },
	{ "t.color in (red, green)", false, false },
	{ "t.color startswith Bl", true, false },
	{ "t.color>green", true, false },
	{ "t.bits=SYN", false, false },
	{ "t.bits='SYN|ACK'", true, false },
	{ "t.bits=SYN|ACK", true, false },
	{ "t.bits=18", true, false },
	{ "t.bits contains SYN", true, false },
	{ "t.bits contains SYN|FIN", false, false },
	{ "t.bits intersects (FIN, ACK)", true, false },
	{ "t.bits in (FIN, ACK)", false, false },
	{ "t.reason=NO_SOCKET", true, false },
	{ "t.reason=no_socket", true, false },
	{ "t.reason=SKB_DROP_REASON_NO_SOCKET", true, false },
	{ "t.reason=3", true, false },
	{ "t.reason=SOCKET", false, false },
	{ "t.reason in (TCP_CSUM, NO_SOCKET)", true, false },
	{ "t.reason glob NO_*", true, false },
	{ "t.symbol=tcp_v4_rcv", true, false },
	{ "t.symbol=tcp_v4", false, false },
	{ "t.symbol=tcp_v4_rcv+0x12", false, false },
	{ "t.symbol='tcp_v4_rcv+0x12 [tcp]'", true, false },
	{ "t.symbol contains [tcp]", true, false },
	{ "t.symbol=0xffffffff81000012", true, false },
	{ "t.iface=eth0", true, false },
	{ "t.iface=3", true, false },
	{ "t.iface=eth", false, false },
	{ "netns=host", true, false },
	{ "netns=77", true, false },
	/* addresses */
	{ "t.ip=10.1.2.3", true, false },
	{ "t.ip=10.0.0.0/8", true, false },
	{ "t.ip!=10.0.0.0/8", false, true },
	{ "t.ip in (11.0.0.0/8, 10.1.2.2/31)", true, false },
	{ "t.ip in (10.1.2.4/30)", false, false },
	{ "t.ip pmatch (10.0.0.0/9)", true, false },
	{ "t.ip=::/0", false, false },
	{ "t.ip=/usr/bin/ngin", false, true },
	{ "t.ip startswith /usr", false, true },
	{ "t.ip pmatch (10.0.0.0/8, /usr)", true, true },
	{ "t.ip in (10.1.2.3, /usr/bin/ngin)", true, true },
	{ "t.ip!=10.1.2.3", false, true },
	{ "proc.name bcontains 6769", true, false },
	{ "proc.name bstartswith 6E67", true, false },
	{ "proc.name bstartswith 6769", false, false },
	{ "evt.dir=/usr/bin/ngin", false, true },
	{ "t.mac=02:00:00:00:00:AB", true, false },
	{ "t.mac=02:00:00:00:00:ac", false, false },
	{ "conn.src=192.168.0.0/16", true, false },
	{ "fd.sip exists or fd.sport exists", false, false },	/* a packet does not say who the server is */
	{ "conn.dst=fe80::/10", true, false },
	{ "fd.ip=192.168.1.5", true, false },
	{ "fd.ip=fe80::1", true, false },
	{ "fd.ip!=fe80::1", false, false },
	{ "fd.ip!=fe80::2", true, false },
	{ "fd.port=443", true, false },
	{ "fd.port=4711", true, false },
	{ "fd.port in (80, 443)", true, false },
	{ "fd.port in (https, http)", true, false },
	{ "fd.port = smtp", false, false },
	{ "fd.port!=80", true, false },
	{ "fd.port!=443", false, false },
	{ "conn.sport>1024 and fd.dport<1024", true, false },
	{ "fd.l4proto=tcp", true, false },
	{ "fd.proto=TCP", true, false },
	{ "fd.proto=6", true, false },
	/* texts */
	{ "t.text=/usr/bin/ngin", true, false },
	{ "t.text!='/usr/bin/ngin'", false, false },
	{ "t.text contains bin", true, false },
	{ "t.text contains BIN", false, false },
	{ "t.text icontains BIN/N", true, false },
	{ "t.text startswith /usr", true, false },
	{ "t.text endswith ngin", true, false },
	{ "t.text glob /usr/*", true, false },
	{ "t.text glob *n?in", true, false },
	{ "t.text glob '/u[r-t]r/[!b]*'", false, false },
	{ "t.text glob '/u[r-t]r/[!x]*'", true, false },
	{ "t.text glob *a*b*c*", false, false },
	{ "t.text pmatch (/usr)", true, false },
	{ "t.text pmatch (/us, /usr/bin/)", true, false },
	{ "t.text pmatch /us", false, false },
	{ "t.text pmatch /", true, false },
	{ "t.any=dynamic", true, false },
	{ "t.any contains nam", true, false },
	{ "proc.name='nginx: w'", true, false },
	{ "proc.name=\"nginx\\x3a w\"", true, false },
	{ "proc.exe startswith /usr and user.uid=33", true, false },
	/* common words */
	{ "evt.type=t.full", true, false },
	{ "evt.type in (t.full, t.small)", true, true },
	{ "evt.type glob t.*", true, true },
	{ "evt.time=1500", true, false },
	{ "evt.num=9 and evt.cpu=1", true, false },
	{ "proc.pid=42 and thread.tid=43 and sock.cookie=5", true, false },
	/* absent fields */
	{ "proc.pid!=1", true, false },
	{ "not proc.pid=1", true, true },
	{ "proc.pid exists", true, false },
	{ "proc.pid", true, false },
	{ "not proc.pid", false, true },
	{ "goid exists", false, false },
	{ "t.color exists", true, false },
	{ "goid!=5", false, false },
	{ "not goid=5", true, true },
	/* functions of stacks: one of them suffices, and none may be for != */
	{ "stack.function=tcp_v4_rcv", true, false },
	{ "stack.function=tcp_v4", false, false },
	{ "stack.function=main", false, true },
	{ "stack.function='std::vector<int>::push_back'", false, true },
	{ "stack.function != main", true, false },
	{ "not stack.function=main", true, false },
	{ "stack.function in (x, main)", false, true },
	{ "stack.function glob 'runtime.gc*'", false, true },
	{ "stack.function startswith tcp_", true, false },
	{ "stack.function contains vector", false, true },
	{ "stack.function exists", true, true },
	{ "stack.function", true, true },
	/* precedence */
	{ "proc.pid=1 and proc.pid=1 or t.number=80", true, true },
	{ "t.number=80 or proc.pid=1 and proc.pid=1", true, true },
	{ "(t.number=80 or proc.pid=1) and proc.pid=42", true, false },
	{ "not proc.pid=42 or t.number=80", true, true },
	{ "not (proc.pid=42 or t.number=80)", false, false },
	{ "not not proc.pid=42", true, false },
	{ "not proc.pid=42 and t.number=80", false, true },
};

static void expressions_decide_as_documented(void **state)
{
	struct fixture *x = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct filter *f = parse(x, rows[i].text);

		if (filter_match(f, &x->full) != rows[i].full)
			fail_msg("full event: %s", rows[i].text);
		if (filter_match(f, &x->small) != rows[i].small)
			fail_msg("small event: %s", rows[i].text);
		assert_true(filter_match(f, &x->meta));
		filter_free(f);
	}
	assert_true(filter_match(NULL, &x->full));
}

/* Each row again from its normal form: same text, same verdicts. */
static void normal_form_reads_back_the_same(void **state)
{
	struct fixture *x = *state;
	struct buf once = { 0 }, twice = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct filter *f = parse(x, rows[i].text), *g;

		buf_reset(&once);
		buf_reset(&twice);
		assert_int_equal(filter_text(f, &once), 0);
		g = parse(x, buf_str(&once));
		assert_int_equal(filter_text(g, &twice), 0);
		assert_string_equal(buf_str(&once), buf_str(&twice));
		assert_int_equal(filter_match(g, &x->full), rows[i].full);
		assert_int_equal(filter_match(g, &x->small), rows[i].small);
		filter_free(f);
		filter_free(g);
	}
	buf_fini(&once);
	buf_fini(&twice);
}

static void normal_form_is_minimal(void **state)
{
	static const struct { const char *in, *out; } texts[] = {
		{ " ( (proc.pid = 1) ) and ((goid exists))", "proc.pid=1 and goid exists" },
		{ "(proc.pid=1 or goid) and not (goid and netns=1)",
		  "(proc.pid=1 or goid) and not (goid and netns=1)" },
		{ "t.text=\"a b\" or t.text='and'", "t.text=\"a b\" or t.text=\"and\"" },
		{ "t.text='say \"x\"\\\\'", "t.text=\"say \\\"x\\\"\\\\\"" },
		{ "t.text='\x1b[31m\xff\xc3\xb6'", "t.text=\"\\x1b[31m\\xff\xc3\xb6\"" },
		{ "t.text=''", "t.text=\"\"" },
		{ "t.text pmatch /usr", "t.text pmatch (/usr)" },
		{ "t.number in(1,2)", "t.number in (1, 2)" },
		{ "proc.pid==1 or (goid=1 or goid=2)", "proc.pid=1 or goid=1 or goid=2" },
	};
	struct fixture *x = *state;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct filter *f = parse(x, texts[i].in);
		struct buf b = { 0 };

		filter_text(f, &b);
		assert_string_equal(buf_str(&b), texts[i].out);
		buf_fini(&b);
		filter_free(f);
	}
}

/* ---- errors: the sentence, the text, the caret ---- */

static void errors_point_at_the_word(void **state)
{
	static const struct { const char *text, *message; } bad[] = {
		{ "proc.nmae=x", "no event has a field \"proc.nmae\"; did you mean proc.name?\n"
				 "proc.nmae=x\n"
				 "^~~~~~~~~" },
		{ "goid and number=1", "no event has a field \"number\"; did you mean t.number?\n"
				       "goid and number=1\n"
				       "         ^~~~~~" },
		{ "zzzzzzz", "no event has a field \"zzzzzzz\"\nzzzzzzz\n^~~~~~~" },
		{ "t.number=abc", "t.number expects a number, not \"abc\"\n"
				  "t.number=abc\n"
				  "         ^~~" },
		{ "t.number=-1", "t.number expects a number, not \"-1\"\nt.number=-1\n         ^~" },
		{ "t.number in (1, 2x)", "t.number expects a number, not \"2x\"\n"
					 "t.number in (1, 2x)\n"
					 "                ^~" },
		{ "t.color=bleu", "t.color expects a number or one of its names, not \"bleu\"; did you mean Blue?\n"
				  "t.color=bleu\n"
				  "        ^~~~" },
		{ "fd.sip=10.0.0.0/33", "fd.sip expects an address or a network, not \"10.0.0.0/33\"\n"
					"fd.sip=10.0.0.0/33\n"
					"       ^~~~~~~~~~~" },
		{ "t.latency>5parsec",
		  "t.latency expects a duration (100ms) or a number of nanoseconds, not \"5parsec\"\n"
		  "t.latency>5parsec\n"
		  "          ^~~~~~~" },
		{ "t.flag=maybe", "t.flag expects true or false, not \"maybe\"\nt.flag=maybe\n       ^~~~~" },
		{ "t.mac=02:00", "t.mac expects a MAC address, not \"02:00\"\nt.mac=02:00\n      ^~~~~" },
		{ "evt.type=t.fulll", "unknown event type \"t.fulll\"; did you mean t.full?\n"
				      "evt.type=t.fulll\n"
				      "         ^~~~~~~" },
		{ "t.text contians x", "\"contians\" is not an operator; did you mean contains?\n"
				       "t.text contians x\n"
				       "       ^~~~~~~~" },
		{ "t.text is x", "\"is\" is not an operator; did you mean in?\nt.text is x\n       ^~" },
		{ "t.text=a bbbbb", "\"and\" or \"or\" is missing here\nt.text=a bbbbb\n         ^~~~~" },
		{ "t.text hello world",
		  "\"hello\" is neither an operator nor and, or; a value with blanks needs quotes\n"
		  "t.text hello world\n"
		  "       ^~~~~" },
		{ "t.text<x", "< cannot be used with t.text\nt.text<x\n      ^" },
		{ "t.number contains 8", "contains cannot be used with t.number\n"
					 "t.number contains 8\n"
					 "         ^~~~~~~~" },
		{ "fd.sip startswith 10.", "startswith cannot be used with fd.sip\n"
					   "fd.sip startswith 10.\n"
					   "       ^~~~~~~~~~" },
		{ "(t.flag or goid", "unmatched parenthesis\n(t.flag or goid\n^" },
		{ "t.flag)", "unmatched parenthesis\nt.flag)\n      ^" },
		{ "t.flag and", "a field (proc.name, evt.type...) is missing here\nt.flag and\n          ^" },
		{ "and t.flag", "a field (proc.name, evt.type...) is missing here\nand t.flag\n^~~" },
		{ "t.number=", "a value is missing here\nt.number=\n         ^" },
		{ "t.number in 5", "a list in parentheses is missing here\nt.number in 5\n            ^" },
		{ "t.number in (1,)", "a value is missing here\nt.number in (1,)\n               ^" },
		{ "t.number in (1 2)", "\",\" or \")\" is missing here\nt.number in (1 2)\n               ^" },
		{ "t.text='abc", "unterminated quote\nt.text='abc\n       ^~~~" },
		{ "!t.flag", "\"!\" is not an operator; use not\n!t.flag\n^" },
		{ "t.text='\xc3\xb6' and x",
		  "no event has a field \"x\"\nt.text='\xc3\xb6' and x\n               ^" },
		{ "t.text='\x1b\xff' and x", "no event has a field \"x\"\nt.text='\?\?' and x\n                ^" },
	};
	struct fixture *x = *state;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct filter *f = NULL;
		struct err e = { 0 };

		assert_int_equal(filter_parse(x->reg, bad[i].text, &f, &e), -EINVAL);
		assert_null(f);
		assert_string_equal(e.msg, bad[i].message);
	}
}

static void long_texts_are_shown_around_the_caret(void **state)
{
	struct fixture *x = *state;
	struct filter *f = NULL;
	struct err e = { 0 };
	char *text = malloc(60001), *line, *caret;

	strcpy(text, "");
	for (size_t at = 0; at < 30000; at += 13)
		strcpy(text + at, "goid=1 or    ");
	strcat(text, "wrong=5");
	for (size_t i = 0; i < 100; i++)
		strcat(text, " and goid=2");
	assert_int_equal(filter_parse(x->reg, text, &f, &e), -EINVAL);
	line = strchr(e.msg, '\n') + 1;
	caret = strchr(line, '\n') + 1;
	assert_memory_equal(line, "...", 3);
	assert_memory_equal(line + (strchr(caret, '^') - caret), "wrong=5", 7);
	assert_memory_equal(caret - 4, "...", 3);
	assert_string_equal(strchr(caret, '^'), "^~~~~");
	free(text);
}

/* ---- bounds ---- */

static int parse_repeated(struct fixture *x, const char *head, const char *part, size_t n, const char *tail,
			  struct err *e)
{
	struct filter *f = NULL;
	struct buf b = { 0 };
	int r;

	buf_add_str(&b, head);
	for (size_t i = 0; i < n; i++)
		buf_add_str(&b, part);
	buf_add_str(&b, tail);
	r = filter_parse(x->reg, buf_str(&b), &f, e);
	filter_free(f);
	buf_fini(&b);
	return r;
}

static void size_is_bounded(void **state)
{
	struct fixture *x = *state;
	struct err e = { 0 };

	assert_int_equal(parse_repeated(x, "", "not ", 64, "goid", &e), 0);
	assert_int_equal(parse_repeated(x, "", "not ", 65, "goid", &e), -EINVAL);
	assert_int_equal(parse_repeated(x, "", "(", 65, "goid", &e), -EINVAL);
	assert_non_null(strstr(e.msg, "nested deeper than 64"));
	assert_int_equal(parse_repeated(x, "goid in (0", ",1", 4095, ")", &e), 0);
	assert_int_equal(parse_repeated(x, "goid in (0", ",1", 4096, ")", &e), -EINVAL);
	assert_non_null(strstr(e.msg, "4096 values"));
	assert_int_equal(parse_repeated(x, "goid", " or goid", 8000, "", &e), 0);
	assert_int_equal(parse_repeated(x, "goid", "        ", 8192, "", &e), -EINVAL);
	assert_non_null(strstr(e.msg, "64 KiB"));
}

/* ---- what can be pushed down ---- */

static int collect(void *ctx, const struct filter_conjunct *c)
{
	buf_printf(ctx, "%s%s%s/%zu%s%s;", c->negated ? "!" : "", c->field ? c->field : "-", "", c->n_values,
		   c->n_values ? ":" : "", c->n_values ? c->values[0].text : "");
	return 0;
}

static int refuse(void *ctx, const struct filter_conjunct *c)
{
	(void)ctx, (void)c;
	return -ECANCELED;
}

static void conjuncts_are_what_must_hold(void **state)
{
	static const struct { const char *text, *parts; int n; } cases[] = {
		{ "", "", 0 },
		{ "proc.pid=42", "proc.pid/1:42;", 1 },
		{ "proc.pid in (1,2) and (proc.name=a and not goid=3) and (goid or t.flag)",
		  "proc.pid/2:1;proc.name/1:a;!goid/1:3;-/0;", 4 },
		{ "not not goid=1", "goid/1:1;", 1 },
		{ "not (goid=1 or goid=2)", "!-/0;", 1 },
		{ "goid=1 or goid=2", "-/0;", 1 },
	};
	struct fixture *x = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct filter *f = parse(x, cases[i].text);
		struct buf b = { 0 };

		assert_int_equal(filter_conjuncts(f, collect, &b), cases[i].n);
		assert_string_equal(buf_str(&b), cases[i].parts);
		if (cases[i].n)
			assert_int_equal(filter_conjuncts(f, refuse, NULL), -ECANCELED);
		buf_fini(&b);
		filter_free(f);
	}
}

static int list_types(void *ctx, const char *word, const struct event_desc *const *found, size_t n)
{
	buf_printf(ctx, "%s:", word);
	for (size_t i = 0; i < n; i++)
		buf_printf(ctx, " %s", found[i]->name);
	return buf_add_char(ctx, ';');
}

/* A full name, or the part of a data name after the dot; lists only checks that must hold. */
static void types_are_values_of_evt_type(void **state)
{
	static const struct {
		const char *text;
		bool full, meta;
		const char *types;
	} cases[] = {
		{ "evt.type=full", true, false, "full: t.full;" },
		{ "evt.type=t.full", true, false, "t.full: t.full;" },
		{ "evt.type in (full, t.meta) and t.flag", true, true, "full: t.full;t.meta: t.meta;" },
		{ "evt.type=full or t.flag", true, false, "" },
		{ "evt.type!=full", false, false, "" },
		{ "t.flag", false, false, "" },
	};
	struct fixture *x = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct buf b = { 0 };
		struct filter *f = NULL;

		assert_int_equal(filter_parse(x->reg, cases[i].text, &f, NULL), 0);
		assert_int_equal(filter_eval_names_type(f, &full_desc), cases[i].full);
		assert_int_equal(filter_eval_names_type(f, &meta_desc), cases[i].meta);
		assert_true(filter_eval_types(f, x->reg, list_types, &b) >= 0);
		assert_string_equal(buf_str(&b), cases[i].types);
		buf_fini(&b);
		filter_free(f);
	}
}

/* The part after the dot does not name state. */
static void short_names_are_of_data(void **state)
{
	struct fixture *x = *state;
	struct filter *f = NULL;
	struct err err = { 0 };

	assert_int_equal(filter_parse(x->reg, "evt.type=meta", &f, &err), -EINVAL);
	assert_int_equal(filter_parse(x->reg, "evt.type=full", &f, NULL), 0);
	assert_true(filter_match(f, &x->full));
	assert_false(filter_match(f, &x->small));
	filter_free(f);
	assert_int_equal(filter_parse(x->reg, "evt.type!=full", &f, NULL), 0);
	assert_false(filter_match(f, &x->full));
	assert_true(filter_match(f, &x->small));
	filter_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(expressions_decide_as_documented),
		cmocka_unit_test(normal_form_reads_back_the_same),
		cmocka_unit_test(normal_form_is_minimal),
		cmocka_unit_test(errors_point_at_the_word),
		cmocka_unit_test(long_texts_are_shown_around_the_caret),
		cmocka_unit_test(size_is_bounded),
		cmocka_unit_test(conjuncts_are_what_must_hold),
		cmocka_unit_test(types_are_values_of_evt_type),
		cmocka_unit_test(short_names_are_of_data),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
