// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde profile diff OLD NEW: two recordings as one tree with two weights. Folded lines have both counts, the older
 * first, like those of difffolded; a flame graph has the widths of the newer recording, and its colours show the
 * difference.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "pipeline/pipeline.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "cmd/cmd.h"
#include "cmd/profile/profile.h"
#include "sinks/outfile.h"
#include "sinks/stack/profile.h"
#include "sinks/sink.h"
#include "sinks/stack/svg.h"
#include "source/source.h"
#include "stack/tree.h"
#include "sym/sym.h"
#include "worker/opener.h"

struct side {
	struct stack_tree *tree;
	enum stack_side which;
	const struct profile_conf *conf;
	bool folded;
	struct buf notes;	/* missing parts of the recording */
	struct source *sources[STACK_SIDE__MAX];	/* owned until they are read */
	struct opener *opener;	/* owned; of both runs */
};

static void side_fini(struct side *side)
{
	for (unsigned i = 0; i < STACK_SIDE__MAX; i++)
		source_close(side->sources[i]);
	opener_free(side->opener);
	buf_fini(&side->notes);
	stack_tree_free(side->tree);
}

/* ---- a sink that collects one recording ---- */

static int gather_close(struct sink *s)
{
	struct profile *p = s->state;
	struct side *side = s->opts->ctx;
	int r = stack_tree_add(side->tree, p->set, p->sym, &p->view, side->which, side->folded);

	buf_add_str(&side->notes, sinks_profile_losses(p));
	sinks_profile_fini(p);
	return r;
}

static const struct sink_ops gather_sink = {
	.name = "gather", .summary = "for the command itself", .state_size = sizeof(struct profile),
	.open = sinks_profile_sink_open, .event = sinks_profile_sink_event, .close = gather_close,
};

static int read_side(struct side *side, const char *file, const struct cmd_words *w)
{
	const struct profile_conf *c = side->conf;
	struct run_conf conf = c->run;
	const struct stack_view view = {
		.user_only = c->cpu.user_only,
		.kernel_only = c->cpu.kernel_only,
		.weight = c->cpu.off_cpu ? STACK_OFF_CPU
			  : c->cpu.wall	 ? STACK_WALL
					 : STACK_SAMPLES,
	};
	const struct sym_opts symbols = { .lines = false };
	const struct run_stacks stacks = { .view = &view, .symbols = &symbols };
	const struct run_input input = {
		.source = TAKE_PTR(side->sources[side->which]),
		.opener = &side->opener,
	};
	const struct run_ops spec = {
		.stacks = &stacks,
		.input = &input,
		.cmdline = w->line,
		.output = "",
		.watcher = &gather_sink,
		.watcher_ctx = side,
	};

	conf.read = file;
	conf.outputs = (struct opt_strv){ 0 };
	conf.json = false;
	return run(&conf, &spec);
}

/* ---- output ---- */

static int write_folded(struct stack_tree *tree, struct outfile *out)
{
	_cleanup_(buf_fini) struct buf line = { 0 };
	int r = 0;

	for (uint32_t i = 0; r >= 0 && i < stack_tree_len(tree); i++) {
		const struct stack_node *n = stack_tree_at(tree, i);

		if (!n->self[STACK_OLD] && !n->self[STACK_NEW])
			continue;
		buf_reset(&line);
		stack_tree_path(tree, i, &line);
		buf_printf(&line, " %" PRIu64 " %" PRIu64 "\n", n->self[STACK_OLD], n->self[STACK_NEW]);
		r = buf_error(&line) ? buf_error(&line) : outfile_record(out, line.data, line.len);
	}
	return r;
}

static int write_svg(struct stack_tree *tree, const struct profile_conf *c, const char *const files[2],
		     const char *notes, struct outfile *out)
{
	_cleanup_(buf_fini) struct buf svg = { 0 }, footer = { 0 };
	const struct stack_node *all = stack_tree_at(tree, 0);
	struct svg_opts o = { .title = c->title ? c->title : "Differential flame graph", .diff = true };
	int r;

	o.unit = stack_weight_units[c->cpu.off_cpu ? STACK_OFF_CPU : c->cpu.wall ? STACK_WALL : STACK_SAMPLES];
	buf_printf(&footer,
		   "old: %s (%" PRIu64 " %s); new: %s (%" PRIu64 " %s); red grew, blue shrank; shares of each\n%s",
		   files[0], all->total[STACK_OLD], o.unit, files[1], all->total[STACK_NEW], o.unit, notes);
	o.footer = buf_str(&footer);
	r = svg_write(tree, &o, &svg);
	return r < 0 ? r : outfile_record(out, svg.data, svg.len);
}

