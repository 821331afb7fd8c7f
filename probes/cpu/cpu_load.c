// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The queue holds descriptors: the file is the right one even when its process ends before it is looked at. Workers
 * run ahead of others: until a table is there the stacks through its file are cut short, and there is a limit to
 * their processor time.
 */
#include "probes/cpu/cpu_load.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "loop/coop.h"
#include "base/err.h"
#include "loop/loop.h"
#include "base/macros.h"
#include "elf/dwarf/ehframe.h"
#include "elf/elf.h"
#include "probe/env.h"
#include "worker/worker.h"

#define QUEUE_MAX 256
#define WORKERS_MAX 2
#define BATCH_MAX 32			/* files of one worker: starting one takes longer than most files do */
#define TIMEOUT_NS 10000000000ull	/* for a file */
#define FINISH_NS 1000000000ull
#define READ_BYTES (64u << 10)
#define WORKER_BYTES (1ull << 30)
#define SHARE_OF_SCARCE 3	/* of little memory, for the only worker: larger files get no table */
_Static_assert(BATCH_MAX <= WORKER_FDS_MAX, "a worker keeps the descriptors of its files");

struct batch;

struct job {
	struct cpu_file_key key;
	uint64_t asked_ns;
	int fd;
	bool guessed;
	struct batch *batch;		/* NULL: waits */
};

/* What a worker has to do, and how far it got. */
struct batch {
	struct cpu_loader *loader;
	struct worker *worker;
	struct loop_source *io;
	struct job *jobs[BATCH_MAX];
	size_t n, at;
	uint32_t pid;
	uint64_t deadline_ns;
	struct buf answer;		/* not complete */
};

struct cpu_loader {
	struct loop *loop;		/* may be NULL */
	struct probe_env *env;
	int nice;
	cpu_load_fn fn;
	void *ctx;
	struct job *jobs[QUEUE_MAX];	/* in the order of asking */
	size_t n;
	struct batch *batches[WORKERS_MAX];
	size_t n_workers;		/* at once */
	uint64_t worker_bytes;		/* of memory, for each */
	unsigned held;			/* cpu_load_hold() */
};

/* In front of each table. */
struct answer_head {
	int32_t result;
	uint32_t len;
};

/* ---- in the worker ---- */

DEFINE_CLEANUP(struct elf *, elf_free)

/* A file that is no ELF file, or has no .eh_frame, is not wrong: mapped code can be anything. */
static int compile_file(int fd, struct buf *ret)
{
	_cleanup_(elf_freep) struct elf *e = NULL;
	int r = elf_open_fd(fd, CPU_ELF_BYTES, &e);

	if (r == 0)
		r = ehframe_compile(e, CPU_TABLE_BYTES, ret);
	if (r != -ENOENT && r != -EBADMSG)
		return r;
	buf_reset(ret);
	return ehframe_empty(ret);
}

static int write_all(int fd, const char *p, size_t len)
{
	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -EIO;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

static int work(void *ctx, int in_fd, int out_fd)
{
	const struct batch *b = ctx;
	int r = 0;

	(void)in_fd;
	for (size_t i = 0; r == 0 && i < b->n; i++) {
		_cleanup_(buf_fini) struct buf blob = { 0 };
		struct answer_head head = { .result = compile_file(b->jobs[i]->fd, &blob) };

		head.len = head.result < 0 ? 0 : (uint32_t)blob.len;
		r = write_all(out_fd, (const char *)&head, sizeof(head));
		if (r == 0)
			r = write_all(out_fd, blob.data, head.len);
	}
	return r < 0 ? MIN(-r, 255) : 0;
}

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

/* Tells how it went, and forgets it. */
static void tell(struct cpu_loader *l, struct job *j, int result, const void *blob, size_t len, struct err *err)
{
	const struct cpu_load load = {
		.key = j->key, .asked_ns = j->asked_ns, .guessed = j->guessed, .result = result,
		.blob = blob, .len = len, .err = err,
	};

	take_out(l, j);
	l->fn(l->ctx, &load);
	job_free(j);
}

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

/* The worker has ended, or has to: what it was at is to blame, the files behind it are not. */
static void batch_end(struct batch *b, int result)
{
	struct cpu_loader *l = b->loader;
	struct job *guilty = b->at < b->n ? b->jobs[b->at] : NULL;
	struct err err = { 0 };
	int r = 0;

	/* before the descriptor is closed: a process that is being started may hold it too, and epoll would go on */
	loop_remove(TAKE_PTR(b->io));
	if (result == 0)
		r = worker_finish(TAKE_PTR(b->worker), FINISH_NS, &err);
	else
		err_errno(&err, result, "no answer of the worker process");
	if (r > 0)
		r = err_errno(&err, -r, "it cannot be compiled");
	if (guilty)
		b->at++;
	batch_forget(b);
	if (guilty)
		tell(l, guilty, result ?: r ?: -EIO, NULL, 0, &err);
}

/* Hands on what is complete. 0 or -E2BIG, -EBADMSG. */
static int take_answers(struct batch *b)
{
	struct answer_head head;

	while (b->answer.len >= sizeof(head)) {
		struct err err = { 0 };

		memcpy(&head, b->answer.data, sizeof(head));
		if (head.len > CPU_TABLE_BYTES || b->at == b->n)
			return head.len > CPU_TABLE_BYTES ? -E2BIG : -EBADMSG;
		if (b->answer.len < sizeof(head) + head.len)
			return 0;
		if (head.result < 0)
			err_errno(&err, head.result, "it cannot be compiled");
		tell(b->loader, b->jobs[b->at++], MIN(head.result, 0), b->answer.data + sizeof(head), head.len, &err);
		buf_consume(&b->answer, sizeof(head) + head.len);
		b->deadline_ns = clock_boot_ns() + TIMEOUT_NS;
	}
	return 0;
}

/* What the worker has sent so far. 1 = that was all. */
static int read_some(struct batch *b)
{
	for (;;) {
		char *p = buf_reserve(&b->answer, READ_BYTES);
		ssize_t n;
		int r;

		if (!p)
			return -ENOMEM;
		n = read(worker_fd(b->worker), p, READ_BYTES);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -errno;
		if (n == 0)
			return 1;
		buf_commit(&b->answer, (size_t)n);
		r = take_answers(b);
		if (r < 0)
			return r;
	}
}

/* @b may be gone afterwards. */
static void proceed(struct batch *b)
{
	int r = read_some(b);

	if (r == 0 && clock_boot_ns() < b->deadline_ns)
		return;
	batch_end(b, r < 0 ? r : r > 0 ? 0 : -ETIMEDOUT);
}

static void start_waiting(struct cpu_loader *l);

static int on_answer(void *ctx, _unused_ int fd, _unused_ uint32_t events)
{
	struct batch *b = ctx;
	struct cpu_loader *l = b->loader;

	proceed(b);
	start_waiting(l);
	return 0;
}

/* The files that wait, as many as fit. */
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
		.later = true, .fds = fds, .n_fds = b->n, .nice = b->loader->nice,
	};
	struct cpu_loader *l = b->loader;
	int fd, r = worker_start(&o, work, b, -1, &b->worker, err);

	if (r < 0)
		return r;
	b->pid = (uint32_t)worker_pid(b->worker);
	probe_env_exclude(l->env, b->pid);
	b->deadline_ns = clock_boot_ns() + TIMEOUT_NS;
	fd = worker_fd(b->worker);
	if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) < 0)
		return err_errno(err, -errno, "cannot read from the worker process");
	r = l->loop ? loop_add_io(l->loop, fd, EPOLLIN, on_answer, b, &b->io) : 0;
	if (r >= 0 && b->io)
		loop_name(b->io, "unwind tables");
	return r;
}

