// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * memcached (doc/protocol.txt and doc/protocol-binary.txt of its source): text with meta commands, and binary.
 *
 * Responses follow the order of commands. A quiet command is answered only in some cases: it ends silently when a
 * later one is answered. A response of the binary protocol has its command's opcode and opaque; one of a meta command
 * its opaque or key if the command asked for them. Where two quiet commands may have caused a response, neither gets
 * it and both say that they are incomplete. Keys are hashed; values, and with them user and password of a login, are
 * not read.
 */
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "base/map.h"
#include "call/call_frame.h"
#include "call/call_line.h"
#include "call/call_protocol.h"
#include "call/call_queue.h"

#define KEY_MAX 250
#define VALUE_MAX (1ull << 30)
#define HEADER 24 /* of the binary protocol */
#define MAGIC_REQUEST 0x80
#define MAGIC_RESPONSE 0x81

enum shape {
	SHAPE_GET,	 /* keys */
	SHAPE_TOUCH_GET, /* a time, then keys */
	SHAPE_STORE,	 /* key, flags, time, bytes */
	SHAPE_KEYED,
	SHAPE_PLAIN, /* no key */
	SHAPE_META,
	SHAPE_META_STORE, /* key, bytes, flags */
	SHAPE_SILENT,	  /* never answered */
	SHAPE__MAX,
};

/* Answers: first words, "#" is a number. Words of errors answer every command. */
struct command {
	const char *name;
	enum shape shape;
	const char *answers;
	const char *silent; /* answers that a quiet one leaves out */
};

static const struct command commands[] = {
	{ "", SHAPE_PLAIN, "", "" }, /* unknown to this table */
	{ "get", SHAPE_GET, " VALUE END ", "" },
	{ "gets", SHAPE_GET, " VALUE END ", "" },
	{ "gat", SHAPE_TOUCH_GET, " VALUE END ", "" },
	{ "gats", SHAPE_TOUCH_GET, " VALUE END ", "" },
	{ "set", SHAPE_STORE, " STORED NOT_STORED ", "" },
	{ "add", SHAPE_STORE, " STORED NOT_STORED ", "" },
	{ "replace", SHAPE_STORE, " STORED NOT_STORED ", "" },
	{ "append", SHAPE_STORE, " STORED NOT_STORED ", "" },
	{ "prepend", SHAPE_STORE, " STORED NOT_STORED ", "" },
	{ "cas", SHAPE_STORE, " STORED NOT_STORED EXISTS NOT_FOUND ", "" },
	{ "delete", SHAPE_KEYED, " DELETED NOT_FOUND ", "" },
	{ "incr", SHAPE_KEYED, " # NOT_FOUND ", "" },
	{ "decr", SHAPE_KEYED, " # NOT_FOUND ", "" },
	{ "touch", SHAPE_KEYED, " TOUCHED NOT_FOUND ", "" },
	{ "stats", SHAPE_PLAIN, " STAT ITEM PREFIX END RESET OK ", "" },
	{ "version", SHAPE_PLAIN, " VERSION ", "" },
	{ "verbosity", SHAPE_PLAIN, " OK ", "" },
	{ "flush_all", SHAPE_PLAIN, " OK ", "" },
	{ "cache_memlimit", SHAPE_PLAIN, " OK ", "" },
	{ "slabs", SHAPE_PLAIN, " OK BUSY BADCLASS NOSPARE NOTFULL UNSAFE SAME ", "" },
	{ "lru", SHAPE_PLAIN, " OK ", "" },
	{ "lru_crawler", SHAPE_PLAIN, " OK BUSY BADCLASS END ", "" },
	{ "watch", SHAPE_PLAIN, " OK ", "" },
	{ "mg", SHAPE_META, " VA HD EN ", " EN " },
	{ "ms", SHAPE_META_STORE, " HD NS EX NF ", " HD " },
	{ "md", SHAPE_META, " HD EX NF ", " HD NF " },
	{ "ma", SHAPE_META, " HD VA EX NF NS ", " HD NF " },
	{ "me", SHAPE_META, " ME EN ", "" },
	{ "mn", SHAPE_PLAIN, " MN ", "" },
	{ "quit", SHAPE_SILENT, "", "" },
	{ "shutdown", SHAPE_SILENT, "", "" },
};

#define NOT_FOUND 1
#define STAT 0x10

