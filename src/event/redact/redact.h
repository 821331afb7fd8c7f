/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fields that a recording leaves out (--redact): their text becomes <redacted:LENGTH>, LENGTH being the bytes that
 * stood there. Packets and bytes of connections lose them without a mark: the records hold the original size.
 */
#ifndef EVENT_REDACT_REDACT_H
#define EVENT_REDACT_REDACT_H

#include <stddef.h>
#include <stdint.h>

#include "base/opt.h"

struct buf;
struct err;
struct sonde_rec;

#define REDACT_ARGS 1u		/* arguments of programs */
#define REDACT_ENV 2u		/* environment of programs */
#define REDACT_PATHS 4u		/* names of files, directories and unix sockets; other strings of system calls */
#define REDACT_PAYLOAD 8u	/* payload of packets, data of calls, logs */
#define REDACT_DNS 16u		/* questions and answers, and names learned from them */

/* Rule of a record type. Tables end with type 0. */
struct redact_rule {
	uint16_t type;
	/*
	 * Appends @r, a record of this version's layout, without the @fields (REDACT_*) to @out, which is empty. 1; 0
	 * if @r has none of them; -EBADMSG if @r is inconsistent; -EACCES if nothing of it may stay.
	 */
	int (*redact)(const struct sonde_rec *r, unsigned fields, struct buf *out);
};

/* REDACT_* of fields by name, separated by commas. -EINVAL with a message. */
OPT_PARSER(redact_parse, unsigned);

/* ---- for rules ---- */

/* Appends the mark for @len bytes; nothing for 0. Returns the bytes appended. */
size_t redact_mark(struct buf *out, size_t len);
/* Appends @len bytes of @text, or the mark for them if @hide. Returns the bytes appended. */
size_t redact_text(struct buf *out, const void *text, size_t len, unsigned hide);
/* The same for texts that end in NUL each. */
size_t redact_list(struct buf *out, const void *text, size_t len, unsigned hide);
/* Replaces the NUL-terminated text in an array of @cap bytes, unless it is empty. */
void redact_array(char *text, size_t cap);
/* Appends a copy of @r without its content: @hide is the function of a struct content_rule. 1 or its error. */
int redact_hide(const struct sonde_rec *r, int (*hide)(struct sonde_rec *r), struct buf *out);
/* Are the REDACT_PAYLOAD or REDACT_DNS of @fields in this packet? */
unsigned redact_packet(unsigned fields, uint32_t link, const void *data, uint32_t cap_len, uint32_t orig_len);

#endif
