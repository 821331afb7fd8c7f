/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parameters and results of a symbolizer: options, locations of addresses, functions of locations.
 */
#ifndef SYM_SYM_TYPES_H
#define SYM_SYM_TYPES_H

#include <stdbool.h>
#include <stdint.h>

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

/* A location to name. @caller: it is a return address, so the instruction before it counts. */
struct sym_query { struct sym_loc loc; bool caller; };

struct sym_stats {
	uint64_t files, located, unlocated, named, unnamed, refused_files;
};

#endif
