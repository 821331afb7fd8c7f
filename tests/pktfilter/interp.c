// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See interp.h. Written from the instruction set's definition (RFC 9669), not from the converter, so that the two
 * can disagree.
 */
#include "interp.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

struct machine {
	uint64_t reg[6];
	const uint8_t *view;
	size_t avail;
	uint32_t words[16];
};

/* ---- shape ---- */

static bool writes(const struct bpf_insn *in)
{
	switch (BPF_CLASS(in->code)) {
	case BPF_ALU:
	case BPF_ALU64:
	case BPF_LDX:
		return true;
	default:
		return false;
	}
}

static bool is_jump(const struct bpf_insn *in)
{
	return BPF_CLASS(in->code) == BPF_JMP || BPF_CLASS(in->code) == BPF_JMP32;
}

static bool is_goto(const struct bpf_insn *in)
{
	return in->code == (BPF_JMP | BPF_JA);
}

bool interp_check(const struct bpf_insn *code, size_t n, const char **why)
{
	_cleanup_free_ bool *reached = calloc(n + 1, sizeof(*reached));

	*why = "no memory";
	if (!reached)
		return false;
	reached[0] = true;
	for (size_t i = 0; i < n; i++) {
		const struct bpf_insn *in = &code[i];

		*why = "an instruction cannot be reached";
		if (!reached[i])
			return false;
		*why = "a register is used that is not the code's";
		if (in->dst_reg > 5 || in->src_reg > 5 || (writes(in) && in->dst_reg != 0 && in->dst_reg != 5))
			return false;
		*why = "a jump leaves the code";
		if (is_jump(in) && (in->off < 0 || i + 1 + (size_t)in->off > n))
			return false;
		if (is_jump(in))
			reached[i + 1 + (size_t)in->off] = true;
		if (!is_goto(in))
			reached[i + 1] = true;
	}
	*why = "the end cannot be reached";
	return reached[n];
}

/* ---- run ---- */

static const uint8_t *at(const struct machine *m, uint64_t addr, size_t size)
{
	uint64_t view = (uintptr_t)m->view, words = (uintptr_t)m->words;

	if (addr >= view && addr - view + size <= m->avail)
		return m->view + (addr - view);
	if (addr >= words && addr - words + size <= sizeof(m->words))
		return (const uint8_t *)m->words + (addr - words);
	return NULL;
}

static int load(struct machine *m, const struct bpf_insn *in)
{
	size_t size = BPF_SIZE(in->code) == BPF_W ? 4 : BPF_SIZE(in->code) == BPF_H ? 2 : 1;
	const uint8_t *p = at(m, m->reg[in->src_reg] + (uint64_t)(int64_t)in->off, size);

	if (!p)
		return -EFAULT;
	m->reg[in->dst_reg] = 0;
	memcpy(&m->reg[in->dst_reg], p, size);
	return 0;
}

static int store(struct machine *m, const struct bpf_insn *in)
{
	uint64_t off = m->reg[in->dst_reg] + (uint64_t)(int64_t)in->off - (uintptr_t)m->words;

	if (in->code != (BPF_STX | BPF_MEM | BPF_W) || off > sizeof(m->words) - 4)
		return -EFAULT;
	m->words[off / 4] = (uint32_t)m->reg[in->src_reg];
	return 0;
}

static int alu32(uint32_t *d, uint8_t op, uint32_t s)
{
	switch (op) {
	case BPF_MOV:
		*d = s;
		return 0;
	case BPF_ADD:
		*d += s;
		return 0;
	case BPF_SUB:
		*d -= s;
		return 0;
	case BPF_MUL:
		*d *= s;
		return 0;
	case BPF_DIV:
		*d = s ? *d / s : 0;
		return 0;
	case BPF_MOD:
		*d = s ? *d % s : *d;
		return 0;
	case BPF_OR:
		*d |= s;
		return 0;
	case BPF_AND:
		*d &= s;
		return 0;
	case BPF_XOR:
		*d ^= s;
		return 0;
	case BPF_LSH:
		*d <<= s & 31;
		return 0;
	case BPF_RSH:
		*d >>= s & 31;
		return 0;
	case BPF_NEG:
		*d = -*d;
		return 0;
	default:
		return -EINVAL;
	}
}

static uint64_t operand(const struct machine *m, const struct bpf_insn *in)
{
	return BPF_SRC(in->code) == BPF_X ? m->reg[in->src_reg] : (uint64_t)(int64_t)in->imm;
}

static int alu(struct machine *m, const struct bpf_insn *in)
{
	uint64_t *d = &m->reg[in->dst_reg], s = operand(m, in);
	uint32_t low = (uint32_t)*d;
	int r;

	if (in->code == (BPF_ALU | BPF_END | BPF_TO_BE)) {
		*d = in->imm == 16 ? __builtin_bswap16((uint16_t)*d) : __builtin_bswap32((uint32_t)*d);
		return in->imm == 16 || in->imm == 32 ? 0 : -EINVAL;
	}
	if (BPF_CLASS(in->code) == BPF_ALU) {
		r = alu32(&low, BPF_OP(in->code), (uint32_t)s);
		*d = low;
		return r;
	}
	if (BPF_OP(in->code) == BPF_MOV)
		*d = s;
	else if (BPF_OP(in->code) == BPF_ADD)
		*d += s;
	else
		return -EINVAL;
	return 0;
}

/* 1: jump, 0: do not. */
static int compare(const struct machine *m, const struct bpf_insn *in)
{
	uint64_t d = m->reg[in->dst_reg], s = operand(m, in);

	if (BPF_CLASS(in->code) == BPF_JMP32) {
		d = (uint32_t)d;
		s = (uint32_t)s;
	}
	switch (BPF_OP(in->code)) {
	case BPF_JA:
		return 1;
	case BPF_JEQ:
		return d == s;
	case BPF_JNE:
		return d != s;
	case BPF_JGT:
		return d > s;
	case BPF_JGE:
		return d >= s;
	case BPF_JLT:
		return d < s;
	case BPF_JLE:
		return d <= s;
	case BPF_JSET:
		return (d & s) != 0;
	default:
		return -EINVAL;
	}
}

static int step(struct machine *m, const struct bpf_insn *in)
{
	switch (BPF_CLASS(in->code)) {
	case BPF_LDX:
		return load(m, in);
	case BPF_STX:
		return store(m, in);
	case BPF_ALU:
	case BPF_ALU64:
		return alu(m, in);
	case BPF_JMP:
	case BPF_JMP32:
		return compare(m, in);
	default:
		return -EINVAL;
	}
}

int64_t interp_run(const struct bpf_insn *code, size_t n, const uint8_t *view, size_t avail, uint32_t len,
		   bool ethernet)
{
	struct machine m = { .view = view, .avail = avail };

	m.reg[1] = (uintptr_t)view;
	m.reg[2] = (uintptr_t)view + avail;
	m.reg[3] = len;
	m.reg[4] = (uintptr_t)m.words;
	m.reg[5] = ethernet;
	for (size_t i = 0; i < n; i++) {
		int r = step(&m, &code[i]);

		if (r < 0)
			return r;
		if (r)
			i += (size_t)code[i].off;
	}
	return (int64_t)m.reg[0];
}
