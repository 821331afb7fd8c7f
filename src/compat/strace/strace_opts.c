// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * strace's options: one row each. "-e NAME=SET" is the option --NAME=SET.
 */
#include "compat/strace/strace_opts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/vec.h"
#include "compat/compat.h"

#define STRINGS_DEFAULT 32
#define STRINGS_MAX 16384
#define COLUMN_DEFAULT 40
#define DIGITS_US 6

void strace_opts_default(struct strace_opts *o)
{
	static const uint8_t columns[] = {
		STRACE_COLUMN_PERCENT, STRACE_COLUMN_TOTAL, STRACE_COLUMN_AVG,	STRACE_COLUMN_CALLS,
		STRACE_COLUMN_ERRORS,  STRACE_COLUMN_NAME,  STRACE_COLUMN_NONE,
	};

	*o = (struct strace_opts){
		.strings = STRINGS_DEFAULT,
		.column = COLUMN_DEFAULT,
		.signals = UINT64_MAX,
		.status = UINT32_MAX,
		.sort = STRACE_COLUMN_TOTAL,
		.relative_digits = DIGITS_US,
		.times_digits = DIGITS_US,
	};
	memcpy(o->columns, columns, sizeof(columns));
	strace_set_calls(&o->trace, "all", NULL);
	strace_set_calls(&o->abbrev, "all", NULL);
}

void strace_opts_fini(struct strace_opts *o)
{
	vec_fini(&o->pids);
	for (size_t i = 0; i < o->resolved.len; i++)
		free((char *)o->resolved.items[i]);
	vec_fini(&o->resolved);
	vec_fini(&o->read.list);
	vec_fini(&o->write.list);
}

/* ---- times ---- */

static int take_digits(const char *option, const char *arg, unsigned *ret, struct err *err)
{
	static const struct {
		const char *name;
		unsigned digits;
	} units[] = {
		{ "s", 0 },
		{ "ms", 3 },
		{ "us", 6 },
		{ "ns", 9 },
	};

	if (!strncmp(arg, "precision:", 10))
		arg += 10;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (strcmp(units[i].name, arg) != 0)
			continue;
		*ret = units[i].digits;
		return 0;
	}
	return err_set(err, -EINVAL, "--%s=%s: expected s, ms, us or ns", option, arg);
}

/* "unix", "format:time", "us", "precision:ns" */
static int take_stamp(struct strace_opts *o, const char *part, struct err *err)
{
	static const struct {
		const char *name;
		enum strace_clock clock;
	} clocks[] = {
		{ "none", STRACE_CLOCK_NONE },
		{ "time", STRACE_CLOCK_TIME },
		{ "unix", STRACE_CLOCK_UNIX },
	};
	const char *name = !strncmp(part, "format:", 7) ? part + 7 : part;

	for (size_t i = 0; i < ARRAY_SIZE(clocks); i++) {
		if (strcmp(clocks[i].name, name) != 0)
			continue;
		o->absolute = clocks[i].clock;
		return 0;
	}
	if (!o->absolute)
		o->absolute = STRACE_CLOCK_TIME;
	return take_digits("absolute-timestamps", part, &o->digits, err);
}

OPT_CALL(on_stamp)
{
	static const struct {
		enum strace_clock clock;
		unsigned digits;
	} by_count[] = {
		{ STRACE_CLOCK_TIME, 0 },
		{ STRACE_CLOCK_TIME, DIGITS_US },
		{ STRACE_CLOCK_UNIX, DIGITS_US },
	};
	struct strace_opts *o = conf;
	size_t i = MIN((size_t)o->stamps, ARRAY_SIZE(by_count) - 1);
	char part[32];
	int r = 0;

	if (!arg) {
		o->absolute = by_count[i].clock;
		o->digits = by_count[i].digits;
		o->stamps++;
		return 0;
	}
	for (size_t len; r >= 0 && *arg; arg += len + (arg[len] == ',')) {
		len = strcspn(arg, ",");
		if (!str_copy(part, sizeof(part), arg, len))
			return err_set(err, -EINVAL, "--absolute-timestamps=%s: expected time, unix or a unit", arg);
		r = take_stamp(o, part, err);
	}
	return r;
}

