// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The queue holds descriptors, so each file is the right one even after its process has ended. Workers run at
 * raised priority, because stacks through a file without a table are truncated; their CPU time is limited.
 */
#include "probes/cpu/cpu_load.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "elf/dwarf/ehframe_table.h"
#include "loop/coop.h"
#include "base/err.h"
#include "base/io.h"
#include "loop/loop.h"
#include "base/macros.h"
#include "elf/dwarf/ehframe.h"
#include "elf/elf.h"
#include "probe/env.h"
#include "worker/worker.h"

#define QUEUE_MAX 256
#define WORKERS_MAX 2
#define BATCH_MAX 32			/* files per worker: a start costs more than most files */
#define TIMEOUT_NS 10000000000ull	/* per file */
#define FINISH_NS 1000000000ull
#define READ_BYTES (64u << 10)
#define STRETCH_NS 2000000ull		/* the loop gets its turn after that */
#define WAIT_NS 100000000ull		/* without a loop */
#define RETRY_NS 1000000ull		/* until a table is offered again: poll()'s millisecond */
#define WORKER_BYTES (1ull << 30)
#define SHARE_OF_SCARCE 3	/* share of scarce memory for the only worker; larger files get no table */
_Static_assert(BATCH_MAX <= WORKER_FDS_MAX, "a worker keeps the descriptors of its files");

struct job {
	struct cpu_file_key key;
	uint64_t asked_ns;
	int fd;
	bool guessed;
	struct batch *batch;		/* NULL: it waits */
};

enum batch_state {
	BATCH_READING,
	BATCH_PAUSED,	/* the table in front of the answer cannot be taken yet */
	BATCH_ENDING,	/* the worker exits */
	BATCH__MAX
};

/* The files of one worker, and its progress. */
struct batch {
	struct cpu_loader *loader;
	struct worker *worker;
	enum batch_state state;
	int result;			/* of BATCH_ENDING: why the worker was killed; 0 = it exits by itself */
	struct loop_source *io;		/* of its answers, or of its end */
	struct job *jobs[BATCH_MAX];
	size_t n, at;
	uint32_t pid;
	uint64_t deadline_ns;
	struct buf answer;		/* incomplete */
};

struct cpu_loader {
	struct loop *loop;		/* may be NULL */
	struct probe_env *env;
	int nice;
	cpu_load_fn fn;
	void *ctx;
	struct job *jobs[QUEUE_MAX];	/* in the order of requests */
	size_t n;
	struct batch *batches[WORKERS_MAX];
	size_t n_workers;		/* at once */
	uint64_t worker_bytes;		/* memory limit of each */
	unsigned held;			/* cpu_load_hold() */
	struct loop_source *retry;	/* timer for BATCH_PAUSED */
};

/* Precedes each table. */
struct answer_head {
	int32_t result;
	uint32_t len;
};

/* ---- in the worker ---- */

DEFINE_CLEANUP(struct elf *, elf_free)

/* A file that is not ELF, or lacks .eh_frame, is not an error: mapped code can be anything. */
static int compile_file(int fd, struct buf *ret)
{
	_cleanup_(elf_freep) struct elf *e = NULL;
	int r = elf_open_fd(fd, CPU_ELF_BYTES, &e);

	if (r == 0)
		r = ehframe_compile(e, CPU_TABLE_BYTES, ret);
	if (r != -ENOENT && r != -EBADMSG)
		return r;
	buf_reset(ret);
	return ehframe_table_empty(ret);
}

/* @ctx: how many files. */
static int work(void *ctx, _unused_ int in_fd, int out_fd)
{
	const size_t n = *(const size_t *)ctx;
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		_cleanup_(buf_fini) struct buf blob = { 0 };
		struct answer_head head = { .result = compile_file(WORKER_FD_FIRST + (int)i, &blob) };

		head.len = head.result < 0 ? 0 : (uint32_t)blob.len;
		r = io_write_all(out_fd, &head, sizeof(head));
		if (r == 0)
			r = io_write_all(out_fd, blob.data, head.len);
	}
	return r < 0 ? MIN(-r, 255) : 0;
}
WORKER_PLAIN(work);

