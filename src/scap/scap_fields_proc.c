// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fields of process, thread, user and container.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "scap/scap_fields_id.h"

#define ANCESTORS_MAX 64	/* hostile files contain loops of parents */

static const struct scap_thread *parent(const struct scap_view *v, const struct scap_thread *t)
{
	const struct scap_thread *main = scap_state_process(v->state, t);

	return scap_state_thread(v->state, main->ptid);
}

/* Arguments, separated by blanks. */
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
	return scap_value_buf(ret, b);
}

static const struct scap_thread *ancestor(const struct scap_view *v, const struct scap_thread *t, unsigned n)
{
	for (; t && n; n--)
		t = parent(v, t);
	return t;
}

/* With a number: that ancestor. Without: any ancestor, for comparison by the filter. */
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
	switch ((enum field_id)f->off) {
	case SF_APID: return value_set_int(ret, t->pid);
	case SF_AEXE: return scap_value_str(ret, t->exe);
	case SF_AEXEPATH: return scap_value_str(ret, t->exepath);
	case SF_ACMDLINE: return get_line(v, t->comm, t->args, ret);
	default: return scap_value_str(ret, t->comm);
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
	return found ? value_set_int(ret, found->pid) : -ENOENT;
}

/* Leader of the session, or its oldest ancestor within the session. */
static int get_sname(const struct scap_view *v, struct value *ret)
{
	const struct scap_thread *t = scap_state_thread(v->state, v->thread->sid), *at;

	if (t)
		return scap_value_str_or_empty(ret, t->comm);
	t = scap_state_process(v->state, v->thread);
	at = parent(v, t);
	for (unsigned n = 0; at && at->sid == v->thread->sid && n < ANCESTORS_MAX; n++, at = parent(v, at))
		t = at;
	return scap_value_str_or_empty(ret, t->comm);
}

/* Leader of the process group, or its oldest ancestor within the group. */
static int get_leader(const struct scap_view *v, enum field_id w, struct value *ret)
{
	const struct scap_thread *t = scap_state_process(v->state, v->thread), *at = parent(v, t);

	for (unsigned n = 0; t->vpid != t->vpgid && at && at->vpgid == t->vpgid && n < ANCESTORS_MAX; n++) {
		t = at;
		at = parent(v, t);
	}
	return scap_value_str(ret, w == SF_VPGID_NAME ? t->comm : w == SF_VPGID_EXE ? t->exe : t->exepath);
}

