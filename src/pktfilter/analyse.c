// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Static analysis of a classic BPF program in one pass: jumps only go forward, so all paths to an instruction are
 * known when the pass reaches it. Bounds are upper bounds; UINT32_MAX = unknown.
 */
#include "pktfilter/cbpf.h"

#include <errno.h>
#include <linux/bpf_common.h>
#include <linux/filter.h>
#include <string.h>

#include "base/macros.h"

bool cbpf_is_packet_load(const struct sock_filter *in)
{
	switch (BPF_CLASS(in->code)) {
	case BPF_LD:
		return BPF_MODE(in->code) == BPF_ABS || BPF_MODE(in->code) == BPF_IND;
	case BPF_LDX:
		return BPF_MODE(in->code) == BPF_MSH;
	default:
		return false;
	}
}

uint32_t cbpf_load_size(const struct sock_filter *in)
{
	switch (BPF_SIZE(in->code)) {
	case BPF_W:
		return 4;
	case BPF_H:
		return 2;
	default:
		return 1;
	}
}

static uint32_t add_sat(uint32_t a, uint32_t b)
{
	return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

bool cbpf_load_beyond(const struct sock_filter *in, uint32_t limit)
{
	return add_sat(in->k, cbpf_load_size(in)) > limit || in->k > UINT32_MAX - 4;
}

/* End of the bytes that a packet load can read. */
static uint32_t load_end(const struct sock_filter *in, const struct cbpf_state *s)
{
	uint32_t end = add_sat(in->k, cbpf_load_size(in));

	return BPF_CLASS(in->code) == BPF_LD && BPF_MODE(in->code) == BPF_IND ? add_sat(end, s->x_max) : end;
}

static uint32_t all_ones_above(uint32_t v)
{
	return v ? UINT32_MAX >> __builtin_clz(v) : 0;
}

/* Upper bound of a OP b, where b is exact for a constant operand and a bound for X. */
static uint32_t alu_max(uint16_t code, uint32_t a, uint32_t b)
{
	bool exact = BPF_SRC(code) == BPF_K;

	switch (BPF_OP(code)) {
	case BPF_ADD:
		return add_sat(a, b);
	case BPF_MUL:
		return (uint64_t)a * b > UINT32_MAX ? UINT32_MAX : a * b;
	case BPF_DIV:
		return exact ? a / b : a;
	case BPF_MOD:
		return MIN(a, exact ? b - 1 : b);
	case BPF_AND:
		return MIN(a, b);
	case BPF_OR:
	case BPF_XOR:
		return all_ones_above(a | b);
	case BPF_LSH:
		return exact && (uint64_t)a << b <= UINT32_MAX ? a << b : UINT32_MAX;
	case BPF_RSH:
		return exact ? a >> b : a;
	default:
		return UINT32_MAX;	/* SUB and NEG wrap around */
	}
}

static int check_alu(const struct sock_filter *in)
{
	bool constant = BPF_SRC(in->code) == BPF_K;

	if (in->code & ~(BPF_ALU | BPF_X | 0xf0))
		return -EINVAL;
	switch (BPF_OP(in->code)) {
	case BPF_DIV:
	case BPF_MOD:
		return constant && in->k == 0 ? -EINVAL : 0;
	case BPF_LSH:
	case BPF_RSH:
		return constant && in->k > 31 ? -EINVAL : 0;
	case BPF_NEG:
		return constant ? 0 : -EINVAL;
	default:
		return BPF_OP(in->code) <= BPF_XOR ? 0 : -EINVAL;
	}
}

static int check_jump(const struct sock_filter *in)
{
	if (in->code & ~(BPF_JMP | BPF_X | 0xf0) || BPF_OP(in->code) > BPF_JSET)
		return -EINVAL;
	return in->code == (BPF_JMP | BPF_JA | BPF_X) ? -EINVAL : 0;
}

/* *ret: bound of the loaded value. */
static int load_max(const struct sock_filter *in, const struct cbpf_state *s, uint32_t *ret)
{
	bool x = BPF_CLASS(in->code) == BPF_LDX;
	uint16_t rest = in->code & ~BPF_CLASS(in->code);

	switch (rest) {
	case BPF_IMM:
		*ret = in->k;
		return 0;
	case BPF_MEM:
		if (in->k >= CBPF_MEMWORDS || !(s->mem_set >> in->k & 1))
			return -EINVAL;
		*ret = s->mem_max[in->k];
		return 0;
	case BPF_LEN:
		*ret = UINT32_MAX;
		return 0;
	case BPF_MSH | BPF_B:
		*ret = 60;	/* 4 * (byte & 15) */
		return x ? 0 : -EINVAL;
	case BPF_ABS | BPF_W:
	case BPF_IND | BPF_W:
		*ret = UINT32_MAX;
		return x ? -EINVAL : 0;
	case BPF_ABS | BPF_H:
	case BPF_IND | BPF_H:
		*ret = UINT16_MAX;
		return x ? -EINVAL : 0;
	case BPF_ABS | BPF_B:
	case BPF_IND | BPF_B:
		*ret = UINT8_MAX;
		return x ? -EINVAL : 0;
	default:
		return -EINVAL;
	}
}

static int step_load(const struct sock_filter *in, struct cbpf_state *s)
{
	uint32_t max;
	int r = load_max(in, s, &max);

	if (r < 0)
		return r;
	if (cbpf_is_packet_load(in) && (BPF_CLASS(in->code) == BPF_LDX || BPF_MODE(in->code) == BPF_ABS))
		s->have = MAX(s->have, load_end(in, s));
	if (BPF_CLASS(in->code) == BPF_LDX)
		s->x_max = max;
	else
		s->a_max = max;
	return 0;
}

static int step_store(const struct sock_filter *in, struct cbpf_state *s)
{
	if (in->code & ~7 || in->k >= CBPF_MEMWORDS)
		return -EINVAL;
	s->mem_set |= 1u << in->k;
	s->mem_max[in->k] = BPF_CLASS(in->code) == BPF_STX ? s->x_max : s->a_max;
	return 0;
}

/* Updates @s from the state before @in to the state after it. Jumps and returns do not change it. */
static int step(const struct sock_filter *in, struct cbpf_state *s)
{
	int r;

	switch (BPF_CLASS(in->code)) {
	case BPF_LD:
	case BPF_LDX:
		return step_load(in, s);
	case BPF_ST:
	case BPF_STX:
		return step_store(in, s);
	case BPF_ALU:
		r = check_alu(in);
		if (r < 0)
			return r;
		s->a_max = alu_max(in->code, s->a_max, BPF_SRC(in->code) == BPF_X ? s->x_max : in->k);
		return 0;
	case BPF_MISC:
		if (in->code == (BPF_MISC | BPF_TAX))
			s->x_max = s->a_max;
		else if (in->code == (BPF_MISC | BPF_TXA))
			s->a_max = s->x_max;
		else
			return -EINVAL;
		return 0;
	case BPF_RET:
		return in->code == (BPF_RET | BPF_K) || in->code == (BPF_RET | BPF_A) ? 0 : -EINVAL;
	default:
		return check_jump(in);
	}
}

/* Merges @s into the state of @to, for a path that leads there. */
static int flow(const struct cbpf_state *s, size_t n, uint64_t to, struct cbpf_state *states)
{
	struct cbpf_state *d;

	if (to >= n)
		return -EINVAL;
	d = &states[to];
	if (!d->reached) {
		*d = *s;
		return 0;
	}
	d->mem_set &= s->mem_set;
	d->have = MIN(d->have, s->have);
	d->a_max = MAX(d->a_max, s->a_max);
	d->x_max = MAX(d->x_max, s->x_max);
	for (size_t i = 0; i < CBPF_MEMWORDS; i++)
		d->mem_max[i] = MAX(d->mem_max[i], s->mem_max[i]);
	return 0;
}

static int flow_from(const struct sock_filter *in, size_t i, size_t n, uint32_t limit, const struct cbpf_state *s,
		     struct cbpf_state *states)
{
	const struct sock_filter *at = &in[i];
	int r;

	if (BPF_CLASS(at->code) == BPF_RET || (cbpf_is_packet_load(at) && cbpf_load_beyond(at, limit)))
		return 0;
	if (BPF_CLASS(at->code) != BPF_JMP)
		return flow(s, n, i + 1, states);
	if (BPF_OP(at->code) == BPF_JA)
		return (int32_t)at->k < 0 ? -ELOOP : flow(s, n, (uint64_t)i + 1 + at->k, states);
	r = flow(s, n, (uint64_t)i + 1 + at->jt, states);
	return r < 0 ? r : flow(s, n, (uint64_t)i + 1 + at->jf, states);
}

int cbpf_analyse(const struct sock_filter *in, size_t n, uint32_t limit, struct cbpf_state *states,
		 uint32_t *ret_depth)
{
	uint32_t depth = 0;

	if (n == 0)
		return -EINVAL;
	memset(states, 0, n * sizeof(*states));
	states[0].reached = true;	/* A = X = 0 */
	for (size_t i = 0; i < n; i++) {
		struct cbpf_state s = states[i];
		int r;

		if (!s.reached)
			continue;
		if (cbpf_is_packet_load(&in[i]) && in[i].k < CBPF_ANCILLARY)
			depth = MAX(depth, load_end(&in[i], &s));
		r = step(&in[i], &s);
		if (r == 0)
			r = flow_from(in, i, n, limit, &s, states);
		if (r < 0)
			return r;
	}
	*ret_depth = depth;
	return 0;
}
