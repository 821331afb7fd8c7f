// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sides by tuple and stream; children by number, else by time.
 */
#include "trace/trace_pairs.h"

#include "base/macros.h"

#define EARLY_NS 100000000ull	/* a write that takes longer leaves both sides alone */

static bool is_same_process(const struct trace_fact *a, const struct trace_fact *b)
{
	return a->tgid && a->tgid == b->tgid && a->start_ns == b->start_ns;
}

static bool is_same_conn(const struct conn *a, const struct conn *b)
{
	return a->sport && a->sport == b->sport && a->dport == b->dport && a->proto == b->proto &&
	       ipaddr_equal(&a->saddr, &b->saddr) && ipaddr_equal(&a->daddr, &b->daddr);
}

/* Of calls with one tuple and stream (one follows another): the server's begins within the client's. */
static bool is_pair(const struct trace_fact *client, const struct trace_fact *server)
{
	return client->stream == server->stream && is_same_conn(&client->conn, &server->conn) &&
	       server->from_ns >= client->from_ns && server->from_ns <= client->ts_ns;
}

static bool is_other_side(const struct trace_fact *f, const struct trace_fact *call)
{
	return f->kind == TRACE_FACT_CALL && f->of_call.side && f->of_call.side != call->of_call.side;
}

static const struct trace_fact *find_other(const struct trace_window *w, const struct trace_fact *call)
{
	bool is_client = call->of_call.side == TRACE_SIDE_CLIENT;
	const struct trace_fact *best = NULL;

	for (size_t i = trace_window_find(w, call->from_ns); i < trace_window_len(w); i++) {
		const struct trace_fact *f = trace_window_at(w, i);

		if (f->ts_ns > call->ts_ns + TRACE_SLACK_NS)
			break;
		if (!is_other_side(f, call))
			continue;
		if (!(is_client ? is_pair(call, f) : is_pair(f, call)))
			continue;
		/* several: a client's first begins first, a server's client begins last */
		if (!best || (is_client ? f->from_ns < best->from_ns : f->from_ns > best->from_ns))
			best = f;
	}
	return best;
}

static uint64_t distance(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns > b_ns ? a_ns - b_ns : b_ns - a_ns;
}

/*
 * A client's call begins when its write returns. If the thread loses its CPU in there, the server has the request
 * earlier, and even answers it. @call has no other side that begins within it: the nearest one without a partner.
 */
static const struct trace_fact *find_early(const struct trace_window *w, const struct trace_fact *call)
{
	const bool is_client = call->of_call.side == TRACE_SIDE_CLIENT;
	const struct trace_fact *best = NULL;
	const uint64_t low_ns = call->from_ns - MIN(call->from_ns, EARLY_NS);

	for (size_t i = trace_window_find(w, low_ns); i < trace_window_len(w); i++) {
		const struct trace_fact *f = trace_window_at(w, i);

		if (f->ts_ns > call->ts_ns + TRACE_SLACK_NS)
			break;
		if (!is_other_side(f, call) || f->stream != call->stream || !is_same_conn(&f->conn, &call->conn))
			continue;
		if ((is_client ? f->from_ns > call->from_ns : f->from_ns < call->from_ns) ||
		    distance(f->from_ns, call->from_ns) > EARLY_NS || find_other(w, f))
			continue;
		if (!best || distance(f->from_ns, call->from_ns) < distance(best->from_ns, call->from_ns))
			best = f;
	}
	return best;
}

const struct trace_fact *trace_pairs_other(const struct trace_window *w, const struct trace_fact *call)
{
	const struct trace_fact *other = find_other(w, call);

	return other ? other : find_early(w, call);
}

static bool contains(const struct trace_fact *server, const struct trace_fact *call)
{
	return server->from_ns <= call->from_ns && call->ts_ns <= server->ts_ns;
}

/* How many of the process's server calls contain @call. */
static unsigned count_holders(const struct trace_window *w, const struct trace_fact *call)
{
	unsigned n = 0;

	for (size_t i = trace_window_find(w, call->ts_ns); i < trace_window_len(w); i++) {
		const struct trace_fact *f = trace_window_at(w, i);

		n += f->kind == TRACE_FACT_CALL && f->of_call.side == TRACE_SIDE_SERVER &&
		     is_same_process(f, call) && contains(f, call);
	}
	return n;
}

const struct trace_fact *trace_pairs_child(const struct trace_window *w, const struct trace_fact *server, size_t *pos,
					   enum trace_how *ret_how, uint64_t *ambiguous)
{
	size_t i = MAX(*pos, trace_window_find(w, server->from_ns));

	for (; i < trace_window_len(w); i++) {
		const struct trace_fact *f = trace_window_at(w, i);
		uint64_t maker = f->of_call.parent;

		if (f->ts_ns > server->ts_ns + TRACE_SLACK_NS)
			break;
		if (f->kind != TRACE_FACT_CALL || f->of_call.side != TRACE_SIDE_CLIENT || !is_same_process(f, server))
			continue;
		*pos = i + 1;
		*ret_how = TRACE_HOW_CALL;
		if (server->call && (maker == server->call || f->call == server->call))
			return f;
		if (maker || !contains(server, f))
			continue;
		*ret_how = TRACE_HOW_TIME;
		if (count_holders(w, f) == 1)
			return f;
		(*ambiguous)++;
	}
	*pos = i;
	return NULL;
}
