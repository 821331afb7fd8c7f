// SPDX-License-Identifier: GPL-2.0-or-later
#include "clickhouse/clickhouse_sender.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/macros.h"
#include "clickhouse/clickhouse_block.h"
#include "clickhouse/clickhouse_deliver.h"
#include "clickhouse/clickhouse_ledger.h"
#include "clickhouse/clickhouse_query.h"
#include "clickhouse/clickhouse_schema.h"
#include "clickhouse/clickhouse_spool.h"
#include "http_client/http_client.h"

#define IN_FLIGHT 8u
#define IN_FLIGHT_BYTES (32u << 20)
#define PAUSE_NS NS_PER_S	   /* after a block without an answer */
#define PATIENCE_NS (3 * NS_PER_S) /* of the process, for a block */
#define ANSWER_MS 30000
#define ASK_MS 5000 /* at the start, which waits for it */
#define LEDGER_NS (60 * NS_PER_S)
#define LIVE_CLOSE_NS (5 * NS_PER_S)
#define REPLAY_CLOSE_NS (60 * NS_PER_S) /* without progress */
#define LEDGER_CLOSE_NS (2 * NS_PER_S)
#define WAIT_NS (100 * NS_PER_MS)

/* A block until its end is known. */
struct queued {
	uint64_t id;
	uint64_t number;		/* of the file */
	struct clickhouse_spool *spool; /* borrowed; NULL = in memory */
	char *data;			/* owned; in memory */
	size_t bytes;
	int64_t made_ns;	/* wall clock */
	uint32_t n_rows, entry; /* of the ledger; no rows: not read yet */
	bool sent, again;
	bool ledger; /* it has rows of the table `ledger` */
};

struct clickhouse_sender {
	struct clickhouse_target target;
	struct clickhouse_deliver_conf deliver;
	bool wait;
	struct http_client *client;		/* owned */
	struct clickhouse_spool *spool;		/* owned; NULL = none */
	VEC(struct clickhouse_spool *) adopted; /* owned; of earlier runs */
	VEC(struct queued) queue;		/* in order */
	uint64_t in_flight[IN_FLIGHT];		/* ids, in the order of the answers */
	size_t n_in_flight, in_flight_bytes;
	uint64_t next_id, next_number, memory_bytes, spool_bytes;
	struct clickhouse_ledger ledger;
	uint64_t ledger_seq, ledger_ns; /* of the next row; when the last was written */
	uint64_t ledger_id, ledger_first; /* its latest block, and that one's first row */
	uint64_t run;			/* of the blocks of this process, 0 = none yet */
	char host[256];
	uint64_t pause_ns;    /* boot time until which nothing is sent */
	uint64_t progress_ns; /* boot time of the last answer that settled a block */
	bool away;	      /* the server did not answer */
	char why[112];	      /* the last failure */
	struct buf known, scratch, sending;
};

/* ---- blocks ---- */

static struct queued *find(struct clickhouse_sender *s, uint64_t id)
{
	return vec_find(it, &s->queue, it->id == id);
}

/* Finds the entry for the counts of a block. */
static void count_by(struct clickhouse_sender *s, struct queued *q, const struct clickhouse_block *b)
{
	if (!clickhouse_ledger_of(&s->ledger, b->head.run, b->table))
		return;
	q->n_rows = b->head.n_rows;
	q->ledger = !strcmp(b->table, "ledger");
	q->entry = (uint32_t)clickhouse_ledger_index(&s->ledger, b->head.run, b->table);
}

/* Its bytes, from memory or from the file into @to. NULL if it cannot be read. */
static char *load(struct clickhouse_sender *s, struct queued *q, struct buf *to)
{
	struct clickhouse_block b;
	char *data = q->data;

	if (q->spool) {
		if (clickhouse_spool_get(q->spool, q->number, to) < 0 || to->len != q->bytes)
			return NULL;
		data = to->data;
	}
	if (clickhouse_block_look(data, q->bytes, &b) < 0)
		return NULL;
	if (!q->n_rows)
		count_by(s, q, &b);
	return data;
}

