// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A segment ends like this: the recorder calls the verb record-part, and the agent answers with the ledgers (they
 * belong to the old segment), the state of the host (to the new one), and the reply. Records of the stream that come
 * between these go behind the state.
 */
#include "agent/record/record_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "agent/record/record_dump.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/macros.h"
#include "ipc/client.h"
#include "sonde/wire.h"
#include "store/store_writer.h"

#define WAIT_MS 100
#define REPORT_NS NS_PER_S
#define REST_NS (3 * NS_PER_S)	/* longer than records wait for their chunk */
#define FRAMES 8192		/* per turn */
#define LOCK_NS (3 * NS_PER_S)	/* for an earlier recorder to end */

/* Where the end of a segment stands. */
enum part { PART_NONE, PART_ASKED, PART_LEDGERS, PART_STATE, PART__MAX };
/* A dump waits for the end of the segment, then for the disk, then for its folder. */
enum dump_step { DUMP_NONE, DUMP_SEGMENT, DUMP_DISK, DUMP_FOLDER, DUMP__MAX };

struct dump {
	enum dump_step step;
	int64_t before;		/* segments of a flight recorder's dump have higher numbers */
	int64_t since_ns;	/* wall clock; 0 = all */
	struct record_dump *folder;	/* owned; NULL = not begun */
	char name[RECORD_PROCESS_NAME_MAX + 1];
};

struct recorder {
	const struct record_process_opts *o;
	struct client *client;		/* owned */
	struct store_writer *writer;	/* owned; NULL = not recording */
	enum part part;
	struct dump dump;
	struct store_writer_stats last;	/* of the last recording */
	bool rests;			/* the disk is full, or was REST_NS ago */
	uint64_t full_ns;		/* when it was seen full last */
	uint64_t dumps;
	uint64_t reported_ns;
	bool stopping;			/* a reply to RECORD_PROCESS_STOP is due */
	bool closed;			/* by the agent */
};

/* ---- messages ---- */

/* The writer tries again at intervals, and a small record may fit: that alone is not room. */
static void look_at_disk(struct recorder *c)
{
	if (c->writer)
		store_writer_stats(c->writer, &c->last);
	if (c->writer && c->last.resting) {
		c->rests = true;
		c->full_ns = clock_boot_ns();
	} else if (!c->writer || clock_boot_ns() - c->full_ns > REST_NS) {
		c->rests = false;
	}
}

static void fill_report(struct recorder *c, struct record_process_report *ret)
{
	look_at_disk(c);
	*ret = (struct record_process_report){
		.records = c->last.records, .stored_bytes = c->last.stored_bytes, .segments = c->last.segments,
		.lost = c->last.lost, .error = c->last.error, .dumps = c->dumps, .writing = c->writer,
		.resting = c->rests,
	};
}

static void say(struct recorder *c, bool is_reply, int code, const char *text)
{
	struct record_process_message m = { .is_reply = is_reply, .code = code };

	fill_report(c, &m.report);
	snprintf(m.text, sizeof(m.text), "%s", text);
	/* a reply waits for room; a report may be left out */
	if (send(c->o->request_fd, &m, sizeof(m), MSG_NOSIGNAL | (is_reply ? 0 : MSG_DONTWAIT)) < 0 && errno == EPIPE)
		c->closed = true;
	c->reported_ns = clock_boot_ns();
}

static void reply(struct recorder *c, int code, const char *text)
{
	say(c, true, code, text);
}

/* ---- the end of a segment ---- */

static int send_call(struct recorder *c, const char *verb)
{
	_cleanup_(buf_fini) struct buf words = { 0 }, b = { 0 };
	const uint32_t head[2] = { 1, 0 };

	buf_printf(&words, "%s%c", verb, 0);
	proto_put_words(&b, PROTO_CALL, head, sizeof(head), &words);
	if (buf_error(&b))
		return buf_error(&b);
	return send(client_fd(c->client), b.data, b.len, MSG_NOSIGNAL) == (ssize_t)b.len ? 0 : -EPIPE;
}

/* Moves on to @to, through all that lies between. */
static int advance(struct recorder *c, enum part to)
{
	int r = 0;

	if (c->part == PART_ASKED && to > PART_ASKED)
		r = store_writer_phase(c->writer, STORE_NAMES);
	if (r >= 0 && c->part < PART_STATE && to == PART_STATE)
		r = store_writer_phase(c->writer, STORE_STATE);
	c->part = to;
	return r;
}

static int end_part(struct recorder *c)
{
	int r = c->part == PART_NONE ? 0 : advance(c, PART_STATE);

	if (r >= 0 && c->part != PART_NONE)
		r = store_writer_phase(c->writer, STORE_DATA);
	c->part = PART_NONE;
	if (c->dump.step == DUMP_SEGMENT)
		c->dump.step = DUMP_DISK;
	return r;
}

