/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside src/agent only: the daemon's parts. Instances (agent_inst.c) are what clients' subscriptions
 * (agent_sub.c) share; connections (agent_conn.c) carry bytes.
 */
#ifndef AGENT_AGENT_IMPL_H
#define AGENT_AGENT_IMPL_H

#include <sys/types.h>

#include "agent/agent.h"
#include "agent/agent_limits.h"
#include "agent/agent_rights.h"
#include "pipeline/pipeline.h"
#include "base/arena.h"
#include "base/buf.h"
#include "loop/coop.h"
#include "base/err.h"
#include "loop/hold.h"
#include "base/opt.h"
#include "base/rights.h"
#include "base/vec.h"
#include "ipc/broadcast.h"
#include "ipc/listen.h"
#include "ipc/proto.h"
#include "event/event.h"
#include "sonde/wire.h"

#define NS_PER_MS 1000000ULL
#define NS_PER_S 1000000000ULL

struct agent;
struct filter;
struct output;
struct session;
struct vmsplice_sender;

/* ---- what a client asks for, as words ---- */

/* One probe of a subscription. Everything points into the words. */
struct want {
	const struct probe_ops *ops;
	VEC(char *) args;		/* [0] is the probe's name, then its options */
};

struct request {
	char *text;			/* owned copy of the words */
	VEC(struct want) wants;
	struct opt_strv pids, comms, cgroups, netns, netns_inodes;
	const char *where, *fields;
	bool exclude_self;
	const struct agent_conn *by;	/* whose limits hold; NULL = the agent's own */
	size_t bytes;			/* of the words */
};

int agent_inst_request_parse(const struct proto_frame *f, struct request *ret, struct err *err);
void agent_inst_request_fini(struct request *q);

/* ---- content ---- */

struct agent_conn;

#define UID_ALL ((uint32_t)-1)	/* sees the content of all users */
#define UID_NONE ((uint32_t)-2)	/* and this of none */

/* User whose content a connection sees, or UID_ALL. */
uint32_t agent_content_of(const struct agent *a, const struct peer *p, uint32_t rights);
/*
 * @r as @viewer may see it: @r, or a copy without content that holds until the next call; NULL: not at all.
 */
const struct sonde_rec *agent_content_record(struct agent *a, const struct sonde_rec *r, uint32_t viewer);
/* Likewise of an event: *ret when something is hidden. Its sections live in @scratch. */
const struct event *agent_content_event(struct agent *a, const struct event *ev, uint32_t viewer,
					struct arena *scratch, struct event *ret);
/* Before a record is decoded and after it was handled (NULL): what its events are from. */
void agent_content_at_hand(struct agent *a, const struct sonde_rec *r);
/*
 * Filters that the kernel decides must not tell a reader what he may not see: those of calls are left out of @q, of
 * packets they are refused (-EPERM).
 */
int agent_content_check(const struct agent_conn *c, struct request *q, struct err *err);
/* Streams with everybody's content are logged, at their beginning (@q) and at their end (NULL). */
void agent_content_log(const struct agent_conn *c, const struct request *q);

/* ---- instances ---- */

struct inst {
	uint16_t number;
	bool quiet;			/* detached: no record comes any more */
	bool starting;			/* its first user's snapshot is not complete */
	struct buf key;			/* the words that made it: equal ones share it */
	struct want want;		/* owned words, see text */
	char *text;
	void *conf;			/* of the probe; owned */
	struct opt_strv netns;
	VEC(uint32_t) pids;
	VEC(uint32_t) netns_inodes;
	VEC(uint64_t) cgroups;
	struct opt_strv comms;
	struct probe_select select;	/* the lists above */
	struct inst_use use;
	unsigned refs;			/* subscriptions, and one of "attach" */
	bool attached;			/* by the verb */
	unsigned n_decode;		/* views that want its events */
};

/*
 * Finds or starts the instance for the @i-th probe of @q and counts a reference. When all places are taken the filter
 * that the kernel was to decide is given up (in @q), so that several can share one.
 */
int agent_inst_get(struct agent *a, struct request *q, size_t i, uint16_t *ret, struct err *err);
/* All of agent_inst_get() that looks at what the client sent, and nothing else. For tests. */
int agent_inst_check(struct agent *a, const struct request *q, size_t i, struct err *err);
void agent_inst_started(struct agent *a, uint32_t mask); /* 1u << instance: snapshots are complete */
void agent_inst_put(struct agent *a, uint16_t instance); /* the last one removes it */
/* Likewise, of all of @mask (1u << instance), which may happen later: for handlers of the loop. */
void agent_inst_put_later(struct agent *a, uint32_t mask);
void agent_inst_quiet(struct agent *a, uint16_t instance); /* detaches and reads the rest; once */
/* Reads the counts of all instances; what they say was lost is in the stream then. */
void agent_inst_refresh(const struct agent *a);
/* The kernel's counts as they were read last. */
void agent_inst_ledger(const struct agent *a, uint16_t instance, struct sonde_ledger *ret);
void agent_inst_free_all(struct agent *a);

