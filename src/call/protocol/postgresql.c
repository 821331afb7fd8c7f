// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * PostgreSQL's protocol 3 (PostgreSQL documentation, "Frontend/Backend Protocol").
 *
 * A call is a simple query, a function call, or one Execute with the Parse and Bind before it. Sync and Query begin a
 * new group; ReadyForQuery ends the oldest one. A call's key is the number of its group: behind an error the rest of
 * the group gets no response. The last call of a group ends with ReadyForQuery, which follows its commit.
 */
#include <string.h>

#include "base/macros.h"
#include "base/map.h"
#include "call/call_frame.h"
#include "call/call_names.h"
#include "call/call_protocol.h"
#include "call/call_queue.h"
#include "call/call_sql.h"

#define TYPED_HEADER 5			/* type and length */
#define MESSAGE_MAX (1u << 30)		/* as the server limits them */
#define LOOK_BYTES 2			/* of a message's content that decide what it is */
#define READ_MAX 8192			/* bytes of a message that are read */
#define FIRST_MAX (1u << 18)		/* of a response, whose first message has no row: 1,600 columns at most */
#define STARTUP_MAX 10000		/* MAX_STARTUP_PACKET_LENGTH */
#define CODE_V3 0x30000u		/* major 3; minor in the lower half */
#define CODE_CANCEL 80877102u
#define CODE_SSL 80877103u
#define CODE_GSSENC 80877104u
#define NAME_BYTES 64			/* NAMEDATALEN */
#define PORTALS 4			/* open ones that are remembered */

/* Bits of struct call's note. */
#define NOTE_SIMPLE 1	/* one of possibly several results, up to ReadyForQuery */
#define NOTE_PARSED 2	/* no Execute so far */
#define NOTE_SYNC 4	/* the last call of its group */
#define NOTE_RESULT 8	/* has a result or an error */

#define RESULTS "CEIs"	/* messages that end the response to a query or to an Execute */

struct postgresql {
	bool started[CALL_SIDE__MAX];	/* behind the phase without message types */
	bool building;		/* the youngest call waits for its Execute */
	bool asking;		/* the youngest call ends with the content that is passed over */
	bool bound;		/* the response to a Bind came: one to its Execute follows */
	uint8_t backslash;	/* enum call_sql_backslash */
	uint64_t sent, ready;	/* groups that the client ended, that the server ended */
	struct call_names statements;
	struct {
		uint64_t portal, statement; /* hashes of names */
	} portals[PORTALS];
	uint8_t next_portal;
	char database[NAME_BYTES];
};

/* ---- first bytes ---- */

static uint32_t u32_at(const uint8_t *bytes)
{
	struct cursor c = cur_init(bytes, 4);

	return cur_u32be(&c);
}

static bool is_startup(const uint8_t *bytes)
{
	uint32_t size = u32_at(bytes), code = u32_at(bytes + 4);

	if (size < 8 || size > STARTUP_MAX)
		return false;
	return code >> 16 == CODE_V3 >> 16 || (size == 8 && (code == CODE_SSL || code == CODE_GSSENC)) ||
	       (size == 16 && code == CODE_CANCEL);
}

/* Does the text from @at begin as a tag of CommandComplete does? */
static bool is_tag(const uint8_t *at, size_t len)
{
	return len > 1 && at[0] >= 'A' && at[0] <= 'Z' && at[1] >= 'A' && at[1] <= 'Z';
}

/* A typed message of a client; @at: behind the header. The types D, C, S, E and H have other meanings of a server. */
static bool is_request(uint8_t type, uint32_t size, const uint8_t *at, size_t len)
{
	switch (type) {
	case 'Q':
		return size > 4 && len && at[0] < 0x80 && (at[0] >= '\t' || (!at[0] && size == 5));
	case 'P':
		return size >= 8 && len && at[0] < 0x80;
	case 'B':
		return size >= 12;
	case 'D':
	case 'C':
		return size >= 6 && len && (at[0] == 'S' || at[0] == 'P') && !is_tag(at, len);
	case 'E':
		return size >= 9 && (size == 9 || (len && at[0]));
	case 'S':
	case 'H':
	case 'X':
		return size == 4;
	case 'F':
		return size >= 14;
	default:
		return strchr("pdcf", type) != NULL;
	}
}

