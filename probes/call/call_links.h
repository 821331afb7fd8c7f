/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which call caused which, within a process. By header: an incoming and an outgoing call carry the same traceparent
 * or x-request-id. By thread: exactly one incoming call was open on the thread, over the whole outgoing call, and no
 * record was lost since then. A thread that ever had two of them open is an event loop: its calls get no parent by
 * thread. These are certain. On request a parent is inferred: of the process' incoming calls exactly one began before
 * the outgoing one and ended behind it, as it also may where a timer made the outgoing one.
 */
#ifndef CALL_LINKS_H
#define CALL_LINKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "call/call_event.h"

struct call_links {
	struct map threads;	/* open incoming calls by thread */
	struct map headers;	/* numbers of open incoming calls by hash of the header; 0 = several */
	struct map open;	/* number -> struct call_open */
	struct map processes;	/* open incoming calls by tgid; filled with @infer only */
	uint64_t n_begun;	/* calls so far */
	uint64_t losses;	/* so far */
	bool infer;		/* may be set between init and the first call */
	bool too_many;		/* processes: nothing is inferred */
	bool ready;
};

/* A call whose request was sent or read by thread @tid. */
struct call_links_call {
	uint64_t number;	/* of the call */
	uint64_t header;	/* hash of the header that names the request; 0 = none */
	uint32_t tgid, tid;
	bool server;
};

struct call_links_parent {
	uint64_t number;	/* 0 = none */
	enum call_event_link link;
};

void call_links_init(struct call_links *l);
void call_links_fini(struct call_links *l);

/* Records were lost: what a thread has served since an incoming call that is open is unknown. */
void call_links_lost(struct call_links *l);
/* The request of @c began. Without memory the call gets no parent. */
void call_links_opened(struct call_links *l, const struct call_links_call *c);
/* The call ended. */
struct call_links_parent call_links_ended(struct call_links *l, uint64_t number);

#endif
