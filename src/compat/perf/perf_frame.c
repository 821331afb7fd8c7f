// SPDX-License-Identifier: GPL-2.0-or-later
#include "compat/perf/perf_frame.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/opt.h"
#include "base/str.h"
#include "compat/perf/perf_select.h"
#include "event/event.h"
#include "sym/sym.h"

/* Readers split at blanks and take the first word behind "(" as the file. */
static void put_word(struct buf *out, const char *s)
{
	size_t from = out->len;

	str_escape_buf(out, s, strlen(s));
	for (size_t i = from; i < out->len; i++)
		if (out->data[i] == ' ')
			out->data[i] = '_';
}

void perf_frame_dso(const struct sym *sym, const struct stack_frame *f, struct buf *out)
{
	const struct sym_module *m = f->func && sym ? sym_module(sym, f->loc.module) : NULL;

	if (f->inlined)
		buf_add_str(out, "inlined");
	else if (m && m->kind != SYM_UNKNOWN && *m->path)
		put_word(out, m->path);
	else
		buf_add_str(out, f->part == STACK_PART_KERN ? "[kernel.kallsyms]" : "[unknown]");
}

void perf_frame_short_dso(const struct sym *sym, const struct stack_frame *f, struct buf *out)
{
	_cleanup_(buf_fini) struct buf path = { 0 };
	const char *slash;

	perf_frame_dso(sym, f, &path);
	slash = strrchr(buf_str(&path), '/');
	buf_add_str(out, slash && slash[1] ? slash + 1 : buf_str(&path));
}

static bool has_dso(const struct sym *sym, const struct stack_frame *f, const struct opt_strv *dsos)
{
	_cleanup_(buf_fini) struct buf path = { 0 }, name = { 0 };

	perf_frame_dso(sym, f, &path);
	perf_frame_short_dso(sym, f, &name);
	return perf_select_has(dsos, path.data, path.len) || perf_select_has(dsos, name.data, name.len);
}

bool perf_frame_selected(const struct sym *sym, const struct stack_frame *f, const struct opt_strv *symbols,
			 const struct opt_strv *dsos)
{
	if (!symbols->len && !dsos->len)
		return true;
	if (!f || (symbols->len && !perf_select_has(symbols, f->name, strlen(f->name))))
		return false;
	return !dsos->len || has_dso(sym, f, dsos);
}

bool perf_frame_is_chain(const struct event *ev)
{
	const struct section *user = event_section(ev, SEC_STACK_USER), *kern = event_section(ev, SEC_STACK_KERN);

	return (user && user->len > sizeof(uint64_t)) || (kern && kern->len > sizeof(uint64_t));
}
