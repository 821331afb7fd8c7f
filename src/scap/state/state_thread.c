// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The table of threads.
 */
#include <stdlib.h>

#include "base/macros.h"
#include "event/event.h"
#include "scap/state/state_tables.h"
#include "state/state_image.h"
#include "state/state_task.h"

struct scap_thread *state_thread_find(const struct scap_state *st, int64_t tid)
{
	struct scap_state *own = (struct scap_state *)st; /* remembers the answer */

	if (st->recent && st->recent->tid == tid)
		return st->recent;
	own->recent = map_find_ptr(&st->threads, &tid);
	return own->recent;
}

static void thread_free(struct scap_state *st, struct scap_thread *t)
{
	struct scap_str **const strs[] = {
		&t->comm, &t->exe, &t->exepath, &t->cwd, &t->root, &t->container, &t->args, &t->env, &t->cgroups,
	};

	for (size_t i = 0; i < ARRAY_SIZE(strs); i++)
		state_str_unref(st, *strs[i]);
	state_fd_table_unref(st, t->fds);
	st->bytes -= sizeof(*t) + t->enter.cap;
	buf_fini(&t->enter);
	free(t->proc_section);
	free(t);
}

void state_thread_remove(struct scap_state *st, int64_t tid)
{
	struct scap_thread *t = state_thread_find(st, tid), *main;

	if (!t)
		return;
	main = t->pid != t->tid ? state_thread_find(st, t->pid) : NULL;
	if (main && main->n_threads)
		main->n_threads--;
	st->recent = NULL;
	map_remove(&st->threads, &tid);
	thread_free(st, t);
}

struct scap_thread *state_thread_add(struct scap_state *st, int64_t tid)
{
	struct scap_thread *t;

	state_thread_remove(st, tid);
	t = st->bytes + sizeof(*t) > STATE_BYTES_MAX ? NULL : map_add_new(&st->threads, &tid, sizeof(*t));
	if (!t)
		return NULL;
	st->bytes += sizeof(*t);
	t->tid = t->pid = tid;
	t->ptid = t->vtid = t->vpid = t->sid = t->vpgid = t->last_fd = -1;
	t->uid = t->gid = t->loginuid = UINT32_MAX;
	t->last_type = UINT16_MAX;
	t->known_ns = st->now_ns;
	return t;
}

/* A placeholder for an unknown thread, as in sysdig's readers. */
struct scap_thread *state_thread_find_or_invent(struct scap_state *st, int64_t tid)
{
	struct scap_thread *t = state_thread_find(st, tid);

	if (t)
		return t;
	t = state_thread_add(st, tid);
	if (!t)
		return NULL;
	t->invented = true;
	t->comm = state_str_new(st, "<NA>", 4);
	t->exe = state_str_ref(t->comm);
	return t;
}

struct scap_thread *state_thread_main(const struct scap_state *st, struct scap_thread *t)
{
	struct scap_thread *main = t->pid == t->tid ? t : state_thread_find(st, t->pid);

	return main ? main : t;
}

void state_thread_changed(struct scap_thread *t)
{
	free(t->proc_section);
	t->proc_section = NULL;
}

void state_thread_set_cwd(struct scap_state *st, struct scap_thread *t, const char *path, size_t len)
{
	struct scap_thread *main = state_thread_main(st, t);
	struct scap_str *cwd = main->cwd, *full;
	char with_slash[PATH_BYTES_MAX + 1];

	full = state_str_path(st, cwd ? cwd->data : "", cwd ? cwd->len : 0, path, len);
	if (full && full->len < PATH_BYTES_MAX && (!full->len || full->data[full->len - 1] != '/')) {
		memcpy(with_slash, full->data, full->len);
		with_slash[full->len] = '/';
		state_str_set(st, &full, state_str_new(st, with_slash, full->len + 1));
	}
	state_str_set(st, &main->cwd, full);
}

static bool is_str(const struct scap_str *s, const char *text, size_t len)
{
	return s && s->len == len && !memcmp(s->data, text, len);
}

static void set_cgroups(struct scap_state *st, struct scap_thread *t, const char *s, size_t len)
{
	if (is_str(t->cgroups, s, len))
		return;
	state_str_set(st, &t->cgroups, state_str_new(st, s, len));
	state_str_set(st, &t->container, state_container_of_cgroups(st, s, len));
	state_thread_changed(t);
}

