// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Clients that may see the same share a feed: a broadcast log of encoded payloads. Sockets are written in the loop's
 * next round, so that a batch of events is one write per client.
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
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "loop/loop.h"
#include "base/macros.h"
#include "base/unix_socket.h"
#include "cilium/gob.h"
#include "cilium/notify.h"
#include "cilium/print.h"
#include "ipc/broadcast.h"
#include "ipc/listen.h"
#include "pipeline/bus.h"
#include "sinks/cilium/cilium_map.h"
#include "worker/opener.h"

#define QUEUE_BYTES (4u << 20)
#define QUEUE_RECORDS 65536u
#define MAX_CLIENTS 64u
#define WRITE_PIECES 16		/* of 64 KiB, in one call */
#define TURN_BYTES (1u << 20)	/* per client and turn */
#define DRAIN_MS 1000		/* at the end: longest wait for a client to read */

struct feed {
	struct feed *next;
	uint32_t viewer;		/* class of its clients: cilium_listener_opts */
	unsigned clients;
	struct broadcast_log *log; /* owned */
};

struct client {
	struct cilium_listener *listener;
	struct client *next;
	struct feed *feed;
	int fd;				/* owned */
	struct loop_source *io;		/* owned */
	struct broadcast_sub *queue;	/* owned */
	unsigned greetings;		/* gob messages before the first payload of the feed */
	bool fed;			/* a payload was sent or queued */
	bool writing;			/* waits for EPOLLOUT */
};

struct cilium_listener {
	struct loop *loop;
	struct bus *bus;		/* borrowed */
	struct subscriber sub;
	struct broadcast *broadcast;
	struct feed *feeds;
	struct cilium_map map;
	struct buf payload;		/* scratch */
	struct listener *connections;	/* owned */
	char *path;			/* owned; NULL = socket passed in */
	int folder_fd;			/* owned; folder of path; -1 = socket passed in */
	struct opener *opener;		/* removes the socket; borrowed; NULL = this process does */
	dev_t dev;			/* of the socket file */
	ino_t ino;
	struct client *clients;
	unsigned max_clients;
	struct cilium_listener_opts o;	/* as given */
	struct cilium_listener_stats stats;
};

/* ---- frames: gob messages ---- */

#define GOB_LENGTH_BYTES 9 /* length prefix of a message, at most */

static void describe_frame(const void *frame, struct broadcast_frame *ret)
{
	size_t len;

	gob_message_len(frame, GOB_LENGTH_BYTES, &len);
	*ret = (struct broadcast_frame){ .len = (uint32_t)len, .counts = true, .weight = BROADCAST_DATA };
}

static size_t lost_frame(const struct broadcast_lost *l, void *buf, size_t cap)
{
	_cleanup_(buf_fini) struct buf b = { 0 };

	gob_put_payload(&b, &(struct cilium_payload){ .type = CILIUM_RECORD_LOST, .lost = l->count }, true);
	if (buf_error(&b) || b.len > cap)
		return 0;
	memcpy(buf, b.data, b.len);
	return b.len;
}

static const struct broadcast_ops frame_ops = { .align = 1, .look = describe_frame, .lost = lost_frame };

/* ---- feeds ---- */

static struct feed *feed_get(struct cilium_listener *l, uint32_t viewer)
{
	struct feed *f = l->feeds;

