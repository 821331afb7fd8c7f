/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside src/scap/block*.c only: the layout of list entries as data, read and written by the same tables.
 */
#ifndef SCAP_BLOCK_IMPL_H
#define SCAP_BLOCK_IMPL_H

#include "scap/block.h"

enum entry_kind {
	ENTRY_INT,	/* `size` bytes */
	ENTRY_STR,	/* u16 length, text without NUL */
	ENTRY_BYTES,	/* u16 length, bytes */
	ENTRY_FIXED,	/* `size` bytes of text, padded with NUL */
	ENTRY__MAX,
};

/* One field of an entry; its number in the row is its place in the table. */
struct entry_field {
	uint8_t kind;		/* enum entry_kind */
	uint8_t size;
	uint8_t since;		/* version of the block */
	bool tail;		/* may be missing at the end of an entry */
};

extern const struct entry_field scap_thread_fields[], scap_user_fields[], scap_group_fields[],
	scap_machine_fields[];
extern const size_t scap_thread_n_fields, scap_user_n_fields, scap_group_n_fields, scap_machine_n_fields;

/* Kinds of descriptors as files have them. */
#define FD_FILE 1
#define FD_DIRECTORY 2
#define FD_IPV4 3
#define FD_IPV6 4
#define FD_IPV4_SERVER 5
#define FD_IPV6_SERVER 6
#define FD_FIFO 7
#define FD_UNIX 8
#define FD_UNSUPPORTED 10
#define FD_FILE_V2 16
#define FD_KNOWN_TO_ALL 16	/* newer types are refused by older readers, which end there */
#define FD_TEXT_MAX 21		/* 7, 9..21 but 16: a name */

#define USER_KIND 0
#define GROUP_KIND 1

#define AF_UNIX_NUMBER 1
#define AF_INET_NUMBER 2
#define AF_INET6_NUMBER 10

#define SECTION_BYTES 16
#define EVENT_HEADER_V1 22
#define EVENT_HEADER 26

#endif
