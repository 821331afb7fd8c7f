// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde compat perf trace: perf trace's command line over sonde syscalls.
 */
#include <errno.h>
#include <fnmatch.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/vec.h"
#include "cmd/child.h"
#include "cmd/cmd.h"
#include "cmd/syscalls/syscalls.h"
#include "compat/compat.h"
#include "compat/perf/perf_calls.h"
#include "compat/perf/perf_input.h"
#include "compat/perf/perf_opts.h"
#include "probes/sys/sys_table.h"
#include "sinks/outfile.h"

struct trace_conf {
	struct perf_calls calls;
	struct syscalls_conf syscalls;
	bool all_cpus, summary_only, no_inherit, show_comm, show_syscalls;
	struct opt_u32v pids, tids, not_pids;
	struct opt_strv cpus;
	const char *uid, *output;

	/* while it runs */
	struct child_opts child;
	uint32_t pid;	 /* of the command; 0 = none */
	int wait_status; /* of the command; -1 = none has ended */
	struct buf names, where;
};

/* Adds the calls that the pattern matches; 0 = none does. */
static unsigned add_matching(const char *pattern, bool negated, struct buf *names)
{
	unsigned found = 0;

	for (unsigned i = 0; i < sys_n_calls; i++) {
		if (fnmatch(pattern, sys_calls[i].name, 0) != 0)
			continue;
		buf_printf(names, "%s%s%s", names->len ? "," : "", negated ? "!" : "", sys_calls[i].name);
		found++;
	}
	return found;
}

/* "open*,close", "!read", "file"; an event of another kind has a colon. */
OPT_CALL(on_expr)
{
	struct trace_conf *c = conf;
	const char *list = arg, *word;
	bool negated = *list == '!';
	size_t len;

	list += negated;
	while ((word = str_next_word(&list, &len))) {
		_cleanup_free_ char *name = strndup(word, len);

		if (!name)
			return err_errno(err, -ENOMEM, "-e");
		if (strchr(name, ':'))
			return err_set(err, -EINVAL,
				       "-e %s is not supported: perf trace shows system calls; sonde "
				       "syscalls --events has signals, faults and switches",
				       name);
		if (!strcmp(name, "file") || !strcmp(name, "network") || !strcmp(name, "memory"))
			buf_printf(&c->names, "%s%s%%%s", c->names.len ? "," : "", negated ? "!" : "", name);
		else if (!add_matching(name, negated, &c->names))
			return err_set(err, -EINVAL, "-e %s: no such system call", name);
	}
	return buf_error(&c->names) ? err_errno(err, -ENOMEM, "-e") : 0;
}

OPT_CALL(on_duration)
{
	struct trace_conf *c = conf;
	char *end;
	double ms = strtod(arg, &end);

	if (*end || end == arg || ms < 0 || ms > 1e12)
		return err_set(err, -EINVAL, "--duration %s: expected milliseconds", arg);
	c->calls.min_ns = (uint64_t)(ms * 1e6);
	return 0;
}

#define ROW(member, ...) OPT_ROW(trace_conf, member, __VA_ARGS__)

#define NO_STACKS "sonde takes no stacks of calls: sonde profile --mode off-cpu has stacks of waits"
#define NO_TRACEPOINTS "perf trace shows system calls: sonde monitor and sonde profile show the rest"
#define FAULTS "use sonde syscalls --events fault"

