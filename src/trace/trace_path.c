// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The path of one call: through the client's thread into its socket, over the network into the server's, to the
 * thread that reads it, the server's own time, the calls that it makes meanwhile, and back.
 *
 * Parts are painted from the outside in: exact knowledge replaces vague knowledge, a child's time its parent's.
 */
#include "trace/trace_path.h"

#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "sonde/ident_wire.h"
#include "trace/trace_build.h"
#include "trace/trace_pairs.h"
#include "trace/trace_thread.h"

#define NO_ROW UINT16_MAX
#define PROBED_NS 1000000000ull	/* a closed window is probed, and answered, in less */
#define RELEASE_NS 1000000ull	/* from an acknowledgement to what it lets go */

static uint16_t add_row(struct trace_build *p, const struct trace_fact *call, uint16_t parent, enum trace_how how)
{
	struct trace_row *r;

	if (p->rows.len >= TRACE_ROWS_MAX || vec_grow(&p->rows) < 0) {
		p->ignored++;
		return NO_ROW;
	}
	r = &p->rows.items[p->rows.len];
	*r = (struct trace_row){ .call = *call, .parent = parent, .how = (uint8_t)how };
	r->depth = how == TRACE_HOW_ROOT ? 0 : (uint16_t)(p->rows.items[parent].depth + 1);
	return (uint16_t)p->rows.len++;
}

/* ---- one message: request or response ---- */

/* The way of a message from one socket to the other; times that are not known are 0. */
struct passage {
	const struct trace_fact *from, *to;	/* the sending and the receiving side; @to NULL: not watched */
	uint16_t from_row, to_row;
	uint64_t begin_ns, end_ns;		/* bounds */
	const struct trace_fact *write, *read;
	const struct trace_fact *first, *sent, *arrived; /* packets: first sight, last one sent, last sight */
	const struct trace_fact *drop;		/* of one of them */
	uint32_t seq;				/* the byte that is followed */
};

static bool holds(const struct trace_fact *f, uint32_t seq)
{
	return seq - f->seq < f->seq_len;
}

static bool is_of_socket(const struct trace_fact *f, const struct trace_fact *side)
{
	return side->cookie && f->cookie == side->cookie && f->tgid == side->tgid && f->start_ns == side->start_ns;
}

static bool is_sent_by(const struct trace_fact *packet, const struct trace_fact *call, bool by_client)
{
	const struct conn *a = &packet->conn, *b = &call->conn;

	if (!by_client)
		return a->sport == b->dport && a->dport == b->sport && ipaddr_equal(&a->saddr, &b->daddr) &&
		       ipaddr_equal(&a->daddr, &b->saddr);
	return a->sport == b->sport && a->dport == b->dport && ipaddr_equal(&a->saddr, &b->saddr) &&
	       ipaddr_equal(&a->daddr, &b->daddr);
}

/* The first write of the sender's socket that ends at the message's begin or later. */
static void find_write(const struct trace_build *p, struct passage *m, bool last_byte)
{
	for (size_t i = trace_window_find(p->window, m->begin_ns); i < trace_window_len(p->window); i++) {
		const struct trace_fact *f = trace_window_at(p->window, i);

		if (f->from_ns > m->end_ns && f->ts_ns > m->end_ns + TRACE_SLACK_NS)
			break;
		if (f->kind != TRACE_FACT_SYSCALL || !(f->ident_flags & SONDE_ID_F_TX) || !f->seq_len ||
		    f->from_ns > m->end_ns || !is_of_socket(f, m->from))
			continue;
		m->write = f;
		m->seq = last_byte ? f->seq + f->seq_len - 1 : f->seq;
		return;
	}
}

static void find_read(const struct trace_build *p, struct passage *m)
{
	size_t i = trace_window_find(p->window, m->write->from_ns);

	for (; m->to && i < trace_window_len(p->window); i++) {
		const struct trace_fact *f = trace_window_at(p->window, i);

		if (f->ts_ns > m->end_ns + TRACE_SLACK_NS)
			break;
		if (f->kind == TRACE_FACT_SYSCALL && f->ident_flags & SONDE_ID_F_RX && holds(f, m->seq) &&
		    is_of_socket(f, m->to)) {
			m->read = f;
			return;
		}
	}
}

