// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A log of encoded payloads (shared_log.h) for all clients that see the same, with a position per client. Writing
 * waits for the loop's next round, so that a batch of events is one write per client.
 */
#include "pipeline/cilium_listener.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "pipeline/shared_log.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "loop/loop.h"
#include "base/macros.h"
#include "bus/bus.h"
#include "cilium/gob.h"
#include "cilium/notify.h"
#include "cilium/print.h"
#include "sinks/cilium/cilium_map.h"
#include "worker/opener.h"

#define QUEUE_BYTES (8u << 20)
#define QUEUE_RECORDS 65536u
#define MAX_CLIENTS 64u
#define WRITE_BYTES (256u << 10)	/* in one call */
#define TURN_BYTES (1u << 20)		/* for one client before the others have theirs */
#define DRAIN_MS 1000		/* at the end, for a client to take something */
#define RETRY_NS 1000000000ull		/* after accept() found no descriptor free */

struct feed {
	struct feed *next;
	uint32_t viewer;		/* of its clients: cilium_listener_opts */
	unsigned clients;
	struct shared_log *log;		/* owned */
};

struct client {
	struct cilium_listener *listener;
	struct client *next;
	struct feed *feed;
	int fd;				/* owned */
	struct loop_source *io;		/* owned */
	struct log_reader reader;
	bool writing;			/* waits for room in its socket */
};

struct cilium_listener {
	struct loop *loop;
	struct sub *sub;
	struct feed *feeds;
	struct cilium_map map;
	struct buf payload;		/* scratch */
	int fd;				/* owned */
	struct loop_source *io, *retry;
	char *path;			/* owned; NULL = somebody else made the socket */
	int folder_fd;			/* owned; of the path; -1 = as above */
	struct opener *opener;		/* removes the socket; borrowed; NULL = this process does */
	dev_t dev;			/* of the socket file */
	ino_t ino;
	struct client *clients;
	unsigned max_clients;
	struct cilium_listener_opts o;	/* what it is told, and whom it asks */
	struct cilium_listener_stats stats;
};

/* ---- feeds ---- */

static struct feed *feed_get(struct cilium_listener *l, uint32_t viewer)
{
	struct feed *f = l->feeds;

	while (f && f->viewer != viewer)
		f = f->next;
	if (!f) {
		f = calloc(1, sizeof(*f));
		if (f)
			f->log = shared_log_new(l->o.queue_bytes ? l->o.queue_bytes : QUEUE_BYTES,
						l->o.queue_records ? l->o.queue_records : QUEUE_RECORDS);
		if (!f || !f->log) {
			free(f);
			return NULL;
		}
		f->viewer = viewer;
		f->next = l->feeds;
		l->feeds = f;
	}
	f->clients++;
	return f;
}

static void feed_put(struct cilium_listener *l, struct feed *f)
{
	struct feed **at = &l->feeds;

	if (--f->clients)
		return;
	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
	shared_log_free(f->log);
	free(f);
}

/* ---- clients ---- */

static void client_remove(struct client *c)
{
	struct cilium_listener *l = c->listener;

	for (struct client **at = &l->clients; *at; at = &(*at)->next)
		if (*at == c) {
			*at = c->next;
			break;
		}
	l->stats.clients--;
	l->stats.sent += c->reader.taken;
	l->stats.lost += c->reader.lost;
	loop_remove(c->io);
	close(c->fd);
	shared_log_leave(c->feed->log, &c->reader);
	feed_put(l, c->feed);
	free(c);
	if (l->retry)
		loop_set_timer(l->retry, 1, 0);	/* a descriptor is free again */
	if (!l->clients && l->o.wanted)
		l->o.wanted(l->o.ctx, false);
}

/* One notification as a payload of the stream. */
static void put_agent(struct buf *out, uint32_t kind, const char *json)
{
	_cleanup_(buf_fini) struct buf b = { 0 };

	cilium_gob_put_agent(&b, kind, json);
	if (!buf_error(&b))
		gob_put_payload(out, &(struct cilium_payload){
			.type = CILIUM_RECORD_SAMPLE, .data = (const uint8_t *)b.data, .len = b.len }, true);
}

