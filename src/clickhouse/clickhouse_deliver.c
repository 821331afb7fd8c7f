// SPDX-License-Identifier: GPL-2.0-or-later
#include "clickhouse/clickhouse_deliver.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/macros.h"
#include "clickhouse/clickhouse_block.h"
#include "clickhouse/clickhouse_form.h"
#include "clickhouse/clickhouse_target.h"
#include "http_client/http_client_child.h"
#include "http_client/http_exchange.h"

#define REPLY_MAX 1024u
#define PAUSE_MS 200 /* before a request that has to find out */

enum landed { LANDED_ALL, LANDED_NONE, LANDED_PART, LANDED_UNKNOWN, LANDED__MAX };

struct delivery {
	struct http_exchange *x;
	const struct clickhouse_deliver_conf *conf;
	bool plain;	/* not as a form: the server refused that, or it does not pay */
	struct clickhouse_block block;
	struct http_client_answer *a;
	char reply[REPLY_MAX];
	size_t reply_len;
};

static int on_reply(void *ctx, const void *data, size_t size)
{
	struct delivery *d = ctx;
	size_t len = MIN(size, sizeof(d->reply) - 1 - d->reply_len);

	memcpy(d->reply + d->reply_len, data, len);
	d->reply_len += len;
	d->reply[d->reply_len] = '\0';
	return 0;
}

#define PLAIN_TYPE "Content-Type: application/octet-stream"

static long post(struct delivery *d, const char *type, const char *url, const void *data, size_t len)
{
	d->reply_len = 0;
	d->reply[0] = '\0';
	if (http_exchange_header(d->x, type) < 0)
		return 0;
	return http_exchange_post(d->x, url, data, len, on_reply, d, d->a->why);
}

/* The server's sentence, up to the stack of calls that versions without a limit append. */
static void quote(struct delivery *d)
{
	size_t len = MIN(strcspn(d->reply, "\n"), sizeof(d->a->why) - 1);

	if (!len)
		return;
	memcpy(d->a->why, d->reply, len);
	d->a->why[len] = '\0';
}

/* Numbers of errors (ClickHouse's ErrorCodes) that the same request meets again. */
static const unsigned lasting[] = {
	6,  10, 16, 20, 26, 27, 33, 36,	 38,  41,  42,	43,  44,  46,  47,  48,	 50,
	53, 60, 62, 69, 70, 72, 81, 115, 117, 131, 192, 193, 194, 195, 291, 497, 516,
};

bool clickhouse_deliver_is_refused(long status, const char *body)
{
	const char *at = strstr(body, "Code: ");
	const unsigned long code = at ? strtoul(at + 6, NULL, 10) : 0;

	for (size_t i = 0; i < ARRAY_SIZE(lasting); i++)
		if (code == lasting[i])
			return true;
	return !code && status >= 400 && status < 500 && status != 408 && status != 429;
}

/* A number from the server. -1 = the question had no answer. */
static int64_t ask(struct delivery *d, const char *what, const char *from, const char *where)
{
	_cleanup_(buf_fini) struct buf sql = { 0 };
	char *end;
	int64_t n;

	buf_printf(&sql, "SELECT %s FROM %s WHERE %s FORMAT TSV", what, from, where);
	if (buf_error(&sql) || post(d, PLAIN_TYPE, d->conf->target->base, sql.data, sql.len) != 200)
		return -1;
	n = strtoll(d->reply, &end, 10);
	return end > d->reply && n >= 0 ? n : -1;
}

/* First whether the insert still runs: what is not there then, does not come. */
static enum landed find_out(struct delivery *d)
{
	char where[160];
	int64_t n;

	snprintf(where, sizeof(where), "query_id = '%.100s'", d->block.id);
	n = ask(d, "count()", "system.processes", where);
	if (n > 0)
		snprintf(d->a->why, sizeof(d->a->why), "the insert still runs");
	if (n != 0)
		return LANDED_UNKNOWN;
	n = ask(d, "count()", d->block.table, d->block.where);
	if (n < 0)
		return LANDED_UNKNOWN;
	return n == 0 ? LANDED_NONE : n == d->block.head.n_rows ? LANDED_ALL : LANDED_PART;
}

static long insert(struct delivery *d)
{
	_cleanup_(buf_fini) struct buf url = { 0 }, form = { 0 };
	char type[CLICKHOUSE_FORM_TYPE] = PLAIN_TYPE;

	buf_printf(&url, "%s&query_id=%s", d->conf->target->base, d->block.id);
	d->plain = d->plain || !clickhouse_form_add_url(d->conf->columns, &d->block, &url);
	if (d->plain) {
		buf_add_str(&url, "&query=");
		clickhouse_target_add_escaped(&url, d->block.insert);
	} else {
		clickhouse_form_add_body(&d->block, &form, type);
	}
	if (buf_error(&url) || buf_error(&form)) {
		snprintf(d->a->why, sizeof(d->a->why), "no memory");
		return 0;
	}
	return post(d, type, buf_str(&url), d->plain ? d->block.rows : form.data,
		    d->plain ? d->block.head.rows_len : form.len);
}

static void settle(struct delivery *d, enum http_client_outcome outcome)
{
	d->a->outcome = outcome;
	if (outcome == POST_DELIVERED)
		d->a->why[0] = '\0';
}

static void refuse_torn(struct delivery *d)
{
	snprintf(d->a->why, sizeof(d->a->why), "torn block: table %.25s has a part of the rows of %.32s",
		 d->block.table, d->block.id);
	settle(d, POST_REFUSED);
}

/* One round: the question if it is @open, then the insert. True: the answer is settled. */
static bool round_trip(struct delivery *d, bool open)
{
	const enum landed l = open ? find_out(d) : LANDED_NONE;
	long status;

	if (l == LANDED_ALL)
		settle(d, POST_DELIVERED);
	else if (l == LANDED_PART)
		refuse_torn(d);
	if (l != LANDED_NONE)
		return l != LANDED_UNKNOWN;
	d->a->tries++;
	status = insert(d);
	if (status == 200) {
		settle(d, POST_DELIVERED);
		return true;
	}
	if (status)
		quote(d);
	if (status && !d->plain) {
		d->plain = true;
		return false;
	}
	if (!status || !clickhouse_deliver_is_refused(status, d->reply))
		return false;
	settle(d, POST_REFUSED);
	return true;
}

void clickhouse_deliver(struct http_exchange *x, const struct http_client_child *conf, const void *data, size_t len,
			struct http_client_answer *a)
{
	struct delivery d = { .x = x, .conf = conf->ctx, .a = a };
	const uint64_t end_ns = clock_boot_ns() + conf->patience_ns;
	bool open;

	if (clickhouse_block_parse(data, len, &d.block) < 0) {
		snprintf(a->why, sizeof(a->why), "damaged block");
		settle(&d, POST_REFUSED);
		return;
	}
	open = d.block.head.flags & CLICKHOUSE_BLOCK_AGAIN;
	settle(&d, POST_UNREACHED);
	while (!round_trip(&d, open) && clock_boot_ns() < end_ns) {
		open = true;
		poll(NULL, 0, PAUSE_MS);
	}
}
