// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Looks up the locations of one module in each file that may name them, with one worker per file. A worker's answer
 * is trusted as little as the file.
 */
#include "sym/lookup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/vec.h"
#include "sym/debugfile.h"
#include "sym/jit.h"
#include "sym/module.h"
#include "worker/worker.h"

#define CPU_SECONDS 5			/* debug files of hundreds of MB take about a second */
#define TIMEOUT_NS 10000000000ull
#define WASTE_MAX_NS 20000000000ull	/* on files without a result; beyond it the other files must wait */
#define HEAD_BYTES 8192			/* the head and the link's name */
#define ANSWERS_MAX 3

/* One look-up: requested locations, their addresses, answers of the files. */
struct lookup {
	struct sym *s;
	struct module *m;
	const struct ask *asks;
	size_t n;
	uint64_t *addrs;		/* owned; per location */
	uint64_t *sorted;		/* owned; each once */
	size_t n_sorted;
	struct lookup_head head;
	char link[HEAD_BYTES / 2];
	struct resolve_answer *answers[ANSWERS_MAX];	/* owned */
	size_t n_answers;
};

static void lookup_fini(struct lookup *l)
{
	for (size_t i = 0; i < l->n_answers; i++)
		resolve_answer_free(l->answers[i]);
	free(l->addrs);
	free(l->sorted);
}

/* Why the module has no names, for the user. Keeps the first reason. */
static void set_trouble(struct module *m, const char *why)
{
	if (!m->pub.trouble[0]) {
		char *text = strdup(why);

		if (text) {
			m->trouble = text;
			m->pub.trouble = text;
		}
	}
}

static void refuse(struct lookup *l, const char *why)
{
	l->m->refused = true;
	l->s->stats.refused_files++;
	set_trouble(l->m, why);
}

static struct resolve_request names_request(const struct lookup *l, enum resolve_kind kind)
{
	return (struct resolve_request){
		.kind = kind, .lines = l->s->o.lines, .raw_names = l->s->o.raw_names,
		.addrs = l->sorted, .n = (uint32_t)l->n_sorted,
	};
}

/* Runs @fn; the caller frees the answer. Its length or -errno with the reason in @err. */
static ssize_t call(struct sym *s, worker_fn fn, void *q, int fd, size_t cap, void **ret, struct err *err)
{
	const struct worker_opts o = { .name = "sonde-sym", .cpu_seconds = CPU_SECONDS };
	_cleanup_free_ void *answer = malloc(cap);
	ssize_t len;

	uint64_t begin_ns = clock_boot_ns();

	if (!answer)
		return -ENOMEM;
	len = worker_call(&o, fn, q, fd, answer, cap, TIMEOUT_NS, err);
	if (len >= 0)
		*ret = TAKE_PTR(answer);
	else
		s->wasted_ns += clock_boot_ns() - begin_ns;
	return len;
}

static int take_names(struct lookup *l, const struct resolve_request *q, const void *data, size_t len)
{
	int r;

	if (l->n_answers == ANSWERS_MAX)
		return 0;
	r = resolve_answer_parse(q, data, len, &l->answers[l->n_answers]);
	l->n_answers += r == 0;
	return r;
}

/* ---- the file itself ---- */

static int take_addresses(struct lookup *l, struct cursor *c)
{
	l->addrs = calloc(l->n + 1, sizeof(*l->addrs));
	l->sorted = calloc(l->n + 1, sizeof(*l->sorted));
	if (!l->addrs || !l->sorted)
		return -ENOMEM;
	if (!cur_copy(c, l->addrs, l->n * sizeof(*l->addrs)))
		return -EBADMSG;
	memcpy(l->sorted, l->addrs, l->n * sizeof(*l->addrs));
	l->n_sorted = lookup_sort(l->sorted, l->n);
	return 0;
}

static int take_main(struct lookup *l, const void *data, size_t len)
{
	struct cursor c = cur_init(data, len);
	struct resolve_request q;
	int r;

	cur_copy(&c, &l->head, sizeof(l->head));
	if (!cur_ok(&c) || l->head.id_len > sizeof(l->head.id))
		return -EBADMSG;
	if (!l->head.ok)
		return -ESTALE;
	if (l->head.link_len >= sizeof(l->link) || !cur_copy(&c, l->link, l->head.link_len))
		return -EBADMSG;
	r = take_addresses(l, &c);
	if (r < 0)
		return r;
	q = names_request(l, RESOLVE_ELF);
	return take_names(l, &q, c.pos, cur_left(&c));
}