/* Adds its rows to a count, given by its offset. */
static void count(struct clickhouse_sender *s, struct queued *q, size_t off)
{
	char *entry;
	uint64_t n;

	if (!q->n_rows && (!load(s, q, &s->scratch) || !q->n_rows))
		return;
	entry = (char *)&s->ledger.entries.items[q->entry].count;
	memcpy(&n, entry + off, sizeof(n));
	n += q->n_rows;
	memcpy(entry + off, &n, sizeof(n));
}

static void forget(struct clickhouse_sender *s, struct queued *q)
{
	const size_t i = (size_t)(q - s->queue.items);

	if (q->spool) {
		clickhouse_spool_remove(q->spool, q->number);
		s->spool_bytes -= MIN(s->spool_bytes, (uint64_t)q->bytes);
	} else {
		s->memory_bytes -= q->bytes;
		free(q->data);
	}
	s->queue.len--;
	memmove(q, q + 1, (s->queue.len - i) * sizeof(*q));
}

#define COUNT(member) offsetof(struct clickhouse_ledger_count, member)

/* ---- in the spool or in memory ---- */

static bool to_spool(struct clickhouse_sender *s, struct queued *q, const void *block)
{
	if (!s->spool || clickhouse_spool_put(s->spool, q->number, block, q->bytes, s->away) < 0)
		return false;
	q->spool = s->spool;
	s->spool_bytes += q->bytes;
	return true;
}

static bool to_memory(struct clickhouse_sender *s, struct queued *q, const void *block)
{
	q->data = malloc(q->bytes);
	if (!q->data)
		return false;
	memcpy(q->data, block, q->bytes);
	s->memory_bytes += q->bytes;
	return true;
}

/* The queue has room for it. */
static void enqueue(struct clickhouse_sender *s, const struct queued *q, size_t at)
{
	struct queued *to = s->queue.items + at;

	memmove(to + 1, to, (s->queue.len - at) * sizeof(*to));
	*to = *q;
	s->queue.len++;
	s->next_id++;
	s->next_number++;
}

/* ---- the ledger: a loss is said before rows behind it can be seen, also by a run that is killed ---- */

/* Its latest block, if no server can have seen that one. */
static struct queued *unseen_ledger(struct clickhouse_sender *s)
{
	struct queued *q = s->ledger_id ? find(s, s->ledger_id) : NULL;

	return q && !q->sent && !q->again ? q : NULL;
}

/* In the place of @old: the same rows with later counts. */
static bool replace_ledger(struct clickhouse_sender *s, struct queued *old, struct queued *q, const void *block)
{
	q->id = old->id;
	q->number = old->number;
	if (!to_spool(s, q, block) && (old->spool || !to_memory(s, q, block)))
		return false;
	if (old->spool)
		s->spool_bytes -= MIN(s->spool_bytes, (uint64_t)old->bytes);
	else
		s->memory_bytes -= old->bytes;
	free(old->data);
	*old = *q;
	return true;
}

/* Blocks in memory are seen in their order: it goes first. */
static bool add_ledger(struct clickhouse_sender *s, struct queued *q, const void *block)
{
	size_t at = 0;

	q->id = s->next_id;
	q->number = s->next_number;
	if (vec_grow(&s->queue) < 0 || (!to_spool(s, q, block) && !to_memory(s, q, block)))
		return false;
	while (at < s->queue.len && (q->spool || s->queue.items[at].sent))
		at++;
	enqueue(s, q, at);
	s->ledger_id = q->id;
	return true;
}

static void write_ledger(struct clickhouse_sender *s, bool final)
{
	_cleanup_(buf_fini) struct buf block = { 0 };
	struct queued *old = unseen_ledger(s), q = { 0 };
	const uint64_t now_ns = (uint64_t)clock_boot_offset_ns() + clock_boot_ns();
	const uint32_t n_old = old ? old->n_rows : 0;
	const uint64_t first = old ? s->ledger_first : s->ledger_seq;
	uint64_t seq = first;
	struct clickhouse_block b;

	s->ledger_ns = clock_boot_ns();
	if (!s->run || clickhouse_ledger_block(&s->ledger, s->host, s->run, now_ns, final, &seq, &block) < 0 ||
	    !block.len || clickhouse_block_look(block.data, block.len, &b) < 0)
		return;
	q.bytes = block.len;
	q.made_ns = (int64_t)now_ns;
	count_by(s, &q, &b);
	if (!(old ? replace_ledger(s, old, &q, block.data) : add_ledger(s, &q, block.data)))
		return;
	s->ledger_first = first;
	s->ledger_seq = seq;
	s->ledger.entries.items[q.entry].count.made += q.n_rows - n_old;
}

