/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CRC-32C (Castagnoli), RFC 3720 appendix B.4: by the CPU's instruction where it has one.
 */
#ifndef STORE_CRC32C_H
#define STORE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Continues @crc, 0 at the start, over @len bytes. */
uint32_t crc32c(uint32_t crc, const void *data, size_t len);

#endif
