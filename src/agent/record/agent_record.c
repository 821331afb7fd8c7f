// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The recorder is a client like others, over a socket pair: its queue is bounded, its losses are counted, and no
 * other client waits for it. Unlike others it is not disconnected when the disk stalls.
 */
#include "agent/record/agent_record.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent_capture.h"
#include "agent/agent_send.h"
#include "agent/agent_state.h"
#include "agent/record/record_sets.h"
#include "base/clock.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/macros.h"
#include "base/str.h"
#include "event/decode.h"
#include "event/event.h"
#include "ipc/broadcast.h"
#include "ipc/proto.h"
#include "loop/loop.h"
#include "pipeline/pipeline.h"
#include "store/store_writer.h"
#include "worker/worker.h"

#define MAX_BYTES (10ull << 30)
#define MIN_FREE_PCT 10
#define SEGMENTS_LEAST 4		/* retention removes whole ones */
#define SEGMENT_LEAST_BYTES (1u << 20)
#define LEAVE_MS 5000			/* at the end of the agent */
#define STOPPED "the recorder process ended: restart the agent"

/* ---- the configuration ---- */

static bool is_named(const char *record)
{
	return record && strcmp(record, "off") != 0;
}

static int put_sets(const char *list, struct buf *out, struct err *err)
{
	struct record_sets sets = { .row = "record" };
	int r = record_sets_add(&sets, list, err);

	if (r >= 0 && !sets.members.len)
		r = err_set(err, -EINVAL, "record: no set is named");
	if (r >= 0)
		r = record_sets_words(&sets, out, err);
	record_sets_fini(&sets);
	if (r >= 0 && out->len > RECORD_PROCESS_WORDS_MAX)
		r = err_set(err, -E2BIG, "record: the options of all probes together are too long");
	return r;
}

int agent_record_check(const struct agent_conf *c, struct err *err)
{
	_cleanup_(buf_fini) struct buf words = { 0 };

	if (c->record_dir && c->record_dir[0] != '/')
		return err_set(err, -EINVAL, "record-dir %s: an absolute path is expected", c->record_dir);
	if (!is_named(c->record) && !c->record_dir && (c->record_size || c->record_age_ns || c->record_keep_ns))
		return err_set(err, -EINVAL, "record-size, record-age and record-keep need record or record-dir");
	if (c->record_size && c->record_size < 2 * SEGMENT_LEAST_BYTES)
		return err_set(err, -EINVAL, "record-size: the least that works is two segments of 1M");
	return is_named(c->record) ? put_sets(c->record, &words, err) : 0;
}

static bool is_state(void *ctx, uint16_t type)
{
	const uint8_t *state = ctx;

	return state[type / 8] >> type % 8 & 1;
}

/* A bit per event type that updates tables of readers. The process gets a copy. */
static uint8_t *list_state(const struct registry *reg)
{
	uint8_t *state = calloc(1, (UINT16_MAX + 1) / 8);
	const struct event_desc *d;
	size_t pos = 0;

	while (state && (d = registry_next(reg, &pos)))
		if (d->class == EVENT_STATE && d->type != SONDE_EV_TICK)
			state[d->type / 8] |= (uint8_t)(1u << d->type % 8);
	return state;
}

static void settle(struct agent *a, struct record_process_opts *ret)
{
	const struct agent_conf *c = &a->conf;
	const uint64_t bytes = c->record_size ? c->record_size : MAX_BYTES;
	const bool shared = c->allow_content == AGENT_CONTENT_GROUP && a->gid;

	*ret = (struct record_process_opts){
		.dir = c->record_dir ? c->record_dir : AGENT_RECORD_DIR,
		.mode = shared ? 0640 : 0600,
		.group = shared ? a->gid : 0,
		.limits = { .max_bytes = bytes, .max_age_ns = c->record_age_ns, .min_free_pct = MIN_FREE_PCT },
		.segment_bytes = MAX(MIN(STORE_SEGMENT_BYTES, bytes / SEGMENTS_LEAST),
				     (uint64_t)SEGMENT_LEAST_BYTES),
		.keep_ns = c->record_keep_ns,
		.is_state = is_state,
	};
}

