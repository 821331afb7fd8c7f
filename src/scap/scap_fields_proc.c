// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The words of who: process, thread, user, container.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "scap/scap_fields_impl.h"

#define ANCESTORS_MAX 64	/* hostile files make circles */

static const struct scap_thread *parent(const struct scap_view *v, const struct scap_thread *t)
{
	const struct scap_thread *main = scap_state_process(v->state, t);

	return scap_state_thread(v->state, main->ptid);
}

/* Arguments with blanks between them. */
static void add_words(struct buf *b, const struct scap_str *s)
{
	uint32_t len = s ? s->len : 0;

	while (len && !s->data[len - 1])
		len--;
	for (uint32_t i = 0; i < len; i++)
		buf_add_char(b, s->data[i] ? s->data[i] : ' ');
}

static int get_line(const struct scap_view *v, const struct scap_str *first, const struct scap_str *words,
		    struct value *ret)
{
	struct buf *b = scap_state_scratch(v->state);

	if (first) {
		buf_add(b, first->data, first->len);
		if (words && words->len)
			buf_add_char(b, ' ');
	}
	add_words(b, words);
	return scap_fields_buf(ret, b);
}

static const struct scap_thread *ancestor(const struct scap_view *v, const struct scap_thread *t, unsigned n)
{
	for (; t && n; n--)
		t = parent(v, t);
	return t;
}

/* With a number that ancestor; the words without one mean any of them, and are asked for by their names. */
static int get_ancestor(const struct scap_view *v, const struct field *f, struct value *ret)
{
	const struct scap_thread *t;
	unsigned long n = 1;
	char *end;

	if (f->arg) {
		n = strtoul(f->arg, &end, 10);
		if (*end || n > ANCESTORS_MAX)
			return -ENOENT;
	}
	t = ancestor(v, v->thread, (unsigned)n);
	if (!t)
		return -ENOENT;
	switch ((enum word)f->off) {
	case W_APID: return scap_fields_int(ret, t->pid);
	case W_AEXE: return scap_fields_str(ret, t->exe);
	case W_AEXEPATH: return scap_fields_str(ret, t->exepath);
	case W_ACMDLINE: return get_line(v, t->comm, t->args, ret);
	default: return scap_fields_str(ret, t->comm);
	}
}

static bool is_shell(const struct scap_str *s)
{
	return s && s->len >= 2 && !strcmp(s->data + s->len - 2, "sh");
}

static int get_loginshell(const struct scap_view *v, struct value *ret)
{
	const struct scap_thread *t = scap_state_process(v->state, v->thread), *found = NULL;

	for (unsigned n = 0; t && n < ANCESTORS_MAX; n++, t = parent(v, t))
		if (is_shell(t->comm))
			found = t;
	return found ? scap_fields_int(ret, found->pid) : -ENOENT;
}

/* The leader of the session, or the oldest ancestor in it. */
static int get_sname(const struct scap_view *v, struct value *ret)
{
	const struct scap_thread *t = scap_state_thread(v->state, v->thread->sid), *at;

	if (t)
		return scap_fields_str_or_empty(ret, t->comm);
	t = scap_state_process(v->state, v->thread);
	at = parent(v, t);
	for (unsigned n = 0; at && at->sid == v->thread->sid && n < ANCESTORS_MAX; n++, at = parent(v, at))
		t = at;
	return scap_fields_str_or_empty(ret, t->comm);
}

/* The leader of the process group, or the oldest ancestor in it. */
static int get_leader(const struct scap_view *v, enum word w, struct value *ret)
{
	const struct scap_thread *t = scap_state_process(v->state, v->thread), *at = parent(v, t);

	for (unsigned n = 0; t->vpid != t->vpgid && at && at->vpgid == t->vpgid && n < ANCESTORS_MAX; n++) {
		t = at;
		at = parent(v, t);
	}
	return scap_fields_str(ret, w == W_VPGID_NAME ? t->comm : w == W_VPGID_EXE ? t->exe : t->exepath);
}

/* fd.types[0]: what standard input is. */
static int get_fd_type(const struct scap_view *v, const char *arg, struct value *ret)
{
	const struct scap_fd *fd;
	uint64_t num;

	if (!arg || str_to_u64(arg, 10, &num) < 0 || num > INT32_MAX)
		return -ENOENT;
	fd = scap_state_fd(v->state, v->thread, (int64_t)num);
	return fd ? scap_fields_text(ret, scap_state_fd_type_name(fd)) : -ENOENT;
}

