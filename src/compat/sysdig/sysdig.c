// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde compat sysdig: sysdig's letters over sonde syscalls.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "base/macros.h"
#include "base/str.h"
#include "cmd/help.h"
#include "cmd/syscalls/syscalls.h"
#include "compat/compat.h"
#include "compat/sysdig/sysdig_lines.h"
#include "event/event.h"
#include "scap/event.h"
#include "scap/state/view.h"

struct sysdig_conf {
	struct syscalls_conf syscalls; /* at the start: functions of options take it */
	struct sysdig_lines_opts lines;
	bool list_fields, list_events, list_chisels, version;
	const char *chisel_info;
};

static int set_data(void *conf, enum scap_buffer_form form)
{
	struct syscalls_conf *c = conf;

	c->run.data = form;
	return 0;
}

OPT_CALL(on_ascii) { return set_data(conf, SCAP_BUFFER_ASCII); }
OPT_CALL(on_hex) { return set_data(conf, SCAP_BUFFER_HEX); }
OPT_CALL(on_hex_ascii) { return set_data(conf, SCAP_BUFFER_HEX_ASCII); }
OPT_CALL(on_base64) { return set_data(conf, SCAP_BUFFER_BASE64); }

/* As sysdig's, with sonde's field of the pod. */
#define FORM_POD \
	"*%evt.num %evt.outputtime %evt.cpu %k8s.pod (%container.id) %proc.name (%thread.tid:%thread.vtid) " \
	"%evt.dir %evt.type %evt.info"

