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

#include "scap/state/view.h"

struct event;
struct state;

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

#endif
