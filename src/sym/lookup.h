/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Protocol between lookup.c and the worker that reads an ELF file. Private to src/sym.
 *
 * The worker inherits the request through fork. The answer, in host byte order: struct lookup_head, the name of the
 * debug link, then, for a first request, the virtual address (u64) of each location, then the output of resolve_run()
 * for those addresses sorted and unique. A head with an error ends the answer.
 */
#ifndef SYM_LOOKUP_H
#define SYM_LOOKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/resolve.h"
#include "sym/symbolizer.h"

#define LOOKUP_NOWHERE UINT64_MAX	/* an offset outside every segment */

struct ask {
	uint64_t addr;
	bool caller;	/* a return address: the instruction before it counts */
};

/* Called for each requested address, in order; @n 0 = no name. Strings are borrowed. 0, or -errno to stop. */
typedef int (*answer_fn)(void *ctx, size_t i, const struct sym_func *funcs, uint32_t n);

/* Looks up @n addresses of @m in every file that may name them. 0, -ENOMEM, or the error of @fn. */
int lookup_module(struct sym *s, struct module *m, const struct ask *asks, size_t n, answer_fn fn, void *ctx);

struct lookup_request {
	struct resolve_request names;	/* of a separate debug file: addresses are known */
	const struct ask *asks;		/* otherwise: offsets in the file */
	size_t n;
	uint8_t id[ELF_BUILD_ID_MAX];	/* required build id; id_len 0 = any */
	uint32_t id_len;
	bool by_crc;			/* verify the checksum of the whole file */
	uint32_t crc;
};

struct lookup_head {
	uint32_t ok;			/* 0 = another file */
	uint32_t id_len;
	uint8_t id[ELF_BUILD_ID_MAX];
	uint32_t crc;			/* name of the debug file that it links to */
	uint32_t link_len;		/* 0 = no link */
};

/* Locations requested of one module. */
struct lookup_group {
	struct module *m;
	const struct ask *asks;		/* borrowed until lookup_module() */
	size_t n;
};

/* The first request to the module's file, and the maximum length of its answer. */
void lookup_first_request(const struct sym *s, const struct lookup_group *g, struct lookup_request *ret,
			  size_t *ret_cap);

/*
 * Asks the files of at most lookup_prefetch_max() groups in one worker. Each answer waits in its module for
 * lookup_module() with the same requests; a module without an answer is asked again then.
 */
void lookup_prefetch(struct sym *s, const struct lookup_group *groups, size_t n);
size_t lookup_prefetch_max(void);

/* Sorts, and removes duplicates and LOOKUP_NOWHERE. Returns how many are left. */
size_t lookup_sort(uint64_t *addrs, size_t n);

/* A worker_fn; @ctx is a struct lookup_request. Exit status 0, or the positive errno. */
int lookup_work(void *ctx, int in_fd, int out_fd);

#endif
