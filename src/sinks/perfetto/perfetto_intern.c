// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Messages: protos/perfetto/trace/track_event/{track,process,thread}_descriptor.proto, interned_data.proto,
 * profiling/profile_common.proto of Perfetto 56.
 */
#include "sinks/perfetto/perfetto_intern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "event/event.h"
#include "event/names.h"
#include "base/protobuf/protobuf.h"
#include "sonde/wire.h"
#include "sym/sym.h"

enum { PACKET = 1, PACKET_TRACK_DESCRIPTOR = 60 };
enum { TRACK_UUID = 1, TRACK_NAME, TRACK_PROCESS, TRACK_THREAD, TRACK_PARENT };
enum { PROCESS_PID = 1, PROCESS_CMDLINE, PROCESS_NAME = 6 };
enum { THREAD_PID = 1, THREAD_TID, THREAD_NAME = 5 };
enum { INTERNED_FUNCTION_NAMES = 5, INTERNED_FRAMES, INTERNED_CALLSTACKS, INTERNED_BUILD_IDS = 16,
       INTERNED_MAPPING_PATHS, INTERNED_MAPPINGS = 19 };
enum { IID = 1, STRING_TEXT };
enum { FRAME_FUNCTION = 2, FRAME_MAPPING, FRAME_REL_PC };
enum { CALLSTACK_FRAMES = 2 };
enum { MAPPING_BUILD_ID = 2, MAPPING_PATH = 7 };

#define FRAMES_MAX 1024
#define LANES_MAX 64

struct perfetto_lanes { uint32_t n; uint64_t end_ns[LANES_MAX]; };

static const char *const kind_names[] = {
	[PERFETTO_PROCESS] = "", [PERFETTO_THREAD] = "overlapping system calls",
	[PERFETTO_CLIENT] = "calls as client",
	[PERFETTO_SERVER] = "calls as server",
};
_Static_assert(ARRAY_SIZE(kind_names) == PERFETTO_KIND__MAX, "a name per kind");

void perfetto_intern_init(struct perfetto_intern *in, struct sym *sym)
{
	map_init(&in->tracks, sizeof(uint64_t), 1);
	map_init(&in->lanes, sizeof(uint64_t), sizeof(struct perfetto_lanes));
	map_init(&in->iids, sizeof(uint64_t), sizeof(uint64_t));
	in->sym = sym;
}

void perfetto_intern_fini(struct perfetto_intern *in)
{
	map_fini(&in->tracks);
	map_fini(&in->lanes);
	map_fini(&in->iids);
	buf_fini(&in->fresh);
	buf_fini(&in->one);
	buf_fini(&in->two);
	buf_fini(&in->three);
}

void perfetto_intern_uint(struct buf *out, uint32_t field, uint64_t v)
{
	protobuf_varint(out, (uint64_t)field << 3);
	protobuf_varint(out, v);
}

/* ---- tracks ---- */

static uint64_t uuid_of(const struct event *ev, enum perfetto_kind kind, uint32_t lane)
{
	const uint64_t key[] = { ev->tgid, ev->start_ns, kind == PERFETTO_THREAD ? ev->tid : 0, kind, lane };
	const uint64_t h = map_hash(key, sizeof(key));

	return h ? h : 1;
}

static void put_proc_text(struct buf *out, uint32_t field, const struct event *ev, bool args)
{
	const struct section *s = event_section(ev, SEC_PROC);
	const struct sec_proc *p = event_proc(ev);
	size_t len = 0;
	const char *text = p ? event_sec_proc_str(p, s, args ? p->args : p->comm, &len) : NULL;

	if (text && len)
		protobuf_text(out, field, text, len);
}

static void put_process(struct buf *out, const struct event *ev)
{
	perfetto_intern_uint(out, PROCESS_PID, ev->tgid);
	put_proc_text(out, PROCESS_CMDLINE, ev, true);
	put_proc_text(out, PROCESS_NAME, ev, false);
}

static void put_thread(struct buf *out, const struct event *ev)
{
	perfetto_intern_uint(out, THREAD_PID, ev->tgid);
	perfetto_intern_uint(out, THREAD_TID, ev->tid);
	put_proc_text(out, THREAD_NAME, ev, false);
}