/* ---- replies and reports ---- */

static void note_rest(struct agent_record *c)
{
	if (c->report.resting && !c->rested)
		log_warn("recording rests: cannot write %s: %s; records are left out and counted", c->opts.dir,
			 strerror(-c->report.error));
	else if (!c->report.resting && c->rested)
		log_info("sonde: recording goes on; %" PRIu64 " records were left out", c->report.lost);
	c->rested = c->report.resting;
}

static void take_reply(struct agent *a, const struct record_process_message *m)
{
	struct agent_record *c = &a->record;
	struct agent_conn *to = c->asker;
	_cleanup_(buf_fini) struct buf text = { 0 };
	struct err err = { 0 };

	c->waits = false;
	c->asker = NULL;
	if (m->code < 0)
		err_set(&err, m->code, "%.*s", (int)sizeof(m->text), m->text);
	else if (m->text[0])
		buf_printf(&text, "%.*s\n", (int)sizeof(m->text), m->text);
	if (to)
		c->answer(to, m->code, &err, &text);
	else if (m->code < 0)
		log_error("not recording: %s", err.msg);
	else
		log_info("sonde: recording to %s", c->opts.dir);
}

static void end_process(struct agent *a)
{
	struct agent_record *c = &a->record;
	const struct record_process_message m = { .code = -ECHILD, .text = STOPPED };

	loop_remove(TAKE_PTR(c->io));
	if (c->fd >= 0)
		close(TAKE_FD(c->fd));
	c->report.writing = c->report.resting = false;
	if (!c->ended)
		log_error(STOPPED);
	c->ended = true;
	if (c->waits)
		take_reply(a, &m);
}

static int on_message(void *ctx, int fd, _unused_ uint32_t events)
{
	struct agent *a = ctx;
	struct record_process_message m;
	ssize_t n = recv(fd, &m, sizeof(m), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n != sizeof(m)) {
		end_process(a);
		return 0;
	}
	m.text[sizeof(m.text) - 1] = '\0';
	a->record.report = m.report;
	note_rest(&a->record);
	if (m.is_reply && a->record.waits)
		take_reply(a, &m);
	return 0;
}

/* ---- requests ---- */

static int request(struct agent *a, struct agent_conn *asker, enum record_process_kind kind, uint64_t last_ns,
		   const void *words, size_t len, struct err *err)
{
	struct agent_record *c = &a->record;
	struct record_process_request q = { .kind = kind, .len = (uint32_t)len, .last_ns = last_ns };
	const size_t bytes = offsetof(struct record_process_request, words) + len;

	if (c->ended)
		return err_set(err, -ECHILD, STOPPED);
	if (c->waits)
		return err_set(err, -EBUSY, "another request to the recorder is under way");
	if (len)
		memcpy(q.words, words, len);
	if (send(c->fd, &q, bytes, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)bytes)
		return err_errno(err, -errno, "cannot ask the recorder process");
	c->waits = true;
	c->asker = asker;
	return 1;
}

void agent_record_start(struct agent *a)
{
	struct agent_record *c = &a->record;
	struct err err = { 0 };

	if (c->words.len && request(a, NULL, RECORD_PROCESS_START, 0, c->words.data, c->words.len, &err) < 0)
		log_error("not recording: %s", err.msg);
}

/* ---- life ---- */

/* The pair's ends for the agent, and for the process. */
static int make_pair(int type, int *ret_agent, int *ret_process, struct err *err)
{
	int pair[2];

	if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, pair) < 0)
		return err_errno(err, -errno, "cannot start the recorder process");
	*ret_agent = pair[0];
	*ret_process = pair[1];
	return 0;
}

