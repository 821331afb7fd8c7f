// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * State events update the tables by their SEC_STATE (and SEC_FILE); every event is then looked up in them.
 *
 * An event of a call (event_desc.call_names) names it for other events with its number. An event with a packet has
 * the call whose frames are in the packet: sent by the end that the event's process is (keys.end) or by the other
 * one (keys.peer).
 */
#include "state/state_event.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "container/container.h"
#include "event/event.h"
#include "event/names.h"
#include "sonde/ident_wire.h"
#include "sonde/wire.h"
#include "state/state_call.h"
#include "state/state_file.h"
#include "state/state_image.h"
#include "state/state_range.h"
#include "state/state_socket.h"
#include "state/state_tables.h"
#include "state/state_task.h"

#define CONTAINERS_MAX 16384	/* cache entries; cleared when full */

struct container { char id[CONTAINER_ID_MAX]; };

void state_event_init(struct state *s)
{
	map_init(&s->containers, sizeof(uint64_t), sizeof(struct container));
}

void state_event_fini(struct state *s)
{
	map_fini(&s->containers);
}

/* ---- state events ---- */

static int learn_socket(struct state *s, const struct event *ev, const struct sec_socket *sock)
{
	const struct state_socket_fact f = {
		.ts_ns = ev->ts_ns, .cookie = ev->keys.cookie, .tgid = ev->start_ns ? ev->tgid : 0,
		.start_ns = ev->start_ns, .snapshot = ev->flags & SONDE_RF_SNAPSHOT,
		.closed = sock->head.flag, .listener = sock->listener != 0,
	};

	return f.cookie ? state_socket_apply(s, &f) : 0;
}

static const char *text(const struct event *ev, struct sec_str str, size_t *ret_len)
{
	const char *found = event_state_text(ev, str);

	*ret_len = found ? str.len : 0;
	return found;
}

static void add_names(struct state_task_fact *f, const struct event *ev, const struct sec_task *t)
{
	f->comm = t->comm;
	f->comm_len = strnlen(t->comm, sizeof(t->comm));
	f->exe = text(ev, t->exe, &f->exe_len);
	f->args = text(ev, t->args, &f->args_len);
}

static void add_task(struct state_task_fact *f, const struct sec_task *t)
{
	f->has_ppid = f->has_ids = true;
	f->exited = t->ended;
	f->ppid = t->ppid;
	f->uid = t->uid;
	f->gid = t->gid;
	if (!f->snapshot && t->image_ns && t->image_ns < f->ts_ns)
		f->ts_ns = t->image_ns;
	if (f->tid == f->tgid)
		f->vpid = t->vpid;
	f->maker_tgid = t->maker_tgid;
	f->maker_start_ns = t->maker_start_ns;
}

/* @state: NULL = the keys are all that the event says. */
static int learn_task(struct state *s, const struct event *ev, const struct sec_state *state)
{
	const enum sec_state_kind kind = state ? state->kind : SEC_STATE_CGROUP;
	struct state_task_fact f = {
		.ts_ns = ev->ts_ns, .tgid = ev->tgid, .tid = ev->tid, .start_ns = ev->start_ns,
		.snapshot = ev->flags & SONDE_RF_SNAPSHOT, .cgroup_id = ev->keys.cgroup_id, .image = ev->keys.image,
		.exited = kind == SEC_STATE_EXIT,
	};

	if (f.exited && state->flag)
		f.tid = f.tgid;
	else if (f.exited && f.tid == f.tgid)
		return 0; /* the first thread may end before the others */
	if (kind == SEC_STATE_FORK || kind == SEC_STATE_EXEC || kind == SEC_STATE_TASK || kind == SEC_STATE_NAME)
		add_names(&f, ev, (const struct sec_task *)state);
	if (kind == SEC_STATE_FORK || kind == SEC_STATE_EXEC || kind == SEC_STATE_TASK)
		add_task(&f, (const struct sec_task *)state);
	return state_task_apply(s, &f);
}

/* The description of an open file is its section: what comes with the first record goes to later events. */
static int learn_file(struct state *s, const struct event *ev)
{
	const struct section *file = ev->keys.file ? event_section(ev, SEC_FILE) : NULL;

	return file ? state_file_set(s, ev->instance, ev->keys.file, file->data, file->len) : 0;
}

/* A connected socket is also the event's connection, from this end to the peer. */
static void add_file(struct state *s, struct event *ev)
{
	const struct sec_file *file;
	const void *data;
	uint32_t len;

	if (!ev->keys.file || event_section(ev, SEC_FILE) ||
	    state_file_find(s, ev->instance, ev->keys.file, &data, &len) < 0)
		return;
	event_add_section(ev, SEC_FILE, data, len);
	file = event_file(ev);
	if (file && file->kind == FILE_KIND_INET && file->conn.dport && !ev->keys.conn.proto)
		ev->keys.conn = file->conn;
}

