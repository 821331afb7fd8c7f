// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Parent side of the HTTP process: bounded message queue, and the ledger of items. Knows nothing of HTTP.
 */
#include "http_client/http_client.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/macros.h"
#include "http_client/http_client_child.h"
#include "http_client/http_client_keeper.h"
#include "loop/loop.h"
#include "worker/worker.h"

#define QUEUE_BYTES (8u << 20)
#define PATIENCE_NS (60ull * 1000000000)
#define READY_NS (10 * NS_PER_S)
#define MEMORY_BYTES (1024ull << 20)	/* address space: shared libraries and the resolver's thread stacks */

struct message {
	struct message *next;
	size_t len;		/* header included */
	char data[];		/* struct http_client_head, then the body */
};

struct http_client {
	struct http_client_opts o;
	struct http_client_child child; /* owns url */
	struct worker *worker;		/* NULL = the process has ended */
	int fd;				/* socket to the process; non-blocking; less than a message may fill it */
	struct loop_source *room;	/* of fd; NULL without a loop */
	struct message *first, **last;
	size_t sent;			/* bytes of the first message already sent */
	uint64_t queued_bytes;
	uint64_t in_flight;		/* items in the process, not answered yet */
	uint64_t messages;		/* in flight */
	struct http_client_stats stats;
	struct http_client_answer answer; /* partly received answer */
	size_t answer_len;
	char why[112];			/* last error */
	bool told;			/* that the process ended */
};

bool http_client_is_url(const char *path)
{
	return path && (!strncasecmp(path, "http://", 7) || !strncasecmp(path, "https://", 8));
}

/* ---- answers ---- */

static void report(struct http_client *p, enum http_client_outcome outcome, const char *why)
{
	if (p->o.answered)
		p->o.answered(p->o.answered_ctx, outcome, why);
}

static void note_end(struct http_client *p, const struct http_client_answer *a)
{
	char text[288];

	if (p->told || !p->o.news)
		return;
	p->told = true;
	snprintf(text, sizeof(text), "%.120s: %.*s and is started again", p->o.url, (int)sizeof(a->why) - 1, a->why);
	p->o.news(p->o.news_ctx, text);
}

static void take_answer(struct http_client *p, const struct http_client_answer *a)
{
	uint64_t n = MIN((uint64_t)a->n, p->in_flight), rejected = MIN((uint64_t)a->rejected, n);
	char why[sizeof(a->why)];

	if (a->outcome == POST_ENDED) {
		note_end(p, a);
		return;
	}
	p->in_flight -= n;
	snprintf(why, sizeof(why), "%.*s", (int)sizeof(a->why) - 1, a->why);
	if (p->messages) {
		p->messages--;
		report(p, a->outcome < POST__MAX ? a->outcome : POST_UNREACHED, why);
	}
	p->stats.posts += a->tries;
	p->stats.retries += a->tries ? a->tries - 1 : 0;
	if (a->outcome == POST_DELIVERED) {
		p->stats.delivered += n - rejected;
		p->stats.lost_refused += rejected;
	} else if (a->outcome == POST_REFUSED) {
		p->stats.lost_refused += n;
	} else {
		p->stats.lost_unreached += n;
	}
	if (a->why[0])
		snprintf(p->why, sizeof(p->why), "%.*s", (int)sizeof(a->why) - 1, a->why);
}

/* Receives one answer into p->answer. 1 = complete, 0 = not yet, -EPIPE at the end. */
static int read_answer(struct http_client *p)
{
	ssize_t n;

	if (!p->worker)
		return -EPIPE;
	while (p->answer_len < sizeof(p->answer)) {
		n = TEMP_FAILURE_RETRY(read(worker_fd(p->worker), (char *)&p->answer + p->answer_len,
					    sizeof(p->answer) - p->answer_len));
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n <= 0)
			return -EPIPE;
		p->answer_len += (size_t)n;
	}
	p->answer_len = 0;
	return 1;
}

/* Counts the items of a process that ended as lost. */
static void bury_child(struct http_client *p)
{
	struct err err = { 0 };
	int r;

	if (!p->worker)
		return;
	r = worker_finish(TAKE_PTR(p->worker), NS_PER_S, &err);
	if (p->in_flight)
		snprintf(p->why, sizeof(p->why), "%.*s", (int)sizeof(p->why) - 1,
			 r ? err.msg : "the process that sends ended");
	p->stats.lost_unreached += p->in_flight;
	p->in_flight = 0;
	for (; p->messages; p->messages--)
		report(p, POST_UNREACHED, p->why);
}

