/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Resolves addresses of one file to functions, in a worker: the request is inherited through fork, the answer comes
 * back as untrusted bytes.
 *
 * resolve_run() is the worker's function (worker_call(.., resolve_run, &request, fd, ..)); resolve_answer_parse()
 * parses its output and checks all of it against the request.
 *
 * One call per file. If an object has a separate debug file, both are asked for the same addresses (virtual addresses
 * are equal in both) and resolve_better() selects an answer for each.
 */
#ifndef ELF_RESOLVE_H
#define ELF_RESOLVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* worker_fn. @ctx: struct resolve_request. Exit status 0, or the positive errno of the failure. */
int resolve_run(void *ctx, int in_fd, int out_fd);

/* Maximum size of an answer, for worker_call()'s buffer. */
size_t resolve_answer_cap(const struct resolve_request *q);

/* @data is copied. -EBADMSG if it is not an answer to @q, -ENOMEM. */
int resolve_answer_parse(const struct resolve_request *q, const void *data, size_t len, struct resolve_answer **ret);
void resolve_answer_free(struct resolve_answer *a);	/* NULL is fine */

/* The better of two answers for the same address: by quality, then by number of inlined functions; ties go to @a. */
const struct resolve_addr *resolve_better(const struct resolve_addr *a, const struct resolve_addr *b);

#endif
