// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/daemon/remote.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent.h"
#include "cmd/run/run_conf.h"
#include "cmd/run/run_ops.h"
#include "pipeline/pipeline.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "ipc/client.h"
#include "probe/probe.h"

#define SETS_MAX 2

/* Why an agent cannot serve this run; NULL = it can. */
static const char *needs_local(const struct run_conf *c, const struct run_ops *spec)
{
	if (spec->command && spec->command->len)
		return "a command behind --";
	if (c->host_root)
		return "--host-root";
	if (c->btf)
		return "--btf";
	if (spec->why_local)
		return spec->why_local;
	return NULL;
}

/* ---- the subscription as words: doc/protocol.md ---- */

static void put_word(struct buf *b, const char *key, const char *value)
{
	buf_printf(b, "%s=%s%c", key, value, 0);
}

static void put_numbers(struct buf *b, const struct probe_select *s)
{
	for (size_t i = 0; i < s->n_pids; i++)
		buf_printf(b, "pid=%u%c", s->pids[i], 0);
	for (size_t i = 0; i < s->n_comms; i++)
		put_word(b, "comm", s->comms[i]);
	for (size_t i = 0; i < s->n_cgroups; i++)
		buf_printf(b, "cgroup=%" PRIu64 "%c", s->cgroups[i], 0);
	for (size_t i = 0; i < s->n_netns; i++)
		buf_printf(b, "netns-inode=%u%c", s->netns[i], 0);
}

/* The current namespace is this process's, not the agent's. */
static void put_netns(struct buf *b, const struct run_conf *c, const struct proto_welcome *w)
{
	struct stat st;

	for (size_t i = 0; i < c->netns.len; i++)
		put_word(b, "netns", c->netns.items[i]);
	if (!c->netns.len && stat("/proc/self/ns/net", &st) == 0 && (uint32_t)st.st_ino != w->netns)
		buf_printf(b, "netns=%d%c", (int)getpid(), 0);
}

static int put_probe(struct buf *b, const struct probe_ops *ops, const void *conf, struct err *err)
{
	_cleanup_(buf_fini) struct buf words = { 0 };
	struct opt_set sets[SETS_MAX];
	size_t n = 0;
	int r;

	put_word(b, "probe", ops->name);
	if (!conf)
		return 0;
	if (ops->opts)
		sets[n++] = (struct opt_set){ .opts = ops->opts, .conf = (void *)conf };
	if (ops->command_opts)
		sets[n++] = (struct opt_set){ .opts = ops->command_opts, .conf = (void *)conf };
	r = opt_words(sets, n, ops->conf_base, &words);
	if (r < 0)
		return err_errno(err, r, "the options of probe %s cannot be sent to an agent", ops->name);
	for (const char *p = words.data; p && p < words.data + words.len; p += strlen(p) + 1)
		put_word(b, "option", p);
	return 0;
}

static int put_probes(struct buf *b, const struct run_conf *c, const struct run_ops *spec, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < spec->n_probes; i++)
		r = put_probe(b, spec->probes[i].ops, spec->probes[i].conf, err);
	for (size_t i = 0; r >= 0 && i < c->probes.len; i++) {
		const struct probe_ops *ops = probe_find(c->probes.items[i]);

		r = ops ? put_probe(b, ops, ops->conf_default, err)
			: err_set(err, -EINVAL, "--probe %s: no such probe (sonde probes lists them)",
				  c->probes.items[i]);
	}
	return r;
}

int remote_subscribe(struct client *client, const struct run_conf *c, const struct run_ops *spec,
		     const struct probe_select *sel, const char *where, struct err *err)
{
	_cleanup_(buf_fini) struct buf b = { 0 };
	int r = put_probes(&b, c, spec, err);

	if (r < 0)
		return r;
	put_numbers(&b, sel);
	put_netns(&b, c, client_welcome(client));
	if (where)
		put_word(&b, "where", where);
	if (client_welcome(client)->rights & PROTO_RIGHT_CONTROL)
		put_word(&b, "exclude", "self");	/* readers filter their own events themselves */
	return client_subscribe(client, &b, err);
}

int remote_open(const struct run_conf *c, const struct run_ops *spec, const struct probe_select *sel,
		const char *where, struct client **ret_client, struct err *err)
{
	const char *path = c->agent && *c->agent ? c->agent : AGENT_PATH, *why = needs_local(c, spec);
	struct client *client;
	struct err e = { 0 };
	int r;

	if (c->agent ? !strcmp(c->agent, "no") : why != NULL)
		return 0;
	if (why)
		return err_set(err, -EINVAL, "--agent and %s exclude each other", why);
	r = client_connect(path, spec->cmdline ? spec->cmdline : "sonde", &client, &e);
	if (r < 0 && !c->agent)
		return 0; /* no agent was requested */
	if (r < 0) {
		*err = e;
		return r;
	}
	r = remote_subscribe(client, c, spec, sel, where, err);
	if (r < 0) {
		client_close(client);
		return r;
	}
	*ret_client = client;
	return 1;
}
