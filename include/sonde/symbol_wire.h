/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Functions of the user space addresses in a recording. A recorder appends them at the end, so that a replay needs no
 * file of the recorded host. One record per module; a module with many locations has several.
 *
 * A module is named as the mapping records name it (struct sonde_mmap_rec): by build id if one is known, else by
 * device, inode and generation.
 */
#ifndef SONDE_SYMBOL_WIRE_H
#define SONDE_SYMBOL_WIRE_H

#include "sonde/wire.h"

#define SONDE_EV_SYMBOLS SONDE_EV(0, 9)

/* Kinds of modules. Append only. */
#define SONDE_SYMBOLS_FILE 1	/* addresses are offsets in the file */
#define SONDE_SYMBOLS_JIT 2	/* code of the process hdr.tgid, hdr.start_ns; addresses are the process's */
#define SONDE_SYMBOLS_VDSO 3	/* addresses are offsets in the vDSO */

struct sonde_symbols_rec {
	struct sonde_rec hdr;
	__u64 ino;		/* 0 = unknown */
	__u32 dev;		/* major << 20 | minor */
	__u32 ino_generation;
	__u8 build_id[20];
	__u8 build_id_len;	/* 0 = unknown */
	__u8 kind;		/* SONDE_SYMBOLS_* */
	__u16 n;		/* locations after the struct */
};

/* A location, followed by n_funcs functions: inlined ones first, innermost first. */
struct sonde_symbol_loc {
	__u64 addr;
	__u8 caller;		/* a return address: the instruction before it was looked up */
	__u8 n_funcs;		/* 0 = the file has no name for it */
	__u8 pad[6];
};

/* Followed by name, raw name and file, without NUL; unaligned. */
struct sonde_symbol_func {
	__u64 off;		/* from the start of the function, bytes */
	__u64 start;		/* of the function, like addr; 0 = unknown */
	__u32 line;		/* 0 = unknown */
	__u16 name_len;
	__u16 raw_len;		/* 0 = the same as the name */
	__u16 file_len;		/* 0 = unknown */
	__u16 pad[3];
};

#ifndef __cplusplus
_Static_assert(sizeof(struct sonde_symbols_rec) == 40 + 40, "sonde_symbols_rec is ABI");
_Static_assert(sizeof(struct sonde_symbol_loc) == 16, "sonde_symbol_loc is ABI");
_Static_assert(sizeof(struct sonde_symbol_func) == 32, "sonde_symbol_func is ABI");
#endif

#endif