OPT_CALL(on_relative)
{
	struct strace_opts *o = conf;

	o->relative = true;
	return arg ? take_digits("relative-timestamps", arg, &o->relative_digits, err) : 0;
}

OPT_CALL(on_times)
{
	struct strace_opts *o = conf;

	o->times = true;
	return arg ? take_digits("syscall-times", arg, &o->times_digits, err) : 0;
}

/* ---- selection ---- */

static const struct strace_word status_words[] = {
	{ "successful", STRACE_STATUS_SUCCESSFUL }, { "failed", STRACE_STATUS_FAILED },
	{ "unfinished", STRACE_STATUS_UNFINISHED }, { "unavailable", STRACE_STATUS_UNAVAILABLE },
	{ "detached", STRACE_STATUS_DETACHED },	    { 0 },
};

OPT_CALL(on_status)
{
	return strace_set_words("status", arg, status_words, &((struct strace_opts *)conf)->status, err);
}

OPT_CALL(on_successful)
{
	((struct strace_opts *)conf)->status = STRACE_STATUS_SUCCESSFUL;
	return 0;
}

OPT_CALL(on_failed)
{
	((struct strace_opts *)conf)->status = STRACE_STATUS_FAILED;
	return 0;
}

/* ---- lines ---- */

static const struct strace_word quiet_words[] = {
	{ "attach", STRACE_QUIET_ATTACH },	  { "exit", STRACE_QUIET_EXIT },
	{ "path-resolution", STRACE_QUIET_PATH }, { "path-resolve", STRACE_QUIET_PATH },
	{ "personality", STRACE_QUIET_OTHERS },	  { "thread-execve", STRACE_QUIET_OTHERS },
	{ "superseded", STRACE_QUIET_OTHERS },	  { 0 },
};

OPT_CALL(on_quiet)
{
	struct strace_opts *o = conf;

	if (arg)
		return strace_set_words("quiet", arg, quiet_words, &o->quiet, err);
	o->quiet |= STRACE_QUIET_ATTACH | (o->quiets++ ? STRACE_QUIET_EXIT : 0);
	return 0;
}

static const struct strace_word fds_words[] = {
	{ "path", STRACE_FDS_PATH },
	{ "socket", STRACE_FDS_PATH | STRACE_FDS_SOCKET },
	{ "dev", STRACE_FDS_PATH | STRACE_FDS_DEV },
	{ 0 },
};

OPT_CALL(on_fds)
{
	struct strace_opts *o = conf;

	if (arg)
		return strace_set_words("decode-fds", arg, fds_words, &o->fds, err);
	o->fds |= STRACE_FDS_PATH | (o->names++ ? STRACE_FDS_SOCKET | STRACE_FDS_DEV : 0);
	return 0;
}

OPT_CALL(on_stacks)
{
	if (arg && strcmp(arg, "symbol") != 0)
		return err_set(err, -EINVAL, "--stack-trace=%s is not supported: frames have names by symbol", arg);
	((struct strace_opts *)conf)->stacks = true;
	return 0;
}

OPT_CALL(on_pids)
{
	static const struct strace_word words[] = { { "comm", 1 }, { 0 } };
	struct strace_opts *o = conf;
	unsigned comms = 1;
	int r = 0;

	if (arg && !strcmp(arg, "pidns"))
		return err_set(err, -EINVAL,
			       "--decode-pids=pidns is not supported: ids are those of sonde's namespace");
	if (arg)
		r = strace_set_words("decode-pids", arg, words, &comms, err);
	if (r >= 0)
		o->comms = comms;
	return r;
}

