// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Calls of gRPC and HTTP/2 in Go programs.
 */
#include "cmd/rpc.h"

#include <string.h>

#include "base/log.h"
#include "base/macros.h"
#include "cmd/cmd.h"

struct rpc_conf {
	struct rpc_explain explain;
};

static const struct opt explain_opts[] = {
	OPT_ROW(rpc_explain, json, "json", 'j', OPT_BOOL, NULL, "one JSON object a line"),
	OPT_ROW(rpc_explain, layout, "layout", 0, OPT_BOOL, NULL,
		"with explain: every member, type and argument that is known, with its source"),
	OPT_END,
};

static size_t rpc_sets(void *conf, struct opt_set *ret_sets)
{
	struct rpc_conf *c = conf;

	ret_sets[0] = (struct opt_set){ "Options of explain", explain_opts, c ? &c->explain : NULL };
	return 1;
}

static int rpc_run(void *conf, const struct cmd_words *w)
{
	const struct rpc_conf *c = conf;

	if (w->words.len == 2 && !strcmp(w->words.items[0], "explain"))
		return rpc_explain(&c->explain, w->words.items[1]);
	log_error("sonde rpc explain takes one process or file: sonde rpc explain PID|FILE");
	return CMD_USAGE;
}

static const struct cmd_example rpc_examples[] = {
	{ "sonde rpc explain 1234", "what can be watched in process 1234, and why not the rest" },
	{ "sonde rpc explain --layout ./server", "the source of every number, for a file" },
	{ 0 },
};

const struct cmd cmd_rpc = {
	.name = "rpc", .summary = "gRPC and HTTP/2 calls of Go programs",
	.args = "explain PID|FILE",
	.doc = "explain reads a Go program, stripped or not, and says its release and build mode, and for each "
	       "function that a probe wants whether it can be watched: where the probe goes, where the arguments are, "
	       "and what is missing where it cannot. Members of structs come from the runtime's type descriptors, arguments "
	       "from Go's rules of passing them; DWARF, where the file has it, must agree with both.",
	.examples = rpc_examples,
	.conf_size = sizeof(struct rpc_conf), .sets = rpc_sets, .run = rpc_run,
};
