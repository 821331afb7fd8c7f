// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/opt.h"
#include "base/str.h"

static char program[] = "x";

struct conf {
	bool hex, dns;
	unsigned verbose, mode;
	uint32_t count;
	uint64_t big, duration_ns, ring_bytes;
	const char *file;
	struct opt_strv names;
	struct opt_u32v pids;
	const char *called;
};

static int on_call(void *conf, const char *arg, struct err *err)
{
	struct conf *c = conf;

	if (arg && !strcmp(arg, "bad"))
		return err_set(err, -EPERM, "bad things are not allowed");
	c->called = arg ? arg : "without";
	return 0;
}

static const char *const modes[] = { "local", "rfc3339", "epoch", NULL };

static const struct opt rows[] = {
	OPT_ROW(conf, hex, "hex", 'x', OPT_BOOL, NULL, "dump in hex"),
	OPT_ROW(conf, dns, "dns", 0, OPT_BOOL, NULL, "look names up"),
	OPT_ROW(conf, verbose, "verbose", 'v', OPT_COUNT, NULL, "say more; repeat for still more"),
	OPT_ROW(conf, count, "count", 'n', OPT_U32, "N", "stop after N events"),
	OPT_ROW(conf, big, "big", 0, OPT_U64, "N", "a large number", .not_zero = true),
	OPT_ROW(conf, file, "read", 'r', OPT_STR, "FILE", "read what was recorded"),
	OPT_ROW(conf, names, "comm", 0, OPT_STRV, "NAME", "only processes of this name"),
	OPT_ROW(conf, pids, "pid", 'p', OPT_U32V, "PID", "only these processes"),
	OPT_END,
};
static const struct opt more_rows[] = {
	OPT_ROW(conf, duration_ns, "duration", 0, OPT_DURATION, "TIME", "stop after this long", .not_zero = true),
	OPT_ROW(conf, ring_bytes, "ring-size", 0, OPT_BYTES, "SIZE", "bytes per ring"),
	OPT_ROW(conf, mode, "time", 't', OPT_ENUM, "MODE", "how times are shown", .names = modes),
	OPT_CALL_ROW(on_call, "call", 'c', "WORD", "calls a function"),
	OPT_CALL_ROW(on_call, "bare", 'b', NULL, "calls it without a value"),
	OPT_END,
};

static const struct opt_hint hints[] = {
	{ "-q", "count", "-n N stops after N events" },
	{ "-nn", "dns", "--no-dns leaves names out" },
	{ "-z", "nosuch", "for another command" },
	{ NULL },
};

struct run {
	struct conf conf;
	struct opt_set sets[2];
	struct opt_strv words, command;
	struct err err;
	int result;
	char *argv[64];		/* point into line */
	char line[256];
};

static void parse_with(struct run *t, const char *line, bool command)
{
	char *rest = t->line, *word;
	int argc = 1;

	t->sets[0] = (struct opt_set){ "Options", rows, &t->conf };
	t->sets[1] = (struct opt_set){ "More options", more_rows, &t->conf, .hints = hints };
	snprintf(t->line, sizeof(t->line), "%s", line);
	t->argv[0] = program;
	while (argc < (int)ARRAY_SIZE(t->argv) && (word = strsep(&rest, " ")))
		t->argv[argc++] = word;
	t->result = opt_parse(t->sets, 2, argc, t->argv, &t->words, command ? &t->command : NULL, &t->err);
}

static struct run *parse(const char *line)
{
	struct run *t = calloc(1, sizeof(*t));

	assert_non_null(t);
	parse_with(t, line, true);
	return t;
}

static void done(struct run *t)
{
	opt_fini(t->sets, 2);
	opt_strv_fini(&t->words);
	opt_strv_fini(&t->command);
	free(t);
}