/* A kill between the two steps leaves a block that is said to be lost, and none that is lost and not said. */
static void lose(struct clickhouse_sender *s, struct queued *q, size_t off)
{
	const uint64_t id = q->id;

	count(s, q, off);
	if (!s->wait && !q->ledger)
		write_ledger(s, false);
	forget(s, find(s, id));
}

/* ---- answers ---- */

static void on_answered(void *ctx, enum http_client_outcome outcome, const char *why)
{
	struct clickhouse_sender *s = ctx;
	struct queued *q = s->n_in_flight ? find(s, s->in_flight[0]) : NULL;

	if (!q)
		return;
	s->n_in_flight--;
	memmove(s->in_flight, s->in_flight + 1, s->n_in_flight * sizeof(s->in_flight[0]));
	s->in_flight_bytes -= MIN(s->in_flight_bytes, q->bytes);
	if (why[0])
		snprintf(s->why, sizeof(s->why), "%s", why);
	if (outcome == POST_DELIVERED || outcome == POST_REFUSED) {
		s->progress_ns = clock_boot_ns();
		s->away = false;
	}
	if (outcome == POST_DELIVERED) {
		count(s, q, COUNT(delivered));
		forget(s, q);
	} else if (outcome == POST_REFUSED) {
		lose(s, q, COUNT(lost_refused));
	} else {
		q->sent = false;
		q->again = s->away = true;
		s->pause_ns = clock_boot_ns() + PAUSE_NS;
	}
}

/* Other blocks find out whether the server is back: one of the ledger that it has not seen can still be replaced. */
static struct queued *first_unsent(struct clickhouse_sender *s)
{
	const struct queued *later = s->away && s->queue.len > 1 ? unseen_ledger(s) : NULL;

	return vec_find(it, &s->queue, !it->sent && it != later);
}

/* The answer may come, and @q go, before http_client_put() returns. */
static void send_one(struct clickhouse_sender *s, struct queued *q)
{
	char *data = load(s, q, &s->sending);

	if (!data) {
		snprintf(s->why, sizeof(s->why), "damaged block in the spool");
		lose(s, q, COUNT(lost_refused));
		return;
	}
	if (q->again)
		clickhouse_block_set_again(data);
	q->sent = true;
	s->in_flight[s->n_in_flight++] = q->id;
	s->in_flight_bytes += q->bytes;
	http_client_put(s->client, data, q->bytes, q->n_rows);
}

/* A server that is away gets one block at a time: the first one is the first that it has when it is back. */
static void send_all(struct clickhouse_sender *s)
{
	struct queued *q;

	while (s->n_in_flight < (s->away ? 1 : IN_FLIGHT) && s->in_flight_bytes < IN_FLIGHT_BYTES &&
	       clock_boot_ns() >= s->pause_ns && (q = first_unsent(s)))
		send_one(s, q);
}

/* ---- limits ---- */

/* The next block to give up; those of the ledger stay. */
static struct queued *oldest(struct clickhouse_sender *s, bool spooled)
{
	vec_each(q, &s->queue) {
		if (q->sent || !q->spool == spooled)
			continue;
		if (!q->n_rows)
			load(s, q, &s->scratch);
		if (!q->ledger)
			return q;
	}
	return NULL;
}

