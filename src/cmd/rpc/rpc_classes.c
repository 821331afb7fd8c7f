// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records say what went over a connection, events which of it were calls. A socket carries two streams at most: its
 * bytes, and plain text of TLS over them.
 */
#include "cmd/rpc/rpc_classes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/vec.h"
#include "cmd/rpc/rpc_program.h"
#include "cmd/rpc/rpc_sockets.h"
#include "event/core.h"
#include "event/event.h"
#include "event/json.h"
#include "probes/call/call_seen.h"
#include "sinks/sink.h"
#include "sonde/ident_wire.h"
#include "sonde/wire.h"

#define CONNS_MAX 65536u /* more are left out */
#define WORD_BYTES 16

enum layer { LAYER_SOCKET, LAYER_PLAIN, LAYER_GO, LAYER__MAX };

/* Why bytes of a connection did not become calls. */
enum why {
	WHY_NONE,
	WHY_IDLE,
	WHY_MIDSTREAM,
	WHY_IO_URING,
	WHY_BLIND,
	WHY_OUTSIDE,
	WHY_UNCLASSIFIED,
	WHY_NO_MEMORY,
	WHY_NO_REQUEST,
	WHY_TLS_KERNEL,
	WHY_TLS_UNKNOWN,
	WHY_TLS_STRIPPED,
	WHY_TLS_BORING,
	WHY_TLS_NSS,
	WHY_TLS_JAVA,
	WHY_TLS_GO,
	WHY_TLS_RUSTLS,
	WHY__MAX,
};

static const char *const why_names[] = {
	[WHY_NONE] = "",
	[WHY_IDLE] = "no bytes in this time",
	[WHY_MIDSTREAM] = "opened before the start",
	[WHY_IO_URING] = "io_uring",
	[WHY_BLIND] = "sendfile, splice, recvmmsg or a 32-bit program",
	[WHY_OUTSIDE] = "not part of a whole call",
	[WHY_UNCLASSIFIED] = "unclassified",
	[WHY_TLS_KERNEL] = "no TLS library is watched on this kernel (since Linux 5.15)",
	[WHY_TLS_UNKNOWN] = "unknown TLS library",
	[WHY_TLS_STRIPPED] = "stripped static OpenSSL: --tls-at names its functions",
	[WHY_TLS_BORING] = "stripped static BoringSSL: --tls-at names its functions",
	[WHY_TLS_NSS] = "NSS",
	[WHY_TLS_JAVA] = "JSSE (Java)",
	[WHY_TLS_GO] = "crypto/tls (Go)",
	[WHY_TLS_RUSTLS] = "rustls",
};
_Static_assert(ARRAY_SIZE(why_names) == WHY__MAX, "a name per reason");

/* Reasons that are causes of loss, too. */
static const uint32_t why_causes[] = {
	[WHY_NO_MEMORY] = SONDE_LOST_CALL_MEMORY,
	[WHY_NO_REQUEST] = SONDE_LOST_NO_REQUEST,
};

static const char *why_text(enum why why)
{
	return why_names[why] ? why_names[why] : core_lost_why(why_causes[why]);
}

struct key {
	uint64_t number; /* the socket's cookie; of Go without one the connection's address */
	uint64_t layer;
};

struct watched {
	uint64_t bytes, blind; /* by records; without content */
	uint64_t called, calls;
	enum why lost; /* calls that are missing */
	char protocol[WORD_BYTES], source[WORD_BYTES];
	bool midstream, tls, old; /* tls: its plain text is unknown; old: open before the run */
};

struct row {
	const char *protocol, *source;
	enum why why;
	uint64_t conns, calls, seen, unseen;
};

struct rpc_classes {
	struct map conns; /* struct key -> struct watched */
	struct rpc_program program;
	uint32_t pid;
};

