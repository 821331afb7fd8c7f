// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde ui: the page of this host or of a recording.
 */
#include <errno.h>

#include "agent/record/record_sets.h"
#include "base/err.h"
#include "base/macros.h"
#include "cmd/cmd.h"
#include "cmd/ui/ui_run.h"
#include "http/http_listen.h"

#define LISTEN_DEFAULT "127.0.0.1:9778"
#define MEMORY_DEFAULT (256u << 20)

static const struct opt ui_opts[] = {
	OPT_ROW(ui_conf, run.read, "read", 'r', OPT_STR, "FILE", "show a recording, store or capture"),
	OPT_ROW(ui_conf, run.follow, "follow", 0, OPT_BOOL, NULL,
		"with -r: wait for what is being written to a store"),
	OPT_ROW(ui_conf, listen, "listen", 0, OPT_STR, "ADDRESS",
		"127.0.0.1:PORT, [::1]:PORT or unix:PATH (default " LISTEN_DEFAULT ")"),
	OPT_ROW(ui_conf, host, "ui-host", 0, OPT_STR, "NAME",
		"name by which a reverse proxy serves the page over https"),
	OPT_ROW(ui_conf, set, "set", 0, OPT_STRV, "SET,...",
		"probes of a live page, as for sonde record (default " UI_SET ")"),
	OPT_ROW(ui_conf, folder, "folder", 0, OPT_STR, "DIR",
		"list the recordings in DIR (default: beside that of -r)"),
	OPT_ROW(ui_conf, memory_bytes, "memory", 0, OPT_BYTES, "SIZE", "latest events to keep (default 256M)"),
	OPT_ROW(ui_conf, check, "check", 0, OPT_BOOL, NULL, "check options, and stop"),
	OPT_END,
};

static const struct opt ui_agent_opts[] = {
	OPT_ROW(ui_conf, run.agent, "agent", 0, OPT_MAYBE, "PATH|no",
		"use the agent at PATH; no: load probes beside this process",
		.more = "the default is the agent at /run/sonde/read.sock if it runs"),
	OPT_END,
};

static size_t ui_sets(void *conf, struct opt_set *ret_sets)
{
	struct ui_conf *c = conf;

	c->listen = LISTEN_DEFAULT;
	c->memory_bytes = MEMORY_DEFAULT;
	ret_sets[0] = (struct opt_set){ .title = "Page", .opts = ui_opts, .conf = c };
	ret_sets[1] = (struct opt_set){ .title = "Stream", .opts = ui_agent_opts, .conf = c };
	return 2;
}

static int prepare(struct ui_conf *c, struct err *err)
{
	int r = 0;

	if (c->run.follow && !c->run.read)
		return err_set(err, -EINVAL, "--follow waits for records of a store: -r DIR names it");
	if (c->set.len && c->run.read)
		return err_set(err, -EINVAL, "--set names probes of a live page; -r shows what was recorded");
	if (!http_listen_check(c->listen, err))
		return -EINVAL;
	for (size_t i = 0; r >= 0 && i < c->set.len; i++)
		r = record_sets_add(&c->sets, c->set.items[i], err);
	if (!c->set.len && !c->run.read)
		r = record_sets_add(&c->sets, UI_SET, err);
	return r;
}

static int ui_main(void *conf, _unused_ const struct cmd_words *w)
{
	struct ui_conf *c = conf;
	struct err err = { 0 };
	int r = prepare(c, &err), status;

	if (r < 0) {
		status = cmd_fail(r, &err);
	} else {
		status = c->check ? CMD_OK : ui_run(c, w);
	}
	record_sets_fini(&c->sets);
	opt_strv_fini(&c->set);
	return status;
}

static const struct cmd_example ui_examples[] = {
	{ "sonde ui", "this host, live; open the address that it prints" },
	{ "sonde ui -r calls.rec", "a recording" },
	{ "sonde ui -r clickhouse://db.example/fleet", "the hosts of a database" },
	{ "sonde ui --set full --memory 1G", "more probes, a longer memory" },
	{ "sonde ui --listen unix:/run/user/1000/ui.sock", "for ssh -L 9778:/run/user/1000/ui.sock HOST" },
	{ 0 },
};

const struct cmd cmd_ui = {
	.name = "ui",
	.summary = "a page for the browser: this host or a recording",
	.args = "",
	.doc = "Serves a page with tables, flame graphs, latencies over time and single events to browsers of this "
	       "host. The address that it prints has a token, which is new at each start; without it nothing but the "
	       "page itself is served. It listens on loopback addresses and unix sockets only; other hosts come "
	       "through ssh -L, or a reverse proxy with --ui-host.\n\n"
	       "A live page takes its events from the agent if one runs, else from probes in a second process, which "
	       "needs the same rights as other commands. The server runs as nobody, without capabilities and "
	       "behind a seccomp filter. Each request is answered in a process of its own, limited to 2 s of CPU "
	       "time and 64 MB.\n\n"
	       "doc/ui.md explains the page, doc/api.md has the paths for programs.",
	.examples = ui_examples,
	.conf_size = sizeof(struct ui_conf),
	.sets = ui_sets,
	.run = ui_main,
};
