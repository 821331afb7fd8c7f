// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde compat hubble observe: flows in hubble's lines, selected by the options of `hubble observe`.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "base/macros.h"
#include "cmd/net/flows.h"
#include "compat/compat.h"
#include "compat/hubble/hubble_filter.h"
#include "compat/hubble/hubble_lines.h"

#define HUBBLE_ROWS 120	/* most rows of both tables */
#define LAST_FLOWS 20	/* that hubble shows without an option */
#define MAX_LAST 1000000

struct hubble_conf {
	struct hubble_filter filter; /* at the start: the rows of hubble_filter.h point into it */
	struct flows_conf flows;
	struct hubble_lines_opts lines;
	bool follow, all, print_filters;
	struct opt rows[HUBBLE_ROWS];
};

OPT_CALL(on_output)
{
	static const struct { const char *name; enum hubble_form form; } forms[] = {
		{ "compact", HUBBLE_COMPACT }, { "dict", HUBBLE_DICT }, { "tab", HUBBLE_TABLE },
		{ "table", HUBBLE_TABLE }, { "json", HUBBLE_JSON }, { "JSON", HUBBLE_JSON },
		{ "jsonpb", HUBBLE_JSON },
	};

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		if (strcmp(arg, forms[i].name) != 0)
			continue;
		((struct hubble_conf *)conf)->lines.form = forms[i].form;
		return 0;
	}
	return err_set(err, -EINVAL, "-o %s: expected compact, dict, json, jsonpb or table (sonde flows -o has the "
		       "formats of sonde)", arg);
}

OPT_CALL(on_time_format)
{
	static const char *const names[] = {
		[HUBBLE_TIME_STAMP_MILLI] = "StampMilli", [HUBBLE_TIME_DAY] = "YearMonthDay",
		[HUBBLE_TIME_HOUR] = "YearMonthDayHour", [HUBBLE_TIME_MINUTE] = "YearMonthDayHourMinute",
		[HUBBLE_TIME_SECOND] = "RFC3339", [HUBBLE_TIME_MILLI] = "RFC3339Milli",
		[HUBBLE_TIME_MICRO] = "RFC3339Micro", [HUBBLE_TIME_NANO] = "RFC3339Nano",
		[HUBBLE_TIME_RFC1123] = "RFC1123Z",
	};

	_Static_assert(ARRAY_SIZE(names) == HUBBLE_TIME__MAX, "a name per form");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcasecmp(arg, names[i]) != 0)
			continue;
		((struct hubble_conf *)conf)->lines.time = (enum hubble_time)i;
		return 0;
	}
	return err_set(err, -EINVAL, "--time-format %s: expected StampMilli, YearMonthDay[Hour[Minute]], "
		       "RFC3339[Milli|Micro|Nano] or RFC1123Z", arg);
}

/* "--ip-translation=false" turns it off. */
OPT_CALL(on_translation)
{
	struct hubble_conf *c = conf;

	if (arg && strcmp(arg, "true") != 0 && strcmp(arg, "false") != 0)
		return err_set(err, -EINVAL, "--ip-translation=%s: expected true or false", arg);
	c->lines.addresses = arg && *arg == 'f';
	return 0;
}

/* Any way in which gRPC names a unix socket. */
OPT_CALL(on_server)
{
	struct hubble_conf *c = conf;

	if (!strncmp(arg, "unix:", 5))
		arg += arg[5] == '/' && arg[6] == '/' ? 7 : 5;
	if (*arg != '/')
		return err_set(err, -EINVAL, "--server %s: agents of sonde listen on unix sockets, as in "
			       "unix:///run/sonde/read.sock; use ssh HOST sonde flows for another host", arg);
	c->flows.run.agent = arg;
	return 0;
}

#define ROW(member, ...) OPT_ROW(hubble_conf, member, __VA_ARGS__)
#define RUN(member, ...) OPT_ROW(hubble_conf, flows.run.member, __VA_ARGS__)
#define REFUSED_ENDS(name_, arg_, way_) \
	REFUSED(name_, 0, arg_, way_), REFUSED("from-" name_, 0, arg_, way_), REFUSED("to-" name_, 0, arg_, way_)

