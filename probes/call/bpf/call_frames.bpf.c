// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Frames of HTTP/2 (RFC 9113, section 4.1) in the bytes of an operation. Heads of turns do not suffice: calls share a
 * connection, and the end of a call is a frame behind its content. All frames are kept but the content of DATA, of
 * which the header is. A frame may begin in one buffer or operation and end in another.
 */
#include "bpf/kernel.h"
#include "probes/call/bpf/call_state.bpf.h"
#include "probes/call/bpf/call_unit.bpf.h"
#include "probes/call/bpf/call_walk.bpf.h"
#include "probes/call/call_wire.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#define FRAME_HEADER 9
#define FRAME_LENGTH_MAX 16384	/* of frames that are not DATA, and of those behind a loss */
#define FRAME_SHORT 64		/* DATA that costs less than another record */
#define PREFACE_LEN 24
#define PREFACE 0x50524920	/* "PRI " */
#define STEPS_MAX 2048		/* frames and buffers of an operation */

enum frame_type {
	FRAME_DATA, FRAME_HEADERS, FRAME_PRIORITY, FRAME_RST_STREAM, FRAME_SETTINGS, FRAME_PUSH_PROMISE, FRAME_PING,
	FRAME_GOAWAY, FRAME_WINDOW_UPDATE, FRAME_CONTINUATION,
	FRAME__MAX,
};

static __always_inline bool frame_fits(__u32 type, __u32 len)
{
	switch (type) {
	case FRAME_DATA: return true;
	case FRAME_PRIORITY: return len == 5;
	case FRAME_RST_STREAM:
	case FRAME_WINDOW_UPDATE: return len == 4;
	case FRAME_PING: return len == 8;
	}
	return len <= FRAME_LENGTH_MAX;
}

/* The header is complete. */
static __always_inline void frame_begin(struct call_frames *f, __u32 dir)
{
	__u32 len = f->head[dir] >> 8, type = f->head[dir] & 0xff;

	f->n_head[dir] = 0;
	f->whole[dir] = 1;
	if (f->head[dir] == PREFACE) {
		f->left[dir] = PREFACE_LEN - FRAME_HEADER;
		return;
	}
	f->left[dir] = len;
	f->whole[dir] = type != FRAME_DATA || len <= FRAME_SHORT;
	f->lost[dir] = !frame_fits(type, len);
}

/* Up to @n bytes of a header. Returns how many, 0 if they cannot be read. */
static __always_inline __u32 frame_head(struct call_room *room, struct call_frames *f, __u32 dir, __u32 n)
{
	__u32 have = f->n_head[dir];
	__u8 b[FRAME_HEADER] = { 0 };

	if (n > FRAME_HEADER - have)
		n = FRAME_HEADER - have;
	barrier_var(n);
	if (n > FRAME_HEADER || bpf_probe_read_user(b, n, (void *)room->walk.addr))
		return 0;
	n = call_walk_keep(room, n);
	for (__u32 i = 0; i < FRAME_HEADER; i++)
		if (i < n && have + i < sizeof(f->head[0]))
			f->head[dir] = f->head[dir] << 8 | b[i];
	f->n_head[dir] = have + n;
	if (f->n_head[dir] == FRAME_HEADER)
		frame_begin(f, dir);
	return n;
}

struct call_step {
	struct call_room *room;
	struct call_frames *f;
};

/* A part of a frame, or a buffer. */
static long frames_step(__u32 i, struct call_step *s)
{
	struct call_walk *w = &s->room->walk;
	struct call_frames *f = s->f;
	__u32 dir = w->dir & 1, n = call_walk_bytes(w);

	if (f->lost[dir])
		return 1;
	if (!n)
		return !call_walk_next(w);
	if (!f->left[dir]) {
		n = frame_head(s->room, f, dir, n);
	} else {
		if (n > f->left[dir])
			n = f->left[dir];
		if (f->whole[dir])
			n = call_walk_keep(s->room, n);
		f->left[dir] -= n;
	}
	return !call_walk_pass(w, n);
}

/* Behind a loss: does the operation begin with a header? */
static __always_inline bool frames_resume(const struct call_walk *w, struct call_frames *f, __u32 dir)
{
	__u8 b[FRAME_HEADER];

	if (call_walk_bytes(w) < sizeof(b) || bpf_probe_read_user(b, sizeof(b), (void *)w->addr) ||
	    b[3] >= FRAME__MAX || b[5] & 0x80 || ((__u32)b[0] << 16 | (__u32)b[1] << 8 | b[2]) > FRAME_LENGTH_MAX)
		return false;
	f->left[dir] = f->n_head[dir] = f->lost[dir] = 0;
	return true;
}

/* The buffer is unknown: content that is passed over needs none. */
static __always_inline bool frames_pass(struct call_walk *w, struct call_frames *f, __u32 dir)
{
	if (f->whole[dir] || f->left[dir] < w->size)
		return false;
	f->left[dir] -= w->size;
	return true;
}

int call_frames_send(struct call_room *room, struct call_frames *f, const struct call_user_bytes *b, bool turn)
{
	struct call_step step = { .room = room, .f = f };
	struct call_walk *w;
	__u32 dir;

	if (!room || !f || !b || !call_can_walk())
		return 0;
	w = &room->walk;
	dir = w->dir & 1;
	call_walk_begin(w, b);
	if (f->lost[dir] && !(turn && b->base && frames_resume(w, f, dir)))
		return 0;
	if (b->base)
		bpf_loop(STEPS_MAX, frames_step, &step, 0);
	else
		f->lost[dir] = !frames_pass(w, f, dir);
	if (b->base && w->at < w->size)
		f->lost[dir] = 1;
	w->at = w->size;
	call_walk_record(room);
	return 1;
}
