// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A function returns where its frame is gone again: there the stack pointer is back at its value at the call, which
 * .gopclntab records, and the bytes are a return instruction. The code that grows the stack, at the end, has no frame
 * either: the branch of the stack check leads there.
 */
#include "gobin/site/site.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/macros.h"

#define RET_X86 0xc3
#define RET_ARM64 0xd65f03c0u

static bool is_return(const struct site_returns *s, uint64_t at)
{
	uint32_t insn = 0;

	if (s->machine == EM_X86_64)
		return at < s->len && s->code[at] == RET_X86;
	if (at + sizeof(insn) > s->len)
		return false;
	memcpy(&insn, s->code + at, sizeof(insn));
	return insn == RET_ARM64;
}

/* Target of the branch at @check, from the entry. */
static uint64_t target_of(const struct site_returns *s, const struct site *check)
{
	const uint8_t *code = s->code + check->off;
	int32_t distance = 0;

	if (check->kind != GOBIN_AT_BRANCH || (uint64_t)check->off + check->len > s->len)
		return 0;
	if (check->len == 2)
		return check->off + 2 + (uint64_t)(int64_t)(int8_t)code[1];
	memcpy(&distance, code + (s->machine == EM_X86_64 ? 2 : 0), sizeof(distance));
	if (s->machine == EM_X86_64)
		return check->off + check->len + (uint64_t)(int64_t)distance;
	return check->off + (uint64_t)(int64_t)((int32_t)((uint32_t)distance << 8) >> 13) * 4;
}

int site_returns_part(void *ctx, uint64_t start, _unused_ uint64_t end, int32_t bytes)
{
	struct site_returns *s = ctx;
	uint64_t at = start - s->entry;

	if (bytes || start <= s->entry)
		return 0;
	if (is_return(s, at)) {
		if (s->n == GOBIN_RETURNS_MAX)
			return -EBADMSG;
		s->off[s->n++] = (uint32_t)at;
		return 0;
	}
	return at == target_of(s, &s->check) ? 0 : -EBADMSG;
}
