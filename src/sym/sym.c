// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Life of a symbolizer, and its reaction to state events.
 */
#include "sym/sym.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/str.h"
#include "event/event.h"
#include "sonde/symbol_wire.h"
#include "sonde/wire.h"
#include "sym/jit.h"
#include "sym/module.h"
#include "sym/recorded.h"
#include "sym/symbolizer.h"
#include "sym/vdso.h"

#define DEFAULT_BUDGET_BYTES (32ull << 20)
#define MAX_OPEN 4096

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
	list_init(&s->open);
	s->max_open = open_limit();
	map_init(&s->by_file, sizeof(struct file_key), sizeof(uint32_t));
	map_init(&s->by_kmod, sizeof(uint64_t), sizeof(uint32_t));
	map_init(&s->kernel, sizeof(uint64_t), sizeof(struct kernel_name));
	sym_frames_init(s);
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
	sym_frames_fini(s);
	recorded_fini(s);
	map_fini(&s->collected);
	free(s->stack);
	arena_fini(&s->arena);
	cleanup_close(&s->proc_fd);
	cleanup_close(&s->root_fd);
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

/*
 * Code without a file: the process's own, or the kernel's vDSO if it has the length of ours (in 32-bit processes it
 * differs).
 */
static bool fixed_module(const struct sym *s, const char *path, size_t path_len, uint64_t len, uint32_t *ret)
{
	bool recorded = !s->o.live && s->o.files != SYM_FILES_ANY;

	if (str_is(path, path_len, "[vdso]") && (len == s->vdso_len || recorded))
		*ret = MODULE_VDSO;
	else if (!path_len || str_is(path, path_len, "//anon") || path[0] == '[')
		*ret = MODULE_ANON;
	else
		return false;
	return true;
}

static int learn_mapping(struct sym *s, const struct event *ev, const struct sec_mapping *m)
{
	const struct map_key key = { .tgid = ev->tgid, .start_ns = ev->start_ns };
	struct mapping map = { .start = m->addr, .end = m->addr + m->len, .off = m->file_off, .since_ns = ev->ts_ns };
	const char *path = event_state_text(ev, m->path);
	const size_t path_len = path ? m->path.len : 0;
	int r = 0;

	if (map.end <= map.start || !ev->tgid)
		return 0;
	if (!fixed_module(s, path ? path : "", path_len, m->len, &map.module)) {
		const struct file_fact f = {
			.seen = { .key = key, .start = map.start, .end = map.end, .ino = m->ino },
			.off = map.off, .dev = m->dev, .generation = m->generation,
			.path = path, .path_len = path_len,
			.id = m->build_id, .id_len = MIN((size_t)m->build_id_len, sizeof(m->build_id)),
		};

		r = sym_module_of_file(s, &f, &map.module);
	}
	if (r >= 0)
		r = jit_mapping(s, key, ev->ts_ns, map.module);
	return r < 0 ? r : maptab_map(s->maps, key, &map, ev->flags & SONDE_RF_SNAPSHOT);
}

static void learn_exit(struct sym *s, const struct event *ev)
{
	const struct map_key key = { .tgid = ev->tgid, .start_ns = ev->start_ns };

	if (!ev->tgid || !ev->start_ns)
		return;
	jit_exit(s, key, ev->ts_ns);
	maptab_exit(s->maps, ev->ts_ns, key);
}

static int learn_process(struct sym *s, const struct event *ev, const struct sec_task *t)
{
	const struct map_key key = { .tgid = ev->tgid, .start_ns = ev->start_ns };
	const struct map_key parent = { .tgid = t->maker_tgid, .start_ns = t->maker_start_ns };
	int r = 0;

	if (!ev->tgid || !ev->start_ns || t->head.flag || ev->tid != ev->tgid)
		return 0;
	if (t->ended) {
		learn_exit(s, ev);
		return 0;
	}
	if (parent.tgid)
		r = maptab_fork(s->maps, ev->ts_ns, key, parent);
	else if (t->head.kind == SEC_STATE_EXEC)
		r = maptab_exec(s->maps, ev->ts_ns, key, t->image_ns);
	return r < 0 ? r : maptab_ids(s->maps, ev->ts_ns, key, t->vpid, t->uid);
}

int sym_event(struct sym *s, const struct event *ev)
{
	const struct sec_state *state;

	if (ev->desc->class != EVENT_STATE)
		return 0;
	if (ev->desc->type == SONDE_EV_SYMBOLS)
		return recorded_learn(s, ev) == -ENOMEM ? -ENOMEM : 0;
	state = event_state(ev);
	switch (state ? (enum sec_state_kind)state->kind : SEC_STATE__MAX) {
	case SEC_STATE_MAPPING: return learn_mapping(s, ev, (const struct sec_mapping *)state);
	case SEC_STATE_FORK:
	case SEC_STATE_EXEC:
	case SEC_STATE_TASK: return learn_process(s, ev, (const struct sec_task *)state);
	case SEC_STATE_EXIT:
		if (state->flag)
			learn_exit(s, ev);
		return 0;
	case SEC_STATE_NAME:
	case SEC_STATE_CGROUP:
	case SEC_STATE_SOCKET:
	case SEC_STATE_FRAME:
	case SEC_STATE_PROGRAM:
	case SEC_STATE__MAX: break;
	}
	return 0;
}