static int start_process(struct agent *a, int *ret_client, struct err *err)
{
	struct agent_record *c = &a->record;
	struct worker_opts o = { .name = "sonde-record", .store = true, .refuse = true, .gid = c->opts.group };
	_cleanup_close_ int client = -1, requests = -1;
	int fds[2], r = make_pair(SOCK_STREAM, ret_client, &client, err);

	if (r >= 0)
		r = make_pair(SOCK_SEQPACKET, &c->fd, &requests, err);
	if (r < 0)
		return r;
	c->opts.client_fd = fds[0] = client;
	c->opts.request_fd = fds[1] = requests;
	o.fds = fds;
	o.n_fds = ARRAY_SIZE(fds);
	return worker_start(&o, record_process_run, &c->opts, -1, &c->worker, err);
}

static void exclude_process(const struct agent *a)
{
	probe_env_exclude(pipeline_env(a->pipeline), (uint32_t)worker_pid(a->record.worker));
}

int agent_record_open(struct agent *a, int *ret_client, struct err *err)
{
	struct agent_record *c = &a->record;
	_cleanup_free_ uint8_t *state = NULL;
	_cleanup_close_ int client = -1;
	int r = 0;

	if (!is_named(a->conf.record) && !a->conf.record_dir)
		return 0;
	if (is_named(a->conf.record))
		r = put_sets(a->conf.record, &c->words, err);
	if (!a->conf.record_dir && mkdir(AGENT_RECORD_ROOT, 0755) < 0 && errno != EEXIST)
		log_warn("cannot create " AGENT_RECORD_ROOT ": %s", strerror(errno));
	settle(a, &c->opts);
	state = list_state(pipeline_registry(a->pipeline));
	c->opts.ctx = state;
	if (r >= 0 && !state)
		r = err_errno(err, -ENOMEM, "cannot start the recorder process");
	if (r >= 0)
		r = start_process(a, &client, err);
	c->opts.ctx = NULL;	/* of the process from now on */
	if (r >= 0 && loop_add_io(a->loop, c->fd, EPOLLIN, on_message, a, &c->io) < 0)
		r = err_errno(err, -ENOMEM, "cannot watch the recorder process");
	if (r < 0)
		return r;
	loop_set_plain(c->io);
	loop_name(c->io, "recorder");
	exclude_process(a);
	c->configured = true;
	*ret_client = TAKE_FD(client);
	return 0;
}

void agent_record_connect(struct agent *a, struct agent_conn *c)
{
	a->record.conn = c;
	c->own = true;
}

void agent_record_forget(struct agent *a, const struct agent_conn *c)
{
	if (a->record.asker == c)
		a->record.asker = NULL;
	if (a->record.conn == c)
		a->record.conn = NULL;
}

/* Records that the agent has read reach the store, unless the disk holds them up for too long. */
void agent_record_flush(struct agent *a)
{
	struct agent_conn *c = a->record.conn;
	const uint64_t end_ns = clock_boot_ns() + LEAVE_MS * NS_PER_MS;

	while (c && !c->gone && !broadcast_empty(c->queue) && clock_boot_ns() < end_ns) {
		struct pollfd p = { .fd = c->fd, .events = POLLOUT };

		poll(&p, 1, 100);
		agent_send_flush(c);
	}
}

void agent_record_close(struct agent *a)
{
	struct agent_record *c = &a->record;

	loop_remove(TAKE_PTR(c->io));
	if (c->fd >= 0)
		close(TAKE_FD(c->fd));
	if (c->worker)
		worker_finish(TAKE_PTR(c->worker), LEAVE_MS * NS_PER_MS, NULL);
	buf_fini(&c->words);
}

/* ---- verbs ---- */

static int check_configured(const struct agent *a, struct err *err)
{
	if (a->record.configured)
		return 0;
	return err_set(err, -ENOENT, "agent.conf has neither record nor record-dir: the agent may create no files; "
				     "set one and restart it");
}

