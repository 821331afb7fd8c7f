/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State behind events with SEC_PARAMS: threads, descriptors, users, containers, folded from the rows at the start of
 * a stream and from its events, as sysdig's readers do. Live and replayed streams take the same path; nothing here
 * reads /proc or a clock.
 *
 * Rows replace the state of their thread or descriptor, so a live source repairs it after lost records by injecting
 * the rows of a task.
 */
#ifndef SCAP_STATE_H
#define SCAP_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/map.h"
#include "event/params.h"
#include "event/value.h"

struct arena;
struct event;
struct scap_event_info;
struct scap_fdtable;
struct scap_render_opts;
struct state;

/* A shared, immutable string with a NUL behind it. NULL = unknown. */
struct scap_str {
	uint32_t refs, len;
	char data[];
};

enum scap_role { SCAP_ROLE_NONE, SCAP_ROLE_CLIENT, SCAP_ROLE_SERVER, SCAP_ROLE__MAX };

#define SCAP_FD_CONNECTED 1u
#define SCAP_FD_CLOSING 2u	/* between close enter and its exit */
#define SCAP_FD_CANCELED 4u	/* the number was given away again meanwhile */
#define SCAP_FD_FROM_ROW 8u
#define SCAP_FD_FROM_KERNEL 16u	/* by a live event's open file: no call or row said what it is */

struct scap_fd {
	uint32_t refs;
	uint64_t serial;		/* the same in its copies for other processes, in no other descriptor */
	uint8_t type;			/* FD_* of scap/block.h; 0 = unknown */
	uint8_t l4;			/* 0 unknown, 1 none, 2 tcp, 3 udp, 4 icmp, 5 raw */
	uint8_t role;			/* enum scap_role */
	uint8_t flags;			/* SCAP_FD_* */
	uint32_t open_flags, dev;
	uint64_t ino;
	struct ipaddr sip, dip;		/* client and server side once the role is known; a listener has dip alone */
	uint16_t sport, dport;
	uint64_t unix_source, unix_dest;
	uint64_t file;			/* number of the open file that a live event had here; 0 = none had */
	uint32_t file_dev;		/* its device: major << 20 | minor */
	struct scap_str *name;		/* owned reference */
};

struct scap_thread {
	int64_t tid, pid, ptid, sid, vpgid, vtid, vpid;
	uint32_t uid, gid, loginuid, flags;	/* flags: SCAP_CLONE_* */
	int64_t fdlimit;
	uint32_t vmsize_kb, vmrss_kb, vmswap_kb, tty;
	uint64_t pfmajor, pfminor;
	struct scap_str *comm, *exe, *exepath, *cwd, *root, *container;	/* owned references */
	struct scap_str *args, *env, *cgroups;	/* NUL-terminated strings, one behind the other */
	struct scap_fdtable *fds;		/* owned reference; of a thread NULL: its process has them */
	uint64_t cgroup_id;			/* of a live event; 0 = none said it */
	uint64_t exec_ns;			/* CPU time, from context switches */
	uint64_t clone_ns, n_threads;		/* threads beside the main one */
	uint64_t known_ns;			/* time of the event or row that added it; 0 = before the start */
	uint64_t program;			/* number of the image that gave the name; 0 = not the engine */
	bool exe_writable, invented;		/* invented: known from its events only */

	/* of the event before this one */
	uint16_t last_type;
	int64_t last_fd;
	uint64_t enter_ns, latency_ns;
	struct buf enter;			/* SEC_PARAMS of the last enter event */
	void *proc_section;			/* owned: SEC_PROC, made when asked for */
	uint32_t proc_len;
};

#define SCAP_CLONE_THREAD (1u << 13)
#define SCAP_CLONE_INVERTED (1u << 16)	/* the child's clone event came before the parent's */
#define SCAP_CLONE_IN_PIDNS (1u << 29)

/* State of one event. ev->view points to it until the next event. */
struct scap_view {
	const struct scap_state *state;
	const struct scap_event_info *info;
	struct params p;			/* of the event */
	struct params enter;			/* of its enter event; enter.n 0 = none */
	const struct scap_thread *thread;	/* NULL: not known */
	const struct scap_thread *process;	/* its main thread, or itself */
	const struct scap_fd *fd;		/* the descriptor it is about; NULL = none */
	int64_t fd_num;				/* -1 = none */
	uint16_t cpu;
	uint64_t num;				/* of the event in its stream, filtered ones counted */
	uint64_t ts_ns;				/* since 1970, or since boot while the wall clock is unknown */
	uint64_t delta_ns;			/* since the event before */
	uint64_t first_ns;			/* time of the first event */
	uint64_t exec_ns;			/* of who leaves the CPU: time on it; 0 = not known */
};

struct scap_state *scap_state_new(void);
void scap_state_free(struct scap_state *st);