static bool is_response(uint8_t type, uint32_t size, const uint8_t *at, size_t len)
{
	switch (type) {
	case 'R':
		return size >= 8 && len >= 1 && at[0] == 0;
	case 'Z':
		return size == 5 && (!len || strchr("ITE", at[0]));
	case '1':
	case '2':
	case '3':
	case 'n':
	case 'I':
	case 's':
	case 'c':
		return size == 4;
	case 'C':
		return is_tag(at, len);
	case 'E':
	case 'N':
		return size > 6 && len && at[0] == 'S' && (len < 2 || (at[1] >= 'A' && at[1] <= 'Z'));
	case 'T':
	case 'D':
		return size >= 6 && size != 9;
	case 'S':
		return size > 6;
	case 't':
		return size >= 6 && size % 4 == 2;
	case 'K':
		return size == 12;
	case 'G':
	case 'H':
	case 'W':
		return size >= 7;
	default:
		return strchr("Advp", type) && type;
	}
}

static enum call_look postgresql_resume(const uint8_t *bytes, size_t len, enum call_side side)
{
	bool asks = side == CALL_SIDE_REQUEST, fits;
	uint32_t size;

	if (len < TYPED_HEADER)
		return strchr(asks ? "QPBDCESHXFpdcf" : "RZ123nIscCENTDStKGHWAdv", bytes[0]) ? CALL_LOOK_MORE
											      : CALL_LOOK_NO;
	size = u32_at(bytes + 1);
	if (!bytes[0] || size < 4 || size > MESSAGE_MAX)
		return CALL_LOOK_NO;
	len = MIN(len - TYPED_HEADER, (size_t)size - 4);
	if (len < MIN((size_t)size - 4, (size_t)LOOK_BYTES))
		return CALL_LOOK_MORE;
	fits = asks ? is_request(bytes[0], size, bytes + TYPED_HEADER, len)
		    : is_response(bytes[0], size, bytes + TYPED_HEADER, len);
	return !fits ? CALL_LOOK_NO : asks ? CALL_LOOK_REQUEST : CALL_LOOK_RESPONSE;
}

static enum call_look postgresql_classify(const uint8_t *bytes, size_t len)
{
	enum call_look look;

	if (!len)
		return CALL_LOOK_MORE;
	if (bytes[0] == 0) {
		if (len < 8)
			return CALL_LOOK_MORE;
		return is_startup(bytes) ? CALL_LOOK_REQUEST : CALL_LOOK_NO;
	}
	if (strchr("QPB", bytes[0]))
		look = postgresql_resume(bytes, len, CALL_SIDE_REQUEST);
	else
		look = strchr("TZ12", bytes[0]) ? postgresql_resume(bytes, len, CALL_SIDE_RESPONSE) : CALL_LOOK_NO;
	/* The next message, if it is there, must fit too. */
	if (look >= CALL_LOOK_REQUEST && len > u32_at(bytes + 1) + 1u + TYPED_HEADER) {
		size_t next = u32_at(bytes + 1) + 1u;

		return postgresql_resume(bytes + next, len - next, look == CALL_LOOK_REQUEST ? CALL_SIDE_REQUEST
											     : CALL_SIDE_RESPONSE);
	}
	return look;
}

/* ---- startup ---- */

/* Name and value pairs; the database's name is the user's by default. */
static void take_parameters(struct postgresql *p, struct cursor c)
{
	bool named = false;

	while (cur_left(&c) > 1) {
		size_t name_len, len;
		const char *name = call_frame_string(&c, &name_len), *value = call_frame_string(&c, &len);
		bool database = name && name_len == 8 && memcmp(name, "database", 8) == 0;
		bool user = name && name_len == 4 && memcmp(name, "user", 4) == 0;

		if (!value || !(database || (user && !named)) || len >= NAME_BYTES)
			continue;
		memcpy(p->database, value, len);
		p->database[len] = '\0';
		named |= database;
	}
}

