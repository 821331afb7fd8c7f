/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Request to a resolving worker (elf/resolve.h) and its answer, of which the worker has the writer and the caller the
 * reader.
 */
#ifndef ELF_RESOLVE_ANSWER_H
#define ELF_RESOLVE_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/map.h"

enum resolve_kind {
	RESOLVE_ELF,
	RESOLVE_PERFMAP,
	RESOLVE_JITDUMP,
	RESOLVE__MAX,
};

struct resolve_request {
	enum resolve_kind kind;
	bool lines;		/* add file, line and inlined functions */
	bool raw_names;		/* no demangling */
	const uint64_t *addrs;	/* ascending, unique; virtual addresses of the file, or of the process for JIT code */
	uint32_t n;
	size_t budget_bytes;	/* budget for parts of the file; 0 = 160 MiB, which fits a worker's default limit */
};

#define RESOLVE_INLINED_MAX 32	/* limit of inlined functions per address; the outer ones beyond it are left out */

/* Best source that named an address; later values are better. */
enum resolve_quality {
	RESOLVE_UNKNOWN,
	RESOLVE_STUB,		/* procedure linkage table */
	RESOLVE_SYMBOL,		/* symbol table, perf map, jitdump */
	RESOLVE_LINE,		/* with a source line */
	RESOLVE_QUALITY__MAX,
};

struct resolve_func {		/* strings belong to the answer, never NULL; may hold any byte but NUL */
	const char *name;	/* demangled; == raw if it is not mangled */
	const char *raw;	/* as in the symbol table */
	uint64_t start;		/* address of the function; 0 = unknown */
	const char *file;	/* "" = unknown */
	uint32_t line;		/* 0 = unknown */
};

struct resolve_addr {
	enum resolve_quality quality;
	uint32_t n;		/* functions, innermost inlined one first, the outermost real one last; 0 = unknown */
	const struct resolve_func *funcs;
};

struct resolve_answer {
	uint32_t n;		/* as asked */
	struct resolve_addr *addrs;
	struct resolve_func *funcs;
	char *strings;
};

/* Maximum size of an answer, for worker_call()'s buffer. */
size_t resolve_answer_cap(const struct resolve_request *q);

/* @data is copied. -EBADMSG if it is not an answer to @q, -ENOMEM. */
int resolve_answer_parse(const struct resolve_request *q, const void *data, size_t len, struct resolve_answer **ret);
void resolve_answer_free(struct resolve_answer *a);	/* NULL is fine */

/* The better of two answers for the same address: by quality, then by number of inlined functions; ties go to @a. */
const struct resolve_addr *resolve_answer_better(const struct resolve_addr *a, const struct resolve_addr *b);

/* ---- the writer ---- */

struct answer_writer {
	struct buf addrs, funcs, strings;
	struct map known;	/* hash of a string to its offset: equal strings are stored once */
};

int resolve_answer_begin(struct answer_writer *w);
void resolve_answer_fini(struct answer_writer *w);

/* Appends the answer for the next address, with its functions. 0 or -ENOMEM. */
int resolve_answer_add_func(struct answer_writer *w, const struct resolve_func *f);
int resolve_answer_add_addr(struct answer_writer *w, enum resolve_quality quality, uint32_t n);

int resolve_answer_write(struct answer_writer *w, int fd);

#endif
