// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names for recordings: a live run collects the locations of all stacks, and names them when the recording ends.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/macros.h"
#include "event/event.h"
#include "sonde/symbol_wire.h"
#include "sym/frames.h"
#include "sym/module.h"
#include "sym/recorded.h"
#include "sym/sym.h"

#define COLLECTED_MAX (1u << 20) /* locations */
#define STACK_MAX 2048		 /* frames of a stack */
#define RECORD_BYTES (48u << 10) /* a record ends with the location that reaches this */
#define TEXT_MAX 4096		 /* bytes of a name */

int sym_collect(struct sym *s, const struct event *ev)
{
	size_t n;

	if ((!s->o.live && !s->o.collects) || !event_section(ev, SEC_STACK_USER))
		return 0;
	if (!s->stack)
		s->stack = calloc(STACK_MAX, sizeof(*s->stack));
	if (!s->stack)
		return -ENOMEM;
	n = sym_locate_user(s, ev, s->stack, STACK_MAX);
	for (size_t i = 0; i < n && s->collected.len < COLLECTED_MAX; i++) {
		const struct sym_collected c = {
			.addr = s->stack[i].addr, .module = s->stack[i].module, .caller = i > 0,
		};

		if (c.module != MODULE_UNKNOWN && !map_add(&s->collected, &c, NULL))
			return -ENOMEM;
	}
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct sym_query *x = a, *y = b;

	return COMPARE(x->loc.module, y->loc.module) ?: COMPARE(x->loc.addr, y->loc.addr) ?:
	       COMPARE(x->caller, y->caller);
}

static size_t list_collected(const struct sym *s, struct sym_query *ret)
{
	void *key, *val;
	size_t pos = 0, n = 0;

	while (map_next(&s->collected, &pos, &key, &val)) {
		const struct sym_collected *c = key;

		ret[n++] = (struct sym_query){ .loc = { .module = c->module, .addr = c->addr }, .caller = c->caller };
	}
	qsort(ret, n, sizeof(*ret), compare);
	return n;
}

/* Has the recording a name already, or is there none to add? */
static bool is_left_out(const struct sym *s, const struct sym_query *q, const struct sym_frame *f)
{
	const struct sym_frame *old = s->o.live ? NULL :
				      recorded_find(s, sym_module_at(s, q->loc.module), q->loc.addr, q->caller);

	return !s->o.live && ((old && old->n) || !(f->n > 1 || f->funcs[0].name[0]));
}

/* False: the kernel's names are records of their own. */
static bool begin(const struct module *m, struct buf *b)
{
	static const uint8_t kinds[SYM__MAX] = {
		[SYM_FILE] = SONDE_SYMBOLS_FILE, [SYM_JIT] = SONDE_SYMBOLS_JIT, [SYM_VDSO] = SONDE_SYMBOLS_VDSO,
	};
	struct sonde_symbols_rec r = {
		.hdr = { .type = SONDE_EV_SYMBOLS }, .ino = m->ino, .dev = m->dev,
		.ino_generation = m->generation, .build_id_len = m->id_len, .kind = kinds[m->pub.kind],
	};

	if (m->pub.kind == SYM_JIT) {
		r.hdr.tgid = m->seen.key.tgid;
		r.hdr.start_ns = m->seen.key.start_ns;
	}
	memcpy(r.build_id, m->id, MIN((size_t)m->id_len, sizeof(r.build_id)));
	buf_reset(b);
	buf_add(b, &r, sizeof(r));
	return r.kind;
}

static void add_func(struct buf *b, const struct sym_func *f)
{
	const size_t name = MIN(strlen(f->name), (size_t)TEXT_MAX), file = MIN(strlen(f->file), (size_t)TEXT_MAX);
	const size_t raw = strcmp(f->raw, f->name) ? MIN(strlen(f->raw), (size_t)TEXT_MAX) : 0;
	const struct sonde_symbol_func w = {
		.off = f->off, .start = f->start, .line = f->line, .name_len = (uint16_t)name,
		.raw_len = (uint16_t)raw, .file_len = (uint16_t)file,
	};

	buf_add(b, &w, sizeof(w));
	buf_add(b, f->name, name);
	buf_add(b, f->raw, raw);
	buf_add(b, f->file, file);
}

static void add_location(struct buf *b, const struct sym_query *q, const struct sym_frame *f)
{
	struct sonde_symbols_rec *r = (void *)b->data;
	const bool named = f->n > 1 || f->funcs[0].name[0];
	const struct sonde_symbol_loc l = {
		.addr = q->loc.addr, .caller = q->caller, .n_funcs = named ? (uint8_t)MIN(f->n, 255u) : 0,
	};

	if (r)
		r->n++;
	buf_add(b, &l, sizeof(l));
	for (unsigned i = 0; i < l.n_funcs; i++)
		add_func(b, &f->funcs[i]);
}

