// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Life of a symbolizer, and its reaction to state events.
 */
#include "sym/sym.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "event/event.h"
#include "sonde/symbol_wire.h"
#include "sonde/wire.h"
#include "sym/jit.h"
#include "sym/module.h"
#include "sym/names.h"
#include "sym/recorded.h"
#include "sym/symbolizer.h"
#include "sym/vdso.h"

#define DEFAULT_BUDGET_BYTES (32ull << 20)
#define MAX_OPEN 4096

static const char *const words[] = {
	[W_MAP_ADDR] = "map.addr", [W_MAP_LEN] = "map.len", [W_MAP_OFFSET] = "map.offset", [W_MAP_DEV] = "map.dev",
	[W_MAP_INO] = "map.ino", [W_MAP_GENERATION] = "map.ino_generation", [W_MAP_PATH] = "map.path",
	[W_MAP_BUILD_ID] = "map.build_id", [W_IMAGE_NS] = "task.image_ns", [W_THREAD] = "task.thread",
	[W_PARENT] = "task.maker", [W_PARENT_START] = "task.maker_start", [W_NS_PID] = "task.ns_pid",
	[W_UID] = "task.uid", [W_LAST] = "exit.last",
};
_Static_assert(ARRAY_SIZE(words) == W__MAX, "every word has a name");

DEFINE_CLEANUP(struct sym *, sym_free)

/* ---- life ---- */

static size_t open_limit(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) < 0)
		return 64;
	return MIN(MAX((size_t)r.rlim_cur / 2, (size_t)16), (size_t)MAX_OPEN);
}

static int copy_opts(struct sym *s, const struct sym_opts *o)
{
	s->o = *o;
	s->o.host_root = strdup(o->host_root ? o->host_root : "/");
	s->o.debug_dirs = strdup(o->debug_dirs ? o->debug_dirs : "/usr/lib/debug");
	s->o.budget_bytes = o->budget_bytes ? o->budget_bytes : DEFAULT_BUDGET_BYTES;
	return s->o.host_root && s->o.debug_dirs ? 0 : -ENOMEM;
}

static int add_fixed(struct sym *s)
{
	static const struct { enum sym_module_kind kind; const char *path; } fixed[] = {
		[MODULE_UNKNOWN] = { SYM_UNKNOWN, "[unknown]" },
		[MODULE_KERNEL] = { SYM_KERNEL, "[kernel.kallsyms]" },
		[MODULE_VDSO] = { SYM_VDSO, "[vdso]" },
		[MODULE_ANON] = { SYM_JIT, "//anon" },
	};
	uint32_t index;
	int r = 0;

	_Static_assert(ARRAY_SIZE(fixed) == MODULE__FIXED, "all of them");
	for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(fixed); i++)
		r = sym_module_new(s, fixed[i].kind, fixed[i].path, strlen(fixed[i].path), &index);
	return r;
}

