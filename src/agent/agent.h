/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon: one live pipeline, any number of clients over unix sockets (doc/protocol.md). Probes are loaded when
 * a client asks for them; clients that ask for the same share an instance. One thread, on the caller's loop.
 */
#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct agent;
struct err;
struct loop;

#define AGENT_DIR "/run/sonde"
#define AGENT_READ_SOCKET "read.sock"
#define AGENT_CONTROL_SOCKET "control.sock"
#define AGENT_PATH AGENT_DIR "/" AGENT_READ_SOCKET	/* where clients look */
#define AGENT_CONTROL_PATH AGENT_DIR "/" AGENT_CONTROL_SOCKET

/* Readers of other users' content: root alone, or the group too. */
enum agent_content_access { AGENT_CONTENT_NONE, AGENT_CONTENT_GROUP, AGENT_CONTENT__MAX };

/* Of the read socket; 0 = the default: agent_limits.c. */
struct agent_limits {
	uint32_t max_clients;		/* connections; the control socket has some more */
	/* Of one user. */
	uint32_t max_connections, max_subscriptions, max_instances;
	uint32_t max_frequency;		/* samples per second and CPU, all its probes together */
	uint64_t max_memory;		/* bytes of kernel memory that options of its probes set */
	/* Of one subscription. */
	uint64_t max_snaplen;		/* bytes of one event */
	uint64_t max_expression;	/* bytes of its words */
	uint64_t min_interval_ns;	/* between two reports of a probe */

	uint64_t idle_ns;		/* without a stream or a request: cut after it when places are short */
};

/* Filled by options and by the configuration file. Texts are borrowed for the agent's life. */
struct agent_conf {
	const char *dir;		/* of the sockets; NULL = AGENT_DIR */
	const char *group;		/* that may read; NULL = sonde */
	struct agent_limits limits;
	unsigned allow_content;		/* enum agent_content_access */
	uint64_t queue_bytes;		/* per client; 0 = 4 MiB */
	uint64_t queue_records;		/* per client; 0 = 262144 */
	uint64_t stall_ns;		/* without progress, then a client is cut; 0 = 60 s */
	uint64_t ring_bytes, latency_ns;
	const char *btf;		/* the running kernel's types; NULL = where they usually are */
	const char *cilium_socket;	/* Cilium's monitor protocol is served there; NULL = it is not */
	const char *cilium_probes;	/* "net,gohttp2": loaded while somebody listens; NULL = net */
	const char *metrics;		/* address of /metrics; NULL = none, see agent_http.h */
	const char *metrics_host;	/* names of this host for it, comma separated; NULL = localhost alone */
	uint64_t cost_every_ns;		/* kernel statistics are on for a second so often; 0 = 15 s */
	bool no_admin;			/* CAP_SYS_ADMIN is given up too: doc/SECURITY.md */
};

/*
 * Loads what every client needs, makes the sockets and gives up rights (of the process, for good). From here on
 * clients are served.
 */
int agent_new(struct loop *loop, const struct agent_conf *conf, struct agent **ret, struct err *err);
int agent_run(struct agent *a, struct err *err);	/* until agent_stop() */
void agent_stop(struct agent *a);
/* What may change while it runs: limits of clients. The texts of @conf are not looked at. */
void agent_reload(struct agent *a, const struct agent_conf *conf);
void agent_free(struct agent *a);			/* NULL is fine */

#endif
