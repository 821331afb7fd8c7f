// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde export: a recording or store in the formats of other tools, all of them in one pass.
 */
#include <errno.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "cmd/cmd.h"
#include "cmd/run/run.h"
#include "stack/view.h"
#include "sym/sym.h"

static size_t export_sets(void *conf, struct opt_set *ret_sets)
{
	return run_sets(conf, 0, ret_sets);
}

static int prepare(struct run_conf *c, const char *words, struct run_texts *texts, struct err *err)
{
	if (!c->read)
		return err_set(err, -EINVAL, "export reads a recording: -r names it");
	if (!c->outputs.len && !c->json)
		return err_set(err, -EINVAL,
			       "export needs an output: -o pcapng:FILE -o perfetto:FILE ... (sonde help "
			       "outputs lists the formats)");
	return run_settle(c, words, "rec", texts, err);
}

static int export_run(void *conf, const struct cmd_words *w)
{
	struct run_conf *c = conf;
	_cleanup_free_ char *words = run_join_words(&w->words);
	_cleanup_(run_texts_fini) struct run_texts texts = { 0 };
	const struct stack_view view = { 0 };
	const struct sym_opts symbols = { 0 };
	const struct run_stacks stacks = { .view = &view, .symbols = &symbols };
	const struct run_ops spec = {
		.unit = "event", .cmdline = w->line, .filter_text = words, .stacks = &stacks, .output = "",
	};
	struct err err = { 0 };
	int r = prepare(c, words, &texts, &err);

	if (r >= 0)
		return run(c, &spec);
	return cmd_fail(r, &err);
}

static const struct cmd_example export_examples[] = {
	{ "sonde export -r /var/lib/sonde/default --since 10m -o perfetto:ten.perfetto-trace",
	  "the last ten minutes, for ui.perfetto.dev" },
	{ "sonde export -r all.rec -o pcapng:all.pcapng -o pprof:all.pb.gz", "packets and stacks, in one pass" },
	{ 0 },
};

const struct cmd cmd_export = {
	.name = "export", .summary = "a recording or store in the formats of other tools",
	.args = "[EXPR]",
	.doc = "Reads -r once and writes each -o: packets go to pcapng, system calls to scap, stacks to pprof, RPCs "
	       "to otlp, all of them to perfetto and json. Each format takes the events that it can hold (sonde "
	       "help outputs). --since, --until and the trailing expression (sonde help filter) select.",
	.examples = export_examples, .conf_size = sizeof(struct run_conf), .sets = export_sets, .run = export_run,
};