/* fd.types[0]: type of standard input. */
static int get_fd_type(const struct scap_view *v, const char *arg, struct value *ret)
{
	const struct scap_fd *fd;
	uint64_t num;

	if (!arg || str_to_u64(arg, 10, &num) < 0 || num > INT32_MAX)
		return -ENOENT;
	fd = scap_state_fd(v->state, v->thread, (int64_t)num);
	return fd ? value_set_text(ret, scap_state_fd_type_name(fd)) : -ENOENT;
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
			return value_set_text(ret, s->data + i + len + 1);
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

static int get_user(const struct scap_view *v, enum field_id w, struct value *ret)
{
	uint32_t uid = w == SF_LOGINNAME ? v->process->loginuid : v->thread->uid;
	const struct scap_user *u = scap_state_user(v->state, uid);
	const struct scap_str *s = !u ? NULL : w == SF_HOMEDIR ? u->home : w == SF_SHELL ? u->shell : u->name;

	return scap_value_str(ret, s);
}

static int get_container(const struct scap_view *v, enum field_id w, struct value *ret)
{
	const struct scap_str *id = v->thread->container;
	const struct scap_container *c = scap_state_container(v->state, id);

	if (!id)
		return value_set_text(ret, w == SF_CONTAINER_IMAGE ? NULL : "host");
	if (w == SF_CONTAINER_ID)
		return scap_value_str(ret, id);
	return c ? scap_value_str(ret, w == SF_CONTAINER_NAME ? c->name : c->image) : -ENOENT;
}

static int get_family(const struct scap_view *v, const struct field *f, struct value *ret)
{
	const struct scap_thread *p = parent(v, v->thread);

	switch ((enum field_id)f->off) {
	case SF_PPID: return value_set_int(ret, v->process->ptid);
	case SF_PNAME: return p ? scap_value_str(ret, p->comm) : -ENOENT;
	case SF_PCMDLINE: return p ? get_line(v, p->comm, p->args, ret) : -ENOENT;
	case SF_PEXE: return p ? scap_value_str(ret, p->exe) : -ENOENT;
	case SF_PEXEPATH: return p ? scap_value_str(ret, p->exepath) : -ENOENT;
	case SF_PPID_DURATION: return p && p->clone_ns ? value_set_ns(ret, v->ts_ns - p->clone_ns) : -ENOENT;
	case SF_APID:
	case SF_ANAME:
	case SF_AEXE:
	case SF_AEXEPATH:
	case SF_ACMDLINE: return get_ancestor(v, f, ret);
	case SF_VPGID_NAME:
	case SF_VPGID_EXE:
	case SF_VPGID_EXEPATH: return get_leader(v, (enum field_id)f->off, ret);
	case SF_LOGINSHELLID: return get_loginshell(v, ret);
	case SF_SNAME: return get_sname(v, ret);
	default: return -ENOENT;
	}
}

static int get_numbers(const struct scap_view *v, enum field_id w, struct value *ret)
{
	const struct scap_thread *t = v->thread, *p = v->process;

	switch (w) {
	case SF_PID: return value_set_int(ret, t->pid);
	case SF_TID: return value_set_int(ret, t->tid);
	case SF_VTID: return t->vtid >= 0 ? value_set_int(ret, t->vtid) : -ENOENT;
	case SF_VPID: return t->vpid >= 0 ? value_set_int(ret, t->vpid) : -ENOENT;
	case SF_SID: return value_set_int(ret, t->sid);
	case SF_VPGID: return value_set_int(ret, t->vpgid);
	case SF_TTY: return value_set_uint(ret, t->tty);
	case SF_NTHREADS: return value_set_uint(ret, p->n_threads + 1);
	case SF_NCHILDS: return value_set_uint(ret, t->n_threads);
	case SF_FDOPENCOUNT: return value_set_uint(ret, count_fds(v));
	case SF_FDLIMIT: return value_set_int(ret, p->fdlimit);
	case SF_FDUSAGE:
		return p->fdlimit > 0 ? value_set_uint(ret, count_fds(v) * 100 / (uint64_t)p->fdlimit) : -ENOENT;
	case SF_VMSIZE: return value_set_uint(ret, p->vmsize_kb);
	case SF_VMRSS: return value_set_uint(ret, p->vmrss_kb);
	case SF_VMSWAP: return value_set_uint(ret, p->vmswap_kb);
	case SF_PFMAJOR: return value_set_uint(ret, t->pfmajor);
	case SF_PFMINOR: return value_set_uint(ret, t->pfminor);
	case SF_DURATION: return t->clone_ns ? value_set_ns(ret, v->ts_ns - t->clone_ns) : -ENOENT;
	case SF_UID: return value_set_uint(ret, t->uid);
	case SF_LOGINUID: return value_set_int(ret, (int32_t)p->loginuid);
	case SF_GID: return value_set_uint(ret, t->gid);
	case SF_IS_VPGID_LEADER: return value_set_bool(ret, p->vpid == p->vpgid);
	case SF_FROM_MEMFD: return value_set_bool(ret, is_memfd(t->exepath));
	case SF_ISMAIN: return value_set_bool(ret, t->tid == t->pid);
	case SF_EXE_WRITABLE: return value_set_bool(ret, t->exe_writable);
	default: return -ENOENT;
	}
}

/* Container events have no thread; sysdig's readers show these names. */
static int get_nobody(const struct scap_view *v, enum field_id w, struct value *ret)
{
	const struct scap_str *id = scap_state_last_container(v->state);
	struct buf *b;

	if (w == SF_TID)
		return value_set_int(ret, v->p.head->tid);
	if (!id || w != SF_NAME)
		return -ENOENT;
	b = scap_state_scratch(v->state);
	buf_printf(b, "container:%s", id->data);
	return scap_value_buf(ret, b);
}

int scap_fields_proc_get(const struct scap_view *v, const struct field *f, struct value *ret)
{
	const struct scap_thread *t = v->thread;
	const struct scap_group *g;

	if (!t)
		return get_nobody(v, (enum field_id)f->off, ret);
	switch ((enum field_id)f->off) {
	case SF_EXE: return scap_value_str_or_empty(ret, t->exe);
	case SF_NAME: return scap_value_str_or_empty(ret, t->comm);
	case SF_PROC_ARGS: return get_line(v, NULL, t->args, ret);
	case SF_ENV: return get_line(v, NULL, v->process->env, ret);
	case SF_CMDLINE: return get_line(v, t->comm, t->args, ret);
	case SF_EXELINE: return get_line(v, t->exe, t->args, ret);
	case SF_CWD: return scap_value_str_or_empty(ret, v->process->cwd);
	case SF_EXEPATH: return scap_value_str_or_empty(ret, t->exepath);
	case SF_CGROUPS: return get_line(v, NULL, t->cgroups, ret);
	case SF_CGROUP: return get_cgroup(v, f->arg, ret);
	case SF_USER_NAME:
	case SF_HOMEDIR:
	case SF_SHELL:
	case SF_LOGINNAME: return get_user(v, (enum field_id)f->off, ret);
	case SF_GROUP_NAME: g = scap_state_group(v->state, t->gid); return g ? scap_value_str(ret, g->name) : -ENOENT;
	case SF_CONTAINER_ID:
	case SF_CONTAINER_NAME:
	case SF_CONTAINER_IMAGE: return get_container(v, (enum field_id)f->off, ret);
	case SF_FD_TYPES: return get_fd_type(v, f->arg, ret);
	case SF_PPID:
	case SF_PNAME:
	case SF_PCMDLINE:
	case SF_PEXE:
	case SF_PEXEPATH:
	case SF_PPID_DURATION:
	case SF_APID:
	case SF_ANAME:
	case SF_AEXE:
	case SF_AEXEPATH:
	case SF_ACMDLINE:
	case SF_VPGID_NAME:
	case SF_VPGID_EXE:
	case SF_VPGID_EXEPATH:
	case SF_LOGINSHELLID:
	case SF_SNAME: return get_family(v, f, ret);
	default: return get_numbers(v, (enum field_id)f->off, ret);
	}
}