void state_thread_set_cgroups(struct scap_state *st, struct scap_thread *t, const struct params *p, unsigned i)
{
	size_t len;
	const char *s = params_bytes(p, i, &len);

	if (s && len)
		set_cgroups(st, t, s, len);
}

static uint32_t row_u32(const struct params *p, unsigned i, uint32_t otherwise)
{
	uint64_t v;

	return params_u64(p, i, &v) ? (uint32_t)v : otherwise;
}

static int64_t row_i64(const struct params *p, unsigned i, int64_t otherwise)
{
	int64_t v;

	return params_i64(p, i, &v) ? v : otherwise;
}

static void read_ids(struct scap_thread *t, const struct params *p)
{
	t->pid = row_i64(p, 1, t->tid);
	t->ptid = row_i64(p, 2, -1);
	t->sid = row_i64(p, 3, -1);
	t->vpgid = row_i64(p, 4, -1);
	t->fdlimit = row_i64(p, 10, 0);
	t->flags = row_u32(p, 11, 0);
	t->uid = row_u32(p, 12, UINT32_MAX);
	t->gid = row_u32(p, 13, UINT32_MAX);
	t->vtid = row_i64(p, 20, -1);
	t->vpid = row_i64(p, 21, -1);
	t->tty = row_u32(p, 25, 0);
	t->loginuid = row_u32(p, 26, UINT32_MAX);
	t->exe_writable = row_u32(p, 27, 0);
}

static void read_numbers(struct scap_thread *t, const struct params *p)
{
	t->vmsize_kb = row_u32(p, 14, 0);
	t->vmrss_kb = row_u32(p, 15, 0);
	t->vmswap_kb = row_u32(p, 16, 0);
	t->pfmajor = (uint64_t)row_i64(p, 17, 0);
	t->pfminor = (uint64_t)row_i64(p, 18, 0);
}

/* Keeps the descriptors of a known task, whose rows may follow separately, unless PARAMS_ANEW is set. */
void state_thread_from_row(struct scap_state *st, const struct params *p)
{
	struct scap_fdtable *fds = NULL;
	struct scap_thread *t, *main;
	int64_t tid;
	size_t len;
	const char *cwd;

	if (!params_i64(p, 0, &tid))
		return;
	t = state_thread_find(st, tid);
	if (t && !(p->head->flags & PARAMS_ANEW)) {
		fds = t->fds;
		t->fds = NULL;
	}
	t = state_thread_add(st, tid);
	if (!t) {
		state_fd_table_unref(st, fds);
		return;
	}
	t->fds = fds;
	read_ids(t, p);
	read_numbers(t, p);
	state_str_set_param(st, &t->comm, p, 5);
	state_str_set_param(st, &t->exe, p, 6);
	state_str_set_param(st, &t->exepath, p, 7);
	state_str_set_bytes(st, &t->args, p, 8);
	state_str_set_bytes(st, &t->env, p, 19);
	state_str_set_param(st, &t->root, p, 23);
	state_thread_set_cgroups(st, t, p, 22);
	cwd = params_str(p, 9, &len);
	if (t->pid == t->tid && cwd)
		state_thread_set_cwd(st, t, cwd, len);
	main = t->pid != t->tid ? state_thread_find(st, t->pid) : NULL;
	if (main)
		main->n_threads++;
}

/* "demo --x -y" to what follows its first word, NUL after each. */
static struct scap_str *split_args(struct scap_state *st, const char *s, size_t len)
{
	const char *blank = memchr(s, ' ', len);
	struct scap_str *args;

	if (!blank)
		return NULL;
	len -= (size_t)(blank + 1 - s);
	args = state_str_new(st, blank, len + 1); /* one byte more, for the last NUL */
	if (args)
		memcpy(args->data, blank + 1, len);
	for (size_t i = 0; args && i < len; i++)
		if (args->data[i] == ' ')
			args->data[i] = '\0';
	if (args)
		args->data[len] = '\0';
	return args;
}

static void set_program(struct scap_state *st, struct scap_thread *t, const char *path, size_t path_len,
			const char *args, size_t args_len)
{
	const char *blank = memchr(args, ' ', args_len);

	state_str_set(st, &t->exepath, state_str_new(st, path, path_len));
	state_str_set(st, &t->args, split_args(st, args, args_len));
	state_str_set(st, &t->exe, state_str_new(st, args, blank ? (size_t)(blank - args) : args_len));
}

