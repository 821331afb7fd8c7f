// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/closing/closing.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/cleanup.h"
#include "base/macros.h"
#include "cmd/run/run_conf.h"
#include "loop/loop.h"
#include "cmd/cmd.h"

bool closing_needed(const struct run_conf *c)
{
	return !c->quiet && (c->verbose || !c->read || isatty(STDERR_FILENO));
}

bool closing_due(const struct run_conf *c, int status)
{
	return closing_needed(c) &&
	       (status == CMD_OK || status == CMD_BY_SIGNAL + SIGINT || status == CMD_BY_SIGNAL + SIGTERM);
}

void closing_add_number(struct buf *b, uint64_t n)
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, n);

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			buf_add_char(b, ',');
		buf_add_char(b, digits[i]);
	}
}

void closing_add_count(struct buf *b, uint64_t n, const char *thing)
{
	const size_t len = strlen(thing);
	const bool ends_in_s = n != 1 && len > 1 && thing[len - 1] == 's';	/* process: processes */

	closing_add_number(b, n);
	buf_printf(b, " %s%s", thing, n == 1 ? "" : ends_in_s ? "es" : "s");
}

struct progress {
	struct loop_source *timer;
	progress_fn line;
	void *ctx;
	uint64_t begin_ns;
};

static int show(void *ctx, uint64_t now_ns)
{
	struct progress *p = ctx;
	_cleanup_(buf_fini) struct buf b = { 0 };

	p->line(p->ctx, (now_ns - p->begin_ns) / NS_PER_S, &b);
	if (!buf_error(&b))
		fprintf(stderr, "\r%s\033[K", buf_str(&b));
	return 0;
}

int closing_progress_new(struct loop *loop, const struct run_conf *c, progress_fn line, void *ctx,
			 struct progress **ret)
{
	struct progress *p;
	int r;

	*ret = NULL;
	if (c->quiet || c->read || !isatty(STDERR_FILENO))
		return 0;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	*p = (struct progress){ .line = line, .ctx = ctx, .begin_ns = clock_boot_ns() };
	r = loop_add_timer(loop, NS_PER_S, NS_PER_S, show, p, &p->timer);
	if (r < 0)
		free(p);
	else
		*ret = p;
	return r;
}

void closing_progress_free(struct progress *p)
{
	if (!p)
		return;
	loop_remove(p->timer);
	fputs("\r\033[K", stderr);
	free(p);
}