/* Leaves room for a block of @more bytes, if the spool can be as large. */
static void limit_spool(struct clickhouse_sender *s, size_t more)
{
	const int64_t now_ns = clock_boot_offset_ns() + (int64_t)clock_boot_ns();
	struct queued *q;

	more = more > s->target.spool_bytes ? 0 : more;
	while ((q = oldest(s, true)) &&
	       (s->spool_bytes + more > s->target.spool_bytes ||
		now_ns - q->made_ns > (int64_t)MIN(s->target.spool_age_ns, (uint64_t)INT64_MAX)))
		lose(s, q, COUNT(lost_spool));
}

/* A replay waits for room; 0 once there is some, -ETIMEDOUT if the server makes no progress. */
static int wait_for_room(struct clickhouse_sender *s, size_t len)
{
	while (s->memory_bytes && s->memory_bytes + len > CLICKHOUSE_SENDER_QUEUE_BYTES) {
		if (clock_boot_ns() > s->progress_ns + REPLAY_CLOSE_NS)
			return -ETIMEDOUT;
		http_client_wait(s->client, WAIT_NS);
		clickhouse_sender_pump(s);
	}
	return 0;
}

/* Room in memory for @len bytes. False if there is none. */
static bool make_room(struct clickhouse_sender *s, size_t len)
{
	struct queued *q;

	if (s->wait)
		return wait_for_room(s, len) == 0;
	while (s->memory_bytes + len > CLICKHOUSE_SENDER_QUEUE_BYTES && (q = oldest(s, false)))
		lose(s, q, COUNT(lost_queue));
	return s->memory_bytes + len <= CLICKHOUSE_SENDER_QUEUE_BYTES || !s->queue.len;
}

/* Into the spool, if it can be as large as the block, else into memory. False: neither has room. */
static bool keep(struct clickhouse_sender *s, const void *block, size_t len, const struct clickhouse_block *b)
{
	struct queued q = { .number = s->next_number, .bytes = len };
	bool fits = len <= s->target.spool_bytes;

	count_by(s, &q, b);
	q.made_ns = clock_boot_offset_ns() + (int64_t)clock_boot_ns();
	if (vec_grow(&s->queue) < 0)
		return false;
	if (!(fits && to_spool(s, &q, block)) &&
	    !(make_room(s, len) && vec_grow(&s->queue) >= 0 && to_memory(s, &q, block)))
		return false;
	q.id = s->next_id;
	q.number = s->next_number;
	enqueue(s, &q, s->queue.len);
	return true;
}

/* Counts the rows, and keeps the block or counts them as lost. */
static void take_block(struct clickhouse_sender *s, const void *block, size_t len, const struct clickhouse_block *b)
{
	struct clickhouse_ledger_count *c = clickhouse_ledger_of(&s->ledger, b->head.run, b->table);

	if (c)
		c->made += b->head.n_rows;
	if (keep(s, block, len, b))
		return;
	c = clickhouse_ledger_of(&s->ledger, b->head.run, b->table);
	if (c)
		c->lost_queue += b->head.n_rows;
	if (!s->wait)
		write_ledger(s, false);
}

void clickhouse_sender_put(struct clickhouse_sender *s, const void *block, size_t len)
{
	struct clickhouse_block b;

	if (clickhouse_block_look(block, len, &b) < 0)
		return;
	if (!s->run) {
		s->run = b.head.run;
		snprintf(s->host, sizeof(s->host), "%s", b.host);
		s->progress_ns = clock_boot_ns();
		write_ledger(s, false); /* of earlier runs */
	}
	limit_spool(s, len);
	take_block(s, block, len, &b);
	limit_spool(s, 0);
	clickhouse_sender_pump(s);
}

/* ---- turns ---- */

void clickhouse_sender_pump(struct clickhouse_sender *s)
{
	http_client_pump(s->client);
	if (!s->wait && clock_boot_ns() > s->ledger_ns + LEDGER_NS)
		write_ledger(s, false);
	send_all(s);
}

void clickhouse_sender_count(const struct clickhouse_sender *s, struct clickhouse_ledger_count *ret)
{
	clickhouse_ledger_sum(&s->ledger, ret);
}

/* ---- start ---- */

static const char *spool_dir(const struct clickhouse_sender *s)
{
	return s->target.spool[0] ? s->target.spool : CLICKHOUSE_SPOOL_DIR;
}

