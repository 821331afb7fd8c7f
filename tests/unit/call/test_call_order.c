// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Protocols where order alone says which response belongs to which request: parts of either direction are not kept or
 * lost, and no call has the status of another one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "call_feed.h"
#include "tests/bpf/call_walk.h"

#define REQUESTS 200	/* of a connection, at most */
#define TURN_BYTES 1024	/* kept of a turn */
#define TAIL_BYTES 256	/* of an operation, where the status stands last */
#define WIDE_BYTES 2048	/* of an operation, where they are kept whole: so that some are not */

/* Kinds of requests: what they are answered with shows in the line of their call. */
struct order_kind {
	const char *ask;
	size_t ask_len;
	const char *answer;
	size_t answer_len;
	const char *operation, *status;	/* in the line; NULL ends the kinds */
};

#define TEXT(text) text, sizeof(text) - 1

static const struct order_kind http[] = {
	{ TEXT("GET /200 HTTP/1.1\r\nHost: a\r\n\r\n"), TEXT("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes"),
	  "GET /200 ", "=200" },
	{ TEXT("GET /302?longer=than&the=others HTTP/1.1\r\n\r\n"),
	  TEXT("HTTP/1.1 302 Go\r\nContent-Length: 0\r\n\r\n"), "GET /302?", "=302" },
	{ TEXT("GET /404 HTTP/1.1\r\n\r\n"),
	  TEXT("HTTP/1.1 404 No\r\nContent-Length: 20\r\n\r\n12345678901234567890"), "GET /404 ", "=404" },
	{ 0 },
};

#define FOUR(text) text text text text
#define KIB FOUR(FOUR(FOUR("0123456789abcdef")))
#define HEADS FOUR(FOUR("HTTP/1.1 405 No\r\nContent-Length: 0\r\n\r\nGET /405 HTTP/1.1\r\n\r\n0\r\n\r\n"))
#define CHUNKS "400\r\n" KIB "\r\n400\r\n" HEADS "\r\n400\r\n" KIB "\r\n0\r\n\r\n"

/* Content of every kind, and none where its length is said. */
static const struct order_kind http_content[] = {
	{ TEXT("GET /200 HTTP/1.1\r\n\r\n"), TEXT("HTTP/1.1 200 a\r\nTransfer-Encoding: chunked\r\n\r\n" CHUNKS),
	  "GET /200 ", "=200" },
	{ TEXT("GET /203 HTTP/1.1\r\n\r\n"),
	  TEXT("HTTP/1.1 203 a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nyes\r\n0\r\n\r\n"), "GET /203 ", "=203" },
	{ TEXT("GET /206 HTTP/1.1\r\n\r\n"), TEXT("HTTP/1.1 206 a\r\nContent-Length: 2048\r\n\r\n" KIB HEADS),
	  "GET /206 ", "=206" },
	{ TEXT("GET /503 HTTP/1.1\r\n\r\n"), TEXT("HTTP/1.1 503 a\r\nContent-Length: 3\r\n\r\nyes"),
	  "GET /503 ", "=503" },
	{ TEXT("HEAD /207 HTTP/1.1\r\n\r\n"), TEXT("HTTP/1.1 207 a\r\nContent-Length: 2048\r\n\r\n"),
	  "HEAD /207 ", "=207" },
	{ TEXT("HEAD /208 HTTP/1.1\r\n\r\n"), TEXT("HTTP/1.1 208 a\r\nTransfer-Encoding: chunked\r\n\r\n"),
	  "HEAD /208 ", "=208" },
	{ TEXT("GET /304 HTTP/1.1\r\n\r\n"), TEXT("HTTP/1.1 304 a\r\nContent-Length: 2048\r\n\r\n"),
	  "GET /304 ", "=304" },
	{ TEXT("DELETE /204 HTTP/1.1\r\n\r\n"), TEXT("HTTP/1.1 204 a\r\n\r\n"), "DELETE /204 ", "=204" },
	{ TEXT("POST /201 HTTP/1.1\r\nContent-Length: 2048\r\n\r\n" KIB HEADS),
	  TEXT("HTTP/1.1 100 a\r\n\r\nHTTP/1.1 201 a\r\nContent-Length: 0\r\n\r\n"), "POST /201 ", "=201" },
	{ TEXT("PUT /202 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" CHUNKS),
	  TEXT("HTTP/1.1 103 a\r\nLink: x\r\n\r\nHTTP/1.1 202 a\r\nTransfer-Encoding: chunked\r\n\r\n" CHUNKS),
	  "PUT /202 ", "=202" },
	{ 0 },
};
static const struct order_kind redis[] = {
	{ TEXT("*2\r\n$3\r\nGET\r\n$1\r\nk\r\n"), TEXT("-NONE such\r\n"), " GET ", " NONE" },
	{ TEXT("*2\r\n$3\r\nDEL\r\n$6\r\nlonger\r\n"), TEXT("-BUSY now\r\n"), " DEL ", " BUSY" },
	{ TEXT("*2\r\n$4\r\nLLEN\r\n$20\r\nabcdefghijklmnopqrst\r\n"), TEXT("-WRONGTYPE it\r\n"), " LLEN ",
	  " WRONGTYPE" },
	{ 0 },
};
static const struct order_kind memcached[] = {
	{ TEXT("incr key 1\r\n"), TEXT("CLIENT_ERROR no number\r\n"), " incr ", " CLIENT_ERROR" },
	{ TEXT("delete another_key\r\n"), TEXT("NOT_FOUND\r\n"), " delete ", " NOT_FOUND" },
	{ TEXT("add key 0 0 4\r\nfour\r\n"), TEXT("NOT_STORED\r\n"), " add ", " NOT_STORED" },
	{ TEXT("set key 0 0 3 noreply\r\nyes\r\n"), TEXT(""), " set ", " oneway" },
	{ 0 },
};

