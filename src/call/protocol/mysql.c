// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * MySQL and MariaDB ("Client/Server Protocol" of both manuals).
 *
 * A packet is a length of three bytes, a sequence number and the payload. A command has number 0; its response goes
 * on until a packet ends the last result. The packets of a result show whether EOF packets are in use: EOF is five
 * bytes, OK in its place at least seven.
 */
#include <string.h>

#include "call/call_frame.h"
#include "call/call_names.h"
#include "call/call_protocol.h"
#include "call/call_queue.h"
#include "call/call_sql.h"

#define HEADER 4
#define PACKET_MAX 0xffffffu	/* a packet of this length goes on in the next one */
#define READ_MAX 8192
#define NAME_BYTES 64
#define ROWS_LOST UINT64_MAX	/* some were not seen */

#define CAP_CONNECT_WITH_DB 0x8u
#define CAP_COMPRESS 0x20u
#define CAP_SSL 0x800u
#define CAP_LENENC_AUTH 0x200000u
#define CAP_ATTRIBUTES 0x8000000u	/* CLIENT_QUERY_ATTRIBUTES */
#define STATUS_MORE 0x8u		/* results follow */
#define STATUS_CURSOR 0x40u		/* rows are fetched later */
#define STATUS_NO_BACKSLASH 0x200u

enum {
	COM_QUIT = 0x01, COM_INIT_DB = 0x02, COM_QUERY = 0x03, COM_FIELD_LIST = 0x04, COM_STATISTICS = 0x09,
	COM_PING = 0x0e, COM_CHANGE_USER = 0x11, COM_BINLOG_DUMP = 0x12, COM_STMT_PREPARE = 0x16,
	COM_STMT_EXECUTE = 0x17, COM_STMT_LONG_DATA = 0x18, COM_STMT_CLOSE = 0x19, COM_STMT_RESET = 0x1a,
	COM_STMT_FETCH = 0x1c, COM_BINLOG_DUMP_GTID = 0x1e, COM_RESET_CONNECTION = 0x1f, COM_MAX = 0x20,
	COM_STMT_BULK_EXECUTE = 0xfa,	/* MariaDB */
};

enum phase {
	PHASE_FIRST,	/* packet of a result */
	PHASE_COLUMNS,
	PHASE_ROWS,
	PHASE_PREPARED, /* definitions behind the response to a prepare */
	PHASE__MAX,
};

struct mysql {
	bool greeted;		/* the response to the greeting comes next */
	bool asking;		/* the command ends with it */
	bool continued[CALL_SIDE__MAX];	/* the next packet belongs to the one before */
	uint8_t phase;
	uint8_t asked;		/* number of the last packet of a request */
	bool answering;		/* the response ends with the content that is passed over */
	uint8_t backslash;	/* enum call_sql_backslash */
	uint32_t caps;		/* of both sides */
	uint64_t left;		/* columns or definitions to come */
	uint64_t rows;
	struct call_names statements;
	char database[NAME_BYTES];
};

/* ---- fields ---- */

static uint32_t u24_at(const uint8_t *b)
{
	return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16;
}

/* Length-encoded integer. */
static uint64_t cur_lenenc(struct cursor *c)
{
	uint8_t first = cur_u8(c);
	uint64_t low;

	if (first < 0xfb)
		return first;
	if (first == 0xfc)
		return cur_u16(c);
	if (first == 0xfd) {
		low = cur_u16(c);
		return low | (uint64_t)cur_u8(c) << 16;
	}
	return first == 0xfe ? cur_u64(c) : 0;
}

/* ---- first bytes ---- */

static bool is_greeting(const uint8_t *bytes, size_t len)
{
	uint32_t size = u24_at(bytes);

	return size > 30 && size < 512 && !bytes[3] && bytes[4] == 10 && len > 6 && bytes[5] >= '3' &&
	       bytes[5] <= '9';
}

static bool is_command(const uint8_t *bytes, size_t len)
{
	uint32_t size = u24_at(bytes);

	if (bytes[3] || !size)
		return false;
	switch (bytes[4]) {
	case COM_QUERY:
	case COM_STMT_PREPARE:
		return size > 4 && len > 5 && (bytes[5] >= '\t' || bytes[5] == 0) && bytes[5] < 0x80;
	case COM_STMT_EXECUTE:
		return size >= 10;
	case COM_PING:
	case COM_RESET_CONNECTION:
	case COM_STATISTICS:
	case COM_QUIT:
		return size == 1;
	case COM_INIT_DB:
		return size > 1 && size < 256;
	case COM_STMT_CLOSE:
	case COM_STMT_RESET:
		return size == 5;
	default:
		return false;
	}
}

