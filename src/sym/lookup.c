// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One file, one worker, many places. What the worker answers is as little trusted as the file.
 */
#include "sym/lookup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/macros.h"
#include "worker/worker.h"

#define MEMORY_BYTES (512ull << 20)
#define CPU_SECONDS 10
#define TIMEOUT_NS 20000000000ull
#define ANSWER_BYTES 65536	/* and so much more per place: */
#define PLACE_BYTES 2048
#define ANSWER_MAX_BYTES (64u << 20)
#define FUNCS_MAX 64		/* inlined into each other at one place */

/* A text of the answer, with a NUL behind it in @out. */
static const char *take_text(struct cursor *c, struct arena *scratch)
{
	uint32_t len = cur_u32(c);
	const char *bytes = cur_bytes(c, len), *copy;

	if (!bytes || memchr(bytes, '\0', len))
		return "";
	copy = arena_copy(scratch, bytes, len);
	return copy ? copy : "";
}

static int take_place(struct cursor *c, struct arena *scratch, size_t i, answer_fn fn, void *ctx)
{
	struct sym_func funcs[FUNCS_MAX];
	uint32_t n = cur_u32(c);

	if (n > FUNCS_MAX)
		return -EBADMSG;
	for (uint32_t k = 0; k < n; k++) {
		funcs[k].off = cur_u64(c);
		funcs[k].start = cur_u64(c);
		funcs[k].line = cur_u32(c);
		funcs[k].name = take_text(c, scratch);
		funcs[k].raw = take_text(c, scratch);
		funcs[k].file = take_text(c, scratch);
	}
	return cur_ok(c) ? fn(ctx, i, funcs, n) : -EBADMSG;
}

static bool fits(const struct module *m, const struct lookup_head *h)
{
	return !m->id_len || (m->id_len == h->id_len && !memcmp(m->id, h->id, m->id_len));
}

static int take_answer(struct module *m, const void *data, size_t len, size_t n, answer_fn fn, void *ctx)
{
	struct cursor c = cur_init(data, len);
	struct arena scratch = { 0 };
	struct lookup_head h;
	int r = 0;

	if (!cur_copy(&c, &h, sizeof(h)))
		return -EBADMSG;
	if (!fits(m, &h)) {
		m->wrong = true;
		return -ESTALE;
	}
	for (size_t i = 0; r >= 0 && i < n; i++) {
		arena_reset(&scratch);
		r = take_place(&c, &scratch, i, fn, ctx);
	}
	arena_fini(&scratch);
	return r;
}

static int ask_file(struct sym *s, struct module *m, int fd, const struct ask *asks, size_t n, answer_fn fn,
		    void *ctx)
{
	const struct worker_opts o = {
		.name = "sonde-sym", .memory_bytes = MEMORY_BYTES, .cpu_seconds = CPU_SECONDS,
	};
	struct lookup_request req = { .asks = asks, .n = n };
	size_t cap = MIN(ANSWER_BYTES + n * PLACE_BYTES, (size_t)ANSWER_MAX_BYTES);
	_cleanup_free_ void *answer = malloc(cap);
	struct err why = { 0 };
	ssize_t len;
	int r;

	if (!answer)
		return -ENOMEM;
	len = worker_call(&o, lookup_work, &req, fd, answer, cap, TIMEOUT_NS, &why);
	r = len < 0 ? (int)len : take_answer(m, answer, (size_t)len, n, fn, ctx);
	if (r < 0 && r != -ESTALE && r != -ENOMEM) {
		m->refused = true;
		s->stats.refused_files++;
	}
	return r;
}

int lookup_module(struct sym *s, struct module *m, const struct ask *asks, size_t n, answer_fn fn, void *ctx)
{
	int fd;

	if (m->pub.kind != SYM_FILE || m->refused || m->wrong)
		return 0;
	fd = module_fd(s, m);
	if (fd < 0)
		return 0;
	return ask_file(s, m, fd, asks, n, fn, ctx);
}
