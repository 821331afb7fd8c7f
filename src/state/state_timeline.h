/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Changes of one process or thread, ordered by time. An answer depends on the set of changes, not on their order of
 * arrival.
 */
#ifndef STATE_TIMELINE_H
#define STATE_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "state/state_answer.h"
#include "state/state_image.h"

#define STATE_LOSSES 64

/* Times before which records were lost, ascending; of more than STATE_LOSSES the oldest are forgotten. */
struct state_losses {
	uint64_t at_ns[STATE_LOSSES];
	unsigned n;
};

void state_timeline_lost(struct state_losses *l, uint64_t ts_ns);

enum { STATE_HAS_COMM = 1, STATE_HAS_IMAGE = 2, STATE_HAS_IDS = 4, STATE_HAS_PPID = 8, STATE_HAS_CGROUP = 16 };

/* Changes of equal time are in this order. */
enum state_source { STATE_BIRTH, STATE_EVENT, STATE_SNAPSHOT, STATE_SOURCE__MAX };

struct state_change {
	uint64_t at_ns;		/* time of the event, or of the snapshot's reading */
	uint64_t doubt_ns;	/* snapshot: last loss before at_ns that was known on arrival */
	uint64_t cgroup_id;
	uint64_t image_number;	/* of the process from here on; 0 = not numbered */
	struct state_image *image; /* owned reference */
	struct state_task_at *answer; /* owned; from at_ns to the next change; NULL until asked */
	uint32_t uid, gid, ppid;
	uint8_t has;		/* STATE_HAS_* */
	uint8_t source;		/* enum state_source */
	char comm[16];
};

struct state_timeline {
	struct state_change *changes; /* owned; ascending */
	uint16_t n, cap;
	uint64_t floor_ns;	/* the time before is forgotten */
	struct state_task_at *before; /* owned; answer for the time before the first change; NULL until asked */
};

void state_timeline_fini(struct state_timeline *l, struct state_images *images, size_t *bytes);

/*
 * Adds @c, whose reference to an image it takes; ignores a duplicate. Long timelines lose changes from before
 * @settled_ns that later ones replace. @bytes: updated. 0 or -ENOMEM.
 */
int state_timeline_add(struct state_timeline *l, const struct state_change *c, uint64_t settled_ns,
		       struct state_images *images, const struct state_losses *losses, size_t *bytes);

/* Sets the image of the birth, NULL = unknown. Takes a reference of its own. */
void state_timeline_inherit(struct state_timeline *l, struct state_image *image, struct state_images *images,
			    size_t *bytes);

/* Slot of the answer for @ts_ns; it holds NULL until the caller builds the answer. */
struct state_task_at **state_timeline_slot(struct state_timeline *l, uint64_t ts_ns);

/* Values at @ts_ns; the image is borrowed. Unknown values are 0 and lack their bit in `has`. */
void state_timeline_resolve(const struct state_timeline *l, uint64_t ts_ns, const struct state_losses *losses,
			    struct state_change *ret);

/* Does a change bear this number? */
bool state_timeline_has_image(const struct state_timeline *l, uint64_t number);

/* Removes all answers. */
void state_timeline_forget_answers(struct state_timeline *l, size_t *bytes);

#endif