/* ---- in the parent ---- */

static void job_free(struct job *j)
{
	close(j->fd);
	free(j);
}

static void take_out(struct cpu_loader *l, const struct job *j)
{
	size_t i = 0;

	while (l->jobs[i] != j)
		i++;
	l->n--;
	memmove(l->jobs + i, l->jobs + i + 1, (l->n - i) * sizeof(l->jobs[0]));
}

static int explain(struct err *err, int code)
{
	if (code == -E2BIG)
		return err_set(err, code, "its unwind information exceeds %u MB", CPU_ELF_BYTES >> 20);
	return err_errno(err, code, "cannot compile its unwind information");
}

/* Reports the result and frees the job. -EAGAIN: it has to be reported again. */
static int report(struct cpu_loader *l, struct job *j, int result, const void *blob, size_t len, struct err *err)
{
	const struct cpu_load load = {
		.key = j->key, .asked_ns = j->asked_ns, .guessed = j->guessed, .result = result,
		.blob = blob, .len = len, .err = err, .fd = j->fd,
	};

	take_out(l, j);
	if (l->fn(l->ctx, &load) == -EAGAIN) {
		l->jobs[l->n++] = j;
		return -EAGAIN;
	}
	job_free(j);
	return 0;
}

static int on_worker(void *ctx, int fd, uint32_t events);

static void batch_forget(struct batch *b)
{
	struct cpu_loader *l = b->loader;

	for (size_t i = 0; i < WORKERS_MAX; i++)
		if (l->batches[i] == b)
			l->batches[i] = NULL;
	for (size_t i = b->at; i < b->n; i++)
		b->jobs[i]->batch = NULL;	/* they wait again */
	loop_remove(b->io);
	if (b->worker)
		worker_kill(b->worker);
	if (b->pid)
		probe_env_include(l->env, b->pid);
	buf_fini(&b->answer);
	free(b);
}

/* Waits for another descriptor; -1 = for none. The old one is removed before it is closed: a child may share it. */
static void watch(struct batch *b, enum batch_state state, int fd)
{
	struct loop *loop = b->loader->loop;

	b->state = state;
	loop_remove(TAKE_PTR(b->io));
	if (loop && fd >= 0 && loop_add_io(loop, fd, EPOLLIN, on_worker, b, &b->io) == 0)
		loop_name(b->io, "unwind tables");
}

static void pause_batch(struct batch *b)
{
	b->deadline_ns = clock_boot_ns() + TIMEOUT_NS;
	if (b->state != BATCH_PAUSED)
		watch(b, BATCH_PAUSED, -1);
	if (b->loader->retry)
		loop_set_timer(b->loader->retry, RETRY_NS, 0);
}

/* The worker exits, or is killed because of @result. */
static void await_end(struct batch *b, int result)
{
	b->result = result;
	b->deadline_ns = clock_boot_ns() + FINISH_NS;
	if (result < 0)
		kill(worker_pid(b->worker), SIGKILL);
	watch(b, BATCH_ENDING, worker_end_fd(b->worker));
}

static bool has_ended(const struct batch *b)
{
	struct pollfd p = { .fd = worker_end_fd(b->worker), .events = POLLIN };

	return poll(&p, 1, 0) > 0 || clock_boot_ns() > b->deadline_ns;
}

/* The file that the worker was reading is to blame; those behind it go to the next worker. */
static void batch_end(struct batch *b)
{
	const int result = b->result;
	struct cpu_loader *l = b->loader;
	struct job *guilty = b->at < b->n ? b->jobs[b->at] : NULL;
	struct err err = { 0 };
	int r = 0;

	loop_remove(TAKE_PTR(b->io));
	if (result == 0)
		r = worker_finish(TAKE_PTR(b->worker), 1, &err);
	else
		err_errno(&err, result, "no answer of the worker process");
	if (r > 0)
		r = explain(&err, -r);
	if (guilty)
		b->at++;
	batch_forget(b);
	if (guilty)
		report(l, guilty, result ?: r ?: -EIO, NULL, 0, &err);
}