static int finish(struct buf *b, int (*fn)(void *ctx, struct sonde_rec *r, size_t len), void *ctx)
{
	struct sonde_symbols_rec *r = (void *)b->data;

	if (buf_error(b) < 0)
		return -ENOMEM;
	if (!r->n)
		return 0;
	r->hdr.len = (uint32_t)b->len;
	return fn(ctx, &r->hdr, b->len);
}

/* The locations of one module. */
static int write_module(const struct sym *s, const struct sym_query *q, const struct sym_frame *f, size_t n,
			int (*fn)(void *ctx, struct sonde_rec *r, size_t len), void *ctx)
{
	const struct module *m = sym_module_at(s, q->loc.module);
	_cleanup_(buf_fini) struct buf b = { 0 };
	int r = 0;

	for (size_t i = 0; r >= 0 && i < n;) {
		if (!begin(m, &b))
			return buf_error(&b);
		do {
			if (!is_left_out(s, &q[i], &f[i]))
				add_location(&b, &q[i], &f[i]);
			i++;
		} while (i < n && b.len < RECORD_BYTES);
		r = finish(&b, fn, ctx);
	}
	return r;
}

/* Code that a process generates has names only if the process writes them. */
static uint64_t count_missing(const struct sym *s, const struct sym_query *q, const struct sym_frame *f, size_t n)
{
	uint64_t missing = 0;

	for (size_t i = 0; i < n; i++)
		missing += sym_frames_missing(&f[i]) && sym_module_at(s, q[i].loc.module)->pub.kind == SYM_FILE;
	return missing;
}

static int write_modules(const struct sym *s, const struct sym_query *q, const struct sym_frame *f, size_t n,
			 int (*fn)(void *ctx, struct sonde_rec *r, size_t len), void *ctx)
{
	size_t same;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < n; i += same) {
		for (same = 1; i + same < n && q[i + same].loc.module == q[i].loc.module;)
			same++;
		r = write_module(s, &q[i], &f[i], same, fn, ctx);
	}
	return r;
}

static bool is_same_function(const struct sym_frame *a, const struct sym_frame *b)
{
	return !strcmp(a->funcs[a->n - 1].raw, b->funcs[b->n - 1].raw);
}

/*
 * Some frames behind a signal were interrupted (sym_stack_frames()). Which ones is known where whole stacks are:
 * each return address that would have another function as an instruction is recorded as that, too.
 */
static int write_interrupted(struct sym *s, const struct sym_query *q, const struct sym_frame *f, size_t n,
			     int (*fn)(void *ctx, struct sonde_rec *r, size_t len), void *ctx)
{
	_cleanup_free_ struct sym_query *own = calloc(n + 1, sizeof(*own));
	_cleanup_free_ struct sym_frame *frames = calloc(n + 1, sizeof(*frames));
	size_t len = 0;
	int r;

	if (!own || !frames)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		own[i] = q[i];
		own[i].caller = false;
	}
	r = sym_frames(s, own, n, frames);
	for (size_t i = 0; r >= 0 && i < n; i++) {
		if (!q[i].caller || (i && !compare(&own[i - 1], &own[i])) || is_same_function(&f[i], &frames[i]))
			continue;
		own[len] = own[i];
		frames[len++] = frames[i];
	}
	return r < 0 ? r : write_modules(s, own, frames, len, fn, ctx);
}

int sym_collect_write(struct sym *s, int (*fn)(void *ctx, struct sonde_rec *r, size_t len), void *ctx,
		      uint64_t *ret_missing)
{
	_cleanup_free_ struct sym_query *q = calloc(s->collected.len + 1, sizeof(*q));
	_cleanup_free_ struct sym_frame *f = calloc(s->collected.len + 1, sizeof(*f));
	bool by_signal = false;
	size_t n;
	int r;

	if (!q || !f)
		return -ENOMEM;
	n = list_collected(s, q);
	r = sym_frames(s, q, n, f);
	for (size_t i = 0; r >= 0 && i < n; i++)
		by_signal |= sym_stack_by_signal(&f[i]);
	if (r >= 0)
		r = write_modules(s, q, f, n, fn, ctx);
	if (r >= 0 && by_signal)
		r = write_interrupted(s, q, f, n, fn, ctx);
	map_clear(&s->collected);
	if (r >= 0)
		*ret_missing = count_missing(s, q, f, n);
	return r;
}
