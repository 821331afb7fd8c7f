// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Requests that follow each other in one operation: a second head of HTTP/1, a second message of protocols with
 * lengths or lines. Redis: call_user_pipelines().
 */
#include "bpf/kernel.h"
#include "probes/call/bpf/call_unit.bpf.h"
#include "probes/call/bpf/call_walk.bpf.h"
#include "probes/call/call_wire.h"

#include <bpf/bpf_helpers.h>

#define HEAD_SEARCHED CALL_HEAD_BYTES /* for the end of the first head or line */
#define HEAD_STEP 16

struct head_end {
	const __u8 *bytes;
	__u32 at, kept, last;	/* next byte; how many there are; the four before it */
};

static long head_step(__u32 i, void *ctx)
{
	struct head_end *e = ctx;
	const __u8 *bytes = e->bytes + (i & (HEAD_SEARCHED / HEAD_STEP - 1)) * HEAD_STEP;
	__u32 last = e->last, n;

	for (n = 0; n < HEAD_STEP && e->at + n < e->kept && last != 0x0d0a0d0a; n++)
		last = last << 8 | bytes[n];
	e->last = last;
	e->at += n;
	return last == 0x0d0a0d0a || n < HEAD_STEP;
}

bool call_pipeline_heads(struct call_room *room, __u32 kept)
{
	struct head_end e = { .kept = kept };
	const __u8 *bytes;
	__u32 at;

	if (!room)
		return false;
	bytes = e.bytes = room->bytes;
	if (bytes[0] < 'A' || bytes[0] > 'Z' || (bytes[0] == 'H' && bytes[1] == 'T'))
		return false;
	bpf_loop(HEAD_SEARCHED / HEAD_STEP, head_step, &e, 0);
	at = e.at;
	if (e.last != 0x0d0a0d0a || at >= kept || at > HEAD_SEARCHED || bytes[at] < 'A' || bytes[at] > 'Z')
		return false;
	/* A method follows; of bodies few have four letters and a space in these places. */
	return at + 6 >= kept || bytes[at + 3] == ' ' || bytes[at + 4] == ' ' || bytes[at + 6] == ' ';
}

/* ---- messages ---- */

#define MEMCACHED_HEADER 24 /* of a binary message; its length without that is at byte 8 */
#define MEMCACHED_END 5	/* "END\r\n" behind a value */
#define AMQP_FRAME 8	/* type, channel, length and end; also the length of the preface */
#define PG_SYNC 5
#define MYSQL_STMT_CLOSE 0x19
#define FRAMES_MAX 64
#define WORD_LAST 255

struct line_end {
	const __u8 *bytes;
	__u64 content;		/* the number that this word is */
	__u32 at, word, number_word;	/* next byte; words before it; place of the number */
	bool whole;
};

static long line_step(__u32 i, void *ctx)
{
	struct line_end *l = ctx;
	__u8 b = l->bytes[i & (HEAD_SEARCHED - 1)];

	l->at = i + 1;
	l->whole = b == '\n';
	l->word += b == ' ';
	if (b == ' ' && l->number_word == WORD_LAST)
		l->content = 0;
	if (l->number_word && (l->word == l->number_word || l->number_word == WORD_LAST) && b >= '0' && b <= '9')
		l->content = l->content * 10 + b - '0';
	return l->whole;
}

/* Which word of the first line is the length of the content behind it? 0 = none follows. */
static __always_inline __u32 length_word(const __u8 *b, bool nats)
{
	if (nats)
		return (b[0] == 'P' && b[1] == 'U') || b[0] == 'H' || b[0] == 'M' ? WORD_LAST : 0;
	switch (b[0]) {
	case 'a':
	case 'p':
	case 'r': return 4;	/* add, append, prepend, replace */
	case 's': return b[1] == 'e' ? 4 : 0;
	case 'c': return b[2] == 's' ? 4 : 0;
	case 'm': return b[1] == 's' ? 2 : 0;
	case 'V': return b[1] != 'A' ? 0 : b[2] == 'L' ? 3 : 1;
	}
	return 0;
}

