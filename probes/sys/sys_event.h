/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bodies of the sys events and the native view of a call: its arguments as name, kind, value and bytes. An event
 * borrows its body from the record; nothing is taken apart before somebody looks.
 */
#ifndef SYS_EVENT_H
#define SYS_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/decode.h"
#include "event/event.h"
#include "probes/sys/sys_table.h"
#include "probes/sys/sys_wire.h"

struct buf;

/* sys.exit and sys.enter: as struct sys_rec from `ret` on; chunks follow. */
struct sys_body {
	int64_t ret;
	uint64_t latency_ns;
	uint16_t nr;
	uint8_t abi, n_args;
	uint16_t flags, chunks_len;
	uint64_t args[6];
};
_Static_assert(sizeof(struct sys_body) == sizeof(struct sys_rec) - sizeof(struct sonde_rec),
	       "the body is the record without its header");

/* sys.sum: as struct sys_stats_rec without its header. */
struct sys_stats_body {
	uint16_t nr;
	uint8_t abi, pad;
	uint32_t rank;
	uint64_t calls, errors, total_ns, all_ns;
	uint64_t steps[SYS_STEPS];
	uint64_t timed, max_ns, one_in, first, long_ns;
	uint32_t by, by_pid;
	char by_name[16];
};
_Static_assert(sizeof(struct sys_stats_body) == sizeof(struct sys_stats_rec) - sizeof(struct sonde_rec),
	       "the body is the record without its header");

/* sys.gap: records of one CPU that are not there, between two that are. */
struct sys_gap_body {
	uint64_t since_ns;	/* boot clock: last record before the hole; the event's time: first behind it */
	uint32_t missing;
	uint32_t pad;
};

/* A chunk in place; data is 8-byte aligned. */
struct sys_bytes {
	const uint8_t *data;
	uint32_t len;
	uint16_t flags;		/* SYS_CHUNK_F_* */
	bool there;		/* the chunk exists; len may be 0 */
};

/* One argument, or the result, in the native view. */
struct sys_value {
	const char *name;
	const struct sys_arg *arg;	/* NULL where the table has none */
	uint64_t raw;
};

/* The process that a call made or became; strings point into the body. */
struct sys_image {
	struct sys_proc proc;
	const uint8_t *exe, *cwd;	/* components, last first, NUL after each */
	const uint8_t *name, *args, *env;
};

/* False when the event has none. */
bool sys_memory_image_of(const struct sys_body *b, struct sys_image *ret);

/* The body of a sys.exit or sys.enter event, else NULL. */
const struct sys_body *sys_event_body(const struct event *ev);

/* The chunk @what of argument @arg (index, SYS_OF_*); the first: what the kernel left in its place is another. */
struct sys_bytes sys_print_chunk_of(const struct sys_body *b, unsigned arg, unsigned what);

/* Number of arguments of the call, and one of them. */
unsigned sys_print_n_args(const struct sys_body *b);
struct sys_value sys_print_value_of(const struct sys_body *b, unsigned i);

static inline bool sys_failed(int64_t ret)
{
	return ret < 0 && ret >= -4095;
}

/* ---- text, as strace writes it ---- */

/* How much of a call is shown. */
struct sys_look {
	unsigned cap;		/* most bytes of a string; 0 = no limit */
	bool full;		/* structures with all members and environments written out, as strace -v */
};

extern const struct sys_look sys_look_all;

/* The arguments, ", " between them. */
int sys_print_args(const struct sys_body *b, bool entered, const struct sys_look *k, struct buf *out);
int sys_result_print(const struct sys_body *b, struct buf *out);
/* "(in [3], left {...})", "(Timeout)": what stands behind the result, and @before in front of it; nothing where the
   call has no such answer. */
int sys_result_print_answer(const struct sys_body *b, const char *before, struct buf *out);
/* "openat(AT_FDCWD, "/etc/passwd", O_RDONLY) = 3". @column of @out: of "=", if the call is shorter; 0: no padding. */
int sys_print_call(const struct sys_body *b, bool entered, const struct sys_look *k, size_t column, struct buf *out);
/* Blanks, so that what follows a further one stands @column bytes into @out. */
void sys_print_pad(size_t column, struct buf *out);
bool sys_event_text_strace(const struct line_opts *o); /* --format strace */
/* The caller: "12    " in the strace form, else "cat[12] ". */
void sys_event_text_who(const struct event *ev, const struct line_opts *o, struct buf *out);
/* A number through a table of names. */
void sys_text_xlat(const struct sys_xlat *x, uint64_t v, struct buf *out);
/* A structure. @full: all its members; @answered: also those that the kernel filled in. */
void sys_struct_print(const struct sys_struct *s, unsigned abi, bool full, bool answered, const uint8_t *data,
		      size_t len, struct buf *out);
void sys_text_quoted(const uint8_t *data, size_t len, bool more, struct buf *out);
void sys_text_hex(const uint8_t *data, size_t len, bool more, struct buf *out);
void sys_text_ip(int family, const uint8_t *addr, struct buf *out);
void sys_text_sockaddr(const uint8_t *data, size_t len, struct buf *out);
void sys_struct_print_mode(uint64_t mode, struct buf *out);
void sys_text_signal(uint64_t signo, struct buf *out);

extern const struct event_desc *const sys_descs[];
extern const struct event_desc sys_exit_desc, sys_enter_desc, sys_stats_desc, sys_gap_desc;
extern const struct event_desc sys_switch_desc, sys_signal_desc, sys_fault_desc, sys_procexit_desc, sys_uring_desc;
extern const struct event_desc sys_lost_desc, sys_sampling_desc;

/* Content of the records: sys_content.c. */
extern const struct content_rule sys_content[];

#endif