int rpc_classes_new(uint32_t pid, struct rpc_classes **ret)
{
	struct rpc_classes *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	map_init(&c->conns, sizeof(struct key), sizeof(struct watched));
	c->pid = pid;
	*ret = c;
	return 0;
}

void rpc_classes_free(struct rpc_classes *c)
{
	if (!c)
		return;
	map_fini(&c->conns);
	free(c);
}

static struct watched *find(const struct rpc_classes *c, uint64_t number, enum layer layer)
{
	const struct key key = { .number = number, .layer = layer };

	return map_find(&c->conns, &key);
}

/* NULL at the limit, or without memory. */
static struct watched *get(struct rpc_classes *c, uint64_t number, enum layer layer)
{
	const struct key key = { .number = number, .layer = layer };
	struct watched *found = map_find(&c->conns, &key);

	return found || c->conns.len >= CONNS_MAX ? found : map_add(&c->conns, &key, NULL);
}

static void set_word(char to[WORD_BYTES], const char *word)
{
	snprintf(to, WORD_BYTES, "%s", word);
}

/* ---- records ---- */

static int take_record(struct sink *s, const struct sonde_rec *r)
{
	struct rpc_classes *c = s->opts->ctx;
	struct call_seen seen;
	struct watched *conn;

	if (r->tgid != c->pid || !call_seen_of(r, &seen))
		return 0;
	conn = get(c, seen.cookie, seen.plain ? LAYER_PLAIN : LAYER_SOCKET);
	if (!conn)
		return 0;
	conn->bytes += seen.bytes;
	conn->blind += seen.blind ? seen.bytes : 0;
	conn->midstream |= seen.midstream;
	if (!conn->calls && *seen.protocol)
		set_word(conn->protocol, seen.protocol);
	if (!*conn->source)
		set_word(conn->source, seen.source);
	return 0;
}

/* ---- events ---- */

static const struct field *field_of(const struct event *ev, const char *word)
{
	return event_field_named(ev->desc->fields, ev->desc->n_fields, word);
}

static uint64_t number_of(const struct event *ev, const char *word)
{
	const struct field *f = field_of(ev, word);
	uint64_t n = 0;

	return f && event_get_number(ev, f, &n) == 0 ? n : 0;
}

static void word_of(const struct event *ev, const char *word, char to[WORD_BYTES])
{
	const struct field *f = field_of(ev, word);
	struct value v = { 0 };

	if (f && event_get(ev, f, &v) == 0 && v.kind == VAL_STR)
		snprintf(to, WORD_BYTES, "%.*s", (int)MIN(v.len, (size_t)WORD_BYTES), v.str);
}

static enum layer layer_of(const char *source)
{
	if (!strcmp(source, "go"))
		return LAYER_GO;
	return strcmp(source, "socket") ? LAYER_PLAIN : LAYER_SOCKET;
}

static void take_loss(const struct rpc_classes *c, const struct event *ev)
{
	struct watched *conn = find(c, ev->keys.cookie, LAYER_PLAIN);
	const struct core_lost *l = ev->body;

	conn = conn ? conn : find(c, ev->keys.cookie, LAYER_SOCKET);
	for (size_t i = WHY_NO_MEMORY; conn && i < ARRAY_SIZE(why_causes); i++)
		conn->lost = why_causes[i] == l->cause ? (enum why)i : conn->lost;
}

static int take_event(struct sink *s, const struct event *ev)
{
	struct rpc_classes *c = s->opts->ctx;
	char source[WORD_BYTES] = "";
	struct watched *conn;
	enum layer layer;

	if (ev->desc == &core_lost_desc && ev->tgid == c->pid)
		take_loss(c, ev);
	if (strcmp(ev->desc->name, "rpc.call") || ev->tgid != c->pid)
		return 0;
	word_of(ev, "rpc.source", source);
	layer = layer_of(source);
	conn = get(c, layer == LAYER_GO && !ev->keys.cookie ? ev->keys.rpc_conn : ev->keys.cookie, layer);
	if (!conn)
		return 0;
	set_word(conn->source, source);
	word_of(ev, "rpc.kind", conn->protocol);
	conn->calls++;
	conn->called += number_of(ev, "rpc.sent") + number_of(ev, "rpc.received");
	return 0;
}