static int start(struct agent_conn *conn, const struct verb_args *args, struct err *err)
{
	struct agent_record *c = &conn->a->record;
	_cleanup_(buf_fini) struct buf words = { 0 };
	int r;

	if (args->n > 2)
		return err_set(err, -EINVAL, "record start takes one list of sets or probes, separated by commas");
	if (args->n == 1 && !c->words.len)
		return err_set(err, -EINVAL, "record start: agent.conf has no record; name light, normal, full or "
					     "probes");
	if (args->n == 1)
		return request(conn->a, conn, RECORD_PROCESS_START, 0, c->words.data, c->words.len, err);
	r = put_sets(args->items[1], &words, err);
	return r < 0 ? r : request(conn->a, conn, RECORD_PROCESS_START, 0, words.data, words.len, err);
}

int agent_record_call(struct agent_conn *conn, const struct verb_args *args, struct buf *out, struct err *err)
{
	const char *word = args->n ? args->items[0] : "status";
	int r = check_configured(conn->a, err);

	if (r < 0)
		return r;
	if (!strcmp(word, "start"))
		return start(conn, args, err);
	if (args->n > 1)
		return err_set(err, -EINVAL, "record %s takes no further words; %s is one", word, args->items[1]);
	if (!strcmp(word, "stop"))
		return request(conn->a, conn, RECORD_PROCESS_STOP, 0, NULL, 0, err);
	if (strcmp(word, "status") != 0)
		return err_set(err, -EINVAL, "record %s: start, stop or status is expected", word);
	agent_record_put(conn->a, out);
	return buf_error(out);
}

static int check_name(const char *name, struct err *err)
{
	const size_t len = strlen(name);

	if (len && len <= RECORD_PROCESS_NAME_MAX && name[0] != '.' && !strchr(name, '/') &&
	    strspn(name, "0123456789") < len)
		return 0;
	return err_set(err, -EINVAL, "dump %s: a name of at most %d bytes without slashes is expected; the dump is "
				     "made in record-dir",
		       name, RECORD_PROCESS_NAME_MAX);
}

int agent_record_dump_call(struct agent_conn *conn, const struct verb_args *args, struct err *err)
{
	const char *name = NULL;
	uint64_t last_ns = 0;
	int r = check_configured(conn->a, err);

	for (size_t i = 0; r >= 0 && i < args->n; i++) {
		const char *word = args->items[i];

		if (!strncmp(word, "last=", 5))
			r = str_to_u64(word + 5, 10, &last_ns) < 0 || !last_ns || last_ns > INT64_MAX / 4 ?
				    err_set(err, -EINVAL, "dump %s: nanoseconds are expected", word) : 0;
		else if (name)
			r = err_set(err, -EINVAL, "dump takes one name; %s is another one", word);
		else
			r = check_name(name = word, err);
	}
	return r < 0 ? r : request(conn->a, conn, RECORD_PROCESS_DUMP, last_ns, name, name ? strlen(name) : 0, err);
}

/* ---- status ---- */

uint64_t agent_record_lost(const struct agent *a)
{
	const struct agent_record *c = &a->record;
	struct broadcast_stats st = { 0 };

	if (c->conn)
		broadcast_stats(c->conn->queue, &st);
	return c->report.lost + st.lost;
}

void agent_record_put(const struct agent *a, struct buf *out)
{
	const struct agent_record *c = &a->record;

	if (!c->configured)
		return;
	buf_printf(out, "record: %s, %s%s, %" PRIu64 " records, %" PRIu64 " bytes stored, %" PRIu64
			" segments, %" PRIu64 " dumps, lost %" PRIu64,
		   c->ended		? "ended" :
		   c->report.resting	? "rests" :
		   c->report.writing	? "on" :
					  "off",
		   c->opts.keep_ns ? "in memory, dumps to " : "", c->opts.dir, c->report.records,
		   c->report.stored_bytes, c->report.segments, c->report.dumps, agent_record_lost(a));
	if (c->report.error)
		buf_printf(out, "; last error: %s", strerror(-c->report.error));
	buf_add_char(out, '\n');
}
