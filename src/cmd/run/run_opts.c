// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The options that commands share: one table, the same letter and meaning everywhere.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/vec.h"
#include "cmd/run/run.h"
#include "cmd/run/run_query.h"
#include "cmd/run/run_store.h"
#include "event/event.h"
#include "scap/render.h"
#include "scap/state/view.h"
#include "sinks/sink.h"

static const char *const time_names[] = {
	[TIME_LOCAL] = "local", [TIME_RFC3339] = "rfc3339", [TIME_EPOCH] = "epoch", [TIME_DELTA] = "delta",
	[TIME_REL] = "rel",	[TIME_MONO] = "mono",	    [TIME_NONE] = "none",   NULL,
};
_Static_assert(ARRAY_SIZE(time_names) == TIME__MAX + 1, "a name per time mode");

const char *const run_color_names[] = {
	[RUN_COLOR_AUTO] = "auto",
	[RUN_COLOR_ALWAYS] = "always",
	[RUN_COLOR_NEVER] = "never",
	NULL,
};
_Static_assert(ARRAY_SIZE(run_color_names) == RUN_COLOR__MAX + 1, "a name per colour mode");

static const char *const data_names[] = {
	[SCAP_BUFFER_DOTS] = "dots",	       [SCAP_BUFFER_ASCII] = "ascii",	[SCAP_BUFFER_HEX] = "hex",
	[SCAP_BUFFER_HEX_ASCII] = "hex-ascii", [SCAP_BUFFER_BASE64] = "base64", NULL,
};
_Static_assert(ARRAY_SIZE(data_names) == SCAP_BUFFER__MAX + 1, "a name per form");

/* ---- --rotate ---- */

static int bad_rotation(const char *part, size_t len, struct err *err)
{
	return err_set(err, -EINVAL,
		       "--rotate %.*s: expected size=100M, time=1h, events=N or files=N, separated by "
		       "commas",
		       (int)MIN(len, (size_t)64), part);
}

static int take_rotation(struct run_conf *c, const char *name, const char *value)
{
	if (!value[strspn(value, "0")]) /* empty or zero */
		return -EINVAL;
	if (!strcmp(name, "size"))
		return str_to_bytes(value, &c->rotate_bytes);
	if (!strcmp(name, "time"))
		return str_to_duration_ns(value, &c->rotate_ns);
	if (!strcmp(name, "events"))
		return str_to_u64(value, 10, &c->rotate_events);
	if (strcmp(name, "files") != 0)
		return -EINVAL;
	return str_to_u32(value, 10, &c->rotate_files);
}

static int on_rotate(void *conf, const char *arg, struct err *err)
{
	char part[64], *value;

	while (*arg) {
		size_t len = strcspn(arg, ",");

		if (!str_copy(part, sizeof(part), arg, len))
			return bad_rotation(arg, len, err);
		value = strchr(part, '=');
		if (!value)
			return bad_rotation(arg, len, err);
		*value++ = '\0';
		if (take_rotation(conf, part, value) < 0)
			return bad_rotation(arg, len, err);
		arg += len + (arg[len] == ',');
	}
	return 0;
}

/* ---- times ---- */

static int on_since(void *conf, const char *arg, struct err *err)
{
	return run_query_take_time("since", arg, &((struct run_conf *)conf)->since_ns, err);
}

static int on_until(void *conf, const char *arg, struct err *err)
{
	return run_query_take_time("until", arg, &((struct run_conf *)conf)->until_ns, err);
}

/* ---- the table ---- */

#define ROW(member, ...) OPT_ROW(run_conf, member, __VA_ARGS__)

#define PID_ROW ROW(pids, "pid", 'p', OPT_U32V, "PID", "these processes", .more = "comma separated, may repeat")
#define INTERFACE_ROW \
	ROW(ifaces, "interface", 'i', OPT_STRV, "IFACE", "these interfaces: names or patterns (veth*)", \
	    .more = "comma separated, may repeat; interfaces that appear later are included")
#define WHERE_ROWS \
	ROW(netns, "netns", 0, OPT_STRV, "NS", "network namespace: name, glob, path, pid, or all", \
	    .more = "an inode number works too; may repeat; of system calls and RPCs that of the process, not of " \
		    "its socket"), \
		ROW(containers, "container", 0, OPT_STRV, "ID", "this container, by the start of its id", \
		    .more = "may repeat"), \
		ROW(cgroups, "cgroup", 0, OPT_STRV, "PATH", "this cgroup: path below the mount, or id", \
		    .more = "may repeat"), \
		ROW(wheres, "where", 0, OPT_STRV, "EXPR", "events for which EXPR is true (help filter)", \
		    .more = "may repeat, all must hold; the kernel evaluates the parts that it can, which " \
			    "--explain-filter prints")

static const struct opt select_opts[] = { PID_ROW, WHERE_ROWS, OPT_END };
static const struct opt packet_select_opts[] = { PID_ROW, INTERFACE_ROW, WHERE_ROWS, OPT_END };

