// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See place.h.
 */
#include "gobin/place.h"

#include <elf.h>
#include <errno.h>

int place_choose(uint16_t machine, const uint8_t *code, size_t len, struct place *ret)
{
	if (machine == EM_X86_64)
		return place_x86(code, len, ret);
	if (machine == EM_AARCH64)
		return place_arm64(code, len, ret);
	return -EOPNOTSUPP;
}
