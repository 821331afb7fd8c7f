// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde syscalls: system calls with their arguments, of the host, of some processes or of one command.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/pipeline.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "cmd/cmd.h"
#include "cmd/run.h"
#include "event/event.h"
#include "probe/probe.h"
#include "probes/sys/sys.h"

struct syscalls_conf {
	struct run_conf run;
	struct sys_conf sys;
	bool strace;
};

static const struct opt syscalls_opts[] = {
	{ .name = "strace", .kind = OPT_BOOL, .off = offsetof(struct syscalls_conf, strace),
	  .help = "lines as strace -f -T prints them, as --format strace" },
	OPT_END,
};

static size_t syscalls_sets(void *conf, struct opt_set *ret_sets)
{
	struct syscalls_conf *c = conf;

	c->sys = sys_conf_default;
	ret_sets[0] = (struct opt_set){ "System calls", probe_find("sys")->opts, &c->sys };
	ret_sets[1] = (struct opt_set){ "Lines", syscalls_opts, c };
	return 2 + run_sets(&c->run, ret_sets + 2);
}

/* Says what is decided where. */
static int explain(const struct syscalls_conf *c)
{
	struct buf b = { 0 };
	bool failed;

	if (c->sys.calls.len)
		buf_printf(&b, "The kernel looks at the calls of --syscall only.\n");
	else
		buf_printf(&b, "Every system call is looked at in the kernel.\n");
	if (c->sys.result)
		buf_printf(&b, "--result is decided in the kernel.\n");
	if (c->sys.min_latency_ns)
		buf_printf(&b, "--slower is decided in the kernel.\n");
	if (c->run.pids.len || c->run.comms.len || c->run.cgroups.len)
		buf_printf(&b, "--pid, --comm and --cgroup are decided in the kernel.\n");
	if (c->run.where)
		buf_printf(&b, "--where is decided in user space.\n");
	failed = buf_error(&b) < 0 || fwrite(b.data, 1, b.len, stdout) != b.len;
	buf_fini(&b);
	return failed ? CMD_FAIL : CMD_OK;
}

/* Trailing words and --where are one expression. */
static int join_where(struct run_conf *run, const char *words, struct buf *mem)
{
	if (!words)
		return 0;
	if (run->where)
		buf_printf(mem, "(%s) and (%s)", words, run->where);
	else
		buf_add_str(mem, words);
	run->where = buf_str(mem);
	return buf_error(mem);
}

/*
 * Captures and sysdig's words are about descriptors and processes: the kernel side then tells what it knows of them,
 * and what was there before is looked up once. Captures and sysdig's lines have an event for the entry too.
 */
static void on_needs(void *ctx, uint32_t by_outputs, bool by_words)
{
	struct syscalls_conf *c = ctx;
	bool captured = by_outputs & 1u << SEC_PARAMS;
	bool lines = c->run.print || (c->run.format && !strcmp(c->run.format, "sysdig"));

	if (c->sys.summary || !(captured || by_words))
		return;
	c->sys.context = c->sys.scan = true;
	c->sys.enter = c->sys.enter || captured || lines;
	/* A reader's tables want to know who is gone; and so do those who look for a signal. */
	c->sys.events_too |= SYS_EVENT_EXIT | (captured || lines ? SYS_EVENT_SIGNAL : 0);
}

static int syscalls_run(void *conf, const struct cmd_words *w)
{
	struct syscalls_conf *c = conf;
	_cleanup_free_ char *words = run_join_words(&w->words);
	const struct pipeline_probe probes[] = { { .ops = probe_find("sys"), .conf = &c->sys } };
	_cleanup_(buf_fini) struct buf where = { 0 };
	struct run_spec spec = {
		.probes = probes, .n_probes = ARRAY_SIZE(probes), .cmdline = w->line,
		.ready = w->command.len ? NULL : "sonde: ready, watching; ^C stops",
		.command = &w->command,
		.filter_text = words, .needs = on_needs, .needs_ctx = c,
	};

	if (c->strace)
		c->run.format = "strace";

	if (join_where(&c->run, words, &where) < 0) {
		log_error("out of memory");
		return CMD_FAIL;
	}
	return c->run.explain_filter ? explain(c) : run(&c->run, &spec);
}

static const struct cmd_example syscalls_examples[] = {
	{ "sonde syscalls", "every system call of this host, live" },
	{ "sonde syscalls -p 1234 -e %file", "what process 1234 does with paths" },
	{ "sonde syscalls --result failed", "calls that failed" },
	{ "sonde syscalls -c --duration 10s", "a table of all calls of the host, counted in the kernel" },
	{ "sonde syscalls --strace -s 64 -- ls /", "run a command and show its calls and those of its children" },
	{ "sonde syscalls syscall.name=openat and syscall.error=ENOENT", "files that were not found" },
	{ 0 },
};

const struct cmd cmd_syscalls = {
	.name = "syscalls", .summary = "system calls with their arguments, live",
	.args = "[EVENT WORDS] [-- COMMAND]",
	.doc = "Shows each system call when it returns: its arguments decoded, its result, how long it took. Which "
	       "calls and whose is decided in the kernel: what was not asked for costs next to nothing.",
	.examples = syscalls_examples,
	.letters = "p=pid e=syscall s=snaplen j=json n=count c=summary",
	.conf_size = sizeof(struct syscalls_conf), .sets = syscalls_sets, .run = syscalls_run,
};