static int open_host(struct sym *s, struct err *err)
{
	s->root_fd = open(s->o.host_root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (s->root_fd < 0)
		return err_errno(err, -errno, "cannot open %s", s->o.host_root);
	if (!s->o.live)
		return 0;
	s->vdso_len = vdso_len();
	s->proc_fd = openat(s->root_fd, "proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return s->proc_fd < 0 ? err_errno(err, -errno, "cannot open %s/proc", s->o.host_root) : 0;
}

int sym_new(const struct sym_opts *o, struct sym **ret, struct err *err)
{
	_cleanup_(sym_freep) struct sym *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return err_errno(err, -ENOMEM, "cannot set up the symbolizer");
	s->proc_fd = s->root_fd = -1;
	s->open.prev = s->open.next = &s->open;
	s->max_open = open_limit();
	map_init(&s->by_file, sizeof(struct file_key), sizeof(uint32_t));
	map_init(&s->by_kmod, sizeof(uint64_t), sizeof(uint32_t));
	map_init(&s->kernel, sizeof(uint64_t), sizeof(struct kernel_name));
	map_init(&s->meanings, sizeof(const struct event_desc *), sizeof(struct meaning));
	sym_names_init(s);
	recorded_init(s);
	map_init(&s->collected, sizeof(struct sym_collected), sizeof(uint8_t));
	r = copy_opts(s, o);
	if (r >= 0)
		s->maps = maptab_new(s->o.budget_bytes / 2);
	if (r < 0 || !s->maps || add_fixed(s) < 0)
		return err_errno(err, -ENOMEM, "cannot set up the symbolizer");
	s->arena.limit_bytes = s->o.budget_bytes / 2;
	r = open_host(s, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(s);
	return 0;
}

void sym_free(struct sym *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->modules.len; i++)
		sym_module_free(s->modules.items[i]);
	vec_fini(&s->modules);
	maptab_free(s->maps);
	map_fini(&s->by_file);
	map_fini(&s->by_kmod);
	map_fini(&s->kernel);
	map_fini(&s->meanings);
	sym_names_fini(s);
	recorded_fini(s);
	map_fini(&s->collected);
	free(s->stack);
	arena_fini(&s->arena);
	if (s->proc_fd >= 0)
		close(s->proc_fd);
	if (s->root_fd >= 0)
		close(s->root_fd);
	free((char *)s->o.host_root);
	free((char *)s->o.debug_dirs);
	free(s);
}

void sym_stats(const struct sym *s, struct sym_stats *ret)
{
	*ret = s->stats;
}

const struct sym_module *sym_module(const struct sym *s, uint32_t module)
{
	return &sym_module_at(s, module)->pub;
}

uint32_t sym_n_modules(const struct sym *s)
{
	return (uint32_t)s->modules.len;
}

/* ---- events ---- */

static const struct meaning *meaning_of(struct sym *s, const struct event_desc *desc)
{
	struct meaning *m = map_find(&s->meanings, &desc);

	if (m)
		return m;
	m = map_add(&s->meanings, &desc, NULL);
	for (unsigned i = 0; m && i < desc->n_fields; i++)
		for (int w = 0; w < W__MAX; w++)
			if (!strcmp(desc->fields[i].name, words[w])) {
				m->field[w] = &desc->fields[i];
				m->any = true;
			}
	return m;
}

static uint64_t number(const struct event *ev, const struct meaning *m, enum sym_word w)
{
	uint64_t v;

	return m->field[w] && event_get_number(ev, m->field[w], &v) >= 0 ? v : 0;
}

static bool text(const struct event *ev, const struct meaning *m, enum sym_word w, struct value *ret)
{
	return m->field[w] && event_get(ev, m->field[w], ret) >= 0 &&
	       (ret->kind == VAL_STR || ret->kind == VAL_BYTES);
}

static bool text_is(const struct value *v, const char *s)
{
	return v->len == strlen(s) && !memcmp(v->str, s, v->len);
}

/*
 * Code without a file: the process's own, or the kernel's vDSO if it has the length of ours (in 32-bit processes it
 * differs).
 */
static bool fixed_module(const struct sym *s, const struct value *path, uint64_t len, uint32_t *ret)
{
	bool recorded = !s->o.live && s->o.files != SYM_FILES_ANY;

	if (text_is(path, "[vdso]") && (len == s->vdso_len || recorded))
		*ret = MODULE_VDSO;
	else if (!path->len || text_is(path, "//anon") || path->str[0] == '[')
		*ret = MODULE_ANON;
	else
		return false;
	return true;
}

static int learn_mapping(struct sym *s, const struct event *ev, const struct meaning *m)
{
	const struct map_key key = { .tgid = ev->tgid, .start_ns = ev->start_ns };
	struct mapping map = {
		.start = number(ev, m, W_MAP_ADDR), .off = number(ev, m, W_MAP_OFFSET), .since_ns = ev->ts_ns,
	};
	struct value path = { .str = "" }, id = { 0 };
	int r = 0;

	map.end = map.start + number(ev, m, W_MAP_LEN);
	if (map.end <= map.start || !ev->tgid)
		return 0;
	text(ev, m, W_MAP_PATH, &path);
	if (!fixed_module(s, &path, map.end - map.start, &map.module)) {
		struct file_fact f = {
			.seen = { .key = key, .start = map.start, .end = map.end, .ino = number(ev, m, W_MAP_INO) },
			.off = map.off, .dev = (uint32_t)number(ev, m, W_MAP_DEV),
			.generation = (uint32_t)number(ev, m, W_MAP_GENERATION),
			.path = path.str, .path_len = path.len,
		};

		if (text(ev, m, W_MAP_BUILD_ID, &id)) {
			f.id = (const uint8_t *)id.str;
			f.id_len = id.len;
		}
		r = sym_module_of_file(s, &f, &map.module);
	}
	if (r >= 0)
		r = jit_mapping(s, key, ev->ts_ns, map.module);
	return r < 0 ? r : maptab_map(s->maps, key, &map, ev->flags & SONDE_RF_SNAPSHOT);
}

static int learn_process(struct sym *s, const struct event *ev, const struct meaning *m)
{
	const struct map_key key = { .tgid = ev->tgid, .start_ns = ev->start_ns };
	const struct map_key parent = {
		.tgid = (uint32_t)number(ev, m, W_PARENT), .start_ns = number(ev, m, W_PARENT_START),
	};
	int r = 0;

	if (!ev->tgid || !ev->start_ns)
		return 0;
	if (number(ev, m, W_LAST)) {
		jit_exit(s, key, ev->ts_ns);
		maptab_exit(s->maps, ev->ts_ns, key);
		return 0;
	}
	if (m->field[W_LAST] || number(ev, m, W_THREAD) || ev->tid != ev->tgid)
		return 0;
	if (parent.tgid)
		r = maptab_fork(s->maps, ev->ts_ns, key, parent);
	else if (m->field[W_IMAGE_NS])
		r = maptab_exec(s->maps, ev->ts_ns, key, number(ev, m, W_IMAGE_NS));
	if (r >= 0 && m->field[W_UID])
		r = maptab_ids(s->maps, ev->ts_ns, key, (uint32_t)number(ev, m, W_NS_PID),
			       (uint32_t)number(ev, m, W_UID));
	return r;
}

int sym_event(struct sym *s, const struct event *ev)
{
	const struct meaning *m;

	if (ev->desc->class != EVENT_STATE)
		return 0;
	if (ev->desc->type == SONDE_EV_SYMBOLS)
		return recorded_learn(s, ev) == -ENOMEM ? -ENOMEM : 0;
	m = meaning_of(s, ev->desc);
	if (!m)
		return -ENOMEM;
	if (!m->any)
		return 0;
	return m->field[W_MAP_ADDR] ? learn_mapping(s, ev, m) : learn_process(s, ev, m);
}