static const struct opt trace_opts[] = {
	ROW(summary_only, "summary", 's', OPT_BOOL, NULL, "calls, errors and times by thread, in place of lines"),
	ROW(calls.summary, "with-summary", 'S', OPT_BOOL, NULL, "the same behind the lines"),
	ROW(calls.errnos, "errno-summary", 0, OPT_BOOL, NULL, "numbers of each error in the summary"),
	OPT_CALL_ROW(on_expr, "event", 'e', "CALLS",
		     "these calls: names, patterns, groups; a leading ! for all others",
		     .differs = "system calls; groups are file, network and memory"),
	OPT_CALL_ROW(on_expr, "expr", 0, "CALLS", "as -e",
		     .differs = "system calls; groups are file, network and memory"),
	ROW(all_cpus, "all-cpus", 'a', OPT_BOOL, NULL, "all processes"),
	ROW(pids, "pid", 'p', OPT_U32V, "PID", "these processes and their children"),
	ROW(tids, "tid", 't', OPT_U32V, "TID", "these threads"),
	ROW(uid, "uid", 'u', OPT_STR, "USER", "processes of this user"),
	ROW(cpus, "cpu", 'C', OPT_STRV, "CPU", "calls that returned on these CPUs, as 0,3",
	    .differs = "numbers, no ranges"),
	ROW(syscalls.run.cgroups, "cgroup", 'G', OPT_STRV, "PATH", "this cgroup",
	    .differs = "a path of the unified hierarchy, for all events"),
	ROW(not_pids, "filter-pids", 0, OPT_U32V, "PID", "not these processes"),
	ROW(no_inherit, "no-inherit", 0, OPT_BOOL, NULL, "not their children"),
	OPT_CALL_ROW(on_duration, "duration", 0, "MS", "calls of at least MS milliseconds"),
	ROW(calls.failed, "failure", 0, OPT_BOOL, NULL, "calls that failed"),
	ROW(syscalls.run.count, "max-events", 0, OPT_U64, "N", "stop after N calls"),
	ROW(syscalls.run.read, "input", 'i', OPT_STR, "FILE", "calls of a recording",
	    .differs = "a recording or capture of sonde, not a file of perf"),
	ROW(output, "output", 'o', OPT_STR, "FILE", "lines and summary to FILE (standard error)"),
	ROW(calls.full_time, "time", 'T', OPT_BOOL, NULL, "times since boot, not since the first call"),
	ROW(show_comm, "comm", 0, OPT_BOOL, NULL, "names in front of thread ids (--no-comm: not)"),
	ROW(show_syscalls, "syscalls", 0, OPT_BOOL, NULL, "system calls", .differs = "there is nothing else to show"),
	PERF_IGNORED("force", 'f', NULL, "read files of other users", "always so"),
	PERF_IGNORED("verbose", 'v', NULL, "more messages", "ignored: the lines stay the same"),
	PERF_IGNORED("mmap-pages", 'm', "PAGES", "size of rings", "ignored: --ring-size sets it"),
	PERF_IGNORED("proc-map-timeout", 0, "MS", "limit of reading maps", "ignored: the kernel reports mappings"),
	PERF_IGNORED("sort-events", 0, NULL, "events in the order of their time", "always so"),
	REFUSED("delay", 'D', "MS", "start sonde later: sleep 1; sonde compat perf trace -p PID"),
	REFUSED("pf", 'F', "WHICH", FAULTS),
	REFUSED("sched", 0, NULL, "use sonde top, which shows run and wait times of processes"),
	REFUSED("filter", 0, "FILTER", "use --where EXPR (sonde help filter)"),
	REFUSED("call-graph", 0, "MODE", NO_STACKS),
	REFUSED("kernel-syscall-graph", 0, NULL, NO_STACKS),
	REFUSED("max-stack", 0, "N", NO_STACKS),
	REFUSED("min-stack", 0, "N", NO_STACKS),
	REFUSED("print-sample", 0, NULL, "use sonde syscalls -o json"),
	REFUSED("tool_stats", 0, NULL, "use sonde syscalls -v for counts"),
	REFUSED("libtraceevent_print", 0, NULL, NO_TRACEPOINTS),
	REFUSED("map-dump", 0, "MAP", "use bpftool map dump"),
	REFUSED("switch-on", 0, "EVENT", NO_TRACEPOINTS),
	REFUSED("switch-off", 0, "EVENT", NO_TRACEPOINTS),
	REFUSED("show-on-off-events", 0, NULL, NO_TRACEPOINTS),
	OPT_END
};

