// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records of the proc probe to events. No state: each record says all there is to say.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/arena.h"
#include "base/cursor.h"
#include "base/macros.h"
#include "event/decode.h"
#include "event/event.h"
#include "probes/proc/proc_event.h"
#include "probes/proc/proc_wire.h"

/* A body that grows strings behind itself, all of it in scratch memory. */
struct body {
	char *mem;		/* the fixed body first */
	size_t fixed, cap;	/* bytes */
	size_t len;		/* bytes of strings so far */
};

static int body_new(struct body *b, struct arena *scratch, size_t fixed, size_t strings)
{
	*b = (struct body){ .mem = arena_alloc(scratch, fixed + strings), .fixed = fixed, .cap = strings };
	return b->mem ? 0 : -ENOMEM;
}

static void body_add(struct body *b, const char *text, size_t len)
{
	len = len < b->cap - b->len ? len : b->cap - b->len;
	memcpy(b->mem + b->fixed + b->len, text, len);
	b->len += len;
}

/* @state: the body, which begins with it, or a fact without more. */
static int emit_state(struct event *ev, struct sec_state *state, enum sec_state_kind kind, bool flag,
		      const struct emitter *em)
{
	*state = (struct sec_state){ .kind = (uint8_t)kind, .flag = flag, .text = ev->desc->body_size };
	if (ev->desc->body_size)
		ev->body = state;
	event_add_section(ev, SEC_STATE, state, MAX(ev->body_len, (uint32_t)sizeof(*state)));
	return em->emit(em->ctx, ev);
}

static int body_emit(const struct body *b, struct event *ev, enum sec_state_kind kind, bool flag,
		     const struct emitter *em)
{
	ev->body_len = (uint32_t)(b->fixed + b->len);
	return emit_state(ev, (void *)b->mem, kind, flag, em);
}

/* ---- strings of records ---- */

/* "c\0b\0a\0" is /a/b/c. A walk that found no root left a bare name (memfd) or the end of a longer path. */
static void add_parts(struct body *b, const char *parts, size_t len, bool rooted)
{
	const char *nul = len ? memchr(parts, 0, len) : NULL;
	bool many = nul && nul + 1 < parts + len;

	if (!rooted && many)
		body_add(b, "...", 3);
	if (!len && rooted)
		body_add(b, "/", 1);
	while (len > 0) {
		size_t end = parts[len - 1] ? len : len - 1, start = end;

		while (start > 0 && parts[start - 1])
			start--;
		if (rooted || many)
			body_add(b, "/", 1);
		body_add(b, parts + start, end - start);
		len = start;
	}
}

static void add_path(struct body *b, struct sec_str *str, const char *path, size_t len, uint8_t form)
{
	size_t before = b->len;

	if (form == PROC_PATH_PLAIN)
		body_add(b, path, strnlen(path, len));
	else if (len > 0)
		add_parts(b, path, len, form == PROC_PATH_PARTS);
	*str = (struct sec_str){ .off = (uint32_t)before, .len = (uint32_t)(b->len - before) };
}

/* Arguments become a command line: one blank for each NUL but those at the end. */
static void add_args(struct body *b, struct sec_str *str, const char *args, size_t len)
{
	char *out = b->mem + b->fixed + b->len;

	while (len > 0 && !args[len - 1])
		len--;
	*str = (struct sec_str){ .off = (uint32_t)b->len, .len = (uint32_t)len };
	body_add(b, args, len);
	for (size_t i = 0; i < len; i++)
		if (!out[i])
			out[i] = ' ';
}

/* ---- one function per record ---- */

static void set_who(struct event *ev, struct proc_task_body *b, const struct proc_who *w)
{
	ev->keys.cgroup_id = w->cgroup_id;
	ev->keys.netns = w->netns;
	b->task.ppid = w->ppid;
	b->task.uid = w->uid;
	b->task.gid = w->gid;
	b->task.vpid = w->ns_tgid;
	b->pidns = w->pidns;
	b->mntns = w->mntns;
	b->ns_tid = w->ns_tid;
	memcpy(b->task.comm, w->comm, sizeof(b->task.comm));
}

