/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How counted stacks are shown: the choices common to all outputs, and the entries of a set as frames with names.
 *
 * A frame is one function. A note is a frame that says why a stack is incomplete: "[Missed User Stack]", "[truncated:
 * no unwind info in libfoo.so]".
 */
#ifndef STACK_VIEW_H
#define STACK_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "stack/stack.h"

/* Unit of weight of a stack. */
enum stack_weight {
	STACK_SAMPLES,		/* number of occurrences */
	STACK_OFF_CPU,		/* microseconds blocked; waiting for a CPU is separate */
	STACK_WALL,		/* microseconds on and off the CPU */
	STACK_WEIGHT__MAX,
};
extern const char *const stack_weight_units[];	/* "samples", "us", "us" */

struct stack_view {
	bool user_only, kernel_only;
	bool delimiter;		/* delimiter between the kernel and user parts, if both exist */
	bool annotate;		/* suffix _[k] for kernel frames, in folded text */
	bool addresses;		/* prefix of frames, in bcc's text */
	bool by_thread;
	enum stack_weight weight;
	uint64_t period;	/* ns or events between two samples; 0 = the value of the first */
	const char *event;	/* what was sampled: "cpu-clock"; NULL = unknown */
	const char *header;	/* header line of the bcc output; NULL = none */
	const char *title;	/* flame graph; NULL = "Flame graph" */
	size_t max_entries;	/* limit of different stacks kept; 0 = as many as fit */
	uint32_t width, height;	/* flame graph: total width, height of a frame, pixels; 0 = 1200, 16 */
};

enum stack_part { STACK_PART_USER, STACK_PART_KERN, STACK_PART_NOTE, STACK_PART__MAX };

struct stack_frame {
	const char *name;	/* never empty; "[libc.so.6+0x8f0a3]" if the function has no name, else "[unknown]" */
	const struct sym_func *func;	/* NULL: a note */
	struct sym_loc loc;
	uint64_t ip;		/* address in the process that was seen first; 0 for notes */
	enum stack_part part;	/* kernel or user; a note is neither */
	bool unknown;		/* neither function nor file is known */
	bool inlined;		/* inlined into the next frame */
	bool caller;		/* ip is a return address */
};
struct stack_frames { struct stack_frame *items; size_t len, cap; };	/* for vec_grow(), vec_fini() */

/* Names of all frames of a set, looked up in one batch. Must not outlive the set or @sym. */
struct stack_names;
int stack_names_new(const struct stack_set *s, struct sym *sym, struct stack_names **ret);
void stack_names_free(struct stack_names *n);	/* NULL is fine */
DEFINE_CLEANUP(struct stack_names *, stack_names_free)

/*
 * One part of the stack of @e, innermost first, into @ret (emptied before). A stack that was requested but is missing
 * becomes one frame, "[Missed ... Stack]"; a truncated one gets a note as its outermost frame. 0 or -ENOMEM.
 */
int stack_names_user(struct stack_names *n, const struct stack_entry *e, struct stack_frames *ret);

/* Offset from the start of the frame's function, in bytes. */
uint64_t stack_names_frame_offset(const struct stack_frame *f);

/* Kernel part, delimiter "-" if the view says so, user part: innermost first. 0 or -ENOMEM. */
int stack_names_all(struct stack_names *n, const struct stack_entry *e, const struct stack_view *v,
		    struct stack_frames *ret);

/* An entry as displayed lines: off-CPU time is split in two if part of it was waiting for a CPU. */
struct stack_line {
	const struct stack_entry *entry;
	uint64_t weight;	/* never 0 */
	const char *state;	/* innermost frame with the state: "[waiting for a CPU]"; NULL = none */
};
#define STACK_MAX_LINES 2
size_t stack_lines(const struct stack_entry *e, enum stack_weight w, struct stack_line ret[STACK_MAX_LINES]);

/*
 * All lines of a set, in the order of counting or, if @sorted, heaviest last. Released by vec_fini(). 0 or -ENOMEM.
 */
struct stack_line_list { struct stack_line *items; size_t len, cap; };
int stack_lines_list(const struct stack_set *s, enum stack_weight w, bool sorted, struct stack_line_list *ret);

/* The last part of a module's path: "libc.so.6"; "?" when it is unknown. */
const char *stack_names_module_name(const struct sym_module *m);

#endif
