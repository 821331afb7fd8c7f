// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde compat strace: strace's letters over sonde syscalls. Children are always followed and times always shown.
 */
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/vec.h"
#include "cmd/syscalls/syscalls.h"
#include "compat/compat.h"

struct strace_conf {
	struct syscalls_conf syscalls;
	bool follow, times; /* always so */
};

/* "trace=LIST", "LIST": calls and classes, "!" in front for all but these. */
static int on_expr(void *conf, const char *arg, struct err *err)
{
	struct strace_conf *c = conf;
	size_t len = strcspn(arg, "=");
	bool is_trace = !strncmp(arg, "trace=", 6) || !strncmp(arg, "t=", 2);

	if (arg[len] && !is_trace)
		return err_set(err, -EINVAL,
			       "-e %s: only trace=LIST is honoured; sonde syscalls takes an event "
			       "expression (sonde help filter)",
			       arg);
	if (vec_grow(&c->syscalls.sys.calls) < 0)
		return err_errno(err, -ENOMEM, "-e");
	c->syscalls.sys.calls.items[c->syscalls.sys.calls.len++] = is_trace ? arg + len + 1 : arg;
	return 0;
}

static const struct opt strace_opts[] = {
	OPT_CALL_ROW(on_expr, "expr", 'e', "[trace=]LIST", "calls and classes (%file, %net), ! for all others"),
	OPT_ROW(strace_conf, syscalls.sys.snaplen, "string-limit", 's', OPT_BYTES, "SIZE",
		"bytes of a string (default 32)"),
	OPT_ROW(strace_conf, syscalls.sys.summary, "summary-only", 'c', OPT_BOOL, NULL,
		"a table of calls instead of lines"),
	OPT_ROW(strace_conf, syscalls.run.pids, "attach", 'p', OPT_U32V, "PID", "these processes"),
	OPT_ROW(strace_conf, follow, "follow-forks", 'f', OPT_BOOL, NULL, "children too, which is always so"),
	OPT_ROW(strace_conf, times, "syscall-times", 'T', OPT_BOOL, NULL, "time in calls, which is always shown"),
	OPT_END
};

static size_t strace_sets(void *conf, struct opt_set *ret_sets)
{
	struct strace_conf *c = conf;
	size_t n = syscalls_sets(&c->syscalls, ret_sets + 1);

	ret_sets[0] = (struct opt_set){ .title = "strace", .opts = strace_opts, .conf = c };
	return 1 + n;
}

static int strace_run(void *conf, const struct cmd_words *w)
{
	struct strace_conf *c = conf;

	if (!c->syscalls.run.format && !c->syscalls.sys.summary)
		c->syscalls.run.format = "strace";
	return syscalls_run(&c->syscalls, w);
}

static const struct cmd_example examples[] = {
	{ "sonde compat strace -s 64 ls /", "a command and its children" },
	{ "sonde compat strace -e trace=%file -p 1234", "calls of a process that take paths" },
	{ "sonde compat strace -c make", "a table of calls" },
	{ 0 },
};

static const struct cmd strace_cmd = {
	.name = "compat strace",
	.summary = "system calls in strace's lines",
	.args = "[COMMAND [ARGUMENTS]]",
	.doc = "Takes strace's letters; all else is sonde syscalls. The program is not stopped at its calls.",
	.examples = examples,
	.dialect = true,
	.conf_size = sizeof(struct strace_conf),
	.sets = strace_sets,
	.run = strace_run,
};

static const struct compat_load_error refused[] = {
	{ "absolute-timestamps", 't', "use --time MODE" },
	{ "relative-timestamps", 'r', "use --time delta; sonde syscalls -r FILE reads a capture" },
	{ "decode-fds", 'y', "use sonde syscalls --format '%evt.type %fd.name'" },
	{ "stack-traces", 'k', "sonde takes no stacks of system calls" },
	{ "inject", 0, "sonde changes nothing" },
	{ "failed-only", 'Z', "use sonde syscalls syscall.error exists" },
	{ "successful-only", 'z', "use sonde syscalls not syscall.error exists" },
	{ "trace-path", 'P', "use sonde syscalls fd.name=PATH" },
	{ "summary", 'C', "-c prints the table alone" },
	{ "output-separately", 0, "all processes go to one file" },
	{ 0 },
};

const struct dialect dialect_strace = {
	.tool = "strace",
	.cmd = &strace_cmd,
	.refused = refused,
	.first_word_ends = true,
};