static int decode_fork(const struct sonde_rec *rec, struct event *ev, const struct emitter *em)
{
	struct proc_fork_rec r;
	struct proc_task_body b = { 0 };

	if (!decode_fixed(rec, &r, sizeof(r)))
		return -EBADMSG;
	set_who(ev, &b, &r.who);
	b.task.maker_tgid = r.maker_tgid;
	b.task.maker_start_ns = r.maker_start_ns;
	return emit_state(ev, &b.task.head, SEC_STATE_FORK, ev->tid != ev->tgid, em);
}

/* proc.exec and proc.task */
static int decode_image(const struct sonde_rec *rec, struct event *ev, const struct emitter *em)
{
	struct cursor c = cur_init(rec, rec->len);
	const char *file, *path, *args;
	struct proc_task_body *body;
	struct proc_exec_rec r;
	struct body b;

	cur_copy(&c, &r, sizeof(r));
	file = cur_bytes(&c, r.name_len);
	path = cur_bytes(&c, r.path_len);
	args = cur_bytes(&c, r.args_len);
	if (!cur_ok(&c))
		return -EBADMSG;
	/* A path grows by its leading slash, or by three dots and a slash. */
	if (body_new(&b, em->scratch, sizeof(*body), (size_t)r.name_len + r.path_len + r.args_len + 8) < 0)
		return -ENOMEM;
	body = (void *)b.mem;
	set_who(ev, body, &r.who);
	body->exe_ino = r.exe_ino;
	body->task.image_ns = r.image_ns;
	body->exe_dev = r.exe_dev;
	body->old_tid = r.old_tid;
	body->task.ended = rec->type == PROC_REC_TASK && r.ended;
	add_path(&b, &body->file, file, r.name_len, PROC_PATH_PLAIN);
	add_path(&b, &body->task.exe, path, r.path_len, r.path_form);
	add_args(&b, &body->task.args, args, r.args_len);
	return body_emit(&b, ev, rec->type == PROC_REC_EXEC ? SEC_STATE_EXEC : SEC_STATE_TASK, ev->tid != ev->tgid,
			 em);
}

static int decode_exit(const struct sonde_rec *rec, struct event *ev, const struct emitter *em)
{
	struct proc_exit_body b = { 0 };
	struct proc_exit_rec r;

	if (!decode_fixed(rec, &r, sizeof(r)))
		return -EBADMSG;
	b.status = (uint32_t)(r.last ? r.group_status : r.status);
	memcpy(b.comm, r.comm, sizeof(b.comm));
	return emit_state(ev, &b.state, SEC_STATE_EXIT, r.last, em);
}

static int decode_rename(const struct sonde_rec *rec, struct event *ev, const struct emitter *em)
{
	struct proc_rename_body b = { 0 };
	struct proc_rename_rec r;

	if (!decode_fixed(rec, &r, sizeof(r)))
		return -EBADMSG;
	memcpy(b.task.comm, r.comm, sizeof(b.task.comm));
	memcpy(b.old, r.old, sizeof(b.old));
	return emit_state(ev, &b.task.head, SEC_STATE_NAME, false, em);
}

static int decode_cgroup(const struct sonde_rec *rec, struct event *ev, const struct emitter *em)
{
	struct proc_cgroup_rec r;
	struct sec_state state;

	if (!decode_fixed(rec, &r, sizeof(r)))
		return -EBADMSG;
	ev->keys.cgroup_id = r.cgroup_id;
	return emit_state(ev, &state, SEC_STATE_CGROUP, false, em);
}