static void greet(struct client *c)
{
	char json[96];

	gob_put_payload_type(&c->reader.rest);
	if (!c->listener->o.started)
		return;
	snprintf(json, sizeof(json), "{\"time\":\"%s\"}", c->listener->o.started);
	put_agent(&c->reader.rest, CILIUM_AGENT_STARTED, json);
	c->writing = true;
}

/* Puts the count of what is missing in front of what comes. */
static void tell_gap(struct client *c)
{
	uint64_t gap = c->reader.rest.len ? 0 : shared_log_gap(c->feed->log, &c->reader);

	if (gap)
		gob_put_payload(&c->reader.rest, &(struct cilium_payload){ .type = CILIUM_RECORD_LOST, .lost = gap },
				true);
}

/* 1 all is written, 0 the socket is full or the turn over, or the error that ends the client. */
static int client_write(struct client *c)
{
	size_t done = 0;

	while (done < TURN_BYTES) {
		struct iovec iov[2];
		struct msghdr m = { .msg_iov = iov };
		ssize_t n;

		tell_gap(c);
		if (buf_error(&c->reader.rest))
			return buf_error(&c->reader.rest);
		m.msg_iovlen = (size_t)shared_log_peek(c->feed->log, &c->reader, WRITE_BYTES, iov);
		if (!m.msg_iovlen)
			return 1;
		n = sendmsg(c->fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		shared_log_take(c->feed->log, &c->reader, (size_t)n);
		done += (size_t)n;
	}
	return 0;
}

static int on_client(void *ctx, _unused_ int fd, uint32_t events)
{
	struct client *c = ctx;
	int r = events & (EPOLLHUP | EPOLLERR) ? -EPIPE : client_write(c);

	if (r < 0) {
		client_remove(c);
	} else if (r > 0) {
		c->writing = false;
		loop_set_events(c->io, 0);
	}
	return 0;
}

static void wake_clients(struct cilium_listener *l, const struct feed *f)
{
	for (struct client *c = l->clients; c; c = c->next) {
		if (c->writing || c->feed != f)
			continue;
		c->writing = true;
		loop_set_events(c->io, EPOLLOUT);
	}
}

/* Owns @fd from here on. */
static int client_add(struct cilium_listener *l, int fd)
{
	_cleanup_close_ int owned = fd;
	struct client *c = calloc(1, sizeof(*c));
	struct feed *f = c ? feed_get(l, l->o.viewer ? l->o.viewer(l->o.ctx, fd) : 0) : NULL;
	int r = f ? shared_log_join(f->log, &c->reader) : -ENOMEM;

	if (r < 0) {
		if (f)
			feed_put(l, f);
		free(c);
		return r;
	}
	c->listener = l;
	c->feed = f;
	c->fd = fd;
	greet(c);
	r = buf_error(&c->reader.rest);
	if (r >= 0)
		r = loop_add_io(l->loop, fd, c->writing ? EPOLLOUT : 0, on_client, c, &c->io);
	if (r < 0) {
		shared_log_leave(f->log, &c->reader);
		feed_put(l, f);
		free(c);
		return r;
	}
	loop_set_plain(c->io);
	loop_name(c->io, "client of Cilium's socket");
	c->next = l->clients;
	l->clients = c;
	l->stats.clients++;
	l->stats.accepted++;
	TAKE_FD(owned);
	if (!c->next && l->o.wanted)
		l->o.wanted(l->o.ctx, true);
	return 0;
}

/* Out of descriptors: the listening socket would wake us without end, so it rests for a while. */
static void rest(struct cilium_listener *l)
{
	loop_set_events(l->io, 0);
	loop_set_timer(l->retry, RETRY_NS, 0);
}

static int on_retry(void *ctx, _unused_ uint64_t now_ns)
{
	struct cilium_listener *l = ctx;

	loop_set_events(l->io, EPOLLIN);
	return 0;
}

static int on_connect(void *ctx, int fd, _unused_ uint32_t events)
{
	struct cilium_listener *l = ctx;
	int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (client < 0) {
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
			rest(l);
		return 0;
	}
	if (l->stats.clients >= l->max_clients || client_add(l, client) < 0) {
		l->stats.refused++;
		if (l->stats.clients >= l->max_clients)
			close(client);
	}
	return 0;
}

/* ---- events ---- */

static void add_payload(struct cilium_listener *l, struct feed *f)
{
	if (buf_error(&l->payload) || shared_log_add(f->log, l->payload.data, l->payload.len) < 0)
		return;
	l->stats.encoded++;
	wake_clients(l, f);
}

static int on_event(void *ctx, const struct event *ev)
{
	struct cilium_listener *l = ctx;
	struct cilium_payload p;

	if (!l->clients || (l->o.pass && !l->o.pass(l->o.ctx, ev)))
		return 0;
	for (struct feed *f = l->feeds; f; f = f->next) {
		const struct event *shown = l->o.show ? l->o.show(l->o.ctx, ev, f->viewer) : ev;

		if (cilium_map_event(&l->map, shown, &p) <= 0)
			continue;	/* without memory it is missing in the streams; an error would cut us */
		buf_reset(&l->payload);
		gob_put_payload(&l->payload, &p, true);
		add_payload(l, f);
	}
	return 0;
}

void cilium_listener_message(struct cilium_listener *l, const char *format, ...)
{
	char text[128], json[160];
	va_list args;

	if (!l || !l->clients)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	snprintf(json, sizeof(json), "{\"message\":\"%s\"}", text);
	buf_reset(&l->payload);
	put_agent(&l->payload, CILIUM_AGENT_MESSAGE, json);
	for (struct feed *f = l->feeds; f; f = f->next)
		add_payload(l, f);
}

/* ---- the socket ---- */

static int set_address(struct sockaddr_un *a, const char *path, struct err *err)
{
	*a = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (!*path || strlen(path) >= sizeof(a->sun_path))
		return err_set(err, -EINVAL, "%s: the path of a socket has 1 to %zu bytes", path,
			       sizeof(a->sun_path) - 1);
	memcpy(a->sun_path, path, strlen(path));
	return 0;
}

/* Removes a socket that nobody listens on. */
static int make_room(const struct sockaddr_un *a, struct err *err)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (lstat(a->sun_path, &st) < 0)
		return errno == ENOENT ? 0 : err_errno(err, -errno, "cannot use %s", a->sun_path);
	if (!S_ISSOCK(st.st_mode))
		return err_set(err, -EEXIST, "%s is there and is no socket; another path, please", a->sun_path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_errno(err, -errno, "cannot make a socket");
	if (connect(fd, (const struct sockaddr *)a, sizeof(*a)) == 0 || errno == EAGAIN)
		return err_set(err, -EADDRINUSE, "somebody serves %s already (an agent of Cilium, another sonde?)",
			       a->sun_path);
	if (errno != ECONNREFUSED || unlink(a->sun_path) < 0)
		return err_errno(err, -errno, "cannot use %s", a->sun_path);
	return 0;
}

/* Nobody connects before the rights are set: the mask keeps others out at first. */
static int set_rights(struct cilium_listener *l, const struct cilium_listener_opts *o, struct err *err)
{
	const struct group *g = getgrnam(o->group ? o->group : "cilium");
	struct stat st;

	if (!g && o->group)
		return err_set(err, -EINVAL, "there is no group %s", o->group);
	if (g && chown(l->path, (uid_t)-1, g->gr_gid) < 0 && errno != EPERM)
		return err_errno(err, -errno, "cannot give %s to group %s", l->path, g->gr_name);
	if (chmod(l->path, 0660) < 0 || lstat(l->path, &st) < 0)
		return err_errno(err, -errno, "cannot set the rights of %s", l->path);
	l->dev = st.st_dev;
	l->ino = st.st_ino;
	return 0;
}

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The socket is removed where it was made, even if the path leads elsewhere by then. */
static int open_folder(struct cilium_listener *l, const char *path, struct err *err)
{
	char folder[sizeof(((struct sockaddr_un *)NULL)->sun_path)] = ".";
	size_t len = (size_t)(name_of(path) - path);

	if (len) {
		memcpy(folder, path, len);	/* the path of a socket is not longer: set_address() */
		folder[len] = '\0';
	}
	l->folder_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return l->folder_fd < 0 ? err_errno(err, -errno, "cannot use %s", path) : 0;
}

static int bind_socket(struct cilium_listener *l, const struct cilium_listener_opts *o, struct err *err)
{
	struct sockaddr_un a;
	mode_t mask;
	int r = set_address(&a, o->path, err);

	if (r >= 0)
		r = make_room(&a, err);
	if (r >= 0)
		r = open_folder(l, o->path, err);
	if (r < 0)
		return r;
	l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->fd < 0)
		return err_errno(err, -errno, "cannot make a socket");
	mask = umask(0177);
	r = bind(l->fd, (const struct sockaddr *)&a, sizeof(a)) < 0 ? -errno : 0;
	umask(mask);
	if (r < 0)
		return err_errno(err, r, "cannot serve %s", o->path);
	l->path = strdup(o->path);
	if (!l->path) {
		unlink(o->path);
		return err_errno(err, -ENOMEM, "cannot serve %s", o->path);
	}
	r = set_rights(l, o, err);
	if (r < 0)
		return r;
	return listen(l->fd, SOMAXCONN) < 0 ? err_errno(err, -errno, "cannot serve %s", o->path) : 0;
}