/* Delivers complete tables. -EAGAIN: the next one cannot be taken yet; -E2BIG, -EBADMSG: a wrong answer. */
static int take_answers(struct batch *b)
{
	struct answer_head head;

	coop_step(probe_env_coop(b->loader->env), "put", "unwind table");
	while (b->answer.len >= sizeof(head)) {
		struct err err = { 0 };

		memcpy(&head, b->answer.data, sizeof(head));
		if (head.len > CPU_TABLE_BYTES || b->at == b->n)
			return head.len > CPU_TABLE_BYTES ? -E2BIG : -EBADMSG;
		if (b->answer.len < sizeof(head) + head.len)
			return 0;
		if (head.result < 0)
			explain(&err, head.result);
		if (report(b->loader, b->jobs[b->at], MIN(head.result, 0), b->answer.data + sizeof(head), head.len,
			   &err) == -EAGAIN)
			return -EAGAIN;
		b->at++;
		buf_consume(&b->answer, sizeof(head) + head.len);
		b->deadline_ns = clock_boot_ns() + TIMEOUT_NS;
	}
	return 0;
}

enum { READ_MORE, READ_END };

/* Reads the answer for a while. READ_* or -errno: -EAGAIN of take_answers(). */
static int read_some(struct batch *b)
{
	const uint64_t end_ns = clock_boot_ns() + STRETCH_NS;
	int r = take_answers(b); /* read before a pause */

	while (r == 0 && clock_boot_ns() < end_ns) {
		char *p = buf_reserve(&b->answer, READ_BYTES);
		ssize_t n;

		if (!p)
			return -ENOMEM;
		n = TEMP_FAILURE_RETRY(read(worker_fd(b->worker), p, READ_BYTES));
		if (n < 0)
			return errno == EAGAIN ? READ_MORE : -errno;
		if (n == 0)
			return READ_END;
		buf_commit(&b->answer, (size_t)n);
		r = take_answers(b);
	}
	return r < 0 ? r : READ_MORE;
}

/* @b may be gone afterwards. */
static void proceed(struct batch *b)
{
	int r;

	if (b->state == BATCH_ENDING) {
		if (has_ended(b))
			batch_end(b);
		return;
	}
	r = read_some(b);
	if (r == -EAGAIN)
		pause_batch(b);
	else if (r != READ_MORE)
		await_end(b, MIN(r, 0));
	else if (clock_boot_ns() > b->deadline_ns)
		await_end(b, -ETIMEDOUT);
	else if (b->state == BATCH_PAUSED)
		watch(b, BATCH_READING, worker_fd(b->worker));
}

static void start_waiting(struct cpu_loader *l);

static int on_retry(void *ctx, _unused_ uint64_t now_ns)
{
	struct cpu_loader *l = ctx;

	for (size_t i = 0; i < WORKERS_MAX; i++)
		if (l->batches[i] && l->batches[i]->state == BATCH_PAUSED)
			proceed(l->batches[i]);
	start_waiting(l);
	return 0;
}

static int on_worker(void *ctx, _unused_ int fd, _unused_ uint32_t events)
{
	struct batch *b = ctx;
	struct cpu_loader *l = b->loader;

	proceed(b);
	start_waiting(l);
	return 0;
}

/* Takes as many waiting files as fit. */
static void gather(struct batch *b, int fds[static BATCH_MAX])
{
	const struct cpu_loader *l = b->loader;

	for (size_t i = 0; i < l->n && b->n < BATCH_MAX; i++) {
		if (l->jobs[i]->batch)
			continue;
		l->jobs[i]->batch = b;
		fds[b->n] = l->jobs[i]->fd;
		b->jobs[b->n++] = l->jobs[i];
	}
}

