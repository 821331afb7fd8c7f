// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libmicrohttpd without its own thread: its epoll descriptor is a source of our loop. Requests run without effective
 * capabilities.
 */
#include "agent/metrics/agent_http.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "http/http_accept.h"
#include "http/http_library.h"
#include "http/http_listen.h"
#include "http/http_pump.h"

#define CONNECTIONS 16u /* scrapers; each may send 8 KiB of headers */
#define MEMORY_BYTES ((size_t)16 << 10)
#define TIMEOUT_S 10u
#define OLD_TYPE "text/plain; version=0.0.4; charset=utf-8"
#define NEW_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

struct agent_http {
	struct agent_http_opts o;
	struct http_library f;
	const char *path; /* of the unix socket, in o.address; NULL = not created */
	struct MHD_Daemon *daemon;
	struct http_pump *pump;
};

/* ---- answers ---- */

static enum MHD_Result reply(const struct http_library *f, struct MHD_Connection *c, unsigned status,
			     const char *type, const void *text, size_t len)
{
	struct MHD_Response *r = f->create_response_from_buffer(len, (void *)text, MHD_RESPMEM_MUST_COPY);
	enum MHD_Result ret = MHD_NO;

	if (!r)
		return ret;
	if (f->add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type) == MHD_YES &&
	    f->add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store") == MHD_YES)
		ret = f->queue_response(c, status, r);
	f->destroy_response(r);
	return ret;
}

static enum MHD_Result say(const struct http_library *f, struct MHD_Connection *c, unsigned status, const char *text)
{
	return reply(f, c, status, "text/plain; charset=utf-8", text, strlen(text));
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *c, const char *url, const char *method,
				  _unused_ const char *version, _unused_ const char *upload, size_t *upload_len,
				  void **state)
{
	const struct agent_http *h = ctx;
	_cleanup_(buf_fini) struct buf out = { 0 };
	bool openmetrics;

	if (!*state) { /* first call: headers only */
		*state = ctx;
		return MHD_YES;
	}
	if (*upload_len) {
		*upload_len = 0;
		return MHD_YES;
	}
	if (!h->path &&
	    !http_accept_host(h->f.lookup_connection_value(c, MHD_HEADER_KIND, "Host"), h->o.hosts))
		return say(&h->f, c, MHD_HTTP_FORBIDDEN, "this name is not served: metrics-host in agent.conf\n");
	if (strcmp(method, MHD_HTTP_METHOD_GET) && strcmp(method, MHD_HTTP_METHOD_HEAD))
		return say(&h->f, c, MHD_HTTP_METHOD_NOT_ALLOWED, "GET only\n");
	if (!strcmp(url, "/"))
		return say(&h->f, c, MHD_HTTP_OK, "sonde agent: /metrics\n");
	if (strcmp(url, "/metrics"))
		return say(&h->f, c, MHD_HTTP_NOT_FOUND, "not here: /metrics is\n");
	openmetrics = http_accept_openmetrics(h->f.lookup_connection_value(c, MHD_HEADER_KIND, "Accept"));
	h->o.write(h->o.ctx, openmetrics, &out);
	if (buf_error(&out))
		return say(&h->f, c, MHD_HTTP_INTERNAL_SERVER_ERROR, "no memory\n");
	return reply(&h->f, c, MHD_HTTP_OK, openmetrics ? NEW_TYPE : OLD_TYPE, out.data, out.len);
}

/* ---- life ---- */

void agent_http_free(struct agent_http *h)
{
	if (!h)
		return;
	http_pump_free(h->pump);
	if (h->daemon)
		h->f.stop_daemon(h->daemon);
	if (h->path)
		unlink(h->path);
	free(h);
}
DEFINE_CLEANUP(struct agent_http *, agent_http_free)

int agent_http_new(struct loop *loop, const struct agent_http_opts *o, struct agent_http **ret, struct err *err)
{
	_cleanup_(agent_http_freep) struct agent_http *h = calloc(1, sizeof(*h));
	int fd, r;

	if (!h)
		return err_errno(err, -ENOMEM, "cannot serve %s", o->address);
	h->o = *o;
	if (http_library_load(&h->f, err) < 0)
		return err_prefix(err, "cannot serve %s", o->address);
	fd = http_listen_open(h->o.address, h->o.gid, err);
	if (fd < 0)
		return fd;
	h->path = http_listen_path(h->o.address);
	h->daemon = h->f.start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, on_request, h, MHD_OPTION_LISTEN_SOCKET, fd,
				      MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
				      TIMEOUT_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT, MEMORY_BYTES, MHD_OPTION_END);
	if (!h->daemon) {
		close(fd);
		return err_set(err, -EIO, "cannot serve %s", o->address);
	}
	r = http_pump_new(loop, &h->f, h->daemon, "metrics", &h->pump);
	if (r < 0)
		return err_errno(err, r, "cannot serve %s", o->address);
	*ret = TAKE_PTR(h);
	return 0;
}
