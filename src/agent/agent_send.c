// SPDX-License-Identifier: GPL-2.0-or-later
#include "agent/agent_send.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "agent/access/agent_content.h"
#include "agent/agent_state.h"
#include "agent/vmsplice_sender.h"
#include "base/clock.h"
#include "ipc/broadcast.h"
#include "ipc/proto.h"
#include "ipc/session.h"
#include "loop/loop.h"

#define FRAME_ALIGN 8		 /* doc/protocol.md */
#define WRITE_ROUND (4u << 20)	 /* bytes per client and turn */
#define SPLICE_LEAST (16u << 10) /* below this copying is cheaper */
#define BACKLOG_BYTES (1u << 20) /* of unread replies; beyond, no request is read */

/*
 * The ledger does not count the pipeline's own records (names, ticks, losses), so they are never lost: the stall time
 * bounds them. State may use the last eighth of the queue.
 */
static enum broadcast_weight weight_of(const struct sonde_rec *r)
{
	if (record_is_core(r))
		return BROADCAST_ALWAYS;
	return !r->instance || r->flags & SONDE_RF_SNAPSHOT ? BROADCAST_STATE : BROADCAST_DATA;
}

static void describe_frame(const void *p, struct broadcast_frame *ret)
{
	struct proto_head h;

	memcpy(&h, p, sizeof(h));
	*ret = (struct broadcast_frame){ .len = (uint32_t)proto_frame_bytes(p), .weight = BROADCAST_ALWAYS };
	p = (const char *)p + sizeof(h);
	if (h.type == PROTO_RECORD) {
		struct sonde_rec r;

		memcpy(&r, p, sizeof(r));
		ret->key = r.instance;
		ret->ts_ns = r.ts_ns;
		ret->counts = shared_subscription_record_counts(&r);
		ret->weight = weight_of(&r);
	} else if (h.type == PROTO_EVENT) {
		struct proto_event e;

		memcpy(&e, p, sizeof(e));
		ret->key = e.instance;
		ret->ts_ns = e.ts_ns;
		ret->counts = e.flags & PROTO_EVENT_COUNTS;
		ret->weight = BROADCAST_DATA;
	}
}

static size_t lost_frame(const struct broadcast_lost *l, void *buf, size_t cap)
{
	struct {
		struct proto_head head;
		struct sonde_lost_rec rec;
	} frame = {
		.head = { .len = sizeof(frame), .type = PROTO_RECORD },
		.rec = {
			.hdr = { .ts_ns = l->ts_ns, .type = SONDE_EV_LOST, .len = sizeof(frame.rec),
				 .instance = l->key },
			.cause = SONDE_LOST_QUEUE, .count = l->count,
		},
	};

	_Static_assert(sizeof(frame) % FRAME_ALIGN == 0, "a frame has no tail");
	if (cap < sizeof(frame))
		return 0;
	memcpy(buf, &frame, sizeof(frame));
	return sizeof(frame);
}

static void losing(void *ctx, uint16_t key)
{
	struct agent_conn *c = ctx;

	c->sub.lost[key % SONDE_INSTANCES]++;
}

const struct broadcast_ops agent_send_ops = {
	.align = FRAME_ALIGN, .stable = true, .look = describe_frame, .lost = lost_frame, .losing = losing
};

int agent_send(struct agent_conn *c, const struct buf *frames)
{
	return buf_error(frames) ? buf_error(frames) : broadcast_send(c->queue, frames->data, frames->len, NULL, 0);
}

int agent_send_record(struct agent_conn *c, const struct sonde_rec *rec)
{
	const struct sonde_rec *r = agent_content_record(&c->a->content, rec, c->viewer);
	struct proto_head h = { .type = PROTO_RECORD };

	if (!r)
		return 0;
	h.len = (uint32_t)sizeof(h) + r->len;
	return broadcast_send(c->queue, &h, sizeof(h), r, r->len);
}

static bool too_much_to_read(const struct agent_conn *c)
{
	struct broadcast_stats st;

	broadcast_stats(c->queue, &st);
	return !c->sub.on && st.queued_bytes > BACKLOG_BYTES;
}

static void set_events(struct agent_conn *c)
{
	uint32_t events = 0;

	if (!c->dying && !session_waits(c->session) && !too_much_to_read(c))
		events |= EPOLLIN;
	if (c->send_blocked)
		events |= EPOLLOUT;
	loop_set_events(c->io, events);
}

static size_t bytes_of(const struct iovec *iov, int n)
{
	size_t sum = 0;

	for (int i = 0; i < n; i++)
		sum += iov[i].iov_len;
	return sum;
}

/* One write. 1: all was written, 0: the socket is full, or -errno. */
static int write_some(struct agent_conn *c, size_t *ret_bytes)
{
	struct iovec iov[VMSPLICE_SENDER_PIECES];
	bool stable = false;
	int n = broadcast_peek(c->queue, iov, VMSPLICE_SENDER_PIECES, &stable);
	size_t want = bytes_of(iov, n);
	ssize_t sent = stable && want >= SPLICE_LEAST ? vmsplice_sender_send(c->a->vmsplice_sender, c->fd, iov, n)
						      : -ENOTSUP;

	if (sent == -ENOTSUP) {
		const struct msghdr m = { .msg_iov = iov, .msg_iovlen = (size_t)n };

		sent = sendmsg(c->fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
		sent = sent < 0 ? -errno : sent;
	}
	if (sent < 0)
		return sent == -EAGAIN || sent == -EINTR ? 0 : (int)sent;
	broadcast_consume(c->queue, (size_t)sent);
	*ret_bytes += (size_t)sent;
	return (size_t)sent == want;
}

/* READY is queued before the snapshots and goes out with them. */
static bool is_starting(const struct agent_conn *c)
{
	return c->request.type == PROTO_SUBSCRIBE && c->request.job.state == COOP_RUNNING;
}

void agent_send_flush(struct agent_conn *c)
{
	size_t bytes = 0;
	int r = 1;

	if (c->gone || is_starting(c))
		return;
	while (r > 0 && bytes < WRITE_ROUND && !broadcast_empty(c->queue))
		r = write_some(c, &bytes);
	if (bytes || broadcast_empty(c->queue))
		c->moved_ns = clock_boot_ns();
	if (r < 0 || (c->dying && broadcast_empty(c->queue))) {
		c->gone = true;
		return;
	}
	c->send_blocked = !broadcast_empty(c->queue);
	set_events(c);
}