/* Commands of the binary protocol, by opcode, under the names of the text protocol. */
static const struct {
	const char *name;
	bool quiet;
} opcodes[] = {
	[0x00] = { "get" },
	[0x01] = { "set" },
	[0x02] = { "add" },
	[0x03] = { "replace" },
	[0x04] = { "delete" },
	[0x05] = { "incr" },
	[0x06] = { "decr" },
	[0x07] = { "quit" },
	[0x08] = { "flush_all" },
	[0x09] = { "get", true },
	[0x0a] = { "noop" },
	[0x0b] = { "version" },
	[0x0c] = { "get" },
	[0x0d] = { "get", true },
	[0x0e] = { "append" },
	[0x0f] = { "prepend" },
	[STAT] = { "stats" },
	[0x11] = { "set", true },
	[0x12] = { "add", true },
	[0x13] = { "replace", true },
	[0x14] = { "delete", true },
	[0x15] = { "incr", true },
	[0x16] = { "decr", true },
	[0x17] = { "quit", true },
	[0x18] = { "flush_all", true },
	[0x19] = { "append", true },
	[0x1a] = { "prepend", true },
	[0x1b] = { "verbosity" },
	[0x1c] = { "touch" },
	[0x1d] = { "gat" },
	[0x1e] = { "gat", true },
	[0x20] = { "sasl list" },
	[0x21] = { "sasl auth" },
	[0x22] = { "sasl step" },
	[0x23] = { "gat" },
	[0x24] = { "gat", true },
};

enum mode { MODE_UNKNOWN, MODE_TEXT, MODE_BINARY, MODE__MAX };

/* struct call's note: place in one of the tables, and bits. */
#define NOTE_PLACE 0x3f
#define NOTE_MUTE 0x40	/* noreply: no response belongs to it */
#define NOTE_DOUBT 0x80 /* the response may be that of a quiet command before it */
_Static_assert(ARRAY_SIZE(commands) <= NOTE_PLACE && ARRAY_SIZE(opcodes) <= NOTE_PLACE, "places fit into a note");

struct memcached {
	uint8_t mode;
	bool asking, answering; /* the message ends with the content that is passed over */
	bool watching;		/* lines of a log follow */
	uint64_t answer;	/* id of the call that is answered; 0 = none */
};

/* ---- which protocol ---- */

static uint8_t command_of(const struct call_line *word)
{
	for (size_t i = 1; i < ARRAY_SIZE(commands); i++)
		if (word->len == strlen(commands[i].name) && !memcmp(word->at, commands[i].name, word->len))
			return (uint8_t)i;
	return 0;
}

static struct call_line next_word(struct call_line *l)
{
	while (l->len && l->at[0] == ' ')
		call_line_word(l, ' ');
	return call_line_word(l, ' ');
}

static bool is_number(struct call_line *l)
{
	struct call_line word = next_word(l);
	uint64_t n;

	if (word.len && word.at[0] == '-') {
		word.at++;
		word.len--;
	}
	return word.len == 20 || call_line_number(&word, 10, &n);
}

static bool is_key(struct call_line *l)
{
	struct call_line word = next_word(l);

	return word.len && word.len <= KEY_MAX;
}

/* Do the words behind the command fit it? */
static bool fits(const struct command *k, struct call_line l)
{
	struct call_line rest;

	switch (k->shape) {
	case SHAPE_GET: return is_key(&l);
	case SHAPE_TOUCH_GET: return is_number(&l) && is_key(&l);
	case SHAPE_STORE: return is_key(&l) && is_number(&l) && is_number(&l) && is_number(&l);
	case SHAPE_META_STORE: return is_key(&l) && is_number(&l);
	case SHAPE_KEYED: return is_key(&l) && (!strcmp(k->name, "delete") || is_number(&l));
	case SHAPE_META: return is_key(&l);
	case SHAPE_PLAIN:
	case SHAPE_SILENT: rest = call_line_trim(l); return !rest.len || rest.at[0] >= '0';
	case SHAPE__MAX: break;
	}
	return false;
}

static enum call_look look_at_text(const uint8_t *bytes, size_t len)
{
	struct cursor c = cur_init(bytes, len);
	struct call_line line, word;
	uint8_t place;
	size_t n = 0;
	bool whole;