static int learn_range(struct state *s, const struct event *ev)
{
	const struct state_range r = {
		.cookie = ev->keys.cookie, .seq = ev->keys.seq, .len = ev->keys.seq_len,
		.sent = ev->keys.ident_flags & SONDE_ID_F_TX,
	};

	if (!r.cookie || (!r.len && !ev->keys.call))
		return 0;
	if (r.len)
		return state_range_add(s, &r, ev->keys.rpc_stream);
	return state_range_set_call(s, r.cookie, ev->keys.rpc_stream, ev->keys.call);
}

int state_event_learn(struct state *s, const struct event *ev)
{
	const struct sec_state *state;
	int r;

	if (ev->desc->class != EVENT_STATE)
		return 0;
	r = learn_file(s, ev);
	if (r < 0)
		return r;
	state = event_state(ev);
	if (state && state->kind == SEC_STATE_FRAME)
		return learn_range(s, ev);
	if (state && state->kind == SEC_STATE_SOCKET)
		return learn_socket(s, ev, (const struct sec_socket *)state);
	return learn_task(s, ev, state);
}

/* ---- the call ---- */

/* An event of a call names it; other events with its number get the name. */
static int join_call(struct state *s, struct event *ev)
{
	struct value method = { 0 }, path = { 0 };
	const void *section;
	uint32_t len;

	if (!ev->desc->call_names) {
		section = state_call_find(s, ev->keys.call, &len);
		return section ? (event_add_section(ev, SEC_CALL, section, len), 0) : 0;
	}
	ev->desc->call_names(ev, &method, &path);
	if (!method.len && !path.len)
		return 0;
	return state_call_learn(s, ev->keys.call, method.str, method.len, path.str, path.len);
}

/* The call of the frames in @r; false if none is known. */
static bool call_of_bytes(struct state *s, struct event *ev, const struct state_range *r)
{
	struct state_range_answer a;

	if (!r->cookie || state_range_find(s, r, &a) < 0 || (!a.call && !a.several))
		return false;
	ev->keys.call = a.call;
	ev->keys.call_how = a.several ? SONDE_HOW_GROUP : SONDE_HOW_BYTES;
	return true;
}

/* The bytes of a packet, as its owner sends or receives them. */
static bool bytes_of_packet(const struct event *ev, struct state_range *ret)
{
	if (ev->keys.end != PACKET_END_SENDER && ev->keys.end != PACKET_END_RECEIVER)
		return false;
	ret->cookie = ev->keys.cookie;
	ret->sent = ev->keys.end == PACKET_END_SENDER;
	return packet_keys_tcp_range(ev, &ret->seq, &ret->len);
}

bool state_event_receives(const struct event *ev, struct state_range *ret)
{
	/* the bytes of a dropped packet are read later, from another one */
	return !ev->keys.dropped && bytes_of_packet(ev, ret) && !ret->sent;
}

static void call_of_packet(struct state *s, struct event *ev)
{
	struct state_range r;

	if (!bytes_of_packet(ev, &r) || call_of_bytes(s, ev, &r) || !ev->keys.peer)
		return;
	r.cookie = ev->keys.peer;
	r.sent = !r.sent;
	call_of_bytes(s, ev, &r);
}

/* ---- the process section ---- */

/* Container of @cgroup_id, "" if it has none; NULL while the cgroup's name is unknown. */
static const char *container_of_cgroup(struct state *s, const struct event *ev, uint64_t cgroup_id)
{
	struct container *c = map_find(&s->containers, &cgroup_id);
	const char *path;

	if (c)
		return c->id;
	path = cgroup_id ? event_names_get(ev->names, SONDE_NAME_CGROUP, cgroup_id) : NULL;
	if (!path)
		return NULL;
	if (s->containers.len >= CONTAINERS_MAX)
		map_clear(&s->containers);
	c = map_add(&s->containers, &cgroup_id, NULL);
	if (!c)
		return NULL;
	if (!container_from_cgroup(path, c->id))
		c->id[0] = '\0';
	return c->id;
}

static struct sec_str put(char *text, uint32_t *off, const char *s, size_t len)
{
	struct sec_str str = { .off = *off, .len = (uint32_t)len };

	memcpy(text + *off, s, len);
	*off += (uint32_t)len;
	return str;
}

static struct sec_proc *build_section(const struct state_task_at *p, const char *container, uint32_t *ret_len)
{
	static const struct state_image none;
	const struct state_image *im = p->image ? p->image : &none;
	size_t comm_len = strnlen(p->comm, sizeof(p->comm)), container_len = container ? strlen(container) : 0;
	size_t len = sizeof(struct sec_proc) + comm_len + im->exe_len + im->args_len + container_len;
	struct sec_proc *s = calloc(1, len);
	uint32_t off = 0;
	char *text = (char *)(s + 1);

	if (!s)
		return NULL;
	s->tgid = p->id;
	s->start_ns = p->start_ns;
	s->ppid = p->ppid;
	s->vpid = p->vpid;
	s->uid = p->uid;
	s->gid = p->gid;
	s->comm = put(text, &off, p->comm, comm_len);
	s->exe = put(text, &off, im->text, im->exe_len);
	s->args = put(text, &off, state_image_args(im), im->args_len);
	s->container = put(text, &off, container ? container : "", container_len);
	*ret_len = (uint32_t)len;
	return s;
}

