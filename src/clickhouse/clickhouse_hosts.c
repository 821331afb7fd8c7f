// SPDX-License-Identifier: GPL-2.0-or-later
#include "clickhouse/clickhouse_hosts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"
#include "clickhouse/clickhouse_query.h"
#include "clickhouse/clickhouse_target.h"

#define ANSWER_MS 30000

void clickhouse_hosts_fini(struct clickhouse_hosts *h)
{
	for (size_t i = 0; i < h->n; i++)
		free(h->urls[i]);
	free(h->urls);
	*h = (struct clickhouse_hosts){ 0 };
}

static void add_question(const struct clickhouse_target *t, size_t max, struct buf *out)
{
	buf_add_str(out, "SELECT host FROM run WHERE 1");
	for (const char *at = t->host, *before = " AND host IN ("; *at; before = ", ") {
		const size_t len = strcspn(at, ",");

		buf_add_str(out, before);
		clickhouse_target_add_literal(out, at, len);
		at += len + (at[len] == ',');
		buf_add_str(out, *at ? "" : ")");
	}
	if (t->run)
		buf_printf(out, " AND run = %" PRIu64, t->run);
	buf_printf(out, " GROUP BY host ORDER BY host LIMIT %zu FORMAT TSV;\n", max + 1);
}

/* The URL with one host; keys that come later win. */
static char *url_of(const char *url, const char *host, size_t len)
{
	struct buf text = { 0 };

	buf_printf(&text, "%s%chost=", url, strchr(url, '?') ? '&' : '?');
	buf_add(&text, host, len);
	buf_add_char(&text, '\0');
	if (!buf_error(&text))
		return text.data;
	buf_fini(&text);
	return NULL;
}

/* @answer: a host per line; @name: of the URL, for messages. */
static int take(const char *url, const char *name, const char *answer, size_t max, struct clickhouse_hosts *ret,
		struct err *err)
{
	ret->urls = calloc(max, sizeof(*ret->urls));
	for (size_t len; ret->urls && *answer; answer += len + 1) {
		len = strcspn(answer, "\n");
		if (!len || !answer[len] || strcspn(answer, "&?\\") < len)
			return err_set(err, -EBADMSG, "%s: the name of a host cannot be part of a URL", name);
		if (ret->n == max)
			return err_set(err, -E2BIG, "%s: more than %zu hosts: name some with ?host=A,B", name, max);
		ret->urls[ret->n] = url_of(url, answer, len);
		if (!ret->urls[ret->n])
			break;
		ret->n++;
	}
	if (!ret->urls || *answer)
		return err_errno(err, -ENOMEM, "%s", name);
	return ret->n ? 0 : err_set(err, -ENOENT, "%s: the database has no such run", name);
}

int clickhouse_hosts_list(const char *url, size_t max, struct clickhouse_hosts *ret, struct err *err)
{
	const struct clickhouse_query_opts o = { .answer_ms = ANSWER_MS };
	_cleanup_(buf_fini) struct buf sql = { 0 }, answer = { 0 };
	struct clickhouse_target t;
	int r = clickhouse_target_parse(url, &t, err);

	if (r < 0)
		return r;
	add_question(&t, max, &sql);
	r = clickhouse_query(&t, buf_str(&sql), &o, &answer, err);
	return r < 0 ? r : take(url, t.name, buf_str(&answer), max, ret, err);
}