	for (; n < len && bytes[n] != '\r' && bytes[n] != '\n'; n++)
		if (bytes[n] < ' ' || bytes[n] == 0x7f)
			return CALL_LOOK_NO;
	whole = call_line_take(&c, &line);
	if (!whole)
		line = (struct call_line){ (const char *)bytes, n };
	word = call_line_word(&line, ' ');
	place = command_of(&word);
	if (!whole && n == word.len && n < sizeof("cache_memlimit"))
		return n && (bytes[0] < 'a' || bytes[0] > 'z') ? CALL_LOOK_NO : CALL_LOOK_MORE;
	if (!place)
		return CALL_LOOK_NO;
	if (whole)
		return fits(&commands[place], line) ? CALL_LOOK_REQUEST : CALL_LOOK_NO;
	/* Many keys. */
	return commands[place].shape == SHAPE_GET && len >= 200 ? CALL_LOOK_REQUEST : CALL_LOOK_MORE;
}

struct header {
	uint8_t magic, opcode, extras, type;
	uint16_t key, status; /* status: in requests a number of 0 as a rule */
	uint32_t body, opaque;
};

static struct header header_at(const uint8_t *bytes, size_t len)
{
	struct cursor c = cur_init(bytes, len);
	struct header h = { .magic = cur_u8(&c), .opcode = cur_u8(&c) };

	h.key = cur_u16be(&c);
	h.extras = cur_u8(&c);
	h.type = cur_u8(&c);
	h.status = cur_u16be(&c);
	h.body = cur_u32be(&c);
	h.opaque = cur_u32be(&c);
	return h;
}

static bool is_header(const struct header *h, uint8_t magic)
{
	return h->magic == magic && h->opcode < ARRAY_SIZE(opcodes) && opcodes[h->opcode].name && h->key <= KEY_MAX &&
	       h->extras <= 24 && !h->type && h->body >= h->key + (uint32_t)h->extras && h->body < VALUE_MAX;
}

static enum call_look look_at_binary(const uint8_t *bytes, size_t len, uint8_t magic)
{
	struct header h = header_at(bytes, len);

	if (len < HEADER)
		return len > 1 && (bytes[1] >= ARRAY_SIZE(opcodes) || !opcodes[bytes[1]].name) ? CALL_LOOK_NO
											       : CALL_LOOK_MORE;
	if (!is_header(&h, magic) || (magic == MAGIC_REQUEST && h.status))
		return CALL_LOOK_NO;
	return magic == MAGIC_REQUEST ? CALL_LOOK_REQUEST : CALL_LOOK_RESPONSE;
}

static enum call_look memcached_classify(const uint8_t *bytes, size_t len)
{
	if (len && bytes[0] == MAGIC_REQUEST)
		return look_at_binary(bytes, len, MAGIC_REQUEST);
	return look_at_text(bytes, len);
}