/* One track; its parent is described before. */
static int describe(struct perfetto_intern *in, const struct event *ev, enum perfetto_kind kind, uint32_t lane,
		    uint64_t uuid, struct buf *desc)
{
	struct buf *body = &in->one, *packet = &in->two, *inner = &in->three;

	buf_reset(body);
	buf_reset(packet);
	buf_reset(inner);
	perfetto_intern_uint(body, TRACK_UUID, uuid);
	if (kind == PERFETTO_PROCESS) {
		put_process(inner, ev);
		protobuf_bytes(body, TRACK_PROCESS, inner->data, inner->len);
	} else if (kind == PERFETTO_THREAD && !lane) {
		perfetto_intern_uint(body, TRACK_PARENT, uuid_of(ev, PERFETTO_PROCESS, 0));
		put_thread(inner, ev);
		protobuf_bytes(body, TRACK_THREAD, inner->data, inner->len);
	} else {
		perfetto_intern_uint(body, TRACK_PARENT, uuid_of(ev, PERFETTO_PROCESS, 0));
		protobuf_text(body, TRACK_NAME, kind_names[kind], strlen(kind_names[kind]));
	}
	protobuf_bytes(packet, PACKET_TRACK_DESCRIPTOR, body->data, body->len);
	protobuf_bytes(desc, PACKET, packet->data, packet->len);
	return buf_error(body) ?: buf_error(packet) ?: buf_error(inner) ?: buf_error(desc);
}

static int need_track(struct perfetto_intern *in, const struct event *ev, enum perfetto_kind kind, uint32_t lane,
		      uint64_t *ret_uuid, struct buf *desc)
{
	const uint64_t uuid = uuid_of(ev, kind, lane);
	const int r = map_note(&in->tracks, &uuid);

	if (r >= 0)
		*ret_uuid = uuid;
	return r > 0 ? describe(in, ev, kind, lane, uuid, desc) : r;
}

/* The first lane whose last slice has ended. -ENOSPC if all are taken. */
static int take_lane(struct perfetto_intern *in, uint64_t first, uint64_t from_ns, uint64_t to_ns, uint32_t *ret)
{
	struct perfetto_lanes *l = map_add(&in->lanes, &first, NULL);
	uint32_t i = 0;

	if (!l)
		return -ENOMEM;
	while (i < l->n && l->end_ns[i] > from_ns)
		i++;
	if (i == LANES_MAX)
		return -ENOSPC;
	l->n = MAX(l->n, i + 1);
	l->end_ns[i] = to_ns;
	*ret = i;
	return 0;
}

int perfetto_intern_track(struct perfetto_intern *in, const struct event *ev, enum perfetto_kind kind,
			  uint64_t from_ns, uint64_t to_ns, uint64_t *ret_uuid, struct buf *desc)
{
	uint32_t lane = 0;
	int r = need_track(in, ev, PERFETTO_PROCESS, 0, ret_uuid, desc);

	if (r < 0 || kind == PERFETTO_PROCESS)
		return r;
	if (from_ns < to_ns)
		r = take_lane(in, uuid_of(ev, kind, 0), from_ns, to_ns, &lane);
	return r < 0 ? r : need_track(in, ev, kind, lane, ret_uuid, desc);
}

/* ---- stacks ---- */

/* iid of the content; *ret_new: the caller adds it to in->fresh. 0 without memory. */
static uint64_t iid_of(struct perfetto_intern *in, uint32_t kind, const void *data, size_t len, bool *ret_new)
{
	const uint64_t seed = map_hash(data, len), key[] = { kind, seed, len };
	const uint64_t hash = map_hash(key, sizeof(key));
	uint64_t *iid = map_add(&in->iids, &hash, ret_new);

	if (!iid)
		return 0;
	if (*ret_new)
		*iid = ++in->last_iid;
	return *iid;
}

static uint64_t intern_text(struct perfetto_intern *in, uint32_t field, const char *text, size_t len)
{
	bool is_new;
	const uint64_t iid = iid_of(in, field, text, len, &is_new);

	if (!iid || !is_new)
		return iid;
	buf_reset(&in->one);
	perfetto_intern_uint(&in->one, IID, iid);
	protobuf_text(&in->one, STRING_TEXT, text, len);
	protobuf_bytes(&in->fresh, field, in->one.data, in->one.len);
	return iid;
}

static uint64_t intern_mapping(struct perfetto_intern *in, const char *path, const char *build_id)
{
	const uint64_t ids[] = { intern_text(in, INTERNED_MAPPING_PATHS, path, strlen(path)),
				 *build_id ? intern_text(in, INTERNED_BUILD_IDS, build_id, strlen(build_id)) : 0 };
	bool is_new;
	const uint64_t iid = iid_of(in, INTERNED_MAPPINGS, ids, sizeof(ids), &is_new);

	if (!iid || !is_new)
		return iid;
	buf_reset(&in->one);
	perfetto_intern_uint(&in->one, IID, iid);
	if (ids[1])
		perfetto_intern_uint(&in->one, MAPPING_BUILD_ID, ids[1]);
	perfetto_intern_uint(&in->one, MAPPING_PATH, ids[0]);
	protobuf_bytes(&in->fresh, INTERNED_MAPPINGS, in->one.data, in->one.len);
	return iid;
}

