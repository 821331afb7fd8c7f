// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Options of the sys probe, and the selection of calls by name and class.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/str.h"
#include "event/filter/filter.h"
#include "probe/budget/budget.h"
#include "probes/sys/sys_conf.h"
#include "probes/sys/pushdown/sys_pushdown.h"
#include "probes/sys/sys_table.h"
#include "probes/sys/sys_wire.h"

const struct sys_conf sys_conf_default = { 0 };

static const char *const result_names[] = {
	[SYS_RESULT_ALL] = "all",
	[SYS_RESULT_FAILED] = "failed",
	[SYS_RESULT_SUCCESS] = "success",
	[SYS_RESULT_UNUSUAL] = "unusual",
	NULL,
};
_Static_assert(ARRAY_SIZE(result_names) == SYS_RESULT__MAX + 1, "a name per result");

const char *const sys_times_names[] = { [SYS_TIMES_SAMPLED] = "sampled", [SYS_TIMES_ALL] = "all", NULL };
_Static_assert(ARRAY_SIZE(sys_times_names) == SYS_TIMES__MAX + 1, "a name per way");

const char *const sys_by_names[] = {
	[SYS_SUMMARY_ALL] = "call",
	[SYS_SUMMARY_PROCESS] = "process",
	[SYS_SUMMARY_NAME] = "name",
	NULL,
};
_Static_assert(ARRAY_SIZE(sys_by_names) == SYS_SUMMARY__MAX + 1, "a name per table");

#define ROW(member, ...) OPT_ROW(sys_conf, member, __VA_ARGS__)

static const struct { const char *name; unsigned event; } event_names[] = {
	{ "switch", SYS_EVENT_SWITCH }, { "signal", SYS_EVENT_SIGNAL }, { "fault", SYS_EVENT_FAULT },
	{ "uring", SYS_EVENT_URING }, { "exit", SYS_EVENT_EXIT },
};

/* Options in the agent protocol; commands have rows of their own for users. */
const struct opt sys_opts[] = {
	ROW(calls, "syscall", 0, OPT_STRV, "NAME,...",
	    "these calls: names, classes (%file %desc %net %process...); ! inverts the list"),
	ROW(result, "result", 0, OPT_ENUM, "WHICH", "calls with this result", .names = result_names),
	ROW(snaplen, "snaplen", 0, OPT_BYTES, "SIZE", "bytes of data of each call", .use = OPT_USE_BYTES),
	ROW(min_latency_ns, "slower", 0, OPT_DURATION, "TIME", "calls that took longer", .use = OPT_USE_NONE),
	ROW(enter, "enter", 0, OPT_BOOL, NULL, "also report entries of calls"),
	ROW(summary, "summary", 0, OPT_BOOL, NULL, "counts instead of events"),
	ROW(times, "times", 0, OPT_ENUM, "WHICH", "calls that a summary times", .names = sys_times_names),
	ROW(by, "by", 0, OPT_ENUM, "KEY", "split a summary into tables by this key", .names = sys_by_names),
	ROW(no_times, "no-timing", 0, OPT_BOOL, NULL, "no latencies"),
	ROW(max_cpu, "max-cpu", 0, OPT_STR, "PERCENT", "limit of CPU time, in percent of one CPU"),
	ROW(suppress, "suppress", 0, OPT_STRV, "NAME", "drop events of processes with this name"),
	ROW(events, "events", 0, OPT_STRV, "NAME,...", "also switch, signal, fault, uring, exit"),
	OPT_END,
};

static int mark_events(const char *list, unsigned *events, struct err *err)
{
	while (*list) {
		size_t len = strcspn(list, ","), i = 0;

		while (i < ARRAY_SIZE(event_names) &&
		       (strlen(event_names[i].name) != len || memcmp(event_names[i].name, list, len) != 0))
			i++;
		if (len && i == ARRAY_SIZE(event_names))
			return err_set(err, -EINVAL, "--events %.*s: expected switch, signal, fault, uring or exit",
				       (int)len, list);
		*events |= len ? event_names[i].event : 0;
		list += len + (list[len] == ',');
	}
	return 0;
}

int sys_conf_max_cpu(const struct sys_conf *c, unsigned *ret, struct err *err)
{
	*ret = 0;
	if (c->max_cpu && c->summary)
		return err_set(err, -EINVAL,
			       "--max-cpu and --summary exclude each other: a summary counts every call");
	return c->max_cpu ? budget_parse(c->max_cpu, ret, err) : 0;
}

int sys_conf_events(const struct sys_conf *c, unsigned *ret, struct err *err)
{
	unsigned events = c->events_too;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < c->events.len; i++)
		r = mark_events(c->events.items[i], &events, err);
	if (r >= 0)
		*ret = events;
	return r;
}