/* ---- views: what subscriptions share that ask for the same ---- */

struct view;

/* What became of the records of one instance: offered = written for clients + filtered + unwritten. */
struct view_count {
	uint64_t offered, filtered;
	uint64_t unwritten;		/* no memory for the event */
	uint64_t summed;		/* told of as a number: SONDE_EV_COUNTED */
};

/* Finds or makes the one of @viewer for the instances of @mask and counts a reference. */
int shared_subscription_get(struct agent *a, const struct request *q, uint32_t mask, uint32_t viewer,
			    struct view **ret, struct err *err);
void shared_subscription_put(struct view *v); /* NULL is fine; clients left its log */
struct broadcast_log *shared_subscription_log(const struct view *v);
const struct view_count *shared_subscription_counts(const struct view *v, uint16_t instance);
struct view *shared_subscription_next(const struct view *v); /* of the agent's list */
void shared_subscription_event(struct view *v, const struct event *ev);
void shared_subscription_record(struct view *v, const struct sonde_rec *r);

static inline bool record_is_core(const struct sonde_rec *r)
{
	return r->type >> 8 == 0;
}
/* What the books count: no state, nothing of the pipeline itself. */
bool shared_subscription_record_counts(const struct sonde_rec *r);
/* Is it for who sees the instances of @mask? */
bool shared_subscription_record_concerns(const struct sonde_rec *r, uint32_t mask);

/* ---- subscriptions ---- */

struct agent_sub {
	bool on;
	uint32_t mask;			/* 1u << instance, 0 (proc) included while it is on */
	struct view *view;		/* NULL until its instances are known */
	struct view_count base[SONDE_INSTANCES];	/* the view's when it began */
	struct sonde_ledger ledger[SONDE_INSTANCES];	/* the kernel's when it began */
	uint64_t lost[SONDE_INSTANCES];	/* records, in its queue */
	pid_t excluded;			/* the client's own process; 0 = none */
};

/*
 * A request that loads, attaches or detaches. It is a job on the pipeline's second thread, and the connection does
 * not go while it runs.
 */
struct agent_request {
	struct coop_job job;
	uint16_t type;			/* PROTO_SUBSCRIBE, PROTO_STOP or PROTO_CALL */
	struct buf payload;		/* of its frame */
	size_t verb_off;		/* of a call, in the payload */
	int result;
	struct err err;
	struct buf text;		/* the reply to a call */
};

struct agent_conn {
	struct agent *a;
	struct agent_conn *prev, *next;
	int fd;
	struct loop_source *io;
	struct peer peer;
	unsigned place;			/* lowest that was free when it came */
	uint32_t rights;		/* PROTO_RIGHT_* */
	uint32_t viewer;		/* agent_content_of() */
	struct session *session;
	struct agent_request request;
	struct broadcast_sub *queue;
	struct agent_sub sub;
	int passed;			/* descriptor that came last, on a control socket; -1 = none */
	bool waits_out;			/* the socket is full */
	bool dying;			/* closes when the queue is empty */
	bool gone;			/* to be freed */
	uint64_t since_ns;
	uint64_t heard_ns;		/* last bytes from it, or end of its stream */
	uint64_t moved_ns;		/* last time that bytes went out, or that there was nothing to send */
	uint64_t dead_ns;		/* a dying one is closed then */
};

int agent_sub_begin(struct agent_conn *c, const struct proto_frame *f, struct err *err);
int agent_sub_end(struct agent_conn *c, const char *reason); /* ledger and end are queued */
void agent_sub_drop(struct agent_conn *c);		     /* without a word */
/* A record while the snapshot for @c is made. */
void agent_sub_snapshot(struct agent_conn *c, const struct sonde_rec *r);

/* ---- connections ---- */

void agent_conn_new(struct agent *a, int fd, uint32_t rights);
void agent_conn_free(struct agent_conn *c);
int agent_conn_send(struct agent_conn *c, const struct buf *frames);
/* A record for this client alone, beyond its budget. */
int agent_conn_send_record(struct agent_conn *c, const struct sonde_rec *r);
void agent_conn_flush(struct agent_conn *c);
void agent_conn_tick(struct agent_conn *c, uint64_t now_ns);
extern const struct broadcast_ops conn_fan_ops; /* what frames are; losing() is told agent_conn */

