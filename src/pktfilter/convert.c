// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Converts classic BPF to eBPF, one to six instructions for each. A load is not checked if an earlier load on all
 * paths proves that it fits. All arithmetic uses 32-bit sub-registers, so A and X wrap around as on the classic
 * machine. Where libpcap's interpreter and the kernel's differ, libpcap's semantics apply.
 *
 * Registers: R0 = A and temporary of loads into A, R5 = X; inputs as in cbpf.h. eBPF's LD_ABS is not used: on a short
 * packet it ends the whole program.
 */
#include "pktfilter/cbpf.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "sonde/pktfilter_wire.h"

enum { A = BPF_REG_0, VIEW = BPF_REG_1, END = BPF_REG_2, LEN = BPF_REG_3, MEM = BPF_REG_4, X = BPF_REG_5 };

#define NO_LABEL SIZE_MAX

/* Labels are classic instruction numbers, and three more after them. */
struct conversion {
	const struct sock_filter *in;
	size_t n_in;
	uint32_t limit;
	const struct cbpf_state *states;
	struct bpf_insn *out;
	size_t n_out, cap;
	size_t *label_of;	/* [cap] target of each emitted jump, or NO_LABEL */
	size_t *pos;		/* [n_in + 3] position of each label in @out */
	size_t end, undecided, reject;	/* the three labels */
	bool full, uses_undecided, uses_reject;
};

static void emit(struct conversion *c, uint8_t code, uint8_t dst, uint8_t src, int16_t off, uint32_t imm)
{
	if (c->n_out == c->cap) {
		c->full = true;
		return;
	}
	c->label_of[c->n_out] = NO_LABEL;
	c->out[c->n_out++] = (struct bpf_insn){
		.code = code, .dst_reg = dst, .src_reg = src, .off = off, .imm = (int32_t)imm,
	};
}

static void emit_jump(struct conversion *c, uint8_t code, uint8_t dst, uint8_t src, uint32_t imm, size_t label)
{
	size_t at = c->n_out;

	emit(c, code, dst, src, 0, imm);
	if (c->n_out > at)
		c->label_of[at] = label;
	c->uses_undecided |= label == c->undecided;
	c->uses_reject |= label == c->reject;
}

static void emit_goto(struct conversion *c, size_t label)
{
	emit_jump(c, BPF_JMP | BPF_JA, 0, 0, 0, label);
}

static void set(struct conversion *c, uint8_t reg, uint32_t value)
{
	emit(c, BPF_ALU | BPF_MOV | BPF_K, reg, 0, 0, value);
}

static void copy(struct conversion *c, uint8_t dst, uint8_t src)
{
	emit(c, BPF_ALU | BPF_MOV | BPF_X, dst, src, 0, 0);
}

/* Converts to host order; the load has cleared the upper bits. */
static void swap(struct conversion *c, uint8_t reg, uint32_t size)
{
	if (size > 1)
		emit(c, BPF_ALU | BPF_END | BPF_TO_BE, reg, 0, 0, size * 8);
}

/* reg = start of the view + index (if @indexed) + @end; jumps if that is beyond the view. */
static void point_and_check(struct conversion *c, uint8_t reg, bool indexed, uint32_t end)
{
	emit(c, BPF_ALU64 | BPF_MOV | BPF_X, reg, VIEW, 0, 0);
	if (indexed)
		emit(c, BPF_ALU64 | BPF_ADD | BPF_X, reg, X, 0, 0);
	emit(c, BPF_ALU64 | BPF_ADD | BPF_K, reg, 0, 0, end);
	emit_jump(c, BPF_JMP | BPF_JGT | BPF_X, reg, END, 0, c->undecided);
}

static void load_fixed(struct conversion *c, const struct sock_filter *in, uint8_t reg, uint32_t have)
{
	uint32_t end = in->k + cbpf_load_size(in);

	if (end > have)
		point_and_check(c, reg, false, end);
	emit(c, BPF_LDX | BPF_MEM | BPF_SIZE(in->code), reg, VIEW, (int16_t)in->k, 0);
}

