// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The worker's side: asks the readers that fit the kind of file, best source first, and writes what they know.
 * Runs with no rights and a few system calls (src/worker): reading the descriptor, memory, writing the answer.
 */
#include "elf/resolve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "elf/demangle.h"
#include "elf/elf.h"
#include "elf/perfmap.h"
#include "elf/resolve_impl.h"
#include "elf/symtab.h"

#define DEFAULT_BUDGET_BYTES (160ull << 20)

struct job {
	const struct resolve_request *q;
	size_t budget;
	struct symtab_hit *hits;	/* q->n */
};

static void job_fini(struct job *j)
{
	for (uint32_t i = 0; j->hits && i < j->q->n; i++)
		free(j->hits[i].name);
	free(j->hits);
}

static int ask_elf(struct job *j, int fd)
{
	struct symtab *t = NULL;
	struct elf *e = NULL;
	int r = elf_open_fd(fd, j->budget, &e);

	if (r == 0)
		r = symtab_new(e, j->budget / 4, &t);
	if (r == 0)
		r = symtab_lookup(t, j->q->addrs, j->q->n, j->hits);
	symtab_free(t);
	elf_free(e);
	return MIN(r, 0);
}

static int ask(struct job *j, int fd)
{
	switch (j->q->kind) {
	case RESOLVE_ELF:
		return ask_elf(j, fd);
	case RESOLVE_PERFMAP:
		return MIN(perfmap_lookup_fd(fd, j->budget, j->q->addrs, j->q->n, j->hits), 0);
	case RESOLVE_JITDUMP:
	case RESOLVE__MAX:
		break;
	}
	return -EINVAL;
}

static bool is_stub(const char *name)
{
	size_t len = strlen(name);

	return len > 4 && !strcmp(name + len - 4, "@plt");
}

static int tell_addr(struct job *j, struct answer_writer *w, const struct symtab_hit *hit)
{
	char readable[DEMANGLE_OUT_MAX];
	struct resolve_func f = { .raw = hit->name, .start = hit->start };
	int r;

	if (!hit->name)
		return answer_add_addr(w, RESOLVE_UNKNOWN, 0);
	if (!j->q->raw_names && demangle(hit->name, readable))
		f.name = readable;
	r = answer_add_func(w, &f);
	return r < 0 ? r : answer_add_addr(w, is_stub(hit->name) ? RESOLVE_STUB : RESOLVE_SYMBOL, 1);
}

static int tell(struct job *j, int out_fd)
{
	struct answer_writer w;
	int r = answer_begin(&w);

	for (uint32_t i = 0; r == 0 && i < j->q->n; i++)
		r = tell_addr(j, &w, &j->hits[i]);
	if (r == 0)
		r = answer_write(&w, out_fd);
	answer_fini(&w);
	return r;
}

int resolve_run(void *ctx, int in_fd, int out_fd)
{
	struct job j = { .q = ctx };
	int r = -ENOMEM;

	j.budget = j.q->budget_bytes ? j.q->budget_bytes : DEFAULT_BUDGET_BYTES;
	j.hits = calloc(j.q->n ? j.q->n : 1, sizeof(*j.hits));
	if (j.hits)
		r = ask(&j, in_fd);
	if (r == 0)
		r = tell(&j, out_fd);
	job_fini(&j);
	return MIN(-r, 255);
}
