/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The agent's configuration, and where its files are.
 */
#ifndef AGENT_AGENT_CONF_H
#define AGENT_AGENT_CONF_H

#include <stdbool.h>
#include <stdint.h>

#define AGENT_DIR "/run/sonde"
#define AGENT_READ_SOCKET "read.sock"
#define AGENT_CONTROL_SOCKET "control.sock"
#define AGENT_HUBBLE_SOCKET "hubble.sock"
#define AGENT_PATH AGENT_DIR "/" AGENT_READ_SOCKET	/* default of clients */
#define AGENT_RECORD_ROOT "/var/lib/sonde"
#define AGENT_RECORD_DIR AGENT_RECORD_ROOT "/agent"
#define AGENT_CONTROL_PATH AGENT_DIR "/" AGENT_CONTROL_SOCKET

/* Users whose clients see other users' content: root alone, or the members of the group too. */
enum agent_content_access { AGENT_CONTENT_NONE, AGENT_CONTENT_GROUP, AGENT_CONTENT__MAX };

/* Limits of the read socket; 0 = default: agent_limits.c. */
struct agent_limits {
	uint32_t max_clients;		/* connections; the control socket has a few more */
	/* Per user. */
	uint32_t max_connections, max_subscriptions, max_instances;
	uint32_t max_frequency;		/* samples per second and CPU, over all probes */
	uint64_t max_memory;		/* kernel memory set by options, in bytes */
	/* Per subscription. */
	uint64_t max_snaplen;		/* bytes of one event */
	uint64_t max_expression;	/* bytes of the request */
	uint64_t min_interval_ns;	/* between two reports of a probe */

	uint64_t idle_ns;		/* without stream or request: disconnected when connections run short */
};

/* From options and the configuration file. Strings are borrowed for the agent's life. */
struct agent_conf {
	const char *dir;		/* folder of the sockets; NULL = AGENT_DIR */
	const char *group;		/* may connect to the read socket; NULL = sonde */
	struct agent_limits limits;
	unsigned allow_content;		/* enum agent_content_access */
	uint64_t queue_bytes;		/* per client; 0 = 4 MiB */
	uint64_t queue_records;		/* per client; 0 = 262144 */
	uint64_t stall_ns;		/* a client that reads nothing is disconnected; 0 = 60 s */
	uint64_t ring_bytes, latency_ns;
	const char *btf;		/* path of kernel BTF; NULL = default paths */
	const char *cilium_socket;	/* path of Cilium's monitor socket; NULL = not served */
	const char *cilium_probes;	/* "net,gohttp2": run while its clients are connected; NULL = net */
	const char *metrics;		/* address of /metrics; NULL = none: agent_http.h */
	const char *metrics_host;	/* host names for /metrics, comma-separated; NULL = localhost only */
	const char *metrics_families;	/* of tables/metrics.def, comma-separated; "+pid": a further label; NULL = the
					 * agent's own only */
	uint64_t metrics_interval_ns;	/* between reports of their sums; 0 = 5 s */
	const char *otlp_metrics;	/* URL of a server that gets them; NULL = none */
	const char *ui;			/* address of the page: http_listen_check(); NULL = none */
	const char *ui_set;		/* sets or probes of the page: record/record_sets.h; NULL = normal */
	const char *ui_address;		/* of the page, with its token */
	int ui_fd;			/* of the process that starts its server: agent_server.h */
	bool hubble;			/* serve Hubble's clients on AGENT_HUBBLE_SOCKET */
	const char *hubble_listen;	/* and at this loopback address; NULL = none */
	const char *hubble_shown;	/* both, for sonde status */
	int hubble_fd;			/* as ui_fd */
	const char *record;		/* sets or probes to record: record/record_sets.h; NULL or "off" = none */
	const char *record_dir;		/* path of the store; NULL = none unless `record` is set: AGENT_RECORD_DIR */
	uint64_t record_size;		/* of the store; 0 = 10 GiB */
	uint64_t record_age_ns;		/* segments older than this are removed; 0 = no limit */
	uint64_t record_keep_ns;	/* flight recorder: kept in memory, dumps are written; 0 = all is written */
	uint64_t cost_every_ns;		/* interval of the one-second cost measurement; 0 = 15 s */
	/*
	 * Connected socket of the only client, with all rights: no other sockets are made, and the agent stops when
	 * it leaves. Taken over; 0 = none.
	 */
	int client_fd;
	bool no_admin;			/* give up CAP_SYS_ADMIN too: doc/SECURITY.md */
};

#endif
