// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The first instructions of a function: the place chosen lies within them, whatever they are. The first byte says
 * which machine.
 */
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>

#include "gobin/site.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct site p;

	if (!len || site_choose(data[0] & 1 ? EM_AARCH64 : EM_X86_64, data + 1, len - 1, &p) < 0)
		return 0;
	if (p.kind >= GOBIN_SITE_KIND__MAX || !p.len || p.off > len - 1 || p.len > len - 1 - p.off)
		abort();
	return 0;
}