OPT_CALL(on_hex)
{
	static const struct {
		const char *name;
		enum strace_hex hex;
	} words[] = {
		{ "all", STRACE_HEX_ALL },
		{ "non-ascii", STRACE_HEX_STRINGS },
		{ "non-ascii-chars", STRACE_HEX_CHARS },
		{ "none", STRACE_HEX_NONE },
	};
	struct strace_opts *o = conf;

	for (size_t i = 0; arg && i < ARRAY_SIZE(words); i++) {
		if (strcmp(words[i].name, arg) != 0)
			continue;
		o->hex = words[i].hex;
		return 0;
	}
	if (arg)
		return err_set(err, -EINVAL, "--strings-in-hex=%s: expected all, non-ascii or non-ascii-chars", arg);
	o->hex = o->hexes++ ? STRACE_HEX_ALL : STRACE_HEX_STRINGS;
	return 0;
}

OPT_CALL(on_style)
{
	if (!strcmp(arg, "abbrev"))
		return 0;
	return err_set(err, -EINVAL,
		       "-X %s is not supported: constants are printed as names; -e raw=SET prints numbers", arg);
}

OPT_CALL(on_strings)
{
	struct strace_opts *o = conf;
	uint32_t n;

	if (str_to_u32(arg, 10, &n) < 0)
		return err_set(err, -EINVAL, "invalid -s argument: '%s'", arg);
	o->strings = MIN(n, (uint32_t)STRINGS_MAX);
	return 0;
}

/* ---- processes ---- */

/* Numbers between commas and blanks, as pidof(1) and pgrep(1) print them. */
OPT_CALL(on_attach)
{
	struct strace_opts *o = conf;
	char word[16];

	for (size_t len; *(arg += strspn(arg, ", \t\n")); arg += len) {
		len = strcspn(arg, ", \t\n");
		if (vec_grow(&o->pids) < 0)
			return err_errno(err, -ENOMEM, "-p");
		snprintf(word, sizeof(word), "%.*s", (int)MIN(len, sizeof(word)), arg);
		if (len >= sizeof(word) || str_to_u32(word, 10, &o->pids.items[o->pids.len]) < 0 ||
		    !o->pids.items[o->pids.len])
			return err_set(err, -EINVAL, "invalid process id: '%.*s'", (int)len, arg);
		o->pids.len++;
	}
	return 0;
}

OPT_CALL(on_follow)
{
	struct strace_opts *o = conf;

	o->separately = o->separately || o->follow++;
	return 0;
}

OPT_CALL(on_detach)
{
	if (strcmp(arg, "execve") != 0)
		return err_set(err, -EINVAL, "-b %s: only execve is possible", arg);
	((struct strace_opts *)conf)->detach = true;
	return 0;
}

OPT_CALL(on_daemonize)
{
	static const struct {
		const char *name;
		unsigned count;
	} words[] = { { "grandchild", 1 }, { "pgroup", 2 }, { "pgrp", 2 }, { "session", 3 } };
	struct strace_opts *o = conf;

	if (!arg) {
		o->daemonize++;
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcmp(words[i].name, arg) != 0)
			continue;
		o->daemonize = words[i].count;
		return 0;
	}
	return err_set(err, -EINVAL, "--daemonize=%s: expected grandchild, pgroup or session", arg);
}

/* ---- summaries ---- */

static const struct {
	const char *name;
	enum strace_column column;
} column_names[] = {
	{ "time-percent", STRACE_COLUMN_PERCENT }, { "time_percent", STRACE_COLUMN_PERCENT },
	{ "time", STRACE_COLUMN_PERCENT },	   { "total-time", STRACE_COLUMN_TOTAL },
	{ "total_time", STRACE_COLUMN_TOTAL },	   { "min-time", STRACE_COLUMN_MIN },
	{ "min_time", STRACE_COLUMN_MIN },	   { "shortest", STRACE_COLUMN_MIN },
	{ "max-time", STRACE_COLUMN_MAX },	   { "max_time", STRACE_COLUMN_MAX },
	{ "longest", STRACE_COLUMN_MAX },	   { "avg-time", STRACE_COLUMN_AVG },
	{ "avg_time", STRACE_COLUMN_AVG },	   { "calls", STRACE_COLUMN_CALLS },
	{ "count", STRACE_COLUMN_CALLS },	   { "errors", STRACE_COLUMN_ERRORS },
	{ "error", STRACE_COLUMN_ERRORS },	   { "name", STRACE_COLUMN_NAME },
	{ "syscall", STRACE_COLUMN_NAME },	   { "syscall-name", STRACE_COLUMN_NAME },
	{ "syscall_name", STRACE_COLUMN_NAME },	   { "none", STRACE_COLUMN_NONE },
	{ "nothing", STRACE_COLUMN_NONE },
};