#define EXTENDED(parse) TEXT(parse "B\0\0\0\x0c\0\0\0\0\0\0\0\0" "D\0\0\0\6P\0" "E\0\0\0\x09\0\0\0\0\0" "S\0\0\0\4")
#define BOUND "1\0\0\0\4" "2\0\0\0\4" "n\0\0\0\4"
#define FAILED(state) "E\0\0\0\x1dSERROR\0C" state "\0Mdivision\0\0"
#define READY "Z\0\0\0\5I"

static const struct order_kind postgresql[] = {
	{ EXTENDED("P\0\0\0\x10\0select 1\0\0\0"), TEXT(BOUND FAILED("22012") READY), " SELECT ", " 22012" },
	{ EXTENDED("P\0\0\0\x18\0update t set a=1\0\0\0"), TEXT(BOUND FAILED("40001") READY), " UPDATE ", " 40001" },
	{ EXTENDED("P\0\0\0\x20\0insert into t values (1)\0\0\0"), TEXT(BOUND "C\0\0\0\x0fINSERT 0 5\0" READY),
	  " INSERT ", " rows=5" },
	{ TEXT("Q\0\0\0\x12" "delete from t\0"), TEXT(FAILED("42P01") READY), " DELETE ", " 42P01" },
	{ 0 },
};

struct order {
	struct feed f;
	const struct order_kind *kinds;
	struct buf bytes[CALL_DIR__MAX];
	size_t ends[CALL_DIR__MAX][REQUESTS];	/* of requests and responses */
	size_t at[CALL_DIR__MAX], left;		/* read and written; bytes that the turn may still keep */
	int dir;
	unsigned n_kinds, n;
	bool whole;				/* all bytes are kept */
	bool parts;				/* responses are written in parts */
	bool measured;				/* programs keep the first requests, as those of 6.3 */
	bool walked;				/* programs walk through the operations */
	struct call_sock sock;			/* where the walk is */
	struct call_room room;
	int loss_pct;
	bool hid;				/* a request was in a hole before two were seen at once */
};

static void make_calls(struct order *o, unsigned n)
{
	while (o->kinds[o->n_kinds].ask)
		o->n_kinds++;
	for (unsigned i = 0; i < n; i++) {
		const struct order_kind *kind = &o->kinds[(unsigned)rand() % o->n_kinds];

		buf_add(&o->bytes[CALL_DIR_RECEIVED], kind->ask, kind->ask_len);
		buf_add(&o->bytes[CALL_DIR_SENT], kind->answer, kind->answer_len);
		o->ends[CALL_DIR_RECEIVED][i] = o->bytes[CALL_DIR_RECEIVED].len;
		o->ends[CALL_DIR_SENT][i] = o->bytes[CALL_DIR_SENT].len;
	}
	o->n = n;
}