#define BY_CALL "use sonde rpc and the filter rpc."
#define NO_LABELS "sonde knows no labels of Kubernetes: use --pod NAME or --container ID"
#define ONE_HOST "sonde watches one host: run it there, as in ssh NODE sonde flows"
#define NO_NETWORK "an agent is reached by its unix socket: use ssh HOST sonde flows"
#define NO_RELAY "sonde asks no Kubernetes: use ssh NODE sonde flows"

static const struct opt hubble_rows[] = {
	OPT_CALL_ROW(on_output, "output", 'o', "FORMAT", "compact, dict, json, jsonpb or table"),
	OPT_CALL_ROW(on_time_format, "time-format", 0, "FORMAT", "StampMilli, RFC3339 and so on"),
	RUN(numeric, "numeric", 0, OPT_BOOL, NULL, "addresses instead of names"),
	OPT_CALL_ROW(on_translation, "ip-translation", 0, "BOOL", "names of addresses (default true)",
		     .optional = true, .differs = "names are those of DNS answers"),
	RUN(color, "color", 0, OPT_ENUM, "WHEN", "colours of compact and dict", .names = run_color_names),
	ROW(lines.node, "print-node-name", 0, OPT_BOOL, NULL, "the host's name in each line"),
	ROW(follow, "follow", 'f', OPT_BOOL, NULL, "wait for further flows",
	    .differs = "a file is read to its end"),
	ROW(all, "all", 0, OPT_BOOL, NULL, "all flows", .differs = "without --input-file, all from now on"),
	ROW(lines.last, "last", 0, OPT_U64, "N", "the last N flows (default 20)",
	    .differs = "without --input-file, the next N, then it ends unless -f is given; "
		       "of a file the default is all"),
	ROW(lines.first, "first", 0, OPT_U64, "N", "the first N flows",
	    .differs = "without --input-file, the next N"),
	RUN(read, "input-file", 0, OPT_STR, "FILE", "flows of a file, - is stdin",
	    .differs = "a recording, store or capture of sonde, not JSON"),
	OPT_CALL_ROW(on_server, "server", 0, "ADDR", "agent to ask: unix:///run/sonde/read.sock",
		     .differs = "an agent of sonde"),
	OPT_CALL_ROW(opt_ignore, "timeout", 0, "TIME", "of dialling",
		     .differs = "ignored: a unix socket answers at once"),
	OPT_CALL_ROW(opt_ignore, "request-timeout", 0, "TIME", "of requests without a stream",
		     .differs = "ignored: observe has none"),
	RUN(quiet, "silent-errors", 's', OPT_BOOL, NULL, "no warnings", .differs = "errors are printed"),
	ROW(print_filters, "print-raw-filters", 0, OPT_BOOL, NULL, "print the filter and exit",
	    .differs = "it is an expression for --where"),
	OPT_CALL_ROW(opt_ignore, "use-default-field-masks", 0, NULL, "ask for visible fields only",
		     .differs = "ignored: an agent sends events"),
	REFUSED("uuid", 0, "ID", "flows of sonde have no uuid: use the filter flow.id"),
	REFUSED("http-method", 0, "NAME", BY_CALL "method"),
	REFUSED("http-status", 0, "CODE", BY_CALL "status"),
	REFUSED("http-path", 0, "PATTERN", BY_CALL "path"),
	REFUSED("http-url", 0, "PATTERN", BY_CALL "path"),
	REFUSED("http-header", 0, "NAME:VALUE", "use sonde rpc --header NAME"),
	REFUSED("trace-id", 0, "ID", "use sonde trace, which follows a call"),
	REFUSED("ip-trace-id", 0, "ID", "use sonde trace, which follows a call"),
	REFUSED("label", 'l', "SELECTOR", NO_LABELS),
	REFUSED("from-label", 0, "SELECTOR", NO_LABELS),
	REFUSED("to-label", 0, "SELECTOR", NO_LABELS),
	REFUSED_ENDS("service", "NAME", "use --fqdn NAME or --ip ADDR"),
	REFUSED_ENDS("identity", "ID", "sonde knows no identities: use --ip ADDR"),
	REFUSED_ENDS("cluster", "NAME", "sonde watches one host: use --ip NETWORK"),
	REFUSED("node-name", 0, "NAME", ONE_HOST),
	REFUSED("node-label", 0, "SELECTOR", ONE_HOST),
	REFUSED("cel-expression", 0, "EXPR", "use --where EXPR (sonde help filter)"),
	REFUSED("encrypted", 0, NULL, "use a packet filter (esp, udp port 51871)"),
	REFUSED("unencrypted", 0, NULL, "use a packet filter (not esp and not udp port 51871)"),
	REFUSED("allowlist", 0, "JSON", "use --where EXPR (sonde help filter)"),
	REFUSED("denylist", 0, "JSON", "use --where 'not (EXPR)' (sonde help filter)"),
	REFUSED("print-policy-names", 0, NULL, "use sonde policy, which names the rule"),
	REFUSED("field-mask", 0, "FIELDS", "use sonde flows --format '%field ...'"),
	REFUSED("experimental-field-mask", 0, "FIELDS", "use sonde flows --format '%field ...'"),
	REFUSED("experimental-use-default-field-masks", 0, NULL, "use sonde flows --format '%field ...'"),
	REFUSED("tls", 0, NULL, NO_NETWORK),
	REFUSED("tls-allow-insecure", 0, NULL, NO_NETWORK),
	REFUSED("tls-ca-cert-files", 0, "FILES", NO_NETWORK),
	REFUSED("tls-client-cert-file", 0, "FILE", NO_NETWORK),
	REFUSED("tls-client-key-file", 0, "FILE", NO_NETWORK),
	REFUSED("tls-server-name", 0, "NAME", NO_NETWORK),
	REFUSED("basic-auth-username", 0, "NAME", NO_NETWORK),
	REFUSED("basic-auth-password", 0, "TEXT", NO_NETWORK),
	REFUSED("port-forward", 'P', NULL, NO_RELAY),
	REFUSED("port-forward-port", 0, "PORT", NO_RELAY),
	REFUSED("kube-context", 0, "NAME", NO_RELAY),
	REFUSED("kube-namespace", 0, "NAME", NO_RELAY),
	REFUSED("kubeconfig", 0, "FILE", NO_RELAY),
	REFUSED("config", 0, "FILE", "options are given on the command line: use an alias of the shell"),
	REFUSED("debug", 'D', NULL, "use --explain-filter, or sonde doctor"),
	OPT_END
};