/* Bounds X first: the verifier requires a limit before X is added to a pointer. */
static void load_indexed(struct conversion *c, const struct sock_filter *in)
{
	uint32_t size = cbpf_load_size(in), end = in->k + size;

	emit_jump(c, BPF_JMP | BPF_JGT | BPF_K, X, 0, c->limit - end, c->undecided);
	point_and_check(c, A, true, end);
	emit(c, BPF_LDX | BPF_MEM | BPF_SIZE(in->code), A, A, (int16_t)-size, 0);
}

static void convert_packet_load(struct conversion *c, const struct sock_filter *in, uint32_t have)
{
	bool msh = BPF_CLASS(in->code) == BPF_LDX;

	if (cbpf_load_beyond(in, c->limit)) {
		emit_goto(c, c->undecided);
		return;
	}
	if (BPF_MODE(in->code) == BPF_IND)
		load_indexed(c, in);
	else
		load_fixed(c, in, msh ? X : A, have);
	if (msh) {
		emit(c, BPF_ALU | BPF_AND | BPF_K, X, 0, 0, 15);
		emit(c, BPF_ALU | BPF_LSH | BPF_K, X, 0, 0, 2);
	} else {
		swap(c, A, cbpf_load_size(in));
	}
}

static void convert_load(struct conversion *c, const struct sock_filter *in, uint32_t have)
{
	uint8_t reg = BPF_CLASS(in->code) == BPF_LDX ? X : A;

	if (cbpf_is_packet_load(in))
		convert_packet_load(c, in, have);
	else if (BPF_MODE(in->code) == BPF_IMM)
		set(c, reg, in->k);
	else if (BPF_MODE(in->code) == BPF_LEN)
		copy(c, reg, LEN);
	else
		emit(c, BPF_LDX | BPF_MEM | BPF_W, reg, MEM, (int16_t)(4 * in->k), 0);
}

/* libpcap shifts by 32 or more to 0; eBPF masks the count. */
static void convert_shift_by_x(struct conversion *c, uint8_t op)
{
	emit(c, BPF_JMP32 | BPF_JGT | BPF_K, X, 0, 2, 31);
	emit(c, BPF_ALU | op | BPF_X, A, X, 0, 0);
	emit(c, BPF_JMP | BPF_JA, 0, 0, 1, 0);
	set(c, A, 0);
}

static void convert_alu(struct conversion *c, const struct sock_filter *in)
{
	uint8_t op = BPF_OP(in->code);
	bool by_x = BPF_SRC(in->code) == BPF_X;

	if (by_x && (op == BPF_LSH || op == BPF_RSH)) {
		convert_shift_by_x(c, op);
		return;
	}
	if (by_x && (op == BPF_DIV || op == BPF_MOD))
		emit_jump(c, BPF_JMP32 | BPF_JEQ | BPF_K, X, 0, 0, c->reject);
	if (by_x)
		emit(c, BPF_ALU | op | BPF_X, A, X, 0, 0);
	else
		emit(c, BPF_ALU | op | BPF_K, A, 0, 0, op == BPF_NEG ? 0 : in->k);
}

/* The inverse of jump @op, or 0 if there is none. */
static uint8_t inverse(uint8_t op)
{
	switch (op) {
	case BPF_JEQ:
		return BPF_JNE;
	case BPF_JGT:
		return BPF_JLE;
	case BPF_JGE:
		return BPF_JLT;
	default:
		return 0;
	}
}

static void convert_jump(struct conversion *c, size_t i)
{
	const struct sock_filter *in = &c->in[i];
	uint8_t op = BPF_OP(in->code), src = BPF_SRC(in->code), reg = src == BPF_X ? X : 0;
	size_t yes = i + 1 + in->jt, no = i + 1 + in->jf;
	uint32_t k = src == BPF_X ? 0 : in->k;

	if (op == BPF_JA) {
		emit_goto(c, i + 1 + in->k);
	} else if (in->jt == in->jf) {
		if (in->jt)
			emit_goto(c, yes);
	} else if (!in->jt && inverse(op)) {
		emit_jump(c, BPF_JMP32 | inverse(op) | src, A, reg, k, no);
	} else {
		emit_jump(c, BPF_JMP32 | op | src, A, reg, k, yes);
		if (in->jf)
			emit_goto(c, no);
	}
}

