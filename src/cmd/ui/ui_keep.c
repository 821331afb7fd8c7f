// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/ui/ui_keep.h"

#include "agent/agent.h"
#include "base/err.h"
#include "cmd/daemon/keeper.h"
#include "cmd/ui/ui_run.h"
#include "http/http_library.h"
#include "http/http_listen.h"
#include "ui/ui_walls.h"

#define MEMORY_BYTES (128u << 20)	/* of events: the unit of the agent has 1 GB for all */

static int serve(void *conf, const int fds[static AGENT_SERVER_FD__MAX])
{
	struct ui_conf *c = conf;

	c->client_fd = fds[AGENT_SERVER_CLIENT];
	c->listen_fd = fds[AGENT_SERVER_LISTEN];
	return ui_run(c, NULL);
}

static const struct keeper_ops page_ops = { .title = "the page", .comm = "sonde-ui", .serve = serve };

static int add_sets(const struct agent_conf *c, struct record_sets *ret, struct err *err)
{
	*ret = (struct record_sets){ .row = "ui-set" };
	return record_sets_add(ret, c->ui_set ? c->ui_set : UI_SET, err);
}

int ui_keep_check(const struct agent_conf *c, struct err *err)
{
	struct record_sets sets;
	int r;

	if (c->ui && !http_listen_check(c->ui, err))
		return err_prefix(err, "ui");
	r = add_sets(c, &sets, err);
	record_sets_fini(&sets);
	return r;
}

int ui_keep_start(const struct agent_conf *conf, struct keeper *ret, struct buf *ret_address, struct err *err)
{
	struct ui_token token;
	struct ui_conf c = {
		.listen = conf->ui, .memory_bytes = MEMORY_BYTES, .token = &token,
		.content = conf->allow_content == AGENT_CONTENT_GROUP,
	};
	struct http_library library;
	int r;

	if (http_library_load(&library, err) < 0)	/* for each server */
		return err_prefix(err, "cannot serve the page");
	r = add_sets(conf, &c.sets, err);
	if (r >= 0)
		r = ui_walls_token(&token, err);
	if (r >= 0)
		r = keeper_start(&page_ops, &c, ret, err);
	record_sets_fini(&c.sets);
	if (r >= 0)
		ui_walls_address(conf->ui, &token, ret_address);
	return r;
}
