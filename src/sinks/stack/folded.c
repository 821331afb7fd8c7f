// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Folded stacks, the input of flame graph tools: "thread;outermost;...;innermost WEIGHT", one line per distinct
 * stack, lightest first. The weight is the last field; ';' in names becomes ':'.
 */

#include "base/buf.h"
#include "base/cleanup.h"
#include "sinks/outfile.h"
#include "sinks/stack/profile.h"
#include "sinks/sink.h"
#include "stack/tree.h"

static int write_lines(struct sink *s)
{
	struct profile *p = s->state;
	_cleanup_(stack_tree_freep) struct stack_tree *tree = NULL;
	_cleanup_(buf_fini) struct buf line = { 0 };
	_cleanup_free_ uint32_t *order = NULL;
	size_t n = 0;
	int r = stack_tree_new(&tree);

	if (r >= 0)
		r = stack_tree_add(tree, p->set, p->sym, &p->view, STACK_OLD, true);
	if (r >= 0)
		r = stack_tree_leaves(tree, STACK_OLD, &order, &n);
	for (size_t i = 0; r >= 0 && i < n; i++) {
		buf_reset(&line);
		stack_tree_path(tree, order[i], &line);
		buf_printf(&line, " %llu\n", (unsigned long long)stack_tree_at(tree, order[i])->self[STACK_OLD]);
		r = buf_error(&line) ? buf_error(&line) : outfile_record(s->out, line.data, line.len);
	}
	return r;
}

static int folded_close(struct sink *s)
{
	int r = write_lines(s);

	sinks_profile_fini(s->state);
	return r;
}

const struct sink_ops folded_sink = {
	.name = "folded", .summary = "counted stacks, one line each, for flame graphs", .suffix = ".folded",
	.flags = SINK_AT_CLOSE, .shows = SINK_SHOWS_STACKS, .state_size = sizeof(struct profile),
	.open = sinks_profile_sink_open, .event = sinks_profile_sink_event, .close = folded_close,
};
