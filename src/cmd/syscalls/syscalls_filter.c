// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/syscalls/syscalls_filter.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "pipeline/pipeline.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "cmd/cgroups.h"
#include "cmd/cmd.h"
#include "event/event.h"
#include "event/filter/filter.h"
#include "probes/sys/sys_conf.h"
#include "probes/sys/sys_table.h"
#include "probes/sys/pushdown/sys_pushdown.h"
#include "sinks/sink.h"

static bool is_call(const char *name)
{
	return FIND_ITEM(it, sys_calls, sys_n_calls, !strcmp(it->name, name));
}

int syscalls_filter_check(const struct opt_strv *words, struct err *err)
{
	_cleanup_(buf_fini) struct buf list = { 0 };

	for (size_t i = 0; i < words->len; i++) {
		if (!is_call(words->items[i]))
			return 0;
		buf_printf(&list, "%s%s", i ? ", " : "", words->items[i]);
	}
	if (words->len > 1)
		return err_set(err, -EINVAL, "%s are system calls, not a filter: 'syscall.name in (%s)' selects them",
			       buf_str(&list), buf_str(&list));
	return words->len ? err_set(err, -EINVAL, "%s is a system call, not a filter: syscall.name=%s selects it",
				    words->items[0], words->items[0])
			  : 0;
}

static struct sys_pushdown_opts push_opts(const struct syscalls_filter *c, const struct filter *f)
{
	return (struct sys_pushdown_opts){
		.keeps_state = c->sys->keep_state,
		.tables_only = c->sys->summary,
		.cgroups_of = cgroups_of_container,
		.others = filter_eval_names_any(f) || c->run->probes.len || c->sys->events.len || c->sys->events_too,
	};
}

int syscalls_filter_push(const struct syscalls_filter *c, const struct filter *f, const struct registry *reg,
		  struct buf *rest, struct err *err)
{
	const struct sys_pushdown_opts o = push_opts(c, f);
	int r;

	if (!c->pushdown && !c->sys->summary) {
		filter_text(f, rest);
		return buf_error(rest);
	}
	r = sys_pushdown_filter(f, reg, &o, c->push, rest, NULL);
	c->sys->push = c->push;
	c->sys->push_text = c->run->where;
	c->sys->push_others = o.others;
	if (r < 0 || !c->sys->summary || !rest->len)
		return r;
	if (!sys_pushdown_is_of_sums(reg, buf_str(rest)))
		r = err_set(err, -EINVAL, "-c counts in the kernel, which cannot decide %s", buf_str(rest));
	return r;
}

/* Does a requested output take sections of captures? */
static bool captures(const struct run_conf *run)
{
	for (size_t i = 0; i < run->outputs.len; i++) {
		char name[32];
		const struct sink_ops *ops;

		snprintf(name, sizeof(name), "%.*s", (int)strcspn(run->outputs.items[i], ":"), run->outputs.items[i]);
		ops = sink_find(name);
		ops = ops ? ops : sink_find_suffix(run->outputs.items[i]);
		if (ops && ops->needs & 1u << SEC_PARAMS)
			return true;
	}
	return false;
}

static void explain_options(const struct syscalls_filter *c, struct buf *b)
{
	for (size_t i = 0; i < c->sys->calls.len; i++)
		buf_printf(b, "Selected calls (%s): kernel; other calls are not recorded.\n", c->sys->calls.items[i]);
	if (c->sys->result)
		buf_printf(b, "--result: kernel.\n");
	if (c->sys->min_latency_ns)
		buf_printf(b, "--slower: kernel.\n");
	if (c->run->pids.len)
		buf_printf(b, "--pid: kernel.\n");
	if (c->run->cgroups.len)
		buf_printf(b, "--cgroup: kernel.\n");
	if (c->run->containers.len)
		buf_printf(b, "--container: user space: which cgroups are its own is learnt as they appear.\n");
}

/* Prints where each part is decided. */
int syscalls_filter_explain(const struct syscalls_filter *c, run_needs_fn needs, void *ctx)
{
	_cleanup_(buf_fini) struct buf b = { 0 };
	_cleanup_(buf_fini) struct buf rest = { 0 };
	struct pipeline *p = NULL;
	struct filter *f = NULL;
	struct err err = { 0 };
	int r = pipeline_new(NULL, &p, &err);

	explain_options(c, &b);
	if (r >= 0)
		r = filter_parse(pipeline_registry(p), c->run->where ? c->run->where : "", &f, &err);
	if (r >= 0) {
		struct sys_pushdown_opts o;

		needs(ctx, captures(c->run) ? 1u << SEC_PARAMS : 0, filter_also(f), f);
		o = push_opts(c, f);
		r = sys_pushdown_filter(f, pipeline_registry(p), &o, c->push, &rest, &b);
	}
	filter_free(f);
	pipeline_free(p);
	if (r < 0)
		return cmd_fail(r, &err);
	if (!b.len)
		buf_printf(&b, "Every system call passes.\n");
	return buf_error(&b) < 0 || fwrite(b.data, 1, b.len, stdout) != b.len ? CMD_FAIL : CMD_OK;
}
