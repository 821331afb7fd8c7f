/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Server of Cilium's monitor socket, version 1.2, for stock clients (`cilium-dbg monitor` and other readers of that
 * gob stream). It subscribes to the bus; cilium/gob.h has the format, sinks/cilium/cilium_map.h the content.
 * Each event is encoded once per class of clients, and only while clients are connected. A client that is too slow
 * loses payloads, and its stream reports them ("Type 2, Lost n"), which stock clients print. Every payload carries
 * its CPU, also CPU 0, because stock clients keep the previous value otherwise. Clients send nothing.
 */
#ifndef PIPELINE_CILIUM_LISTENER_H
#define PIPELINE_CILIUM_LISTENER_H

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
	const char *group;	/* may connect; NULL = "cilium" if that group exists */
	int fd;			/* listening socket (socket activation), taken over; 0 = none */
	size_t queue_bytes;	/* bound of a client's queue; 0 = 4 MiB. Clients of a class share the memory */
	size_t queue_records;	/* 0 = 65536 */
	unsigned max_clients;	/* 0 = 64 */
	/* Events to serve; NULL = all that have a format. */
	bool (*pass)(void *ctx, const struct event *ev);
	/*
	 * Classes of clients with different views: the class of the client at @fd, and an event as that class may see
	 * it (valid until the next call). NULL: one class.
	 */
	uint32_t (*viewer)(void *ctx, int fd);
	const struct event *(*show)(void *ctx, const struct event *ev, uint32_t viewer);
	/* The first client connected, or the last one left; may be NULL. */
	void (*demand)(void *ctx, bool on);
	/* Start time of the agent for the greeting, RFC 3339; NULL = no greeting. */
	const char *started;
	void *ctx;
};

struct cilium_listener_stats {
	uint64_t clients;	/* connected now */
	uint64_t accepted, refused;
	uint64_t encoded;	/* payloads, once per class */
	uint64_t sent, lost;	/* payloads, over all clients since the start */
};

/*
 * Binds @path (mode 0660) and serves until freed. A stale socket is replaced; -EADDRINUSE if another process listens
 * there, -EEXIST if the path is not a socket. @loop and @bus are borrowed and outlive the listener.
 */
int cilium_listener_new(struct loop *loop, struct bus *bus, const struct cilium_listener_opts *o,
			struct cilium_listener **ret, struct err *err);
/*
 * For a process that gives up its rights before it frees the listener: folder of the socket (-1: socket passed in),
 * and the opener that will remove the socket (borrowed; NULL = this process).
 */
int cilium_listener_folder(const struct cilium_listener *l);
void cilium_listener_set_opener(struct cilium_listener *l, struct opener *opener);
/* Removes the socket file if it is still ours. 0 or -errno. */
int cilium_listener_remove_socket(const struct cilium_listener *l);
/* Writes what clients take at once, closes them, removes the socket file. NULL is fine. */
void cilium_listener_free(struct cilium_listener *l);
/* Agent notification CILIUM_AGENT_MESSAGE to all clients; the text must need no JSON escapes. @l may be NULL. */
void cilium_listener_message(struct cilium_listener *l, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void cilium_listener_stats(const struct cilium_listener *l, struct cilium_listener_stats *ret);

#endif