/* Class names of strace, in addition to sysdig's categories. */
static const struct { const char *name; enum sys_class class; } class_names[] = {
	{ "network", SYS_CLASS_NET }, { "net", SYS_CLASS_NET }, { "process", SYS_CLASS_PROCESS },
	{ "memory", SYS_CLASS_MEMORY }, { "signal", SYS_CLASS_SIGNAL }, { "ipc", SYS_CLASS_IPC },
	{ "user", SYS_CLASS_USER }, { "creds", SYS_CLASS_USER }, { "time", SYS_CLASS_TIME },
	{ "clock", SYS_CLASS_TIME }, { "sleep", SYS_CLASS_SLEEP }, { "wait", SYS_CLASS_WAIT },
	{ "system", SYS_CLASS_SYSTEM }, { "read", SYS_CLASS_IO_READ }, { "write", SYS_CLASS_IO_WRITE },
	{ "io", SYS_CLASS_IO_OTHER },
};

static bool in_class(const struct sys_call *call, const char *word)
{
	if (!strcmp(word, "file"))
		return call->flags & SYS_CALL_PATH || call->class == SYS_CLASS_FILE;
	if (!strcmp(word, "desc"))
		return call->flags & SYS_CALL_DESC;
	if (!strcmp(word, "life"))
		return call->flags & SYS_CALL_LIFE;
	return ARRAY_FIND(it, class_names, !strcmp(it->name, word) && it->class == call->class);
}

/* Marks the calls that @word selects. Returns their number over all ABIs. */
static unsigned mark(const char *word, unsigned abi, uint8_t *want)
{
	unsigned found = 0;

	for (unsigned i = 0; i < sys_n_calls; i++)
		found += *word == '%' ? in_class(&sys_calls[i], word + 1) : !strcmp(sys_calls[i].name, word);
	for (unsigned nr = 0; nr < SYS_NUMBERS; nr++) {
		const struct sys_call *call = sys_table_call_find(abi, nr);

		if (call && (*word == '%' ? in_class(call, word + 1) : !strcmp(call->name, word)))
			want[nr] = 1;
	}
	return found;
}

static int mark_list(const char *list, unsigned abi, uint8_t *want, struct err *err)
{
	char word[64];

	while (*list) {
		size_t len = strcspn(list, ",");

		if (!str_copy(word, sizeof(word), list, len))
			return err_set(err, -EINVAL, "%s: name of a system call too long", list);
		if (len && !mark(word, abi, want))
			return err_set(err, -EINVAL, "%s: no such system call or class%s", word,
				       *word == '%' ? "" : " (classes begin with %)");
		list += len + (list[len] == ',');
	}
	return 0;
}

int sys_conf_want(const struct sys_conf *c, unsigned abi, uint8_t *ret, struct err *err)
{
	bool negative = c->calls.len && c->calls.items[0][0] == '!';
	int r = 0;

	memset(ret, 0, SYS_NUMBERS);
	for (size_t i = 0; r >= 0 && i < c->calls.len; i++) {
		const char *list = c->calls.items[i];

		if ((*list == '!') != negative)
			return err_set(err, -EINVAL, "%s: either all lists of calls begin with ! or none", list);
		r = mark_list(list + (*list == '!'), abi, ret, err);
	}
	if (r < 0)
		return r;
	for (unsigned nr = 0; nr < SYS_NUMBERS; nr++)
		ret[nr] = !c->calls.len || !!ret[nr] != negative;
	return 0;
}

/* ---- configurations from text ---- */

int sys_conf_init(void *conf, _unused_ const struct opt_strv *netns, const struct registry *reg, struct err *err)
{
	struct sys_conf *c = conf;
	_cleanup_(buf_fini) struct buf rest = { 0 };
	const struct sys_pushdown_opts o = {
		.keeps_state = c->keep_state,
		.tables_only = c->summary,
		.others = c->push_others,
	};
	_cleanup_free_ struct sys_pushdown *push = NULL;
	struct filter *f = NULL;
	int r;

	if (!c->push_text || !*c->push_text)
		return 0;
	push = calloc(1, sizeof(*push));
	if (!push)
		return err_errno(err, -ENOMEM, "cannot allocate the filter");
	r = filter_parse(reg, c->push_text, &f, err);
	if (r >= 0)
		r = sys_pushdown_filter(f, reg, &o, push, &rest, NULL);
	filter_free(f);
	if (r < 0)
		return r;
	if (c->summary && rest.len && !sys_pushdown_is_of_sums(reg, buf_str(&rest)))
		return err_set(err, -EINVAL, "-c counts in the kernel, which cannot decide %s for an agent",
			       buf_str(&rest));
	c->push = TAKE_PTR(push);
	return 0;
}

void sys_conf_fini(void *conf)
{
	struct sys_conf *c = conf;

	free((void *)c->push);	/* allocated by sys_conf_init() */
	c->push = NULL;
}
