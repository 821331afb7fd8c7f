// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Calls that make, change and end threads. Older event types have fewer parameters; where one stands depends on
 * their number, so it is found by name.
 */
#include <string.h>

#include "scap/state/state_tables.h"

#define RLIMIT_NOFILE_NUM 7

/* Index of the parameter that the event's type calls @name; PARAMS_MAX when it has none. */
static unsigned find_param(const struct fold *f, const char *name)
{
	const struct scap_event_info *info = f->v->info;

	for (unsigned i = 0; i < info->n_params && i < f->p->n; i++)
		if (!strcmp(info->params[i].name, name))
			return i;
	return PARAMS_MAX;
}

static bool named_number(const struct fold *f, const char *name, int64_t *ret)
{
	return params_i64(f->p, find_param(f, name), ret);
}

static void named_u32(const struct fold *f, const char *name, uint32_t *slot)
{
	int64_t v;

	if (named_number(f, name, &v))
		*slot = (uint32_t)v;
}

static void named_u64(const struct fold *f, const char *name, uint64_t *slot)
{
	int64_t v;

	if (named_number(f, name, &v))
		*slot = (uint64_t)v;
}

static void set_resources(const struct fold *f, struct scap_thread *t)
{
	named_number(f, "fdlimit", &t->fdlimit);
	named_u64(f, "pgft_maj", &t->pfmajor);
	named_u64(f, "pgft_min", &t->pfminor);
	named_u32(f, "vm_size", &t->vmsize_kb);
	named_u32(f, "vm_rss", &t->vmrss_kb);
	named_u32(f, "vm_swap", &t->vmswap_kb);
}

/* exe, comm and args; events of before "comm" was recorded have the first alone. */
static void set_names(const struct fold *f, struct scap_thread *t)
{
	unsigned comm = find_param(f, "comm");

	state_str_set_param(f->st, &t->exe, f->p, find_param(f, "exe"));
	state_str_set_param(f->st, &t->comm, f->p, comm < PARAMS_MAX ? comm : find_param(f, "exe"));
	state_str_set_bytes(f->st, &t->args, f->p, find_param(f, "args"));
	state_thread_changed(t);
}

/* ---- clone, fork, vfork ---- */

static void inherit(struct scap_thread *t, const struct scap_thread *from, bool thread)
{
	t->exe_writable = from->exe_writable;
	t->exepath = state_str_ref(from->exepath);
	t->root = state_str_ref(from->root);
	t->cgroups = state_str_ref(from->cgroups);
	t->container = state_str_ref(from->container);
	t->sid = from->sid;
	t->vpgid = from->vpgid;
	t->tty = from->tty;
	t->loginuid = from->loginuid;
	if (!thread)
		t->env = state_str_ref(from->env);
}

/* A new process has its own copy of descriptors and directory; a thread uses its process's. */
static void inherit_process(struct fold *f, struct scap_thread *t, struct scap_thread *from)
{
	struct scap_thread *main = state_thread_main(f->st, from);

	t->cwd = state_str_ref(main->cwd);
	t->fds = main->fds;
	if (t->fds)
		t->fds->refs++;
}

/*
 * Was @t added after its parent entered this clone()? Then it is the child, and its facts are newer than the clone:
 * the parent may return after the child's exec.
 */
static bool is_this_child(const struct fold *f, const struct scap_thread *t)
{
	uint64_t took_ns = f->t->latency_ns ? f->t->latency_ns : CLONE_STALE_NS;

	return !t->invented && t->known_ns && t->known_ns + took_ns >= f->v->ts_ns;
}

/* Adds what a child that is already known has from its parent alone. */
static void complete_child(struct fold *f, struct scap_thread *t, struct scap_thread *from)
{
	struct scap_thread *main = state_thread_main(f->st, from);

	if (t->ptid == -1)
		t->ptid = from->tid;
	if (t->pid != t->tid)
		return;
	if (!t->cwd)
		t->cwd = state_str_ref(main->cwd);
	if (!t->fds && main->fds) {
		t->fds = main->fds;
		t->fds->refs++;
	}
}

