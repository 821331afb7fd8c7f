/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names for the addresses of stacks. Two steps, because a process may have exited before its names are needed:
 *
 * 1. sym_event() and sym_locate(), as events pass: mappings of each process by time; an address becomes a location
 *    (module, address in the module). Cheap; the only I/O opens each new file.
 * 2. sym_frames(), later and in batches: location to functions, file, line. The files are parsed in src/worker.
 *
 * Locations of two processes that run the same file are equal, so stacks are compared by locations.
 */
#ifndef SYM_SYM_H
#define SYM_SYM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct event;
struct sonde_rec;
struct sym;

/* Files of the host that may be read for names. */
enum sym_files {
	SYM_FILES_ANY,
	SYM_FILES_BY_ID,	/* below host_root, if their build id is that of the mapping */
	SYM_FILES_NONE,		/* a replay: names come from the recording */
	SYM_FILES__MAX,
};

struct sym_opts {
	bool live;		/* files may be opened through /proc/PID; else by path, if the build id matches */
	enum sym_files files;
	bool lines;		/* file and line, inlined functions (DWARF) */
	bool raw_names;		/* no demangling */
	bool collects;		/* a replay: sym_collect() takes the locations without a name in the recording */
	const char *host_root;	/* NULL = "/" */
	const char *debug_dirs;	/* colon-separated; NULL = /usr/lib/debug */
	uint64_t budget_bytes;	/* limit of names and tables kept; 0 = 32 MiB */
};

int sym_new(const struct sym_opts *o, struct sym **ret, struct err *err);
void sym_free(struct sym *s);	/* NULL is fine */

/* Learns from state events: mappings, exec, fork, exit; by field names, not by probe. 0 or -ENOMEM. */
int sym_event(struct sym *s, const struct event *ev);

enum sym_module_kind {
	SYM_UNKNOWN,		/* module 0: an address outside all known mappings */
	SYM_FILE,		/* ELF file; addr is an offset in the file: always known, independent of its
				 * segments */
	SYM_JIT,		/* anonymous code of one process (perf map, jitdump); addr is the process's */
	SYM_VDSO,		/* addr is an offset in its image */
	SYM_KERNEL,		/* kernel, modules, BPF programs; addr is the kernel's */
	SYM__MAX,
};

struct sym_loc {
	uint32_t module;	/* index for sym_module() */
	uint32_t pad;
	uint64_t addr;
};

struct sym_module {
	enum sym_module_kind kind;
	const char *path;	/* as seen by the process; also "[vdso]", "[kernel.kallsyms]", "//anon" */
	const char *build_id;	/* hex; "" = unknown */
	const char *trouble;	/* why it has no names, a sentence; "" = no reason known */
	uint64_t start, limit, offset;	/* one mapping of a SYM_FILE: addr lies at start + addr - offset (pprof) */
};

/* Locations of the stack of @ev, innermost first, at most @cap. Returns how many. */
size_t sym_locate_user(struct sym *s, const struct event *ev, struct sym_loc *ret, size_t cap);
size_t sym_locate_kernel(struct sym *s, const struct event *ev, struct sym_loc *ret, size_t cap);

/* Changes with the mappings of the process of @ev: while it is the same, equal addresses are equal locations. */
uint64_t sym_generation(struct sym *s, const struct event *ev);

const struct sym_module *sym_module(const struct sym *s, uint32_t module);	/* never NULL */
uint32_t sym_n_modules(const struct sym *s);

/* One function of a location. Innermost inlined function first, the outermost real one last. */
struct sym_func {
	const char *name;	/* demangled; "" = unknown */
	const char *raw;	/* as in the symbol table */
	uint64_t off;		/* bytes from the function's start */
	const char *file;	/* "" = unknown */
	uint32_t line;		/* 0 = unknown */
	uint64_t start;		/* start of the function, like its location's addr; 0 = unknown */
};

struct sym_frame {
	const struct sym_func *funcs;	/* owned by the symbolizer until sym_free() */
	uint32_t n;			/* at least 1 */
};

/*
 * Names @n locations; looks up each unique one once and keeps it. @caller: the location is a return address, so the
 * instruction before it counts. 0, or -ENOMEM; functions without a name have "".
 */
struct sym_query { struct sym_loc loc; bool caller; };
int sym_frames(struct sym *s, const struct sym_query *q, size_t n, struct sym_frame *ret);

/*
 * A frame that a signal put on the stack: the trampoline behind a handler, or a call that Go's handler injected
 * (runtime/preempt.go, runtime/signal_amd64.go). The address behind it is that of the interrupted instruction.
 */
bool sym_stack_by_signal(const struct sym_frame *f);

/*
 * sym_frames() for whole stacks, innermost frame first: the first of each has no `caller`, all others have. Queries
 * behind a frame by a signal lose it.
 */
int sym_stack_frames(struct sym *s, struct sym_query *q, size_t n, struct sym_frame *ret);

/*
 * For recordings, of a live run or with sym_opts.collects: keeps the locations of @ev's stack; at the end, names all
 * of them and passes them to
 * @fn as records (sonde/symbol_wire.h) without time; *ret_missing is the number of locations whose file could not be
 * read. 0, -ENOMEM or the error of @fn. In a replay, sym_event() takes the records.
 */
int sym_collect(struct sym *s, const struct event *ev);
int sym_collect_write(struct sym *s, int (*fn)(void *ctx, struct sonde_rec *r, size_t len), void *ctx,
		      uint64_t *ret_missing);

/*
 * For a caller that dropped its rights: from here on @open(ctx, path) opens files of the host, by asking a privileged
 * process for sym_open_elf(): a regular file with an ELF header, read-only, or -errno.
 */
void sym_set_open(struct sym *s, int (*open)(void *ctx, const char *path), void *ctx);
int sym_open_elf(const struct sym *s, const char *path);
int sym_root_fd(const struct sym *s);	/* descriptor that sym_open_elf() needs to stay open */

struct sym_stats {
	uint64_t files, located, unlocated, named, unnamed, refused_files;
};
void sym_stats(const struct sym *s, struct sym_stats *ret);

#endif