static void count_packet(struct trace_build *p, const struct passage *m, const struct trace_fact *f)
{
	struct trace_row *row = &p->rows.items[m->from_row];

	row->packets++;
	row->drops += f->kind == TRACE_FACT_DROP;
	if (m->first && f->kind == TRACE_FACT_PACKET && f != m->first &&
	    f->of_packet.dir == m->first->of_packet.dir && f->of_packet.ifindex == m->first->of_packet.ifindex &&
	    f->netns == m->first->netns)
		row->retransmitted++;
}

/* Packets with the byte, up to the read. */
static void find_packets(struct trace_build *p, struct passage *m, bool by_client)
{
	uint64_t until = m->read ? m->read->ts_ns : m->end_ns;

	for (size_t i = trace_window_find(p->window, m->write->from_ns); i < trace_window_len(p->window); i++) {
		const struct trace_fact *f = trace_window_at(p->window, i);

		if (f->ts_ns > until)
			break;
		if ((f->kind != TRACE_FACT_PACKET && f->kind != TRACE_FACT_DROP) || !holds(f, m->seq) ||
		    !is_sent_by(f, m->from, by_client))
			continue;
		if (f->kind == TRACE_FACT_PACKET) {
			m->first = m->first ? m->first : f;
			if (f->of_packet.dir == PACKET_DIR_OUT)
				m->sent = f;
			m->arrived = f;
		} else {
			m->drop = f;
		}
		count_packet(p, m, f);
		trace_build_item(p, &(struct trace_item){
					    .fact = f,
					    .row = f->of_packet.dir == PACKET_DIR_IN ? m->to_row : m->from_row,
				    });
	}
}

static struct trace_segment between(const struct passage *m, uint64_t from_ns, uint64_t to_ns)
{
	return (struct trace_segment){
		.from_ns = MAX(from_ns, m->begin_ns), .to_ns = MIN(to_ns, m->end_ns), .tgid = m->from->tgid,
		.comm = m->from->comm, .row = m->from_row, .by = TRACE_BY_BYTES,
	};
}

static void paint_network(struct trace_build *p, const struct passage *m, uint64_t from_ns, uint64_t to_ns)
{
	struct trace_segment s = between(m, from_ns, to_ns);

	s.state = TRACE_STATE_NETWORK;
	s.cause = TRACE_CAUSE_NETWORK;
	s.event = m->arrived ? m->arrived->num : m->write ? m->write->num : 0;
	if (s.from_ns < s.to_ns)
		trace_build_paint(p, &s);
	if (!m->first || !m->sent || m->sent == m->first || m->sent->netns != m->first->netns ||
	    m->sent->of_packet.ifindex != m->first->of_packet.ifindex)
		return;
	s = between(m, m->first->ts_ns, m->sent->ts_ns);
	s.state = TRACE_STATE_NETWORK;
	s.cause = TRACE_CAUSE_RETRANSMIT;
	s.detail = m->drop ? m->drop->of_packet.reason : 0;
	s.event = m->drop ? m->drop->num : m->sent->num;
	if (s.from_ns < s.to_ns)
		trace_build_paint(p, &s);
}

/* The last packet of the receiver up to @until_ns; *ret_closed: its window was closed, at the write or later. */
static const struct trace_fact *last_answer(const struct trace_build *p, const struct passage *m, uint64_t until_ns,
					    bool by_client, bool *ret_closed)
{
	const uint64_t from_ns = m->write->from_ns - MIN(m->write->from_ns, PROBED_NS);
	const struct trace_fact *last = NULL;

	for (size_t i = trace_window_find(p->window, from_ns); i < trace_window_len(p->window); i++) {
		const struct trace_fact *f = trace_window_at(p->window, i);

		if (f->ts_ns > until_ns)
			break;
		if (f->kind != TRACE_FACT_PACKET || !is_sent_by(f, m->from, !by_client))
			continue;
		*ret_closed = f->of_packet.window_closed || (*ret_closed && f->ts_ns > m->write->ts_ns);
		last = f;
	}
	return last;
}