/* Does a request begin behind @from and before @end? */
static bool hides(const struct order *o, size_t from, size_t end)
{
	for (unsigned i = 0; i < o->n - 1; i++)
		if (o->ends[CALL_DIR_RECEIVED][i] >= from && o->ends[CALL_DIR_RECEIVED][i] < end)
			return true;
	return false;
}

/* A record of a walk. */
static void walked_record(void *ctx, const struct call_data_rec *r, const uint8_t *kept)
{
	struct order *o = ctx;

	if (r->offset && rand() % 100 < o->loss_pct)
		return;
	o->f.offsets[r->dir] = r->offset;
	o->f.turn = r->flags & CALL_F_TURN;
	feed_bytes(&o->f, (enum call_dir)r->dir, kept, r->kept, r->size - r->kept);
}

/* Any buffers hold an operation; a reader's last one has room behind its bytes. False: it was not recorded. */
static bool walk(struct order *o, enum call_dir dir, size_t at, size_t size)
{
	struct walk_buffer buffers[WALK_BUFFERS];
	size_t n = 0, most = 1 + (size_t)rand() % WALK_BUFFERS, end = at + size;

	o->sock.bytes[dir] = at;
	while (at < end) {
		bool last = n + 1 == most;
		size_t len = last ? end - at : MIN(end - at, (size_t)(rand() % 3000));
		size_t room = last && dir == CALL_DIR_RECEIVED ? o->bytes[dir].len - at : len;

		buffers[n++] = (struct walk_buffer){ .bytes = o->bytes[dir].data + at, .len = len, .room = room };
		at += len;
	}
	walk_test.record = walked_record;
	walk_test.ctx = o;
	return walk_operation(&o->room, &o->sock, dir, (uint32_t)size, buffers, n, o->f.turn);
}

/* The server's operation up to @end. @lost: its record, but for the first one, without which all is unknown. */
static void operate(struct order *o, enum call_dir dir, size_t end, bool lost)
{
	size_t at = o->at[dir], size = end - at, kept, tail;

	if (!size)
		return;
	o->f.turn = o->dir != (int)dir;
	o->dir = (int)dir;
	o->at[dir] = end;
	if (o->walked && walk(o, dir, at, size))
		return;
	o->left = o->f.turn ? TURN_BYTES : o->left;
	kept = o->whole ? size : MIN(size, o->left);
	if (o->parts && !o->whole && call_conn_most(o->f.conn) > 1)
		kept = MIN(size, (size_t)WIDE_BYTES);
	else if (o->measured && dir == CALL_DIR_RECEIVED)
		kept = size;
	if (dir == CALL_DIR_RECEIVED && call_conn_most(o->f.conn) < 2)
		o->hid |= hides(o, at + kept, end);
	o->left -= MIN(kept, o->left);
	if (lost && at)
		return;
	o->f.offsets[dir] = at;
	tail = o->kinds == postgresql ? MIN(size - kept, (size_t)TAIL_BYTES) : 0;
	feed_bytes(&o->f, dir, o->bytes[dir].data + at, kept, size - kept - tail);
	o->f.turn = false;
	if (tail)
		feed_bytes(&o->f, dir, o->bytes[dir].data + end - tail, tail, 0);
}

static unsigned calls_until(const struct order *o, enum call_dir dir)
{
	unsigned i = 0;

	while (i < o->n && o->ends[dir][i] <= o->at[dir])
		i++;
	return i;
}

/* Adds calls with operation and status to @shown, and returns those with the status of another one, or too many. */
static unsigned count_wrong(struct order *o, unsigned *shown)
{
	unsigned wrong = 0, lines = (unsigned)o->f.pool.missed[CALL_MISS_NO_BYTES];

	buf_add_char(&o->f.out, 0);
	for (char *line = (char *)o->f.out.data, *end; *line; line = end + 1) {
		unsigned operation = o->n_kinds, status = o->n_kinds;

		end = strchr(line, '\n');
		*end = 0;
		lines++;
		for (unsigned i = 0; i < o->n_kinds; i++) {
			operation = strstr(line, o->kinds[i].operation) ? i : operation;
			status = strstr(line, o->kinds[i].status) ? i : status;
		}
		if (operation == o->n_kinds || status == o->n_kinds)
			continue;
		*shown += 1;
		wrong += operation != status;
	}
	return wrong + (lines > o->n ? lines - o->n : 0);
}

