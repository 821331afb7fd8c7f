// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/process/heap.h"

#include <malloc.h>

#define OWN_MAPPING_BYTES (256 << 10)
#define KEPT_BLOCK_BYTES (32 << 20)	/* the limit of mallopt(3) */
#define KEPT_BYTES (128 << 20)

void heap_return_large(void)
{
	mallopt(M_MMAP_THRESHOLD, OWN_MAPPING_BYTES);
}

void heap_keep(void)
{
	mallopt(M_MMAP_THRESHOLD, KEPT_BLOCK_BYTES);
	mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
}

void heap_let_go(void)
{
	mallopt(M_MMAP_THRESHOLD, OWN_MAPPING_BYTES);
	mallopt(M_TRIM_THRESHOLD, OWN_MAPPING_BYTES);
	malloc_trim(0);
}
