// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * State events update the tables; every event is then looked up in them. Fields of state events are found by name,
 * once per event type:
 *
 *   task.comm task.exe task.args task.ppid task.uid task.gid	the process from now on
 *   task.ns_pid	its process id in its own pid namespace
 *   task.image_ns	when the program replaced the one before; 0 = at the time of the event
 *   task.maker task.maker_start	the process that created it, just now
 *   exit.last	true: its last thread exited
 *   sock.closed	socket of the keys; true: it was closed
 *   sock.listener	not 0: the connection waits for accept()
 *   range.frame	the bytes of the keys (seq, seq_len) are a frame of the keys' socket and stream
 *
 * An event with rpc.method names the call of its key, for other events with that key. An event with a packet has the
 * call whose frames are in the packet: sent by the end that the event's process is (owner.end) or by the other one
 * (peer.sock).
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

enum news {
	NEWS_COMM, NEWS_EXE, NEWS_ARGS, NEWS_PPID, NEWS_UID, NEWS_GID, NEWS_NS_PID, NEWS_IMAGE_NS, NEWS_MAKER,
	NEWS_MAKER_START, NEWS_LAST, NEWS_CLOSED, NEWS_LISTENER, NEWS_METHOD, NEWS_PATH, NEWS_FRAME, NEWS_END,
	NEWS_PEER, NEWS_DROP, NEWS__MAX,
};

static const char *const field_names[] = {
	[NEWS_COMM] = "task.comm", [NEWS_EXE] = "task.exe", [NEWS_ARGS] = "task.args", [NEWS_PPID] = "task.ppid",
	[NEWS_UID] = "task.uid", [NEWS_GID] = "task.gid", [NEWS_NS_PID] = "task.ns_pid",
	[NEWS_IMAGE_NS] = "task.image_ns", [NEWS_MAKER] = "task.maker",
	[NEWS_MAKER_START] = "task.maker_start", [NEWS_LAST] = "exit.last",
	[NEWS_CLOSED] = "sock.closed", [NEWS_LISTENER] = "sock.listener",
	[NEWS_METHOD] = "rpc.method", [NEWS_PATH] = "rpc.path", [NEWS_FRAME] = "range.frame",
	[NEWS_END] = "owner.end", [NEWS_PEER] = "peer.sock", [NEWS_DROP] = "drop.reason",
};
_Static_assert(ARRAY_SIZE(field_names) == NEWS__MAX, "every field has a name");

/* Fields of an event type that the tables use; NULL where the type lacks one. */
struct meaning {
	const struct field *field[NEWS__MAX];
};

struct container { char id[CONTAINER_ID_MAX]; };

void state_event_init(struct state *s)
{
	map_init(&s->meanings, sizeof(const struct event_desc *), sizeof(struct meaning));
	map_init(&s->containers, sizeof(uint64_t), sizeof(struct container));
}

void state_event_fini(struct state *s)
{
	map_fini(&s->meanings);
	map_fini(&s->containers);
}

/* ---- state events ---- */

static const struct meaning *find_meaning(struct state *s, const struct event_desc *desc)
{
	bool is_new;
	struct meaning *m = map_find(&s->meanings, &desc);

	if (m)
		return m;
	m = map_add(&s->meanings, &desc, &is_new);
	for (unsigned i = 0; m && i < desc->n_fields; i++)
		for (int w = 0; w < NEWS__MAX; w++)
			if (!strcmp(desc->fields[i].name, field_names[w]))
				m->field[w] = &desc->fields[i];
	return m;
}

static const struct meaning *meaning_of(struct state *s, const struct event_desc *desc)
{
	if (s->recent != desc) {
		s->recent_meaning = find_meaning(s, desc);
		s->recent = s->recent_meaning ? desc : NULL;
	}
	return s->recent_meaning;
}

static bool number(const struct event *ev, const struct meaning *m, enum news w, uint64_t *ret)
{
	return m->field[w] && event_get_number(ev, m->field[w], ret) >= 0;
}

static bool number32(const struct event *ev, const struct meaning *m, enum news w, uint32_t *ret)
{
	uint64_t v;

	if (!number(ev, m, w, &v))
		return false;
	*ret = (uint32_t)v;
	return true;
}

static const char *string(const struct event *ev, const struct meaning *m, enum news w, size_t *ret_len)
{
	struct value v;

	if (!m->field[w] || event_get(ev, m->field[w], &v) < 0 || v.kind != VAL_STR)
		return NULL;
	*ret_len = v.len;
	return v.str;
}

static int learn_socket(struct state *s, const struct event *ev, const struct meaning *m)
{
	struct state_socket_fact f = {
		.ts_ns = ev->ts_ns, .cookie = ev->keys.cookie, .tgid = ev->start_ns ? ev->tgid : 0,
		.start_ns = ev->start_ns, .snapshot = ev->flags & SONDE_RF_SNAPSHOT,
	};
	uint64_t v = 0;

	if (!f.cookie)
		return 0;
	f.closed = number(ev, m, NEWS_CLOSED, &v) && v;
	f.listener = number(ev, m, NEWS_LISTENER, &v) && v;
	return state_socket_apply(s, &f);
}

