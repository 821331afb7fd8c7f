// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde compat cilium-dbg monitor: the options of `cilium-dbg monitor` over sonde monitor.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "cmd/net/monitor.h"
#include "compat/compat.h"
#include "scap/render.h"
#include "scap/state/view.h"

struct cilium_conf {
	struct monitor_conf monitor;
	unsigned types; /* 1u << index of type_names[] */
	bool hex, numeric;
};

static const char *const type_names[] = {
	"drop", "debug", "capture", "trace", "policy-verdict", "recorder", "trace-sock", "l7", "agent",
};

/* "drop", or several with commas between them. */
static int on_type(void *conf, const char *arg, struct err *err)
{
	struct cilium_conf *c = conf;

	do {
		size_t len = strcspn(arg, ","), i = 0;

		while (i < ARRAY_SIZE(type_names) &&
		       (strlen(type_names[i]) != len || memcmp(type_names[i], arg, len) != 0))
			i++;
		if (i == ARRAY_SIZE(type_names))
			return err_set(err, -EINVAL,
				       "--type %s: expected drop, debug, capture, trace, policy-verdict, "
				       "recorder, trace-sock, l7 or agent", arg);
		c->types |= 1u << i;
		arg += len;
	} while (*arg++);
	return 0;
}

#define RUN(member, ...) OPT_ROW(cilium_conf, monitor.run.member, __VA_ARGS__)
#define NET(member, ...) OPT_ROW(cilium_conf, monitor.net.member, __VA_ARGS__)

#define ENDS .differs = "addresses, networks and interfaces too; an endpoint's number needs an agent's socket"
#define SOCKET "socket of the Cilium agent"

static const struct opt cilium_opts[] = {
	OPT_CALL_ROW(on_type, "type", 't', "TYPE", "drop, trace, policy-verdict and so on; may repeat",
		     .differs = "trace-sock is filtered too"),
	NET(from, "from", 0, OPT_STRV, "ADDR", "packets from an address, network, interface, endpoint", ENDS),
	NET(to, "to", 0, OPT_STRV, "ADDR", "packets to it", ENDS),
	NET(related, "related-to", 0, OPT_STRV, "ADDR", "packets from it or to it", ENDS),
	RUN(verbose, "verbose", 'v', OPT_COUNT, NULL, "more detail; -vv dissects packets"),
	RUN(json, "json", 'j', OPT_BOOL, NULL, "JSON objects"),
	OPT_ROW(cilium_conf, hex, "hex", 0, OPT_BOOL, NULL, "hex dump of packets"),
	OPT_ROW(cilium_conf, numeric, "numeric", 'n', OPT_BOOL, NULL, "numbers instead of names"),
	OPT_ROW(cilium_conf, monitor.cilium, "monitor-socket", 0, OPT_STR, "PATH", SOCKET,
		.differs = "without it and CILIUM_MONITOR_SOCK this host's packets; no second path is tried"),
	REFUSED("host", 'H', "URI", "sonde asks no API of the agent: use --monitor-socket PATH for its events"),
	REFUSED("config", 0, "FILE", "options are given on the command line: use an alias of the shell"),
	REFUSED("debug", 'D', NULL, "use --explain-filter, or sonde doctor"),
	REFUSED("log-driver", 0, "NAME", "messages go to standard error: use 2> FILE"),
	REFUSED("log-opt", 0, "MAP", "messages go to standard error: use 2> FILE"),
	OPT_END
};

static size_t cilium_sets(void *conf, struct opt_set *ret_sets)
{
	struct cilium_conf *c = conf;

	ret_sets[0] = (struct opt_set){ .title = "cilium-dbg monitor", .opts = cilium_opts, .conf = c };
	return 1 + monitor_sets(&c->monitor, ret_sets + 1);
}

static void add_types(unsigned types, struct buf *expr)
{
	for (size_t i = 0; i < ARRAY_SIZE(type_names); i++)
		if (types & 1u << i)
			buf_printf(expr, "%s%s", expr->len ? ", " : "evt.type in (", type_names[i]);
	if (expr->len)
		buf_add_char(expr, ')');
}

static int cilium_run(void *conf, const struct cmd_words *w)
{
	const char *socket = getenv("CILIUM_MONITOR_SOCK");
	struct cilium_conf *c = conf;
	_cleanup_(buf_fini) struct buf types = { 0 };

	add_types(c->types, &types);
	if (buf_error(&types) < 0)
		return cmd_error(CMD_FAIL, "out of memory");
	if (types.len)
		c->monitor.run.where = buf_str(&types);
	if (c->hex)
		c->monitor.run.data = SCAP_BUFFER_HEX;
	c->monitor.run.numeric |= c->numeric;
	if (!c->monitor.run.format)
		c->monitor.run.format = "cilium";
	if (!c->monitor.cilium && !c->monitor.run.read && socket && *socket)
		c->monitor.cilium = socket;
	return monitor_run(&c->monitor, w);
}

static const struct cmd_example examples[] = {
	{ "sonde compat cilium-dbg monitor --monitor-socket PATH -t drop",
	  "drops of the Cilium agent" },
	{ "sonde compat cilium-dbg monitor --related-to 10.0.0.7", "packets of this host in Cilium's lines" },
	{ 0 },
};

static const struct cmd cilium_cmd = {
	.name = "compat cilium-dbg monitor",
	.summary = "packets and drops in Cilium's lines",
	.args = "[PCAP FILTER]",
	.doc = "Takes the options of cilium-dbg monitor; all else is sonde monitor. Without the socket of an "
	       "agent it shows this host.",
	.examples = examples,
	.dialect = true,
	.conf_size = sizeof(struct cilium_conf),
	.sets = cilium_sets,
	.run = cilium_run,
};

const struct dialect dialect_cilium_dbg = {
	.tool = "cilium-dbg",
	.verb = "monitor",
	.cmd = &cilium_cmd,
	.native = "monitor",
};