static enum call_look mysql_resume(const uint8_t *bytes, size_t len, enum call_side side)
{
	if (len < HEADER + 1)
		return CALL_LOOK_MORE;
	if (side == CALL_SIDE_REQUEST)
		return is_command(bytes, len) ? CALL_LOOK_REQUEST : CALL_LOOK_NO;
	return bytes[3] == 1 && u24_at(bytes) ? CALL_LOOK_RESPONSE : CALL_LOOK_NO;
}

static enum call_look mysql_classify(const uint8_t *bytes, size_t len)
{
	if (len < HEADER + 3)
		return len > 3 && bytes[3] ? CALL_LOOK_NO : CALL_LOOK_MORE;
	if (is_greeting(bytes, len))
		return CALL_LOOK_RESPONSE;
	/* A command of a connection from before is alone in its turn, or whole at least. */
	return is_command(bytes, len) && u24_at(bytes) + HEADER >= len ? CALL_LOOK_REQUEST : CALL_LOOK_NO;
}

/* ---- greeting and authentication ---- */

static void take_greeting(struct mysql *p, struct cursor c)
{
	size_t len;
	uint32_t caps;

	cur_skip(&c, 1);
	call_frame_string(&c, &len);
	cur_skip(&c, 4 + 8 + 1);
	caps = cur_u16(&c);
	cur_skip(&c, 1 + 2);
	p->caps = caps | (uint32_t)cur_u16(&c) << 16;
	p->greeted = true;
}

/* The response to the greeting: what both can, and the database. */
static void take_handshake(struct mysql *p, struct call_io *io, struct cursor c)
{
	uint32_t caps = cur_u32(&c);
	size_t len;
	const char *name;

	if ((caps & CAP_SSL) && cur_left(&c) == 28) {
		io->to = CALL_SWITCH_TLS;
		return;
	}
	p->greeted = false;
	p->caps &= caps;
	if (p->caps & CAP_COMPRESS)
		io->to = CALL_SWITCH_COMPRESSED;
	cur_skip(&c, 4 + 1 + 23);
	call_frame_string(&c, &len);	/* user */
	if (caps & CAP_LENENC_AUTH)
		cur_skip(&c, cur_lenenc(&c));
	else
		cur_skip(&c, cur_u8(&c));
	name = caps & CAP_CONNECT_WITH_DB ? call_frame_string(&c, &len) : NULL;
	if (!name || len >= NAME_BYTES)
		return;
	memcpy(p->database, name, len);
	p->database[len] = '\0';
}

/* ---- commands ---- */

static const char *command_name(uint8_t command)
{
	switch (command) {
	case COM_INIT_DB: return "INIT DB";
	case COM_FIELD_LIST: return "FIELD LIST";
	case COM_STATISTICS: return "STATISTICS";
	case COM_PING: return "PING";
	case COM_CHANGE_USER: return "CHANGE USER";
	case COM_STMT_RESET: return "RESET STATEMENT";
	case COM_STMT_FETCH: return "FETCH";
	case COM_RESET_CONNECTION: return "RESET CONNECTION";
	default: return "COMMAND";
	}
}

static void take_sql(struct mysql *p, struct call_io *io, struct call *c, struct cursor body, bool cut)
{
	uint8_t backslash = p->backslash;

	/* Without query attributes two numbers stand before the text: none, and one set. */
	if (((p->caps & CAP_ATTRIBUTES) || !cur_peek(&body, 0)) && c->note == COM_QUERY) {
		if (cur_lenenc(&body)) {
			c->incomplete |= CALL_INCOMPLETE_CUT;
			return;
		}
		cur_lenenc(&body);
	}
	if (backslash == CALL_SQL_BACKSLASH_UNKNOWN && !io->queue->midstream)
		backslash = CALL_SQL_BACKSLASH_ESCAPES;
	call_sql_describe(c, io->conf, body.pos, cur_left(&body), cut, CALL_SQL_MYSQL, backslash);
}