void lookup_first_request(const struct sym *s, const struct lookup_group *g, struct lookup_request *ret,
			  size_t *ret_cap)
{
	*ret = (struct lookup_request){
		.names = { .kind = RESOLVE_ELF, .lines = s->o.lines, .raw_names = s->o.raw_names,
			   .n = (uint32_t)g->n }, /* at most */
		.asks = g->asks, .n = g->n, .id_len = g->m->id_len,
	};
	memcpy(ret->id, g->m->id, g->m->id_len);
	*ret_cap = HEAD_BYTES + g->n * sizeof(uint64_t) + resolve_answer_cap(&ret->names);
}

/* The answer prefetched earlier, if valid. */
static bool had_answer(struct lookup *l, int *ret)
{
	_cleanup_free_ void *answer = TAKE_PTR(l->m->first_answer);

	if (!answer)
		return false;
	*ret = take_main(l, answer, l->m->first_len);
	if (*ret == 0 || *ret == -ESTALE || *ret == -ENOMEM)
		return true;
	lookup_fini(l);
	*l = (struct lookup){ .s = l->s, .m = l->m, .asks = l->asks, .n = l->n };
	return false;
}

static int ask_alone(struct lookup *l, int fd, struct err *why)
{
	const struct lookup_group g = { .m = l->m, .asks = l->asks, .n = l->n };
	_cleanup_free_ void *answer = NULL;
	struct lookup_request q;
	size_t cap;
	ssize_t len;

	lookup_first_request(l->s, &g, &q, &cap);
	len = call(l->s, lookup_work, &q, fd, cap, &answer, why);
	return len < 0 ? (int)len : take_main(l, answer, (size_t)len);
}

static int ask_main(struct lookup *l, int fd)
{
	struct err why = { 0 };
	int r;

	if (!had_answer(l, &r))
		r = ask_alone(l, fd, &why);
	if (r == -ESTALE) {
		sym_module_distrust(l->s, l->m);
		set_trouble(l->m, "the file there now has another build id");
	} else if (r < 0 && r != -ENOMEM) {
		refuse(l, why.msg[0] ? why.msg : "its symbol tables make no sense");
	}
	return r;
}

/* ---- separate debug files ---- */

static const struct resolve_addr *best(const struct lookup *l, uint64_t addr)
{
	const struct resolve_addr *found = NULL;
	size_t at = vec_first(l->sorted, l->n_sorted, addr);

	if (addr == LOOKUP_NOWHERE || at == l->n_sorted || l->sorted[at] != addr)
		return NULL;
	for (size_t i = 0; i < l->n_answers; i++)
		found = found ? resolve_answer_better(found, &l->answers[i]->addrs[at]) : &l->answers[i]->addrs[at];
	return found;
}

static bool wants_more(const struct lookup *l)
{
	enum resolve_quality enough = l->s->o.lines ? RESOLVE_LINE : RESOLVE_SYMBOL;

	return FIND_ITEM(it, l->sorted, l->n_sorted, best(l, *it)->quality < enough);
}

/* 0 if this is the right file and the worker answered. A defect of this file does not count against the module. */
static int ask_debug(struct lookup *l, int fd, bool by_link)
{
	struct lookup_request q = { .names = names_request(l, RESOLVE_ELF), .by_crc = by_link, .crc = l->head.crc };
	_cleanup_free_ void *answer = NULL;
	struct lookup_head head;
	struct cursor c;
	ssize_t len;

	if (!by_link) {
		memcpy(q.id, l->head.id, l->head.id_len);
		q.id_len = l->head.id_len;
	}
	len = call(l->s, lookup_work, &q, fd, HEAD_BYTES + resolve_answer_cap(&q.names), &answer, NULL);
	if (len < 0)
		return (int)len;
	c = cur_init(answer, (size_t)len);
	if (!cur_copy(&c, &head, sizeof(head)) || !head.ok)
		return -ESTALE;
	return take_names(l, &q.names, c.pos, cur_left(&c));
}

