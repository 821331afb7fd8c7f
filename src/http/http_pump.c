// SPDX-License-Identifier: GPL-2.0-or-later
#include "http/http_pump.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "base/macros.h"
#include "http/http_library.h"
#include "loop/loop.h"

#define TIDY_NS NS_PER_S /* longest time between two checks for idle connections */

struct http_pump {
	const struct http_library *lib;
	struct MHD_Daemon *daemon;
	struct loop_source *io, *timer;
};

void http_pump_run(struct http_pump *p)
{
	MHD_UNSIGNED_LONG_LONG ms;
	uint64_t wait_ns = TIDY_NS;

	p->lib->run(p->daemon);
	if (p->lib->get_timeout(p->daemon, &ms) == MHD_YES)
		wait_ns = MAX(MIN((uint64_t)ms * NS_PER_MS, TIDY_NS), 1ull);
	loop_set_timer(p->timer, wait_ns, 0);
}

static int on_io(void *ctx, _unused_ int fd, _unused_ uint32_t events)
{
	http_pump_run(ctx);
	return 0;
}

static int on_timer(void *ctx, _unused_ uint64_t now_ns)
{
	http_pump_run(ctx);
	return 0;
}

int http_pump_new(struct loop *loop, const struct http_library *lib, struct MHD_Daemon *daemon, const char *name,
		  struct http_pump **ret)
{
	const union MHD_DaemonInfo *info = lib->get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
	struct http_pump *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	*p = (struct http_pump){ .lib = lib, .daemon = daemon };
	r = info ? loop_add_io(loop, info->epoll_fd, EPOLLIN, on_io, p, &p->io) : -ENOTSUP;
	if (r >= 0)
		r = loop_add_timer(loop, TIDY_NS, 0, on_timer, p, &p->timer);
	if (r < 0) {
		http_pump_free(p);
		return r;
	}
	loop_set_plain(p->io);
	loop_set_plain(p->timer);
	loop_name(p->io, name);
	*ret = p;
	return 0;
}

void http_pump_free(struct http_pump *p)
{
	if (!p)
		return;
	loop_remove(p->io);
	loop_remove(p->timer);
	free(p);
}