/* The sender's TCP held the byte back: the write was over before the first packet with it left. */
static void paint_held_back(struct trace_build *p, const struct passage *m, bool by_client)
{
	const struct trace_fact *answer;
	struct trace_segment s;
	bool closed = false;

	if (!m->first || m->first->of_packet.dir != PACKET_DIR_OUT || m->first->ts_ns <= m->write->ts_ns)
		return;
	s = between(m, m->write->ts_ns, m->first->ts_ns);
	if (s.from_ns >= s.to_ns)
		return;
	answer = last_answer(p, m, m->first->ts_ns, by_client, &closed);
	s.state = TRACE_STATE_NETWORK;
	s.cause = closed ? TRACE_CAUSE_WINDOW : TRACE_CAUSE_NETWORK;
	s.event = m->first->num;
	if (!closed)
		s.held = answer && m->first->ts_ns - answer->ts_ns < RELEASE_NS ? TRACE_HELD_ACK : TRACE_HELD_BACK;
	trace_build_paint(p, &s);
}

static bool is_accept(const struct trace_build *p, const struct trace_fact *f, const struct trace_fact *read)
{
	return f->kind == TRACE_FACT_SYSCALL && f->tgid == read->tgid && f->start_ns == read->start_ns &&
	       f->of_syscall.ret >= 0 && f->of_syscall.ret == read->of_syscall.fd &&
	       !strncmp(trace_fact_text(p->names, f->of_syscall.name), "accept", 6);
}

/* The part of @queue in which the connection was not accepted. */
static void paint_backlog(struct trace_build *p, const struct passage *m, const struct trace_segment *queue)
{
	struct trace_segment s = *queue;
	struct trace_part part;

	for (size_t i = trace_window_find(p->window, queue->from_ns); i < trace_window_len(p->window); i++) {
		const struct trace_fact *f = trace_window_at(p->window, i);

		if (f->ts_ns > m->read->ts_ns)
			break;
		if (!is_accept(p, f, m->read))
			continue;
		part = (struct trace_part){ .from_ns = queue->from_ns, .to_ns = f->from_ns, .who = f, .tid = f->tid };
		s.to_ns = MIN(f->ts_ns, queue->to_ns);
		s.cause = TRACE_CAUSE_ACCEPT;
		s.behind = 0;
		s.event = f->num;
		s.tid = f->tid;
		s.detail = trace_thread_busy(p, &part);
		if (s.from_ns < s.to_ns)
			trace_build_paint(p, &s);
		part.to_ns = s.to_ns;
		part.row = s.row;
		trace_thread_paint_held(p, &part);
		return;
	}
}

static bool is_other_call(const struct trace_fact *f, const struct passage *m)
{
	return f->kind == TRACE_FACT_CALL && f->of_call.side == TRACE_SIDE_SERVER && f->tgid == m->read->tgid &&
	       f->start_ns == m->read->start_ns && f->of_call.id != m->to->of_call.id;
}

/*
 * The call that the reading thread served for more than half of the part: a server with one thread for all
 * connections. 0 if there is none, or if the process served several then: the thread of each is not known for sure.
 */
static uint32_t served_instead(const struct trace_build *p, const struct passage *m, const struct trace_part *part)
{
	const uint64_t half_ns = (part->to_ns - part->from_ns) / 2;
	const struct trace_fact *found = NULL;

	for (size_t i = trace_window_find(p->window, part->from_ns); i < trace_window_len(p->window); i++) {
		const struct trace_fact *f = trace_window_at(p->window, i);

		if (f->ts_ns > part->to_ns + TRACE_SLACK_NS)
			break;
		if (!is_other_call(f, m) || f->from_ns >= part->to_ns ||
		    MIN(f->ts_ns, part->to_ns) - MAX(f->from_ns, part->from_ns) <= half_ns)
			continue;
		if (found || f->tid != part->tid || f->goid)
			return 0;
		found = f;
	}
	return found ? found->of_call.method : 0;
}

