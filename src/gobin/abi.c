// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See abi.h. An argument goes to registers as a whole or to the stack as a whole; an argument after one on the stack
 * may still get registers.
 */
#include "gobin/abi.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"

#define STACK_FIRST 8		/* bytes above the stack pointer at entry: after the return address or its slot */

struct leaf {
	const char *suffix;
	uint8_t off, size;
};

struct kind {
	char letter;
	uint8_t size, align;
	struct leaf leaves[5];
};

static const struct kind kinds[] = {
	{ 'p', 8, 8, { { "", 0, 8 } } },
	{ 'w', 8, 8, { { "", 0, 8 } } },
	{ 'u', 4, 4, { { "", 0, 4 } } },
	{ 'b', 1, 1, { { "", 0, 1 } } },
	{ 'c', 1, 1, { { "", 0, 1 } } },
	{ 's', 16, 8, { { ".ptr", 0, 8 }, { ".len", 8, 8 } } },
	{ 'S', 24, 8, { { ".ptr", 0, 8 }, { ".len", 8, 8 }, { ".cap", 16, 8 } } },
	{ 'i', 16, 8, { { ".type", 0, 8 }, { ".data", 8, 8 } } },
	{ 'H', 40, 8, { { ".name.ptr", 0, 8 }, { ".name.len", 8, 8 }, { ".value.ptr", 16, 8 },
			{ ".value.len", 24, 8 }, { ".sensitive", 32, 1 } } },
	{ 'F', 12, 4, { { ".valid", 0, 1 }, { ".type", 1, 1 }, { ".flags", 2, 1 }, { ".length", 4, 4 },
			{ ".stream", 8, 4 } } },
};

static const uint8_t amd64_dwarf[] = { 0, 3, 2, 5, 4, 8, 9, 10, 11 };	/* AX BX CX DI SI R8 R9 R10 R11 */
#define ARM64_REGS 16

static unsigned regs_of(uint16_t machine)
{
	return machine == EM_X86_64 ? ARRAY_SIZE(amd64_dwarf) : machine == EM_AARCH64 ? ARM64_REGS : 0;
}

int abi_dwarf_reg(uint16_t machine, unsigned reg)
{
	if (reg >= regs_of(machine))
		return -1;
	return machine == EM_X86_64 ? amd64_dwarf[reg] : (int)reg;
}

int abi_from_dwarf(uint16_t machine, unsigned dwarf_reg)
{
	for (unsigned i = 0; i < regs_of(machine); i++)
		if (abi_dwarf_reg(machine, i) == (int)dwarf_reg)
			return (int)i;
	return -1;
}

static const struct kind *kind_of(char letter)
{
	return ARRAY_FIND(it, kinds, it->letter == letter);
}

static unsigned leaves_of(const struct kind *k)
{
	unsigned n = 0;

	while (n < ARRAY_SIZE(k->leaves) && k->leaves[n].suffix)
		n++;
	return n;
}

struct assign {
	struct abi_args *out;
	unsigned regs, reg;		/* available registers, next free register */
	uint32_t stack;			/* next free byte above STACK_FIRST */
};

static int assign_arg(struct assign *a, const char *name, int name_len, const struct kind *k)
{
	struct abi_args *out = a->out;
	unsigned n = leaves_of(k);
	bool in_regs = n <= a->regs - a->reg;

	if (out->n_args == ABI_ARGS_MAX || n > ABI_WORDS_MAX - out->n_words)
		return -EINVAL;
	if (!in_regs)
		a->stack = ROUND_UP(a->stack, k->align);
	for (unsigned i = 0; i < n; i++) {
		struct abi_word *w = &out->words[out->n_words++];

		*w = (struct abi_word){ .arg = (uint8_t)out->n_args, .off = k->leaves[i].off,
					.loc = { .size = k->leaves[i].size, .sources = GOBIN_BY_ABI } };
		snprintf(w->name, sizeof(w->name), "%.*s%s", name_len, name, k->leaves[i].suffix);
		w->loc.where = in_regs ? GOBIN_IN_REG : GOBIN_ON_STACK;
		if (in_regs)
			w->loc.reg = (uint8_t)a->reg++;
		else
			w->loc.off = (int32_t)(STACK_FIRST + a->stack + k->leaves[i].off);
	}
	if (!in_regs)
		a->stack += k->size;
	out->size[out->n_args++] = k->size;
	return 0;
}

int abi_assign(uint16_t machine, enum gobin_abi abi, const char *signature, struct abi_args *ret)
{
	struct assign a = { .out = ret, .regs = abi == GOBIN_ABI_REGS ? regs_of(machine) : 0 };

	*ret = (struct abi_args){ 0 };
	if ((abi != GOBIN_ABI0 && abi != GOBIN_ABI_REGS) || !regs_of(machine))
		return -EOPNOTSUPP;
	for (const char *p = signature; *p;) {
		const char *colon = strchr(p, ':');
		const struct kind *k = colon ? kind_of(colon[1]) : NULL;

		if (!k || assign_arg(&a, p, (int)(colon - p), k) < 0)
			return -EINVAL;
		p = colon + 2;
		p += *p == ' ';
	}
	return 0;
}

const struct abi_word *abi_word(const struct abi_args *a, const char *name, unsigned len)
{
	return FIND_ITEM(it, a->words, a->n_words, strlen(it->name) == len && !memcmp(it->name, name, len));
}