static void take_database(struct mysql *p, struct call *c, struct cursor body)
{
	size_t len = cur_left(&body);

	if (!len || len >= NAME_BYTES)
		return;
	call_entry_set(c, CALL_TEXT_RESOURCE, body.pos, len);
	memcpy(p->database, body.pos, len);
	p->database[len] = '\0';
}

static bool has_no_response(uint8_t command)
{
	return command == COM_QUIT || command == COM_STMT_LONG_DATA || command == COM_STMT_CLOSE;
}

static enum call_feed take_command(struct mysql *p, struct call_io *io, struct cursor body, bool cut)
{
	uint8_t command = cur_u8(&body);
	struct cursor rest = body;
	struct call *c;

	if (command > COM_MAX && command != COM_STMT_BULK_EXECUTE)
		return CALL_FEED_BAD;
	if (command == COM_BINLOG_DUMP || command == COM_BINLOG_DUMP_GTID)
		return CALL_FEED_LOST;
	if (command == COM_STMT_CLOSE)
		call_names_remove(&p->statements, io->queue->pool, cur_u32(&rest));
	if (has_no_response(command))
		return CALL_FEED_OK;
	c = call_queue_open(io);
	if (!c)
		return CALL_FEED_OK;
	c->note = command;
	p->asking = true;
	if (p->database[0])
		call_entry_set_str(c, CALL_TEXT_DATABASE, p->database);
	if (command == COM_QUERY || command == COM_STMT_PREPARE)
		take_sql(p, io, c, body, cut);
	else if (command == COM_STMT_EXECUTE || command == COM_STMT_BULK_EXECUTE) {
		if (!call_names_get(&p->statements, cur_u32(&rest), c))
			c->incomplete |= CALL_INCOMPLETE_MIDSTREAM;
	} else
		call_entry_set_str(c, CALL_TEXT_OPERATION, command_name(command));
	if (command == COM_INIT_DB)
		take_database(p, c, body);
	return CALL_FEED_OK;
}

static enum call_feed take_request(struct mysql *p, struct call_io *io, uint8_t seq, struct cursor body, bool cut)
{
	struct call *c = call_queue_youngest(io);

	if (p->greeted) {
		take_handshake(p, io, body);
		return CALL_FEED_OK;
	}
	if (seq == 0 && cur_left(&body) + io->skip)
		return take_command(p, io, body, cut);
	/* Authentication, or the file of LOCAL INFILE: both follow a response. */
	if (c && !c->response.begun)
		return CALL_FEED_BAD;
	if (c && c->note == COM_QUERY)
		p->asking = true;
	return CALL_FEED_OK;
}

/* ---- responses ---- */

static void take_status(struct mysql *p, uint16_t status)
{
	p->backslash = status & STATUS_NO_BACKSLASH ? CALL_SQL_BACKSLASH_PLAIN : CALL_SQL_BACKSLASH_ESCAPES;
}

/* The end of a result: another one may follow. */
static void end_result(struct mysql *p, uint16_t status)
{
	take_status(p, status);
	p->phase = PHASE_FIRST;
	p->answering = !(status & STATUS_MORE);
}

static void add_rows(struct call *c, uint64_t rows)
{
	if (c && rows != ROWS_LOST)
		c->rows = (c->rows == CALL_ROWS_NONE ? 0 : c->rows) + rows;
}

static void take_error(struct mysql *p, struct call *c, struct cursor body)
{
	const char *state;

	p->phase = PHASE_FIRST;
	p->answering = true;
	if (!c)
		return;
	cur_skip(&body, 1);
	c->status = cur_u16(&body);
	c->error = CALL_ERROR_FAILED;
	state = cur_u8(&body) == '#' ? cur_bytes(&body, 5) : NULL;
	if (state)
		call_entry_set(c, CALL_TEXT_STATUS, state, 5);
}

/* OK, also in the place of EOF. */
static void take_ok(struct mysql *p, struct call *c, struct cursor body, bool counts)
{
	uint64_t rows;

	cur_skip(&body, 1);
	rows = cur_lenenc(&body);
	cur_lenenc(&body);
	if (counts)
		add_rows(c, rows);
	end_result(p, cur_u16(&body));
}