static void paint_queue(struct trace_build *p, const struct passage *m)
{
	const struct trace_part part = {
		.from_ns = MAX(m->arrived->ts_ns, m->begin_ns), .to_ns = MIN(m->read->from_ns, m->end_ns),
		.who = m->read, .tid = m->read->tid, .row = m->to_row,
	};
	struct trace_segment s = between(m, part.from_ns, part.to_ns);

	if (part.from_ns >= part.to_ns)
		return;
	s.state = TRACE_STATE_QUEUE;
	s.cause = TRACE_CAUSE_QUEUE;
	s.event = m->read->num;
	s.detail = trace_thread_busy(p, &part);
	s.behind = s.detail ? 0 : served_instead(p, m, &part);
	s.tgid = m->read->tgid;
	s.tid = m->read->tid;
	s.comm = m->read->comm;
	s.row = m->to_row;
	trace_build_paint(p, &s);
	paint_backlog(p, m, &s);
	trace_thread_paint_held(p, &part);
}

static void paint_side(struct trace_build *p, const struct passage *m, const struct trace_fact *who, uint16_t row,
		       uint64_t from_ns, uint64_t to_ns)
{
	const struct trace_part part = {
		.from_ns = MAX(from_ns, m->begin_ns), .to_ns = MIN(to_ns, m->end_ns), .who = who, .tid = who->tid,
		.row = row,
	};

	trace_thread_paint(p, &part);
}

static void add_items(struct trace_build *p, const struct passage *m)
{
	struct trace_item read = { .fact = m->read, .row = m->to_row };
	struct trace_part part;

	trace_build_item(p, &(struct trace_item){ .fact = m->write, .row = m->from_row });
	if (!m->read)
		return;
	if (m->arrived && m->arrived->ts_ns < m->read->from_ns) {
		part = (struct trace_part){ .from_ns = m->arrived->ts_ns, .to_ns = m->read->from_ns, .who = m->read,
					    .tid = m->read->tid };
		read.queued_ns = part.to_ns - part.from_ns;
		read.runq_ns = trace_thread_runq(p, &part);
	}
	trace_build_item(p, &read);
}

/* When the byte was at the receiver: its packet, else the wake-up of the thread that waited for it. */
static uint64_t arrival(const struct trace_build *p, const struct passage *m)
{
	const bool is_in = m->arrived && m->arrived->of_packet.dir == PACKET_DIR_IN;

	if (is_in || (!m->read && m->arrived != m->first))
		return m->arrived->ts_ns;
	return m->read ? trace_thread_woken(p, m->read) : m->end_ns;
}

/* Paints begin to end: the sender until the packet leaves, the network, the socket's queue, the receiver. */
static void pass(struct trace_build *p, struct passage *m, bool by_client)
{
	struct trace_segment s = between(m, m->begin_ns, m->end_ns);
	uint64_t left, came;

	s.by = TRACE_BY_NONE;
	if (s.from_ns >= s.to_ns)
		return;
	trace_build_paint(p, &s);
	find_write(p, m, !by_client);
	if (!m->write)
		return;
	find_read(p, m);
	find_packets(p, m, by_client);
	left = m->first ? m->first->ts_ns : m->write->ts_ns;
	came = arrival(p, m);
	paint_side(p, m, m->write, m->from_row, m->begin_ns, left);
	paint_held_back(p, m, by_client);
	paint_network(p, m, left, came);
	if (m->read && m->arrived)
		paint_queue(p, m);
	if (m->read)
		paint_side(p, m, m->read, m->to_row, MAX(m->read->from_ns, came), m->end_ns);
	add_items(p, m);
}

/* ---- a call ---- */

static void paint_call(struct trace_build *p, const struct trace_fact *call, uint16_t parent, enum trace_how how);