static enum call_feed feed_startup(struct postgresql *p, struct call_io *io)
{
	struct cursor body;
	uint32_t size;
	bool cut;

	if (cur_left(&io->c) < 8)
		return io->partial ? CALL_FEED_LOST : CALL_FEED_OK;
	if (io->c.pos[0]) {	/* typed messages: the connection began earlier */
		p->started[CALL_SIDE_REQUEST] = p->started[CALL_SIDE_RESPONSE] = true;
		return CALL_FEED_OK;
	}
	size = u32_at(io->c.pos);
	if (!is_startup(io->c.pos))
		return CALL_FEED_BAD;
	if (!call_frame_take(io, size, READ_MAX, &body, &cut))
		return CALL_FEED_OK;
	cur_skip(&body, 4);
	if (cur_u32be(&body) >> 16 == CODE_V3 >> 16) {
		take_parameters(p, body);
		p->started[CALL_SIDE_REQUEST] = true;
	}
	return CALL_FEED_OK;
}

/* One byte answers SSLRequest and GSSENCRequest; else the first message follows. */
static enum call_feed feed_answer(struct postgresql *p, struct call_io *io)
{
	uint8_t answer = cur_peek(&io->c, 0), next = cur_peek(&io->c, 1);

	if (!cur_left(&io->c))
		return io->partial ? CALL_FEED_LOST : CALL_FEED_OK;
	if (p->started[CALL_SIDE_REQUEST] || (cur_left(&io->c) > 1 && next == 0)) {
		p->started[CALL_SIDE_RESPONSE] = true;
		return CALL_FEED_OK;
	}
	cur_skip(&io->c, 1);
	if (answer == 'S' || answer == 'G')
		io->to = CALL_SWITCH_TLS;
	return answer == 'S' || answer == 'G' || answer == 'N' ? CALL_FEED_OK : CALL_FEED_BAD;
}

/* ---- requests ---- */

static uint64_t hash_of(const char *name, size_t len)
{
	return map_hash(len ? name : "", len);
}

/* The call that Parse, Bind and Execute build; opens it with the first of them. */
static struct call *build(struct postgresql *p, struct call_io *io)
{
	struct call *c = p->building ? call_queue_youngest(io) : NULL;

	if (c)
		return c;
	c = call_queue_open(io);
	p->building = c != NULL;
	if (!c)
		return NULL;
	c->key = p->sent;
	c->note = NOTE_PARSED;
	if (p->database[0])
		call_entry_set_str(c, CALL_TEXT_DATABASE, p->database);
	return c;
}

/* The last call of a group that ends: ReadyForQuery belongs to it. */
static void mark_last(const struct postgresql *p, struct call_io *io)
{
	struct call *c = call_queue_youngest(io);

	if (c && c->key == p->sent)
		c->note |= NOTE_SYNC;
}

static void take_query(struct postgresql *p, struct call_io *io, struct cursor body, bool cut)
{
	struct call *c;
	const char *sql;
	size_t len;

	p->building = false;
	c = build(p, io);
	p->building = false;
	mark_last(p, io);
	p->sent++;
	sql = call_frame_string(&body, &len);
	if (!c)
		return;
	c->note = NOTE_SIMPLE | NOTE_SYNC;
	p->asking = true;
	call_sql_describe(c, io->conf, sql, len, cut, CALL_SQL_POSTGRESQL, p->backslash);
}

static void take_parse(struct postgresql *p, struct call_io *io, struct cursor body, bool cut)
{
	size_t name_len, len;
	const char *name = call_frame_string(&body, &name_len), *sql = call_frame_string(&body, &len);
	struct call *c = build(p, io);

	if (!c)
		return;
	call_sql_describe(c, io->conf, sql, len, cut && !cur_left(&body), CALL_SQL_POSTGRESQL, p->backslash);
	call_names_set(&p->statements, io->queue->pool, hash_of(name, name_len), c);
}