/* ---- counts ---- */

/* Of one instance's programs; runs and time are those while the kernel's statistics were on. */
struct inst_cost { uint16_t instance; unsigned programs; uint64_t runs, ns; };

const char *agent_metrics_probe(const struct agent *a, uint16_t instance); /* NULL = there is none */
void agent_metrics_inst_cost(const struct agent *a, uint16_t instance, struct inst_cost *ret);
uint64_t agent_metrics_ledger_lost(const struct sonde_ledger *l);
uint64_t agent_lag_ns(const struct agent *a);	/* between a record and its reading: the most of a second */
uint64_t agent_memory(void);			/* resident bytes */
void agent_metrics_write(const struct agent *a, bool openmetrics, struct buf *out);

/* ---- clients of Cilium's monitor ---- */

int agent_cilium_open(struct agent *a, struct err *err);	/* 0 also when it is not to be served */
bool agent_cilium_wants(const struct agent *a, uint16_t instance);
void agent_cilium_tell(struct agent *a, const char *what, const char *probe);

/* ---- captures that it writes itself ---- */

struct verb_args {
	const char *const *items;	/* behind the verb */
	size_t n;
	const char *end;		/* of the last one */
	int *fd;			/* came with the request, for who takes it; -1 = none */
};

struct capture;

int agent_capture_call(struct agent *a, const struct verb_args *args, struct buf *out, struct err *err);
int agent_capture_dump_call(struct agent *a, const struct verb_args *args, struct buf *out, struct err *err);
void agent_capture_flush(struct agent *a);
void agent_capture_say(const struct agent *a, struct buf *out);
void agent_capture_end(struct agent *a);
/* The client for which the calling job makes a snapshot, or NULL. The loop handles other records meanwhile. */
const struct agent_conn *agent_snapshot(const struct agent *a);
void agent_drain(struct agent *a);		/* reads what is in the rings, with the rights for it */

/* ---- holds of the loop: agent_hold.c ---- */

#define HOLD_NS (50 * NS_PER_MS) /* longer ones are logged */

void agent_hold_watch_begin(struct agent *a);
void agent_hold_say(const struct hold *h, struct buf *out); /* the line of `status` */

/* ---- verbs ---- */

/* Does the verb load, attach or detach, and may @c call it? */
bool agent_verbs_takes_time(const struct agent_conn *c, const char *verb);
int agent_verbs_call(struct agent_conn *c, const char *verb, const struct proto_frame *f, const char *verb_at,
		     struct buf *out, struct err *err);

/* ---- the whole ---- */

struct agent_totals {
	uint64_t connections, refused, cut;	/* since the start */
	char last_cut[160];			/* who and why */
};

struct agent {
	struct loop *loop;
	struct agent_conf conf;
	struct pipeline *pipeline;
	struct broadcast *fan;
	struct view *views;
	struct capture *captures;
	struct vmsplice_sender *vmsplice_sender;
	struct sock_dir *dir;
	bool complained;		/* that a socket cannot be made again */
	struct listener *read, *control;
	struct agent_conn *conns;
	unsigned n_conns;
	gid_t gid;			/* that may read; 0 = root alone */
	struct inst *insts[SONDE_INSTANCES];	/* NULL = free; 0 is proc's and stays so */
	struct agent_conn *snapshot_for;	/* who gets what is a snapshot */
	struct agent_totals totals;
	uint64_t start_ns;
	uint32_t netns;
	unsigned n_cpus;		/* possible ones */
	struct agent_rights rights;
	struct cilium_listener *cilium;		/* NULL = not served */
	uint32_t cilium_mask;			/* 1u << instance: its clients' */
	bool cilium_on;				/* they want their probes */
	bool cilium_starting;			/* which are being started */
	struct coop_job cilium_job;		/* starts and ends them */
	char started[32];			/* as text, for them */
	struct agent_http *http;		/* likewise */
	/* ns: the most of this second, of the one before; look: at the next record */
	struct { uint64_t now, last; bool look; } lag;
	/* The last answers to status and counters: agent_verbs.c. */
	struct said { struct buf text; uint64_t since_ns; unsigned n; } said[2];
	struct {
		struct buf copy;	/* of a record */
		struct event shown;	/* to Cilium's clients, with its sections */
		struct arena scratch;
		bool unsure;		/* whose the record at hand is */
	} content;
	struct {
		uint64_t again_ns;
		unsigned n;
	} held;						/* when the next is logged, and how many were not */
	struct { int fd; uint64_t since_ns; } cost;	/* the kernel's statistics while fd is there (-1 = off) */
};

#endif