const struct sink_ops rpc_classes_sink = {
	.name = "rpc classes",
	.summary = "classes of connections",
	.flags = SINK_RAW | SINK_AT_CLOSE,
	.event = take_event,
	.record = take_record,
};

/* ---- the host ---- */

/* Events name sockets by their inodes where these had no cookie. */
static struct watched *find_socket(const struct rpc_classes *c, const struct rpc_socket *s, enum layer layer)
{
	struct watched *conn = find(c, s->cookie, layer);

	return conn ? conn : find(c, s->inode | SONDE_ID_SOCK_INODE, layer);
}

/* @bytes: of this run. */
static int add_socket(struct rpc_classes *c, const struct rpc_socket *s, uint64_t bytes, bool old)
{
	struct watched *plain = find_socket(c, s, LAYER_PLAIN), *conn = find_socket(c, s, LAYER_SOCKET);

	if (plain) {
		plain->old = old;
		plain->tls = !plain->bytes && !plain->calls;
		plain->bytes = plain->tls ? bytes : plain->bytes;
		return 0;
	}
	if (conn || find_socket(c, s, LAYER_GO))
		return 0;
	conn = get(c, s->cookie, LAYER_SOCKET);
	if (!conn)
		return -ENOMEM;
	conn->bytes = bytes;
	conn->old = old;
	return 0;
}

int rpc_classes_add_host(struct rpc_classes *c, const struct rpc_sockets *before, const struct rpc_sockets *after,
			 const struct rpc_program *program)
{
	int r = 0;

	c->program = *program;
	for (size_t i = 0; r >= 0 && i < after->all.len; i++) {
		const struct rpc_socket *s = &after->all.items[i], *was = rpc_sockets_find(before, s->cookie);

		r = add_socket(c, s, s->bytes - (was ? MIN(was->bytes, s->bytes) : 0), was != NULL);
	}
	return r;
}

/* ---- reasons ---- */

static enum why why_of_tls(const struct rpc_classes *c, const struct watched *conn)
{
	if (c->program.tls_hidden)
		return WHY_TLS_KERNEL;
	switch (c->program.tls) {
	case RPC_PROGRAM_TLS_WATCHED: return conn->old || conn->midstream ? WHY_MIDSTREAM : WHY_UNCLASSIFIED;
	case RPC_PROGRAM_TLS_STRIPPED: return WHY_TLS_STRIPPED;
	case RPC_PROGRAM_TLS_BORING: return WHY_TLS_BORING;
	case RPC_PROGRAM_TLS_NSS: return WHY_TLS_NSS;
	case RPC_PROGRAM_TLS_JAVA: return WHY_TLS_JAVA;
	case RPC_PROGRAM_TLS_GO: return WHY_TLS_GO;
	case RPC_PROGRAM_TLS_RUSTLS: return WHY_TLS_RUSTLS;
	case RPC_PROGRAM_TLS_UNKNOWN:
	case RPC_PROGRAM_TLS__MAX: break;
	}
	return WHY_TLS_UNKNOWN;
}

static bool is_tls(const struct watched *conn, enum layer layer)
{
	return layer == LAYER_PLAIN && !conn->calls && (conn->tls || !conn->bytes);
}

