/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One pcapng block in a buffer. Little endian, as the machines we run on are. Errors stay in the buffer
 * (buf_error()), so a block is built first and checked once.
 */
#ifndef SINKS_PCAPNG_BLOCK_H
#define SINKS_PCAPNG_BLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Empties @b and begins a block in it. */
void pcapng_block_begin(struct buf *b, uint32_t type);
void pcapng_block_u16(struct buf *b, uint16_t v);
void pcapng_block_u32(struct buf *b, uint32_t v);
void pcapng_block_u64(struct buf *b, uint64_t v);
void pcapng_block_time(struct buf *b, uint64_t ns);		      /* u32 high, u32 low */
void pcapng_block_bytes(struct buf *b, const void *data, size_t len); /* padded to 4 */

/* An option; data beyond 65535 bytes is left away (text at a character boundary). */
void pcapng_block_opt(struct buf *b, uint16_t code, const void *data, size_t len);
void pcapng_block_opt_str(struct buf *b, uint16_t code, const char *s);
void pcapng_block_opt_u32(struct buf *b, uint16_t code, uint32_t v);
void pcapng_block_opt_u64(struct buf *b, uint16_t code, uint64_t v);
void pcapng_block_opt_end(struct buf *b);

/* Ends the options and the block. 0, or the first error since pcapng_block_begin(). */
int pcapng_block_end(struct buf *b);

#endif
