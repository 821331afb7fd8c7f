// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hubble_replay FILE SOCKET [TIMES]: Hubble's Observer over a recording, for tests of its clients. Prints "ready"
 * when all flows are there, then serves until its input ends. With TIMES each event comes that many times, after a
 * line of input.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/err.h"
#include "base/macros.h"
#include "http/http_listen.h"
#include "hubble/hubble_observer.h"
#include "loop/loop.h"
#include "pipeline/pipeline.h"
#include "sinks/sink.h"

struct replay {
	struct loop *loop;
	struct hubble_observer *observer;
	long times;
};

static int take(struct sink *s, const struct event *ev)
{
	struct replay *p = s->opts->ctx;
	int r = 0;

	for (long i = 0; r >= 0 && i < p->times; i++)
		r = hubble_observer_event(p->observer, ev);
	return r;
}

static int on_input(void *ctx, int fd, _unused_ uint32_t events)
{
	char line[16];

	loop_stop(ctx, read(fd, line, sizeof(line)) > 0 ? 1 : -ECANCELED);
	return 0;
}

/* Says @what and the CPU time so far, then serves until there is input, or its end. */
static void serve(const struct replay *p, const char *what)
{
	struct loop_source *input = NULL;
	struct rusage used;

	hubble_observer_flush(p->observer);
	getrusage(RUSAGE_SELF, &used);
	printf("%s %ld us\n", what, (long)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000 +
	       (long)(used.ru_utime.tv_usec + used.ru_stime.tv_usec));
	fflush(stdout);
	if (loop_add_io(p->loop, STDIN_FILENO, EPOLLIN, on_input, p->loop, &input) >= 0)
		loop_run(p->loop);
	loop_remove(input);
}

/* The pipeline has its names until this returns. */
static int finish(struct sink *s)
{
	serve(s->opts->ctx, "ready");
	return 0;
}

static const struct sink_ops replay_sink = {
	.name = "replay", .summary = "", .flags = SINK_NO_FILE | SINK_AT_CLOSE, .event = take, .close = finish,
};

static int replay(struct replay *p, const char *file, const char *address, struct err *err)
{
	const struct pipeline_limits limits = { 0 };
	struct sink_opts sink = { .wait = true, .ctx = p };
	struct pipeline *pipeline = NULL;
	int fd = http_listen_open(address, 0, err), r = fd;

	if (r >= 0)
		r = pipeline_new(p->loop, &pipeline, err);
	if (r >= 0) {
		const struct hubble_observer_opts o = {
			.reg = pipeline_registry(pipeline), .host = pipeline_host(pipeline), .address = address,
			.fds = &fd, .n_fds = 1,
		};

		r = hubble_observer_new(p->loop, &o, &p->observer, err);
	}
	if (r >= 0)
		r = pipeline_add_sink(pipeline, &replay_sink, &sink, NULL, err);
	if (r >= 0 && p->times > 1)
		serve(p, "listening");
	if (r >= 0)
		r = pipeline_open_file(pipeline, file, err);
	if (r >= 0)
		r = pipeline_run(pipeline, &limits, err);
	hubble_observer_free(p->observer);
	pipeline_free(pipeline);
	return r;
}

int main(int argc, char **argv)
{
	struct replay p = { .loop = loop_new(), .times = argc > 3 ? atol(argv[3]) : 1 };
	struct err err = { 0 };
	int r = argc > 2 && p.loop ? replay(&p, argv[1], argv[2], &err) :
				     err_set(&err, -EINVAL, "usage: hubble-replay FILE SOCKET [TIMES]");

	if (r < 0)
		fprintf(stderr, "%s\n", err.msg);
	return r < 0;
}
