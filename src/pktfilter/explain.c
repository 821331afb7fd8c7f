// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --explain-filter: where a filter runs and why, its classic code and its eBPF code.
 */
#include "pktfilter/pktfilter.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/str.h"
#include "pktfilter/cbpf.h"
#include "pktfilter/pktfilter_filter.h"
#include "sonde/pktfilter_wire.h"

bool pktfilter_in_kernel(const struct pktfilter *f, char *why, size_t cap)
{
	if (f->pool)
		return true;
	if (!why)
		return false;
	if (f->error == -ELOOP)
		snprintf(why, cap,
			 "protochain follows a chain of headers in a loop, which the kernel's verifier refuses");
	else
		snprintf(why, cap, "its code is longer than the %d instructions kept for it in the kernel's programs",
			 PKTFILTER_POOL_INSNS);
	return false;
}

/* ---- disassembly in bpftool's notation, of the instructions that convert.c emits ---- */

static const char *size_name(uint8_t code)
{
	switch (BPF_SIZE(code)) {
	case BPF_B:
		return "u8";
	case BPF_H:
		return "u16";
	default:
		return "u32";
	}
}

static const char *alu_name(uint8_t op)
{
	static const char *const names[16] = {
		[BPF_ADD >> 4] = "+=", [BPF_SUB >> 4] = "-=", [BPF_MUL >> 4] = "*=", [BPF_DIV >> 4] = "/=",
		[BPF_OR >> 4] = "|=", [BPF_AND >> 4] = "&=", [BPF_LSH >> 4] = "<<=", [BPF_RSH >> 4] = ">>=",
		[BPF_MOD >> 4] = "%=", [BPF_XOR >> 4] = "^=", [BPF_MOV >> 4] = "=",
	};

	return names[op >> 4] ? names[op >> 4] : "?";
}

static const char *jump_name(uint8_t op)
{
	static const char *const names[16] = {
		[BPF_JEQ >> 4] = "==", [BPF_JNE >> 4] = "!=", [BPF_JGT >> 4] = ">", [BPF_JGE >> 4] = ">=",
		[BPF_JLT >> 4] = "<", [BPF_JLE >> 4] = "<=", [BPF_JSET >> 4] = "&",
	};

	return names[op >> 4] ? names[op >> 4] : "?";
}

/* The right-hand side: a register or a constant. */
static void add_operand(struct buf *out, const struct bpf_insn *in, char kind)
{
	if (BPF_SRC(in->code) == BPF_X)
		buf_printf(out, "%c%d", kind, in->src_reg);
	else
		buf_printf(out, "0x%x", (uint32_t)in->imm);
}

static void add_alu(struct buf *out, const struct bpf_insn *in)
{
	char kind = BPF_CLASS(in->code) == BPF_ALU64 ? 'r' : 'w';

	if (BPF_OP(in->code) == BPF_END) {
		buf_printf(out, "r%d = be%d r%d", in->dst_reg, in->imm, in->dst_reg);
	} else if (BPF_OP(in->code) == BPF_NEG) {
		buf_printf(out, "%c%d = -%c%d", kind, in->dst_reg, kind, in->dst_reg);
	} else {
		buf_printf(out, "%c%d %s ", kind, in->dst_reg, alu_name(BPF_OP(in->code)));
		add_operand(out, in, kind);
	}
}

static void add_jump(struct buf *out, const struct bpf_insn *in, size_t at)
{
	char kind = BPF_CLASS(in->code) == BPF_JMP ? 'r' : 'w';

	if (BPF_OP(in->code) != BPF_JA) {
		buf_printf(out, "if %c%d %s ", kind, in->dst_reg, jump_name(BPF_OP(in->code)));
		add_operand(out, in, kind);
		buf_add_char(out, ' ');
	}
	buf_printf(out, "goto %zu", at + 1 + (size_t)in->off);
}

static void add_ebpf(struct buf *out, const struct bpf_insn *in, size_t at)
{
	buf_printf(out, "  (%03zu) ", at);
	switch (BPF_CLASS(in->code)) {
	case BPF_LDX:
		buf_printf(out, "r%d = *(%s *)(r%d %+d)", in->dst_reg, size_name(in->code), in->src_reg, in->off);
		break;
	case BPF_STX:
		buf_printf(out, "*(%s *)(r%d %+d) = r%d", size_name(in->code), in->dst_reg, in->off, in->src_reg);
		break;
	case BPF_ALU:
	case BPF_ALU64:
		add_alu(out, in);
		break;
	default:
		add_jump(out, in, at);
	}
	buf_add_char(out, '\n');
}

/* ---- summary ---- */

static void add_where(const struct pktfilter *f, struct buf *out)
{
	char why[160];

	if (!pktfilter_in_kernel(f, why, sizeof(why))) {
		buf_printf(out, "runs in user space: %s\n", why);
		return;
	}
	buf_printf(out, "runs in the kernel: %zu of %d instructions\n", f->n_pool, PKTFILTER_POOL_INSNS);
	if (f->depth > PKTFILTER_BUF_BYTES)
		buf_printf(out,
			   "user space decides about packets longer than %d bytes if a byte behind them matters\n",
			   PKTFILTER_BUF_BYTES);
}

static void add_depth(const struct pktfilter *f, struct buf *out)
{
	if (f->depth == UINT32_MAX)
		buf_add_str(out, "reads the packet to no known depth\n");
	else
		buf_printf(out, "reads the first %u bytes of a packet at most\n", f->depth);
}

static void add_start(const struct filter_code *c, const char *name, struct buf *out)
{
	if (!c->insns) {
		buf_printf(out, "\npackets that start with %s never match: %s\n", name, c->why);
		return;
	}
	buf_printf(out, "\nclassic BPF, packets that start with %s: %zu instructions\n", name, c->n);
	for (size_t i = 0; i < c->n; i++)
		buf_printf(out, "  %s\n", libpcap_line(&c->insns[i], (int)i));
}

int pktfilter_code(const struct pktfilter *f, uint32_t link, unsigned form, uint32_t snaplen, struct buf *out)
{
	const struct filter_code *c = pktfilter_filter_code(f, link);

	if (!c || !c->insns)
		return -EINVAL;
	if (form > 2)
		buf_printf(out, "%zu\n", c->n);
	for (size_t i = 0; i < c->n; i++) {
		struct sock_filter in = c->insns[i];

		if (in.code == (BPF_RET | BPF_K) && in.k)
			in.k = snaplen;
		if (form == 1)
			buf_printf(out, "%s\n", libpcap_line(&in, (int)i));
		else if (form == 2)
			buf_printf(out, "{ 0x%x, %u, %u, 0x%08x },\n", in.code, in.jt, in.jf, in.k);
		else
			buf_printf(out, "%u %u %u %u\n", in.code, in.jt, in.jf, in.k);
	}
	return buf_error(out);
}

int pktfilter_explain(const struct pktfilter *f, struct buf *out)
{
	buf_add_str(out, "packet filter: ");
	if (*f->expr)
		str_escape_buf(out, f->expr, strlen(f->expr));
	else
		buf_add_str(out, "(none: every packet matches)");
	buf_add_char(out, '\n');
	add_where(f, out);
	add_depth(f, out);
	add_start(&f->code[START_ETHERNET], "an Ethernet header", out);
	add_start(&f->code[START_IP], "an IP header", out);
	if (f->pool)
		buf_printf(out, "\neBPF: %zu instructions\n", f->n_pool);
	for (size_t i = 0; i < f->n_pool; i++)
		add_ebpf(out, &f->pool[i], i);
	return buf_error(out);
}