/* The spool waits for it. */
static void start_without_server(struct clickhouse_sender *s, const struct clickhouse_sender_opts *o,
				 const struct err *why)
{
	char text[800];

	s->away = true;
	snprintf(text, sizeof(text), "%s; rows wait in the spool %s", why->msg, spool_dir(s));
	if (o->news)
		o->news(o->news_ctx, text);
}

static int ask_server(struct clickhouse_sender *s, const struct clickhouse_sender_opts *o, const char **ret_known,
		      struct err *err)
{
	const struct clickhouse_query_opts q = { .answer_ms = o->ask_ms ? o->ask_ms : ASK_MS };
	struct err why = { 0 };
	int r = clickhouse_query(&s->target, CLICKHOUSE_SCHEMA_ASK ";\n", &q, &s->known, &why);

	*ret_known = NULL;
	if (r == -EHOSTUNREACH && s->spool) {
		start_without_server(s, o, &why);
		return 0;
	}
	if (r < 0)
		return err_set(err, r, "%s", why.msg);
	if (!strstr(buf_str(&s->known), "record\t"))
		return err_set(err, -ENOENT,
			       "%s: the database lacks sonde's tables: sonde clickhouse init %s makes them",
			       s->target.name, s->target.name);
	*ret_known = buf_str(&s->known);
	return 0;
}

static int adopt_files(struct clickhouse_sender *s, struct clickhouse_spool *from)
{
	struct clickhouse_spool_list l = { 0 };
	int r = clickhouse_spool_list(from, &l);

	for (size_t i = 0; r >= 0 && i < l.files.len; i++) {
		const struct queued q = { .id = s->next_id++,
					  .number = l.files.items[i].number,
					  .spool = from,
					  .bytes = l.files.items[i].bytes,
					  .made_ns = l.files.items[i].changed_ns,
					  .again = true };

		r = vec_grow(&s->queue);
		if (r >= 0)
			s->queue.items[s->queue.len++] = q;
		s->spool_bytes += q.bytes;
	}
	vec_fini(&l.files);
	return r;
}

/* Blocks of earlier runs, oldest first. */
static void adopt_all(struct clickhouse_sender *s, const char *dir)
{
	struct clickhouse_spool *from;
	uint64_t after = 0;

	while (clickhouse_spool_adopt(dir, &after, &from) > 0) {
		if (vec_grow(&s->adopted) < 0) {
			clickhouse_spool_close(from);
			return;
		}
		s->adopted.items[s->adopted.len++] = from;
		adopt_files(s, from);
	}
}

/* A named directory must work; without the default one blocks stay in memory. */
static int open_spool(struct clickhouse_sender *s, struct err *err)
{
	const char *dir = spool_dir(s);
	int r;

	if (s->wait || !strcmp(dir, "no"))
		return 0;
	r = clickhouse_spool_open(dir, clickhouse_block_new_run(), &s->spool, err);
	if (r < 0)
		return s->target.spool[0] ? r : 0;
	adopt_all(s, dir);
	return 0;
}

static int start(struct clickhouse_sender *s, const struct clickhouse_sender_opts *o, const char **ret_known,
		 struct err *err)
{
	const struct http_client_opts http = {
		.url = s->target.base,
		.path = "/",
		.type = "application/octet-stream",
		.things = "rows",
		.loop = o->loop,
		.queue_bytes = IN_FLIGHT_BYTES + 2ull * CLICKHOUSE_BLOCK_BYTES,
		.patience_ns = PATIENCE_NS,
		.deliver = clickhouse_deliver,
		.headers = s->target.headers,
		.answer_ms = ANSWER_MS,
		.deliver_ctx = &s->deliver,
		.answered = on_answered,
		.answered_ctx = s,
		.news = o->news,
		.news_ctx = o->news_ctx,
	};
	int r = open_spool(s, err);

	if (r >= 0)
		r = ask_server(s, o, ret_known, err);
	if (r >= 0)
		s->deliver = (struct clickhouse_deliver_conf){ .target = &s->target, .columns = *ret_known };
	return r < 0 ? r : http_client_open(&http, &s->client, err);
}

