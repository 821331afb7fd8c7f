/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Filters of Hubble (options of `hubble observe`, fields of FlowFilter) as checks of event fields: one expression of
 * the filter language (event/filter/filter.h).
 *
 * Each function adds a check of @value to the part @name, which error messages call it by ("--from-ip", "source_ip";
 * static). Checks of one part are alternatives; all parts must hold. -EINVAL with a sentence if the value is not one.
 */
#ifndef HUBBLE_HUBBLE_WORDS_H
#define HUBBLE_HUBBLE_WORDS_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/vec.h"

struct err;

struct hubble_words_part {
	const char *name;
	bool negated;
	struct buf expr;	/* checks joined by "or" */
};

/* Zeroed at the start. */
struct hubble_words {
	bool negate_next;	/* the next check belongs to a negated part; reset by it */
	VEC(struct hubble_words_part) parts;
};

void hubble_words_fini(struct hubble_words *w);
/* Appends the parts joined by "and"; nothing without a part. */
void hubble_words_put(const struct hubble_words *w, struct buf *out);
/* Has @s letters of names of hosts, interfaces, reasons only; * if @glob? */
bool hubble_words_is_name(const char *s, bool glob);

/* A check that needs no validation, or had it. 0 or -ENOMEM. */
int hubble_words_add(struct hubble_words *w, const char *name, const char *check);
int hubble_words_add_value(struct hubble_words *w, const char *name, const char *field, const char *op,
			   const char *value);

/* An address or network; a port. */
int hubble_words_ip(struct hubble_words *w, const char *name, const char *field, const char *value, struct err *err);
int hubble_words_port(struct hubble_words *w, const char *name, const char *field, const char *value,
		      struct err *err);

/* Ends of a flow. Words of a process (pod, workload) are those of the event's process, which is at one end. */
enum hubble_end_of { HUBBLE_EITHER, HUBBLE_SENDER, HUBBLE_RECEIVER, HUBBLE_END__MAX };

/* DNS name, * for any part. */
int hubble_words_host(struct hubble_words *w, const char *name, enum hubble_end_of end, const char *value,
		      struct err *err);
/* "NAMESPACE/PREFIX", or a prefix in the namespace "default"; either may be empty. */
int hubble_words_pod(struct hubble_words *w, const char *name, enum hubble_end_of end, const char *value,
		     struct err *err);
/* @field of the process is @value; NULL: it has that field. */
int hubble_words_local(struct hubble_words *w, const char *name, const char *field, enum hubble_end_of end,
		       const char *value, struct err *err);
int hubble_words_verdict(struct hubble_words *w, const char *name, const char *value, struct err *err);
int hubble_words_protocol(struct hubble_words *w, const char *name, const char *value, struct err *err);
int hubble_words_ip_version(struct hubble_words *w, const char *name, const char *value, struct err *err);
/* TCP flags, comma-separated: all of them are set. */
int hubble_words_tcp_flags(struct hubble_words *w, const char *name, const char *value, struct err *err);
int hubble_words_interface(struct hubble_words *w, const char *name, const char *value, struct err *err);
/* Appends a check of a drop's reason, in the kernel's or Hubble's words, or Hubble's number. */
int hubble_words_put_reason(const char *value, struct buf *out, struct err *err);

#endif
