/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Addresses of one file to functions, in a worker: the request goes in as the copy that fork makes, the answer comes
 * back as bytes that are not trusted either.
 *
 * resolve_run() is the worker's function (worker_call(.., resolve_run, &request, fd, ..)); what it writes is read
 * by resolve_answer_parse(), which checks everything against the request.
 *
 * One call per file. Where an object has a separate debug file, both are asked for the same addresses (virtual
 * addresses are equal in both) and resolve_better() says which answer to take for each.
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
	bool lines;		/* file and line, and inlined functions */
	bool raw_names;		/* no demangling */
	const uint64_t *addrs;	/* ascending, each once; virtual addresses of the file, or of the process for JITs */
	uint32_t n;
	size_t budget_bytes;	/* memory for the file's parts; 0 = 160 MiB, fits a worker's default limit */
};

#define RESOLVE_INLINED_MAX 32	/* inlined functions of one address; the outer ones beyond are left out */

/* The best source that named an address; later ones are better. */
enum resolve_quality {
	RESOLVE_UNKNOWN,
	RESOLVE_STUB,		/* procedure linkage table */
	RESOLVE_SYMBOL,		/* symbol table, perf map, jitdump */
	RESOLVE_LINE,		/* with a source line */
	RESOLVE_QUALITY__MAX,
};

struct resolve_func {		/* strings are the answer's, never NULL; they may hold any byte but NUL */
	const char *name;	/* for people; == raw when there is no other form */
	const char *raw;	/* as in the symbol table */
	uint64_t start;		/* address of the function; 0 = unknown */
	const char *file;	/* "" = unknown */
	uint32_t line;		/* 0 = unknown */
};

struct resolve_addr {
	enum resolve_quality quality;
	uint32_t n;		/* functions, innermost inlined one first, the real one last; 0 = unknown */
	const struct resolve_func *funcs;
};

struct resolve_answer {
	uint32_t n;		/* as asked */
	struct resolve_addr *addrs;
	struct resolve_func *funcs;
	char *strings;
};

/* worker_fn. @ctx: struct resolve_request. Exit status 0, or the positive errno of why there is no answer. */
int resolve_run(void *ctx, int in_fd, int out_fd);

/* Most bytes of an answer, for worker_call()'s buffer. */
size_t resolve_answer_cap(const struct resolve_request *q);

/* @data is copied. -EBADMSG when it is no answer to @q, -ENOMEM. */
int resolve_answer_parse(const struct resolve_request *q, const void *data, size_t len, struct resolve_answer **ret);
void resolve_answer_free(struct resolve_answer *a);	/* NULL is fine */

/* The better of two answers for the same address: by quality, then by more inlined functions; @a when equal. */
const struct resolve_addr *resolve_better(const struct resolve_addr *a, const struct resolve_addr *b);

#endif