/* Builds the section once and lends it to all events of that time; rebuilds it when the cgroup's name arrives. */
static int add_section(struct state *s, struct event *ev, const struct state_task_at *p)
{
	const char *container = NULL;
	struct sec_proc *section;
	uint32_t len;

	if (!p->section || !p->section_final)
		container = container_of_cgroup(s, ev, p->cgroup_id);
	if (!p->section || container) {
		section = build_section(p, container, &len);
		if (!section)
			return -ENOMEM;
		state_task_keep_section(s, p, section, len, container || !p->cgroup_id);
	}
	/* no room: publish the event without the section */
	event_add_section(ev, SEC_PROC, p->section, p->section_len);
	return 0;
}

/* Is @p the program that the event names? An exec whose record was lost leaves the name of the program before. */
static bool is_program_of(const struct state *s, const struct event *ev, const struct state_task_at *p)
{
	return (p->image || p->comm[0]) && (!ev->keys.image || !p->image_number ||
					    state_task_has_image(s, p, ev->keys.image));
}

struct known {
	struct state *s;
	const struct names *names;
	int (*fn)(void *ctx, const struct event *ev);
	void *ctx;
};

static int show_known(void *ctx, const struct state_task_at *at, uint64_t exit_ns)
{
	const struct known *k = ctx;
	struct event ev = {
		.ts_ns = exit_ns, .start_ns = at->start_ns, .tgid = at->id, .tid = at->id, .names = k->names,
		.keys = { .image = at->image_number, .cgroup_id = at->cgroup_id },
	};
	int r;

	if (!at->has_ids || (!at->image && !at->comm[0]))
		return 0;
	r = add_section(k->s, &ev, at);
	return r < 0 ? r : k->fn(k->ctx, &ev);
}

int state_event_known(struct state *s, const struct names *names, uint64_t since_ns,
		      int (*fn)(void *ctx, const struct event *ev), void *ctx)
{
	struct known k = { .s = s, .names = names, .fn = fn, .ctx = ctx };

	return state_task_known(s, since_ns, show_known, &k);
}

static const uint8_t how_of[] = {
	[STATE_OWNER_USER] = SONDE_HOW_LATE, [STATE_OWNER_LATER] = SONDE_HOW_LATE,
	[STATE_OWNER_SNAPSHOT] = SONDE_HOW_SNAPSHOT, [STATE_OWNER_LISTENER] = SONDE_HOW_LISTENER,
};
_Static_assert(ARRAY_SIZE(how_of) == STATE_OWNER__MAX, "every source has a number");

/* Owner of an event that names only a socket, or the owner of its listener. */
static void add_owner(struct state *s, struct event *ev)
{
	struct state_socket_owner owner;
	int r = state_socket_find(s, ev->keys.cookie, ev->ts_ns, &owner);

	if (r == -ESTALE && !ev->tgid)
		ev->keys.owner_how = SONDE_HOW_EVICTED;
	if (r < 0)
		return;
	/* the user of an accepted connection replaces the listener's owner; a listener stays its owner's */
	if (ev->tgid && (!owner.accepted || owner.how == STATE_OWNER_LISTENER))
		return;
	if (ev->tgid)	/* these are the listener's owner's */
		ev->keys.cgroup_id = ev->keys.image = 0;
	ev->tgid = owner.tgid;
	ev->start_ns = owner.start_ns;
	ev->keys.owner_how = how_of[owner.how];
	if (owner.shared)
		ev->keys.ident_flags |= SONDE_ID_F_SHARED_OWNER;
}

int state_event(struct state *s, struct event *ev)
{
	const struct sec_state *state;
	const struct state_task_at *p;
	int r;

	if (ev->desc->class == EVENT_META)
		return 0;
	state = event_state(ev);
	/* frames are learnt ahead of their turn */
	r = state && state->kind == SEC_STATE_FRAME ? 0 : state_event_learn(s, ev);
	if (r < 0)
		return r;
	add_file(s, ev);
	if (!ev->keys.call)
		call_of_packet(s, ev);
	r = ev->keys.call ? join_call(s, ev) : 0;
	if (r < 0)
		return r;
	if (ev->keys.cookie && (!ev->tgid || ev->keys.owner_how == SONDE_HOW_LISTENER))
		add_owner(s, ev);
	if (!ev->tgid || event_section(ev, SEC_PROC))
		return 0;
	/* the user of a connection may be a child that is younger than its first data */
	r = state_task_process(s, ev->tgid, ev->start_ns, MAX(ev->ts_ns, ev->start_ns), &p);
	if (r == -ENOMEM)
		return r;
	if (p)
		ev->start_ns = p->start_ns;
	if (!p || !is_program_of(s, ev, p))
		return 0;
	if (!ev->keys.cgroup_id)
		ev->keys.cgroup_id = p->cgroup_id;
	if (!ev->keys.image)
		ev->keys.image = p->image_number;
	return add_section(s, ev, p);
}