	while (f && f->viewer != viewer)
		f = f->next;
	if (!f) {
		f = calloc(1, sizeof(*f));
		if (f)
			f->log = broadcast_log_new(l->broadcast);
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
	broadcast_log_free(f->log);
	free(f);
}

/* ---- clients ---- */

/* Adds the payloads sent and lost, greetings aside. */
static void add_counts(const struct client *c, struct cilium_listener_stats *to)
{
	struct broadcast_stats st;

	broadcast_stats(c->queue, &st);
	to->sent += st.sent - MIN(st.sent, (uint64_t)c->greetings);
	to->lost += st.lost;
}

static void client_free(struct client *c)
{
	if (c->queue)
		broadcast_unsubscribe(c->queue);
	if (c->feed)
		feed_put(c->listener, c->feed);
	free(c);
}
DEFINE_CLEANUP(struct client *, client_free)

static void client_remove(struct client *c)
{
	struct cilium_listener *l = c->listener;

	for (struct client **at = &l->clients; *at; at = &(*at)->next)
		if (*at == c) {
			*at = c->next;
			break;
		}
	l->stats.clients--;
	add_counts(c, &l->stats);
	loop_remove(c->io);
	close(c->fd);
	client_free(c);
	if (!l->clients && l->o.demand)
		l->o.demand(l->o.ctx, false);
}

/* Appends one notification as a payload. */
static void put_agent(struct buf *out, uint32_t kind, const char *json)
{
	_cleanup_(buf_fini) struct buf b = { 0 };

	cilium_gob_put_agent(&b, kind, json);
	if (!buf_error(&b))
		gob_put_payload(out, &(struct cilium_payload){
			.type = CILIUM_RECORD_SAMPLE, .data = (const uint8_t *)b.data, .len = b.len }, true);
}

/* Queues the type definition, which the first payload takes along, and the start of the agent, sent at once. */
static int greet(struct client *c)
{
	_cleanup_(buf_fini) struct buf b = { 0 };
	char json[96];

	gob_put_payload_type(&b);
	c->greetings = 1;
	if (c->listener->o.started) {
		snprintf(json, sizeof(json), "{\"time\":\"%s\"}", c->listener->o.started);
		put_agent(&b, CILIUM_AGENT_STARTED, json);
		c->greetings++;
		c->fed = true;
		c->writing = true;
	}
	return buf_error(&b) ? buf_error(&b) : broadcast_send(c->queue, b.data, b.len, NULL, 0);
}

/* 1: all is written, 0: the socket is full or the turn over, or -errno, which ends the client. */
static int client_write(struct client *c)
{
	size_t done = 0;

	broadcast_log_sync(c->feed->log);
	while (done < TURN_BYTES) {
		struct iovec iov[WRITE_PIECES];
		struct msghdr m = { .msg_iov = iov };
		bool stable;
		int pieces = broadcast_peek(c->queue, iov, WRITE_PIECES, &stable);
		ssize_t n;

		if (!pieces)
			return broadcast_empty(c->queue) ? 1 : -ENOMEM;
		m.msg_iovlen = (size_t)pieces;
		n = sendmsg(c->fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		broadcast_consume(c->queue, (size_t)n);
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
		if (c->feed != f)
			continue;
		c->fed = true;
		if (c->writing)
			continue;
		c->writing = true;
		loop_set_events(c->io, EPOLLOUT);
	}
}

static struct client *client_new(struct cilium_listener *l, int fd)
{
	_cleanup_(client_freep) struct client *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->listener = l;
	c->fd = fd;
	c->feed = feed_get(l, l->o.viewer ? l->o.viewer(l->o.ctx, fd) : 0);
	c->queue = broadcast_subscribe(l->broadcast, l->o.queue_bytes ? l->o.queue_bytes : QUEUE_BYTES,
				       l->o.queue_records ? l->o.queue_records : QUEUE_RECORDS, NULL);
	if (!c->feed || !c->queue || greet(c) < 0)
		return NULL;
	broadcast_join(c->queue, c->feed->log);
	return TAKE_PTR(c);
}

/* Takes over @fd. */
static int client_add(struct cilium_listener *l, int fd)
{
	_cleanup_close_ int owned = fd;
	_cleanup_(client_freep) struct client *c = client_new(l, fd);
	int r = c ? loop_add_io(l->loop, fd, c->writing ? EPOLLOUT : 0, on_client, c, &c->io) : -ENOMEM;

	if (r < 0)
		return r;
	loop_set_plain(c->io);
	loop_name(c->io, "client of Cilium's socket");
	c->next = l->clients;
	l->clients = TAKE_PTR(c);
	l->stats.clients++;
	l->stats.accepted++;
	TAKE_FD(owned);
	if (l->stats.clients == 1 && l->o.demand)
		l->o.demand(l->o.ctx, true);
	return 0;
}

static void on_connect(void *ctx, int fd)
{
	struct cilium_listener *l = ctx;
	const bool full = l->stats.clients >= l->max_clients;

	if (full)
		close(fd);
	if (full || client_add(l, fd) < 0)
		l->stats.refused++;
}

/* ---- events ---- */

static void add_payload(struct cilium_listener *l, struct feed *f)
{
	if (buf_error(&l->payload) || l->payload.len > GOB_MESSAGE_MAX ||
	    broadcast_log_write(f->log, l->payload.data, l->payload.len, NULL, 0) < 0)
		return;
	l->stats.encoded++;
	wake_clients(l, f);
}

static void on_event(void *ctx, const struct event *ev)
{
	struct cilium_listener *l = ctx;
	struct cilium_payload p;

	if (!l->clients || (l->o.pass && !l->o.pass(l->o.ctx, ev)))
		return;
	for (struct feed *f = l->feeds; f; f = f->next) {
		const struct event *shown = l->o.show ? l->o.show(l->o.ctx, ev, f->viewer) : ev;

		if (cilium_map_event(&l->map, shown, &p) <= 0)
			continue;	/* no memory, or no payload for it */
		buf_reset(&l->payload);
		gob_put_payload(&l->payload, &p, true);
		add_payload(l, f);
	}
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

/* Removes a stale socket. */
static int make_room(const char *path, struct err *err)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : err_errno(err, -errno, "cannot use %s", path);
	if (!S_ISSOCK(st.st_mode))
		return err_set(err, -EEXIST, "%s exists and is not a socket", path);
	fd = unix_socket_connect(path, SOCK_NONBLOCK, err);
	if (fd >= 0 || fd == -EAGAIN)
		return err_set(err, -EADDRINUSE, "another process serves %s (an agent of Cilium, another sonde?)",
			       path);
	if (fd != -ECONNREFUSED)
		return fd;
	return unlink(path) < 0 ? err_errno(err, -errno, "cannot use %s", path) : 0;
}

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Opened now, so that the socket is removed from its own folder even if the path changes. */
static int open_folder(struct cilium_listener *l, const char *path, struct err *err)
{
	size_t len = (size_t)(name_of(path) - path);
	_cleanup_free_ char *folder = len ? strndup(path, len) : strdup(".");

	if (folder)
		l->folder_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return l->folder_fd < 0 ? err_errno(err, -errno, "cannot use %s", path) : 0;
}

/* The listening socket. */
static int bind_socket(struct cilium_listener *l, const struct cilium_listener_opts *o, struct err *err)
{
	const struct group *g = getgrnam(o->group ? o->group : "cilium");
	_cleanup_close_ int fd = -1;
	struct stat st;
	int r;

	if (!g && o->group)
		return err_set(err, -EINVAL, "group %s does not exist", o->group);
	r = make_room(o->path, err);
	if (r >= 0)
		r = open_folder(l, o->path, err);
	if (r < 0)
		return r;
	fd = unix_socket_listen(o->path, g ? g->gr_gid : 0, 0660, err);
	if (fd == -EPERM)
		fd = unix_socket_listen(o->path, 0, 0660, err);
	if (fd < 0)
		return fd;
	l->path = strdup(o->path);
	if (!l->path || fstatat(l->folder_fd, name_of(o->path), &st, AT_SYMLINK_NOFOLLOW) < 0) {
		r = l->path ? -errno : -ENOMEM;
		unlink(o->path);
		return err_errno(err, r, "cannot serve %s", o->path);
	}
	l->dev = st.st_dev;
	l->ino = st.st_ino;
	return TAKE_FD(fd);
}

/*
 * At the end of a run: clients that read get everything, the others are not waited for. A client without payloads
 * gets nothing of the stream: to Go's decoder a type without a value is a stream that was cut.
 */
static void drain_clients(struct cilium_listener *l)
{
	struct pollfd fds[64];
	bool moved = true;

	while (moved) {
		nfds_t n = 0;

		for (struct client *c = l->clients, *next; c; c = next) {
			next = c->next;
			if (!c->fed || client_write(c))
				client_remove(c);	/* all is written, or the client is gone */
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
	bus_unsubscribe(l->bus, &l->sub);
	l->o.demand = NULL;
	drain_clients(l);
	while (l->clients)
		client_remove(l->clients);
	listen_free(l->connections);
	if (l->path && l->opener)
		opener_remove(l->opener);
	else if (l->path)
		cilium_listener_remove_socket(l);
	cleanup_close(&l->folder_fd);
	broadcast_free(l->broadcast);
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
	l->broadcast = broadcast_new(&frame_ops);
	l->loop = loop;
	l->bus = bus;
	l->sub = (struct subscriber){ .event = on_event, .ctx = l };
	l->o = *o;
	l->folder_fd = -1;
	l->max_clients = o->max_clients ? o->max_clients : MAX_CLIENTS;
	r = o->fd ? o->fd : bind_socket(l, o, err);
	if (r < 0)
		return r;
	r = listen_new(loop, r, on_connect, l, &l->connections);
	if (r < 0 || !l->broadcast)
		return err_errno(err, r < 0 ? r : -ENOMEM, "cannot serve %s", o->path);
	bus_subscribe(bus, &l->sub);
	*ret = TAKE_PTR(l);
	return 0;
}

void cilium_listener_stats(const struct cilium_listener *l, struct cilium_listener_stats *ret)
{
	*ret = l->stats;
	for (const struct client *c = l->clients; c; c = c->next)
		add_counts(c, ret);
}