/* Words of answers, where a response may begin behind a loss. */
static bool begins_answer(const uint8_t *bytes, size_t len)
{
	static const char *const words[] = {
		"VALUE ",  "END\r",	    "STORED\r",	     "NOT_",	"EXISTS\r", "DELETED\r", "TOUCHED\r", "OK\r",
		"HD",	   "VA ",	    "EN\r",	     "NS",	"EX",	    "NF",	 "MN\r",      "STAT ",
		"ERROR\r", "CLIENT_ERROR ", "SERVER_ERROR ", "VERSION "
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (len >= strlen(words[i]) && !memcmp(bytes, words[i], strlen(words[i])))
			return true;
	return false;
}

static enum call_look memcached_resume(const uint8_t *bytes, size_t len, enum call_side side)
{
	if (side == CALL_SIDE_REQUEST)
		return memcached_classify(bytes, len);
	if (len && bytes[0] == MAGIC_RESPONSE)
		return look_at_binary(bytes, len, MAGIC_RESPONSE);
	return begins_answer(bytes, len) ? CALL_LOOK_RESPONSE : CALL_LOOK_NO;
}

/* ---- requests ---- */

static void set_key(struct call *c, const char *key, size_t len)
{
	char text[17];
	size_t old;

	if (!len || call_entry_text(c, CALL_TEXT_RESOURCE, &old))
		return;
	snprintf(text, sizeof(text), "%016llx", (unsigned long long)map_hash(key, len));
	call_entry_set_str(c, CALL_TEXT_RESOURCE, text);
}

/* Identity of a meta command's response. */
static uint64_t token_of(char flag, const char *at, size_t len)
{
	return (map_hash(at, len) ^ (uint64_t)flag) | 1;
}

/* Flags of a meta command: quiet; the response repeats the opaque, else the key. */
static void take_flags(struct call *c, struct call_line key, struct call_line l)
{
	while (l.len) {
		struct call_line flag = next_word(&l);

		if (!flag.len)
			continue;
		if (flag.at[0] == 'q')
			c->quiet = true;
		else if (flag.at[0] == 'O')
			c->key = token_of('O', flag.at + 1, flag.len - 1);
		else if (flag.at[0] == 'k' && !c->key)
			c->key = token_of('k', key.at, key.len);
	}
}

static bool has_noreply(struct call_line l)
{
	struct call_line word = { 0 };

	while (l.len)
		word = next_word(&l);
	return call_line_is(&word, "noreply");
}

/* Bytes of the value behind the line; false if the words do not say. */
static bool value_of(const struct command *k, struct call_line l, uint64_t *ret)
{
	struct call_line number;

	next_word(&l);
	if (k->shape == SHAPE_STORE) {
		next_word(&l);
		next_word(&l);
	} else if (k->shape != SHAPE_META_STORE) {
		return false;
	}
	number = next_word(&l);
	return call_line_number(&number, 10, ret) && *ret < VALUE_MAX;
}

static void describe(struct call *c, uint8_t place, struct call_line l)
{
	const struct command *k = &commands[place];
	struct call_line key;

	c->note = place;
	call_entry_set_str(c, CALL_TEXT_OPERATION, k->name);
	if (k->shape == SHAPE_PLAIN || k->shape == SHAPE_SILENT) {
		c->note |= has_noreply(l) ? NOTE_MUTE : 0;
		return;
	}
	if (k->shape == SHAPE_TOUCH_GET)
		next_word(&l);
	key = next_word(&l);
	set_key(c, key.at, key.len);
	if (k->shape == SHAPE_META || k->shape == SHAPE_META_STORE)
		take_flags(c, key, l);
	else if (k->shape != SHAPE_GET && k->shape != SHAPE_TOUCH_GET && has_noreply(l))
		c->note |= NOTE_MUTE;
}

static void end_request(struct call_io *io)
{
	struct call *c = call_queue_youngest(io);

	if (c && c->note & NOTE_MUTE)
		call_queue_told(io, c);
	else
		call_queue_asked(io, c);
}

/* The line's end is in a hole. It may have been noreply, or a flag: then no response belongs to the command. */
static enum call_feed lose_line(struct call_io *io)
{
	const bool paired = !io->queue->unpaired;
	size_t len = cur_left(&io->c);
	struct call_line line = { cur_bytes(&io->c, len), len }, word = call_line_word(&line, ' ');
	uint8_t place = command_of(&word);
	struct call *c = place ? call_queue_open(io) : NULL;

	if (c) {
		describe(c, place, line);
		c->incomplete |= CALL_INCOMPLETE_CUT;
		call_queue_asked(io, c);
		if (paired && commands[place].shape != SHAPE_GET && commands[place].shape != SHAPE_TOUCH_GET)
			call_queue_end(io, c, CALL_END_LOST);
	}
	return CALL_FEED_LOST;
}

static enum call_feed feed_text_request(struct memcached *p, struct call_io *io)
{
	struct call_line line, word;
	uint64_t bytes;
	uint8_t place;
	struct call *c;

	call_queue_unit(io);
	if (!call_line_take(&io->c, &line))
		return io->partial ? lose_line(io) : CALL_FEED_OK;
	word = call_line_word(&line, ' ');
	place = command_of(&word);
	if (!place && (!io->queue->confirmed || word.len > 32))
		return CALL_FEED_BAD;
	if (commands[place].shape == SHAPE_SILENT)
		return CALL_FEED_OK;
	c = call_queue_open(io);
	if (c)
		describe(c, place, line);
	if (value_of(&commands[place], line, &bytes)) {
		p->asking = true;
		io->skip = bytes + 2;
	} else {
		end_request(io);
	}
	return CALL_FEED_OK;
}

/*
 * Takes a binary message: header, extras and key, or as much of them as was captured. False if there is none:
 * *ret_feed says why.
 */
static bool take_message(struct call_io *io, uint8_t magic, struct header *ret, struct cursor *ret_body,
			 enum call_feed *ret_feed)
{
	bool cut;

	call_queue_unit(io);
	*ret_feed = cur_left(&io->c) < HEADER && io->partial ? CALL_FEED_LOST : CALL_FEED_OK;
	if (cur_left(&io->c) < HEADER)
		return false;
	*ret = header_at(io->c.pos, HEADER);
	if (is_header(ret, magic))
		return call_frame_take(io, HEADER + (uint64_t)ret->body, (size_t)HEADER + ret->extras + ret->key,
				       ret_body, &cut);
	*ret_feed = CALL_FEED_BAD;
	return false;
}

static enum call_feed feed_binary_request(struct memcached *p, struct call_io *io)
{
	struct cursor body;
	const char *key;
	enum call_feed r;
	struct header h;
	struct call *c;

	if (!take_message(io, MAGIC_REQUEST, &h, &body, &r))
		return r;
	p->asking = true;
	c = call_queue_open(io);
	if (!c)
		return CALL_FEED_OK;
	c->note = h.opcode;
	c->quiet = opcodes[h.opcode].quiet;
	c->key = (uint64_t)h.opcode << 32 | h.opaque;
	call_entry_set_str(c, CALL_TEXT_OPERATION, opcodes[h.opcode].name);
	cur_skip(&body, HEADER + h.extras);
	key = cur_bytes(&body, h.key);
	if (key && h.opcode < 0x20)
		set_key(c, key, h.key);
	else if (!key)
		c->incomplete |= CALL_INCOMPLETE_CUT;
	return CALL_FEED_OK;
}

/* ---- which call is answered ---- */

static bool has_word(const char *list, struct call_line word)
{
	char text[20];

	if (word.len > sizeof(text) - 3)
		return false;
	snprintf(text, sizeof(text), " %.*s ", (int)word.len, word.at);
	return strstr(list, text) != NULL;
}

static bool is_failure(struct call_line word)
{
	return call_line_is(&word, "ERROR") || call_line_is(&word, "CLIENT_ERROR") ||
	       call_line_is(&word, "SERVER_ERROR");
}

/* Parts of a response that tell its command. */
struct answer {
	struct call_line word; /* text; "#" is a number */
	uint64_t key;	       /* opcode and opaque, or of a meta command; 0 = none */
	bool binary;
};

/* May it be the answer of @c? */
static bool may_answer(const struct call *c, const struct answer *a)
{
	const struct command *k;

	if (c->response.done || c->note & NOTE_MUTE)
		return false;
	if (a->binary)
		return c->key == a->key;
	k = &commands[c->note & NOTE_PLACE];
	if (a->key && c->key && a->key != c->key)
		return false;
	if (a->key && !c->key)
		return false;
	if (!c->note || is_failure(a->word))
		return true;
	return has_word(k->answers, a->word) && !(c->quiet && has_word(k->silent, a->word));
}

/* All before @c have been processed without a word: quiet ones are done. */
static void end_silent(struct call_io *io, const struct call *c)
{
	while (io->queue->calls[0] != c && io->queue->calls[0]->quiet)
		call_queue_end(io, io->queue->calls[0], CALL_END_ONEWAY);
}

/* The call whose answer begins. NULL: none, or one of several. */
static struct call *answered_by(struct call_io *io, const struct answer *a)
{
	struct call_queue *q = io->queue;
	struct call *first = NULL, *last = NULL;

	for (uint32_t i = 0; !q->unpaired && i < q->n; i++) {
		struct call *c = q->calls[i];

		if (may_answer(c, a)) {
			first = first ? first : c;
			last = c;
		}
		if (!c->quiet && !(c->note & NOTE_MUTE) && !c->response.done)
			break;
	}
	if (!first)
		return call_queue_hidden(io);
	if (first == last)
		return first;
	for (uint32_t i = 0; i < q->n && q->calls[i] != last; i++)
		if (may_answer(q->calls[i], a))
			q->calls[i]->incomplete |= CALL_INCOMPLETE_CUT;
	last->incomplete |= CALL_INCOMPLETE_CUT;
	last->note |= NOTE_DOUBT;
	return last->quiet ? NULL : last;
}

/* ---- responses ---- */

static void end_response(struct memcached *p, struct call_io *io)
{
	struct call *c = p->answer ? call_queue_find(io, p->answer) : NULL;

	p->answering = false;
	p->answer = 0;
	if (!c)
		return;
	if (c->request.begun)
		call_queue_confirm(io);
	end_silent(io, c);
	c->request.done = true;
	call_queue_answered(io, c);
}

static struct call *begin_response(struct memcached *p, struct call_io *io, const struct answer *a)
{
	struct call *c = p->answer ? call_queue_find(io, p->answer) : answered_by(io, a);

	p->answer = c ? c->id : 0;
	call_queue_answer(io, c);
	return c;
}

static void add_row(struct call *c, uint64_t n)
{
	if (c && !(c->note & NOTE_DOUBT))
		c->rows = (c->rows == CALL_ROWS_NONE ? 0 : c->rows) + n;
}

static void set_word(struct call *c, struct call_line word)
{
	static const char regular[] = " # STORED DELETED TOUCHED OK END VERSION RESET HD VA MN ME ";

	if (!c || c->note & NOTE_DOUBT)
		return;
	if (is_failure(word))
		c->error = call_line_is(&word, "SERVER_ERROR") ? CALL_ERROR_FAILED : CALL_ERROR_CLIENT;
	if (!has_word(regular, word))
		call_entry_set(c, CALL_TEXT_STATUS, word.at, word.len);
}

/* Which command of several: the opaque or the key of the response's flags. */
static uint64_t key_of_flags(struct call_line l)
{
	uint64_t key = 0;

	while (l.len) {
		struct call_line flag = next_word(&l);

		if (flag.len > 1 && flag.at[0] == 'O')
			return token_of('O', flag.at + 1, flag.len - 1);
		if (flag.len > 1 && flag.at[0] == 'k')
			key = token_of('k', flag.at + 1, flag.len - 1);
	}
	return key;
}

static bool is_meta(struct call_line word)
{
	return word.len == 2 && has_word(" HD VA EN NS EX NF ", word);
}

static bool is_answer(struct call_line word)
{
	return is_failure(word) || is_meta(word) ||
	       has_word(" # VALUE END STORED NOT_STORED EXISTS NOT_FOUND DELETED TOUCHED OK VERSION RESET STAT ITEM "
			"PREFIX MN ME BUSY BADCLASS NOSPARE NOTFULL UNSAFE SAME ",
			word);
}

/* A line of several: "STAT name value". */
static bool is_listed(struct call_line word)
{
	return has_word(" STAT ITEM PREFIX ", word);
}

static enum call_feed take_line(struct memcached *p, struct call_io *io, struct call_line line)
{
	struct answer a = { .word = next_word(&line) };
	struct call_line words = line, number;
	struct call *c;
	uint64_t n;

	if (call_line_number(&a.word, 10, &n) || a.word.len == 20) /* 64 bits have 20 digits at most */
		a.word = (struct call_line){ "#", 1 };
	if (!is_answer(a.word))
		return CALL_FEED_BAD;
	if (is_meta(a.word) && !p->answer)
		a.key = key_of_flags(line);
	c = begin_response(p, io, &a);
	if (is_listed(a.word))
		return CALL_FEED_OK;
	if (call_line_is(&a.word, "VALUE")) {
		next_word(&words);
		next_word(&words);
	}
	number = next_word(&words);
	if (call_line_is(&a.word, "VALUE") || call_line_is(&a.word, "VA")) {
		if (!call_line_number(&number, 10, &n) || n > VALUE_MAX)
			return CALL_FEED_BAD;
		io->skip = n + 2;
		add_row(c, 1);
		p->answering = a.word.len == 2;
		return CALL_FEED_OK;
	}
	if (call_line_is(&a.word, "END") || call_line_is(&a.word, "EN"))
		add_row(c && commands[c->note & NOTE_PLACE].shape != SHAPE_PLAIN ? c : NULL, 0);
	set_word(c, a.word);
	p->watching = c && c->note && !strcmp(commands[c->note & NOTE_PLACE].name, "watch") && !c->error;
	end_response(p, io);
	return CALL_FEED_OK;
}

static enum call_feed feed_text_response(struct memcached *p, struct call_io *io)
{
	struct call_line line;

	call_queue_unit(io);
	if (!call_line_take(&io->c, &line))
		return io->partial ? CALL_FEED_LOST : CALL_FEED_OK;
	return p->watching ? CALL_FEED_OK : take_line(p, io, line);
}

static const char *status_name(uint16_t status)
{
	switch (status) {
	case NOT_FOUND: return "KEY_NOT_FOUND";
	case 0x02: return "KEY_EXISTS";
	case 0x03: return "VALUE_TOO_LARGE";
	case 0x04: return "INVALID_ARGUMENTS";
	case 0x05: return "ITEM_NOT_STORED";
	case 0x06: return "NON_NUMERIC_VALUE";
	case 0x07: return "WRONG_VBUCKET";
	case 0x20: return "AUTH_ERROR";
	case 0x81: return "UNKNOWN_COMMAND";
	case 0x82: return "OUT_OF_MEMORY";
	case 0x83: return "NOT_SUPPORTED";
	case 0x84: return "INTERNAL_ERROR";
	case 0x85: return "BUSY";
	case 0x86: return "TEMPORARY_FAILURE";
	default: return NULL;
	}
}

#define AUTH_CONTINUE 0x21

static void set_status(struct call *c, uint16_t status)
{
	bool regular = status <= 0x02 || status == 0x05 || status == AUTH_CONTINUE;
	const char *name = status_name(status);

	c->status = status;
	if (name)
		call_entry_set_str(c, CALL_TEXT_STATUS, name);
	if (!regular)
		c->error = status >= 0x82 && status != 0x83 ? CALL_ERROR_FAILED : CALL_ERROR_CLIENT;
	if (!strcmp(opcodes[c->note & NOTE_PLACE].name, "get") && status <= NOT_FOUND)
		add_row(c, status == 0);
}

static enum call_feed feed_binary_response(struct memcached *p, struct call_io *io)
{
	struct answer a = { .binary = true };
	struct cursor body;
	enum call_feed r;
	struct header h;
	struct call *c;

	if (!take_message(io, MAGIC_RESPONSE, &h, &body, &r))
		return r;
	a.key = (uint64_t)h.opcode << 32 | h.opaque;
	c = begin_response(p, io, &a);
	if (c && !c->request.begun) {
		c->note = h.opcode;
		call_entry_set_str(c, CALL_TEXT_OPERATION, opcodes[h.opcode].name);
	}
	if (c && !(c->note & NOTE_DOUBT) && !(h.opcode == STAT && h.key))
		set_status(c, h.status);
	p->answering = h.opcode != STAT || !h.key;
	return CALL_FEED_OK;
}

/* ---- both ---- */

static void memcached_settle(void *state, struct call_io *io)
{
	struct memcached *p = state;

	if (io->side == CALL_SIDE_REQUEST && p->asking) {
		p->asking = false;
		end_request(io);
	} else if (io->side == CALL_SIDE_RESPONSE && p->answering) {
		end_response(p, io);
	}
}

static enum call_feed memcached_feed(void *state, struct call_io *io)
{
	struct memcached *p = state;
	uint8_t magic = io->side == CALL_SIDE_REQUEST ? MAGIC_REQUEST : MAGIC_RESPONSE;

	if (p->mode == MODE_UNKNOWN && cur_left(&io->c))
		p->mode = cur_peek(&io->c, 0) == magic ? MODE_BINARY : MODE_TEXT;
	if (p->mode == MODE_BINARY)
		return io->side == CALL_SIDE_REQUEST ? feed_binary_request(p, io) : feed_binary_response(p, io);
	return io->side == CALL_SIDE_REQUEST ? feed_text_request(p, io) : feed_text_response(p, io);
}

static void memcached_reset(void *state, enum call_side side, const struct call_queue *queue)
{
	struct memcached *p = state;

	(void)queue;
	if (side == CALL_SIDE_REQUEST) {
		p->asking = false;
	} else {
		p->answering = p->watching = false;
		p->answer = 0;
	}
}

const struct call_protocol memcached_protocol = {
	.name = "memcached",
	.kind = CALL_KIND_MEMCACHED,
	.ordered = true,
	.unanswered = true,
	.state_size = sizeof(struct memcached),
	.classify = memcached_classify,
	.resume = memcached_resume,
	.settle = memcached_settle,
	.feed = memcached_feed,
	.reset = memcached_reset,
};
