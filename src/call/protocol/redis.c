// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Redis: RESP 2 and 3 (https://redis.io/docs/latest/develop/reference/protocol-spec/), inline commands.
 *
 * Replies follow the order of commands. Push messages, and in RESP 2 the messages of subscriptions, are no replies.
 * Keys are hashed. Arguments of commands that carry passwords or settings are not read.
 */
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "base/map.h"
#include "call/call_line.h"
#include "call/call_protocol.h"
#include "call/call_queue.h"

#define DEPTH_MAX 12		/* of nested replies */
#define WORD_MAX 32		/* bytes of a command */
#define KEY_MAX 256		/* bytes of a key that are hashed */
#define ARGS_MAX (1u << 20)
#define BULK_MAX (512ull << 20)	/* proto-max-bulk-len */

/* Bits of struct call's note. */
#define NOTE_SUBSCRIBE 1
#define NOTE_MONITOR 2

struct redis {
	/* Request. */
	uint32_t args, arg;	/* of the command; the next one */
	uint64_t bulk;		/* + 1: bytes of the argument that is read now; 0 = its length comes */
	bool asking;		/* the command ends with the content that is passed over */
	bool keyed, container;	/* the next argument is a key, a second word */
	/* Reply. */
	uint32_t left[DEPTH_MAX]; /* values to come, by depth */
	uint8_t depth;
	bool answering;		/* the value ends with the content that is passed over */
	bool message;		/* of a subscription, not a reply */
	bool peek;		/* its first element says so */
	bool subscribed, monitor;
	int32_t database;	/* -1 = unknown */
	bool begun;
};

/* ---- which protocol ---- */

/* Commands that may be the first of a connection that is recognized. */
static const char first_words[] =
	" APPEND ASKING AUTH BGSAVE BITCOUNT BLMOVE BLPOP BRPOP BZPOPMAX BZPOPMIN CLIENT CLUSTER COMMAND "
	"CONFIG COPY DBSIZE DECR DECRBY DEL DISCARD ECHO EVAL EVALSHA EXEC EXISTS EXPIRE EXPIREAT FLUSHALL "
	"FLUSHDB GEOADD GET GETDEL GETEX GETRANGE GETSET HDEL HELLO HEXISTS HGET HGETALL HINCRBY HKEYS HLEN "
	"HMGET HMSET HSCAN HSET HSETNX HVALS INCR INCRBY INCRBYFLOAT INFO KEYS LINDEX LINSERT LLEN LPOP LPUSH "
	"LPUSHX LRANGE LREM LSET LTRIM MGET MONITOR MSET MULTI OBJECT PERSIST PEXPIRE PFADD PFCOUNT PING "
	"PSETEX PSUBSCRIBE PTTL PUBLISH QUIT RANDOMKEY READONLY RENAME ROLE RPOP RPOPLPUSH RPUSH RPUSHX SADD "
	"SCAN SCARD SCRIPT SELECT SET SETBIT SETEX SETNX SETRANGE SINTER SISMEMBER SMEMBERS SMISMEMBER SPOP "
	"SRANDMEMBER SREM SSCAN SSUBSCRIBE STRLEN SUBSCRIBE SUNION TIME TOUCH TTL TYPE UNLINK UNWATCH WAIT "
	"WATCH XACK XADD XAUTOCLAIM XDEL XGROUP XINFO XLEN XPENDING XRANGE XREAD XREADGROUP XTRIM ZADD ZCARD "
	"ZCOUNT ZINCRBY ZPOPMAX ZPOPMIN ZRANGE ZRANGEBYSCORE ZRANK ZREM ZREVRANGE ZSCAN ZSCORE ";

static size_t upper(char to[static WORD_MAX + 1], const char *from, size_t len)
{
	size_t n = MIN(len, (size_t)WORD_MAX);

	for (size_t i = 0; i < n; i++)
		to[i] = (char)(from[i] >= 'a' && from[i] <= 'z' ? from[i] - 0x20 : from[i]);
	to[n] = '\0';
	return n;
}