static void every_kind_is_stored(void **state)
{
	struct run *t = parse("-x --dns -vv --verbose --count=7 --big 0xffffffffffffffff -r f --comm a --comm=b "
			      "--pid 1,2 -p3 --duration 250ms --ring-size 8M --time epoch -c word");

	(void)state;
	assert_string_equal(t->err.msg, "");
	assert_int_equal(t->result, 0);
	assert_true(t->conf.hex && t->conf.dns);
	assert_int_equal(t->conf.verbose, 3);
	assert_int_equal(t->conf.count, 7);
	assert_true(t->conf.big == UINT64_MAX);
	assert_string_equal(t->conf.file, "f");
	assert_int_equal(t->conf.names.len, 2);
	assert_string_equal(t->conf.names.items[1], "b");
	assert_int_equal(t->conf.pids.len, 3);
	assert_int_equal(t->conf.pids.items[2], 3);
	assert_true(t->conf.duration_ns == 250000000);
	assert_true(t->conf.ring_bytes == 8 << 20);
	assert_int_equal(t->conf.mode, 2);
	assert_string_equal(t->conf.called, "word");
	done(t);

	t = parse("--bare");
	assert_string_equal(t->conf.called, "without");
	done(t);
}

static void forms_of_getopt_are_understood(void **state)
{
	struct run *t = parse("-xvn5 -n 6 tcp and -r - port 80 --no-hex - -- ls -l --hex");

	(void)state;
	assert_int_equal(t->result, 0);
	assert_int_equal(t->conf.count, 6);	/* the last value counts */
	assert_int_equal(t->conf.verbose, 1);
	assert_false(t->conf.hex);
	assert_string_equal(t->conf.file, "-");
	assert_int_equal(t->words.len, 5);
	assert_string_equal(t->words.items[1], "and");
	assert_string_equal(t->words.items[4], "-");
	assert_int_equal(t->command.len, 3);
	assert_string_equal(t->command.items[2], "--hex");
	done(t);

	t = calloc(1, sizeof(*t));
	parse_with(t, "a -- -b", false);	/* no command expected: "--" only ends the options */
	assert_int_equal(t->result, 0);
	assert_int_equal(t->words.len, 2);
	assert_string_equal(t->words.items[1], "-b");
	done(t);
}

