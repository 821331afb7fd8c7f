// SPDX-License-Identifier: GPL-2.0-or-later
#include "compat/perf/perf_opts.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/vec.h"
#include "cmd/run/run.h"
#include "probes/cpu/cpu_conf.h"

#define MAX_RATE "/proc/sys/kernel/perf_event_max_sample_rate"

/* As in perf, a number behind dwarf is the size of copied stacks. */
static const char *after_size(bool has_size, const char *arg)
{
	const size_t len = has_size ? strspn(arg, "0123456789") : 0;

	if (!len || (arg[len] && arg[len] != ','))
		return arg;
	return arg + len + (arg[len] == ',');
}

const char *perf_opts_after_mode(const char *arg)
{
	static const char *const modes[] = { "fp", "dwarf", "lbr" };
	const size_t len = strcspn(arg, ",");

	for (size_t i = 0; i < ARRAY_SIZE(modes); i++)
		if (strlen(modes[i]) == len && !memcmp(modes[i], arg, len))
			return after_size(*arg == 'd', arg + len + (arg[len] == ','));
	return arg;
}

/* ---- -e ---- */

static int take_modifiers(struct perf_event_opts *o, const char *arg, const char *text, struct err *err)
{
	for (; *text; text++) {
		if (*text == 'u')
			o->user = true;
		else if (*text == 'k')
			o->kernel = true;
		else if (!strchr("pPHhIGSD", *text))
			return err_set(err, -EINVAL, "-e %s: unknown modifier %c", arg, *text);
	}
	if (o->user && o->kernel)
		o->user = o->kernel = false;
	return 0;
}

int perf_opts_event(void *conf, const char *arg, struct err *err)
{
	static const struct {
		const char *name;
		bool cycles;
	} events[] = {
		{ "cpu-clock", false },
		{ "task-clock", false },
		{ "cycles", true },
		{ "cpu-cycles", true },
	};
	struct perf_event_opts *o = conf;
	size_t len = strcspn(arg, ":/");

	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		if (strlen(events[i].name) != len || memcmp(events[i].name, arg, len) != 0 || arg[len] == '/')
			continue;
		o->cycles = events[i].cycles;
		return take_modifiers(o, arg, arg[len] ? arg + len + 1 : "", err);
	}
	return err_set(err, -EINVAL,
		       "-e %s is not supported: sonde samples cpu-clock and cycles; sonde syscalls has "
		       "system calls, sonde profile --mode off-cpu has switches",
		       arg);
}

int perf_opts_frequency(void *ret_hz, const char *arg, struct err *err)
{
	uint32_t *ret = ret_hz;
	_cleanup_fclose_ FILE *f = !strcmp(arg, "max") ? fopen(MAX_RATE, "re") : NULL;

	if (f && fscanf(f, "%u", ret) == 1)
		return 0;
	if (str_to_u32(arg, 10, ret) < 0 || !*ret)
		return err_set(err, -EINVAL, "-F %s: expected samples per second, or max", arg);
	return 0;
}

/* ---- the run ---- */

static int add_uid(const char *uid, struct buf *text, struct err *err)
{
	const struct passwd *pw = getpwnam(uid);
	uint32_t n;

	if (!pw && str_to_u32(uid, 10, &n) < 0)
		return err_set(err, -EINVAL, "-u %s: no such user", uid);
	buf_printf(text, "%suser.uid=%u", text->len ? " and " : "", pw ? pw->pw_uid : n);
	return 0;
}

int perf_opts_apply(const struct perf_event_opts *o, struct run_conf *run, struct cpu_conf *cpu, struct buf *text,
		    struct err *err)
{
	int r = 0;

	cpu->event = o->cycles ? CPU_EVENT_CYCLES : CPU_EVENT_CLOCK;
	if (o->user)
		buf_add_str(text, "not stack.mode=kernel");
	else if (o->kernel)
		buf_add_str(text, "stack.mode=kernel");
	if (o->uid)
		r = add_uid(o->uid, text, err);
	if (r < 0 || !text->len)
		return r;
	if (buf_error(text) || vec_push(&run->wheres, buf_str(text)) < 0)
		return err_errno(err, -ENOMEM, "cannot begin");
	return 0;
}