static void take_bind(struct postgresql *p, struct call_io *io, struct cursor body)
{
	size_t portal_len, len;
	const char *portal = call_frame_string(&body, &portal_len), *name = call_frame_string(&body, &len);
	struct call *c = build(p, io);
	size_t at = 0;

	if (c && !call_names_get(&p->statements, hash_of(name, len), c))
		c->incomplete |= CALL_INCOMPLETE_MIDSTREAM;
	if (portal_len)	/* the unnamed portal has the first place */
		at = 1 + p->next_portal++ % (PORTALS - 1);
	p->portals[at].portal = hash_of(portal, portal_len);
	p->portals[at].statement = hash_of(name, len);
}

static void take_execute(struct postgresql *p, struct call_io *io, struct cursor body)
{
	bool built = p->building;
	size_t len;
	const char *portal = call_frame_string(&body, &len);
	struct call *c = build(p, io);

	p->building = false;
	if (!c)
		return;
	for (int i = 0; !built && i < PORTALS; i++)
		if (p->portals[i].portal == hash_of(portal, len))
			call_names_get(&p->statements, p->portals[i].statement, c);
	c->note &= (uint8_t)~NOTE_PARSED;
	p->asking = true;
}

static void take_sync(struct postgresql *p, struct call_io *io)
{
	struct call *c = call_queue_youngest(io);

	if (c && c->key == p->sent && c->note & NOTE_PARSED && io->queue->unpaired) {
		call_queue_drop(io, c);	/* a prepare alone is not a call unless it fails, which is unknown */
		c = NULL;
	}
	p->asking = c && c->key == p->sent && !c->response.begun;	/* the request includes it */
	p->building = false;
	mark_last(p, io);
	p->sent++;
}

static void take_function_call(struct postgresql *p, struct call_io *io)
{
	struct call *c = build(p, io);

	p->building = false;
	mark_last(p, io);
	p->sent++;
	if (!c)
		return;
	c->note = NOTE_SIMPLE | NOTE_SYNC;
	call_entry_set_str(c, CALL_TEXT_OPERATION, "FUNCTION CALL");
	p->asking = true;
}

static void take_request(struct postgresql *p, struct call_io *io, uint8_t type, struct cursor body, bool cut)
{
	struct call *c;

	switch (type) {
	case 'Q':
		take_query(p, io, body, cut);
		break;
	case 'P':
		take_parse(p, io, body, cut);
		break;
	case 'B':
		take_bind(p, io, body);
		break;
	case 'E':
		take_execute(p, io, body);
		break;
	case 'S':
		take_sync(p, io);
		break;
	case 'F':
		take_function_call(p, io);
		break;
	case 'c':
	case 'f':	/* the end of what COPY sends */
		c = call_queue_oldest(io);
		p->asking = c && !c->request.done;
		break;
	default:
		break;
	}
}

/* ---- responses ---- */

/* The number at the end of a tag: "INSERT 0 5", "SELECT 3". */
static void add_rows(struct call *c, struct cursor body)
{
	size_t len;
	const char *tag = call_frame_string(&body, &len);
	uint64_t rows = 0, unit = 1;

	if (!tag || !len || tag[len - 1] < '0' || tag[len - 1] > '9')
		return;
	for (; len && tag[len - 1] >= '0' && tag[len - 1] <= '9' && unit < UINT64_MAX / 10; unit *= 10)
		rows += unit * (uint64_t)(tag[--len] - '0');
	c->rows = (c->rows == CALL_ROWS_NONE ? 0 : c->rows) + rows;
}

/* Field C of an error is the SQLSTATE; others may quote values. */
static void take_error(struct call *c, struct cursor body)
{
	while (cur_left(&body)) {
		uint8_t field = cur_u8(&body);
		size_t len;
		const char *value = call_frame_string(&body, &len);

		if (field == 'C' && value && len == 5)
			call_entry_set(c, CALL_TEXT_STATUS, value, len);
	}
	c->error = CALL_ERROR_FAILED;
	c->note |= NOTE_RESULT;
}