OPT_CALL(on_print)
{
	struct syscalls_conf *c = conf;

	c->run.format = !strcmp(arg, "c") || !strcmp(arg, "container") ? SCAP_FORM_CONTAINER :
			!strcmp(arg, "k") || !strcmp(arg, "kubernetes") ? FORM_POD : arg;
	if (!strchr(c->run.format, '%'))
		return err_set(err, -EINVAL, "--print %s: expected fields such as %%proc.name, or c or k", arg);
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

OPT_CALL(on_rotate_time)
{
	return take_seconds("-G", arg, &((struct syscalls_conf *)conf)->run.rotate_ns, err);
}
OPT_CALL(on_duration)
{
	return take_seconds("-M", arg, &((struct syscalls_conf *)conf)->run.duration_ns, err);
}

OPT_CALL(on_file_size)
{
	struct syscalls_conf *c = conf;
	uint32_t n;

	if (str_to_u32(arg, 10, &n) < 0)
		return err_set(err, -EINVAL, "-C %s: expected millions of bytes", arg);
	c->run.rotate_bytes = (uint64_t)n * 1000000;
	return 0;
}

OPT_CALL(on_time)
{
	struct sysdig_conf *c = conf;

	if (!*arg || arg[1] || !strchr("hardD", *arg))
		return err_set(err, -EINVAL, "-t %s: expected h, a, r, d or D", arg);
	c->lines.time = strchr("ard", *arg) ? *arg : 0;
	c->syscalls.run.time = *arg == 'D' ? TIME_DELTA : TIME_LOCAL;
	return 0;
}

/* Chisels that are tables here. */
static const struct {
	const char *chisel, *view, *category, *about;
} chisels[] = {
	{ "topprocs_cpu", "procs-cpu", "CPU Usage", "processes by CPU time" },
	{ "topprocs_net", "procs-net", "Net", "processes by network bytes" },
	{ "topprocs_file", "procs-file", "I/O", "processes by file bytes" },
	{ "topprocs_errors", "errors", "Errors", "calls that failed" },
	{ "topfiles_bytes", "files-bytes", "I/O", "files by bytes" },
	{ "topfiles_time", "files-time", "I/O", "files by time" },
	{ "topconns", "conns", "Net", "connections by bytes" },
	{ "topports_server", "ports", "Net", "server ports by bytes" },
	{ "topscalls", "calls", "Performance", "system calls by number" },
	{ "topscalls_time", "calls-time", "Performance", "system calls by time" },
	{ "topcontainers_file", "containers", "I/O", "containers by bytes" },
	{ "topcontainers_net", "containers", "Net", "containers by bytes" },
	{ "bottlenecks", "slow", "Performance", "the slowest system calls" },
	{ "spectrogram", "spectrogram", "CPU Usage", "latencies, a line a second" },
};

OPT_CALL(on_chisel)
{
	struct sysdig_conf *c = conf;

	if (!strcmp(arg, "l")) {
		c->list_chisels = true;
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(chisels); i++) {
		if (strcmp(arg, chisels[i].chisel) != 0)
			continue;
		buf_printf(&c->syscalls.view, "%s%s", c->syscalls.view.len ? "," : "", chisels[i].view);
		return buf_error(&c->syscalls.view);
	}
	return err_set(err, -EINVAL,
		       "-c %s is not supported: -cl lists the chisels that are tables; use sonde syscalls with a "
		       "filter, or sonde rpc for HTTP and memcached", arg);
}

OPT_CALL(on_faults)
{
	struct syscalls_conf *c = conf;

	c->sys.events_too |= SYS_EVENT_FAULT;
	return 0;
}

#define RUN(member, ...) OPT_ROW(sysdig_conf, syscalls.run.member, __VA_ARGS__)
#define ROW(member, ...) OPT_ROW(sysdig_conf, member, __VA_ARGS__)

#define NO_PLUGINS "sonde has no plugins: sonde probes lists its sources"
#define NO_KUBERNETES "sonde asks no server about containers: use --container ID"

static const struct opt sysdig_opts[] = {
	OPT_CALL_ROW(on_ascii, "print-ascii", 'A', NULL, "data as text"),
	OPT_CALL_ROW(on_base64, "print-base64", 'b', NULL, "data in base64"),
	OPT_CALL_ROW(on_hex, "print-hex", 'x', NULL, "data in hex"),
	OPT_CALL_ROW(on_hex_ascii, "print-hex-ascii", 'X', NULL, "data in hex and as text"),
	OPT_CALL_ROW(on_print, "print", 'p', "FORM", "lines of these fields; c: with containers"),
	OPT_CALL_ROW(on_file_size, "file-size", 'C', "N", "a new file after N million bytes"),
	OPT_CALL_ROW(on_rotate_time, "seconds", 'G', "SECS", "a new file after SECS seconds"),
	RUN(rotate_files, "limit", 'W', OPT_U32, "N", "overwrite the first of N files"),
	RUN(rotate_events, NULL, 'e', OPT_U64, "N", "a new file after N events"),
	OPT_CALL_ROW(on_duration, NULL, 'M', "SECS", "stop after SECS seconds"),
	RUN(count, "numevents", 'n', OPT_U64, "N", "stop after N events", .not_zero = true),
	RUN(read, "read", 'r', OPT_STR, "FILE", "read a capture"),
	RUN(write, "write", 'w', OPT_STR, "FILE", "write a capture"),
	ROW(syscalls.sys.snaplen, "snaplen", 's', OPT_BYTES, "LEN", "bytes of data of each call",
	    .differs = "at most 16384"),
	ROW(syscalls.event_summary, "summary", 'S', OPT_BOOL, NULL, "at the end, events by type",
	    .differs = "columns are those of --view events"),
	ROW(syscalls.sys.suppress, "suppress-comm", 'U', OPT_STRV, "NAME",
	    "nothing of processes with this name; may repeat"),
	RUN(verbose, "verbose", 'v', OPT_COUNT, NULL, "counts of events and losses at the end"),
	ROW(lines.json, "json", 'j', OPT_BOOL, NULL, "JSON objects of the fields of -p",
	    .differs = "data is not in base64: use -b"),
	ROW(lines.quiet, "quiet", 'q', OPT_BOOL, NULL, "print no events"),
	OPT_CALL_ROW(on_time, "timetype", 't', "TYPE", "time: h, a, r, d, D"),
	OPT_CALL_ROW(on_chisel, "chisel", 'c', "NAME", "the table NAME; l lists them",
		     .differs = "chisels that are tables, in sonde's columns"),
	ROW(chisel_info, "chisel-info", 'i', OPT_STR, "NAME", "about the table NAME",
	    .differs = "its category, the table here and how to ask for it"),
	ROW(list_chisels, "list-chisels", 0, OPT_BOOL, NULL, "list chisels", .differs = "those that -c takes"),
	ROW(list_fields, "list", 'l', OPT_BOOL, NULL, "list fields", .differs = "those of sonde, by type of event"),
	ROW(list_events, "list-events", 'L', OPT_BOOL, NULL, "list types of events",
	    .differs = "those of sonde, with their fields"),
	ROW(version, "version", 0, OPT_BOOL, NULL, "print the version", .differs = "it is sonde's"),
	OPT_CALL_ROW(opt_ignore, "progress", 'P', NULL, "progress of reading", .differs = "ignored: none is printed"),
	OPT_CALL_ROW(opt_ignore, "exclude-users", 'E', NULL, "no tables of users",
		     .differs = "ignored: names of users come from the capture"),
	OPT_CALL_ROW(on_faults, "page-faults", 0, NULL, "page faults too"),
	OPT_CALL_ROW(opt_ignore, "displayflt", 'd', NULL, "a filter of what is shown",
		     .differs = "always so: processes and descriptors are followed whatever the filter"),
	RUN(gzip, "compress", 'z', OPT_BOOL, NULL, "compress the capture"),
	OPT_CALL_ROW(opt_ignore, "fatfile", 'F', NULL, "with a filter, write what the state of its events needs",
		     .differs = "always so: processes and descriptors are introduced before their first event, their "
				"ends are not told"),
	OPT_CALL_ROW(opt_ignore, "filter-proclist", 0, NULL, "with a filter, only its processes in the tables",
		     .differs = "always so"),
	OPT_CALL_ROW(opt_ignore, "unbuffered", 0, NULL, "each line at once",
		     .differs = "always so, at most --latency (50 ms) after the event"),
	REFUSED("bpf", 'B', "PROBE", "the probe is built in"),
	REFUSED("cri", 0, "PATH", NO_KUBERNETES),
	REFUSED("cri-timeout", 0, "MS", NO_KUBERNETES),
	REFUSED("k8s-api", 'k', "URL", NO_KUBERNETES),
	REFUSED("k8s-api-cert", 'K', "FILE", NO_KUBERNETES),
	REFUSED("node-name", 0, "URL", NO_KUBERNETES),
	REFUSED("mesos-api", 'm', "URL", NO_KUBERNETES),
	REFUSED("debug", 'D', NULL, "use -v"),
	REFUSED("plugin", 'H', "NAME", NO_PLUGINS),
	REFUSED("input", 'I', "NAME", NO_PLUGINS),
	REFUSED("plugin-config-file", 0, "FILE", NO_PLUGINS),
	REFUSED("list-markdown", 0, NULL, "use sonde help events"),
	REFUSED("libs-version", 0, NULL, "use sonde version"),
	REFUSED("large-environment", 0, NULL, "use sonde syscalls syscall.name=execve -v"),
	REFUSED("force-tracers-capture", 'T', NULL, "use sonde trace, which follows calls"),
	REFUSED(NULL, 'R', NULL, "ports are numbers: use the filter fd.sport=NAME"),
	OPT_END
};

static size_t sysdig_sets(void *conf, struct opt_set *ret_sets)
{
	struct sysdig_conf *c = conf;
	size_t n = syscalls_sets(&c->syscalls, ret_sets + 1);

	ret_sets[0] = (struct opt_set){ .title = "sysdig", .opts = sysdig_opts, .conf = c };
	return 1 + n;
}

static int list_chisels(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(chisels); i++)
		printf("%-19s %s\n", chisels[i].chisel, chisels[i].about);
	return fflush(stdout) ? CMD_FAIL : CMD_OK;
}