/* 0, or -errno: the first of the files that wait has been told so. */
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
	tell(l, first, r, NULL, 0, &err);
	return r;
}

static bool any_waits(const struct cpu_loader *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (!l->jobs[i]->batch)
			return true;
	return false;
}

static void start_waiting(struct cpu_loader *l)
{
	for (size_t i = 0; !l->held && i < l->n_workers; i++)
		while (!l->batches[i] && any_waits(l) && start_batch(l, i) != -ENOMEM)
			;
}

/* Without a loop there is one job at a time. */
static void wait_for(struct cpu_loader *l)
{
	while (l->batches[0]) {
		struct pollfd pfd = { .fd = worker_fd(l->batches[0]->worker), .events = POLLIN };

		poll(&pfd, 1, 100);
		proceed(l->batches[0]);
	}
}

static void go_on(struct cpu_loader *l)
{
	start_waiting(l);
	while (!l->loop && !l->held && l->n)
		wait_for(l);
}

bool cpu_load_has(const struct cpu_loader *l, const struct cpu_file_key *key)
{
	for (size_t i = 0; i < l->n; i++)
		if (!memcmp(&l->jobs[i]->key, key, sizeof(*key)))
			return true;
	return false;
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

/* The loop may have ended it meanwhile. */
static bool has_batch(const struct cpu_loader *l, const struct batch *b)
{
	for (size_t i = 0; i < WORKERS_MAX; i++)
		if (l->batches[i] == b)
			return true;
	return false;
}

/* What the workers have to say within @limit_ns. */
static void hear(struct cpu_loader *l, uint64_t limit_ns)
{
	struct pollfd fds[WORKERS_MAX];
	struct batch *of[WORKERS_MAX];
	nfds_t n = 0;
	bool left;
	int r;

	for (size_t i = 0; i < WORKERS_MAX; i++) {
		if (!l->batches[i])
			continue;
		of[n] = l->batches[i];
		fds[n++] = (struct pollfd){ .fd = worker_fd(l->batches[i]->worker), .events = POLLIN };
	}
	left = coop_leave(probe_env_coop(l->env));
	r = poll(fds, n, (int)(limit_ns / 1000000) + 1);
	coop_return(probe_env_coop(l->env), left);
	for (nfds_t i = 0; r > 0 && i < n; i++)
		if (fds[i].revents && has_batch(l, of[i]))
			proceed(of[i]);
}

void cpu_load_wait(struct cpu_loader *l, uint64_t limit_ns)
{
	const uint64_t end_ns = clock_boot_ns() + limit_ns;

	for (uint64_t now = clock_boot_ns(); l->n && now < end_ns; now = clock_boot_ns()) {
		hear(l, end_ns - now);
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
	struct cpu_loader *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->loop = loop;
	l->env = env;
	l->nice = nice;
	l->n_workers = scarce_bytes ? 1 : WORKERS_MAX;
	l->worker_bytes = scarce_bytes ? scarce_bytes / SHARE_OF_SCARCE : WORKER_BYTES;
	l->fn = fn;
	l->ctx = ctx;
	*ret = l;
	return 0;
}

void cpu_load_free(struct cpu_loader *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < WORKERS_MAX; i++)
		if (l->batches[i])
			batch_forget(l->batches[i]);
	for (size_t i = 0; i < l->n; i++)
		job_free(l->jobs[i]);
	free(l);
}