static void take_answers(struct http_client *p)
{
	int r;

	while ((r = read_answer(p)) > 0)
		take_answer(p, &p->answer);
	if (r < 0)
		bury_child(p);
}

/* ---- messages ---- */

static void drop_first(struct http_client *p)
{
	struct message *m = p->first;

	p->first = m->next;
	if (!p->first)
		p->last = &p->first;
	p->queued_bytes -= m->len;
	p->sent = 0;
	free(m);
}

static uint32_t things(const struct message *m)
{
	struct http_client_head h;

	memcpy(&h, m->data, sizeof(h));
	return h.n;
}

static void send_messages(struct http_client *p)
{
	while (p->worker && p->first) {
		struct message *m = p->first;
		ssize_t n = TEMP_FAILURE_RETRY(
			send(p->fd, m->data + p->sent, m->len - p->sent, MSG_NOSIGNAL | MSG_DONTWAIT));

		if (n <= 0)	/* full; or the process ended, which the answers will show */
			return;
		if (!p->sent) {
			p->in_flight += things(m);
			p->messages++;
		}
		p->sent += (size_t)n;
		if (p->sent == m->len)
			drop_first(p);
	}
}

/* A message not even partly sent was never in flight. */
static void lose_queue(struct http_client *p)
{
	while (p->first) {
		if (!p->sent) {
			p->stats.lost_unreached += things(p->first);
			report(p, POST_UNREACHED, p->why);
		}
		drop_first(p);
	}
}

void http_client_pump(struct http_client *p)
{
	take_answers(p);
	send_messages(p);
	if (!p->worker)
		lose_queue(p);
}

void http_client_wait(struct http_client *p, uint64_t timeout_ns)
{
	struct pollfd fds[] = {
		{ .fd = p->worker ? worker_fd(p->worker) : -1, .events = POLLIN },
		{ .fd = p->fd, .events = p->first ? POLLOUT : 0 },
	};

	if (p->worker)
		poll(fds, ARRAY_SIZE(fds), (int)(timeout_ns / NS_PER_MS) + 1);
}

void http_client_put(struct http_client *p, const void *data, size_t len, size_t n)
{
	const struct http_client_head head = { .len = (uint32_t)len, .n = (uint32_t)n };
	struct message *m = NULL;

	p->stats.items += n;
	http_client_pump(p);
	while (p->o.wait && p->worker && p->queued_bytes + len > p->o.queue_bytes && p->first) {
		http_client_wait(p, NS_PER_S);
		http_client_pump(p);
	}
	if (len <= POST_MESSAGE_MAX && (p->queued_bytes + len <= p->o.queue_bytes || !p->first))
		m = malloc(sizeof(*m) + sizeof(head) + len);
	if (!m) {
		p->stats.lost_queue += n;
		if (!p->why[0])
			snprintf(p->why, sizeof(p->why), "the queue was full");
		report(p, POST_UNREACHED, p->why);
		return;
	}
	m->next = NULL;
	m->len = sizeof(head) + len;
	memcpy(m->data, &head, sizeof(head));
	memcpy(m->data + sizeof(head), data, len);
	*p->last = m;
	p->last = &m->next;
	p->queued_bytes += m->len;
	http_client_pump(p);
}

void http_client_stats(const struct http_client *p, struct http_client_stats *ret)
{
	*ret = p->stats;
}

/* ---- life ---- */

void http_client_free(struct http_client *p)
{
	if (!p)
		return;
	worker_kill(p->worker);
	loop_remove(p->room);
	if (p->fd >= 0)
		close(p->fd);
	while (p->first)
		drop_first(p);
	free(p->child.url);
	free(p);
}
DEFINE_CLEANUP(struct http_client *, http_client_free)

/* "http://HOST[:PORT][/PATH]" with a path. Owned; NULL if it is not a URL, or without memory. */
static char *full_url(const struct http_client_opts *o)
{
	const char *host = strstr(o->url, "://"), *path;
	char *url = NULL;

	for (const char *s = o->url; *s; s++)
		if (!isgraph((unsigned char)*s))
			return NULL;
	if (!http_client_is_url(o->url) || !host[3] || strchr("/:?#", host[3]))
		return NULL;
	path = strchr(host + 3, '/');
	if (path && path[1])
		return strdup(o->url);
	return asprintf(&url, "%.*s%s", (int)(path ? path - o->url : (ptrdiff_t)strlen(o->url)), o->url,
			o->path ? o->path : "/") < 0 ? NULL : url;
}