/* One table of two: the filters, then the rest. The set's struct is the same. */
static const struct opt *join_rows(struct hubble_conf *c)
{
	size_t n = 0;

	_Static_assert(offsetof(struct hubble_conf, filter) == 0, "offsets of both tables start at one place");
	for (const struct opt *o = hubble_opts; opt_is_row(o) && n < HUBBLE_ROWS - 1; o++)
		c->rows[n++] = *o;
	for (const struct opt *o = hubble_rows; opt_is_row(o) && n < HUBBLE_ROWS - 1; o++)
		c->rows[n++] = *o;
	return c->rows;
}

static size_t hubble_sets(void *conf, struct opt_set *ret_sets)
{
	struct hubble_conf *c = conf;

	ret_sets[0] = (struct opt_set){ .title = "Filters", .opts = join_rows(c), .conf = c };
	return 1 + flows_sets(&c->flows, ret_sets + 1);
}

/* ---- the run ---- */

static bool check_selection(const struct hubble_conf *c)
{
	const struct hubble_lines_opts *o = &c->lines;
	const char *a = NULL, *b = NULL;

	if (o->first && (o->last || c->all || c->follow)) {
		a = "first";
		b = o->last ? "last" : c->all ? "all" : "follow";
	} else if (o->last && c->all) {
		a = "last";
		b = "all";
	}
	if (a)
		log_error("--%s and --%s exclude each other", a, b);
	else if (o->last > MAX_LAST)
		log_error("--last must be at most %u", MAX_LAST);
	else if (o->form == HUBBLE_TABLE && c->follow)
		log_error("-o table prints at the end, --follow has none: use -o compact");
	else
		return true;
	return false;
}

