/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The blocks of a segment: by its index, or by walking the chunks of a file that is being written, was torn, or has a
 * damaged index.
 */
#ifndef STORE_STORE_SCAN_H
#define STORE_STORE_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "sonde/store.h"
#include "store/store_index.h"

struct err;

struct store_scan {
	int fd;			/* borrowed */
	uint64_t bytes;		/* size of the file */
	struct sonde_store_head head;
	struct sonde_store_foot foot;
	struct store_index index;
	bool indexed;		/* foot and index are those of the file; otherwise made from its chunks */
	uint64_t end;		/* behind the last whole chunk */
	uint64_t skipped;	/* bytes before that which are no chunks */
};

/* 0, or an error as store_decode_head() and -errno. store_scan_fini() in any case. */
int store_scan_open(int fd, struct store_scan *ret, struct err *err);
void store_scan_fini(struct store_scan *s);

/* Behind damage: the next chunk that begins a block or the index, from @off on below @end; @end if there is none. */
uint64_t store_scan_seek(int fd, uint64_t off, uint64_t end);

#endif