static int begin_part(struct recorder *c)
{
	c->part = PART_ASKED;
	return send_call(c, "record-part");
}

/* ---- dumps ---- */

static bool exists(int dir_fd, const char *name)
{
	_cleanup_close_ int fd = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	return fd >= 0;
}

/* The second of a second gets a number. */
static void name_dump(int dir_fd, char *to, size_t cap)
{
	const time_t now = time(NULL);
	char stamp[32];
	struct tm tm;

	if (!gmtime_r(&now, &tm) || !strftime(stamp, sizeof(stamp), "dump-%Y%m%dT%H%M%SZ", &tm))
		snprintf(stamp, sizeof(stamp), "dump");
	snprintf(to, cap, "%s", stamp);
	for (unsigned n = 2; exists(dir_fd, to); n++)
		snprintf(to, cap, "%s-%u", stamp, n);
}

/* -1 = none. */
static int64_t last_number(int dir_fd)
{
	_cleanup_(store_dir_list_fini) struct store_list l = { 0 };

	if (store_dir_list(dir_fd, &l) < 0 || !l.files.len)
		return -1;
	return (int64_t)l.files.items[l.files.len - 1].number;
}

static void request_dump(struct recorder *c, const struct record_process_request *q)
{
	_cleanup_close_ int dir = -1;
	struct err err = { 0 };
	struct timespec now;

	if (!c->writer) {
		reply(c, -ENOENT, "the agent does not record: sonde control record start begins");
		return;
	}
	look_at_disk(c);
	if (c->rests) {
		reply(c, c->last.error, "the disk is full: recording rests, and nothing can be dumped");
		return;
	}
	dir = store_dir_open(c->o->dir, &err);
	if (dir < 0) {
		reply(c, dir, err.msg);
		return;
	}
	clock_gettime(CLOCK_REALTIME, &now);
	c->dump = (struct dump){
		.step = DUMP_SEGMENT, .before = last_number(dir),
		.since_ns = q->last_ns ? now.tv_sec * (int64_t)NS_PER_S + now.tv_nsec - (int64_t)q->last_ns : 0,
	};
	if (q->len)
		snprintf(c->dump.name, sizeof(c->dump.name), "%.*s",
			 (int)MIN(q->len, (uint32_t)RECORD_PROCESS_NAME_MAX), q->words);
	else
		name_dump(dir, c->dump.name, sizeof(c->dump.name));
	if (c->o->keep_ns && store_writer_trigger(c->writer) == 0) {
		c->dump.step = DUMP_NONE;
		reply(c, -EAGAIN, "a dump of the same time was made already; the next one is possible "
				  "record-keep after it");
	}
}

/* All segments of the dump are complete. */
static void begin_folder(struct recorder *c)
{
	const struct record_dump_opts o = {
		.store = c->o, .name = c->dump.name, .before = c->dump.before, .since_ns = c->dump.since_ns,
	};
	int r = record_dump_start(&o, &c->dump.folder);

	c->dump.step = r < 0 ? DUMP_NONE : DUMP_FOLDER;
	if (r < 0)
		reply(c, r, "the agent has no memory for a dump");
}

static void end_folder(struct recorder *c)
{
	struct err err = { 0 };
	char path[RECORD_PROCESS_TEXT_MAX];
	int r = record_dump_finish(TAKE_PTR(c->dump.folder), &err);

	c->dump.step = DUMP_NONE;
	c->dumps += r >= 0;
	snprintf(path, sizeof(path), "%s/%s", c->o->dir, c->dump.name);
	reply(c, r, r < 0 ? err.msg : path);
}

/* The recording ends. */
static void give_up_dump(struct recorder *c)
{
	if (c->dump.step == DUMP_FOLDER)
		end_folder(c);
	else if (c->dump.step)
		reply(c, -ECANCELED, "the recording ended before the dump was complete");
	c->dump.step = DUMP_NONE;
}

/* ---- records ---- */

static int take_record(struct recorder *c, const struct sonde_rec *r)
{
	int e = 0;

	if (c->part == PART_ASKED && r->type == SONDE_EV_LEDGER)
		e = advance(c, PART_LEDGERS);
	else if (c->part == PART_LEDGERS && r->type != SONDE_EV_LEDGER)
		e = advance(c, PART_STATE);
	return e < 0 ? e : store_writer_add(c->writer, r);
}

/* The stream is complete: seals the store. */
static int finish(struct recorder *c)
{
	struct err err = { 0 };
	int r = end_part(c);

	store_writer_stats(c->writer, &c->last);
	r = MIN(r, store_writer_close(TAKE_PTR(c->writer), &err));
	give_up_dump(c);
	if (c->stopping)
		reply(c, r, r < 0 && !err.msg[0] ? strerror(-r) : err.msg);
	c->stopping = false;
	return 0;
}