/* The last words of a run: who reads gets all of it, who does not is not waited for. */
static void drain_clients(struct cilium_listener *l)
{
	struct pollfd fds[64];
	bool moved = true;

	while (moved) {
		nfds_t n = 0;

		for (struct client *c = l->clients, *next; c; c = next) {
			next = c->next;
			if (client_write(c))
				client_remove(c);	/* all is written, or nobody is there */
			else if (n < ARRAY_SIZE(fds))
				fds[n++] = (struct pollfd){ .fd = c->fd, .events = POLLOUT };
		}
		moved = n && poll(fds, n, DRAIN_MS) > 0;
	}
}

int cilium_listener_folder(const struct cilium_listener *l)
{
	return l->folder_fd;
}

void cilium_listener_set_opener(struct cilium_listener *l, struct opener *opener)
{
	l->opener = opener;
}

int cilium_listener_remove_socket(const struct cilium_listener *l)
{
	struct stat st;

	if (fstatat(l->folder_fd, name_of(l->path), &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (l->ino && (st.st_dev != l->dev || st.st_ino != l->ino))
		return 0;
	return unlinkat(l->folder_fd, name_of(l->path), 0) < 0 ? -errno : 0;
}

void cilium_listener_free(struct cilium_listener *l)
{
	if (!l)
		return;
	bus_unsubscribe(l->sub);
	l->o.wanted = NULL;
	drain_clients(l);
	while (l->clients)
		client_remove(l->clients);
	loop_remove(l->io);
	loop_remove(l->retry);
	if (l->fd >= 0)
		close(l->fd);
	if (l->path && l->opener)
		opener_remove(l->opener);
	else if (l->path)
		cilium_listener_remove_socket(l);
	if (l->folder_fd >= 0)
		close(l->folder_fd);
	cilium_map_fini(&l->map);
	buf_fini(&l->payload);
	free(l->path);
	free(l);
}
DEFINE_CLEANUP(struct cilium_listener *, cilium_listener_free)

int cilium_listener_new(struct loop *loop, struct bus *bus, const struct cilium_listener_opts *o,
			struct cilium_listener **ret, struct err *err)
{
	_cleanup_(cilium_listener_freep) struct cilium_listener *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return err_errno(err, -ENOMEM, "cannot serve %s", o->path);
	l->loop = loop;
	l->o = *o;
	l->fd = o->fd ? o->fd : -1;
	l->folder_fd = -1;
	l->max_clients = o->max_clients ? o->max_clients : MAX_CLIENTS;
	r = o->fd ? 0 : bind_socket(l, o, err);
	if (r < 0)
		return r;
	r = loop_add_io(loop, l->fd, EPOLLIN, on_connect, l, &l->io);
	if (r >= 0)
		loop_set_plain(l->io);
	if (r >= 0)
		r = loop_add_timer(loop, 0, 0, on_retry, l, &l->retry);
	if (r >= 0)
		l->sub = bus_subscribe(bus, &(struct sub_opts){ .event = on_event, .ctx = l });
	if (r < 0 || !l->sub)
		return err_errno(err, r < 0 ? r : -ENOMEM, "cannot serve %s", o->path);
	*ret = TAKE_PTR(l);
	return 0;
}

void cilium_listener_stats(const struct cilium_listener *l, struct cilium_listener_stats *ret)
{
	*ret = l->stats;
	for (const struct client *c = l->clients; c; c = c->next) {
		ret->sent += c->reader.taken;
		ret->lost += c->reader.lost;
	}
}