static void make_child(struct fold *f, int64_t child, int64_t parent, uint32_t flags, bool contained)
{
	struct scap_thread *from = state_thread_find_or_invent(f->st, parent), *t, *main;
	bool thread = flags & SCAP_CLONE_THREAD;
	int64_t v;

	if (!from)
		return;
	t = state_thread_find(f->st, child);
	if (t && t->flags & SCAP_CLONE_INVERTED)
		return;
	if (t && is_this_child(f, t)) {
		complete_child(f, t, from);
		return;
	}
	t = state_thread_add(f->st, child);
	from = state_thread_find(f->st, parent); /* the old child may have been the parent's namesake */
	if (!t || !from)
		return;
	t->ptid = parent;
	t->flags = flags;
	t->clone_ns = f->v->ts_ns;
	inherit(t, from, thread);
	t->pid = thread && named_number(f, "pid", &v) ? v : child;
	if (!thread)
		inherit_process(f, t, from);
	set_names(f, t);
	set_resources(f, t);
	named_u32(f, "uid", &t->uid);
	named_u32(f, "gid", &t->gid);
	t->vtid = t->tid;
	t->vpid = t->pid;
	if (contained) {
		named_number(f, "vtid", &t->vtid);
		named_number(f, "vpid", &t->vpid);
	}
	state_thread_set_cgroups(f->st, t, f->p, find_param(f, "cgroups"));
	main = t->pid != t->tid ? state_thread_find(f->st, t->pid) : NULL;
	if (main)
		main->n_threads++;
}

/* Return of clone() in the child, which may come before its return in the parent. */
static void in_child(struct fold *f, uint32_t flags, bool contained)
{
	int64_t tid = f->p->head->tid, parent;
	bool stale = f->t->clone_ns && f->v->ts_ns > f->t->clone_ns && f->v->ts_ns - f->t->clone_ns > CLONE_STALE_NS;

	/* a thread that this event added is known by its name alone */
	if (!f->t->invented && f->t->known_ns != f->v->ts_ns && !stale) {
		if (contained) {
			named_number(f, "vtid", &f->t->vtid);
			named_number(f, "vpid", &f->t->vpid);
		}
		return;
	}
	if (!named_number(f, flags & SCAP_CLONE_THREAD ? "pid" : "ptid", &parent) || parent == tid)
		return;
	state_thread_remove(f->st, tid);
	make_child(f, tid, parent, flags | SCAP_CLONE_INVERTED, contained);
	f->t = state_thread_find_or_invent(f->st, tid);
}

void state_proc_fold_clone(struct fold *f)
{
	int64_t vtid, tid = f->p->head->tid;
	uint32_t flags = 0;
	bool contained;

	if (f->res < 0)
		return;
	named_u32(f, "flags", &flags);
	contained = flags & SCAP_CLONE_IN_PIDNS || (named_number(f, "vtid", &vtid) && vtid != tid);
	if (f->res == 0) {
		in_child(f, flags, contained);
		return;
	}
	/* in a pid namespace the result is the child's number there: wait for the child's event */
	if (contained || f->res == tid)
		return;
	make_child(f, f->res, tid, flags, false);
	f->t = state_thread_find_or_invent(f->st, tid);
}

/* ---- exec, exit ---- */

static void set_exepath(struct fold *f)
{
	struct scap_thread *main = f->proc;
	struct scap_str *dir = NULL;
	const char *s = NULL;
	int64_t dirfd;
	size_t len = 0;

	switch (f->p->head->type) {
	case SCAP_EXECVE_18_X:
	case SCAP_EXECVE_19_X:
		s = params_str(f->enter, 0, &len);
		dir = state_str_ref(main->cwd);
		break;
	case SCAP_EXECVEAT_X:
		s = params_str(f->enter, 1, &len);
		if (params_i64(f->enter, 0, &dirfd))
			dir = state_fd_directory(f->st, f->t, dirfd);
		break;
	}
	if (!s) {
		s = params_str(f->p, find_param(f, "trusted_exepath"), &len);
		if (s && len)
			state_str_set(f->st, &f->t->exepath, state_str_new(f->st, s, len));
	} else if (!strncmp(s, "<NA>", 4)) {
		state_str_set(f->st, &f->t->exepath, state_str_new(f->st, "<NA>", 4));
	} else {
		state_str_set(f->st, &f->t->exepath,
			      state_str_path(f->st, dir ? dir->data : "", dir ? dir->len : 0, s, len));
	}
	state_str_unref(f->st, dir);
}

#define EXE_WRITABLE 1u