/* The server has ended a group: calls without a result were passed over because of an error before them. */
static void end_group(struct postgresql *p, struct call_io *io)
{
	struct call *c = call_queue_oldest(io);

	for (; c && c->key == p->ready; c = call_queue_oldest(io)) {
		if ((c->note & NOTE_PARSED) && !c->error) {
			call_queue_confirm(io);
			call_queue_drop(io, c);
		} else if (c->note & NOTE_RESULT) {
			c->request.done = true;
			call_queue_answered(io, c);
		} else {
			c->error = CALL_ERROR_FAILED;
			call_queue_end(io, c, CALL_END_RESET);
		}
	}
	if (p->ready < p->sent)	/* else it ends the startup */
		p->ready++;
}

static void end_result(struct call_io *io, struct call *c)
{
	c->note = (uint8_t)((c->note | NOTE_RESULT) & ~NOTE_PARSED);	/* its Execute may be in a hole */
	if (!(c->note & NOTE_SYNC))
		call_queue_answered(io, c);
}

/* The call of a response whose request is in a hole: a portal's, or a simple query's up to ReadyForQuery. */
static struct call *hidden(struct postgresql *p, struct call_io *io, uint8_t type)
{
	struct call *c;

	if (!strchr(RESULTS, type) || (type == 'E' && !io->queue->hidden))	/* E ends idle connections, too */
		return NULL;
	c = call_queue_hidden(io);
	if (!c)
		return NULL;
	c->key = p->ready;
	c->note = p->bound ? 0 : NOTE_SIMPLE | NOTE_SYNC;
	return c;
}

/* standard_conforming_strings decides how strings end. */
static void take_setting(struct postgresql *p, struct cursor body)
{
	size_t name_len, len;
	const char *name = call_frame_string(&body, &name_len), *value = call_frame_string(&body, &len);

	if (name && value && name_len == 27 && memcmp(name, "standard_conforming_strings", 27) == 0)
		p->backslash = len == 2 ? CALL_SQL_BACKSLASH_PLAIN : CALL_SQL_BACKSLASH_ESCAPES;
}

static void take_response(struct postgresql *p, struct call_io *io, uint8_t type, struct cursor body)
{
	struct call *c = call_queue_oldest(io);

	if (type == 'S')
		take_setting(p, body);
	if (type == 'Z') {
		end_group(p, io);
		p->bound = false;
		return;
	}
	if (!c)
		c = hidden(p, io, type);
	p->bound = type == '2' || (p->bound && !strchr(RESULTS, type));
	if (!c || c->key != p->ready || strchr("SNARKv", type))
		return;
	if (type == 'G') {	/* the request goes on: what COPY sends */
		c->request.done = false;
		return;
	}
	call_queue_answer(io, c);
	if (type == 'C')
		add_rows(c, body);
	if (type == 'E')
		take_error(c, body);
	else if (type == 'V' || strchr(RESULTS, type))
		end_result(io, c);
}

/* ---- messages ---- */

/* Types whose content is read; the header says all of the others. */
static bool is_read(enum call_side side, uint8_t type)
{
	return strchr(side == CALL_SIDE_REQUEST ? "QPBE" : "CESZ", type) != NULL;
}

/* The first message of a response by its type and length, and its content if that is there: random bytes are none. */
static bool is_first(struct call_io *io, uint8_t type, uint32_t size)
{
	const struct call *c = call_queue_oldest(io);
	size_t len = cur_left(&io->c) - TYPED_HEADER;

	if (!c || c->response.begun)
		return true;
	if (size > FIRST_MAX)
		return false;
	return type == 'V' || len < MIN((size_t)size - 4, (size_t)LOOK_BYTES) ||
	       is_response(type, size, io->c.pos + TYPED_HEADER, MIN(len, (size_t)size - 4));
}

