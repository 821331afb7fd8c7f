/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Builds one pcapng block in a buffer, little endian like all supported machines. Errors stick to the buffer
 * (buf_error()): build the block, then check once.
 */
#ifndef SINKS_PCAPNG_BLOCK_H
#define SINKS_PCAPNG_BLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Clears @b and starts a block. */
void pcapng_block_begin(struct buf *b, uint32_t type);
void pcapng_block_time(struct buf *b, uint64_t ns);		      /* u32 high, u32 low */
void pcapng_block_bytes(struct buf *b, const void *data, size_t len); /* padded to 4 bytes */

/* Adds an option; truncates data to 65535 bytes (text at a character boundary). */
void pcapng_block_opt(struct buf *b, uint16_t code, const void *data, size_t len);
void pcapng_block_opt_str(struct buf *b, uint16_t code, const char *s);
void pcapng_block_opt_u32(struct buf *b, uint16_t code, uint32_t v);
void pcapng_block_opt_u64(struct buf *b, uint16_t code, uint64_t v);
void pcapng_block_opt_end(struct buf *b);

/* Closes the options and the block. 0, or the first error since pcapng_block_begin(). */
int pcapng_block_end(struct buf *b);

#endif
