/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Data of a symbolizer and its modules, shared by its parts: events (sym.c), modules (module.c, jit.c), locations
 * (locate.c), names (frames.c, prefetch.c, lookup.c). Private to src/sym.
 */
#ifndef SYM_SYMBOLIZER_H
#define SYM_SYMBOLIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/list.h"
#include "base/map.h"
#include "base/vec.h"
#include "elf/elf.h"
#include "sym/maps/maptab.h"
#include "sym/sym_types.h"

/* Modules that always exist, by index. */
enum { MODULE_UNKNOWN, MODULE_KERNEL, MODULE_VDSO, MODULE_ANON, MODULE__FIXED };

/* Identity of a file as events and fstat() report it: one of several kinds, see module.c. */
struct file_key { uint64_t w[4]; };

/* Where a mapping of a file was last seen, to open it again. */
struct seen {
	struct map_key key;
	uint64_t start, end, ino;
};

struct module {
	struct sym_module pub;		/* path and build_id are owned */
	struct list age;			/* in sym.open by last use; unlinked when fd is -1 */
	int fd;				/* of a file; of a perf map */
	int dump_fd;			/* of a jitdump */
	int debug_fd;			/* of its separate debug file */
	bool debug_by_link, no_debug;	/* found by its name; searched without success */
	char *trouble;			/* owned; behind pub.trouble */
	uint8_t id[ELF_BUILD_ID_MAX];	/* reported by events; id_len 0 = none */
	uint8_t id_len;
	bool refused;			/* its bytes crashed a reader: never retry */
	bool wrong;			/* the build id differs: another file */
	struct seen seen;
	uint64_t ino;			/* by which mappings named it; 0 = by build id only */
	uint32_t dev, generation;	/* of ino */
	uint32_t uid, ns_tgid;		/* JIT: its process */
	uint64_t retry_ns, retry_step_ns;	/* JIT: time of the next search for the map, in event time */
	uint64_t read_bytes;		/* JIT: size of the map when it was last read */
	void *first_answer;		/* owned; from lookup_prefetch(), until lookup_module() */
	size_t first_len;
};

/* A location of a stack that a recording has. */
struct sym_collected { uint64_t addr; uint32_t module, caller; };

/* Name of a kernel address. */
struct kernel_name { const char *name; uint64_t off; uint32_t module; uint32_t pad; };

struct sym {
	struct sym_opts o;		/* strings owned */
	int proc_fd, root_fd;		/* of the host; -1 = not live, or none */
	int (*open_path)(void *ctx, const char *path);	/* NULL = opened by this process */
	void *open_ctx;
	struct maptab *maps;
	VEC(struct module *) modules;
	struct map by_file;		/* struct file_key -> uint32_t module */
	struct map by_kmod;		/* uint64_t hash of the name -> uint32_t module */
	struct map kernel;		/* uint64_t address -> struct kernel_name */
	struct map frames;		/* struct frame_key -> struct sym_frame; frames.c */
	struct map texts;		/* uint64_t hash -> const char *: every name once */
	struct map collected;		/* struct sym_collected, for the recording */
	struct map recorded;		/* names of a recording; recorded.c */
	struct sym_loc *stack;		/* owned; of the event at hand */
	struct arena arena;		/* size of funcs and texts */
	struct list open;		/* modules with a descriptor, oldest first */
	size_t n_open, max_open;
	size_t vdso_len;		/* size of the vDSO; 0 = replay */
	uint64_t wasted_ns;		/* in this call of sym_frames(): time spent on files without a result */
	struct sym_stats stats;
};

#endif