static enum why why_of(const struct rpc_classes *c, const struct watched *conn, enum layer layer)
{
	if (is_tls(conn, layer))
		return why_of_tls(c, conn);
	if (conn->calls && conn->called >= conn->bytes) /* bytes of Go are unknown */
		return WHY_NONE;
	if (!conn->bytes)
		return WHY_IDLE;
	if (conn->lost)
		return conn->lost;
	if (!*conn->source && layer == LAYER_SOCKET) /* no record: the programs ignored it */
		return c->program.io_uring ? WHY_IO_URING : WHY_UNCLASSIFIED;
	if (conn->blind && !conn->calls)
		return c->program.io_uring ? WHY_IO_URING : WHY_BLIND;
	if (conn->midstream)
		return WHY_MIDSTREAM;
	return WHY_OUTSIDE;
}

/* ---- rows ---- */

struct rows {
	VEC(struct row) all;
};

static int by_class(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return COMPARE(y->calls, x->calls) ?: strcmp(x->protocol, y->protocol) ?: strcmp(x->source, y->source) ?:
	       COMPARE(x->why, y->why);
}

static struct row *row_of(struct rows *rows, const char *protocol, const char *source, enum why why)
{
	vec_each(row, &rows->all) {
		if (row->why == why && !strcmp(row->protocol, protocol) && !strcmp(row->source, source))
			return row;
	}
	if (vec_push(&rows->all, (struct row){ .protocol = protocol, .source = source, .why = why }) < 0)
		return NULL;
	return &rows->all.items[rows->all.len - 1];
}

static int make_rows(const struct rpc_classes *c, struct rows *rows)
{
	size_t pos = 0;
	void *key, *val;

	while (map_next(&c->conns, &pos, &key, &val)) {
		const struct watched *conn = val;
		const enum layer layer = ((const struct key *)key)->layer;
		const char *protocol = is_tls(conn, layer) ? "tls" : *conn->protocol ? conn->protocol : "?";
		struct row *row =
			row_of(rows, protocol, *conn->source ? conn->source : "-", why_of(c, conn, layer));

		if (!row)
			return -ENOMEM;
		row->conns++;
		row->calls += conn->calls;
		row->seen += conn->called;
		row->unseen += conn->bytes > conn->called ? conn->bytes - conn->called : 0;
	}
	vec_sort(&rows->all, by_class);
	return 0;
}

static void json_row(const struct row *row, struct buf *out)
{
	struct json j = { .out = out };

	json_open(&j, '{');
	json_put_u64(&j, "v", 1);
	json_put_text(&j, "type", "connections");
	json_put_text(&j, "protocol", row->protocol);
	json_put_text(&j, "source", row->source);
	json_put_u64(&j, "connections", row->conns);
	json_put_u64(&j, "calls", row->calls);
	json_put_u64(&j, "seen", row->seen);
	json_put_u64(&j, "not_seen", row->unseen);
	json_put_text(&j, "why", why_text(row->why));
	json_close(&j, '}');
	buf_add_char(out, '\n');
}

static void text_row(const struct row *row, struct buf *out)
{
	buf_printf(out, "%-10s %-8s %6" PRIu64 " %9" PRIu64 " %12" PRIu64 " %12" PRIu64 "%s%s\n", row->protocol,
		   row->source, row->conns, row->calls, row->seen, row->unseen, row->why ? "  " : "",
		   why_text(row->why));
}

int rpc_classes_print(const struct rpc_classes *c, bool json, struct buf *out)
{
	struct rows rows = { 0 };
	int r = make_rows(c, &rows);

	if (r >= 0 && !json && rows.all.len)
		buf_printf(out, "%-10s %-8s %6s %9s %12s %12s  %s\n", "PROTOCOL", "SOURCE", "CONNS", "CALLS",
			   "BYTES SEEN", "NOT SEEN", "WHY NOT");
	if (r >= 0 && !json && !rows.all.len)
		buf_add_str(out, "no connections\n");
	for (size_t i = 0; r >= 0 && i < rows.all.len; i++) {
		if (json)
			json_row(&rows.all.items[i], out);
		else
			text_row(&rows.all.items[i], out);
	}
	vec_fini(&rows.all);
	return r < 0 ? r : buf_error(out);
}