static bool same_file(int a, int b)
{
	struct stat x, y;

	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static int keep_debug_fd(struct sym *s, struct module *m, int fd)
{
	if (s->n_open >= s->max_open)
		return -ENFILE;
	m->debug_fd = fd;
	return 0;
}

/* Tries every candidate until one matches; keeps that file open. */
static void ask_debug_files(struct lookup *l, int main_fd)
{
	const struct debug_want w = { .id = l->head.id, .id_len = l->head.id_len, .link = l->link };
	bool by_link;
	int fd = 0;

	if (l->m->debug_fd >= 0) {
		ask_debug(l, l->m->debug_fd, l->m->debug_by_link);
		return;
	}
	for (unsigned i = 0; !l->m->no_debug && fd != -ERANGE; i++) {
		fd = debugfile_open(l->s, l->m, &w, i, &by_link);
		if (fd < 0)
			continue;
		if (!same_file(fd, main_fd) && ask_debug(l, fd, by_link) == 0) {
			l->m->debug_by_link = by_link;
			if (keep_debug_fd(l->s, l->m, fd) < 0)
				close(fd);
			return;
		}
		close(fd);
	}
	l->m->no_debug = true;
}

/* ---- perf maps and jitdumps ---- */

static int own_addresses(struct lookup *l)
{
	l->addrs = calloc(l->n + 1, sizeof(*l->addrs));
	l->sorted = calloc(l->n + 1, sizeof(*l->sorted));
	if (!l->addrs || !l->sorted)
		return -ENOMEM;
	for (size_t i = 0; i < l->n; i++)
		l->addrs[i] = l->sorted[i] = l->asks[i].addr - l->asks[i].caller;
	l->n_sorted = lookup_sort(l->sorted, l->n);
	return 0;
}

static int ask_map(struct lookup *l, int fd, enum resolve_kind kind)
{
	struct resolve_request q = names_request(l, kind);
	_cleanup_free_ void *answer = NULL;
	struct err why = { 0 };
	ssize_t len;
	int r;

	if (fd < 0)
		return 0;
	len = call(l->s, resolve_run, &q, fd, resolve_answer_cap(&q), &answer, &why);
	r = len < 0 ? (int)len : take_names(l, &q, answer, (size_t)len);
	if (r < 0 && r != -ENOMEM)
		refuse(l, why.msg[0] ? why.msg : "its map of names makes no sense");
	return r;
}

static int ask_maps(struct lookup *l)
{
	struct module *m = l->m;
	int r;

	jit_find(l->s, m);
	m->read_bytes = jit_bytes(m);
	if (m->fd < 0 && m->dump_fd < 0) {
		set_trouble(m, "its process wrote no map of names");
		return 0;
	}
	r = own_addresses(l);
	if (r == 0)
		r = ask_map(l, m->fd, RESOLVE_PERFMAP);
	return r == 0 ? ask_map(l, m->dump_fd, RESOLVE_JITDUMP) : r;
}

/* ---- all sources ---- */

static int emit(const struct lookup *l, size_t i, const struct resolve_addr *a, answer_fn fn, void *ctx)
{
	struct sym_func funcs[RESOLVE_INLINED_MAX + 1];
	const struct ask *ask = &l->asks[i];
	uint32_t n = a ? MIN(a->n, (uint32_t)ARRAY_SIZE(funcs)) : 0;

	for (uint32_t k = 0; k < n; k++) {
		const struct resolve_func *f = &a->funcs[k];
		/* no return address follows the first byte of a function: a signal trampoline, found as itself */
		uint64_t at = l->addrs[i] + (ask->caller && f->start != l->addrs[i]);

		funcs[k] = (struct sym_func){ .name = f->name, .raw = f->raw, .file = f->file, .line = f->line };
		if (f->start && f->start <= at) {
			funcs[k].off = at - f->start;
			funcs[k].start = ask->addr - funcs[k].off;
		}
	}
	return fn(ctx, i, funcs, n);
}

static int ask_files(struct lookup *l)
{
	int fd, r;

	if (l->m->pub.kind == SYM_JIT)
		return ask_maps(l);
	fd = sym_module_fd(l->s, l->m);
	if (fd < 0) {
		struct err why;

		if (l->s->o.files == SYM_FILES_NONE)
			err_set(&why, fd, "the recording has no names of it; --symfs DIR reads the files below DIR");
		else
			err_errno(&why, fd, "cannot open it");
		set_trouble(l->m, why.msg);
		return fd;
	}
	r = ask_main(l, fd);
	if (r == 0 && wants_more(l))
		ask_debug_files(l, fd);
	return r;
}

int lookup_module(struct sym *s, struct module *m, const struct ask *asks, size_t n, answer_fn fn, void *ctx)
{
	struct lookup l = { .s = s, .m = m, .asks = asks, .n = n };
	int r = 0;

	if (m->refused || m->wrong || s->wasted_ns > WASTE_MAX_NS)
		return 0;
	r = ask_files(&l);
	for (size_t i = 0; l.n_answers && r != -ENOMEM && i < n; i++)
		r = emit(&l, i, best(&l, l.addrs[i]), fn, ctx);
	lookup_fini(&l);
	return r == -ENOMEM ? r : 0;
}