/* Options of sonde's own lines have no meaning in those of hubble. */
static bool check_native(const struct run_conf *run)
{
	if (!run->format && !run->time && !run->data)
		return true;
	log_error("--format, --time and --data are of sonde's own lines: use sonde flows, or --time-format");
	return false;
}

static bool has_span(const struct hubble_filter *f)
{
	for (size_t i = 0; i < f->words.parts.len; i++) {
		const char *name = f->words.parts.items[i].name;

		if (!strcmp(name, "--since") || !strcmp(name, "--until"))
			return true;
	}
	return false;
}

/* A live run has no past: the number of flows limits what comes. */
static void set_limits(struct hubble_conf *c)
{
	struct hubble_lines_opts *o = &c->lines;
	uint64_t n = o->first ? o->first : o->last;

	if (c->flows.run.read)
		return;
	if (!n && !c->follow && !c->all && !has_span(&c->filter) && !c->flows.run.count && !c->flows.run.duration_ns)
		n = LAST_FLOWS;
	o->last = 0;
	if (n && !c->follow)
		c->flows.run.count = n;
}

static int print_filter(const struct hubble_conf *c)
{
	return c->flows.run.where && puts(c->flows.run.where) == EOF ? CMD_FAIL : CMD_OK;
}

static int run_lines(struct hubble_conf *c, const struct cmd_words *w)
{
	struct hubble_lines *lines = hubble_lines_new(&c->lines);
	int status, r;

	if (!lines)
		return cmd_error(CMD_FAIL, "out of memory");
	c->lines.addresses |= c->flows.run.numeric;
	c->flows.watcher = &hubble_lines_sink;
	c->flows.watcher_ctx = lines;
	set_limits(c);
	status = flows_run(&c->flows, w);
	r = hubble_lines_finish(lines);
	if (r < 0 && r != -EPIPE) {
		log_error("cannot print the flows: %s", strerror(-r));
		status = CMD_FAIL;
	}
	hubble_lines_free(lines);
	return status;
}

static int hubble_run(void *conf, const struct cmd_words *w)
{
	struct hubble_conf *c = conf;
	bool native = c->flows.top || c->flows.run.json;
	struct err err = { 0 };
	int status = CMD_USAGE;

	c->flows.packets = true;
	if (hubble_filter_use(&c->filter, &c->flows.run, &err) < 0)
		log_error("%s", err.msg);
	else if (c->print_filters)
		status = print_filter(c);
	else if (check_selection(c) && (native || check_native(&c->flows.run)))
		status = native ? flows_run(&c->flows, w) : run_lines(c, w);
	hubble_filter_fini(&c->filter);
	return status;
}

static const struct cmd_example examples[] = {
	{ "sonde compat hubble observe --verdict DROPPED --not --port 53", "dropped flows, no DNS" },
	{ "sonde compat hubble observe -f --to-fqdn '*.example.org' -o jsonpb", "Hubble's JSON" },
	{ 0 },
};

static const struct cmd hubble_cmd = {
	.name = "compat hubble observe",
	.summary = "flows in hubble's lines",
	.args = "[PCAP FILTER]",
	.doc = "Prints flows as hubble observe does. Values of one option are alternatives, different options must "
	       "all hold. Without an option it ends after 20 flows, as hubble does; -f follows.",
	.examples = examples,
	.dialect = true,
	.conf_size = sizeof(struct hubble_conf),
	.sets = hubble_sets,
	.run = hubble_run,
};

const struct dialect dialect_hubble = { .tool = "hubble", .verb = "observe", .cmd = &hubble_cmd, .native = "flows" };
