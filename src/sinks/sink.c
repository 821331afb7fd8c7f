// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The table of output formats and their common functions.
 */
#include "sinks/sink.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/macros.h"
#include "sinks/outfile.h"

#define SINK(name) extern const struct sink_ops name##_sink;
#include "sinks/sinks.def"
#undef SINK

const struct sink_ops *const all_sinks[] = {
#define SINK(name) &name##_sink,
#include "sinks/sinks.def"
#undef SINK
	NULL,
};

const struct sink_ops *sink_find(const char *name)
{
	for (size_t i = 0; all_sinks[i]; i++)
		if (!strcmp(all_sinks[i]->name, name))
			return all_sinks[i];
	return NULL;
}

const struct sink_ops *sink_for_tool(const struct sink_ops *ops, const char *tool)
{
	for (size_t i = 0; tool && all_sinks[i]; i++)
		if (all_sinks[i]->tool && !strcmp(all_sinks[i]->tool, tool) &&
		    !strcmp(all_sinks[i]->instead_of, ops->name))
			return all_sinks[i];
	return ops;
}

/* The longest match wins: x.speedscope.json is not x.json. */
const struct sink_ops *sink_find_suffix(const char *path)
{
	const struct sink_ops *best = NULL;
	size_t len = strlen(path), best_len = 0;

	for (size_t i = 0; all_sinks[i]; i++) {
		const char *suffix = all_sinks[i]->suffix;
		size_t n = suffix ? strlen(suffix) : 0;

		if (n > best_len && n < len && !strcmp(path + len - n, suffix)) {
			best = all_sinks[i];
			best_len = n;
		}
	}
	return best;
}

const struct sink_ops *sink_of_output(const char *text, const char *otherwise, const char **ret_path)
{
	size_t len = strcspn(text, ":");
	const char *slash = strchr(text, '/');

	for (size_t i = 0; all_sinks[i]; i++) {
		if (strlen(all_sinks[i]->name) != len || memcmp(all_sinks[i]->name, text, len) != 0)
			continue;
		*ret_path = text[len] ? text + len + 1 : NULL;
		return all_sinks[i];
	}
	*ret_path = text;
	if (text[len] && !otherwise && !(slash && slash < text + len))
		return NULL;
	return sink_find_suffix(text) || !otherwise ? sink_find_suffix(text) : sink_find(otherwise);
}

int sink_open(struct sink *s, const struct sink_ops *ops, const struct sink_opts *opts, struct outfile *out,
	      struct err *err)
{
	int r = 0;

	*s = (struct sink){ .ops = ops, .opts = opts, .out = out };
	if (ops->flags & SINK_BINARY && out && outfile_is_tty(out))
		return err_set(err, -EINVAL, "-o %s writes binary data, and %s is a terminal: name a file "
			       "(-o %s:FILE) or use a pipe", ops->name, outfile_name(out), ops->name);
	if (ops->state_size) {
		s->state = calloc(1, ops->state_size);
		if (!s->state)
			return err_errno(err, -ENOMEM, "cannot open output %s", ops->name);
	}
	if (ops->open)
		r = ops->open(s, err);
	if (r < 0) {
		free(s->state);
		*s = (struct sink){ 0 };
	}
	return r;
}

static bool has_use_for(const struct sink_ops *ops, const struct event *ev)
{
	if (!ops->needs || (ops->flags & SINK_META && ev->desc->class == EVENT_META))
		return true;
	return FIND_ITEM(it, ev->sec, ev->n_sec, ops->needs & 1u << it->kind);
}

bool sink_wants(const struct sink *s, const struct event *ev)
{
	return s->ops->event && has_use_for(s->ops, ev);
}

int sink_event(struct sink *s, const struct event *ev)
{
	return sink_wants(s, ev) ? s->ops->event(s, ev) : 0;
}

int sink_record(struct sink *s, const struct sonde_rec *r)
{
	return s->ops->flags & SINK_RAW ? s->ops->record(s, r) : 0;
}

int sink_flush(struct sink *s)
{
	int r = s->ops->flush ? s->ops->flush(s) : 0, f = s->out ? outfile_flush(s->out) : 0;

	return r < 0 ? r : f;
}

int sink_flush_stdout(_unused_ struct sink *s)
{
	return fflush(stdout) ? -errno : 0;
}

int sink_close(struct sink *s)
{
	int r = 0, f;

	if (!s->ops)
		return 0;
	if (s->ops->close)
		r = s->ops->close(s);
	f = s->out ? outfile_flush(s->out) : 0;
	free(s->state);
	*s = (struct sink){ 0 };
	return r < 0 ? r : f;
}