static int column_named(const char *text, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(column_names); i++)
		if (strlen(column_names[i].name) == len && !memcmp(column_names[i].name, text, len))
			return (int)column_names[i].column;
	return -EINVAL;
}

OPT_CALL(on_sort)
{
	struct strace_opts *o = conf;
	int column = column_named(arg, strlen(arg));

	if (column < 0)
		return err_set(err, -EINVAL, "invalid sortby: '%s'", arg);
	o->sort = column == STRACE_COLUMN_PERCENT ? STRACE_COLUMN_TOTAL : (unsigned)column;
	return 0;
}

static bool has_column(const uint8_t *columns, size_t n, uint8_t column)
{
	return n && memchr(columns, column, n);
}

OPT_CALL(on_columns)
{
	struct strace_opts *o = conf;
	uint8_t columns[STRACE_COLUMN__MAX] = { 0 };
	size_t n = 0;

	for (size_t len; *arg; arg += len + (arg[len] == ',')) {
		int column;

		len = strcspn(arg, ",");
		column = column_named(arg, len);
		if (column <= 0)
			return err_set(err, -EINVAL, "unknown column name: '%.*s'", (int)len, arg);
		if (has_column(columns, n, (uint8_t)column) || n + 1 >= STRACE_COLUMN__MAX)
			return err_set(err, -EINVAL, "call summary column has been provided more than once: '%.*s'",
				       (int)len, arg);
		columns[n++] = (uint8_t)column;
	}
	if (!has_column(columns, n, STRACE_COLUMN_NAME) && n + 1 < STRACE_COLUMN__MAX)
		columns[n] = STRACE_COLUMN_NAME;
	memcpy(o->columns, columns, sizeof(columns));
	return 0;
}

OPT_CALL(on_always)
{
	struct strace_opts *o = conf;

	o->always = true;
	return 0;
}

/* ---- expressions ---- */

/* "NAME=SET"; a name alone is that of a call. */
OPT_CALL(on_expr)
{
	static const struct {
		const char *name, *option;
	} others[] = {
		{ "t", "trace" },
		{ "a", "abbrev" },
		{ "v", "verbose" },
		{ "x", "raw" },
		{ "s", "signal" },
		{ "signals", "signal" },
		{ "r", "read" },
		{ "reads", "read" },
		{ "w", "write" },
		{ "writes", "write" },
		{ "q", "quiet" },
		{ "silent", "quiet" },
		{ "silence", "quiet" },
		{ "decode-fd", "decode-fds" },
		{ "decode-pid", "decode-pids" },
	};
	static const char *const qualifiers[] = {
		"trace", "abbrev", "verbose", "raw",   "signal",     "read",	    "write",
		"fault", "inject", "status",  "quiet", "decode-fds", "decode-pids", "kvm",    "trace-fds",
	};
	size_t len = strcspn(arg, "=");
	const struct opt *row = NULL;

	if (!arg[len])
		return strace_set_calls(&((struct strace_opts *)conf)->trace, arg, err);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (strlen(others[i].name) == len && !memcmp(others[i].name, arg, len))
			row = opt_named(strace_opts_rows, others[i].option, strlen(others[i].option));
	for (size_t i = 0; !row && i < ARRAY_SIZE(qualifiers); i++)
		if (strlen(qualifiers[i]) == len && !memcmp(qualifiers[i], arg, len))
			row = opt_named(strace_opts_rows, qualifiers[i], len);
	if (!row)
		return err_set(err, -EINVAL, "-e %s: unknown qualifier", arg);
	return row->refused ? opt_refuse(row, err) : row->call((char *)conf + row->off, arg + len + 1, err);
}