void state_proc_fold_execve(struct fold *f)
{
	struct scap_thread *t = f->t;
	uint32_t flags;
	int64_t v;

	if (f->res < 0)
		return;
	set_names(f, t);
	set_resources(f, t);
	if (named_number(f, "pid", &v))
		t->pid = v;
	if (t->ptid == -1)
		named_number(f, "ptid", &t->ptid);
	if (find_param(f, "env") < PARAMS_MAX)
		state_str_set_bytes(f->st, &t->env, f->p, find_param(f, "env"));
	state_thread_set_cgroups(f->st, t, f->p, find_param(f, "cgroups"));
	named_u32(f, "tty", &t->tty);
	named_number(f, "pgid", &t->vpgid);
	named_number(f, "vpgid", &t->vpgid);
	named_u32(f, "loginuid", &t->loginuid);
	named_u32(f, "uid", &t->uid);
	named_u32(f, "gid", &t->gid);
	set_exepath(f);
	if (named_number(f, "flags", &v)) {
		flags = (uint32_t)v;
		t->exe_writable = flags & EXE_WRITABLE;
	}
	t->flags &= SCAP_CLONE_INVERTED;
	t->invented = false;
}

void state_proc_fold_exit(struct fold *f)
{
	f->v->exec_ns = f->ran_ns;
	f->t->exec_ns += f->ran_ns;
	f->st->gone_tid = f->t->tid;
}

/* ---- what a process changes about itself ---- */

void state_proc_fold_chdir(struct fold *f)
{
	size_t len;
	const char *s = params_str(f->p, 1, &len);

	if (f->res >= 0 && s)
		state_thread_set_cwd(f->st, f->t, s, len);
}

void state_proc_fold_fchdir(struct fold *f)
{
	if (f->res >= 0 && f->fd && f->fd->name)
		state_thread_set_cwd(f->st, f->t, f->fd->name->data, f->fd->name->len);
}

void state_proc_fold_chroot(struct fold *f)
{
	struct scap_str *cwd = f->proc->cwd;
	size_t len;
	const char *s = params_str(f->p, 1, &len);

	if (f->res == 0 && s)
		state_str_set(f->st, &f->t->root,
			      state_str_path(f->st, cwd ? cwd->data : "", cwd ? cwd->len : 0, s, len));
}

static void set_id(struct fold *f, unsigned exit_param, unsigned enter_param, uint32_t *slot)
{
	int64_t v;

	if (f->res < 0 || !state_fold_number(f, exit_param, enter_param, &v) || (uint32_t)v == UINT32_MAX)
		return;
	*slot = (uint32_t)v;
	state_thread_changed(f->t);
}

void state_proc_fold_setuid(struct fold *f)
{
	set_id(f, 1, 0, &f->t->uid);
}

void state_proc_fold_setgid(struct fold *f)
{
	set_id(f, 1, 0, &f->t->gid);
}

/* The effective one is the second. */
void state_proc_fold_setresuid(struct fold *f)
{
	set_id(f, 2, 1, &f->t->uid);
}

void state_proc_fold_setresgid(struct fold *f)
{
	set_id(f, 2, 1, &f->t->gid);
}

void state_proc_fold_setsid(struct fold *f)
{
	if (f->res >= 0)
		f->t->sid = f->res;
}

void state_proc_fold_vm(struct fold *f)
{
	set_resources(f, f->t);
}

/* In a capture the CPU was this thread's since the switch before: it has those of all threads. */
static uint64_t since_switch(struct fold *f)
{
	uint64_t *last = map_add(&f->st->switched, &f->v->cpu, NULL), before;

	if (!last)
		return 0;
	before = *last;
	*last = f->v->ts_ns;
	return before && f->v->ts_ns > before ? f->v->ts_ns - before : 0;
}

static void count_cpu(struct fold *f)
{
	f->v->exec_ns = f->ran_ns ? f->ran_ns : since_switch(f);
	f->t->exec_ns += f->v->exec_ns;
}

void state_proc_fold_switch(struct fold *f)
{
	count_cpu(f);
	named_u64(f, "pgft_maj", &f->t->pfmajor);
	named_u64(f, "pgft_min", &f->t->pfminor);
	named_u32(f, "vm_size", &f->proc->vmsize_kb);
	named_u32(f, "vm_rss", &f->proc->vmrss_kb);
	named_u32(f, "vm_swap", &f->proc->vmswap_kb);
}

void state_proc_fold_prlimit(struct fold *f)
{
	int64_t tid, resource, limit;
	struct scap_thread *t;

	if (f->res < 0 || !state_fold_number(f, 6, 1, &resource) || resource != RLIMIT_NOFILE_NUM ||
	    !params_i64(f->p, 1, &limit) || limit == -1 || !state_fold_number(f, 5, 0, &tid))
		return;
	t = tid ? state_thread_find(f->st, tid) : f->t;
	if (t)
		state_thread_main(f->st, t)->fdlimit = limit;
}