int clickhouse_sender_open(const struct clickhouse_sender_opts *o, struct clickhouse_sender **ret,
			   const char **ret_known, struct err *err)
{
	struct clickhouse_sender *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return err_errno(err, -ENOMEM, "cannot open %s", o->url);
	s->wait = o->wait;
	s->ledger_ns = s->progress_ns = clock_boot_ns();
	r = clickhouse_target_parse(o->url, &s->target, err);
	if (!s->target.spool_bytes)
		s->target.spool_bytes = CLICKHOUSE_SENDER_SPOOL_BYTES;
	if (!s->target.spool_age_ns)
		s->target.spool_age_ns = CLICKHOUSE_SENDER_SPOOL_AGE_NS;
	if (r >= 0)
		r = start(s, o, ret_known, err);
	if (r < 0) {
		clickhouse_sender_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

/* ---- the end ---- */

void clickhouse_sender_free(struct clickhouse_sender *s)
{
	if (!s)
		return;
	http_client_free(s->client);
	for (size_t i = 0; i < s->queue.len; i++)
		free(s->queue.items[i].data);
	vec_fini(&s->queue);
	for (size_t i = 0; i < s->adopted.len; i++)
		clickhouse_spool_close(s->adopted.items[i]);
	vec_fini(&s->adopted);
	clickhouse_spool_close(s->spool);
	clickhouse_ledger_fini(&s->ledger);
	buf_fini(&s->known);
	buf_fini(&s->scratch);
	buf_fini(&s->sending);
	free(s);
}

/* Until the queue is empty; a replay as long as the server makes progress. */
static void drain(struct clickhouse_sender *s, uint64_t longest_ns)
{
	const uint64_t began_ns = clock_boot_ns();

	clickhouse_sender_pump(s);
	while (s->queue.len && clock_boot_ns() < (s->wait ? MAX(began_ns, s->progress_ns) : began_ns) + longest_ns) {
		http_client_wait(s->client, WAIT_NS);
		clickhouse_sender_pump(s);
	}
}

/* Remaining blocks stay in the spool or are lost. Blocks of earlier runs are not counted: they may still be there. */
static void count_rest(struct clickhouse_sender *s)
{
	for (size_t i = 0; i < s->ledger.entries.len; i++)
		s->ledger.entries.items[i].count.spooled = s->ledger.entries.items[i].count.lost_unreached = 0;
	vec_each(q, &s->queue) {
		if (!q->spool || q->spool == s->spool)
			count(s, q, q->spool ? COUNT(spooled) : COUNT(lost_unreached));
	}
}

static int report(const struct clickhouse_sender *s, struct err *err)
{
	struct clickhouse_ledger_count c;
	uint64_t lost;

	clickhouse_sender_count(s, &c);
	lost = c.lost_queue + c.lost_spool + c.lost_refused + c.lost_unreached;
	if (lost)
		return err_set(err, -EIO,
			       "%s: lost %llu of %llu rows (%llu refused, %llu not sent in time, %llu over "
			       "the queue limit, %llu over the spool's limits): %s",
			       s->target.name, (unsigned long long)lost, (unsigned long long)c.made,
			       (unsigned long long)c.lost_refused, (unsigned long long)c.lost_unreached,
			       (unsigned long long)c.lost_queue, (unsigned long long)c.lost_spool, s->why);
	if (c.spooled)
		return err_set(err, -EIO,
			       "%s: %llu of %llu rows are in the spool %s, and the next run sends them: %s",
			       s->target.name, (unsigned long long)c.spooled, (unsigned long long)c.made,
			       spool_dir(s), s->why);
	return 0;
}

int clickhouse_sender_close(struct clickhouse_sender *s, struct err *err)
{
	int r;

	drain(s, s->wait ? REPLAY_CLOSE_NS : LIVE_CLOSE_NS);
	count_rest(s);
	write_ledger(s, true);
	drain(s, LEDGER_CLOSE_NS);
	count_rest(s);
	r = report(s, err);
	clickhouse_sender_free(s);
	return r;
}
