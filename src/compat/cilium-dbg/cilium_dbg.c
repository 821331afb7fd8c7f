// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde compat cilium-dbg monitor: the options of `cilium-dbg monitor` over sonde monitor.
 */
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "cmd/net/monitor.h"
#include "compat/compat.h"
#include "scap/render.h"

struct cilium_conf {
	struct monitor_conf monitor;
	struct opt_strv types;
	bool hex, numeric;
};

static const struct opt address_opts[] = {
	OPT_ROW(net_conf, from, "from", 0, OPT_STRV, "ADDR", "packets from an address, network, interface, endpoint"),
	OPT_ROW(net_conf, to, "to", 0, OPT_STRV, "ADDR", "packets to it"),
	OPT_ROW(net_conf, related, "related-to", 0, OPT_STRV, "ADDR", "packets from it or to it"), OPT_END
};

static const struct opt cilium_opts[] = {
	OPT_ROW(cilium_conf, types, "type", 't', OPT_STRV, "TYPE",
		"drop, trace, policy-verdict and so on; may repeat"),
	OPT_ROW(cilium_conf, hex, "hex", 0, OPT_BOOL, NULL, "hex dump of packets"),
	OPT_ROW(cilium_conf, numeric, "numeric", 'n', OPT_BOOL, NULL, "numbers instead of names"), OPT_END
};

static size_t cilium_sets(void *conf, struct opt_set *ret_sets)
{
	struct cilium_conf *c = conf;
	size_t n = monitor_sets(&c->monitor, ret_sets + 2);

	ret_sets[0] = (struct opt_set){ .title = "cilium-dbg monitor", .opts = cilium_opts, .conf = c };
	ret_sets[1] = (struct opt_set){ .opts = address_opts, .conf = &c->monitor.net };
	return 2 + n;
}

/* Cilium's name of verdicts has no dot; the others are those of sonde. */
static void add_types(const struct opt_strv *types, struct buf *expr)
{
	if (!types->len)
		return;
	buf_add_str(expr, "evt.type in (");
	for (size_t i = 0; i < types->len; i++)
		buf_printf(expr, "%s%s", i ? ", " : "", types->items[i]);
	buf_add_char(expr, ')');
}

static int cilium_run(void *conf, const struct cmd_words *w)
{
	struct cilium_conf *c = conf;
	_cleanup_(buf_fini) struct buf types = { 0 };

	add_types(&c->types, &types);
	if (buf_error(&types) < 0) {
		log_error("out of memory");
		return CMD_FAIL;
	}
	if (types.len)
		c->monitor.run.where = buf_str(&types);
	if (c->hex)
		c->monitor.run.data = SCAP_BUFFER_HEX;
	c->monitor.run.numeric |= c->numeric;
	if (!c->monitor.run.format)
		c->monitor.run.format = "cilium";
	return monitor_run(&c->monitor, w);
}

static const struct cmd_example examples[] = {
	{ "sonde compat cilium-dbg monitor --cilium auto -t drop -v", "drops of the Cilium agent" },
	{ "sonde compat cilium-dbg monitor --related-to 10.0.0.7", "packets of this host in Cilium's lines" },
	{ 0 },
};

static const struct cmd cilium_cmd = {
	.name = "compat cilium-dbg monitor",
	.summary = "packets and drops in Cilium's lines",
	.args = "[PCAP FILTER]",
	.doc = "Takes the options of cilium-dbg monitor; all else is sonde monitor. Without --cilium it shows "
	       "this host.",
	.examples = examples,
	.dialect = true,
	.conf_size = sizeof(struct cilium_conf),
	.sets = cilium_sets,
	.run = cilium_run,
};

static const struct compat_load_error refused[] = {
	{ "monitor-socket-path", 0, "use --cilium PATH" },
	{ 0 },
};

const struct dialect dialect_cilium_dbg = {
	.tool = "cilium-dbg",
	.verb = "monitor",
	.cmd = &cilium_cmd,
	.refused = refused,
};