static int wait_ready(struct http_client *p, struct err *err)
{
	struct pollfd fd = { .fd = worker_fd(p->worker), .events = POLLIN };
	uint64_t end_ns = clock_boot_ns() + READY_NS, now;
	int r;

	while ((r = read_answer(p)) == 0 && (now = clock_boot_ns()) < end_ns)
		poll(&fd, 1, (int)((end_ns - now) / NS_PER_MS) + 1);
	if (r <= 0)
		return err_set(err, -ECHILD, "%s: the sending process did not start", p->o.url);
	if (p->answer.outcome != POST_READY)
		return err_set(err, -ENOSYS, "%s: %.*s", p->o.url, (int)sizeof(p->answer.why), p->answer.why);
	return 0;
}

static int on_room(void *ctx, _unused_ int fd, _unused_ uint32_t events)
{
	http_client_pump(ctx);
	return 0;
}

static int start_child(struct http_client *p, struct err *err)
{
	const struct worker_opts w = { .name = "sonde-keeper", .memory_bytes = MEMORY_BYTES, .network = true };
	_cleanup_close_ int theirs = -1;
	int pair[2], r;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_errno(err, -errno, "%s: cannot start the sending process", p->o.url);
	p->fd = pair[0];
	theirs = pair[1];
	r = worker_start(&w, http_client_keeper, &p->child, theirs, &p->worker, err);
	if (r < 0)
		return r;
	r = p->o.loop ? loop_add_io(p->o.loop, p->fd, EPOLLOUT | EPOLLET, on_room, p, &p->room) : 0;
	if (r < 0)
		return err_errno(err, r, "%s: cannot start the sending process", p->o.url);
	fcntl(worker_fd(p->worker), F_SETFL, O_NONBLOCK);
	return wait_ready(p, err);
}

int http_client_open(const struct http_client_opts *o, struct http_client **ret, struct err *err)
{
	_cleanup_(http_client_freep) struct http_client *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return err_errno(err, -ENOMEM, "cannot open %s", o->url);
	p->o = *o;
	p->fd = -1;
	p->last = &p->first;
	p->o.queue_bytes = o->queue_bytes ? o->queue_bytes : QUEUE_BYTES;
	p->o.close_ns = o->close_ns ? o->close_ns : HTTP_CLIENT_CLOSE_NS;
	p->child.path = o->path;
	p->child.type = o->type;
	p->child.deliver = o->deliver;
	p->child.headers = o->headers;
	p->child.answer_ms = o->answer_ms;
	p->child.ctx = o->deliver_ctx;
	p->child.patience_ns = o->patience_ns ? o->patience_ns : PATIENCE_NS;
	p->child.url = full_url(o);
	if (!p->child.url)
		return err_set(err, -EINVAL,
			       "%s is not the URL of a server: expected http://HOST:PORT or https://HOST", o->url);
	p->o.url = p->child.url;
	r = start_child(p, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(p);
	return 0;
}

/* Waits until all items are answered for, or the time is over. */
static void finish(struct http_client *p)
{
	uint64_t now, end_ns = clock_boot_ns() + p->o.close_ns;

	http_client_pump(p);
	while (p->worker && (p->first || p->in_flight) && (now = clock_boot_ns()) < end_ns) {
		http_client_wait(p, end_ns - now);
		http_client_pump(p);
	}
	if (p->worker && p->in_flight && !p->why[0])
		snprintf(p->why, sizeof(p->why), "no answer before the end");
	worker_kill(TAKE_PTR(p->worker));
	p->stats.lost_unreached += p->in_flight;
	p->in_flight = 0;
	lose_queue(p);
}

int http_client_close(struct http_client *p, struct http_client_stats *ret, struct err *err)
{
	const struct http_client_stats *s = &p->stats;
	uint64_t lost;
	int r = 0;

	finish(p);
	lost = s->lost_queue + s->lost_refused + s->lost_unreached;
	if (ret)
		*ret = *s;
	if (lost)
		r = err_set(err, -EIO,
			    "%s: lost %llu of %llu %s (%llu refused, "
			    "%llu not sent in time, %llu over the queue limit): %s",
			    p->o.url, (unsigned long long)lost, (unsigned long long)s->items, p->o.things,
			    (unsigned long long)s->lost_refused, (unsigned long long)s->lost_unreached,
			    (unsigned long long)s->lost_queue, p->why);
	http_client_free(p);
	return r;
}