#define FILE_ROWS \
	ROW(outputs, "output", 'o', OPT_STRV, "FORMAT[:FILE]", "output format and file (help outputs)", \
	    .more = "a FILE whose suffix names a format is enough; may repeat"), \
		ROW(write, "write", 'w', OPT_STR, "FILE", "write the format that the suffix of FILE names", \
		    .more = "else pcapng for capture, scap for syscalls, rec for the others; - is standard output"), \
		ROW(read, "read", 'r', OPT_STR, "FILE", "read a recording, store or capture; - is stdin"), \
		ROW(json, "json", 'j', OPT_BOOL, NULL, "one JSON object per line, as -o json"), \
		OPT_CALL_ROW(on_rotate, "rotate", 0, "SPEC", "new file by size=100M,time=1h,events=N,files=N", \
			     .more = "files=N overwrites the first of N files; % in FILE as in strftime(3)"), \
		ROW(verbose, "verbose", 'v', OPT_COUNT, NULL, "more detail; -vv dissects packets"), \
		ROW(quiet, "quiet", 'q', OPT_BOOL, NULL, "no ready message, progress or summary"), \
		ROW(color, "color", 0, OPT_ENUM, "WHEN", "colours in text", .names = run_color_names)

#define FORMAT_ROW \
	ROW(format, "format", 0, OPT_STR, "FORMAT", "lines as cilium, strace or sysdig, or by %fields", \
	    .more = "%proc.name and the like are replaced by the field (sonde help events lists them)")
#define DATA_ROW ROW(data, "data", 0, OPT_ENUM, "FORM", "packet and I/O bytes", .names = data_names)
#define TIME_ROWS \
	ROW(time, "time", 0, OPT_ENUM, "MODE", "time column", .names = time_names), \
		ROW(numeric, "numeric", 0, OPT_BOOL, NULL, "numbers instead of names")

static const struct opt output_opts[] = { FILE_ROWS, OPT_END };
static const struct opt line_output_opts[] = { FILE_ROWS, FORMAT_ROW, DATA_ROW, TIME_ROWS, OPT_END };
static const struct opt no_bytes_output_opts[] = { FILE_ROWS, FORMAT_ROW, TIME_ROWS, OPT_END };

static const struct opt end_opts[] = {
	ROW(count, "count", 'n', OPT_U64, "COUNT", "stop after COUNT events", .not_zero = true),
	ROW(duration_ns, "duration", 0, OPT_DURATION, "TIME", "stop after TIME (10s, 5m)", .not_zero = true),
	OPT_END,
};

/* Global options: accepted before the command too. */
static const struct opt global_opts[] = {
	ROW(agent, "agent", 0, OPT_MAYBE, "PATH|no", "use the agent at PATH; no: load probes in this process",
	    .more = "the default is the agent at /run/sonde/read.sock if it runs"),
	ROW(host_root, "host-root", 0, OPT_STR, "DIR", "where the host's file system is mounted in a container"),
	ROW(btf, "btf", 0, OPT_STR, "FILE", "copy of the kernel's BTF, if /sys hides it"),
	ROW(ring_bytes, "ring-size", 0, OPT_BYTES, "SIZE", "ring buffer per CPU (default 4M)",
	    .more = "the default is smaller on hosts with many CPUs or little memory"),
	ROW(latency_ns, "latency", 0, OPT_DURATION, "TIME", "longest delay before an event is shown (default 50ms)"),
	ROW(explain_filter, "explain-filter", 0, OPT_BOOL, NULL, "print what the kernel evaluates, and exit"),
	ROW(probes, "probe", 0, OPT_STRV, "NAME", "load this probe too; may repeat (sonde probes lists them)"),
	OPT_CALL_ROW(on_since, "since", 0, "TIME", "with -r: events from TIME on (10m ago, 14:30, @seconds)",
		     .more = "also as \"2026-11-24 14:30:05\"; a store reads only the blocks around it"),
	OPT_CALL_ROW(on_until, "until", 0, "TIME", "with -r: events up to TIME"),
	ROW(follow, "follow", 0, OPT_BOOL, NULL, "with -r: wait for what is being written to a store"),
	RUN_STORE_ROWS,
	ROW(symfs, "symfs", 0, OPT_STR, "DIR", "with -r: also read files below DIR for names",
	    .more = "only those with the build id of the recorded mapping; without it all names are the recording's"),
	ROW(symbols, "symbols", 0, OPT_BOOL, NULL, "resolve addresses of user stacks in JSON"),
	OPT_END,
};