static int start_worker(struct batch *b, const int *fds, struct err *err)
{
	const struct worker_opts o = {
		.name = "sonde unwind", .memory_bytes = b->loader->worker_bytes, .cpu_seconds = 3 * BATCH_MAX,
		.later = true, .fds = fds, .n_fds = b->n, .nice = b->loader->nice, .ctx_bytes = sizeof(b->n),
	};
	struct cpu_loader *l = b->loader;
	int fd, r;

	coop_step(probe_env_coop(l->env), "start", "unwind worker");
	r = worker_start(&o, work, &b->n, -1, &b->worker, err);

	if (r < 0)
		return r;
	b->pid = (uint32_t)worker_pid(b->worker);
	probe_env_exclude(l->env, b->pid);
	b->deadline_ns = clock_boot_ns() + TIMEOUT_NS;
	fd = worker_fd(b->worker);
	if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) < 0)
		return err_errno(err, -errno, "cannot read from the worker process");
	watch(b, BATCH_READING, fd);
	return 0;
}

/* 0, or -errno, which the first of the waiting files got as its result. */
static int start_batch(struct cpu_loader *l, size_t slot)
{
	struct batch *b = calloc(1, sizeof(*b));
	int fds[BATCH_MAX], r;
	struct err err = { 0 };
	struct job *first;

	if (!b)
		return -ENOMEM;
	b->loader = l;
	gather(b, fds);
	first = b->jobs[0];
	r = start_worker(b, fds, &err);
	if (r >= 0) {
		l->batches[slot] = b;
		return 0;
	}
	batch_forget(b);
	report(l, first, r, NULL, 0, &err);
	return r;
}

static bool any_waits(const struct cpu_loader *l)
{
	return FIND_ITEM(it, l->jobs, l->n, !(*it)->batch);
}

static void start_waiting(struct cpu_loader *l)
{
	for (size_t i = 0; !l->held && i < l->n_workers; i++)
		while (!l->batches[i] && any_waits(l) && start_batch(l, i) != -ENOMEM)
			;
}

/* The loop may have ended it meanwhile. */
static bool has_batch(const struct cpu_loader *l, const struct batch *b)
{
	return FIND_ITEM(it, l->batches, WORKERS_MAX, *it == b);
}

/* Descriptors to wait for; a paused batch has none. */
static nfds_t poll_set(const struct cpu_loader *l, struct pollfd fds[static WORKERS_MAX],
		       struct batch *of[static WORKERS_MAX])
{
	nfds_t n = 0;

	for (size_t i = 0; i < WORKERS_MAX; i++) {
		struct batch *b = l->batches[i];

		if (!b)
			continue;
		of[n] = b;
		fds[n++] = (struct pollfd){
			.fd = b->state == BATCH_PAUSED ? -1 : b->state == BATCH_ENDING ? worker_end_fd(b->worker) :
				worker_fd(b->worker),
			.events = POLLIN,
		};
	}
	return n;
}

/* Waits for answers and ends of workers, at most @limit_ns, while the loop goes on. */
static void poll_workers(struct cpu_loader *l, uint64_t limit_ns)
{
	struct pollfd fds[WORKERS_MAX];
	struct batch *of[WORKERS_MAX];
	const nfds_t n = poll_set(l, fds, of);
	bool left;

	for (nfds_t i = 0; i < n; i++)
		if (fds[i].fd < 0)
			limit_ns = MIN(limit_ns, RETRY_NS);
	left = coop_leave(probe_env_coop(l->env));
	poll(fds, n, (int)(limit_ns / RETRY_NS) + (limit_ns > RETRY_NS));
	coop_return(probe_env_coop(l->env), left);
	for (nfds_t i = 0; i < n; i++)
		if ((fds[i].revents || fds[i].fd < 0) && coop_yield(probe_env_coop(l->env)) == 0 &&
		    has_batch(l, of[i]))
			proceed(of[i]);
}