/* Names and programs of live processes come from @engine (borrowed), those of captures from their calls. */
void scap_state_set_engine(struct scap_state *st, struct state *engine);

/*
 * Takes @ev into account. An event with SEC_PARAMS gets ev->view (borrowed until the next call) and its tgid, that of
 * a capture also its process (SEC_PROC) and connection (keys.conn); all others pass. 0 or -ENOMEM.
 */
int scap_state_event(struct scap_state *st, struct event *ev);

/*
 * The event of the last call is not shown. One that its stream did not number leaves its number to the next, so that
 * a capture of what was shown has the same numbers.
 */
void scap_state_left_out(struct scap_state *st, const struct event *ev);

/* The parameter of such events that is the descriptor they are about; -1 = none. */
int8_t scap_state_fd_param(uint16_t type);
/* Likewise the path that evt.abspath is about. */
int scap_fields_abspath_param(uint16_t type);

/* The view of an event, or NULL. */
const struct scap_view *scap_state_view(const struct event *ev);

const struct scap_thread *scap_state_thread(const struct scap_state *st, int64_t tid);
const struct scap_thread *scap_state_process(const struct scap_state *st, const struct scap_thread *t);
const struct scap_fd *scap_state_fd(const struct scap_state *st, const struct scap_thread *t, int64_t fd);
/* Walks all threads, and the descriptors of a process; *pos starts at 0. NULL at the end. */
const struct scap_thread *scap_state_next_thread(const struct scap_state *st, size_t *pos);
const struct scap_fd *scap_state_next_fd(const struct scap_thread *t, size_t *pos, int64_t *ret_num);

struct scap_user { uint32_t uid, gid; struct scap_str *name, *home, *shell; };
struct scap_group { uint32_t gid; struct scap_str *name; };
struct scap_container {
	struct scap_str *id, *name, *image, *type, *image_id, *repo, *tag, *digest;
	struct scap_str *mounts;	/* source:destination:mode:rdwr:propagation, comma separated */
	struct scap_str *json;	/* the text that it was parsed from */
	uint8_t privileged;	/* 0 not said, 1 no, 2 yes */
};
const struct scap_user *scap_state_user(const struct scap_state *st, uint32_t uid);
const struct scap_group *scap_state_group(const struct scap_state *st, uint32_t gid);
const struct scap_container *scap_state_container(const struct scap_state *st, const struct scap_str *id);

/* Full container id in a list of cgroup paths (NUL after each). False if there is none. @ret has 72 bytes. */
bool scap_state_container_id(const char *cgroups, size_t len, char *ret);

/* Of the container event at hand; NULL when it is none. */
const struct scap_str *scap_state_last_container(const struct scap_state *st);

/* "f", "4", "p", ... as sysdig prints types of descriptors, and "file", "ipv4", ... */
char scap_state_fd_type_char(const struct scap_fd *fd);
const char *scap_state_fd_type_name(const struct scap_fd *fd);

/* How buffers are shown by words and lines; the state's, because words are asked for with nothing but an event. */
void scap_state_set_render(struct scap_state *st, const struct scap_render_opts *o);
const struct scap_render_opts *scap_state_render(const struct scap_state *st);
/* An empty buffer for a value that is made up: good until a few more were asked for. */
struct buf *scap_state_scratch(const struct scap_state *st);

/*
 * The state as rows (tables/scap_rows.tsv): interfaces, users, groups, threads, then the descriptors of each process.
 * With @pass only threads for which it says yes, asked with an event of that thread (once for each descriptor), and
 * their ancestors. 0, -ENOMEM, or what @fn returned when negative.
 */
int scap_state_rows(const struct scap_state *st, bool (*pass)(void *ctx, const struct event *ev), void *pass_ctx,
		    int (*fn)(void *ctx, const struct params_out *row), void *ctx);

/* Events (with SCAP_WORD_STATE_ONLY) that tell a reader what @t is and has open. As scap_state_rows(). */
int scap_state_announce(const struct scap_state *st, const struct scap_thread *t,
			int (*fn)(void *ctx, const struct params_out *ev), void *ctx);
/* Likewise for one descriptor, if it is a file. */
int scap_state_announce_file(const struct scap_state *st, const struct scap_thread *t, int64_t num,
			     const struct scap_fd *fd, int (*fn)(void *ctx, const struct params_out *ev), void *ctx);
/* Likewise for a container. */
int scap_state_announce_container(const struct scap_state *st, const struct scap_str *id,
				  int (*fn)(void *ctx, const struct params_out *ev), void *ctx);
#define SCAP_WORD_STATE_ONLY 1u	/* of libscap's event flags: for the state, not shown */

struct scap_state_stats {
	uint64_t threads, fds;
	uint64_t invented;	/* threads without a row or clone event */
	uint64_t refused;	/* not kept: the memory budget was used up */
};
void scap_state_stats(const struct scap_state *st, struct scap_state_stats *ret);

#endif
