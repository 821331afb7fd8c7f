// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Placeholders and their names: captures locations while the event passes, resolves names in one batch for all
 * waiting lines.
 */
#include "sinks/json_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "event/event.h"
#include "event/json.h"
#include "sinks/outfile.h"

#define WAIT_NS 1000000000ull
#define WAIT_BYTES (4u << 20)
#define WAIT_REPLAY_BYTES (512u << 20)

int json_names_leave(struct json_names *n, const struct event *ev)
{
	const struct section *s = event_section(ev, SEC_STACK_USER);
	size_t len = s ? s->len / sizeof(uint64_t) : 0;
	_cleanup_free_ struct sym_loc *locs = calloc(len + 1, sizeof(*locs));

	if (!locs)
		return -ENOMEM;
	len = sym_locate_user(n->sym, ev, locs, len);
	for (size_t i = 0; i < len; i++) {
		if (vec_grow(&n->holes) < 0)
			return -ENOMEM;
		n->holes.items[n->holes.len++] = (struct json_hole){
			.at = n->text.len, .what = { .loc = locs[i], .caller = i > 0 }, .first = !i,
		};
	}
	return 0;
}

bool json_names_due(const struct json_names *n, uint64_t now_ns, bool replay)
{
	if (replay)
		return n->text.len > WAIT_REPLAY_BYTES;
	return n->since_ns && (n->text.len > WAIT_BYTES || now_ns - n->since_ns > WAIT_NS);
}

/* "symbol+0x10 [module]", preceded by inlined functions. */
static void put_frame(struct buf *out, const struct sym *sym, const struct json_hole *h, const struct sym_frame *f)
{
	const struct sym_module *m = sym_module(sym, h->what.loc.module);
	unsigned long long addr = h->what.loc.addr;
	_cleanup_(buf_fini) struct buf b = { 0 };

	for (uint32_t i = 0; i < f->n; i++) {
		buf_reset(&b);
		if (f->funcs[i].name[0])
			buf_printf(&b, "%s+0x%llx [%s]", f->funcs[i].name, (unsigned long long)f->funcs[i].off,
				   m->path);
		else if (m->kind == SYM_UNKNOWN)
			buf_printf(&b, "0x%llx", addr);
		else
			buf_printf(&b, "[%s+0x%llx]", m->path, addr);
		if (!h->first || i)
			buf_add_char(out, ',');
		json_string(out, b.data, b.len);
	}
}

static int fill(const struct json_names *n, struct buf *out)
{
	_cleanup_free_ struct sym_query *q = calloc(n->holes.len + 1, sizeof(*q));
	_cleanup_free_ struct sym_frame *f = calloc(n->holes.len + 1, sizeof(*f));
	size_t from = 0;

	if (!q || !f)
		return -ENOMEM;
	for (size_t i = 0; i < n->holes.len; i++)
		q[i] = n->holes.items[i].what;
	sym_stack_frames(n->sym, q, n->holes.len, f); /* unresolved frames stay without a name */
	for (size_t i = 0; i < n->holes.len; i++) {
		const struct json_hole *h = &n->holes.items[i];

		buf_add(out, n->text.data + from, h->at - from);
		put_frame(out, n->sym, h, &f[i]);
		from = h->at;
	}
	return buf_add(out, n->text.data + from, n->text.len - from);
}

int json_names_write(struct json_names *n, struct outfile *out)
{
	_cleanup_(buf_fini) struct buf whole = { 0 };
	const char *line, *end;
	int r = fill(n, &whole);

	for (line = whole.data; r >= 0 && line < whole.data + whole.len; line = end) {
		const char *newline = memchr(line, '\n', (size_t)(whole.data + whole.len - line));

		end = newline ? newline + 1 : whole.data + whole.len;
		r = outfile_record(out, line, (size_t)(end - line));
	}
	buf_reset(&n->text);
	n->holes.len = 0;
	n->since_ns = 0;
	return r;
}

void json_names_fini(struct json_names *n)
{
	buf_fini(&n->text);
	vec_fini(&n->holes);
}
