/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads what scap/freeze.h made of an event. Private to src/scap.
 */
#ifndef SCAP_FROZEN_H
#define SCAP_FROZEN_H

#include <stdbool.h>
#include <stdint.h>

struct event;
struct field;
struct value;

/* SEC_TEXT: the head, n words by ascending field, the line, texts. Offsets count from the line. */
struct scap_frozen_head { uint32_t n, line_len; };
struct scap_frozen_word {
	uint16_t field;		/* index in scap_fields */
	uint8_t kind;		/* VAL_* */
	bool hex, ns, padded, printable;
	uint32_t len;		/* of a text, or of an address */
	uint64_t u;		/* the number, or the offset of the text */
};

/* Is the value of this row of scap_fields kept? */
bool scap_frozen_has(const struct field *f);

/* For desc->get and desc->line: the value of a word, and the line. 0, or -ENOENT: @ev is not frozen, or has none. */
int scap_frozen_get(const struct event *ev, const struct field *f, struct value *ret);
int scap_frozen_line(const struct event *ev, struct value *ret);

#endif
