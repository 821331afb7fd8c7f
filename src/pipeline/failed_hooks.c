// SPDX-License-Identifier: GPL-2.0-or-later
#include "pipeline/failed_hooks.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static struct failed_hook *find(const struct failed_hooks *f, const char *hook)
{
	return vec_find(it, &f->all, !strcmp(it->hook, hook));
}

uint64_t failed_hooks_add(struct failed_hooks *f, uint64_t of, const char *hook, const char *why)
{
	_cleanup_free_ char *name = NULL, *text = NULL;
	struct failed_hook *h = find(f, hook);
	uint64_t was;

	if (h) {
		was = h->of;
		h->of |= of;
		return was;
	}
	name = strdup(hook);
	text = strdup(why);
	if (name && text && vec_grow(&f->all) >= 0)
		f->all.items[f->all.len++] =
			(struct failed_hook){ .hook = TAKE_PTR(name), .why = TAKE_PTR(text), .of = of };
	return 0;
}

bool failed_hooks_has(const struct failed_hooks *f, const char *hook)
{
	return find(f, hook);
}

void failed_hooks_forget(struct failed_hooks *f, uint64_t of)
{
	size_t kept = 0;

	for (size_t i = 0; i < f->all.len; i++) {
		struct failed_hook h = f->all.items[i];

		h.of &= ~of;
		if (h.of) {
			f->all.items[kept++] = h;
			continue;
		}
		free(h.hook);
		free(h.why);
	}
	f->all.len = kept;
}

void failed_hooks_fini(struct failed_hooks *f)
{
	failed_hooks_forget(f, ~0ull);
	vec_fini(&f->all);
}