static __always_inline bool lines_follow(const __u8 *bytes, __u32 kept, __u32 size, bool nats)
{
	struct line_end l = { .bytes = bytes, .number_word = length_word(bytes, nats) };

	bpf_loop(kept < HEAD_SEARCHED ? kept : HEAD_SEARCHED, line_step, &l, 0);
	return l.whole &&
	       l.at + l.content + (l.number_word ? 2 : 0) + (l.number_word == 3 ? MEMCACHED_END : 0) < size;
}

static __always_inline __u32 be32_at(const __u8 *b)
{
	return (__u32)b[0] << 24 | (__u32)b[1] << 16 | (__u32)b[2] << 8 | b[3];
}

struct frames_end {
	const __u8 *bytes;
	__u64 at;
	__u32 kept;
	bool typed;		/* PostgreSQL's messages; else frames of AMQP */
	bool asked, again;	/* a query or Execute is among them; another request follows it */
};

static long frames_end_step(__u32 i, void *ctx)
{
	struct frames_end *f = ctx;
	__u64 at = f->at;
	__u8 type;

	if (at + AMQP_FRAME > f->kept || at > CALL_HEAD_MAX)
		return 1;
	type = f->bytes[at];
	f->again = f->asked && (type == 'P' || type == 'B' || type == 'E' || type == 'Q');
	f->asked |= type == 'E' || type == 'Q';
	f->at = at + (f->typed ? 1 + be32_at(f->bytes + at + 1) : AMQP_FRAME + be32_at(f->bytes + at + 3));
	return f->typed && f->again;
}

/* Behind the frames whose headers are there; a message is two and its content's. */
static __always_inline bool frames_follow(const __u8 *bytes, __u32 kept, __u32 size)
{
	struct frames_end f = { .bytes = bytes, .at = bytes[0] == 'A' ? AMQP_FRAME : 0, .kept = kept };

	bpf_loop(FRAMES_MAX, frames_end_step, &f, 0);
	return f.at < size;
}

/* Requests alone begin with these; a Sync may follow the last one. */
static __always_inline bool queries_follow(const __u8 *bytes, __u32 kept, __u32 size)
{
	struct frames_end f = { .bytes = bytes, .kept = kept, .typed = true };

	if (bytes[0] != 'P' && bytes[0] != 'B' && bytes[0] != 'Q')
		return false;
	bpf_loop(FRAMES_MAX, frames_end_step, &f, 0);
	return f.again || (f.asked && f.at + PG_SYNC < size);
}

/* A command has number 0; the close of a statement has no answer and stands before another command. */
static __always_inline bool commands_follow(const __u8 *b, __u32 size)
{
	return !b[3] && b[4] != MYSQL_STMT_CLOSE && 4 + ((__u32)b[0] | (__u32)b[1] << 8 | (__u32)b[2] << 16) < size;
}

bool call_pipeline_messages(__u32 guess, struct call_room *room, __u32 kept, __u32 size)
{
	const __u8 *bytes;

	if (!room || kept < MEMCACHED_HEADER)
		return false;
	bytes = room->bytes;
	switch (guess) {
	case CALL_GUESS_AMQP: return frames_follow(bytes, kept, size);
	case CALL_GUESS_POSTGRESQL: return queries_follow(bytes, kept, size);
	case CALL_GUESS_MYSQL: return commands_follow(bytes, size);
	case CALL_GUESS_NATS: return lines_follow(bytes, kept, size, true);
	case CALL_GUESS_MEMCACHED:
		return bytes[0] & 0x80 ? MEMCACHED_HEADER + (__u64)be32_at(bytes + 8) < size
				       : lines_follow(bytes, kept, size, false);
	}
	return false;
}