/* Is the word in a list of words with blanks around each? */
static bool is_in(const char *list, const char *word, size_t len)
{
	char text[WORD_MAX + 3] = " ";
	size_t n = upper(text + 1, word, len);

	text[1 + n] = ' ';
	text[2 + n] = '\0';
	return len && len <= WORD_MAX && strstr(list, text) != NULL;
}

static enum call_look redis_classify(const uint8_t *bytes, size_t len)
{
	struct cursor c = cur_init(bytes, len);
	struct call_line count, size;
	uint64_t n, word_len;
	const char *word;

	if (len && len < 6 && memcmp(bytes, "PING\r\n", len) == 0)
		return CALL_LOOK_MORE;
	if (len >= 6 && memcmp(bytes, "PING\r\n", 6) == 0)
		return CALL_LOOK_REQUEST;
	if (len && bytes[0] != '*')
		return CALL_LOOK_NO;
	if (!call_line_take(&c, &count) || !call_line_take(&c, &size))
		return len < 32 ? CALL_LOOK_MORE : CALL_LOOK_NO;
	call_line_word(&count, '*');
	if (!call_line_number(&count, 10, &n) || !n || n > ARGS_MAX || call_line_word(&size, '$').len ||
	    !call_line_number(&size, 10, &word_len) || word_len > WORD_MAX)
		return CALL_LOOK_NO;
	word = cur_bytes(&c, word_len);
	if (!word)
		return CALL_LOOK_MORE;
	return is_in(first_words, word, word_len) ? CALL_LOOK_REQUEST : CALL_LOOK_NO;
}

static enum call_look redis_resume(const uint8_t *bytes, size_t len, enum call_side side)
{
	if (side == CALL_SIDE_REQUEST)
		return redis_classify(bytes, len);
	return len && strchr("+-:$*_#,(!=%~>|", bytes[0]) && bytes[0] ? CALL_LOOK_RESPONSE : CALL_LOOK_NO;
}

/* ---- commands ---- */

static bool is_command(const char *word, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		uint8_t c = (uint8_t)word[i];

		if (!((c | 0x20) >= 'a' && (c | 0x20) <= 'z') && !(c >= '0' && c <= '9') && !strchr("._-|", c))
			return false;
	}
	return len && len <= WORD_MAX;
}

static void open_command(struct redis *p, struct call_io *io)
{
	struct call *c = call_queue_open(io);
	char text[16];

	if (!p->begun && !io->queue->midstream)
		p->database = 0;
	else if (!p->begun)
		p->database = -1;
	p->begun = true;
	if (!c || p->database < 0)
		return;
	snprintf(text, sizeof(text), "%d", p->database);
	call_entry_set_str(c, CALL_TEXT_DATABASE, text);
}

/* The first word of a command. False if it cannot be one. */
static bool take_command(struct redis *p, struct call *c, const char *word, size_t len)
{
	static const char no_key[] =
		" ACL ASKING AUTH BGREWRITEAOF BGSAVE CLIENT CLUSTER COMMAND CONFIG DBSIZE DEBUG DISCARD ECHO "
		"EVAL EVALSHA EVALSHA_RO EVAL_RO EXEC FAILOVER FCALL FCALL_RO FLUSHALL FLUSHDB FUNCTION HELLO "
		"INFO KEYS LASTSAVE LATENCY LOLWUT MIGRATE MODULE MONITOR MULTI PING PSYNC PUBSUB QUIT "
		"RANDOMKEY READONLY READWRITE REPLCONF REPLICAOF RESET ROLE SAVE SCAN SCRIPT SELECT SHUTDOWN "
		"SLAVEOF SLOWLOG SWAPDB SYNC TIME UNWATCH WAIT WAITAOF XREAD XREADGROUP BLMPOP BZMPOP LMPOP "
		"ZMPOP SINTERCARD ZUNION ZINTER ZDIFF ";
	static const char containers[] =
		" ACL CLIENT CLUSTER COMMAND CONFIG DEBUG FUNCTION LATENCY MEMORY MODULE OBJECT PUBSUB SCRIPT "
		"SLOWLOG XGROUP XINFO ";
	char name[WORD_MAX + 1];
	size_t n;

	if (!is_command(word, len))
		return false;
	n = upper(name, word, len);
	p->keyed = !is_in(no_key, name, n);
	p->container = is_in(containers, name, n);
	if (!c)
		return true;
	call_entry_set(c, CALL_TEXT_OPERATION, name, n);
	if (is_in(" SUBSCRIBE PSUBSCRIBE SSUBSCRIBE ", name, n)) {
		p->subscribed = true;
		c->note = NOTE_SUBSCRIBE;
	}
	if (is_in(" UNSUBSCRIBE PUNSUBSCRIBE SUNSUBSCRIBE ", name, n))
		c->note = NOTE_SUBSCRIBE;
	if (is_in(" MONITOR ", name, n))
		c->note = NOTE_MONITOR;
	return true;
}

