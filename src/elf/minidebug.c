// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * MiniDebugInfo: an xz-compressed ELF file in .gnu_debugdata that holds symbols of functions only.
 *
 * Format: GDB manual, "MiniDebugInfo"; the .xz file format.
 */
#include "elf/minidebug.h"

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "elf/elf.h"

/* xz -9 needs 65 MiB to unpack; distributions use at most 9 */
#define UNPACK_MEMORY_BYTES (80ull << 20)

/* Unpacks until the end of the stream or of the budget. */
static int unpack(lzma_stream *z, size_t budget, uint8_t **buf, size_t *ret_len)
{
	size_t cap = 0;
	lzma_ret r = LZMA_OK;

	while (r == LZMA_OK) {
		if (z->total_out == cap) {
			size_t next = MIN(cap ? 2 * cap : 65536, budget);
			uint8_t *p = next > cap ? realloc(*buf, next) : NULL;

			if (!p)
				return next > cap ? -ENOMEM : -E2BIG;
			*buf = p;
			cap = next;
		}
		z->next_out = *buf + z->total_out;
		z->avail_out = cap - (size_t)z->total_out;
		r = lzma_code(z, LZMA_FINISH);
	}
	*ret_len = (size_t)z->total_out;
	if (r == LZMA_STREAM_END)
		return 0;
	return r == LZMA_MEM_ERROR ? -ENOMEM : -EBADMSG;
}

int minidebug_open(struct elf *e, size_t budget, uint8_t **ret_data, struct elf **ret)
{
	lzma_stream z = LZMA_STREAM_INIT;
	_cleanup_free_ uint8_t *buf = NULL;
	struct elf_section s;
	const uint8_t *packed;
	size_t packed_len, len;
	int r = elf_section_find(e, ".gnu_debugdata", &s);

	if (r == 0)
		r = elf_section_data(e, &s, &packed, &packed_len);
	if (r < 0)
		return r;
	if (lzma_stream_decoder(&z, UNPACK_MEMORY_BYTES, 0) != LZMA_OK)
		return -ENOMEM;
	z.next_in = packed;
	z.avail_in = packed_len;
	r = unpack(&z, budget, &buf, &len);
	lzma_end(&z);
	if (r == 0)
		r = elf_open_mem(buf, len, budget, ret);
	if (r == 0)
		*ret_data = TAKE_PTR(buf);
	return r;
}
