/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Recordings (.rec): the raw records of the rings in a file.
 *
 *   struct sonde_rec_file                                64 bytes (file.header_len: later versions may be longer)
 *   { struct sonde_rec_frame, payload, zero padding }*   each frame begins at a multiple of 8
 *
 * A payload is a record of wire.h, starting with struct sonde_rec; its hdr.len equals the frame's len. All numbers
 * are little endian. The CRC is that of zlib (ISO 3309), over the frame's len and the payload.
 *
 * A file is readable up to its last complete frame: a writer that fails truncates it there, and a reader that finds
 * an incomplete frame delivers the frames before it and reports the truncation. A wrong CRC ends the reading.
 *
 * Later readers of a major version read all its minor versions, which only add. Files are not readable across major
 * versions: they are meant for bug reports, tests and short-term storage.
 */
#ifndef SONDE_REC_H
#define SONDE_REC_H

#include "sonde/wire.h"

/* Like PNG's: a byte above 0x7f and a CR LF reveal a transfer in text mode. */
#define SONDE_REC_MAGIC "\x93SONDE\r\n"
#define SONDE_REC_MAGIC_LEN 8
#define SONDE_REC_MAJOR 1
#define SONDE_REC_MINOR 1	/* 1: identity blocks (SONDE_RF_IDENT) */
#define SONDE_REC_BYTE_ORDER 0x01020304u
#define SONDE_REC_MAX_BYTES (1u << 20)	/* of one record */
#define SONDE_REC_ALIGN 8

struct sonde_rec_file {
	char magic[SONDE_REC_MAGIC_LEN];
	__u16 major, minor;
	__u32 byte_order;	/* SONDE_REC_BYTE_ORDER as the writer stores it */
	__u16 header_len;	/* bytes until the first frame, a multiple of SONDE_REC_ALIGN */
	__u16 rec_len;		/* sizeof(struct sonde_rec) of the writer */
	__u32 page_size;	/* of the recorded host; 0 = not known */
	char release[36];	/* of its kernel, truncated, NUL-padded; complete in the host record */
	__u32 crc;		/* of the bytes before */
};

struct sonde_rec_frame {
	__u32 len;		/* of the payload in bytes, padding not counted */
	__u32 crc;
};

#ifndef __cplusplus
_Static_assert(sizeof(struct sonde_rec_file) == 64, "the file header is ABI");
_Static_assert(sizeof(struct sonde_rec_frame) == 8, "the frame is ABI");
#endif

#endif