static bool is_memfd(const struct scap_str *path)
{
	return path && (!strncmp(path->data, "memfd:", 6) || !strncmp(path->data, "/memfd:", 7));
}

static int get_cgroup(const struct scap_view *v, const char *arg, struct value *ret)
{
	const struct scap_str *s = v->thread->cgroups;
	size_t len = arg ? strlen(arg) : 0;

	for (uint32_t i = 0; s && i < s->len; i += (uint32_t)strlen(s->data + i) + 1)
		if (!strncmp(s->data + i, arg ? arg : "", len) && s->data[i + len] == '=')
			return scap_fields_text(ret, s->data + i + len + 1);
	return -ENOENT;
}

static uint64_t count_fds(const struct scap_view *v)
{
	size_t pos = 0;
	uint64_t n = 0;
	int64_t num;

	while (scap_state_next_fd(v->process, &pos, &num))
		n += num >= 0;
	return n;
}

static int get_user(const struct scap_view *v, enum word w, struct value *ret)
{
	uint32_t uid = w == W_LOGINNAME ? v->process->loginuid : v->thread->uid;
	const struct scap_user *u = scap_state_user(v->state, uid);
	const struct scap_str *s = !u ? NULL : w == W_HOMEDIR ? u->home : w == W_SHELL ? u->shell : u->name;

	return scap_fields_str(ret, s);
}

static int get_container(const struct scap_view *v, enum word w, struct value *ret)
{
	const struct scap_str *id = v->thread->container;
	const struct scap_container *c = scap_state_container(v->state, id);

	if (!id)
		return scap_fields_text(ret, w == W_CONTAINER_IMAGE ? NULL : "host");
	if (w == W_CONTAINER_ID)
		return scap_fields_str(ret, id);
	return c ? scap_fields_str(ret, w == W_CONTAINER_NAME ? c->name : c->image) : -ENOENT;
}

static int get_family(const struct scap_view *v, const struct field *f, struct value *ret)
{
	const struct scap_thread *p = parent(v, v->thread);

	switch ((enum word)f->off) {
	case W_PPID: return scap_fields_int(ret, v->process->ptid);
	case W_PNAME: return p ? scap_fields_str(ret, p->comm) : -ENOENT;
	case W_PCMDLINE: return p ? get_line(v, p->comm, p->args, ret) : -ENOENT;
	case W_PEXE: return p ? scap_fields_str(ret, p->exe) : -ENOENT;
	case W_PEXEPATH: return p ? scap_fields_str(ret, p->exepath) : -ENOENT;
	case W_PPID_DURATION: return p && p->clone_ns ? scap_fields_ns(ret, v->ts_ns - p->clone_ns) : -ENOENT;
	case W_APID:
	case W_ANAME:
	case W_AEXE:
	case W_AEXEPATH:
	case W_ACMDLINE: return get_ancestor(v, f, ret);
	case W_VPGID_NAME:
	case W_VPGID_EXE:
	case W_VPGID_EXEPATH: return get_leader(v, (enum word)f->off, ret);
	case W_LOGINSHELLID: return get_loginshell(v, ret);
	case W_SNAME: return get_sname(v, ret);
	default: return -ENOENT;
	}
}