/* In the order of their ends: the last of children that overlap keeps the time. */
static void paint_children(struct trace_build *p, const struct trace_fact *server, uint16_t row)
{
	const uint64_t low_ns = p->low_ns, high_ns = p->high_ns;
	const struct trace_fact *child;
	enum trace_how how;
	size_t pos = 0;

	p->low_ns = MAX(low_ns, server->from_ns);
	p->high_ns = MIN(high_ns, server->ts_ns);

	while (p->rows.items[row].depth < TRACE_ROWS_MAX &&
	       (child = trace_pairs_child(p->window, server, &pos, &how, &p->ambiguous)))
		paint_call(p, child, row, how);
	p->low_ns = low_ns;
	p->high_ns = high_ns;
}

/* A server without goroutines whose thread reads the request and writes the response works in that thread. */
static uint32_t worker_of(const struct passage *request, const struct passage *response)
{
	if (!request->read || !response->write || request->read->goid || response->write->goid)
		return 0;
	return request->read->tid == response->write->tid ? request->read->tid : 0;
}

static const struct trace_fact *write_of(const struct trace_build *p, const struct trace_fact *client, uint32_t seq)
{
	for (size_t i = trace_window_find(p->window, client->from_ns); i < trace_window_len(p->window); i++) {
		const struct trace_fact *f = trace_window_at(p->window, i);

		if (f->from_ns > client->ts_ns && f->ts_ns > client->ts_ns + TRACE_SLACK_NS)
			break;
		if (f->kind == TRACE_FACT_SYSCALL && f->ident_flags & SONDE_ID_F_TX && holds(f, seq) &&
		    is_of_socket(f, client))
			return f;
	}
	return NULL;
}

/* Reads of the thread that serves the call: it waits for the rest of the request, which is still under way. */
static void paint_rest(struct trace_build *p, const struct trace_fact *client, uint16_t client_row,
		       const struct trace_part *at)
{
	const struct trace_fact *server = at->who;

	for (size_t i = 0; i < p->during.len; i++) {
		const struct trace_fact *f = p->during.items[i];
		struct passage m = {
			.from = client, .to = server, .from_row = client_row, .to_row = at->row, .read = f,
			.begin_ns = MAX(f->from_ns, server->from_ns), .end_ns = MIN(f->ts_ns, server->ts_ns),
			.seq = f->seq,
		};

		if (f->kind != TRACE_FACT_SYSCALL || f->tid != at->tid || !(f->ident_flags & SONDE_ID_F_RX) ||
		    !f->seq_len || !is_of_socket(f, server) || f->from_ns >= server->ts_ns ||
		    f->ts_ns <= server->from_ns)
			continue;
		m.write = write_of(p, client, m.seq);
		if (!m.write)
			continue;
		find_packets(p, &m, true);
		paint_network(p, &m, m.write->from_ns, arrival(p, &m));
		paint_held_back(p, &m, true);
	}
}

static void paint_server(struct trace_build *p, const struct trace_fact *server, uint16_t row, uint32_t tid)
{
	const struct trace_part part = {
		.from_ns = server->from_ns, .to_ns = server->ts_ns, .who = server, .tid = tid, .row = row,
	};

	if (row == NO_ROW)
		return;
	trace_thread_paint(p, &part);
	trace_thread_served(p, &part, server->call);
	paint_children(p, server, row);
}

/* Time at a server that is not watched, between the request's and the response's packets. */
static void paint_unseen(struct trace_build *p, const struct trace_fact *client, uint16_t row)
{
	struct passage m = {
		.from = client, .from_row = row, .to_row = row, .begin_ns = client->from_ns, .end_ns = client->ts_ns,
	};
	struct trace_segment s = between(&m, client->from_ns, client->ts_ns);

	find_write(p, &m, false);
	if (m.write)
		find_packets(p, &m, true);
	s.state = TRACE_STATE_PEER;
	s.cause = client->of_call.is_dns ? TRACE_CAUSE_DNS : TRACE_CAUSE_PEER;
	s.by = m.write ? TRACE_BY_BYTES : TRACE_BY_NONE;
	s.event = m.arrived ? m.arrived->num : m.write ? m.write->num : client->num;
	trace_build_paint(p, &s);
	if (!m.write)
		return;
	paint_side(p, &m, m.write, row, m.begin_ns, m.first ? m.first->ts_ns : m.write->ts_ns);
	trace_build_item(p, &(struct trace_item){ .fact = m.write, .row = row });
}