static int decode_mmap(const struct sonde_rec *rec, struct event *ev, const struct emitter *em)
{
	struct cursor c = cur_init(rec, rec->len);
	struct proc_mmap_body *body;
	struct proc_mmap_rec r;
	const char *path;
	struct body b;

	cur_copy(&c, &r, sizeof(r));
	path = cur_bytes(&c, r.path_len);
	if (!cur_ok(&c) || r.build_id_len > sizeof(r.build_id))
		return -EBADMSG;
	if (body_new(&b, em->scratch, sizeof(*body), (size_t)r.path_len + 8) < 0)
		return -ENOMEM;
	body = (void *)b.mem;
	body->map.addr = r.addr;
	body->map.len = r.len;
	body->map.file_off = r.file_off;
	body->map.ino = r.ino;
	body->map.dev = r.dev;
	body->map.generation = r.ino_generation;
	body->prot = r.prot;
	body->flags = r.flags;
	body->map.build_id_len = r.build_id_len;
	memcpy(body->map.build_id, r.build_id, sizeof(body->map.build_id));
	add_path(&b, &body->map.path, path, r.path_len, r.path_form);
	return body_emit(&b, ev, SEC_STATE_MAPPING, false, em);
}

static int decode_socket(const struct sonde_rec *rec, struct event *ev, const struct emitter *em)
{
	struct proc_socket_body b = { 0 };
	struct proc_socket_rec r;

	if (!decode_fixed(rec, &r, sizeof(r)) || !ipaddr_bytes(r.family))
		return -EBADMSG;
	ev->keys.cookie = r.cookie;
	ev->keys.cgroup_id = r.cgroup_id;
	ev->keys.netns = r.netns;
	ev->keys.conn.proto = r.proto;
	ev->keys.conn.sport = r.lport;
	ev->keys.conn.dport = r.rport;
	ipaddr_set(&ev->keys.conn.saddr, r.family, r.laddr);
	if (r.rport)
		ipaddr_set(&ev->keys.conn.daddr, r.family, r.raddr);
	b.sock.listener = r.listener;
	b.what = r.what;
	b.state = r.state;
	memcpy(b.comm, r.comm, sizeof(b.comm));
	return emit_state(ev, &b.sock.head, SEC_STATE_SOCKET, r.what == PROC_SOCK_CLOSE, em);
}

static const struct decode_row rows[] = {
	{ PROC_REC_FORK, &proc_fork_desc, decode_fork, .ident = true },
	{ PROC_REC_EXEC, &proc_exec_desc, decode_image, .ident = true },
	{ PROC_REC_EXIT, &proc_exit_desc, decode_exit, .ident = true },
	{ PROC_REC_RENAME, &proc_rename_desc, decode_rename, .ident = true },
	{ PROC_REC_CGROUP, &proc_cgroup_desc, decode_cgroup, .ident = true },
	{ PROC_REC_MMAP, &proc_mmap_desc, decode_mmap },
	{ PROC_REC_SOCKET, &proc_socket_desc, decode_socket, .ident = true },
	{ PROC_REC_TASK, &proc_task_desc, decode_image, .ident = true },
	{ 0 },
};

/* The executable's path stays; the name that was asked for and the arguments go. */
static int hide_image(struct sonde_rec *r)
{
	struct proc_exec_rec *e = (void *)r;
	size_t room = r->len - sizeof(*e);
	char *text = (char *)(e + 1);

	if (r->len < sizeof(*e) || (size_t)e->name_len + e->path_len + e->args_len > room)
		return -EBADMSG;
	memmove(text, text + e->name_len, e->path_len);
	e->name_len = e->args_len = 0;
	r->len = (uint32_t)(sizeof(*e) + e->path_len);
	return 0;
}

static const struct content_rule content[] = {
	{ PROC_REC_FORK }, { PROC_REC_EXEC, hide_image }, { PROC_REC_EXIT }, { PROC_REC_RENAME }, { PROC_REC_CGROUP },
	{ PROC_REC_MMAP }, { PROC_REC_SOCKET }, { PROC_REC_TASK, hide_image }, { 0 },
};

const struct decoder_ops proc_decoder = {
	.name = "proc",
	.probe = PROBE_ID,
	.events = proc_descs,
	.rows = rows,
	.content = content,
	.redact = proc_redact,
};