static int get_numbers(const struct scap_view *v, enum word w, struct value *ret)
{
	const struct scap_thread *t = v->thread, *p = v->process;

	switch (w) {
	case W_PID: return scap_fields_int(ret, t->pid);
	case W_TID: return scap_fields_int(ret, t->tid);
	case W_VTID: return t->vtid >= 0 ? scap_fields_int(ret, t->vtid) : -ENOENT;
	case W_VPID: return t->vpid >= 0 ? scap_fields_int(ret, t->vpid) : -ENOENT;
	case W_SID: return scap_fields_int(ret, t->sid);
	case W_VPGID: return scap_fields_int(ret, t->vpgid);
	case W_TTY: return scap_fields_uint(ret, t->tty);
	case W_NTHREADS: return scap_fields_uint(ret, p->n_threads + 1);
	case W_NCHILDS: return scap_fields_uint(ret, t->n_threads);
	case W_FDOPENCOUNT: return scap_fields_uint(ret, count_fds(v));
	case W_FDLIMIT: return scap_fields_int(ret, p->fdlimit);
	case W_FDUSAGE:
		return p->fdlimit > 0 ? scap_fields_uint(ret, count_fds(v) * 100 / (uint64_t)p->fdlimit) : -ENOENT;
	case W_VMSIZE: return scap_fields_uint(ret, p->vmsize_kb);
	case W_VMRSS: return scap_fields_uint(ret, p->vmrss_kb);
	case W_VMSWAP: return scap_fields_uint(ret, p->vmswap_kb);
	case W_PFMAJOR: return scap_fields_uint(ret, t->pfmajor);
	case W_PFMINOR: return scap_fields_uint(ret, t->pfminor);
	case W_DURATION: return t->clone_ns ? scap_fields_ns(ret, v->ts_ns - t->clone_ns) : -ENOENT;
	case W_UID: return scap_fields_uint(ret, t->uid);
	case W_LOGINUID: return scap_fields_int(ret, (int32_t)p->loginuid);
	case W_GID: return scap_fields_uint(ret, t->gid);
	case W_IS_VPGID_LEADER: return scap_fields_bool(ret, p->vpid == p->vpgid);
	case W_FROM_MEMFD: return scap_fields_bool(ret, is_memfd(t->exepath));
	case W_ISMAIN: return scap_fields_bool(ret, t->tid == t->pid);
	case W_EXE_WRITABLE: return scap_fields_bool(ret, t->exe_writable);
	default: return -ENOENT;
	}
}

/* Events of containers belong to no thread; readers know them by these names. */
static int get_nobody(const struct scap_view *v, enum word w, struct value *ret)
{
	const struct scap_str *id = scap_state_last_container(v->state);
	struct buf *b;

	if (w == W_TID)
		return scap_fields_int(ret, v->p.head->tid);
	if (!id || w != W_NAME)
		return -ENOENT;
	b = scap_state_scratch(v->state);
	buf_printf(b, "container:%s", id->data);
	return scap_fields_buf(ret, b);
}

int scap_fields_proc_get(const struct scap_view *v, const struct field *f, struct value *ret)
{
	const struct scap_thread *t = v->thread;
	const struct scap_group *g;

	if (!t)
		return get_nobody(v, (enum word)f->off, ret);
	switch ((enum word)f->off) {
	case W_EXE: return scap_fields_str_or_empty(ret, t->exe);
	case W_NAME: return scap_fields_str_or_empty(ret, t->comm);
	case W_PROC_ARGS: return get_line(v, NULL, t->args, ret);
	case W_ENV: return get_line(v, NULL, v->process->env, ret);
	case W_CMDLINE: return get_line(v, t->comm, t->args, ret);
	case W_EXELINE: return get_line(v, t->exe, t->args, ret);
	case W_CWD: return scap_fields_str_or_empty(ret, v->process->cwd);
	case W_EXEPATH: return scap_fields_str_or_empty(ret, t->exepath);
	case W_CGROUPS: return get_line(v, NULL, t->cgroups, ret);
	case W_CGROUP: return get_cgroup(v, f->arg, ret);
	case W_USER_NAME:
	case W_HOMEDIR:
	case W_SHELL:
	case W_LOGINNAME: return get_user(v, (enum word)f->off, ret);
	case W_GROUP_NAME: g = scap_state_group(v->state, t->gid); return g ? scap_fields_str(ret, g->name) : -ENOENT;
	case W_CONTAINER_ID:
	case W_CONTAINER_NAME:
	case W_CONTAINER_IMAGE: return get_container(v, (enum word)f->off, ret);
	case W_FD_TYPES: return get_fd_type(v, f->arg, ret);
	case W_PPID:
	case W_PNAME:
	case W_PCMDLINE:
	case W_PEXE:
	case W_PEXEPATH:
	case W_PPID_DURATION:
	case W_APID:
	case W_ANAME:
	case W_AEXE:
	case W_AEXEPATH:
	case W_ACMDLINE:
	case W_VPGID_NAME:
	case W_VPGID_EXE:
	case W_VPGID_EXEPATH:
	case W_LOGINSHELLID:
	case W_SNAME: return get_family(v, f, ret);
	default: return get_numbers(v, (enum word)f->off, ret);
	}
}