static size_t trace_sets(void *conf, struct opt_set *ret_sets)
{
	struct trace_conf *c = conf;

	c->show_comm = c->show_syscalls = true;
	ret_sets[0] = (struct opt_set){ .title = "trace", .opts = trace_opts, .conf = c };
	return 1 + syscalls_sets(&c->syscalls, ret_sets + 1);
}

/* ---- the selection ---- */

static void add_numbers(const char *what, const struct opt_u32v *v, struct buf *where)
{
	if (!v->len)
		return;
	buf_printf(where, "%s%s in (", where->len ? " and " : "", what);
	for (size_t i = 0; i < v->len; i++)
		buf_printf(where, "%s%u", i ? ", " : "", v->items[i]);
	buf_add_char(where, ')');
}

static int add_cpus(const struct opt_strv *cpus, struct buf *where, struct err *err)
{
	struct opt_u32v list = { 0 };
	int r = 0;

	for (size_t i = 0; r >= 0 && i < cpus->len; i++) {
		const char *rest = cpus->items[i], *word;
		size_t len;

		while (r >= 0 && (word = str_next_word(&rest, &len))) {
			char text[16] = "";

			if (len < sizeof(text))
				memcpy(text, word, len);
			if (vec_grow(&list) < 0 || str_to_u32(text, 10, &list.items[list.len]) < 0)
				r = err_set(err, -EINVAL, "-C %s: expected CPU numbers as in 0,3", cpus->items[i]);
			list.len++;
		}
	}
	if (r >= 0)
		add_numbers("evt.cpu", &list, where);
	vec_fini(&list);
	return r;
}

static int add_user(const char *uid, struct buf *where, struct err *err)
{
	const struct passwd *pw = uid ? getpwnam(uid) : NULL;
	uint32_t n = 0;

	if (!uid)
		return 0;
	if (!pw && str_to_u32(uid, 10, &n) < 0)
		return err_set(err, -EINVAL, "-u %s: no such user", uid);
	buf_printf(where, "%suser.uid=%u", where->len ? " and " : "", pw ? pw->pw_uid : n);
	return 0;
}

static int add_wheres(struct trace_conf *c, struct err *err)
{
	struct opt_strv *wheres = &c->syscalls.run.wheres;
	int r;

	add_numbers("thread.tid", &c->tids, &c->where);
	add_numbers("not proc.pid", &c->not_pids, &c->where);
	r = add_cpus(&c->cpus, &c->where, err);
	if (r >= 0)
		r = add_user(c->uid, &c->where, err);
	if (r < 0 || !c->where.len)
		return r;
	if (buf_error(&c->where) || vec_push(wheres, buf_str(&c->where)) < 0)
		return err_errno(err, -ENOMEM, "cannot begin");
	return 0;
}