static bool is_operation(const struct call *c, const char *name)
{
	size_t len;
	const char *text = call_entry_text(c, CALL_TEXT_OPERATION, &len);

	return text && len == strlen(name) && memcmp(text, name, len) == 0;
}

static void take_second(struct redis *p, struct call *c, const char *arg, size_t len)
{
	struct call_line number = { arg, len };
	char text[2 * WORD_MAX + 2], word[WORD_MAX + 1];
	uint64_t v;

	if (c && p->container && is_command(arg, len)) {
		size_t n;
		const char *name = call_entry_text(c, CALL_TEXT_OPERATION, &n);

		upper(word, arg, len);
		n = (size_t)snprintf(text, sizeof(text), "%.*s %s", (int)n, name ? name : "", word);
		call_entry_set(c, CALL_TEXT_OPERATION, text, n);
	} else if (c && p->keyed) {
		snprintf(text, sizeof(text), "%016llx", (unsigned long long)map_hash(len ? arg : "", len));
		call_entry_set_str(c, CALL_TEXT_RESOURCE, text);
	} else if (c && is_operation(c, "SELECT") && call_line_number(&number, 10, &v) && v < INT32_MAX) {
		p->database = (int32_t)v;
	}
	p->container = p->keyed = false;
}

/* An argument: @len bytes at @arg of a longer one. False if it contradicts the protocol. */
static bool take_arg(struct redis *p, struct call *c, const char *arg, size_t len)
{
	uint32_t at = p->arg++;

	if (at == 0)
		return take_command(p, c, arg, len);
	if (at == 1)
		take_second(p, c, arg, len);
	return true;
}

static enum call_feed take_inline(struct redis *p, struct call_io *io, struct call_line line)
{
	struct call *c;

	line = call_line_trim(line);
	if (!line.len)
		return CALL_FEED_OK;
	open_command(p, io);
	c = call_queue_youngest(io);
	p->arg = 0;
	while (line.len && p->arg < 2) {
		struct call_line word = call_line_word(&line, ' ');

		if (word.len && !take_arg(p, c, word.at, word.len))
			return CALL_FEED_BAD;
	}
	p->arg = 0;
	call_queue_asked(io, c);
	return CALL_FEED_OK;
}

static enum call_feed feed_command(struct redis *p, struct call_io *io)
{
	struct call_line line;
	uint64_t n;

	call_queue_unit(io);
	if (!call_line_take(&io->c, &line))
		return io->partial ? CALL_FEED_LOST : CALL_FEED_OK;
	if (!line.len || line.at[0] != '*')
		return take_inline(p, io, line);
	call_line_word(&line, '*');
	if (!call_line_number(&line, 10, &n) || n > ARGS_MAX)
		return CALL_FEED_BAD;
	if (!n)
		return CALL_FEED_OK;
	open_command(p, io);
	p->args = (uint32_t)n;
	p->arg = 0;
	p->bulk = 0;
	return CALL_FEED_OK;
}

static void end_arg(struct redis *p)
{
	p->bulk = 0;
	p->asking = p->arg == p->args;
}

/* The rest of the command is in a hole. */
static enum call_feed lose_command(const struct redis *p, struct call_io *io)
{
	struct call *c = call_queue_youngest(io);

	if (!c || c->request.done)
		return CALL_FEED_LOST;
	if (p->arg < 2)
		c->incomplete |= CALL_INCOMPLETE_CUT;
	call_queue_asked(io, c);
	return CALL_FEED_LOST;
}

