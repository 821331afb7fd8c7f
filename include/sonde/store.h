/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Stores: a directory of segments, each a file of raw records (wire.h) that is readable alone.
 *
 *   DIR/lock                       held by the writer (flock), with its pid as text
 *   DIR/0000000000000042.part      being written; renamed once it is complete and synced:
 *   DIR/0000000000000042.seg       sealed, never changed again; removed by retention, oldest first
 *   DIR/0000000000000042.keep      sealed, and not removed by retention
 *
 *   segment = struct sonde_store_head in 4096 bytes | { block }* | index | struct sonde_store_foot
 *   block   = one zstd frame (window 1 MiB) of at most 1 MiB of records and one record more, cut into
 *   chunk   = struct sonde_store_chunk | clen bytes of the frame | zeros to a multiple of 8
 *   index   = chunk of kind INDEX, not compressed: struct sonde_store_index and what follows it there
 *
 * Each chunk of a block ends with a flush of the frame, so a reader decompresses up to any whole chunk of a file that
 * is being written or is torn. A chunk holds whole records, each padded with zeros to a multiple of 8.
 *
 * Roles of blocks: DATA has the stream. STATE has the state at the start of the segment (processes, mappings, sockets
 * and names), for a reader that did not read the segment before; the first segment of a run has it in the stream.
 * COPY repeats the state records of earlier DATA blocks, one chunk for each of them, for a reader that skips those.
 * NAMES has the symbols of the segment's stacks and the ledgers, last.
 *
 * Damage ends a block; reading continues at the next chunk of kind BLOCK. All numbers are little endian. The checksum
 * is CRC-32C (Castagnoli, RFC 3720 appendix B.4). Readers of a major version read all its minor versions.
 */
#ifndef SONDE_STORE_H
#define SONDE_STORE_H

#include "sonde/wire.h"

/* Like PNG's: a byte above 0x7f and a newline reveal a transfer in text mode. */
#define SONDE_STORE_MAGIC "\x93SONDST\n"
#define SONDE_STORE_MAGIC_LEN 8
#define SONDE_STORE_FOOT_MAGIC "\x93SONDFT\n"
#define SONDE_STORE_MAJOR 1
#define SONDE_STORE_MINOR 0
#define SONDE_STORE_BYTE_ORDER 0x01020304u
#define SONDE_STORE_HEAD_BYTES 4096
#define SONDE_STORE_ALIGN 8
#define SONDE_STORE_BLOCK_BYTES (1u << 20)	/* of records; a block ends with the record that reaches it */
#define SONDE_STORE_CHUNK_BYTES (32u << 10)	/* of records; a chunk ends with the record that reaches it */
#define SONDE_STORE_WINDOW_LOG 20
#define SONDE_STORE_RAW_MAX_BYTES (2u << 20)	/* of the records of a chunk */
#define SONDE_STORE_STORED_MAX_BYTES (3u << 20)	/* of a chunk of records in the file */
#define SONDE_STORE_INDEX_MAX_BYTES (256u << 20)

struct sonde_store_head {
	char magic[SONDE_STORE_MAGIC_LEN];
	__u16 major, minor;
	__u32 byte_order;	/* SONDE_STORE_BYTE_ORDER as the writer stores it */
	__u32 must_understand;	/* features; a reader refuses a file with an unknown one. None so far */
	__u32 may_ignore;	/* features that a reader may ignore. None so far */
	__u32 head_len;		/* bytes until the first chunk: SONDE_STORE_HEAD_BYTES */
	__u16 rec_len;		/* sizeof(struct sonde_rec) of the writer */
	__u16 pad;
	__u64 number;		/* of the segment: that of its file name */
	__u64 first;		/* number of the first segment of the run */
	__u64 run;		/* random number of the writer's run: numbers and clocks of one run compare */
	__u64 start_ns;		/* when the segment began, CLOCK_BOOTTIME */
	__s64 clock_offset_ns;	/* CLOCK_REALTIME - CLOCK_BOOTTIME then */
	__u8 boot_id[16];	/* /proc/sys/kernel/random/boot_id; zeros = unknown */
	__u8 machine_id[16];	/* /etc/machine-id; zeros = unknown */
	char host[64];		/* truncated, NUL-terminated like the next ones */
	char release[64];	/* uname -r */
	char options[3832];	/* the writer's command line */
	__u8 zero[28];
	__u32 crc;		/* of the bytes before */
};

