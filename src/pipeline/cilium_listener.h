/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cilium's monitor socket, version 1.2, served: what stock clients (`cilium-dbg monitor`, anything that reads that
 * gob stream) connect to. A subscriber of the bus like any other; the format is cilium/gob.h, what goes out is
 * sinks/cilium/cilium_map.h.
 *
 * Each event is encoded once, and only while somebody listens. A client that is too slow loses records and is told so
 * in its stream ("Type 2, Lost n"), which stock clients print; nobody waits for it. Every payload has its CPU, also
 * CPU 0, because stock clients keep the last one they saw. Clients send nothing; whoever hangs up is gone at once.
 */
#ifndef AGENT_CILIUM_LISTENER_H
#define AGENT_CILIUM_LISTENER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bus;
struct cilium_listener;
struct err;
struct event;
struct loop;
struct opener;

struct cilium_listener_opts {
	const char *path;	/* of the socket */
	const char *group;	/* that may connect; NULL = "cilium" if there is one */
	int fd;			/* a socket that listens already (socket activation), owned from here on; 0 = none */
	size_t queue_bytes;	/* bound of a client's queue; 0 = 4 MiB. Clients of a class share its memory */
	size_t queue_records;	/* 0 = 65536 */
	unsigned max_clients;	/* 0 = 64 */
	/* Which events go out; NULL = all that have a form. */
	bool (*pass)(void *ctx, const struct event *ev);
	/*
	 * Clients may see different things: the class of the client at @fd, and an event as that class sees it (valid
	 * until the next call). NULL: all see the same.
	 */
	uint32_t (*viewer)(void *ctx, int fd);
	const struct event *(*show)(void *ctx, const struct event *ev, uint32_t viewer);
	/* Somebody listens from now on, or nobody any more; may be NULL. */
	void (*wanted)(void *ctx, bool wanted);
	/* What a client is told first: when the agent started, RFC 3339; NULL = nothing. */
	const char *started;
	void *ctx;
};

struct cilium_listener_stats {
	uint64_t clients;	/* now */
	uint64_t accepted, refused;
	uint64_t encoded;	/* payloads, once each and class */
	uint64_t sent, lost;	/* payloads, summed over clients, those that left too */
};

/*
 * Binds @path (mode 0660) and serves until freed. A socket that nobody listens on is replaced; -EADDRINUSE when
 * somebody does, -EEXIST when something else is there. @loop and @bus are borrowed and outlive it.
 */
int cilium_listener_new(struct loop *loop, struct bus *bus, const struct cilium_listener_opts *o,
			struct cilium_listener **ret, struct err *err);
/*
 * For a process that gives up its rights before it frees the listener: the folder of the socket (-1: the socket was
 * passed in), and the opener that removes the socket in the end (borrowed; NULL = this process does).
 */
int cilium_listener_folder(const struct cilium_listener *l);
void cilium_listener_set_opener(struct cilium_listener *l, struct opener *opener);
/* At once, if it is still ours. 0 or -errno. */
int cilium_listener_remove_socket(const struct cilium_listener *l);
/* Sends what clients take at once, closes, removes the socket if it is still ours. NULL is fine. */
void cilium_listener_free(struct cilium_listener *l);
/* Agent notification CILIUM_AGENT_MESSAGE to all clients; the text must need no JSON escapes. @l may be NULL. */
void cilium_listener_message(struct cilium_listener *l, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void cilium_listener_stats(const struct cilium_listener *l, struct cilium_listener_stats *ret);

#endif