static void mistakes_get_one_sentence(void **state)
{
	static const struct { const char *line, *message; } cases[] = {
		{ "--cuont 5", "unknown option --cuont; did you mean --count?" },
		{ "--coun=5", "unknown option --coun=5; did you mean --count?" },
		{ "--dur 5s", "unknown option --dur; did you mean --duration?" },
		{ "--hx", "unknown option --hx; did you mean --hex?" },
		{ "--zzzzzz", "unknown option --zzzzzz" },
		{ "--no-count", "unknown option --no-count" },
		{ "--no-", "unknown option --no-" },
		{ "-z", "unknown option -z" },
		{ "-xz", "unknown option -z" },
		{ "-q", "unknown option -q; -n N stops after N events" },
		{ "-xq", "unknown option -q; -n N stops after N events" },
		{ "-nn", "unknown option -nn; --no-dns leaves names out" },
		{ "-nnv", "unknown option -nnv; --no-dns leaves names out" },
		{ "-hex", "unknown option -hex; did you mean --hex?" },
		{ "-duration=5s", "unknown option -duration=5s; did you mean --duration?" },
		{ "--count", "--count needs a value (N)" },
		{ "-n", "--count needs a value (N)" },
		{ "-n -- ls", "--count needs a value (N)" },
		{ "--hex=yes", "--hex takes no value" },
		{ "--verbose=2", "--verbose takes no value" },
		{ "--no-hex=1", "--no-hex takes no value" },
		{ "--count=abc", "--count \"abc\": expected a number" },
		{ "--count=", "--count \"\": expected a number" },
		{ "--count -1", "--count \"-1\": expected a number" },
		{ "--big 0", "--big \"0\": expected a number above 0" },
		{ "--duration 0s", "--duration \"0s\": expected a time above 0, such as 10ms, 2s or 5m" },
		{ "-n010x", "--count \"010x\": expected a number" },
		{ "--count 4294967296", "--count: 4294967296 is too large" },
		{ "--big 18446744073709551616", "--big: 18446744073709551616 is too large" },
		{ "--pid 1,,2", "--pid \"1,,2\": expected numbers separated by commas" },
		{ "--duration soon", "--duration \"soon\": expected a time such as 10ms, 2s or 5m" },
		{ "--ring-size 1T", "--ring-size \"1T\": expected a size such as 4096, 64k or 8M" },
		{ "--time utc", "--time \"utc\": expected one of local, rfc3339, epoch" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct run *t = parse(cases[i].line);

		assert_string_equal(t->err.msg, cases[i].message);
		assert_int_equal(t->result, -EINVAL);
		done(t);
	}
	{
		struct run *t = parse("--call bad");

		assert_int_equal(t->result, -EPERM);
		assert_string_equal(t->err.msg, "bad things are not allowed");
		done(t);
	}
}

static void a_bad_list_adds_nothing(void **state)
{
	struct run *t = parse("--pid 1,2 --pid 3,4,x");

	(void)state;
	assert_int_equal(t->result, -EINVAL);
	assert_int_equal(t->conf.pids.len, 2);
	done(t);
}

static void an_octal_looking_number_is_decimal(void **state)
{
	struct run *t = parse("--count 010");

	(void)state;
	assert_int_equal(t->conf.count, 10);
	done(t);
}

static void long_lists_grow(void **state)
{
	char *argv[1001] = { program }, two[] = "--pid=1,2";
	struct conf conf = { 0 };
	struct opt_set set = { "Options", rows, &conf };
	struct opt_strv words = { 0 };

	(void)state;
	for (int i = 1; i <= 1000; i++)
		argv[i] = two;
	assert_int_equal(opt_parse(&set, 1, 1001, argv, &words, NULL, NULL), 0);
	assert_int_equal(conf.pids.len, 2000);
	opt_fini(&set, 1);
	opt_strv_fini(&words);
}

static struct opt_set doc_sets[] = { { "Options", rows, NULL }, { "More options", more_rows, NULL } };

static void help_is_aligned_and_wrapped(void **state)
{
	static const struct opt long_rows[] = {
		OPT_ROW(conf, file, "output", 'o', OPT_STR, "FORMAT[:FILE]",
			"write FORMAT to FILE, or to standard output when there is none; may be given several times"),
		OPT_ROW(conf, hex, "a-name-that-is-much-longer-than-most", 0, OPT_BOOL, NULL, "short",
			.more = "long"),
		OPT_END,
	};
	struct opt_set sets[] = { doc_sets[1], { "Output options", long_rows, NULL } };
	_cleanup_(buf_fini) struct buf out = { 0 };

	(void)state;
	assert_int_equal(opt_help(sets, 2, OPT_SHORT, &out), 0);
	assert_string_equal(buf_str(&out),
			    "\nMore options:\n"
			    "      --duration TIME         stop after this long\n"
			    "      --ring-size SIZE        bytes per ring\n"
			    "  -t, --time MODE             how times are shown: local, rfc3339, epoch\n"
			    "  -c, --call WORD             calls a function\n"
			    "  -b, --bare                  calls it without a value\n"
			    "\nOutput options:\n"
			    "  -o, --output FORMAT[:FILE]  write FORMAT to FILE, or to standard output when\n"
			    "                              there is none; may be given several times\n"
			    "      --a-name-that-is-much-longer-than-most\n"
			    "                              short\n");
}

static void man_rows_are_roff(void **state)
{
	static const struct opt odd[] = {
		OPT_ROW(conf, file, "host-root", 'R', OPT_STR, "DIR", ".hidden \\ names-too"),
		OPT_END,
	};
	struct opt_set set = { "Output options", odd, NULL };
	_cleanup_(buf_fini) struct buf out = { 0 };

	(void)state;
	assert_int_equal(opt_man(&set, 1, &out), 0);
	assert_string_equal(buf_str(&out), ".SS Output options\n"
					   ".TP\n\\fB\\-R\\fR, \\fB\\-\\-host\\-root\\fR \\fIDIR\\fR\n"
					   "\\&.hidden \\e names\\-too.\n");
}

static void unsound_rows_are_found(void **state)
{
	static const struct opt same_name[] = { { "hex", 0, OPT_BOOL, 0, NULL, "again" }, OPT_END };
	static const struct opt same_key[] = { { "other", 'x', OPT_BOOL, 0, NULL, "again" }, OPT_END };
	static const struct opt negation[] = { { "no-dns", 0, OPT_BOOL, 0, NULL, "again" }, OPT_END };
	static const struct opt no_arg[] = { { "aa", 0, OPT_U32, 0, NULL, "number" }, OPT_END };
	static const struct opt spare_arg[] = { { "aa", 0, OPT_BOOL, 0, "X", "flag" }, OPT_END };
	static const struct opt no_names[] = { { "aa", 0, OPT_ENUM, 0, "X", "word" }, OPT_END };
	static const struct opt stop[] = { { "aa", 0, OPT_BOOL, 0, NULL, "A flag." }, OPT_END };
	static const struct opt upper[] = { { "Aa", 0, OPT_BOOL, 0, NULL, "flag" }, OPT_END };
	static const struct opt *const bad[] = {
		same_name, same_key, negation, no_arg, spare_arg, no_names, stop, upper,
	};
	struct err err;

	(void)state;
	assert_int_equal(opt_check(doc_sets, 2, &err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct opt_set sets[] = { doc_sets[0], { "Bad", bad[i], NULL } };

		err = (struct err){ 0 };
		assert_int_equal(opt_check(sets, 2, &err), -EINVAL);
		assert_int_equal(strncmp(err.msg, "option -", 8), 0);
	}
}

static const struct opt_command commands[] = {
	{ "monitor", "shows packets: each of them, it's said", doc_sets, 2 },
	{ "doctor", "what works here", NULL, 0 },
};

static void every_shell_gets_every_option(void **state)
{
	(void)state;
	for (enum opt_shell shell = 0; shell < OPT_SHELL__MAX; shell++) {
		_cleanup_(buf_fini) struct buf out = { 0 };

		assert_int_equal(opt_complete(shell, "sonde", commands, 2, &out), 0);
		for (size_t s = 0; s < 2; s++) {
			for (const struct opt *o = doc_sets[s].opts; opt_is_row(o); o++)
				assert_non_null(strstr(buf_str(&out), o->name));
		}
		assert_non_null(strstr(buf_str(&out), "local rfc3339 epoch"));
		assert_non_null(strstr(buf_str(&out), "doctor"));
	}
}

/* bash's candidates for @line (words separated by blanks, the last one being typed). */
static void bash_offers(const char *script, const char *line, const char *want)
{
	char got[512] = "", path[] = "/tmp/test-opt-XXXXXX", command[1024];
	int fd = mkstemp(path);
	FILE *f;

	assert_true(fd >= 0);
	f = fdopen(fd, "w");
	fprintf(f, "compopt() { :; }\n%s\nCOMP_WORDS=(%s); COMP_CWORD=$((${#COMP_WORDS[@]}-1)); _sonde\n"
		   "echo \"${COMPREPLY[*]}\"\n", script, line);
	fclose(f);
	snprintf(command, sizeof(command), "bash %s", path);
	f = popen(command, "r");
	assert_non_null(f);
	assert_non_null(fgets(got, sizeof(got), f));
	assert_int_equal(pclose(f), 0);
	unlink(path);
	assert_string_equal(got, want);
}

static void bash_completes(void **state)
{
	_cleanup_(buf_fini) struct buf out = { 0 };

	(void)state;
	if (system("command -v bash >/dev/null"))
		skip();
	assert_int_equal(opt_complete(OPT_SHELL_BASH, "sonde", commands, 2, &out), 0);
	bash_offers(buf_str(&out), "sonde mo", "monitor\n");
	bash_offers(buf_str(&out), "sonde monitor --ver", "--verbose\n");
	bash_offers(buf_str(&out), "sonde monitor --time r", "rfc3339\n");
	bash_offers(buf_str(&out), "sonde monitor --time = e", "epoch\n");
	bash_offers(buf_str(&out), "sonde monitor --time =", "local rfc3339 epoch\n");
	bash_offers(buf_str(&out), "sonde monitor -t lo", "local\n");
	bash_offers(buf_str(&out), "sonde monitor --count 5", "\n");
	bash_offers(buf_str(&out), "sonde monitor -r /etc/os-relea", "/etc/os-release\n");
	bash_offers(buf_str(&out), "sonde doctor --", "\n");
}

/* Each installed shell reads its script without complaint. */
static void scripts_are_valid(void **state)
{
	(void)state;
	for (enum opt_shell shell = 0; shell < OPT_SHELL__MAX; shell++) {
		_cleanup_(buf_fini) struct buf out = { 0 };
		char command[128];
		FILE *f;

		snprintf(command, sizeof(command), "command -v %s >/dev/null", opt_shell_names[shell]);
		if (system(command))
			continue;
		snprintf(command, sizeof(command), "t=$(mktemp) && cat >$t && %s -n $t; r=$?; rm -f $t; exit $r",
			 opt_shell_names[shell]);
		assert_int_equal(opt_complete(shell, "sonde", commands, 2, &out), 0);
		f = popen(command, "w");
		assert_non_null(f);
		assert_int_equal(fwrite(out.data, 1, out.len, f), out.len);
		assert_int_equal(pclose(f), 0);
	}
}

static void distance_counts_slips(void **state)
{
	char longest[70];

	(void)state;
	memset(longest, 'a', sizeof(longest));
	longest[69] = '\0';
	assert_int_equal(str_distance("count", "count"), 0);
	assert_int_equal(str_distance("count", "cuont"), 1);
	assert_int_equal(str_distance("count", "coun"), 1);
	assert_int_equal(str_distance("count", "counts"), 1);
	assert_int_equal(str_distance("count", "cownt"), 1);
	assert_int_equal(str_distance("kitten", "sitting"), 3);
	assert_int_equal(str_distance("", "abc"), 3);
	assert_int_equal(str_distance("abc", ""), 3);
	assert_true(str_distance(longest, "a") > 1000);
}

static const char *nearest(const char *word)
{
	static const char *const list[] = { "capture", "counters", "agent", "rpc" };
	struct str_near near = { .word = word };

	for (size_t i = 0; i < ARRAY_SIZE(list); i++)
		str_near_offer(&near, list[i]);
	return near.best;
}

static void the_nearest_word_is_offered(void **state)
{
	(void)state;
	assert_string_equal(nearest("captrue"), "capture");
	assert_string_equal(nearest("cou"), "counters");
	assert_string_equal(nearest("rpx"), "rpc");
	assert_null(nearest("rxx"));
	assert_null(nearest("c"));
	assert_null(nearest("profile"));
}

/* Words before a command: options of the sets with their values. */
static void leading_options_are_counted(void **state)
{
	static const struct {
		const char *words[6];
		int n;
	} cases[] = {
		{ { program, "monitor", "-x" }, 0 },
		{ { program, "-x", "--read", "monitor", "monitor" }, 3 },
		{ { program, "-xn5", "--read=f", "--no-dns", "monitor" }, 3 },
		{ { program, "-xn", "5", "monitor" }, 2 },
		{ { program, "--unknown", "monitor" }, 0 },
		{ { program, "-x", "--", "-x" }, 1 },
		{ { program, "--read" }, 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *argv[7] = { 0 };
		int argc = 0;

		for (; argc < 6 && cases[i].words[argc]; argc++)
			argv[argc] = (char *)cases[i].words[argc];
		assert_int_equal(opt_leading(doc_sets, 2, argc, argv), cases[i].n);
	}
}

/* The rows except functions. */
static const struct opt word_rows[] = {
	OPT_ROW(conf, hex, "hex", 'x', OPT_BOOL, NULL, "dump in hex"),
	OPT_ROW(conf, dns, "dns", 0, OPT_BOOL, NULL, "look names up"),
	OPT_ROW(conf, verbose, "verbose", 'v', OPT_COUNT, NULL, "say more"),
	OPT_ROW(conf, count, "count", 'n', OPT_U32, "N", "stop after N events"),
	OPT_ROW(conf, big, "big", 0, OPT_U64, "N", "a large number"),
	OPT_ROW(conf, duration_ns, "duration", 0, OPT_DURATION, "TIME", "stop after this long"),
	OPT_ROW(conf, file, "read", 'r', OPT_STR, "FILE", "read what was recorded"),
	OPT_ROW(conf, pids, "pid", 'p', OPT_U32V, "PID", "only these processes"),
	OPT_ROW(conf, mode, "time", 't', OPT_ENUM, "MODE", "how times are shown", .names = modes),
	OPT_END,
};

/* Words for @c, separated by blanks. */
static int words_of(const struct conf *c, const struct conf *base, char ret[static 256])
{
	const struct opt_set set = { "Options", word_rows, (void *)c };
	_cleanup_(buf_fini) struct buf b = { 0 };
	int r = opt_words(&set, 1, base, &b);

	ret[0] = '\0';
	if (r < 0 || !b.len)
		return r;
	memcpy(ret, b.data, b.len);
	for (size_t i = 0; i + 1 < b.len; i++)
		if (!ret[i])
			ret[i] = ' ';
	return r;
}

static void words_are_what_differs(void **state)
{
	const struct conf base = { .dns = true, .verbose = 1, .count = 9, .duration_ns = 5, .mode = 1, .file = "f" };
	struct conf c = base;
	char words[256];

	(void)state;
	assert_int_equal(words_of(&c, &base, words), 0);
	assert_string_equal(words, "");
	assert_int_equal(words_of(&c, NULL, words), 0);
	assert_string_equal(words, "--dns --verbose --count=9 --duration=5ns --read=f --time=rfc3339");
	c = (struct conf){ .hex = true, .verbose = 3, .big = 7, .file = "g" };
	assert_int_equal(words_of(&c, &base, words), 0);
	assert_string_equal(words, "--hex --no-dns --verbose --verbose --count=0 --big=7 --duration=0ns --read=g "
				   "--time=local");
}

/* opt_parse() of the words and @base restores the configuration that the words came from. */
static void words_are_read_back(void **state)
{
	const struct conf base = { .dns = true, .count = 9, .big = 1, .duration_ns = 5, .mode = 2 };
	const struct conf wanted = { .hex = true, .count = 0, .big = 1, .duration_ns = 0, .mode = 0 };
	struct conf got = base;
	const struct opt_set set = { "Options", word_rows, &got };
	struct opt_strv rest = { 0 };
	char words[256], *argv[16] = { program }, *next = words;
	int argc = 1;

	(void)state;
	assert_int_equal(words_of(&wanted, &base, words), 0);
	while (argc < 16 && (argv[argc] = strsep(&next, " ")))
		argc++;
	assert_int_equal(opt_parse(&set, 1, argc, argv, &rest, NULL, NULL), 0);
	assert_int_equal(rest.len, 0);
	assert_memory_equal(&got, &wanted, sizeof(got));
	opt_strv_fini(&rest);
}

static void no_word_undoes_a_text_or_a_count(void **state)
{
	const struct conf text = { .file = "f" }, count = { .verbose = 1 }, none = { 0 };
	char words[256];

	(void)state;
	assert_int_equal(words_of(&none, &text, words), -ENOTSUP);
	assert_int_equal(words_of(&none, &count, words), -ENOTSUP);
}

/* In a cluster and by either name, before the function of any other row is called. */
static void a_refused_row_names_itself_and_the_way(void **state)
{
	static const struct opt own[] = {
		OPT_REFUSED_ROW("stacks", 'k', NULL, "use profile"),
		OPT_REFUSED_ROW("inject", 0, "EXPR", "use another tool"),
		OPT_CALL_ROW(on_call, "names", 'y', "SET", "names, if asked for", .optional = true),
		OPT_END,
	};
	const struct { char *word; const char *said; } cases[] = {
		{ (char[]){ "-yk" }, "-k (--stacks) is not supported: use profile" },
		{ (char[]){ "--stacks" }, "-k (--stacks) is not supported: use profile" },
		{ (char[]){ "--inject=x" }, "--inject is not supported: use another tool" },
	};
	struct conf conf = { 0 };
	const struct opt_set set = { .opts = own, .conf = &conf };
	struct opt_strv words = { 0 };
	struct err err = { 0 };

	(void)state;
	assert_int_equal(opt_check(&set, 1, &err), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *argv[] = { program, cases[i].word, NULL };

		assert_int_equal(opt_parse(&set, 1, 2, argv, &words, NULL, &err), -EINVAL);
		assert_string_equal(err.msg, cases[i].said);
	}
	opt_strv_fini(&words);
}

/* The value stands behind "=" only: the next word is a word. */
static void an_optional_value_is_not_the_next_word(void **state)
{
	static const struct opt own[] = {
		OPT_CALL_ROW(on_call, "names", 'y', "SET", "names, if asked for", .optional = true), OPT_END,
	};
	struct conf conf = { 0 };
	const struct opt_set set = { .opts = own, .conf = &conf };
	char *bare[] = { program, (char[]){ "-y" }, (char[]){ "all" }, NULL };
	char *given[] = { program, (char[]){ "--names=all" }, NULL };
	struct opt_strv words = { 0 };
	struct err err = { 0 };

	(void)state;
	assert_int_equal(opt_leading(&set, 1, 3, bare), 1);
	assert_int_equal(opt_parse(&set, 1, 3, bare, &words, NULL, &err), 0);
	assert_string_equal(conf.called, "without");
	assert_string_equal(words.items[0], "all");
	assert_int_equal(opt_parse(&set, 1, 2, given, &words, NULL, &err), 0);
	assert_string_equal(conf.called, "all");
	opt_strv_fini(&words);
}

/* The next word is the value, but not the next option and not the end. */
static void a_loose_value_may_be_missing(void **state)
{
	static const struct opt own[] = {
		OPT_CALL_ROW(on_call, "graph", 'g', "HOW", "call graphs", .loose = true), OPT_END,
	};
	struct conf conf = { 0 };
	const struct opt_set set = { .opts = own, .conf = &conf };
	char *last[] = { program, (char[]){ "-g" }, NULL };
	char *before[] = { program, (char[]){ "-g" }, (char[]){ "-gnone" }, NULL };
	char *given[] = { program, (char[]){ "--graph" }, (char[]){ "caller" }, (char[]){ "word" }, NULL };
	struct opt_strv words = { 0 };
	struct err err = { 0 };

	(void)state;
	assert_int_equal(opt_parse(&set, 1, 2, last, &words, NULL, &err), 0);
	assert_string_equal(conf.called, "without");
	assert_int_equal(opt_leading(&set, 1, 3, before), 2);
	assert_int_equal(opt_parse(&set, 1, 3, before, &words, NULL, &err), 0);
	assert_string_equal(conf.called, "none");
	assert_int_equal(words.len, 0);
	assert_int_equal(opt_leading(&set, 1, 4, given), 2);
	assert_int_equal(opt_parse(&set, 1, 4, given, &words, NULL, &err), 0);
	assert_string_equal(conf.called, "caller");
	assert_string_equal(words.items[0], "word");
	opt_strv_fini(&words);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_is_stored),
		cmocka_unit_test(forms_of_getopt_are_understood),
		cmocka_unit_test(mistakes_get_one_sentence),
		cmocka_unit_test(a_bad_list_adds_nothing),
		cmocka_unit_test(an_octal_looking_number_is_decimal),
		cmocka_unit_test(long_lists_grow),
		cmocka_unit_test(help_is_aligned_and_wrapped),
		cmocka_unit_test(man_rows_are_roff),
		cmocka_unit_test(unsound_rows_are_found),
		cmocka_unit_test(every_shell_gets_every_option),
		cmocka_unit_test(bash_completes),
		cmocka_unit_test(scripts_are_valid),
		cmocka_unit_test(distance_counts_slips),
		cmocka_unit_test(the_nearest_word_is_offered),
		cmocka_unit_test(leading_options_are_counted),
		cmocka_unit_test(words_are_what_differs),
		cmocka_unit_test(words_are_read_back),
		cmocka_unit_test(no_word_undoes_a_text_or_a_count),
		cmocka_unit_test(a_refused_row_names_itself_and_the_way),
		cmocka_unit_test(an_optional_value_is_not_the_next_word),
		cmocka_unit_test(a_loose_value_may_be_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