static int learn_task(struct state *s, const struct event *ev, const struct meaning *m)
{
	struct state_task_fact f = {
		.ts_ns = ev->ts_ns, .tgid = ev->tgid, .tid = ev->tid, .start_ns = ev->start_ns,
		.snapshot = ev->flags & SONDE_RF_SNAPSHOT, .cgroup_id = ev->keys.cgroup_id, .image = ev->keys.image,
	};
	uint64_t last = 0, began_ns;

	if (m->field[NEWS_LAST]) {
		f.exited = true;
		if (number(ev, m, NEWS_LAST, &last) && last)
			f.tid = f.tgid;
		else if (f.tid == f.tgid)
			return 0; /* the first thread may end before the others */
	}
	f.comm = string(ev, m, NEWS_COMM, &f.comm_len);
	f.exe = string(ev, m, NEWS_EXE, &f.exe_len);
	f.args = string(ev, m, NEWS_ARGS, &f.args_len);
	f.has_ppid = number32(ev, m, NEWS_PPID, &f.ppid);
	f.has_ids = number32(ev, m, NEWS_UID, &f.uid) && number32(ev, m, NEWS_GID, &f.gid);
	if (!f.snapshot && number(ev, m, NEWS_IMAGE_NS, &began_ns) && began_ns && began_ns < f.ts_ns)
		f.ts_ns = began_ns;
	if (f.tid == f.tgid)
		number32(ev, m, NEWS_NS_PID, &f.vpid);
	if (number32(ev, m, NEWS_MAKER, &f.maker_tgid))
		number(ev, m, NEWS_MAKER_START, &f.maker_start_ns);
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
	const struct meaning *m;
	int r;

	if (ev->desc->class != EVENT_STATE)
		return 0;
	r = learn_file(s, ev);
	if (r < 0)
		return r;
	m = meaning_of(s, ev->desc);
	if (!m)
		return -ENOMEM;
	if (m->field[NEWS_FRAME])
		return learn_range(s, ev);
	return m->field[NEWS_CLOSED] ? learn_socket(s, ev, m) : learn_task(s, ev, m);
}

/* ---- the call ---- */

/* An event of a call names it; other events with its number get the name. */
static int join_call(struct state *s, struct event *ev, const struct meaning *m)
{
	size_t method_len = 0, path_len = 0;
	const char *method, *path;
	const void *section;
	uint32_t len;

	if (!m->field[NEWS_METHOD]) {
		section = state_call_find(s, ev->keys.call, &len);
		return section ? (event_add_section(ev, SEC_CALL, section, len), 0) : 0;
	}
	method = string(ev, m, NEWS_METHOD, &method_len);
	path = string(ev, m, NEWS_PATH, &path_len);
	return method || path ? state_call_learn(s, ev->keys.call, method, method_len, path, path_len) : 0;
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

#define END_SENDER 1	/* owner.end: the process sends the packet, or */
#define END_RECEIVER 2	/* receives it */

/* The bytes of a packet, as its owner sends or receives them. */
static bool bytes_of_packet(const struct event *ev, const struct meaning *m, struct state_range *ret)
{
	uint64_t end = 0;

	if (!m->field[NEWS_END] || !number(ev, m, NEWS_END, &end) || (end != END_SENDER && end != END_RECEIVER))
		return false;
	ret->cookie = ev->keys.cookie;
	ret->sent = end == END_SENDER;
	return packet_keys_tcp_range(ev, &ret->seq, &ret->len);
}

bool state_event_receives(struct state *s, const struct event *ev, struct state_range *ret)
{
	const struct meaning *m = meaning_of(s, ev->desc);

	/* the bytes of a dropped packet are read later, from another one */
	return m && !m->field[NEWS_DROP] && bytes_of_packet(ev, m, ret) && !ret->sent;
}

static void call_of_packet(struct state *s, struct event *ev, const struct meaning *m)
{
	uint64_t peer = 0;
	struct state_range r;

	if (!bytes_of_packet(ev, m, &r))
		return;
	if (call_of_bytes(s, ev, &r) || !number(ev, m, NEWS_PEER, &peer))
		return;
	r.cookie = peer;
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
	const struct meaning *m;
	const struct state_task_at *p;
	int r;

	if (ev->desc->class == EVENT_META)
		return 0;
	m = meaning_of(s, ev->desc);
	if (!m)
		return -ENOMEM;
	r = m->field[NEWS_FRAME] ? 0 : state_event_learn(s, ev); /* frames are learnt ahead of their turn */
	if (r < 0)
		return r;
	add_file(s, ev);
	if (!ev->keys.call)
		call_of_packet(s, ev, m);
	r = ev->keys.call ? join_call(s, ev, m) : 0;
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
