// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde compat sysdig: sysdig's letters over sonde syscalls.
 */
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "cmd/syscalls/syscalls.h"
#include "compat/compat.h"
#include "scap/event.h"
#include "scap/render.h"

struct sysdig_conf {
	struct syscalls_conf syscalls;
};

#define NS_PER_S 1000000000ull

#define CALL(fn) static int fn(void *conf, const char *arg, struct err *err)

static int set_data(void *conf, enum scap_buffer_form form)
{
	struct syscalls_conf *c = conf;

	c->run.data = form;
	return 0;
}

CALL(on_ascii)
{
	(void)arg;
	(void)err;
	return set_data(conf, SCAP_BUFFER_ASCII);
}
CALL(on_hex)
{
	(void)arg;
	(void)err;
	return set_data(conf, SCAP_BUFFER_HEX);
}
CALL(on_hex_ascii)
{
	(void)arg;
	(void)err;
	return set_data(conf, SCAP_BUFFER_HEX_ASCII);
}
CALL(on_base64)
{
	(void)arg;
	(void)err;
	return set_data(conf, SCAP_BUFFER_BASE64);
}

CALL(on_print)
{
	struct syscalls_conf *c = conf;

	c->run.format = !strcmp(arg, "c") || !strcmp(arg, "container") ? SCAP_FORM_CONTAINER : arg;
	if (!strchr(c->run.format, '%'))
		return err_set(err, -EINVAL, "--print %s: expected fields such as %%proc.name, or c", arg);
	return 0;
}

/* Seconds, or a time with its unit. */
static int take_seconds(const char *option, const char *arg, uint64_t *ret_ns, struct err *err)
{
	uint64_t secs;

	if (str_to_u64(arg, 10, &secs) >= 0 && secs <= UINT64_MAX / NS_PER_S)
		*ret_ns = secs * NS_PER_S;
	else if (str_to_duration_ns(arg, ret_ns) < 0)
		return err_set(err, -EINVAL, "%s %s: expected a number of seconds", option, arg);
	return 0;
}

CALL(on_rotate_time)
{
	return take_seconds("-G", arg, &((struct syscalls_conf *)conf)->run.rotate_ns, err);
}
CALL(on_duration)
{
	return take_seconds("-M", arg, &((struct syscalls_conf *)conf)->run.duration_ns, err);
}

CALL(on_file_size)
{
	struct syscalls_conf *c = conf;
	uint32_t n;

	if (str_to_u32(arg, 10, &n) < 0)
		return err_set(err, -EINVAL, "-C %s: expected millions of bytes", arg);
	c->run.rotate_bytes = (uint64_t)n * 1000000;
	return 0;
}

static const struct opt sysdig_opts[] = {
	OPT_CALL_ROW(on_ascii, "print-ascii", 'A', NULL, "data as text"),
	OPT_CALL_ROW(on_hex, "print-hex", 'x', NULL, "data in hex"),
	OPT_CALL_ROW(on_hex_ascii, "print-hex-ascii", 'X', NULL, "data in hex and as text"),
	OPT_CALL_ROW(on_base64, "print-base64", 'b', NULL, "data in base64"),
	OPT_CALL_ROW(on_print, "print", 'p', "FORM", "lines of these fields; c: with containers"),
	OPT_CALL_ROW(on_file_size, "file-size", 'C', "N", "a new file after N million bytes"),
	OPT_CALL_ROW(on_rotate_time, "rotate-time", 'G', "SECS", "a new file after SECS seconds"),
	OPT_ROW(syscalls_conf, run.rotate_files, "file-count", 'W', OPT_U32, "N", "overwrite the first of N files"),
	OPT_ROW(syscalls_conf, run.rotate_events, "rotate-events", 'e', OPT_U64, "N", "a new file after N events"),
	OPT_CALL_ROW(on_duration, "duration", 'M', "SECS", "stop after SECS seconds"),
	OPT_ROW(syscalls_conf, event_summary, "summary", 'S', OPT_BOOL, NULL, "at the end, events by type"),
	OPT_ROW(syscalls_conf, sys.suppress, "suppress-comm", 'U', OPT_STRV, "NAME",
		"nothing of processes with this name; may repeat"),
	OPT_END
};

static size_t sysdig_sets(void *conf, struct opt_set *ret_sets)
{
	struct sysdig_conf *c = conf;
	size_t n = syscalls_sets(&c->syscalls, ret_sets + 1);

	ret_sets[0] = (struct opt_set){ .title = "sysdig", .opts = sysdig_opts, .conf = &c->syscalls };
	return 1 + n;
}

static int sysdig_run(void *conf, const struct cmd_words *w)
{
	struct sysdig_conf *c = conf;

	if (!c->syscalls.run.format && !c->syscalls.sys.summary)
		c->syscalls.run.format = "sysdig";
	if (c->syscalls.event_summary)
		c->syscalls.view_rows = UINT32_MAX;
	return syscalls_run(&c->syscalls, w);
}

static const struct cmd_example examples[] = {
	{ "sonde compat sysdig -r trace.scap -X fd.name contains passwd", "data of such files" },
	{ "sonde compat sysdig -w trace.scap -C 100 -W 5", "captures, five of 100 MB" },
	{ "sonde compat sysdig -p '%proc.name %fd.name' evt.type=openat", "lines of two fields" },
	{ 0 },
};

static const struct cmd sysdig_cmd = {
	.name = "compat sysdig",
	.summary = "system calls in sysdig's lines",
	.args = "[FILTER]",
	.doc = "Takes sysdig's letters; all else is sonde syscalls.",
	.examples = examples,
	.dialect = true,
	.conf_size = sizeof(struct sysdig_conf),
	.sets = sysdig_sets,
	.run = sysdig_run,
};

static const struct compat_load_error refused[] = {
	{ "chisel", 'c', "use sonde syscalls --view NAME" },
	{ "chisel-info", 'i', "use sonde syscalls --help all, which lists the tables" },
	{ "list-chisels", 0, "use sonde syscalls --help all, which lists the tables" },
	{ "list", 'l', "use sonde help events" },
	{ "timetype", 't', "use --time MODE" },
	{ 0 },
};

const struct dialect dialect_sysdig = { .tool = "sysdig", .cmd = &sysdig_cmd, .refused = refused };
