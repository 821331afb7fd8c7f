/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Encoded pointers of .eh_frame and .eh_frame_hdr.
 * Format: Linux Standard Base, "DWARF Exception Header Encoding".
 */
#ifndef ELF_EHFRAME_POINTER_H
#define ELF_EHFRAME_POINTER_H

#include <stdint.h>

#include "base/cursor.h"

#define EHFRAME_PE_FORMAT 0x0f	/* of an encoding: size and sign */
#define EHFRAME_PE_BASE 0x70	/* what the value is relative to */

/*
 * Decodes the value at @c by DW_EH_PE encoding @enc. @bytes and @section are the same position in memory and as
 * virtual address, the base of relative values. -EBADMSG, -ENOTSUP for encodings that no linker writes here.
 */
int ehframe_pointer(struct cursor *c, uint8_t enc, const uint8_t *bytes, uint64_t section, uint64_t *ret);

/* Skips an unneeded pointer. -EBADMSG, -ENOTSUP. */
int ehframe_pointer_skip(struct cursor *c, uint8_t enc, const uint8_t *bytes, uint64_t section);

#endif