struct tally {
	unsigned shown, wrong;	/* calls with a status, with that of another one */
	unsigned unseen;	/* of those: where requests were in a hole before two were seen at once */
};

static void read_some(struct order *o, size_t end, int loss_pct)
{
	operate(o, CALL_DIR_RECEIVED, MIN(end, o->at[CALL_DIR_RECEIVED] + 1 + (size_t)(rand() % 4096)),
		rand() % 100 < loss_pct);
}

/* A connection with up to @window requests under way; @loss_pct below 0: all bytes are kept. */
static void run(const struct order_kind *kinds, unsigned window, bool sequential, int loss_pct, struct tally *t)
{
	_cleanup_free_ struct order *o = calloc(1, sizeof(*o));
	unsigned wrong, shown = 0;

	assert_non_null(o);
	feed_init(&o->f);
	o->whole = loss_pct < 0;
	o->parts = kinds == http_content;
	o->measured = o->parts && rand() % 2;
	o->walked = o->measured && !o->whole && rand() % 2;
	o->sock.guess = CALL_GUESS_HTTP;
	o->loss_pct = loss_pct;
	o->f.terse = true;
	o->dir = CALL_DIR__MAX;
	o->kinds = kinds;
	make_calls(o, 1 + (unsigned)rand() % REQUESTS);
	for (unsigned done = 0, asked; done < o->n;) {
		const size_t *there = o->ends[CALL_DIR_RECEIVED];

		read_some(o, there[MIN(done + window, o->n) - 1], loss_pct);
		asked = calls_until(o, CALL_DIR_RECEIVED);
		asked = sequential ? asked : done + (unsigned)rand() % (asked - done + 1);
		for (; done < asked; done++) {
			size_t end = o->ends[CALL_DIR_SENT][done];

			while (o->parts && rand() % 2 && o->at[CALL_DIR_SENT] < end) {
				operate(o, CALL_DIR_SENT, MIN(end, o->at[CALL_DIR_SENT] + (size_t)(rand() % 3000)),
					rand() % 100 < loss_pct);
				if (!sequential && !(rand() % 4))
					read_some(o, there[MIN(done + window, o->n) - 1], loss_pct);
			}
			operate(o, CALL_DIR_SENT, end, rand() % 100 < loss_pct);
		}
	}
	call_conn_close(o->f.conn);
	wrong = count_wrong(o, &shown);
	t->shown += shown;
	t->wrong += wrong;
	t->unseen += o->hid ? wrong : 0;
	if ((o->whole || (o->parts && window == 1 && !loss_pct)) && o->bytes[CALL_DIR_SENT].len)
		assert_int_equal(shown, o->n);
	feed_fini(&o->f);
	buf_fini(&o->bytes[CALL_DIR_SENT]);
	buf_fini(&o->bytes[CALL_DIR_RECEIVED]);
}

static void run_all(const struct order_kind *kinds, unsigned seeds)
{
	struct tally t = { 0 };

	for (unsigned i = 0; i < 3000 * seeds; i++) {
		if (i % 3000 == 0)
			srand(1 + i / 3000);
		run(kinds, 1 + (unsigned)rand() % (i % 2 ? 1 : 100), i % 3, i % 8 == 2 ? -1 : i % 4 ? 0 : 2, &t);
	}
	print_message("%u calls with a status, %u of them with another one's\n", t.shown, t.wrong);
	assert_int_equal(t.wrong, t.unseen);
	assert_true(t.unseen <= t.shown / 250000);
	assert_true(t.shown > 50000 * seeds);
}

static void test_http(void **state)
{
	(void)state;
	run_all(http, 1);
}

static void test_http_content(void **state)
{
	(void)state;
	run_all(http_content, 20);
}

static void test_redis(void **state)
{
	(void)state;
	run_all(redis, 1);
}

static void test_memcached(void **state)
{
	(void)state;
	run_all(memcached, 1);
}

static void test_postgresql(void **state)
{
	(void)state;
	run_all(postgresql, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_http),
		cmocka_unit_test(test_http_content),
		cmocka_unit_test(test_redis),
		cmocka_unit_test(test_memcached),
		cmocka_unit_test(test_postgresql),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
