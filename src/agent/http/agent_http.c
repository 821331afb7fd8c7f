// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libmicrohttpd without its own thread: its epoll descriptor is a source of our loop. Requests run without effective
 * capabilities. The library is loaded at run time with its TLS dependencies, so that other runs do not pay for it.
 */
#include "agent/http/agent_http.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "loop/loop.h"
#include "base/macros.h"
#include "base/str.h"
#include "agent/http/http_accept.h"

#define CONNECTIONS 16u /* scrapers; each may send 8 KiB of headers */
#define MEMORY_BYTES ((size_t)16 << 10)
#define TIMEOUT_S 10u
#define TIDY_NS 1000000000ull /* between two checks for idle connections */
#define BACKLOG 16
#define OLD_TYPE "text/plain; version=0.0.4; charset=utf-8"
#define NEW_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

/* Functions in use, named without "MHD_". */
struct mhd_calls {
	__typeof__(MHD_create_response_from_buffer) *create_response_from_buffer;
	__typeof__(MHD_add_response_header) *add_response_header;
	__typeof__(MHD_queue_response) *queue_response;
	__typeof__(MHD_destroy_response) *destroy_response;
	__typeof__(MHD_lookup_connection_value) *lookup_connection_value;
	__typeof__(MHD_run) *run;
	__typeof__(MHD_get_daemon_info) *get_daemon_info;
	__typeof__(MHD_start_daemon) *start_daemon;
	__typeof__(MHD_stop_daemon) *stop_daemon;
};

struct agent_http {
	struct agent_http_opts o;
	struct mhd_calls f;
	char *path; /* owned; of the unix socket; NULL = not created */
	struct MHD_Daemon *daemon;
	struct loop_source *io, *tidy;
};

static bool load(struct mhd_calls *f)
{
	static const char *const names[] = { "libmicrohttpd.so.12", "libmicrohttpd.so" };
	void *lib = NULL;

	for (size_t i = 0; !lib && i < ARRAY_SIZE(names); i++)
		lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		return false;
	*(void **)&f->create_response_from_buffer = dlsym(lib, "MHD_create_response_from_buffer");
	*(void **)&f->add_response_header = dlsym(lib, "MHD_add_response_header");
	*(void **)&f->queue_response = dlsym(lib, "MHD_queue_response");
	*(void **)&f->destroy_response = dlsym(lib, "MHD_destroy_response");
	*(void **)&f->lookup_connection_value = dlsym(lib, "MHD_lookup_connection_value");
	*(void **)&f->run = dlsym(lib, "MHD_run");
	*(void **)&f->get_daemon_info = dlsym(lib, "MHD_get_daemon_info");
	*(void **)&f->start_daemon = dlsym(lib, "MHD_start_daemon");
	*(void **)&f->stop_daemon = dlsym(lib, "MHD_stop_daemon");
	return f->create_response_from_buffer && f->add_response_header && f->queue_response && f->destroy_response &&
	       f->lookup_connection_value && f->run && f->get_daemon_info && f->start_daemon && f->stop_daemon;
}

/* ---- answers ---- */

static enum MHD_Result reply(const struct mhd_calls *f, struct MHD_Connection *c, unsigned status, const char *type,
			     const void *text, size_t len)
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

static enum MHD_Result say(const struct mhd_calls *f, struct MHD_Connection *c, unsigned status, const char *text)
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
	if (h->o.address[0] != '/' &&
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

/* ---- the socket ---- */

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	struct sockaddr_un un;
};

/* "HOST:PORT", "[HOST]:PORT" or "PORT". */
static socklen_t parse_inet(const char *text, union address *ret)
{
	const char *colon = strrchr(text, ':');
	char host[INET6_ADDRSTRLEN] = "127.0.0.1";
	uint32_t port;
	size_t len = colon ? (size_t)(colon - text) : 0;

	if (str_to_u32(colon ? colon + 1 : text, 10, &port) < 0 || !port || port > UINT16_MAX || len >= sizeof(host))
		return 0;
	if (colon)
		snprintf(host, sizeof(host), "%.*s", (int)len, text);
	ret->v4 = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	if (inet_pton(AF_INET, strcmp(host, "localhost") ? host : "127.0.0.1", &ret->v4.sin_addr) == 1)
		return ntohl(ret->v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET ? sizeof(ret->v4) : 0;
	if (len < 2 || host[0] != '[' || host[len - 1] != ']')
		return 0;
	host[len - 1] = '\0';
	ret->v6 = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port) };
	return inet_pton(AF_INET6, host + 1, &ret->v6.sin6_addr) == 1 && IN6_IS_ADDR_LOOPBACK(&ret->v6.sin6_addr)
		       ? sizeof(ret->v6)
		       : 0;
}