/* In sysdig's form; an unknown chisel is a failure, as in sysdig. */
static int print_chisel(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(chisels); i++) {
		const int dashes = (int)(strlen("Category: ") + strlen(chisels[i].category));

		if (strcmp(name, chisels[i].chisel) != 0)
			continue;
		printf("\nCategory: %s\n%.*s\n%-16s%s%s\n\nsonde syscalls --view %s\nArgs:\n(None)\n",
		       chisels[i].category, dashes, "-----------------------------------", name,
		       strlen(name) < 16 ? "" : "\n                ", chisels[i].about, chisels[i].view);
		return fflush(stdout) ? CMD_FAIL : CMD_OK;
	}
	log_error("chisel %s not found - use -cl to list them.", name);
	return CMD_FAIL;
}

/* Whether the native lines are not those of sysdig: it prints events that it writes, too. */
static bool needs_lines(const struct sysdig_conf *c)
{
	return c->lines.json || c->lines.quiet || c->lines.time || c->lines.hex || c->syscalls.run.write;
}

static int run_lines(struct sysdig_conf *c, const struct cmd_words *w)
{
	struct run_conf *run = &c->syscalls.run;
	struct sysdig_lines *lines = NULL;
	int status;

	c->lines.form = run->format && strchr(run->format, '%') ? run->format : SCAP_FORM_SYSDIG;
	c->lines.hex = run->data == SCAP_BUFFER_HEX || run->data == SCAP_BUFFER_HEX_ASCII;
	if (c->syscalls.view.len || c->syscalls.event_summary) {
		run->json = c->lines.json;	/* of the tables */
	} else if (needs_lines(c)) {
		lines = sysdig_lines_new(&c->lines);
		c->syscalls.watcher = &sysdig_lines_sink;
		c->syscalls.watcher_ctx = lines;
	}
	if (c->syscalls.watcher && !lines)
		return cmd_error(CMD_FAIL, "out of memory");
	status = syscalls_run(&c->syscalls, w);
	sysdig_lines_free(lines);
	return status;
}

static int sysdig_run(void *conf, const struct cmd_words *w)
{
	struct sysdig_conf *c = conf;

	if (c->version)
		return cmd_print_version(stdout, false);
	if (c->list_chisels)
		return list_chisels();
	if (c->chisel_info)
		return print_chisel(c->chisel_info);
	if (c->list_fields || c->list_events)
		return help_print_events(stdout);
	c->syscalls.run.write_format = "scap";
	if (!c->syscalls.run.format && !c->syscalls.sys.summary)
		c->syscalls.run.format = "sysdig";
	if (c->syscalls.event_summary)
		c->syscalls.view_rows = UINT32_MAX;
	return run_lines(c, w);
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

const struct dialect dialect_sysdig = { .tool = "sysdig", .cmd = &sysdig_cmd, .native = "syscalls" };
