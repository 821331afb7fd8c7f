// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde compat hubble observe: the filters of `hubble observe` over sonde flows.
 */
#include "base/err.h"
#include "base/log.h"
#include "cmd/net/flows.h"
#include "compat/compat.h"
#include "compat/hubble/hubble_filter.h"

struct hubble_conf {
	struct flows_conf flows;
	struct hubble_filter filter;
};

static size_t hubble_sets(void *conf, struct opt_set *ret_sets)
{
	struct hubble_conf *c = conf;

	ret_sets[0] = (struct opt_set){ .title = "Filters", .opts = hubble_opts, .conf = &c->filter };
	return 1 + flows_sets(&c->flows, ret_sets + 1);
}

static int hubble_run(void *conf, const struct cmd_words *w)
{
	struct hubble_conf *c = conf;
	struct err err = { 0 };
	int status = CMD_USAGE;

	if (hubble_filter_use(&c->filter, &c->flows.run, &err) < 0)
		log_error("%s", err.msg);
	else
		status = flows_run(&c->flows, w);
	hubble_filter_fini(&c->filter);
	return status;
}

static const struct cmd_example examples[] = {
	{ "sonde compat hubble observe --verdict DROPPED --not --port 53", "dropped flows, no DNS" },
	{ "sonde compat hubble observe --to-fqdn '*.example.org' -o hubble", "Hubble's JSON" },
	{ 0 },
};

static const struct cmd hubble_cmd = {
	.name = "compat hubble observe",
	.summary = "flows, filtered as hubble observe does",
	.args = "[PCAP FILTER]",
	.doc = "Takes the filter options of hubble observe; all else is sonde flows. Values of one option are "
	       "alternatives, different options must all hold.",
	.examples = examples,
	.dialect = true,
	.conf_size = sizeof(struct hubble_conf),
	.sets = hubble_sets,
	.run = hubble_run,
};

static const struct compat_load_error refused[] = {
	{ "follow", 'f', "sonde shows live events unless -r names a recording" },
	{ "last", 0, "sonde keeps no history; -n COUNT ends a run" },
	{ "first", 0, "use -n COUNT" },
	{ "all", 0, "sonde shows every event of its input" },
	{ "input-file", 0, "use -r FILE" },
	{ "server", 0, "use --agent=PATH for an agent of sonde" },
	{ "http-method", 0, "use sonde rpc and rpc.method" },
	{ "http-status", 0, "use sonde rpc and rpc.status" },
	{ "http-path", 0, "use sonde rpc and rpc.path" },
	{ "pod", 0, "use --container ID" },
	{ "from-pod", 0, "use --container ID" },
	{ "to-pod", 0, "use --container ID" },
	{ "namespace", 0, "use --netns NS for network namespaces" },
	{ "label", 0, "sonde knows no labels of pods" },
	{ "identity", 0, "sonde knows no identities" },
	{ "node-name", 0, "sonde watches this host only" },
	{ 0 },
};

const struct dialect dialect_hubble = { .tool = "hubble", .verb = "observe", .cmd = &hubble_cmd, .refused = refused };
