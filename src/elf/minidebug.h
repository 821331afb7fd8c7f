/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * MiniDebugInfo: function symbols that distributions ship with stripped programs.
 */
#ifndef ELF_MINIDEBUG_H
#define ELF_MINIDEBUG_H

#include <stddef.h>
#include <stdint.h>

struct elf;

/*
 * The ELF file in section .gnu_debugdata of @e, unpacked into *ret_data: at most @budget bytes, to be freed after
 * *ret. -ENOENT without the section, -E2BIG, -EBADMSG, -ENOMEM.
 */
int minidebug_open(struct elf *e, size_t budget, uint8_t **ret_data, struct elf **ret);

#endif
