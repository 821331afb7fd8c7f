// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Instructions of a function: the place chosen lies within them, whatever they are. The first byte says which
 * machine, and how far a function lies that it may call.
 */
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>

#include "gobin/goroutine.h"
#include "gobin/site/site.h"

#define ADDR 0x1000

static void check(const struct site *p, size_t len)
{
	if (p->kind >= GOBIN_SITE_KIND__MAX || !p->len || p->off > len || p->len > len - p->off)
		abort();
}

/* Parts without a frame at every fifth byte. */
static void take_returns(uint16_t machine, const uint8_t *data, size_t len)
{
	struct site_returns r = { .machine = machine, .code = data, .len = len, .entry = ADDR };

	if (site_choose(machine, data, len, &r.check) < 0)
		return;
	for (size_t at = 0; at < len; at += 5)
		site_returns_part(&r, ADDR + at, ADDR + at + 5, 0);
	for (uint32_t i = 0; i < r.n; i++)
		if (r.off[i] >= len)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const uint16_t machine = len && data[0] & 1 ? EM_AARCH64 : EM_X86_64;
	const uint64_t callee = ADDR + (len ? data[0] & ~3u : 0);
	struct site p;

	goroutine_tls_off(data, len);
	if (!len--)
		return 0;
	data++;
	if (site_choose(machine, data, len, &p) == 0)
		check(&p, len);
	if (site_after_call(machine, data, len, ADDR, callee, &p) == 0)
		check(&p, len);
	if (site_after_slice(machine, data, len, ADDR, callee, &p) == 0)
		check(&p, len);
	take_returns(machine, data, len);
	return 0;
}
