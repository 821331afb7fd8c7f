/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What goes between lookup.c and the worker that reads an ELF file. Private to src/sym.
 *
 * The request is seen by the worker as a copy of memory. The answer, host order: struct lookup_head, the name of the
 * debug link, then of a first request for each place its virtual address (u64), then what resolve_run() writes for
 * those addresses sorted, each once. Behind a head that is not ok nothing follows.
 */
#ifndef SYM_LOOKUP_H
#define SYM_LOOKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/resolve.h"
#include "sym/symbolizer.h"

#define LOOKUP_NOWHERE UINT64_MAX	/* a place that no segment holds */

struct ask {
	uint64_t addr;
	bool caller;	/* a return address: the instruction before it counts */
};

/* Called for each address asked for, in order; @n 0 = no name. Strings are borrowed. 0, or -errno to stop. */
typedef int (*answer_fn)(void *ctx, size_t i, const struct sym_func *funcs, uint32_t n);

/* Looks up @n addresses of @m in every file that may name them. 0, -ENOMEM, or the error of @fn. */
int lookup_module(struct sym *s, struct module *m, const struct ask *asks, size_t n, answer_fn fn, void *ctx);

struct lookup_request {
	struct resolve_request names;	/* of a separate debug file: the addresses are known */
	const struct ask *asks;		/* else: offsets in the file */
	size_t n;
	uint8_t id[ELF_BUILD_ID_MAX];	/* what its build id has to be; id_len 0 = any */
	uint32_t id_len;
	bool by_crc;			/* the checksum of the whole file decides */
	uint32_t crc;
};

struct lookup_head {
	uint32_t ok;			/* 0 = it is another file */
	uint32_t id_len;
	uint8_t id[ELF_BUILD_ID_MAX];
	uint32_t crc;			/* of the debug file that it links to */
	uint32_t link_len;		/* 0 = no link */
};

/* What is asked of one module. */
struct lookup_group {
	struct module *m;
	const struct ask *asks;		/* borrowed until lookup_module() */
	size_t n;
};

/* The request that goes to the module's file first, and how long its answer may be. */
void lookup_first_request(const struct sym *s, const struct lookup_group *g, struct lookup_request *ret,
			  size_t *ret_cap);

/*
 * Asks the files of at most lookup_prefetch_max() groups in one worker. An answer waits in its module for
 * lookup_module() with the same asks; who got none is asked again then.
 */
void lookup_prefetch(struct sym *s, const struct lookup_group *groups, size_t n);
size_t lookup_prefetch_max(void);

/* Sorts, and takes out what is there twice or is LOOKUP_NOWHERE. Returns how many are left. */
size_t lookup_sort(uint64_t *addrs, size_t n);

/* A worker_fn; @ctx is a struct lookup_request. Exit status 0, or the positive errno. */
int lookup_work(void *ctx, int in_fd, int out_fd);

#endif
