/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Layout of list entries and headers in blocks: the same tables drive block_read.c and block_write.c.
 */
#ifndef SCAP_BLOCK_LAYOUT_H
#define SCAP_BLOCK_LAYOUT_H

#include "scap/block.h"

enum entry_kind {
	ENTRY_INT,	/* `size` bytes */
	ENTRY_STR,	/* u16 length, text without NUL */
	ENTRY_BYTES,	/* u16 length, bytes */
	ENTRY_FIXED,	/* `size` bytes of text, padded with NUL */
	ENTRY__MAX,
};

/* One field of an entry; its index in the table is its parameter in the row. */
struct entry_field {
	uint8_t kind;		/* enum entry_kind */
	uint8_t size;
	uint8_t since;		/* version of the block */
	bool tail;		/* optional at the end of an entry */
};

extern const struct entry_field scap_thread_fields[], scap_user_fields[], scap_group_fields[],
	scap_machine_fields[];
extern const size_t scap_thread_n_fields, scap_user_n_fields, scap_group_n_fields, scap_machine_n_fields;

#define USER_KIND 0
#define GROUP_KIND 1

#define SECTION_BYTES 16
#define EVENT_HEADER_V1 22
#define EVENT_HEADER 26

#endif