struct target {
	bool svg;
	const char *path;
	struct outfile *out;	/* owned */
};

/* -o folded[:FILE] or svg[:FILE], or a FILE with such a suffix. */
static int find_target(const struct run_conf *c, struct target *ret, struct err *err)
{
	const char *text = c->outputs.len ? c->outputs.items[0] : "folded", *colon = strchr(text, ':');
	_cleanup_free_ char *name = strndup(text, colon ? (size_t)(colon - text) : strlen(text));
	const struct sink_ops *ops = name ? sink_find(name) : NULL;

	ret->path = colon ? colon + 1 : NULL;
	if (!ops && (ops = sink_find_suffix(text)))
		ret->path = text;
	if (c->outputs.len > 1 || c->json || !ops || (strcmp(ops->name, "folded") && strcmp(ops->name, "svg")))
		return err_set(err, -EINVAL, "diff writes one output, folded or svg");
	ret->svg = !strcmp(ops->name, "svg");
	return 0;
}

static int write_diff(struct side *side, struct target *to, const char *const files[2], struct err *err)
{
	struct outfile *out = TAKE_PTR(to->out);
	int r = to->svg ? write_svg(side->tree, side->conf, files, buf_str(&side->notes), out) :
			  write_folded(side->tree, out);
	int closed;

	if (r < 0)
		err_errno(err, r, "cannot write %s", outfile_name(out));
	closed = outfile_close(out);
	if (r >= 0 && closed < 0)
		err_errno(err, closed, "cannot write the difference");
	return r < 0 ? r : closed;
}

/* All privileged steps, before the first recording is read. */
static int open_files(struct side *side, struct target *to, const char *const files[2], struct err *err)
{
	int r = 0;

	for (unsigned i = 0; r >= 0 && i < STACK_SIDE__MAX; i++)
		r = source_open(files[i], &side->sources[i], err);
	for (unsigned i = 0; r >= 0 && i < STACK_SIDE__MAX; i++)
		r = source_await_format(side->sources[i], SOURCE_FORMAT_MS, err);
	return r < 0 ? r : outfile_open(to->path, &to->out, err);
}

static int make_diff(struct side *side, struct target *to, const struct cmd_words *w, struct err *err)
{
	int r = open_files(side, to, w->words.items + 1, err), status = CMD_OK;

	for (unsigned i = 0; r >= 0 && status == CMD_OK && i < STACK_SIDE__MAX; i++) {
		side->which = (enum stack_side)i;
		status = read_side(side, w->words.items[i + 1], w);
	}
	if (r >= 0 && status == CMD_OK)
		r = write_diff(side, to, w->words.items + 1, err);
	return r < 0 ? r : status;
}

int profile_diff(const struct profile_conf *c, const struct cmd_words *w)
{
	struct side side = { .conf = c };
	struct target to = { 0 };
	struct err err = { 0 };
	int r;

	if (w->words.len != 3 || w->command.len || c->run.read)
		return cmd_error(CMD_USAGE, "diff takes two recordings: sonde profile diff OLD NEW");
	r = find_target(&c->run, &to, &err);
	if (r >= 0 && (r = stack_tree_new(&side.tree)) < 0)
		err_errno(&err, r, "diff");
	side.folded = !to.svg;
	if (r >= 0)
		r = make_diff(&side, &to, w, &err);
	outfile_free(to.out);
	side_fini(&side);
	if (r == -EPIPE)	/* reader closed the pipe (| head): not an error */
		return CMD_BY_SIGNAL + SIGPIPE;
	if (r < 0)
		log_error("%s", err.msg);
	return r < 0 ? cmd_exit_status(r) : r;
}