static void take_prepared(struct mysql *p, struct call_io *io, struct call *c, struct cursor body)
{
	uint32_t id;
	uint16_t columns, parameters;

	cur_skip(&body, 1);
	id = cur_u32(&body);
	columns = cur_u16(&body);
	parameters = cur_u16(&body);
	call_names_set(&p->statements, io->queue->pool, id, c);
	p->left = (uint64_t)columns + parameters;
	p->phase = PHASE_PREPARED;
	p->answering = !p->left;
}

static bool is_statement(uint8_t command)
{
	return command == COM_QUERY || command == COM_STMT_PREPARE || command == COM_STMT_EXECUTE ||
	       command == COM_STMT_BULK_EXECUTE;
}

static void take_first(struct mysql *p, struct call_io *io, struct call *c, uint64_t size, struct cursor body)
{
	uint8_t first = cur_peek(&body, 0);
	uint8_t command = c ? c->note : COM_QUERY;

	p->rows = 0;
	if (first == 0xff)
		take_error(p, c, body);
	else if (first == 0xfe && size == 5 && is_statement(command))
		return;		/* EOF behind the definitions of a prepare */
	else if (command == COM_STMT_PREPARE && !first && c)
		take_prepared(p, io, c, body);
	else if (command == COM_STMT_FETCH || command == COM_FIELD_LIST) {
		p->phase = PHASE_ROWS;
		p->rows = 1;
	} else if (first == 0xfb && c)
		c->request.done = false;	/* LOCAL INFILE: the client sends the file */
	else if (command == COM_CHANGE_USER && first)
		p->phase = PHASE_FIRST;		/* authentication */
	else if (command == COM_STATISTICS)
		p->answering = true;
	else if (!first || (first == 0xfe && size < 9))
		take_ok(p, c, body, command != COM_PING && command != COM_INIT_DB);
	else {
		p->left = cur_lenenc(&body);
		p->phase = PHASE_COLUMNS;
	}
}

/* Behind the columns: rows, or EOF and then rows. */
static void take_row(struct mysql *p, struct call *c, uint64_t size, struct cursor body, bool behind_columns)
{
	uint8_t first = cur_peek(&body, 0);
	uint16_t status;

	p->phase = PHASE_ROWS;
	if (first == 0xff) {
		take_error(p, c, body);
	} else if (first == 0xfe && size == 5) {
		cur_skip(&body, 3);
		status = cur_u16(&body);
		if (behind_columns && !(status & STATUS_CURSOR))
			return;
		add_rows(c, p->rows);
		end_result(p, status);
	} else if (first == 0xfe && size < PACKET_MAX) {
		add_rows(c, p->rows);
		take_ok(p, c, body, false);
	} else {
		p->rows++;
	}
}

/* Definitions of parameters and columns; with EOF packets one behind each list. */
static void take_definition(struct mysql *p, uint64_t size, struct cursor body)
{
	if (cur_peek(&body, 0) == 0xfe && size == 5)
		return;
	p->answering = !--p->left;
}

/* The first packet of a response to @command by its number, length and first byte: random bytes are none. */
static bool is_first(const struct mysql *p, uint8_t command, uint64_t size, uint8_t seq, uint8_t first)
{
	if (!size || seq != (uint8_t)(p->asked + 1))
		return false;
	if (!is_statement(command))
		return true;
	switch (first) {
	case 0x00: return size >= 7;
	case 0xfb: return size < READ_MAX;	/* LOCAL INFILE and a path */
	case 0xfe: return size < 9;
	case 0xff: return size >= 3 && size < READ_MAX;
	default: return size <= 10;		/* the number of columns, and MariaDB's flag */
	}
}

static enum call_feed take_response(struct mysql *p, struct call_io *io, uint64_t size, uint8_t seq,
				    struct cursor body)
{
	struct call *c = call_queue_oldest(io);