/* Kinds of chunks; bytes that no text and no record begins with. */
#define SONDE_STORE_BLOCK 0xb10c5e93u	/* first chunk of a block */
#define SONDE_STORE_MORE 0x304e5e93u	/* a further one */
#define SONDE_STORE_INDEX 0x1d8e5e93u

/* Roles. Append only. */
#define SONDE_STORE_DATA 0
#define SONDE_STORE_STATE 1
#define SONDE_STORE_COPY 2
#define SONDE_STORE_NAMES 3
#define SONDE_STORE_ROLE__MAX 4

#define SONDE_STORE_LAST 1	/* flag: the last chunk of its block, which ends the frame */

struct sonde_store_chunk {
	__u32 kind;		/* SONDE_STORE_BLOCK, MORE, INDEX */
	__u8 role;		/* SONDE_STORE_DATA ... of its block */
	__u8 flags;		/* SONDE_STORE_LAST */
	__u16 pad;
	__u32 clen;		/* bytes after this struct, padding not counted */
	__u32 rlen;		/* bytes of records; of an index: clen */
	__u32 n;		/* records */
	__u32 crc;		/* of the chunk without padding, with 0 here */
	__u64 t_min, t_max;	/* least and greatest ts_ns of its records; 0 if n is 0 */
};

/* Kinds of keys that find a block, in the order of its filters. Append only. */
#define SONDE_STORE_BY_PROCESS 0	/* tgid */
#define SONDE_STORE_BY_SOCKET 1	/* sonde_ident.sock */
#define SONDE_STORE_BY_CALL 2		/* sonde_ident.call */
#define SONDE_STORE_BY_FILE 3		/* sonde_ident.file */
#define SONDE_STORE_BY__MAX 4

#define SONDE_STORE_HASHES 4	/* bits per key in a filter */

/* Flags of an indexed block. */
#define SONDE_STORE_HAS_LOSS 1
#define SONDE_STORE_HAS_TRIGGER 2
#define SONDE_STORE_HAS_OPEN 4	/* records whose process was not known yet: any process may be in the block */

struct sonde_store_block {
	__u64 off;		/* in the file, of its first chunk */
	__u32 len;		/* bytes in the file */
	__u32 rlen, n;		/* sums over its chunks */
	__u8 role, flags;	/* SONDE_STORE_HAS_* */
	__u16 n_counts;		/* struct sonde_store_count, from counts on */
	__u64 t_min, t_max;
	__u32 counts;		/* index of the first */
	__u32 covers;		/* COPY: first block of the index that it covers; as many as it has chunks */
	__u32 n_chunks;
	__u32 filter[SONDE_STORE_BY__MAX];	/* offset in the filter bytes */
	__u16 filter_log2[SONDE_STORE_BY__MAX];	/* bits, as an exponent; 0 = no key */
	__u32 pad;
};

/* Records of a probe in a block. */
struct sonde_store_count {
	__u32 probe;		/* type >> 8 */
	__u32 n;
	__u64 bytes;
};

/* Followed by struct sonde_store_block[n_blocks], struct sonde_store_count[n_counts], filter_len bytes. */
struct sonde_store_index {
	__u32 n_blocks, n_counts, filter_len, pad;
	__s64 offset_min_ns, offset_max_ns;	/* of the clock records in the segment */
};

struct sonde_store_foot {
	char magic[SONDE_STORE_MAGIC_LEN];	/* SONDE_STORE_FOOT_MAGIC */
	__u64 index_off;	/* of the index's chunk */
	__u64 t_min, t_max;	/* of DATA blocks */
	__u64 n;		/* records of DATA blocks */
	__u64 lost;		/* records that the writer had to leave out */
	__u32 index_len;	/* its chunk with padding */
	__u32 crc_pad;
	__u32 pad;
	__u32 crc;		/* of the bytes before */
};

#ifndef __cplusplus
_Static_assert(sizeof(struct sonde_store_head) == SONDE_STORE_HEAD_BYTES, "the head is ABI");
_Static_assert(sizeof(struct sonde_store_chunk) == 40, "the chunk is ABI");
_Static_assert(sizeof(struct sonde_store_block) == 80, "the block is ABI");
_Static_assert(sizeof(struct sonde_store_foot) == 64, "the foot is ABI");
#endif

#endif
