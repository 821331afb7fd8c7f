// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * First requests to many files in one worker: starting a worker takes longer than most answers. Each answer has its
 * own pipe, so a file that crashes the worker does not affect other answers; files without an answer are asked again,
 * one worker each.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "sym/lookup.h"
#include "sym/module.h"
#include "worker/worker.h"

#define FILES_MAX (WORKER_FDS_MAX / 2)
#define CPU_SECONDS 20
#define TIMEOUT_NS 10000000000ull	/* for a file */
#define PIPE_BYTES (256 << 10)
#define READ_BYTES (64u << 10)

struct batch {
	struct lookup_request requests[FILES_MAX];
	int in[FILES_MAX], out[FILES_MAX], answers[FILES_MAX];
	struct module *modules[FILES_MAX];
	size_t caps[FILES_MAX];
	size_t n;
};

static int work(void *ctx, _unused_ int in_fd, _unused_ int out_fd)
{
	const struct batch *b = ctx;

	for (size_t i = 0; i < b->n; i++) {
		struct lookup_request q = b->requests[i];

		lookup_work(&q, b->in[i], b->out[i]);
		close(b->out[i]);
	}
	return 0;
}

/* Reads one answer to its end. 0, -ETIMEDOUT, -EMSGSIZE, -ENOMEM. */
static int read_answer(int fd, size_t cap, struct buf *ret)
{
	uint64_t deadline_ns = clock_boot_ns() + TIMEOUT_NS;

	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		uint64_t now = clock_boot_ns();
		char *to;
		ssize_t n;

		if (now >= deadline_ns || poll(&p, 1, (int)((deadline_ns - now) / 1000000) + 1) == 0)
			return -ETIMEDOUT;
		to = buf_reserve(ret, READ_BYTES);
		if (!to)
			return -ENOMEM;
		n = TEMP_FAILURE_RETRY(read(fd, to, READ_BYTES));
		if (n <= 0)
			return n < 0 ? -errno : 0;
		buf_commit(ret, (size_t)n);
		if (ret->len > cap)
			return -EMSGSIZE;
	}
}

static void add(struct batch *b, struct sym *s, const struct lookup_group *g)
{
	int fd = g->m->pub.kind != SYM_JIT && !g->m->refused && !g->m->wrong ? sym_module_fd(s, g->m) : -1, pipe[2];
	size_t i = b->n;

	fd = fd < 0 ? fd : fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1); /* it may have been evicted for another
									   * module */
	if (fd < 0)
		return;
	if (pipe2(pipe, O_CLOEXEC) < 0) {
		close(fd);
		return;
	}
	fcntl(pipe[0], F_SETPIPE_SZ, PIPE_BYTES);
	lookup_first_request(s, g, &b->requests[i], &b->caps[i]);
	b->in[i] = fd;
	b->answers[i] = pipe[0];
	b->out[i] = pipe[1];
	b->modules[i] = g->m;
	b->n++;
}

static struct worker *start(struct batch *b)
{
	int fds[WORKER_FDS_MAX];
	const struct worker_opts o = {
		.name = "sonde-sym", .cpu_seconds = CPU_SECONDS, .later = true, .fds = fds, .n_fds = 2 * b->n,
	};
	struct worker *w = NULL;

	for (size_t i = 0; i < b->n; i++) {
		fds[2 * i] = b->in[i];
		fds[2 * i + 1] = b->out[i];
	}
	worker_start(&o, work, b, -1, &w, NULL);
	for (size_t i = 0; i < b->n; i++) {
		close(b->in[i]);
		close(b->out[i]);
	}
	return w;
}

static void run(struct batch *b)
{
	struct worker *w = start(b);
	bool alive = w;

	for (size_t i = 0; i < b->n; i++) {
		struct buf answer = { 0 };

		alive = alive && read_answer(b->answers[i], b->caps[i], &answer) == 0;
		if (alive && answer.len) {
			b->modules[i]->first_answer = answer.data;
			b->modules[i]->first_len = answer.len;
		} else {
			buf_fini(&answer);
		}
		close(b->answers[i]);
	}
	worker_kill(w);
}

void lookup_prefetch(struct sym *s, const struct lookup_group *groups, size_t n)
{
	struct batch *b = n > 1 ? calloc(1, sizeof(*b)) : NULL;

	if (!b)
		return;
	for (size_t i = 0; i < n && b->n < FILES_MAX; i++)
		add(b, s, &groups[i]);
	if (b->n)
		run(b);
	free(b);
}

size_t lookup_prefetch_max(void)
{
	return FILES_MAX;
}
