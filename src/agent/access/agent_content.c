// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Content is defined by tables: struct content_rule for records, field flags and section kinds for events.
 */
#include "agent/access/agent_content.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/agent_request.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/str.h"
#include "event/decode.h"
#include "event/event.h"
#include "event/filter/filter.h"
#include "ipc/listen.h"
#include "ipc/proto.h"
#include "pipeline/pipeline.h"
#include "pktfilter/pktfilter.h"

void agent_content_fini(struct agent_content *c)
{
	buf_fini(&c->copy);
}

uint32_t agent_content_viewer(const struct agent_content *c, const struct peer *p, uint32_t rights)
{
	if (rights & PROTO_RIGHT_CONTROL || !p->uid || p->uid == geteuid() || c->allow == AGENT_CONTENT_GROUP)
		return UID_ALL;
	return p->uid;
}

static bool is_of(const struct agent_content *c, uint32_t viewer, uint32_t tgid, uint64_t start_ns, uint64_t ts_ns)
{
	uint32_t uid;

	return pipeline_owner(c->pipeline, tgid, start_ns, ts_ns, &uid) && uid == viewer;
}

const struct sonde_rec *agent_content_record(struct agent_content *c, const struct sonde_rec *r, uint32_t viewer)
{
	const struct decode_set *d = pipeline_decoders(c->pipeline);
	struct sonde_rec *copy;

	if (viewer == UID_ALL || (is_of(c, viewer, r->tgid, r->start_ns, r->ts_ns) && decode_owner_sure(d, r)))
		return r;
	buf_reset(&c->copy);
	if (buf_add(&c->copy, r, r->len) < 0)
		return NULL;
	copy = (void *)c->copy.data;
	return decode_hide_content(d, copy) < 0 ? NULL : copy;
}

void agent_content_set_record(struct agent_content *c, const struct sonde_rec *r)
{
	c->unsure = r && !decode_owner_sure(pipeline_decoders(c->pipeline), r);
}

const struct event *agent_content_event(struct agent_content *c, const struct event *ev, uint32_t viewer,
					struct arena *scratch, struct event *ret)
{
	if (viewer == UID_ALL)
		return ev;
	if (!c->unsure && is_of(c, viewer, ev->tgid, ev->start_ns, ev->ts_ns)) {
		*ret = *ev;
		ret->hide = HIDE_OTHERS;
		return ret;
	}
	event_hide_content(ev, scratch, ret);
	return ret;
}

/* ---- filters in the kernel ---- */

/* Fields of system calls without content. */
static const char *const open_words[] = {
	"proc.pid",	"proc.name",	   "proc.ppid",	  "proc.exe",	   "thread.tid",
	"user.uid",	"group.gid",	   "evt.type",	  "evt.dir",	   "evt.cpu",
	"evt.failed",	"evt.rawres",	   "evt.res",	  "evt.latency",   "evt.category",
	"syscall.name", "syscall.type",	   "syscall.nr",  "syscall.class", "syscall.error",
	"syscall.ret",	"syscall.latency", "syscall.abi", "container.id",  "cgroup.id",
	"cgroup.name",	"fd.num",	   NULL,
};

static bool is_open_push(const struct agent_content *c, const char *text)
{
	struct err err = { 0 };
	struct filter *f;
	bool open;

	if (filter_parse(pipeline_registry(c->pipeline), text, &f, &err) < 0)
		return true; /* conf_init() will refuse it with a message */
	open = filter_has_only(f, open_words);
	filter_free(f);
	return open;
}

static int check_option(const struct agent_content *c, const struct probe_request *w, size_t i, struct err *err)
{
	const char *word = w->args.items[i];

	if (!strncmp(word, "--push=", 7))
		return is_open_push(c, word + 7);
	if (strncmp(word, "--words=", 8) || pktfilter_headers_only(word + 8))
		return 1;
	return err_set(err, -EPERM,
		       "%s: packet filters of the read socket can test headers only (allow-content of agent.conf)",
		       word + 8);
}

static bool counts_only(const struct probe_request *w)
{
	for (size_t i = 1; i < w->args.len; i++)
		if (!strcmp(w->args.items[i], "--summary"))
			return true;
	return false;
}

/* Removes options by content. The client filters by itself; a summary cannot be filtered later, so it is refused. */
static int check_probe(const struct agent_content *c, struct probe_request *w, struct err *err)
{
	size_t kept = 1;

	for (size_t i = 1; i < w->args.len; i++) {
		int r = check_option(c, w, i, err);

		if (r < 0)
			return r;
		if (!r && counts_only(w))
			return err_set(err, -EPERM,
				       "%s: summaries on the read socket cannot be filtered by content "
				       "(allow-content of agent.conf)",
				       w->args.items[i]);
		if (r)
			w->args.items[kept++] = w->args.items[i];
	}
	w->args.len = kept;
	return 0;
}

int agent_content_check(const struct agent_content *c, uint32_t viewer, struct agent_request *q, struct err *err)
{
	int r = 0;

	if (viewer == UID_ALL)
		return 0;
	for (size_t i = 0; r >= 0 && i < q->probes.len; i++)
		r = check_probe(c, &q->probes.items[i], err);
	return r;
}

/* ---- log ---- */

static void put_probes(const struct agent_request *q, struct buf *out)
{
	for (size_t i = 0; i < q->probes.len; i++)
		for (size_t k = 0; k < q->probes.items[i].args.len; k++) {
			const char *word = q->probes.items[i].args.items[k];

			buf_add_char(out, ' ');
			str_escape_buf(out, word, strlen(word));
		}
	if (q->where && *q->where) {
		buf_add_str(out, " where ");
		str_escape_buf(out, q->where, strlen(q->where));
	}
}

void agent_content_log(uint32_t viewer, const struct peer *p, const struct agent_request *q)
{
	_cleanup_(buf_fini) struct buf b = { 0 };
	const time_t now = time(NULL);
	char when[32];
	struct tm tm;

	if (viewer != UID_ALL)
		return;
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &tm));
	if (q)
		put_probes(q, &b);
	else
		buf_add_str(&b, " ended");
	log_info("sonde: content: %s user %u, pid %d:%s", when, (unsigned)p->uid, (int)p->pid, buf_str(&b));
}
