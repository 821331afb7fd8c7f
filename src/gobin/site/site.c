// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See place.h.
 */
#include "gobin/site/site.h"

#include <elf.h>
#include <errno.h>

int site_choose(uint16_t machine, const uint8_t *code, size_t len, struct site *ret)
{
	if (machine == EM_X86_64)
		return site_x86(code, len, ret);
	if (machine == EM_AARCH64)
		return site_arm64(code, len, ret);
	return -EOPNOTSUPP;
}
