// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde status and sonde control: verbs of a running agent.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/agent.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "ipc/client.h"
#include "cmd/cmd.h"

struct status_conf {
	const char *agent;
	bool counters;
	uint64_t last_ns;	/* of a dump; 0 = all */
};

static const struct opt status_opts[] = {
	OPT_ROW(status_conf, agent, "socket", 0, OPT_STR, "PATH", "socket of the agent (default " AGENT_PATH ")"),
	OPT_ROW(status_conf, counters, "counters", 0, OPT_BOOL, NULL, "counters in Prometheus' text format"),
	OPT_END,
};

static const struct opt control_opts[] = {
	OPT_ROW(status_conf, agent, "socket", 0, OPT_STR, "PATH",
		"socket of the agent (default " AGENT_CONTROL_PATH ")"),
	OPT_ROW(status_conf, last_ns, "last", 0, OPT_DURATION, "TIME", "dump: the last TIME only"),
	OPT_END,
};

static size_t status_sets(void *conf, struct opt_set *ret_sets)
{
	ret_sets[0] = (struct opt_set){ "Status", status_opts, conf };
	return 1;
}

static size_t control_sets(void *conf, struct opt_set *ret_sets)
{
	ret_sets[0] = (struct opt_set){ "Control", control_opts, conf };
	return 1;
}

/* The agent opens no files for writing; it receives their descriptors. */
static int open_file(const struct opt_strv *words, int *ret, struct err *err)
{
	if (words->len < 3 || strcmp(words->items[0], "capture") || strcmp(words->items[1], "start"))
		return 0;
	*ret = open(words->items[2], O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);
	return *ret < 0 ? err_errno(err, -errno, "cannot write %s", words->items[2]) : 0;
}

static int call(const char *path, const char *first, const struct opt_strv *rest, uint64_t last_ns)
{
	_cleanup_close_ int fd = -1;
	struct buf words = { 0 }, reply = { 0 };
	struct client *c = NULL;
	struct err err = { 0 };
	int r;

	if (first)
		buf_printf(&words, "%s%c", first, 0);
	for (size_t i = 0; i < rest->len; i++)
		buf_printf(&words, "%s%c", rest->items[i], 0);
	if (last_ns)
		buf_printf(&words, "last=%" PRIu64 "%c", last_ns, 0);
	r = first ? 0 : open_file(rest, &fd, &err);
	if (r >= 0)
		r = client_connect(path, "sonde", &c, &err);
	if (r >= 0)
		r = client_call(c, &words, fd, &reply, &err);
	if (r < 0)
		log_error("%s", err.msg);
	else if (fwrite(reply.data, 1, reply.len, stdout) != reply.len || fflush(stdout))
		r = -EIO;
	client_close(c);
	buf_fini(&words);
	buf_fini(&reply);
	return cmd_exit_status(r);
}

static int status_run(void *conf, const struct cmd_words *w)
{
	const struct status_conf *c = conf;

	return call(c->agent ? c->agent : AGENT_PATH, c->counters ? "counters" : "status", &w->words, 0);
}

static int control_run(void *conf, const struct cmd_words *w)
{
	const struct status_conf *c = conf;

	if (!w->words.len)
		return cmd_error(CMD_USAGE,
				 "control needs a verb: status, counters, attach, detach, capture, record or dump");
	if (c->last_ns && strcmp(w->words.items[0], "dump") != 0)
		return cmd_error(CMD_USAGE, "--last belongs to sonde control dump");
	return call(c->agent ? c->agent : AGENT_CONTROL_PATH, NULL, &w->words, c->last_ns);
}

static const struct cmd_example status_examples[] = {
	{ "sonde status", "what the agent of this host does, and for whom" },
	{ "sonde status --counters", "for Prometheus' textfile collector" },
	{ 0 },
};

const struct cmd cmd_status = {
	.name = "status", .summary = "the running agent: its clients, probes and losses",
	.args = "",
	.doc = "Asks the agent of this host, if one runs.",
	.examples = status_examples,
	.conf_size = sizeof(struct status_conf), .sets = status_sets, .run = status_run,
};

static const struct cmd_example control_examples[] = {
	{ "sonde control attach probe=net option=--interface=lo", "keep a probe loaded without a client" },
	{ "sonde control detach 1", "and unload it" },
	{ "sonde control capture start drops.pcapng probe=net where=drop.reason=NO_SOCKET",
	  "the agent writes the file until sonde control capture stop" },
	{ "sonde control capture start why.pcapng probe=net option=--keep=5s",
	  "a flight recorder: writes what sonde control dump requests" },
	{ "sonde control record start light", "record (record-dir in agent.conf); status and stop are the others" },
	{ "sonde control dump --last 30s crash",
	  "copy the last 30 s of the recording to RECORD-DIR/crash, and print that path" },
	{ 0 },
};

const struct cmd cmd_control = {
	.name = "control", .summary = "requests to the running agent: attach, capture, record, dump",
	.args = "VERB [WORDS]",
	.doc = "doc/protocol.md lists the verbs and who may use them.",
	.examples = control_examples,
	.conf_size = sizeof(struct status_conf), .sets = control_sets, .run = control_run,
};