	if (!c && p->phase == PHASE_FIRST) {
		if (cur_peek(&body, 0) == 10 && size > 30)
			take_greeting(p, body);
		return CALL_FEED_OK;
	}
	/* Of this packet only the header was seen: whether it ends the response is unknown. */
	if (size && !cur_left(&body) && p->phase != PHASE_PREPARED && !(p->phase == PHASE_COLUMNS && p->left))
		return CALL_FEED_LOST;
	if (c && !c->response.begun && !io->queue->confirmed && p->phase == PHASE_FIRST &&
	    !is_first(p, c->note, size, seq, cur_peek(&body, 0)))
		return CALL_FEED_BAD;
	call_queue_answer(io, c);
	switch ((enum phase)p->phase) {
	case PHASE_FIRST:
		take_first(p, io, c, size, body);
		break;
	case PHASE_COLUMNS:
		if (p->left)
			p->left--;
		else
			take_row(p, c, size, body, true);
		break;
	case PHASE_ROWS:
		take_row(p, c, size, body, false);
		break;
	case PHASE_PREPARED:
		take_definition(p, size, body);
		break;
	case PHASE__MAX:
		break;
	}
	return CALL_FEED_OK;
}

/* ---- packets ---- */

static enum call_feed mysql_feed(void *state, struct call_io *io)
{
	struct mysql *p = state;
	bool continued = p->continued[io->side], cut;
	struct cursor body;
	uint32_t size;
	uint8_t seq;

	if (cur_left(&io->c) < HEADER)
		return io->partial ? CALL_FEED_LOST : CALL_FEED_OK;
	size = u24_at(io->c.pos);
	seq = io->c.pos[3];
	call_queue_unit(io);
	if (!call_frame_take(io, size + (uint64_t)HEADER, continued ? HEADER : READ_MAX, &body, &cut))
		return CALL_FEED_OK;
	cur_skip(&body, HEADER);
	p->continued[io->side] = size == PACKET_MAX;
	if (io->side == CALL_SIDE_REQUEST)
		p->asked = seq;
	if (continued)
		return CALL_FEED_OK;
	if (io->side == CALL_SIDE_REQUEST)
		return take_request(p, io, seq, body, cut);
	return take_response(p, io, size, seq, body);
}

/* A prepare that succeeded is not a call: no statement was executed. */
static void end_response(struct mysql *p, struct call_io *io)
{
	struct call *c = call_queue_oldest(io);

	p->answering = false;
	p->phase = PHASE_FIRST;
	if (c && c->note == COM_STMT_PREPARE && !c->error) {
		call_queue_confirm(io);
		call_queue_drop(io, c);
	} else {
		if (c)
			c->request.done = true;
		call_queue_answered(io, c);
	}
}

/* Ends that wait until content was passed over. */
static void mysql_settle(void *state, struct call_io *io)
{
	struct mysql *p = state;

	if (io->side == CALL_SIDE_REQUEST && p->asking && !p->continued[CALL_SIDE_REQUEST]) {
		p->asking = false;
		call_queue_asked(io, call_queue_youngest(io));
	} else if (io->side == CALL_SIDE_RESPONSE && p->answering) {
		end_response(p, io);
	}
}

static void mysql_reset(void *state, enum call_side side, const struct call_queue *queue)
{
	struct mysql *p = state;

	(void)queue;
	p->continued[side] = false;
	if (side == CALL_SIDE_REQUEST) {
		p->asking = p->greeted = false;
	} else {
		p->phase = PHASE_FIRST;
		p->answering = false;
	}
}

/* The packet that ends rows: EOF, OK in its place, or an error. */
static bool is_end(const uint8_t *payload, size_t size)
{
	if (payload[0] == 0xff)
		return size >= 9 && payload[3] == '#';
	return payload[0] == 0xfe && (size == 5 || (size >= 7 && size < 9 && !payload[1] && !payload[2]));
}

static size_t mysql_tail(void *state, const uint8_t *bytes, size_t len)
{
	struct mysql *p = state;

	for (size_t size = 5; size + HEADER <= len; size++) {
		const uint8_t *at = bytes + len - size - HEADER;

		if (u24_at(at) == size && is_end(at + HEADER, size)) {
			p->phase = PHASE_ROWS;
			p->rows = ROWS_LOST;
			return (size_t)(at - bytes);
		}
	}
	return len;
}

static void mysql_fini(void *state, struct call_pool *pool)
{
	struct mysql *p = state;

	call_names_fini(&p->statements, pool);
}

const struct call_protocol mysql_protocol = {
	.name = "mysql", .kind = CALL_KIND_MYSQL, .late_status = true, .ordered = true,
	.state_size = sizeof(struct mysql), .classify = mysql_classify, .resume = mysql_resume,
	.settle = mysql_settle, .feed = mysql_feed, .reset = mysql_reset, .tail = mysql_tail, .fini = mysql_fini,
};