static enum call_feed feed_message(struct postgresql *p, struct call_io *io)
{
	static const char *const types[] = { "QPBDCESHXFpdcf", "RZ123nIscCENTDStKGHWAdvV" };
	uint8_t type = cur_peek(&io->c, 0);
	struct cursor body;
	uint32_t size;
	bool cut;

	if (cur_left(&io->c) < TYPED_HEADER)
		return io->partial ? CALL_FEED_LOST : CALL_FEED_OK;
	size = u32_at(io->c.pos + 1);
	if (!type || !strchr(types[io->side], type) || size < 4 || size > MESSAGE_MAX)
		return CALL_FEED_BAD;
	if (io->side == CALL_SIDE_RESPONSE && !io->queue->confirmed && !is_first(io, type, size))
		return CALL_FEED_BAD;
	call_queue_unit(io);
	if (!call_frame_take(io, size + 1ull, is_read(io->side, type) ? READ_MAX : TYPED_HEADER, &body, &cut))
		return CALL_FEED_OK;
	cur_skip(&body, TYPED_HEADER);
	if (io->side == CALL_SIDE_REQUEST)
		take_request(p, io, type, body, cut);
	else
		take_response(p, io, type, body);
	return CALL_FEED_OK;
}

static enum call_feed feed_unit(struct postgresql *p, struct call_io *io)
{
	if (!p->started[io->side])
		return io->side == CALL_SIDE_REQUEST ? feed_startup(p, io) : feed_answer(p, io);
	return feed_message(p, io);
}

static enum call_feed postgresql_feed(void *state, struct call_io *io)
{
	struct postgresql *p = state;
	enum call_feed r;
	const uint8_t *before;
	bool started;

	do {
		if (io->side == CALL_SIDE_REQUEST && p->asking) {
			p->asking = false;
			call_queue_asked(io, call_queue_youngest(io));
		}
		before = io->c.pos;
		started = p->started[io->side];
		r = feed_unit(p, io);
	} while (r == CALL_FEED_OK && !io->skip && io->to == CALL_SWITCH_NONE &&
		 (io->c.pos != before || started != p->started[io->side]));
	return r;
}

static void postgresql_reset(void *state, enum call_side side, const struct call_queue *queue)
{
	struct postgresql *p = state;

	p->started[side] = true;
	p->ready = queue->n ? queue->calls[0]->key : p->sent;
	if (side == CALL_SIDE_REQUEST)
		p->building = p->asking = false;
	else
		p->bound = false;
}

/* CommandComplete or an error, then ReadyForQuery. */
static size_t postgresql_tail(void *state, const uint8_t *bytes, size_t len)
{
	size_t ready = len - (TYPED_HEADER + 1);

	(void)state;
	if (len < TYPED_HEADER + 1 || bytes[ready] != 'Z' || u32_at(bytes + ready + 1) != 5 ||
	    !is_response('Z', 5, bytes + ready + TYPED_HEADER, 1))
		return len;
	for (size_t at = ready; at >= TYPED_HEADER + 2; at--) {
		const uint8_t *m = bytes + at - TYPED_HEADER - 2;	/* the shortest of them has two bytes */
		size_t size = (size_t)(bytes + ready - m) - 1;

		if ((m[0] == 'C' || m[0] == 'E') && u32_at(m + 1) == size && !bytes[ready - 1] &&
		    is_response(m[0], (uint32_t)size, m + TYPED_HEADER, size - 4))
			return (size_t)(m - bytes);
	}
	return len;
}

static void postgresql_fini(void *state, struct call_pool *pool)
{
	struct postgresql *p = state;

	call_names_fini(&p->statements, pool);
}

const struct call_protocol postgresql_protocol = {
	.name = "postgresql", .kind = CALL_KIND_POSTGRESQL, .late_status = true, .ordered = true,
	.state_size = sizeof(struct postgresql), .classify = postgresql_classify, .resume = postgresql_resume,
	.feed = postgresql_feed, .reset = postgresql_reset, .tail = postgresql_tail, .fini = postgresql_fini,
};