static void convert_return(struct conversion *c, const struct sock_filter *in)
{
	if (in->code == (BPF_RET | BPF_K)) {
		set(c, A, in->k ? PKTFILTER_PASS : PKTFILTER_REJECT);
	} else {
		emit_jump(c, BPF_JMP32 | BPF_JEQ | BPF_K, A, 0, 0, c->end);	/* A = 0 is PKTFILTER_REJECT */
		set(c, A, PKTFILTER_PASS);
	}
	emit_goto(c, c->end);
}

static void convert_one(struct conversion *c, size_t i)
{
	const struct sock_filter *in = &c->in[i];

	switch (BPF_CLASS(in->code)) {
	case BPF_LD:
	case BPF_LDX:
		convert_load(c, in, c->states[i].have);
		break;
	case BPF_ST:
	case BPF_STX:
		emit(c, BPF_STX | BPF_MEM | BPF_W, MEM, BPF_CLASS(in->code) == BPF_ST ? A : X,
		     (int16_t)(4 * in->k), 0);
		break;
	case BPF_ALU:
		convert_alu(c, in);
		break;
	case BPF_JMP:
		convert_jump(c, i);
		break;
	case BPF_RET:
		convert_return(c, in);
		break;
	default:
		if (BPF_MISCOP(in->code) == BPF_TAX)
			copy(c, X, A);
		else
			copy(c, A, X);
	}
}

/* Emits only tails that a jump targets: the verifier refuses unreachable instructions. */
static void emit_tails(struct conversion *c)
{
	if (c->uses_reject) {
		c->pos[c->reject] = c->n_out;
		set(c, A, PKTFILTER_REJECT);
		if (c->uses_undecided)
			emit_goto(c, c->end);
	}
	if (c->uses_undecided) {
		c->pos[c->undecided] = c->n_out;
		set(c, A, PKTFILTER_UNDECIDED);
	}
	c->pos[c->end] = c->n_out;
}

static int resolve_jumps(struct conversion *c)
{
	for (size_t i = 0; i < c->n_out; i++) {
		size_t distance;

		if (c->label_of[i] == NO_LABEL)
			continue;
		distance = c->pos[c->label_of[i]] - i - 1;
		if (distance > INT16_MAX)
			return -ENOSPC;
		c->out[i].off = (int16_t)distance;
	}
	return 0;
}

static int convert_all(struct conversion *c)
{
	int r;

	set(c, A, 0);
	set(c, X, 0);
	for (size_t i = 0; i < c->n_in; i++) {
		if (!c->states[i].reached)
			continue;
		c->pos[i] = c->n_out;
		convert_one(c, i);
	}
	emit_tails(c);
	if (c->full)
		return -ENOSPC;
	r = resolve_jumps(c);
	return r < 0 ? r : (int)c->n_out;
}

int pktfilter_convert(const struct sock_filter *in, size_t n, uint32_t limit, struct bpf_insn *out, size_t cap)
{
	_cleanup_free_ struct cbpf_state *states = calloc(n ? n : 1, sizeof(*states));
	_cleanup_free_ size_t *label_of = calloc(cap ? cap : 1, sizeof(*label_of));
	_cleanup_free_ size_t *pos = calloc(n + 3, sizeof(*pos));
	struct conversion c = {
		.in = in, .n_in = n, .limit = MIN(limit, (uint32_t)INT16_MAX), .states = states,
		.out = out, .cap = cap, .label_of = label_of, .pos = pos,
		.end = n, .undecided = n + 1, .reject = n + 2,
	};
	uint32_t depth;
	int r;

	if (!states || !label_of || !pos)
		return -ENOMEM;
	r = cbpf_analyse(in, n, c.limit, states, &depth);
	return r < 0 ? r : convert_all(&c);
}