static uint64_t intern_frame(struct perfetto_intern *in, const char *name, uint64_t mapping, uint64_t rel_pc)
{
	const uint64_t ids[] = { intern_text(in, INTERNED_FUNCTION_NAMES, name, strlen(name)), mapping, rel_pc };
	bool is_new;
	const uint64_t iid = iid_of(in, INTERNED_FRAMES, ids, sizeof(ids), &is_new);

	if (!iid || !is_new)
		return iid;
	buf_reset(&in->one);
	perfetto_intern_uint(&in->one, IID, iid);
	perfetto_intern_uint(&in->one, FRAME_FUNCTION, ids[0]);
	perfetto_intern_uint(&in->one, FRAME_MAPPING, mapping);
	perfetto_intern_uint(&in->one, FRAME_REL_PC, rel_pc);
	protobuf_bytes(&in->fresh, INTERNED_FRAMES, in->one.data, in->one.len);
	return iid;
}

/* Frames in the order of the event: innermost first. */
struct frames { uint64_t iids[FRAMES_MAX]; size_t n; };

static void add_frame(struct perfetto_intern *in, struct frames *f, const char *name, uint64_t mapping, uint64_t pc)
{
	if (f->n < FRAMES_MAX)
		f->iids[f->n++] = intern_frame(in, name, mapping, pc);
}

static void add_kernel(struct perfetto_intern *in, const struct event *ev, struct frames *f)
{
	const struct section *s = event_section(ev, SEC_STACK_KERN);
	const uint64_t *pc = s ? s->data : NULL;
	uint64_t mapping = s ? intern_mapping(in, "[kernel.kallsyms]", "") : 0;

	for (uint32_t i = 0; s && i < s->len / sizeof(*pc); i++) {
		const char *name = event_names_get(ev->names, SONDE_NAME_KSYM, pc[i]);

		add_frame(in, f, name ? name : "", mapping, pc[i]);
	}
}

/* Inlined functions are frames of their own. */
static int add_user(struct perfetto_intern *in, const struct event *ev, struct frames *f)
{
	const struct section *s = event_section(ev, SEC_STACK_USER);
	size_t cap = s ? s->len / sizeof(uint64_t) : 0, n;
	_cleanup_free_ struct sym_loc *locs = calloc(cap + 1, sizeof(*locs));
	_cleanup_free_ struct sym_query *q = calloc(cap + 1, sizeof(*q));
	_cleanup_free_ struct sym_frame *names = calloc(cap + 1, sizeof(*names));
	int r;

	if (!locs || !q || !names)
		return -ENOMEM;
	if (!in->sym || !cap)
		return 0;
	n = sym_locate_user(in->sym, ev, locs, cap);
	for (size_t i = 0; i < n; i++)
		q[i] = (struct sym_query){ .loc = locs[i], .caller = i > 0 };
	r = sym_stack_frames(in->sym, q, n, names);
	for (size_t i = 0; r >= 0 && i < n; i++) {
		const struct sym_module *m = sym_module(in->sym, locs[i].module);
		const uint64_t mapping = intern_mapping(in, m->path, m->build_id);

		for (uint32_t k = 0; k < names[i].n; k++)
			add_frame(in, f, names[i].funcs[k].name, mapping, locs[i].addr);
	}
	return r;
}

int perfetto_intern_stack(struct perfetto_intern *in, const struct event *ev, uint64_t *ret_iid)
{
	_cleanup_free_ struct frames *f = calloc(1, sizeof(*f));
	bool is_new;
	int r;

	if (!f)
		return -ENOMEM;
	add_kernel(in, ev, f);
	r = add_user(in, ev, f);
	if (r < 0)
		return r;
	*ret_iid = f->n ? iid_of(in, INTERNED_CALLSTACKS, f->iids, f->n * sizeof(f->iids[0]), &is_new) : 0;
	if (!*ret_iid || !is_new)
		return f->n && !*ret_iid ? -ENOMEM : 0;
	buf_reset(&in->one);
	perfetto_intern_uint(&in->one, IID, *ret_iid);
	for (size_t i = f->n; i-- > 0;)		/* outermost first */
		perfetto_intern_uint(&in->one, CALLSTACK_FRAMES, f->iids[i]);
	protobuf_bytes(&in->fresh, INTERNED_CALLSTACKS, in->one.data, in->one.len);
	return buf_error(&in->one) ?: buf_error(&in->fresh);
}
