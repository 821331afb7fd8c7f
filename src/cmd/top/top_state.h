/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside src/cmd/top: one session.
 */
#ifndef CMD_TOP_STATE_H
#define CMD_TOP_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/vec.h"
#include "cmd/run/run.h"
#include "cmd/top/top.h"
#include "view/view.h"
#include "view/view_kept.h"
#include "view/view_rows.h"

struct event_desc;

#define TOP_STEPS 16u

enum top_page { TOP_TABLE, TOP_EVENTS, TOP_EVENT, TOP_VIEWS, TOP_HELP, TOP_COMMAND, TOP_PAGE__MAX };

/* One step of the drill-down. */
struct top_step {
	const struct view *view;
	struct buf clause;		/* that led here, as filter text; empty = none */
	struct buf label;		/* of the clause: "nginx 812" */
	uint64_t selected;		/* id of the row under the cursor */
	size_t sort;			/* column, from VIEW_COLS on a key */
	bool reverse;
};

struct top {
	struct top_opts o;
	struct run_conf conf;		/* of the run: without outputs */
	struct run_ops *spec;
	const struct run_ops *outer;	/* the command's own callbacks */
	struct pipeline *pipeline;
	struct loop *loop;
	struct loop_source *timer;	/* NULL = none */
	struct screen *screen;		/* NULL = blocks */

	/* what is counted */
	struct view_kept *kept;		/* NULL with blocks */
	struct view_fold *fold;		/* NULL: rows come from o.fill */
	struct top_functions *functions;     /* in its place for the view of functions; NULL = another view */
	struct view_fold *host;		     /* of all events, for the line of the host; NULL with blocks */
	VEC(const struct event_desc *) seen; /* types of events so far */
	struct filter *filter;		/* of the steps and of the typed words; NULL = all */
	struct view_kept_at fed;	/* of a recording: what the fold has */
	uint64_t step_ns, until_ns, last_ns;	/* until_ns: moment of a recording that is shown */
	uint64_t intervals;		/* that were printed */
	int64_t clock_offset_ns;
	bool replays, ended;		/* of a recording: all events were read */

	/* what is shown */
	struct view_rows rows, host_rows;
	struct top_step steps[TOP_STEPS];
	size_t n_steps;			/* >= 1 */
	enum top_page page, behind;	/* behind: where help and the like lead back to */
	size_t cursor, first;		/* row, first visible row */
	size_t skip;			/* hidden columns */
	bool totals, paused, stopped, afresh;
	VEC(struct view_kept_at) list;	/* of TOP_EVENTS */
	struct view_kept_at opened;	/* of TOP_EVENT */
	struct buf typed;		/* filter words typed here */
	struct buf input;		/* the last filter as typed, which "n" searches for */
	bool typing;
	struct buf said;		/* sentence above the footer */
	struct buf picture;
};

static inline struct top_step *top_step(struct top *t)
{
	return &t->steps[t->n_steps - 1];
}

/* Sums instead of rates: as chosen, or of a recording that does not play. */
static inline bool top_shows_totals(const struct top *t)
{
	return t->totals || (t->replays && !t->until_ns);
}

/* Shares of functions are of all samples. */
static inline bool top_is_of_functions(const struct view *v)
{
	return !strcmp(v->name, "functions");
}

/* ---- top_fold.c ---- */

/* Does this run have events of the type, or sums that stand for them in column @c of @v? */
bool top_fold_has(const struct top *t, const struct view *v, const struct view_col *c);
/* Columns of the view without such events, 1u << index. */
uint32_t top_fold_missing(const struct top *t, const struct view *v);
/* An event that passed the filter of the command line. 0 or -errno. */
int top_fold_take(struct top *t, const struct event *ev);
/* Rows of the view: of the last interval, or all. */
int top_fold_rows(struct top *t, bool all);
/* Makes `fold` or `functions` for the view. 0 or -ENOMEM. */
int top_fold_begin(struct top *t);
/* Counts anew, after another filter or view. */
void top_fold_refold(struct top *t);
/* Compiles the filter of steps and typed words. -EINVAL: the old one stays, and the screen says why. */
int top_fold_filter(struct top *t);
/* Fills `rows` or `list` unless paused. */
void top_fold_refresh(struct top *t);
/* Moves a recording by @n intervals. */
void top_fold_step(struct top *t, int n);
void top_fold_pace(struct top *t);	/* after a change of step_ns */
void top_fold_quit(struct top *t);

/* ---- top_page.c ---- */

/* The lines of the screen: SCREEN_PLAIN or so, text of at most @width columns, a NUL. */
void top_page_draw(struct top *t, unsigned width, unsigned height, struct buf *out);
size_t top_page_rows(const struct top *t);	/* of the list under the cursor */
size_t top_page_room(const struct top *t, unsigned height);	/* visible rows */

/* Column (from VIEW_COLS on: key) whose heading is at cell @x of a line of @width cells; -1 = none. */
int top_page_heading(const struct top *t, unsigned width, unsigned x);
/* Row of the list at line @y of the screen; -1 = none, -2 = the heading. */
int top_page_line(const struct top *t, unsigned y);

/* ---- top_head.c ---- */

void top_head_title(struct top *t, unsigned width, struct buf *out);
void top_head_host(struct top *t, unsigned width, struct buf *out);
/* "live", "paused", "recording"... */
const char *top_head_state(const struct top *t);

/* ---- top_keys.c ---- */

void top_keys_click(struct top *t, unsigned x, unsigned y, unsigned width);

void top_keys(struct top *t, int key);

#endif