#define ROW(member, ...) OPT_ROW(strace_opts, member, __VA_ARGS__)
#define CALL_ROW(...) OPT_CALL_ROW(__VA_ARGS__)
#define PARSE_ROW(member, ...) OPT_PARSE_ROW(strace_opts, member, __VA_ARGS__)

#define NOTHING_CHANGED "sonde observes and changes no call: failures need a fault injector"

const struct opt strace_opts_rows[] = {
	CALL_ROW(on_expr, NULL, 'e', "EXPR", "NAME=SET as the option --NAME, or a set of calls"),
	ROW(env, "env", 'E', OPT_STRV, "VAR[=VAL]", "set or remove a variable of the command"),
	CALL_ROW(on_attach, "attach", 'p', "PID", "these processes; may repeat",
		 .differs = "a process that is attached shows no half of a call; a command is traced apart from -p"),
	ROW(user, "user", 'u', OPT_STR, "NAME", "run the command as this user"),
	CALL_ROW(on_follow, "follow-forks", 'f', NULL, "children too; twice: --output-separately",
		 .differs = "a call is one line, when it returns: none is <unfinished ...>"),
	CALL_ROW(on_follow, NULL, 'F', NULL, "as -f"),
	ROW(separately, "output-separately", 0, OPT_BOOL, NULL, "a file FILE.TID for each thread"),
	PARSE_ROW(trace, strace_set_calls, "trace", 0, "SET",
		  "these calls: names, %classes, /regex, ! for all others",
		  .differs = "@64, @32 and @x32 are refused: the filter syscall.abi has them"),
	CALL_ROW(on_detach, "detach-on", 'b', "execve", "leave a process when it executes a program"),
	CALL_ROW(on_daemonize, "daemonize", 'D', "HOW", "run behind the command, not as its parent",
		 .optional = true),
	PARSE_ROW(signals, strace_set_signals, "signal", 0, "SET", "these signals",
		  .differs = "an ignored signal is not delivered where no tracer stops the process, and not shown"),
	CALL_ROW(on_status, "status", 0, "SET", "calls that ended so",
		 .differs = "no call is unavailable or detached: tracing never ends early"),
	ROW(paths, "trace-path", 'P', OPT_STRV, "PATH", "calls that access PATH",
	    .differs = "PATH and what it resolves to, as the program wrote it or as its descriptor's file is called"),
	CALL_ROW(on_successful, "successful-only", 'z', NULL, "calls without an error"),
	CALL_ROW(on_failed, "failed-only", 'Z', NULL, "calls with an error"),
	ROW(column, "columns", 'a', OPT_U32, "COLUMN", "column of results (40)"),
	PARSE_ROW(abbrev, strace_set_calls, "abbrev", 0, "SET", "short structures for these calls"),
	PARSE_ROW(raw, strace_set_calls, "raw", 0, "SET", "undecoded arguments for these calls"),
	PARSE_ROW(read, strace_set_fds, "read", 0, "SET", "dump data read from these descriptors",
		  .differs = "at most 16384 bytes of a call; vectors are not dumped"),
	PARSE_ROW(write, strace_set_fds, "write", 0, "SET", "dump data written to these descriptors",
		  .differs = "at most 16384 bytes of a call; vectors are not dumped"),
	CALL_ROW(on_quiet, "quiet", 'q', "SET", "fewer messages: attach, exit", .optional = true),
	CALL_ROW(on_fds, "decode-fds", 'y', "SET", "what stands behind descriptors", .optional = true,
		 .differs = "arguments and results, not members of structures; pidfd, eventfd, signalfd are refused"),
	CALL_ROW(on_pids, "decode-pids", 'Y', "SET", "names of processes behind their ids", .optional = true,
		 .differs = "comm only, of processes with events, in arguments and results of calls"),
	ROW(numbers, "syscall-number", 'n', OPT_BOOL, NULL, "numbers of calls",
	    .differs = "lines of signals and ends have that of the last selected call"),
	ROW(ips, "instruction-pointer", 'i', OPT_BOOL, NULL, "instruction pointers at calls"),
	ROW(stacks, "stack-traces", 'k', OPT_BOOL, NULL, "stacks behind calls",
	    .differs = "by the profiler's unwinder, of calls only; names by symbol tables and debug files"),
	CALL_ROW(on_stacks, "stack-trace", 0, "symbol", "as -k", .optional = true),
	ROW(output, "output", 'o', OPT_STR, "FILE", "lines to FILE, or to a command behind |"),
	ROW(append, "output-append-mode", 'A', OPT_BOOL, NULL, "append to FILE"),
	CALL_ROW(on_relative, "relative-timestamps", 'r', "UNIT", "time since the call before", .optional = true),
	CALL_ROW(on_strings, "string-limit", 's', "SIZE", "longest string (32)", .differs = "at most 16384"),
	CALL_ROW(on_stamp, "absolute-timestamps", 't', "FORMAT", "time of day; -tt us, -ttt unix", .optional = true),
	CALL_ROW(on_times, "syscall-times", 'T', "UNIT", "time in calls", .optional = true),
	ROW(full, "no-abbrev", 'v', OPT_BOOL, NULL, "whole structures"),
	CALL_ROW(on_hex, "strings-in-hex", 'x', "WHICH", "strings in hex", .optional = true,
		 .differs = "the long option without a value is -x"),
	CALL_ROW(on_style, "const-print-style", 'X', "FORMAT", "abbrev", .differs = "raw and verbose are refused"),
	ROW(summary, "summary-only", 'c', OPT_BOOL, NULL, "a table of calls in place of lines",
	    .differs = "times are those of the wall clock, as with -w"),
	ROW(lines_too, "summary", 'C', OPT_BOOL, NULL, "a table behind the lines",
	    .differs = "times are those of the wall clock, as with -w"),
	CALL_ROW(on_sort, "summary-sort-by", 'S', "COLUMN", "sort the table by this column"),
	CALL_ROW(on_columns, "summary-columns", 'U', "COLUMNS", "columns of the table"),
	CALL_ROW(on_always, "summary-wall-clock", 'w', NULL, "times of the wall clock", .differs = "always so"),
	CALL_ROW(on_always, "summary-syscall-overhead", 'O', "TIME", "time to subtract from each call",
		 .differs = "ignored: no stop of a tracer is in the times"),
	CALL_ROW(on_always, "interruptible", 'I', "HOW", "signals that end the run",
		 .differs = "ignored: sonde blocks no signals, ^C ends it and the command"),
	CALL_ROW(on_always, "seccomp-bpf", 0, NULL, "no stop at calls that are not traced",
		 .differs = "always so: programs do not stop at any call"),
	CALL_ROW(on_always, "help", 'h', NULL, "this list"),
	ROW(version, "version", 'V', OPT_BOOL, NULL, "print the version", .differs = "it is sonde's"),
	REFUSED("verbose", 0, "SET", "use -e raw=SET for calls whose arguments are not wanted"),
	REFUSED("kvm", 0, "vcpu", "sonde has no events of virtual machines"),
	REFUSED("inject", 0, "EXPR", NOTHING_CHANGED),
	REFUSED("fault", 0, "EXPR", NOTHING_CHANGED),
	REFUSED("trace-fds", 0, "SET", "use sonde syscalls --where 'fd.num in (0, 1)'"),
	REFUSED("syscall-limit", 0, "LIMIT", "use sonde syscalls -n LIMIT --format strace"),
	REFUSED("stack-trace-frame-limit", 0, "LIMIT", "stacks are whole"),
	REFUSED("always-show-pid", 0, NULL, "use sonde syscalls --format strace, whose lines have it"),
	REFUSED("argv0", 0, "NAME", "use exec -a NAME in a shell"),
	REFUSED("kill-on-exit", 0, NULL, "sonde ends no process but the command that it started"),
	REFUSED("debug", 'd', NULL, "use sonde syscalls -v for counts and sonde doctor for what works"),
	REFUSED("tips", 0, "FORMAT", "use sonde syscalls --help all", .optional = true),
	OPT_END
};
