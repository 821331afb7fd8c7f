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
#include "base/err.h"
#include "base/loop.h"
#include "base/macros.h"
#include "elf/ehframe.h"
#include "elf/elf.h"
#include "probe/env.h"
#include "worker/worker.h"

#define QUEUE_MAX 256
#define WORKERS_MAX 4
#define TIMEOUT_NS 10000000000ull
#define FINISH_NS 1000000000ull
#define READ_BYTES (64u << 10)

struct job {
	struct cpu_loader *loader;
	struct cpu_file_key key;
	uint64_t asked_ns, deadline_ns;
	int fd;
	struct worker *worker;		/* NULL: waits */
	uint32_t pid;
	struct loop_source *io;
	struct buf answer;
};

struct cpu_loader {
	struct loop *loop;		/* may be NULL */
	struct probe_env *env;
	cpu_load_fn fn;
	void *ctx;
	struct job *jobs[QUEUE_MAX];	/* in the order of asking */
	size_t n, running;
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
	struct buf blob = { 0 };
	int r = compile_file(in_fd, &blob);

	(void)ctx;
	if (r == 0)
		r = write_all(out_fd, blob.data, blob.len);
	return r < 0 ? MIN(-r, 255) : 0;
}

/* ---- in the parent ---- */

static void job_free(struct job *j)
{
	loop_remove(j->io);
	if (j->worker)
		worker_kill(j->worker);
	close(j->fd);
	buf_fini(&j->answer);
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
static void tell(struct job *j, int result, const struct err *err)
{
	const struct cpu_load load = {
		.key = j->key, .asked_ns = j->asked_ns, .result = result, .blob = j->answer.data,
		.len = j->answer.len, .err = err,
	};

	take_out(j->loader, j);
	j->loader->fn(j->loader->ctx, &load);
	job_free(j);
}

static void end_worker(struct job *j, int result, struct err *err)
{
	struct worker *w = TAKE_PTR(j->worker);
	int r = 0;

	loop_remove(TAKE_PTR(j->io));
	if (result < 0)
		worker_kill(w);
	else
		r = worker_finish(w, FINISH_NS, err);
	if (r > 0)
		result = err_errno(err, -r, "it cannot be compiled");
	else if (r < 0)
		result = r;
	probe_env_include(j->loader->env, j->pid);
	j->loader->running--;
	tell(j, result, err);
}

/* What the worker has sent so far. 1 = all of it. */
static int read_some(struct job *j)
{
	for (;;) {
		char *p = buf_reserve(&j->answer, READ_BYTES);
		ssize_t n;

		if (!p)
			return -ENOMEM;
		n = read(worker_fd(j->worker), p, READ_BYTES);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -errno;
		if (n == 0)
			return 1;
		buf_commit(&j->answer, (size_t)n);
		if (j->answer.len > CPU_TABLE_BYTES)
			return -E2BIG;
	}
}

/* @j may be gone afterwards. */
static void proceed(struct job *j)
{
	struct err err = { 0 };
	int r = read_some(j);

	if (r == 0 && clock_boot_ns() < j->deadline_ns)
		return;
	if (r == 0)
		r = -ETIMEDOUT;
	if (r < 0)
		err_errno(&err, r, "no answer of the worker process");
	end_worker(j, r < 0 ? r : 0, &err);
}

static void start_waiting(struct cpu_loader *l);

static int on_answer(void *ctx, _unused_ int fd, _unused_ uint32_t events)
{
	struct job *j = ctx;
	struct cpu_loader *l = j->loader;

	proceed(j);
	start_waiting(l);
	return 0;
}

static int start_worker(struct job *j, struct err *err)
{
	const struct worker_opts o = {
		.name = "sonde unwind", .memory_bytes = 1ull << 30, .cpu_seconds = 3, .nice = -15, .later = true,
	};
	struct cpu_loader *l = j->loader;
	int fd, r = worker_start(&o, work, NULL, j->fd, &j->worker, err);

	if (r < 0)
		return r;
	l->running++;
	j->pid = (uint32_t)worker_pid(j->worker);
	probe_env_exclude(l->env, j->pid);
	j->deadline_ns = clock_boot_ns() + TIMEOUT_NS;
	fd = worker_fd(j->worker);
	if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) < 0)
		return err_errno(err, -errno, "cannot read from the worker process");
	return l->loop ? loop_add_io(l->loop, fd, EPOLLIN, on_answer, j, &j->io) : 0;
}

static struct job *first_waiting(const struct cpu_loader *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (!l->jobs[i]->worker)
			return l->jobs[i];
	return NULL;
}

static void start_waiting(struct cpu_loader *l)
{
	struct job *j;

	while (l->running < WORKERS_MAX && (j = first_waiting(l))) {
		struct err err = { 0 };
		int r = start_worker(j, &err);

		if (r < 0 && j->worker)
			end_worker(j, r, &err);
		else if (r < 0)
			tell(j, r, &err);
	}
}

/* Without a loop there is one job at a time. */
static void wait_for(struct cpu_loader *l)
{
	while (l->running) {
		struct pollfd pfd = { .fd = worker_fd(l->jobs[0]->worker), .events = POLLIN };

		poll(&pfd, 1, 100);
		proceed(l->jobs[0]);
	}
}

bool cpu_loader_has(const struct cpu_loader *l, const struct cpu_file_key *key)
{
	for (size_t i = 0; i < l->n; i++)
		if (!memcmp(&l->jobs[i]->key, key, sizeof(*key)))
			return true;
	return false;
}

int cpu_loader_add(struct cpu_loader *l, const struct cpu_file_key *key, int fd)
{
	struct job *j = l->n < QUEUE_MAX ? calloc(1, sizeof(*j)) : NULL;

	if (!j) {
		close(fd);
		return -ENOBUFS;
	}
	j->loader = l;
	j->key = *key;
	j->fd = fd;
	j->asked_ns = clock_boot_ns();
	l->jobs[l->n++] = j;
	start_waiting(l);
	if (!l->loop)
		wait_for(l);
	return 0;
}

void cpu_loader_poll(struct cpu_loader *l)
{
	for (size_t i = l->n; i-- > 0;)
		if (l->jobs[i]->worker)
			proceed(l->jobs[i]);
	start_waiting(l);
}

int cpu_loader_new(struct loop *loop, struct probe_env *env, cpu_load_fn fn, void *ctx, struct cpu_loader **ret)
{
	struct cpu_loader *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->loop = loop;
	l->env = env;
	l->fn = fn;
	l->ctx = ctx;
	*ret = l;
	return 0;
}

void cpu_loader_free(struct cpu_loader *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->n; i++)
		job_free(l->jobs[i]);
	free(l);
}
