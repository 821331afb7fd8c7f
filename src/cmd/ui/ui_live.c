// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/ui/ui_live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/record/record_sets.h"
#include "base/err.h"
#include "base/log.h"
#include "cmd/daemon/remote.h"
#include "cmd/run/run.h"
#include "ipc/client.h"
#include "loop/loop.h"
#include "pipeline/pipeline.h"
#include "probe/env.h"
#include "sonde/wire.h"
#include "worker/command_signals.h"

#define NAME "sonde ui"
#define QUEUE_BYTES (64u << 20)	/* its client may take a second for the names of a flame graph */
#define QUEUE_RECORDS (1u << 20)

struct ui_live {
	pid_t pid;
};

/* ---- the process with the rights ---- */

/* An agent for one client, without sockets. Ends when the client has left. */
static int serve(int fd)
{
	const struct agent_conf conf = {
		.client_fd = fd, .queue_bytes = QUEUE_BYTES, .queue_records = QUEUE_RECORDS,
	};
	struct loop *loop = loop_new();
	struct agent *a = NULL;
	struct err err = { 0 };
	int r = loop ? agent_new(loop, &conf, &a, &err) : err_errno(&err, -errno, "cannot make an event loop");

	if (r >= 0)
		r = agent_run(a, &err);
	agent_free(a);
	loop_free(loop);
	if (r < 0)
		log_error("%s", err.msg);
	return r < 0;
}

static int start(struct ui_live *l, int *ret_fd, struct err *err)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return err_errno(err, -errno, "cannot start the probes");
	l->pid = fork();
	if (l->pid < 0) {
		close(fds[0]);
		close(fds[1]);
		return err_errno(err, -errno, "cannot start the probes");
	}
	if (!l->pid) {
		command_signals_ignore(NULL);	/* the page ends first, its stream whole */
		close(fds[0]);
		log_set_level(LOG_LEVEL_WARN);	/* not a daemon's log */
		_exit(serve(fds[1]));
	}
	close(fds[1]);
	*ret_fd = fds[0];
	return 0;
}

void ui_live_close(struct ui_live *l)
{
	if (!l)
		return;
	while (l->pid > 0 && waitpid(l->pid, NULL, 0) < 0 && errno == EINTR)
		;
	free(l);
}

/* ---- subscribing ---- */

static int subscribe(const struct run_conf *c, const struct record_sets *sets, struct client *client, struct err *err)
{
	struct pipeline_probe probes[SONDE_INSTANCES];
	const struct probe_select all = { 0 };
	const struct run_ops spec = { .probes = probes, .n_probes = sets->members.len, .cmdline = NAME };

	if (sets->members.len >= SONDE_INSTANCES)
		return err_set(err, -E2BIG, "--set: too many probes");
	for (size_t i = 0; i < sets->members.len; i++)
		probes[i] = (struct pipeline_probe){ .ops = sets->members.items[i].ops,
						     .conf = sets->members.items[i].conf };
	return remote_subscribe(client, c, &spec, &all, NULL, err);
}

/* 1: an agent answers; 0: none does, and none was asked for. */
static int find_agent(const struct run_conf *c, struct client **ret, struct err *err)
{
	const char *path = c->agent && *c->agent ? c->agent : AGENT_PATH;
	struct err e = { 0 };
	int r;

	if (c->agent && !strcmp(c->agent, "no"))
		return 0;
	r = client_connect(path, NAME, ret, &e);
	if (r >= 0)
		return 1;
	if (!c->agent && r != -EACCES)
		return 0;
	if (!c->agent && geteuid() == 0)
		return 0;
	*err = e;
	return r;
}

int ui_live_attach(int fd, const struct run_conf *c, const struct record_sets *sets, struct client **ret_client,
		   struct err *err)
{
	int r = client_attach(fd, NAME, ret_client, err);

	return r < 0 ? r : subscribe(c, sets, *ret_client, err);
}

int ui_live_open(const struct run_conf *c, const struct record_sets *sets, struct client **ret_client,
		 struct ui_live **ret_live, struct err *err)
{
	int fd = -1, r = find_agent(c, ret_client, err);

	if (r < 0)
		return r;
	if (r == 0) {
		if (geteuid() != 0)
			return err_set(err, -EPERM, "no agent answers and this user may not load BPF programs: "
				       "start sonde agent, or show a recording with -r FILE");
		*ret_live = calloc(1, sizeof(**ret_live));
		if (!*ret_live)
			return err_errno(err, -ENOMEM, "cannot start the probes");
		log_info("sonde: starting the probes");
		r = start(*ret_live, &fd, err);
		return r < 0 ? r : ui_live_attach(fd, c, sets, ret_client, err);
	}
	return subscribe(c, sets, *ret_client, err);
}