/* Without a loop there is one job at a time. */
static void wait_for(struct cpu_loader *l)
{
	while (l->batches[0])
		poll_workers(l, WAIT_NS);
}

static void go_on(struct cpu_loader *l)
{
	start_waiting(l);
	while (!l->loop && !l->held && l->n)
		wait_for(l);
}

bool cpu_load_has(const struct cpu_loader *l, const struct cpu_file_key *key)
{
	return FIND_ITEM(it, l->jobs, l->n, !memcmp(&(*it)->key, key, sizeof(*key)));
}

int cpu_load_add(struct cpu_loader *l, const struct cpu_file_key *key, int fd, bool guessed)
{
	struct job *j = l->n < QUEUE_MAX ? calloc(1, sizeof(*j)) : NULL;

	if (!j) {
		close(fd);
		return -ENOBUFS;
	}
	j->key = *key;
	j->fd = fd;
	j->guessed = guessed;
	j->asked_ns = clock_boot_ns();
	l->jobs[l->n++] = j;
	go_on(l);
	return 0;
}

void cpu_load_hold(struct cpu_loader *l, bool on)
{
	l->held += on ? 1 : -1u;
	if (!l->held)
		go_on(l);
}

void cpu_load_wait(struct cpu_loader *l, uint64_t limit_ns)
{
	const uint64_t end_ns = clock_boot_ns() + limit_ns;

	for (uint64_t now = clock_boot_ns(); l->n && now < end_ns; now = clock_boot_ns()) {
		poll_workers(l, end_ns - now);
		start_waiting(l);
	}
}

bool cpu_load_busy(const struct cpu_loader *l)
{
	return l->n > 0;
}

void cpu_load_poll(struct cpu_loader *l)
{
	for (size_t i = 0; i < WORKERS_MAX; i++)
		if (l->batches[i])
			proceed(l->batches[i]);
	start_waiting(l);
}

int cpu_load_new(struct loop *loop, struct probe_env *env, int nice, cpu_load_fn fn, void *ctx,
		 struct cpu_loader **ret)
{
	const uint64_t scarce_bytes = probe_env_scarce_bytes(env);
	_cleanup_free_ struct cpu_loader *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->loop = loop;
	l->env = env;
	l->nice = nice;
	l->n_workers = scarce_bytes ? 1 : WORKERS_MAX;
	l->worker_bytes = scarce_bytes ? scarce_bytes / SHARE_OF_SCARCE : WORKER_BYTES;
	l->fn = fn;
	l->ctx = ctx;
	if (loop && loop_add_timer(loop, 0, 0, on_retry, l, &l->retry) < 0)
		return -ENOMEM;
	*ret = TAKE_PTR(l);
	return 0;
}

/* A killed worker frees its memory before it ends. */
static void kill_workers(struct cpu_loader *l)
{
	struct pollfd fds[WORKERS_MAX];
	struct batch *of[WORKERS_MAX];
	nfds_t n;
	bool left;

	for (size_t i = 0; i < WORKERS_MAX; i++)
		if (l->batches[i])
			await_end(l->batches[i], -ECANCELED);
	n = poll_set(l, fds, of);
	for (nfds_t i = 0; i < n; i++)
		loop_remove(TAKE_PTR(of[i]->io));
	left = coop_leave(probe_env_coop(l->env));
	for (nfds_t i = 0; i < n; i++)
		poll(&fds[i], 1, (int)(FINISH_NS / RETRY_NS));
	coop_return(probe_env_coop(l->env), left);
}

void cpu_load_free(struct cpu_loader *l)
{
	if (!l)
		return;
	loop_remove(l->retry);
	kill_workers(l);
	for (size_t i = 0; i < WORKERS_MAX; i++)
		if (l->batches[i])
			batch_forget(l->batches[i]);
	for (size_t i = 0; i < l->n; i++)
		job_free(l->jobs[i]);
	free(l);
}
