// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Addresses to locations, as events pass: hash look-ups and a binary search, without file access.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "event/event.h"
#include "event/names.h"
#include "sonde/wire.h"
#include "sym/jit.h"
#include "sym/module.h"
#include "sym/sym.h"
#include "sym/symbolizer.h"
#include "sym/texts.h"

static const uint64_t *stack_of(const struct event *ev, enum sec_kind kind, size_t cap, size_t *ret_n)
{
	const struct section *sec = event_section(ev, kind);
	size_t n = sec ? sec->len / sizeof(uint64_t) : 0;

	*ret_n = n < cap ? n : cap;
	return sec ? sec->data : NULL;
}

static struct sym_loc locate_one(struct sym *s, const struct map_view *view, uint64_t ts_ns, uint64_t pc, bool caller)
{
	/* A call may be the last instruction of its mapping: its return address is the end of the mapping. */
	const struct mapping *m = map_space_at(view->space, pc - caller);
	struct module *mod;

	if (!m)
		return (struct sym_loc){ .module = MODULE_UNKNOWN, .addr = pc };
	mod = sym_module_at(s, m->module);
	sym_module_touch(s, mod);
	switch (mod->pub.kind) {
	case SYM_FILE:
		return (struct sym_loc){ .module = m->module, .addr = pc - m->start + m->off };
	case SYM_VDSO:
		return (struct sym_loc){ .module = m->module, .addr = pc - m->start };
	case SYM_JIT:
		return (struct sym_loc){ .module = jit_module(s, view->who, ts_ns), .addr = pc };
	case SYM_UNKNOWN:
	case SYM_KERNEL:
	case SYM__MAX:
		break;
	}
	return (struct sym_loc){ .module = MODULE_UNKNOWN, .addr = pc };
}

size_t sym_locate_user(struct sym *s, const struct event *ev, struct sym_loc *ret, size_t cap)
{
	const struct map_key key = { .tgid = ev->tgid, .start_ns = ev->start_ns };
	struct map_view view;
	size_t n;
	const uint64_t *pc = stack_of(ev, SEC_STACK_USER, cap, &n);
	bool known = n && maptab_find(s->maps, key, ev->ts_ns, &view);

	for (size_t i = 0; i < n; i++) {
		if (known)
			ret[i] = locate_one(s, &view, ev->ts_ns, pc[i], i > 0);
		else
			ret[i] = (struct sym_loc){ .module = MODULE_UNKNOWN, .addr = pc[i] };
		if (ret[i].module == MODULE_UNKNOWN)
			s->stats.unlocated++;
		else
			s->stats.located++;
	}
	return n;
}

uint64_t sym_generation(struct sym *s, const struct event *ev)
{
	const struct map_key key = { .tgid = ev->tgid, .start_ns = ev->start_ns };
	struct map_view view;

	return maptab_find(s->maps, key, ev->ts_ns, &view) ? view.generation : 0;
}

/* ---- kernel ---- */

static int kernel_module(struct sym *s, const char *name, size_t len, uint32_t *ret)
{
	uint64_t hash = map_hash(name, len);
	uint32_t *have = map_find(&s->by_kmod, &hash);
	int r;

	if (have) {
		*ret = *have;
		return 0;
	}
	r = sym_module_new(s, SYM_KERNEL, name, len, ret);
	return r < 0 ? r : map_put(&s->by_kmod, &hash, ret);
}

/* "name+0xoffset [module]"; the last two parts are optional. */
static void split_name(struct sym *s, const char *text, struct kernel_name *ret)
{
	size_t len = strlen(text);
	const char *end = text + len, *mod, *plus;
	char *stop;

	mod = strstr(text, " [");
	if (mod && mod[2] && end[-1] == ']') {
		kernel_module(s, mod + 1, (size_t)(end - mod - 1), &ret->module);
		end = mod;
	}
	for (plus = end; plus > text && *plus != '+'; plus--)
		;
	ret->off = 0;
	if (plus > text && !strncmp(plus, "+0x", 3)) {
		ret->off = strtoull(plus + 3, &stop, 16);
		end = stop == end ? plus : end;
	}
	ret->name = sym_texts_keep(s, text, (size_t)(end - text));
}

/* The name may change or disappear with its module or BPF program: keep the current one for sym_frames(). */
static const struct kernel_name *kernel_name(struct sym *s, const struct event *ev, uint64_t pc)
{
	bool is_new;
	struct kernel_name *k = map_add(&s->kernel, &pc, &is_new);
	const char *text;

	if (!k || (!is_new && k->name[0]))
		return k;
	*k = (struct kernel_name){ .name = "", .module = MODULE_KERNEL };
	text = event_names_get(ev->names, SONDE_NAME_KSYM, pc);
	if (text)
		split_name(s, text, k);
	return k;
}

size_t sym_locate_kernel(struct sym *s, const struct event *ev, struct sym_loc *ret, size_t cap)
{
	size_t n;
	const uint64_t *pc = stack_of(ev, SEC_STACK_KERN, cap, &n);

	for (size_t i = 0; i < n; i++) {
		const struct kernel_name *k = kernel_name(s, ev, pc[i]);

		ret[i] = (struct sym_loc){ .module = k ? k->module : MODULE_KERNEL, .addr = pc[i] };
		s->stats.located++;
	}
	return n;
}
