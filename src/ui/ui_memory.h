/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory of sonde ui: the latest events of its stream, and where records were lost. One writer; requests read copies
 * of the process (ui_jobs.h).
 */
#ifndef UI_UI_MEMORY_H
#define UI_UI_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "sonde/wire.h"
#include "view/view.h"

struct event;

/* Records lost at a time of the stream, by one cause. */
struct ui_loss {
	uint64_t ns;	/* wall clock */
	uint64_t count;
	uint32_t cause;	/* SONDE_LOST_* */
};

struct ui_probe {
	const char *name, *hint;	/* hint: how it is started, a sentence */
	unsigned number;		/* of its event types */
	bool runs;			/* in the live stream */
};

/* A view of a live page, longer than its events are kept. */
struct ui_past {
	const struct view *view;
	struct view_history *history;	/* owned */
};

#define UI_PASTS 7u
#define UI_HOSTS 16u	/* most hosts of a page */

/* A host whose events are kept; with its stream's names, which its events point to. */
struct ui_host {
	const char *name, *release;	/* "" until they are known */
	uint32_t cpus;
	const struct names *names;
	struct sym *sym;	/* NULL: no names of user addresses */
};

/* Facts that the pipeline knows; callbacks of the command. */
struct ui_facts {
	const char *input;	/* "live", or the name of the file */
	const struct ui_folder *folder;	/* of recordings; NULL = none */
	bool live, content;
	const struct ui_probe *probes;	/* all that sonde has */
	size_t n_probes;
	size_t n_hosts;		/* at most UI_HOSTS */
	void (*host)(void *ctx, size_t host, struct ui_host *ret);
	/* Name and ledger of instance @i of a host; NULL if there is none. */
	const char *(*ledger)(void *ctx, size_t host, uint16_t i, struct sonde_ledger *ret);
	void *ctx;
};

struct ui_memory {
	struct view_kept *kept;
	const struct registry *reg;
	struct ui_facts facts;
	struct view *views;	/* owned; of several hosts, else NULL */
	uint64_t seq;		/* of several hosts: of the last event */
	VEC(struct ui_loss) losses;	/* by time */
	uint64_t lost_by[SONDE_LOST__MAX];
	uint64_t probes;	/* 1u << probe: of which events came */
	struct ui_past pasts[UI_PASTS];
	size_t n_pasts;		/* 0 = a recording */
	int64_t clock_offset_ns;	/* of the last event */
	uint64_t end_ns;	/* of a recording: 1 ns behind the last event */
	uint64_t changes;	/* counts whatever an answer may depend on */
	uint64_t quiet_since;	/* changes at the last ui_memory_until() */
	unsigned quiet;		/* calls of it without a change before */
	bool reading;		/* a recording that is not read to its end */
	int read_permille;	/* of it; -1 = not known */
};

/* @max_bytes of events. 0 or -ENOMEM; ui_memory_fini() in any case. */
int ui_memory_init(struct ui_memory *m, size_t max_bytes);
void ui_memory_fini(struct ui_memory *m);

/* From here on the past of some views is kept: for a live stream. 0 or -ENOMEM. */
int ui_memory_keep_past(struct ui_memory *m);
/*
 * Boot time of the stream, each second: ends intervals that no event ends, once nothing came in two of them. While
 * events come they say the time: a page that gets no CPU time has unread ones of seconds that are over. 0 or -ENOMEM.
 */
int ui_memory_until(struct ui_memory *m, uint64_t now_ns);
/* NULL: the past of this view is not kept. */
const struct ui_past *ui_memory_past(const struct ui_memory *m, const struct view *v);

/*
 * Of several hosts: the views have the host as a further key, events are numbered as they come. Before the first
 * event. 0 or -ENOMEM.
 */
int ui_memory_join_hosts(struct ui_memory *m);
/* All were read: the events of all hosts are put in the order of time and numbered again. 0 or -ENOMEM. */
int ui_memory_sort(struct ui_memory *m);
/* Views of this memory: views[view_n]. */
const struct view *ui_memory_views(const struct ui_memory *m);
/* Index of the host of an event. */
size_t ui_memory_host(const struct ui_memory *m, const struct event *ev);
/* The symbolizer for an event; NULL = none. */
struct sym *ui_memory_sym(const struct ui_memory *m, const struct event *ev);

/* Takes events of data and reports of losses; ignores others. 0 or -ENOMEM. */
int ui_memory_take(struct ui_memory *m, const struct event *ev);

bool ui_memory_is_capture(const struct ui_memory *m);	/* has it events of a capture of sysdig? */
uint64_t ui_memory_now(void); /* of the wall clock */
uint64_t ui_memory_end(const struct ui_memory *m); /* end of the stream, wall clock: now, or that of the recording */
/* Records lost at from_ns <= time < to_ns. */
uint64_t ui_memory_lost(const struct ui_memory *m, uint64_t from_ns, uint64_t to_ns);

#endif
