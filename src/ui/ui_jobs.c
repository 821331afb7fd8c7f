// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/ui_jobs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/macros.h"
#include "loop/loop.h"
#include "ui/ui_answer.h"
#include "worker/worker.h"

#define RUNNING_MAX 4u
#define WAITING_MAX 64u
#define CPU_S 2
#define TOO_LONG "the request needs more than 2 s of CPU time: narrow the range"
#define MEMORY_BYTES (64u << 20)
#define ANSWER_BYTES (64u << 20)
#define READ_BYTES (256u << 10)
#define WALL_NS (30 * NS_PER_S) /* on a busy host 2 s of CPU time take longer */
#define END_NS (5 * NS_PER_S)	/* from the end of the answer to the end of the process */

/* In front of the answer's bytes. */
struct head {
	uint32_t status, columns;
	uint64_t len;
};

struct ui_job {
	struct ui_jobs *jobs;
	struct ui_job *next;	/* in the order of their start */
	const struct ui_query *q;
	void (*done)(void *ctx, struct ui_answer *a);
	void *ctx;
	struct worker *worker;	/* NULL: waits, or ends */
	bool running;		/* counted in ui_jobs.running */
	struct loop_source *io, *timer;
	struct buf in;
};

struct ui_jobs {
	struct loop *loop;
	struct ui_source source;
	void (*prepare)(void *ctx, const struct ui_query *q);
	void *ctx;
	struct ui_job *first;
	unsigned running, n;
};

/* ---- in the process of the job ---- */

static int work(void *ctx, _unused_ int in_fd, int out_fd)
{
	const struct ui_job *job = ctx;
	struct ui_answer a = { 0 };
	struct head h = { 0 };

	ui_source_answer(&job->jobs->source, job->q, &a);
	h = (struct head){ .status = a.status, .columns = a.columns, .len = a.body.len };
	return io_write_all(out_fd, &h, sizeof(h)) < 0 || io_write_all(out_fd, a.body.data, a.body.len) < 0;
}

/* ---- in this process ---- */

static void start_next(struct ui_jobs *jobs);

static void job_free(struct ui_job *job)
{
	struct ui_jobs *jobs = job->jobs;
	struct ui_job **at = &jobs->first;

	while (*at != job)
		at = &(*at)->next;
	*at = job->next;
	jobs->n--;
	jobs->running -= job->running;
	loop_remove(job->io);
	loop_remove(job->timer);
	worker_kill(job->worker);
	buf_fini(&job->in);
	free(job);
}

/* Hands @a over and starts the next one. */
static void finish(struct ui_job *job, struct ui_answer *a)
{
	struct ui_jobs *jobs = job->jobs;
	void (*done)(void *ctx, struct ui_answer *a) = job->done;
	void *ctx = job->ctx;

	job_free(job);
	done(ctx, a);
	ui_answer_fini(a);
	start_next(jobs);
}

static void fail(struct ui_job *job, const char *text)
{
	struct ui_answer a = { 0 };

	ui_answer_error(&a, 503, text);
	finish(job, &a);
}

/* The process has closed its answer. */
static void end(struct ui_job *job)
{
	struct ui_answer a = { 0 };
	struct head h = { 0 };
	struct err err = { 0 };
	int r;

	loop_remove(TAKE_PTR(job->io)); /* before its descriptor is closed: other requests may share it */
	r = worker_finish(TAKE_PTR(job->worker), END_NS, &err);
	if (job->in.len >= sizeof(h))
		memcpy(&h, job->in.data, sizeof(h));
	if (r != 0 || buf_error(&job->in) || job->in.len < sizeof(h) || h.len != job->in.len - sizeof(h)) {
		fail(job, strstr(err.msg, "processor time") ? TOO_LONG : "this request failed");
		return;
	}
	a = (struct ui_answer){ .status = h.status, .columns = h.columns };
	buf_consume(&job->in, sizeof(h));
	a.body = job->in;
	job->in = (struct buf){ 0 };
	finish(job, &a);
}

static int on_answer(void *ctx, int fd, _unused_ uint32_t events)
{
	struct ui_job *job = ctx;
	char *to = job->in.len < ANSWER_BYTES ? buf_reserve(&job->in, READ_BYTES) : NULL;
	ssize_t n = to ? read(fd, to, READ_BYTES) : 0;

	if (n > 0)
		buf_commit(&job->in, (size_t)n);
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		end(job);
	return 0;
}

static int on_late(void *ctx, _unused_ uint64_t now_ns)
{
	fail(ctx, "the host is too busy to answer in 30 s");
	return 0;
}

static int start(struct ui_job *job)
{
	static const struct worker_opts opts = {
		.name = "sonde-ui-answer", .memory_bytes = MEMORY_BYTES, .cpu_seconds = CPU_S, .later = true,
		.refuse = true,
	};
	struct ui_jobs *jobs = job->jobs;
	struct err err = { 0 };
	int r;

	loop_remove(TAKE_PTR(job->timer)); /* on_start() */
	if (jobs->prepare)
		jobs->prepare(jobs->ctx, job->q);
	r = worker_start(&opts, work, job, -1, &job->worker, &err);
	if (r < 0)
		return r;
	job->running = true;
	jobs->running++;
	r = loop_add_io(jobs->loop, worker_fd(job->worker), EPOLLIN, on_answer, job, &job->io);
	if (r >= 0)
		r = loop_add_timer(jobs->loop, WALL_NS, 0, on_late, job, &job->timer);
	if (r >= 0) {
		loop_name(job->io, "answer");
		loop_set_plain(job->io);
		loop_set_plain(job->timer);
	}
	return r;
}

static void start_next(struct ui_jobs *jobs)
{
	struct ui_job *job = jobs->first;

	while (job && job->running)
		job = job->next;
	if (job && jobs->running < RUNNING_MAX && start(job) < 0)
		fail(job, "no process can be started for this request");
}

int ui_jobs_new(struct loop *loop, const struct ui_source *source,
		void (*prepare)(void *ctx, const struct ui_query *q), void *ctx, struct ui_jobs **ret)
{
	struct ui_jobs *j = calloc(1, sizeof(*j));

	if (!j)
		return -ENOMEM;
	*j = (struct ui_jobs){ .loop = loop, .source = *source, .prepare = prepare, .ctx = ctx };
	*ret = j;
	return 0;
}

void ui_jobs_free(struct ui_jobs *j)
{
	while (j && j->first)
		job_free(j->first);
	free(j);
}

/* A job starts from the loop, not from its caller: @done is never called before this returns. */
static int on_start(void *ctx, _unused_ uint64_t now_ns)
{
	struct ui_job *job = ctx;

	loop_remove(TAKE_PTR(job->timer));
	if (!job->running)
		start_next(job->jobs);
	return 0;
}

struct ui_job *ui_jobs_add(struct ui_jobs *j, const struct ui_query *q, void (*done)(void *ctx, struct ui_answer *a),
			   void *ctx)
{
	struct ui_job *job = j->n < WAITING_MAX ? calloc(1, sizeof(*job)) : NULL, **at = &j->first;

	if (!job)
		return NULL;
	*job = (struct ui_job){ .jobs = j, .q = q, .done = done, .ctx = ctx };
	if (loop_add_timer(j->loop, 1, 0, on_start, job, &job->timer) < 0) {
		free(job);
		return NULL;
	}
	while (*at)
		at = &(*at)->next;
	*at = job;
	j->n++;
	return job;
}

void ui_jobs_cancel(struct ui_job *job)
{
	struct ui_jobs *jobs;

	if (!job)
		return;
	jobs = job->jobs;
	job_free(job);
	start_next(jobs);
}