static int on_frame(void *ctx, const struct proto_frame *f)
{
	struct recorder *c = ctx;

	if (f->type == PROTO_RECORD && c->writer)
		return take_record(c, f->data);
	if (f->type == PROTO_REPLY && c->part != PART_NONE)
		return end_part(c);
	return f->type == PROTO_END && c->writer ? finish(c) : 0;
}

/* ---- start and stop ---- */

/* The recorder of an agent that was killed may still have the store for a moment. */
static int open_writer(struct recorder *c, struct err *err)
{
	static const struct timespec pause = { .tv_nsec = 50 * NS_PER_MS };
	const struct store_writer_opts o = {
		.path = c->o->dir, .mode = c->o->mode, .group = c->o->group, .segment_bytes = c->o->segment_bytes,
		.keep_ns = c->o->keep_ns, .after_ns = 1, .limits = c->o->limits, .options = "sonde agent",
		.is_state = c->o->is_state, .ctx = c->o->ctx,
	};
	const uint64_t end_ns = clock_boot_ns() + LOCK_NS;
	int r = store_writer_open(&o, &c->writer, err);

	while (r == -EBUSY && clock_boot_ns() < end_ns) {
		nanosleep(&pause, NULL);
		r = store_writer_open(&o, &c->writer, err);
	}
	return r;
}

static void start(struct recorder *c, const struct record_process_request *q)
{
	struct buf words = { .data = (char *)q->words, .len = q->len };
	struct err err = { 0 };
	int r;

	if (c->writer) {
		reply(c, -EALREADY, "the agent records already");
		return;
	}
	r = open_writer(c, &err);
	if (r >= 0)
		r = client_subscribe(c->client, &words, &err);
	if (r < 0)
		store_writer_close(TAKE_PTR(c->writer), NULL);
	reply(c, r, r < 0 ? err.msg : "");
}

static void stop(struct recorder *c)
{
	if (!c->writer) {
		reply(c, -ENOENT, "the agent does not record");
		return;
	}
	c->stopping = true;
	if (client_stop(c->client) < 0)
		c->closed = true;
}

static void take_request(struct recorder *c)
{
	struct record_process_request q;
	ssize_t n = recv(c->o->request_fd, &q, sizeof(q), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < (ssize_t)offsetof(struct record_process_request, words) ||
	    q.len != (size_t)n - offsetof(struct record_process_request, words)) {
		c->closed = true;
		return;
	}
	if (q.kind == RECORD_PROCESS_START)
		start(c, &q);
	else if (q.kind == RECORD_PROCESS_STOP)
		stop(c);
	else
		request_dump(c, &q);
}

/* ---- the loop ---- */

/* Work that is due by time. */
static int look_at_clock(struct recorder *c)
{
	struct store_writer_stats st;
	int r = store_writer_flush(c->writer);

	if (r < 0 || c->part != PART_NONE || c->stopping)
		return r;
	if (c->dump.step == DUMP_SEGMENT || store_writer_is_due(c->writer))
		return begin_part(c);
	store_writer_stats(c->writer, &st);
	if (c->dump.step == DUMP_DISK && st.idle)
		begin_folder(c);
	if (c->dump.step == DUMP_FOLDER && record_dump_is_done(c->dump.folder))
		end_folder(c);
	return 0;
}

static int turn(struct recorder *c)
{
	struct pollfd p[] = { { .fd = client_fd(c->client), .events = POLLIN },
			      { .fd = c->o->request_fd, .events = POLLIN } };
	int n = 0, r = 0;

	if (poll(p, ARRAY_SIZE(p), WAIT_MS) < 0 && errno != EINTR)
		return -errno;
	do {
		n = client_read(c->client, FRAMES, on_frame, c);
		if (n >= 0 && c->writer)
			r = look_at_clock(c);
	} while (n == FRAMES && r >= 0);
	if (n < 0 || r < 0)
		return MIN(n, r);
	if (p[1].revents)
		take_request(c);
	if (clock_boot_ns() - c->reported_ns >= REPORT_NS)
		say(c, false, 0, "");
	return 0;
}

int record_process_run(void *ctx, _unused_ int in_fd, _unused_ int out_fd)
{
	struct recorder c = { .o = ctx };
	struct err err = { 0 };
	int r = client_attach(c.o->client_fd, "sonde-record", &c.client, &err);

	while (r >= 0 && !c.closed)
		r = turn(&c);
	if (c.writer)
		finish(&c);
	client_close(c.client);
	return r < 0 && r != -EPIPE;
}