static int add_pids(struct trace_conf *c)
{
	struct run_conf *run = &c->syscalls.run;
	struct opt_u32v *to = c->no_inherit || run->read ? &run->pids : &run->trees;

	for (size_t i = 0; i < c->pids.len; i++) {
		if (vec_push(to, c->pids.items[i]) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int add_calls(struct trace_conf *c)
{
	struct opt_strv *calls = &c->syscalls.sys.calls;

	if (!c->names.len)
		return 0;
	return vec_push(calls, buf_str(&c->names));
}

/* ---- the run ---- */

static int check(const struct trace_conf *c, const struct cmd_words *w, struct err *err)
{
	if (w->command.len && !strcmp(w->command.items[0], "record"))
		return err_set(err, -EINVAL,
			       "perf trace record is not supported: use sonde syscalls -w FILE, which "
			       "perf trace -i FILE of sonde compat reads");
	if (!c->show_syscalls)
		return err_set(err, -EINVAL, "--no-syscalls leaves nothing to show: " FAULTS);
	if (w->command.len && c->syscalls.run.read)
		return err_set(err, -EINVAL, "-i and a command exclude each other");
	return 0;
}

static void set_up(struct trace_conf *c)
{
	struct syscalls_conf *s = &c->syscalls;

	c->calls.no_lines = c->summary_only || (c->calls.errnos && !c->calls.summary);
	c->calls.summary = c->calls.summary || c->calls.no_lines;
	c->calls.no_comm = !c->show_comm;
	c->calls.no_threads = c->no_inherit && !c->all_cpus && c->pids.len + c->tids.len < 2;
	c->calls.only = c->no_inherit ? &c->pid : NULL;
	c->child = (struct child_opts){
		.ret_pid = &c->pid,
		.ret_wait = &c->wait_status,
		.aside = c->all_cpus || c->pids.len || c->tids.len || c->uid || c->cpus.len,
	};
	if (c->child.aside)
		c->calls.only = NULL;
	s->sys.summary = false;
	s->sys.snaplen = MAX(s->sys.snaplen, (uint64_t)1024);
	if (c->calls.failed)
		s->sys.result = SYS_RESULT_FAILED;
	s->child = &c->child;
	s->ready = "";
	s->watcher = &perf_calls_sink;
	s->watcher_ctx = &c->calls;
}

static int prepare(struct trace_conf *c, const struct cmd_words *w, struct err *err)
{
	int r = check(c, w, err);

	if (r >= 0 && c->syscalls.run.read)
		r = perf_input_name(&c->syscalls.run, err);
	if (r >= 0)
		r = add_wheres(c, err);
	if (r >= 0 && (add_pids(c) < 0 || add_calls(c) < 0))
		r = err_errno(err, -ENOMEM, "cannot begin");
	if (r >= 0)
		r = outfile_open(c->output ? c->output : "/dev/stderr", &c->calls.out, err);
	if (r >= 0)
		set_up(c);
	return r;
}

/* perf trace does not end with the status of the command. */
static int own_status(const struct trace_conf *c, int status)
{
	const int w = c->wait_status;
	const int commands = WIFSIGNALED(w) ? CMD_BY_SIGNAL + WTERMSIG(w) : WEXITSTATUS(w);

	return w != -1 && status == commands ? CMD_OK : status;
}

static int trace_run(void *conf, const struct cmd_words *w)
{
	struct trace_conf *c = conf;
	struct err err = { 0 };
	int r = prepare(c, w, &err), status;

	if (r < 0) {
		status = cmd_fail(r, &err);
	} else {
		c->wait_status = -1;
		status = own_status(c, syscalls_run(&c->syscalls, w));
	}
	outfile_free(c->calls.out);
	vec_fini(&c->syscalls.run.trees);
	buf_fini(&c->names);
	buf_fini(&c->where);
	return status;
}

static const struct cmd_example examples[] = {
	{ "sonde compat perf trace ls", "calls of a command" },
	{ "sonde compat perf trace -s -p 1234 -- sleep 10", "a process for ten seconds, as a summary" },
	{ "sonde compat perf trace -e 'open*' --max-events 4", "the next four" },
	{ 0 },
};

static const struct cmd trace_cmd = {
	.name = "compat perf trace",
	.summary = "system calls in perf trace's lines and summary",
	.args = "[COMMAND [ARGUMENTS]]",
	.doc = "Prints system calls as perf trace does, or with -s its summary of each thread. Values of arguments "
	       "are those of sonde syscalls --format strace; a call is one line, when it returns.",
	.examples = examples,
	.dialect = true,
	.conf_size = sizeof(struct trace_conf),
	.sets = trace_sets,
	.run = trace_run,
};

const struct dialect dialect_perf_trace = {
	.tool = "perf",
	.verb = "trace",
	.cmd = &trace_cmd,
	.native = "syscalls",
	.first_word_ends = true,
};