/* Habits of tcpdump, strace and perf. */
static const struct opt_hint hints[] = {
	{ "-c", "interface", "-n COUNT stops after COUNT events" },
	{ "-nn", "numeric", "--numeric prints numbers instead of names" },
	{ "-t", "time", "--time MODE sets the time column: none, epoch, delta, rfc3339" },
	{ "-A", "interface", "--data ascii shows the bytes of packets" },
	{ "-x", "interface", "--data hex shows the bytes of packets" },
	{ "-X", "interface", "--data hex-ascii shows the bytes of packets" },
	{ "-e", "interface", "-vv prints all headers of a packet" },
	{ "-l", "interface", "lines are written as soon as they are there" },
	{ "-D", "interface", "ip link lists the interfaces" },
	{ "-C", "rotate", "--rotate size=100M,files=10 begins new files" },
	{ "-G", "rotate", "--rotate time=1h begins new files" },
	{ "-W", "rotate", "--rotate size=100M,files=10 begins new files" },
	{ "-e", "pushdown", "syscall.name=openat selects calls; sonde compat strace takes -e" },
	{ "-f", "pushdown", "descendants of a command behind -- are followed anyway" },
	{ "-a", "stacks", "all processes are sampled unless -p or a command selects some" },
	{ "-g", "stacks", "stacks are recorded anyway" },
	{ NULL },
};

size_t run_sets(struct run_conf *c, unsigned flags, struct opt_set *ret_sets)
{
	const struct opt *select = flags & RUN_PACKETS ? packet_select_opts : select_opts;
	const struct opt *lines = flags & RUN_NO_BYTES ? no_bytes_output_opts : line_output_opts;
	const struct opt *output = flags & RUN_LINES ? lines : output_opts;

	ret_sets[0] = (struct opt_set){ .title = "Select", .opts = select, .conf = c };
	ret_sets[1] = (struct opt_set){ .title = "Output", .opts = output, .conf = c, .hints = hints };
	ret_sets[2] = (struct opt_set){ .title = "End", .opts = end_opts, .conf = c };
	ret_sets[3] = run_global_set(c);
	return 4;
}

struct opt_set run_global_set(struct run_conf *c)
{
	return (struct opt_set){ .title = "Global", .opts = global_opts, .conf = c, .global = true };
}

/* Joins them by "and". A single filter keeps its text, so messages quote it as typed. */
static int join_filters(struct run_conf *c, const char *words, struct buf *mem)
{
	const size_t n = c->wheres.len + (c->where != NULL) + (words != NULL);
	const char *open = n > 1 ? "(" : "", *close = n > 1 ? ")" : "";

	if (!n)
		return 0;
	if (words)
		buf_printf(mem, "%s%s%s", open, words, close);
	for (size_t i = 0; i < c->wheres.len; i++)
		buf_printf(mem, "%s%s%s%s", mem->len ? " and " : "", open, c->wheres.items[i], close);
	if (c->where)
		buf_printf(mem, "%s%s%s%s", mem->len ? " and " : "", open, c->where, close);
	c->where = buf_str(mem);
	return buf_error(mem);
}

static int add_write(struct run_conf *c, const char *format, struct buf *mem)
{
	const struct sink_ops *named = c->write ? sink_find_suffix(c->write) : NULL;

	if (!c->write)
		return 0;
	if (c->write_format || named)
		format = c->write_format ? c->write_format : named->name;
	buf_printf(mem, "%s:%s", format, c->write);
	if (buf_error(mem) < 0 || vec_push(&c->outputs, buf_str(mem)) < 0)
		return -ENOMEM;
	return 0;
}

static bool is_folder(const char *path)
{
	struct stat st;

	return path && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* A word that no expression begins with is probably a command: sonde syscalls ls */
static const char *name_of_filter(const char *words)
{
	const size_t len = strcspn(words, " ");

	return strcspn(words, ".=!<>(\"'") < len || !strncmp(words, "not ", 4)
		       ? "filter" : "filter (a command goes behind --)";
}

int run_settle(struct run_conf *c, const char *words, const char *format, struct run_texts *mem, struct err *err)
{
	if ((c->since_ns || c->until_ns) && !c->read)
		return err_set(err, -EINVAL, "--since and --until select from a recording: -r names it");
	if (c->follow && !is_folder(c->read))
		return err_set(err, -EINVAL, "--follow waits for records of a store: -r DIR names it");
	if (join_filters(c, words, &mem->where) < 0 || add_write(c, format, &mem->write) < 0)
		return err_errno(err, -ENOMEM, "cannot take the options");
	c->where_name = words ? name_of_filter(words) : NULL;
	return 0;
}

void run_texts_fini(struct run_texts *t)
{
	buf_fini(&t->where);
	buf_fini(&t->write);
}

char *run_join_words(const struct opt_strv *words)
{
	struct buf b = { 0 };

	if (!words->len)
		return NULL;
	for (size_t i = 0; i < words->len; i++)
		buf_printf(&b, "%s%s", i ? " " : "", words->items[i]);
	if (buf_add_char(&b, '\0') < 0)
		buf_fini(&b);
	return b.data;
}
