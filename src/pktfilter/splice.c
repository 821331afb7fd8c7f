// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writes a filter into the pools (bpf/pktfilter.bpf.h) of open programs. A program keeps its length and the positions
 * of its instructions, so relocations, line and function information stay valid.
 */
#include "pktfilter/pktfilter.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "pktfilter/cbpf.h"
#include "pktfilter/pktfilter_filter.h"
#include "pktfilter/frags.h"
#include "sonde/pktfilter_wire.h"

#define GOTO (BPF_JMP | BPF_JA)

static void put(struct bpf_insn *at, uint8_t code, uint8_t dst, size_t off, int32_t imm)
{
	*at = (struct bpf_insn){ .code = code, .dst_reg = dst, .off = (int16_t)off, .imm = imm };
}

/* A start without code matches nothing. */
static int convert_start(const struct filter_code *c, struct bpf_insn *out, size_t cap)
{
	if (c->insns)
		return pktfilter_convert(c->insns, c->n, PKTFILTER_BUF_BYTES, out, cap);
	if (cap == 0)
		return -ENOSPC;
	put(out, BPF_ALU | BPF_MOV | BPF_K, BPF_REG_0, 0, PKTFILTER_REJECT);
	return 1;
}

/* Layout: jump to the IP start if R5 == 0; Ethernet start; jump over the IP start; IP start. */
static int build(const struct pktfilter *f, struct bpf_insn *out, size_t cap)
{
	int l2, l3;

	l2 = convert_start(&f->code[START_ETHERNET], out + 1, cap - 2);
	if (l2 < 0)
		return l2;
	l3 = convert_start(&f->code[START_IP], out + l2 + 2, cap - 2 - (size_t)l2);
	if (l3 < 0)
		return l3;
	put(&out[0], BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_5, (size_t)l2 + 1, 0);
	put(&out[l2 + 1], GOTO, 0, (size_t)l3, 0);
	return l2 + l3 + 2;
}

int pktfilter_filter_build_pool(struct pktfilter *f)
{
	/* keeps an instruction for the jump over the unused rest */
	_cleanup_free_ struct bpf_insn *pool = calloc(PKTFILTER_POOL_INSNS, sizeof(*pool));
	int r;

	if (!pool)
		return -ENOMEM;
	r = build(f, pool, PKTFILTER_POOL_INSNS - 1);
	if (r == -ELOOP || r == -ENOSPC) {
		f->error = r;
		return 0;
	}
	if (r < 0)
		return r;
	f->n_pool = (size_t)r;
	f->pool = TAKE_PTR(pool);
	return 0;
}

/* ---- programs ---- */

static bool is_mov(const struct bpf_insn *in, int32_t imm)
{
	bool mov = in->code == (BPF_ALU64 | BPF_MOV | BPF_K) || in->code == (BPF_ALU | BPF_MOV | BPF_K);

	return mov && in->imm == imm;
}

/* True if a pool's two head instructions and no-ops start at @in. */
static bool is_pool(const struct bpf_insn *in, size_t left)
{
	if (left < PKTFILTER_POOL_INSNS + 2 || !is_mov(in, PKTFILTER_POOL_MARK) || in->dst_reg != BPF_REG_0 ||
	    in[1].code != (BPF_JMP | BPF_JEQ | BPF_K) || in[1].off != PKTFILTER_POOL_INSNS)
		return false;
	for (size_t i = 2; i < PKTFILTER_POOL_INSNS + 2; i++) {
		if (in[i].code != GOTO || in[i].off != 0)
			return false;
	}
	return true;
}

/*
 * The code, then a jump to the end. The verifier refuses unreachable instructions: the head keeps a jump to the
 * no-ops in between that is never taken, so the verifier removes them as dead code.
 */
static void fill_pool(struct bpf_insn *head, const struct pktfilter *f)
{
	struct bpf_insn *pool = head + 2;

	memcpy(pool, f->pool, f->n_pool * sizeof(*pool));
	put(&pool[f->n_pool], GOTO, 0, PKTFILTER_POOL_INSNS - f->n_pool - 1, 0);
	put(&head[0], BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0);
	put(&head[1], BPF_JMP | BPF_JNE | BPF_K, BPF_REG_0, f->n_pool + 1, 0);
}

static int32_t mode_of(const struct pktfilter *f)
{
	if (!f->pool)
		return PKTFILTER_MODE_USER;
	return (int32_t)MAX(1u, MIN(f->depth, (uint32_t)PKTFILTER_BUF_BYTES));
}

/* Number of patch points of each kind in a program. */
struct patch_points {
	size_t modes, pools, frags;
};

static struct patch_points patch(struct bpf_insn *insns, size_t n, const struct pktfilter *f, bool frags)
{
	struct patch_points found = { 0 };

	for (size_t i = 0; i < n; i++) {
		if (insns[i].code == (BPF_LD | BPF_IMM | BPF_DW)) {
			i++;	/* two instructions long */
		} else if (is_mov(&insns[i], PKTFILTER_MODE_ALL)) {
			insns[i].imm = mode_of(f);
			found.modes++;
		} else if (is_mov(&insns[i], PKTFILTER_FRAGS_NO)) {
			if (frags)
				insns[i].imm = PKTFILTER_FRAGS_YES;
			found.frags++;
		} else if (is_pool(&insns[i], n - i)) {
			if (f->pool)
				fill_pool(&insns[i], f);
			i += PKTFILTER_POOL_INSNS + 1;
			found.pools++;
		}
	}
	return found;
}

static int splice_program(struct bpf_program *prog, const struct pktfilter *f, bool frags)
{
	size_t n = bpf_program__insn_cnt(prog);
	_cleanup_free_ struct bpf_insn *copy = calloc(n ? n : 1, sizeof(*copy));
	struct patch_points found;
	int r;

	if (!copy)
		return -ENOMEM;
	memcpy(copy, bpf_program__insns(prog), n * sizeof(*copy));
	found = patch(copy, n, f, frags);
	if (found.modes + found.pools == 0)
		return 0;
	if (found.modes != 1 || found.pools != 1 || found.frags > 1)
		return -EBADF;	/* the program uses the filter twice, or the compiler removed a patch point */
	r = bpf_program__set_insns(prog, copy, n);
	return r < 0 ? r : 1;
}

int pktfilter_splice(struct bpf_object *obj, const struct pktfilter *f, const struct btf *btf, struct err *err)
{
	struct bpf_program *prog;
	bool frags = f && f->pool && frags_readable(btf);
	int done = 0;

	if (!f)
		return 0;
	bpf_object__for_each_program(prog, obj) {
		int r = splice_program(prog, f, frags);

		if (r < 0)
			return err_errno(err, r, "cannot write the packet filter into program %s",
					 bpf_program__name(prog));
		done += r;
	}
	if (!done)
		return err_set(err, -ENOENT, "no program of %s has a pool for a packet filter",
			       bpf_object__name(obj));
	return done;
}
