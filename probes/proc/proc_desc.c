// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fields and lines of the proc events. Independent of records.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/macros.h"
#include "base/str.h"
#include "event/event.h"
#include "event/names.h"
#include "probes/proc/proc_event.h"
#include "probes/proc/proc_wire.h"

#define ROW(member, word, kind, doc, ...) FIELD_ROW(PROC_BODY, member, word, kind, doc, ##__VA_ARGS__)
#define TEXT_ROW(member, word, doc_, ...) \
	{ .name = (word), .kind = FIELD_GET, .off = offsetof(PROC_BODY, member), .like = FIELD_LIKE(FIELD_STR), \
	  .doc = (doc_), ##__VA_ARGS__ }

static const struct xlat_val prot_vals[] = { { 1, "read" }, { 2, "write" }, { 4, "exec" } };
static const struct xlat prot_xlat = {
	.name = "prot", .vals = prot_vals, .n = ARRAY_SIZE(prot_vals), .is_flags = true,
};

static const struct xlat_val what_vals[] = {
	{ PROC_SOCK_HELD, "held" }, { PROC_SOCK_OPEN, "open" }, { PROC_SOCK_LISTEN, "listen" },
	{ PROC_SOCK_CONNECT, "connect" }, { PROC_SOCK_ACCEPT, "accept" }, { PROC_SOCK_CLOSE, "close" },
	{ PROC_SOCK_USE, "use" },
};
static const struct xlat what_xlat = { .name = "sock_what", .vals = what_vals, .n = ARRAY_SIZE(what_vals) };

/* include/net/tcp_states.h */
static const struct xlat_val state_vals[] = {
	{ 1, "ESTABLISHED" }, { 2, "SYN_SENT" }, { 3, "SYN_RECV" }, { 4, "FIN_WAIT1" }, { 5, "FIN_WAIT2" },
	{ 6, "TIME_WAIT" }, { 7, "CLOSE" }, { 8, "CLOSE_WAIT" }, { 9, "LAST_ACK" }, { 10, "LISTEN" },
	{ 11, "CLOSING" }, { 12, "NEW_SYN_RECV" },
};
static const struct xlat state_xlat = { .name = "tcp_state", .vals = state_vals, .n = ARRAY_SIZE(state_vals) };

/* ---- values that are not in the body as they are ---- */

/* The string at @str behind a body of @body_size bytes. */
static int tail_text(const struct event *ev, size_t body_size, const struct sec_str *str, struct value *ret)
{
	if (!str->len || body_size > ev->body_len || str->off > ev->body_len - body_size ||
	    str->len > ev->body_len - body_size - str->off)
		return -ENOENT;
	return value_set_chars(ret, (const char *)ev->body + body_size + str->off, str->len);
}

static int get_text(const struct event *ev, const struct field *f, struct value *ret)
{
	const struct sec_str *str = (const void *)((const char *)ev->body + f->off);

	return tail_text(ev, ev->desc->body_size, str, ret);
}

static int exit_get(const struct event *ev, const struct field *f, struct value *ret)
{
	const struct proc_exit_body *b = ev->body;
	uint32_t signal = b->status & 0x7f;

	if (!strcmp(event_field_key(f), "signal"))
		return signal ? value_set_uint(ret, signal) : -ENOENT;
	return signal ? -ENOENT : value_set_uint(ret, b->status >> 8 & 0xff);
}

/* ---- lines ---- */

static void add_name(struct buf *out, const char *comm, size_t cap, uint32_t pid)
{
	str_escape_buf(out, comm, strnlen(comm, cap));
	buf_printf(out, "[%u]", pid);
}

static void add_value(struct buf *out, const char *before, const struct event *ev, const struct sec_str *str)
{
	struct value v;

	if (tail_text(ev, ev->desc->body_size, str, &v) < 0)
		return;
	buf_add_str(out, before);
	str_escape_buf(out, v.str, v.len);
}

static void add_cgroup(struct buf *out, const struct event *ev)
{
	const char *name = event_names_get(ev->names, SONDE_NAME_CGROUP, ev->keys.cgroup_id);

	if (!ev->keys.cgroup_id)
		return;
	if (!name) {
		buf_printf(out, " cgroup %llu", (unsigned long long)ev->keys.cgroup_id);
		return;
	}
	buf_add_str(out, " cgroup ");
	str_escape_buf(out, name, strlen(name));
}

static int task_line(const struct event *ev, const struct line_opts *o, struct buf *out)
{
	const struct proc_task_body *b = ev->body;

	add_name(out, b->task.comm, sizeof(b->task.comm), ev->tgid);
	buf_printf(out, " %s", strchr(ev->desc->name, '.') + 1);
	if (b->task.head.flag)
		buf_printf(out, " thread %u", ev->tid);
	if (b->task.maker_tgid && b->task.maker_tgid != ev->tgid)
		buf_printf(out, " by %u", b->task.maker_tgid);
	if (b->task.ended)
		buf_add_str(out, " ended");
	add_value(out, " ", ev, &b->task.exe);
	add_value(out, ": ", ev, &b->task.args);
	if (o->verbose) {
		buf_printf(out, " (ppid %u uid %u gid %u pidns %u netns %u", b->task.ppid, b->task.uid, b->task.gid,
			   b->pidns, ev->keys.netns);
		add_cgroup(out, ev);
		buf_add_char(out, ')');
	}
	return buf_add_char(out, '\n');
}

static int exit_line(const struct event *ev, _unused_ const struct line_opts *o, struct buf *out)
{
	const struct proc_exit_body *b = ev->body;

	add_name(out, b->comm, sizeof(b->comm), ev->tgid);
	buf_add_str(out, " exit");
	if (!b->state.flag || ev->tid != ev->tgid)
		buf_printf(out, " thread %u", ev->tid);
	if (b->status & 0x7f)
		buf_printf(out, " signal %u%s", b->status & 0x7f, b->status & 0x80 ? " (core dumped)" : "");
	else
		buf_printf(out, " code %u", b->status >> 8 & 0xff);
	return buf_add_str(out, b->state.flag ? ", process gone\n" : "\n");
}

static int rename_line(const struct event *ev, _unused_ const struct line_opts *o, struct buf *out)
{
	const struct proc_rename_body *b = ev->body;

	add_name(out, b->old, sizeof(b->old), ev->tid);
	buf_add_str(out, " is now called ");
	str_escape_buf(out, b->task.comm, strnlen(b->task.comm, sizeof(b->task.comm)));
	return buf_add_char(out, '\n');
}

static int cgroup_line(const struct event *ev, _unused_ const struct line_opts *o, struct buf *out)
{
	buf_printf(out, "[%u] moved to", ev->tid);
	add_cgroup(out, ev);
	return buf_add_char(out, '\n');
}

static int mmap_line(const struct event *ev, const struct line_opts *o, struct buf *out)
{
	const struct proc_mmap_body *b = ev->body;

	buf_printf(out, "[%u] map 0x%llx+0x%llx offset 0x%llx", ev->tgid, (unsigned long long)b->map.addr,
		   (unsigned long long)b->map.len, (unsigned long long)b->map.file_off);
	add_value(out, " ", ev, &b->map.path);
	if (o->verbose && b->map.build_id_len) {
		buf_add_str(out, " build-id ");
		for (size_t i = 0; i < MIN((size_t)b->map.build_id_len, sizeof(b->map.build_id)); i++)
			buf_printf(out, "%02x", b->map.build_id[i]);
	}
	return buf_add_char(out, '\n');
}

static int socket_line(const struct event *ev, const struct line_opts *o, struct buf *out)
{
	const struct proc_socket_body *b = ev->body;
	const struct conn *c = &ev->keys.conn;
	const char *what = xlat_name(&what_xlat, b->what), *state = xlat_name(&state_xlat, b->state);

	add_name(out, b->comm, sizeof(b->comm), ev->tgid);
	buf_printf(out, " socket %s ", what ? what : "?");
	ipaddr_port_text(&c->saddr, c->sport, out);
	if (c->dport) {
		buf_add_str(out, " <> ");
		ipaddr_port_text(&c->daddr, c->dport, out);
	}
	if (o->verbose && state)
		buf_printf(out, " from %s", state);
	if (o->verbose)
		buf_printf(out, " cookie %llu netns %u", (unsigned long long)ev->keys.cookie, ev->keys.netns);
	return buf_add_char(out, '\n');
}

/* ---- rows ---- */

#define PROC_SECTIONS (1u << SEC_PROC | 1u << SEC_STATE)
#define PROC_BODY struct proc_task_body
#define WHO_ROWS \
	ROW(task.comm, "task.comm", FIELD_STR, "name of the thread", .flags = FIELD_OPEN), \
	ROW(task.ppid, "task.ppid", FIELD_UINT, "process id of the parent"), \
	ROW(task.uid, "task.uid", FIELD_UINT, "effective user id"), \
	ROW(task.gid, "task.gid", FIELD_UINT, "effective group id"), \
	ROW(pidns, "task.pidns", FIELD_UINT, "pid namespace, inode", .flags = FIELD_OPTIONAL), \
	ROW(mntns, "task.mntns", FIELD_UINT, "mount namespace, inode", .flags = FIELD_OPTIONAL), \
	ROW(task.vpid, "task.ns_pid", FIELD_UINT, "process id in its own pid namespace", .flags = FIELD_OPTIONAL), \
	ROW(ns_tid, "task.ns_tid", FIELD_UINT, "thread id in its own pid namespace", .flags = FIELD_OPTIONAL)
#define IMAGE_ROWS \
	TEXT_ROW(file, "task.file", "program as it was asked for; a script's name when it starts with #!"), \
	TEXT_ROW(task.exe, "task.exe", "path of the executable, seen from the process's root", \
		 .flags = FIELD_OPEN), \
	TEXT_ROW(task.args, "task.args", "command line"), \
	ROW(exe_ino, "task.exe_ino", FIELD_UINT, "inode of the executable", .flags = FIELD_OPTIONAL), \
	ROW(exe_dev, "task.exe_dev", FIELD_HEX, "device of the executable: major << 20 | minor", \
	    .flags = FIELD_OPTIONAL)

static const struct field fork_fields[] = {
	WHO_ROWS,
	ROW(task.head.flag, "task.thread", FIELD_BOOL, "a thread of a process that is there already"),
	ROW(task.maker_tgid, "task.maker", FIELD_UINT, "process that called fork or clone"),
	ROW(task.maker_start_ns, "task.maker_start", FIELD_NS, "start of that process since boot"),
};
const struct event_desc proc_fork_desc = {
	.type = PROC_REC_FORK, .name = "proc.fork", .doc = "a process or thread was made", .class = EVENT_STATE,
	.fields = fork_fields, .n_fields = ARRAY_SIZE(fork_fields), .body_size = sizeof(PROC_BODY),
	.sections = PROC_SECTIONS, .line = task_line,
};

static const struct field exec_fields[] = {
	WHO_ROWS,
	IMAGE_ROWS,
	ROW(task.image_ns, "task.image_ns", FIELD_NS, "when the new program's memory replaced the old, since boot",
	    .flags = FIELD_OPTIONAL),
	ROW(old_tid, "task.old_tid", FIELD_UINT, "thread that called exec; the process id from now on"),
};
const struct event_desc proc_exec_desc = {
	.type = PROC_REC_EXEC, .name = "proc.exec", .doc = "a process runs another program", .class = EVENT_STATE,
	.fields = exec_fields, .n_fields = ARRAY_SIZE(exec_fields), .body_size = sizeof(PROC_BODY),
	.sections = PROC_SECTIONS, .get = get_text, .line = task_line,
};

static const struct field task_fields[] = {
	WHO_ROWS,
	IMAGE_ROWS,
	ROW(task.head.flag, "task.thread", FIELD_BOOL, "a thread; its process has an event of its own"),
	ROW(task.ended, "task.ended", FIELD_BOOL, "the process had ended: packets of it may come later"),
};
const struct event_desc proc_task_desc = {
	.type = PROC_REC_TASK, .name = "proc.task", .doc = "a process or thread that was there before the start",
	.class = EVENT_STATE, .fields = task_fields, .n_fields = ARRAY_SIZE(task_fields),
	.body_size = sizeof(PROC_BODY), .sections = PROC_SECTIONS, .get = get_text, .line = task_line,
};
#undef PROC_BODY

#define PROC_BODY struct proc_exit_body
static const struct field exit_fields[] = {
	ROW(status, "exit.status", FIELD_HEX, "status as wait(2) gives it"),
	{ .name = "exit.code", .kind = FIELD_GET, .like = FIELD_LIKE(FIELD_UINT), .doc = "exit code" },
	{ .name = "exit.signal", .kind = FIELD_GET, .like = FIELD_LIKE(FIELD_UINT), .doc = "signal that ended it" },
	ROW(state.flag, "exit.last", FIELD_BOOL, "no thread of the process is left"),
	ROW(comm, "exit.name", FIELD_STR, "name of the thread", .flags = FIELD_OPEN),
};
const struct event_desc proc_exit_desc = {
	.type = PROC_REC_EXIT, .name = "proc.exit", .doc = "a thread, and with the last one the process, ended",
	.class = EVENT_STATE, .fields = exit_fields, .n_fields = ARRAY_SIZE(exit_fields),
	.body_size = sizeof(PROC_BODY), .sections = PROC_SECTIONS, .get = exit_get, .line = exit_line,
};
#undef PROC_BODY

#define PROC_BODY struct proc_rename_body
static const struct field rename_fields[] = {
	ROW(task.comm, "task.comm", FIELD_STR, "name from now on", .flags = FIELD_OPEN),
	ROW(old, "task.old_comm", FIELD_STR, "name until now", .flags = FIELD_OPEN),
};
const struct event_desc proc_rename_desc = {
	.type = PROC_REC_RENAME, .name = "proc.rename", .doc = "a thread changed its name", .class = EVENT_STATE,
	.fields = rename_fields, .n_fields = ARRAY_SIZE(rename_fields), .body_size = sizeof(PROC_BODY),
	.sections = PROC_SECTIONS, .line = rename_line,
};
#undef PROC_BODY

/* Where to is in the keys. */
const struct event_desc proc_cgroup_desc = {
	.type = PROC_REC_CGROUP, .name = "proc.cgroup", .doc = "a task moved to another cgroup (v2)",
	.class = EVENT_STATE, .sections = PROC_SECTIONS, .line = cgroup_line,
};

#define PROC_BODY struct proc_mmap_body
static const struct field mmap_fields[] = {
	ROW(map.addr, "map.addr", FIELD_HEX, "first address"),
	ROW(map.len, "map.len", FIELD_UINT, "bytes"),
	ROW(map.file_off, "map.offset", FIELD_UINT, "where in the file it starts, bytes"),
	ROW(map.dev, "map.dev", FIELD_HEX, "device of the file: major << 20 | minor", .flags = FIELD_OPTIONAL),
	ROW(map.ino, "map.ino", FIELD_UINT, "inode of the file", .flags = FIELD_OPTIONAL),
	ROW(map.generation, "map.ino_generation", FIELD_UINT, "tells reused inodes apart", .flags = FIELD_OPTIONAL),
	ROW(prot, "map.prot", FIELD_FLAGS, "protection", .xlat = &prot_xlat),
	TEXT_ROW(map.path, "map.path", "file, seen from the process's root; //anon without one",
		 .flags = FIELD_OPEN),
	{ .name = "map.build_id", .kind = FIELD_GET, .off = offsetof(PROC_BODY, map.build_id),
	  .doc = "build id of the file" },
};

static int mmap_get(const struct event *ev, const struct field *f, struct value *ret)
{
	const struct proc_mmap_body *b = ev->body;

	if (f->off != offsetof(PROC_BODY, map.build_id))
		return get_text(ev, f, ret);
	if (!b->map.build_id_len || b->map.build_id_len > sizeof(b->map.build_id))
		return -ENOENT;
	*ret = (struct value){ .kind = VAL_BYTES, .str = (const char *)b->map.build_id, .len = b->map.build_id_len };
	return 0;
}

const struct event_desc proc_mmap_desc = {
	.type = PROC_REC_MMAP, .name = "proc.mmap", .doc = "memory that can be executed was mapped",
	.class = EVENT_STATE, .fields = mmap_fields, .n_fields = ARRAY_SIZE(mmap_fields),
	.body_size = sizeof(PROC_BODY), .sections = PROC_SECTIONS, .get = mmap_get, .line = mmap_line,
};
#undef PROC_BODY

#define PROC_BODY struct proc_socket_body
static const struct field socket_fields[] = {
	ROW(what, "sock.what", FIELD_ENUM, "what happened to it", .xlat = &what_xlat),
	ROW(state, "sock.state", FIELD_ENUM, "state of TCP until now", .flags = FIELD_OPTIONAL,
	    .xlat = &state_xlat),
	ROW(sock.head.flag, "sock.closed", FIELD_BOOL, "it is gone"),
	ROW(sock.listener, "sock.listener", FIELD_UINT, "cookie of the socket that accepted it",
	    .flags = FIELD_OPTIONAL),
	ROW(comm, "sock.owner", FIELD_STR, "name of the process when it got the socket", .flags = FIELD_OPEN),
};
const struct event_desc proc_socket_desc = {
	.type = PROC_REC_SOCKET, .name = "proc.socket", .doc = "a socket changed hands or state",
	.class = EVENT_STATE, .fields = socket_fields, .n_fields = ARRAY_SIZE(socket_fields),
	.body_size = sizeof(PROC_BODY), .sections = PROC_SECTIONS, .line = socket_line,
};

const struct event_desc *const proc_descs[] = {
	&proc_fork_desc, &proc_exec_desc, &proc_exit_desc, &proc_rename_desc, &proc_cgroup_desc, &proc_mmap_desc,
	&proc_socket_desc, &proc_task_desc, NULL,
};