/*
 * The engine's arguments are shorter than those of a call, so a known program keeps its own. A later name that a
 * program gives itself is left out, as in libscap's readers: a capture shows the names of the live run.
 */
static void follow(struct scap_state *st, struct scap_thread *t, const struct state_task_at *at)
{
	const struct state_image *im = at->image;
	const uint64_t program = at->image_number ? at->image_number : at->serial;

	if (t->program == program)
		return;
	t->program = program;
	if (at->comm[0])
		state_str_set(st, &t->comm, state_str_new(st, at->comm, strnlen(at->comm, sizeof(at->comm))));
	if (im && im->exe_len && !is_str(t->exepath, im->text, im->exe_len))
		set_program(st, t, im->text, im->exe_len, state_image_args(im), im->args_len);
	state_thread_changed(t);
}

void state_thread_follow(struct scap_state *st, struct scap_thread *t, const struct event *ev)
{
	struct scap_thread *main = state_thread_main(st, t);
	const bool named = ev->keys.image && ev->keys.image == main->program;
	const struct state_task_at *at;

	if (!named && main->tid == ev->tgid &&
	    state_task_process(st->engine, ev->tgid, ev->start_ns, ev->ts_ns, &at) == 0)
		follow(st, main, at);
	if (t != main && !t->program && state_task_thread(st->engine, ev->tid, ev->start_ns, ev->ts_ns, &at) == 0)
		follow(st, t, at);
}

static void add_cgroup(struct buf *out, const char *name, size_t name_len, const char *path)
{
	buf_add(out, name, name_len);
	buf_add_char(out, '=');
	buf_add(out, path, strlen(path) + 1);
}

/* Moves @list in the newer hierarchy: all of it without an older one (only the newer has "io"), else "unified". */
static void move_cgroups(const struct scap_str *list, const char *path, struct buf *out)
{
	static const char unified[] = "unified";
	const bool all = list && memmem(list->data, list->len, "\0io=", 4);
	const char *at = list ? list->data : NULL, *end = list ? at + list->len : NULL;

	for (; at < end; at += strlen(at) + 1) {
		const size_t name_len = strcspn(at, "=");

		if (all)
			add_cgroup(out, at, name_len, path);
		else if (name_len != strlen(unified) || memcmp(at, unified, name_len) != 0)
			buf_add(out, at, strlen(at) + 1);
	}
	if (!all)
		add_cgroup(out, unified, strlen(unified), path);
}

/* Engines move a process into its container, init one into its service, and no call says so. */
void state_thread_set_cgroup(struct scap_state *st, struct scap_thread *t, uint64_t id, const char *path)
{
	struct buf list = { 0 };

	if (!path)
		return;	/* its name comes later */
	t->cgroup_id = id;
	move_cgroups(t->cgroups, path, &list);
	if (!buf_error(&list))
		set_cgroups(st, t, list.data, list.len);
	buf_fini(&list);
}

void state_thread_from_section(struct scap_state *st, struct scap_thread *t, const struct event *ev)
{
	const struct section *sec = event_section(ev, SEC_PROC);
	const struct sec_proc *p = event_proc(ev);
	struct scap_thread *main;
	const char *s, *args;
	size_t len, args_len;

	if (!p || !p->comm.len)
		return;
	t->invented = false;
	t->pid = p->tgid ? p->tgid : t->tid;
	t->ptid = p->ppid ? (int64_t)p->ppid : -1;
	t->uid = p->uid;
	t->gid = p->gid;
	t->vtid = t->tid;
	t->vpid = t->pid;
	t->flags = t->pid != t->tid ? SCAP_CLONE_THREAD : 0;
	s = event_sec_proc_str(p, sec, p->comm, &len);
	state_str_set(st, &t->comm, state_str_new(st, s, len));
	s = event_sec_proc_str(p, sec, p->exe, &len);
	args = event_sec_proc_str(p, sec, p->args, &args_len);
	set_program(st, t, s, len, args, args_len);
	main = t->pid != t->tid ? state_thread_find(st, t->pid) : NULL;
	if (main)
		main->n_threads++;
}

void state_thread_free_all(struct scap_state *st)
{
	size_t pos = 0;
	void *key, *val;

	while (map_next(&st->threads, &pos, &key, &val))
		thread_free(st, *(struct scap_thread **)val);
	map_fini(&st->threads);
}
