/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What goes between lookup.c and the worker that reads the file. Private to src/sym.
 *
 * The request is seen by the worker as a copy of memory. The answer, host order: struct lookup_head, then for each
 * place its number of functions (u32), and for each of those: off, start (u64), line (u32), and name, raw name and
 * file, each as its length (u32) and its bytes.
 */
#ifndef SYM_LOOKUP_H
#define SYM_LOOKUP_H

#include <stddef.h>
#include <stdint.h>

#include "sym/sym_impl.h"

struct lookup_request {
	const struct ask *asks;	/* offsets in the file */
	size_t n;
};

struct lookup_head {
	uint32_t id_len;	/* build id */
	uint8_t id[ELF_BUILD_ID_MAX];
};

/* A worker_fn; @ctx is a struct lookup_request. */
int lookup_work(void *ctx, int in_fd, int out_fd);

#endif