static enum call_feed feed_arg(struct redis *p, struct call_io *io)
{
	struct call *c = call_queue_youngest(io);
	size_t most = p->arg == 0 ? WORD_MAX : p->arg == 1 ? KEY_MAX : 0, n;
	struct call_line line;
	uint64_t len;

	if (!p->bulk) {
		if (!call_line_take(&io->c, &line))
			return io->partial ? lose_command(p, io) : CALL_FEED_OK;
		if (call_line_word(&line, '$').len || !call_line_number(&line, 10, &len) || len > BULK_MAX)
			return CALL_FEED_BAD;
		p->bulk = len + 1;
	}
	len = p->bulk - 1;
	n = MIN(len, (uint64_t)most);
	if (cur_left(&io->c) < n && !io->partial)
		return CALL_FEED_OK;
	if (cur_left(&io->c) < n && p->arg == 0)
		return lose_command(p, io);
	if (cur_left(&io->c) < n) {	/* a part of a key is another key */
		n = 0;
		p->arg++;
		if (c)
			c->incomplete |= CALL_INCOMPLETE_CUT;
	} else if (!take_arg(p, c, cur_bytes(&io->c, n), n)) {
		return CALL_FEED_BAD;
	}
	io->skip = len - n + 2;
	end_arg(p);
	return CALL_FEED_OK;
}

/* ---- replies ---- */

static struct call *replied(const struct redis *p, const struct call_io *io)
{
	return p->message ? NULL : call_queue_oldest(io);
}

static void begin_reply(struct redis *p, struct call_io *io)
{
	struct call *c = replied(p, io);

	if (!c && !p->message && !p->monitor)
		c = call_queue_hidden(io);
	call_queue_answer(io, c);
	if (c && c->note == NOTE_MONITOR)
		p->monitor = true;
}

/* A value is complete, and with it all that it is the last of. */
static void end_value(struct redis *p)
{
	while (p->depth && --p->left[p->depth - 1] == 0)
		p->depth--;
	p->answering = !p->depth;
}

static void take_error(struct redis *p, struct call_io *io, struct call_line text)
{
	struct call *c = replied(p, io);
	struct call_line word = call_line_word(&text, ' ');

	if (!c || p->depth)
		return;
	c->error = CALL_ERROR_FAILED;
	if (is_command(word.at, word.len))
		call_entry_set(c, CALL_TEXT_STATUS, word.at, word.len);
}

/* The first element of an array at the top says whether it is a message of a subscription. */
static void take_peeked(struct redis *p, struct call_io *io, const char *word, size_t len)
{
	struct call *c = call_queue_oldest(io);
	bool confirms = is_in(" SUBSCRIBE PSUBSCRIBE SSUBSCRIBE UNSUBSCRIBE PUNSUBSCRIBE SUNSUBSCRIBE ", word, len);

	p->peek = false;
	if (confirms && c && c->note == NOTE_SUBSCRIBE)
		p->message = false;
	else if (confirms || is_in(" MESSAGE PMESSAGE SMESSAGE ", word, len))
		p->message = true;
	begin_reply(p, io);
}

static enum call_feed take_aggregate(struct redis *p, struct call_io *io, uint8_t type, uint64_t n)
{
	uint64_t values = type == '%' || type == '|' ? 2 * n : n;

	if (type == '|')	/* attributes come before the value that they describe */
		values++;
	if (values > UINT32_MAX || p->depth == DEPTH_MAX)
		return CALL_FEED_BAD;
	if (!p->depth && type == '>')
		p->message = true;
	if (!p->depth && (p->message || p->subscribed) && values)
		p->peek = true;
	else if (!p->depth)
		begin_reply(p, io);
	if (!values) {
		end_value(p);
		return CALL_FEED_OK;
	}
	p->left[p->depth++] = (uint32_t)values;
	return CALL_FEED_OK;
}

static enum call_feed take_bulk(struct redis *p, struct call_io *io, uint8_t type, uint64_t len)
{
	struct call_line text = { .at = (const char *)io->c.pos, .len = MIN(cur_left(&io->c), (size_t)len) };