static void paint_both(struct trace_build *p, const struct trace_fact *client, const struct trace_fact *server,
		       uint16_t client_row, uint16_t server_row)
{
	uint64_t served = MIN(server->ts_ns, client->ts_ns);
	struct passage request = {
		.from = client, .to = server, .from_row = client_row, .to_row = server_row,
		.begin_ns = client->from_ns, .end_ns = server->from_ns,
	};
	struct passage response = {
		.from = server, .to = client, .from_row = server_row, .to_row = client_row,
		.begin_ns = served, .end_ns = client->ts_ns,
	};
	struct trace_part at = { .who = server, .row = server_row };

	pass(p, &request, true);
	pass(p, &response, false);
	at.tid = worker_of(&request, &response);
	paint_server(p, server, server_row, at.tid);
	if (at.tid)
		paint_rest(p, client, client_row, &at);
}

static void paint_call(struct trace_build *p, const struct trace_fact *call, uint16_t parent, enum trace_how how)
{
	const struct trace_fact *other = trace_pairs_other(p->window, call);
	uint16_t row = add_row(p, call, parent, how), other_row;

	if (row == NO_ROW)
		return;
	if (call->of_call.side == TRACE_SIDE_SERVER) {
		paint_server(p, call, row, 0);
		return;
	}
	other_row = other ? add_row(p, other, row, TRACE_HOW_TUPLE) : NO_ROW;
	if (other_row == NO_ROW)
		paint_unseen(p, call, row);
	else
		paint_both(p, call, other, row, other_row);
}

static int by_time(const void *a, const void *b)
{
	const struct trace_item *p = a, *q = b;
	const struct trace_fact *x = p->fact, *y = q->fact;

	return COMPARE(x->from_ns, y->from_ns) ?: COMPARE(x->num, y->num);
}

/* An event that two parts name stays once. */
static void sort_items(struct trace_build *p)
{
	size_t n = 0;

	vec_sort(&p->items, by_time);
	for (size_t i = 0; i < p->items.len; i++)
		if (!n || p->items.items[n - 1].fact != p->items.items[i].fact)
			p->items.items[n++] = p->items.items[i];
	p->items.len = n;
}

static int add_during(struct trace_build *p, const struct trace_fact *f)
{
	if (f->kind == TRACE_FACT_WAIT || f->kind == TRACE_FACT_SYSCALL) {
		if (vec_push(&p->during, f) < 0)
			return -ENOMEM;
	} else if (f->kind == TRACE_FACT_CALL && f->of_call.side == TRACE_SIDE_SERVER) {
		if (vec_push(&p->served, f) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Facts are sorted by their ends: those that end later but begin within the call overlap it. */
static int find_during(struct trace_build *p)
{
	for (size_t i = trace_window_find(p->window, p->begin_ns); i < trace_window_len(p->window); i++) {
		const struct trace_fact *f = trace_window_at(p->window, i);

		if (f->ts_ns > p->end_ns + TRACE_SLACK_NS)
			break;
		if (f->from_ns <= p->end_ns && add_during(p, f) < 0)
			return -ENOMEM;
	}
	return 0;
}

int trace_path_build(struct trace_build *p, const struct trace_fact *call)
{
	const struct trace_fact *root = call;
	struct trace_segment whole;

	if (call->of_call.side == TRACE_SIDE_SERVER) {
		root = trace_pairs_other(p->window, call);
		root = root ? root : call;
	}
	p->low_ns = p->begin_ns = root->from_ns;
	p->high_ns = p->end_ns = root->ts_ns;
	whole = (struct trace_segment){ .from_ns = p->begin_ns, .to_ns = p->end_ns, .tgid = root->tgid,
					.comm = root->comm, .event = root->num };
	if (find_during(p) < 0 || trace_paint_init(&p->paint, &whole) < 0)
		return -ENOMEM;
	paint_call(p, root, 0, TRACE_HOW_ROOT);
	trace_paint_merge(&p->paint);
	p->ignored += p->paint.ignored;
	sort_items(p);
	return p->nomem ? -ENOMEM : 0;
}