static socklen_t parse_unix(const char *text, union address *ret)
{
	ret->un = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (strlen(text) >= sizeof(ret->un.sun_path))
		return 0;
	memcpy(ret->un.sun_path, text, strlen(text));
	return sizeof(ret->un);
}

bool agent_http_address(const char *address, struct err *err)
{
	union address a;

	if (*address == '/' ? parse_unix(address, &a) : parse_inet(address, &a))
		return true;
	err_set(err, -EINVAL,
		"%s: expected 127.0.0.1:PORT, [::1]:PORT or the path of a socket; other addresses are "
		"refused",
		address);
	return false;
}

/* Removes the socket of an agent that was killed. */
static void remove_stale(const char *path)
{
	struct stat st;

	if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode))
		unlink(path);
}

static int bind_unix(struct agent_http *h, int fd, const union address *a, socklen_t len)
{
	mode_t mask = umask(0177);
	int r;

	remove_stale(a->un.sun_path);
	r = bind(fd, &a->any, len) < 0 ? -errno : 0;
	umask(mask);
	if (r < 0)
		return r;
	h->path = strdup(a->un.sun_path);
	if (h->o.gid && (chown(a->un.sun_path, (uid_t)-1, h->o.gid) < 0 || chmod(a->un.sun_path, 0660) < 0))
		return -errno;
	return h->path ? 0 : -ENOMEM;
}

static int open_socket(struct agent_http *h, struct err *err)
{
	union address a;
	socklen_t len = *h->o.address == '/' ? parse_unix(h->o.address, &a) : parse_inet(h->o.address, &a);
	_cleanup_close_ int fd = -1;
	int one = 1, r;

	if (!agent_http_address(h->o.address, err))
		return -EINVAL;
	fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_errno(err, -errno, "cannot create a socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	r = a.any.sa_family == AF_UNIX ? bind_unix(h, fd, &a, len) : bind(fd, &a.any, len) < 0 ? -errno : 0;
	if (r >= 0 && listen(fd, BACKLOG) < 0)
		r = -errno;
	return r < 0 ? err_errno(err, r, "cannot serve %s", h->o.address) : TAKE_FD(fd);
}

/* ---- life ---- */

static int on_io(void *ctx, _unused_ int fd, _unused_ uint32_t events)
{
	const struct agent_http *h = ctx;

	h->f.run(h->daemon);
	return 0;
}

static int on_tidy(void *ctx, _unused_ uint64_t now_ns)
{
	const struct agent_http *h = ctx;

	h->f.run(h->daemon);
	return 0;
}

void agent_http_free(struct agent_http *h)
{
	if (!h)
		return;
	loop_remove(h->io);
	loop_remove(h->tidy);
	if (h->daemon)
		h->f.stop_daemon(h->daemon);
	if (h->path)
		unlink(h->path);
	free(h->path);
	free(h);
}
DEFINE_CLEANUP(struct agent_http *, agent_http_free)

static int watch(struct agent_http *h, struct loop *loop)
{
	const union MHD_DaemonInfo *info = h->f.get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	int r = info ? loop_add_io(loop, info->epoll_fd, EPOLLIN, on_io, h, &h->io) : -ENOTSUP;

	if (r >= 0)
		r = loop_add_timer(loop, TIDY_NS, TIDY_NS, on_tidy, h, &h->tidy);
	if (r < 0)
		return r;
	loop_set_plain(h->io);
	loop_set_plain(h->tidy);
	loop_name(h->io, "metrics");
	return 0;
}

int agent_http_new(struct loop *loop, const struct agent_http_opts *o, struct agent_http **ret, struct err *err)
{
	_cleanup_(agent_http_freep) struct agent_http *h = calloc(1, sizeof(*h));
	int fd, r;

	if (!h)
		return err_errno(err, -ENOMEM, "cannot serve %s", o->address);
	h->o = *o;
	if (!load(&h->f))
		return err_set(err, -ELIBACC,
			       "cannot serve %s without libmicrohttpd, which cannot be loaded: "
			       "install it",
			       o->address);
	fd = open_socket(h, err);
	if (fd < 0)
		return fd;
	h->daemon = h->f.start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, on_request, h, MHD_OPTION_LISTEN_SOCKET, fd,
				      MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
				      TIMEOUT_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT, MEMORY_BYTES, MHD_OPTION_END);
	if (!h->daemon) {
		close(fd);
		return err_set(err, -EIO, "cannot serve %s", o->address);
	}
	r = watch(h, loop);
	if (r < 0)
		return err_errno(err, r, "cannot serve %s", o->address);
	*ret = TAKE_PTR(h);
	return 0;
}