	if (!p->depth)
		begin_reply(p, io);
	if (p->peek)
		take_peeked(p, io, text.at, text.len);
	if (type == '!')
		take_error(p, io, text);
	io->skip = len + 2;
	end_value(p);
	return CALL_FEED_OK;
}

static enum call_feed take_value(struct redis *p, struct call_io *io, uint8_t type, struct call_line line)
{
	bool counted = strchr("$!=*~>%|", type) != NULL;
	uint64_t n;

	if (counted && line.len && line.at[0] != '-') {
		if (!call_line_number(&line, 10, &n) || n > BULK_MAX)
			return CALL_FEED_BAD;
		return strchr("$!=", type) ? take_bulk(p, io, type, n) : take_aggregate(p, io, type, n);
	}
	if (!p->depth)
		begin_reply(p, io);
	else if (p->peek)
		take_peeked(p, io, "", 0);
	if (type == '-')
		take_error(p, io, line);
	end_value(p);
	return CALL_FEED_OK;
}

/* Text of simple types: printable; numbers of their signs; nothing behind a null. */
static bool is_simple(uint8_t type, struct call_line line)
{
	for (size_t i = 0; i < line.len; i++) {
		uint8_t a = (uint8_t)line.at[i];

		if (type == '+' || type == '-' ? a < ' ' || a == 0x7f : !strchr("0123456789+-.eEinfatr", a) || !a)
			return false;
	}
	return type == '_' ? !line.len : type == '+' || type == '-' || line.len;
}

static enum call_feed feed_reply(struct redis *p, struct call_io *io)
{
	struct cursor start = io->c;
	struct call_line line;
	uint8_t type;

	if (!p->depth)
		call_queue_unit(io);
	if (!call_line_take(&io->c, &line))
		return io->partial ? CALL_FEED_LOST : CALL_FEED_OK;
	type = line.len ? (uint8_t)line.at[0] : 0;
	if (!type || !strchr("+-:$*_#,(!=%~>|", type) || line.at[line.len] != '\r')
		return CALL_FEED_BAD;
	line.at++;
	line.len--;
	if (strchr("+-:_#,(", type) && !is_simple(type, line))
		return CALL_FEED_BAD;
	/* The word of a message, or of an error, is read with its length. */
	if ((p->peek || type == '!') && strchr("$!", type) && !io->partial && cur_left(&io->c) < WORD_MAX) {
		uint64_t n;

		if (call_line_number(&line, 10, &n) && cur_left(&io->c) < MIN(n, (uint64_t)WORD_MAX)) {
			io->c = start;
			return CALL_FEED_OK;
		}
	}
	return take_value(p, io, type, line);
}

/* ---- both ---- */

static void redis_settle(void *state, struct call_io *io)
{
	struct redis *p = state;

	if (io->side == CALL_SIDE_REQUEST && p->asking) {
		p->asking = false;
		p->args = p->arg = 0;
		call_queue_asked(io, call_queue_youngest(io));
	} else if (io->side == CALL_SIDE_RESPONSE && p->answering) {
		p->answering = false;
		call_queue_answered(io, replied(p, io));
		p->message = p->peek = false;
	}
}

static enum call_feed redis_feed(void *state, struct call_io *io)
{
	struct redis *p = state;

	if (io->side == CALL_SIDE_RESPONSE)
		return feed_reply(p, io);
	return p->args ? feed_arg(p, io) : feed_command(p, io);
}

static void redis_reset(void *state, enum call_side side, const struct call_queue *queue)
{
	struct redis *p = state;

	(void)queue;
	if (side == CALL_SIDE_REQUEST) {
		p->args = p->arg = 0;
		p->bulk = 0;
		p->asking = false;
	} else {
		p->depth = 0;
		p->answering = p->message = p->peek = false;
	}
}

const struct call_protocol redis_protocol = {
	.name = "redis", .kind = CALL_KIND_REDIS, .state_size = sizeof(struct redis), .ordered = true,
	.classify = redis_classify, .resume = redis_resume,
	.settle = redis_settle, .feed = redis_feed, .reset = redis_reset,
};
