// SPDX-License-Identifier: GPL-2.0-or-later
#include "pipeline/pipeline_names.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "event/decode.h"
#include "loop/loop.h"
#include "pipeline/pipeline_state.h"
#include "sonde/symbol_wire.h"
#include "source/source.h"
#include "sym/sym.h"

#define BUDGET 4096	/* records between two looks at signals */

int pipeline_names_open(struct pipeline *p, const char *path, struct err *err)
{
	struct stat st;

	if (!p->names_first || !p->sym || p->follows || !strcmp(path, "-") || stat(path, &st) < 0 ||
	    !(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
		return 0;
	return source_open_query(path, p->query, &p->names_source, err);
}

static int learn(void *ctx, struct event *ev)
{
	struct pipeline *p = ctx;

	p->named = true;
	return sym_event(p->sym, ev);
}

static int take(void *ctx, const struct sonde_rec *r)
{
	struct pipeline *p = ctx;
	int e = r->type == SONDE_EV_SYMBOLS ? decode_record(p->decode, r, r->len, learn, p) : 0;

	return e == -ENOMEM ? e : p->stopping ? -ECANCELED : 0;
}

static int on_input(_unused_ void *ctx, _unused_ int fd, _unused_ uint32_t events)
{
	return 0;
}

void pipeline_names_read(struct pipeline *p)
{
	struct loop_source *io = NULL;
	struct err err = { 0 };
	int r = -ENOENT;

	if (p->names_source)
		r = loop_add_io(p->loop, source_fd(p->names_source), EPOLLIN, on_input, p, &io);

	while (r >= 0 && !p->stopping) {
		r = source_read(p->names_source, BUDGET, take, p, &err);
		if (r == 0)
			break;
		if (r == BUDGET || r == -EAGAIN)
			r = loop_once(p->loop, r == BUDGET ? 0 : -1);
	}
	loop_remove(io);
	source_close(TAKE_PTR(p->names_source));
}
