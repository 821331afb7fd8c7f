// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Classic BPF programs out of any bytes, and a packet: what the converter accepts must have the shape that the
 * verifier wants and must decide as libpcap's interpreter does, on whole packets and on cut ones.
 *
 * Input: [0] instructions - 1, [1] bytes of the packet that are readable, then 8 bytes per instruction (opcode, jump
 * true, jump false, kind, constant), then the packet. The kind's bits steer towards programs that are accepted.
 */
#include <linux/bpf.h>
#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/macros.h"
#include "interp.h"
#include "pktfilter/cbpf.h"
#include "pktfilter/pktfilter_filter.h"
#include "pktfilter/pktfilter.h"
#include "sonde/pktfilter_wire.h"

#define INSNS_MAX 64

/* bits of an instruction's kind */
#define K_WIDTH 0x03	/* constant: 0 as it is, 1 a byte, 2 four bits, 3 an offset into the packet */
#define OP_PICKED 0x40	/* opcode: out of the table below */
#define JUMP_ANY 0x80	/* jumps: as they are, even out of the program */

static const uint8_t opcodes[] = {
	BPF_LD | BPF_W | BPF_ABS, BPF_LD | BPF_H | BPF_ABS, BPF_LD | BPF_B | BPF_ABS, BPF_LD | BPF_W | BPF_IND,
	BPF_LD | BPF_H | BPF_IND, BPF_LD | BPF_B | BPF_IND, BPF_LD | BPF_LEN, BPF_LD | BPF_IMM, BPF_LD | BPF_MEM,
	BPF_LDX | BPF_LEN, BPF_LDX | BPF_IMM, BPF_LDX | BPF_MEM, BPF_LDX | BPF_MSH | BPF_B, BPF_ST, BPF_STX,
	BPF_ALU | BPF_ADD, BPF_ALU | BPF_SUB, BPF_ALU | BPF_MUL, BPF_ALU | BPF_DIV, BPF_ALU | BPF_MOD,
	BPF_ALU | BPF_AND, BPF_ALU | BPF_OR, BPF_ALU | BPF_XOR, BPF_ALU | BPF_LSH, BPF_ALU | BPF_RSH,
	BPF_ALU | BPF_NEG,
	BPF_ALU | BPF_ADD | BPF_X, BPF_ALU | BPF_SUB | BPF_X, BPF_ALU | BPF_MUL | BPF_X, BPF_ALU | BPF_DIV | BPF_X,
	BPF_ALU | BPF_MOD | BPF_X, BPF_ALU | BPF_AND | BPF_X, BPF_ALU | BPF_OR | BPF_X, BPF_ALU | BPF_XOR | BPF_X,
	BPF_ALU | BPF_LSH | BPF_X, BPF_ALU | BPF_RSH | BPF_X, BPF_JMP | BPF_JA, BPF_JMP | BPF_JEQ, BPF_JMP | BPF_JGT,
	BPF_JMP | BPF_JGE, BPF_JMP | BPF_JSET, BPF_JMP | BPF_JEQ | BPF_X, BPF_JMP | BPF_JGT | BPF_X,
	BPF_JMP | BPF_JGE | BPF_X, BPF_JMP | BPF_JSET | BPF_X, BPF_RET | BPF_K, BPF_RET | BPF_A, BPF_MISC | BPF_TAX,
	BPF_MISC | BPF_TXA,
};

static struct sock_filter read_insn(struct cursor *c, size_t left, size_t packet_len)
{
	struct sock_filter in = { .code = cur_u8(c), .jt = cur_u8(c), .jf = cur_u8(c) };
	uint8_t kind = cur_u8(c);

	in.k = cur_u32(c);
	if (kind & OP_PICKED)
		in.code = opcodes[in.code % ARRAY_SIZE(opcodes)];
	if (!(kind & JUMP_ANY)) {
		in.jt = left ? (uint8_t)(in.jt % left) : 0;
		in.jf = left ? (uint8_t)(in.jf % left) : 0;
	}
	if (!(kind & JUMP_ANY) && in.code == (BPF_JMP | BPF_JA))
		in.k = left ? in.k % (uint32_t)left : 0;
	else if ((kind & K_WIDTH) == 1)
		in.k &= 0xff;
	else if ((kind & K_WIDTH) == 2)
		in.k &= 0xf;
	else if ((kind & K_WIDTH) == 3)
		in.k %= (uint32_t)packet_len + 1;
	return in;
}

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void compare(const struct sock_filter *insns, const struct bpf_insn *code, size_t n, const uint8_t *packet,
		    uint32_t avail, uint32_t len)
{
	int64_t got = interp_run(code, n, packet, avail, len, true);
	bool want = libpcap_run(insns, packet, avail, len) != 0;

	check(got == PKTFILTER_REJECT || got == PKTFILTER_PASS || got == PKTFILTER_UNDECIDED);
	/* what does not fit is a rejection to libpcap */
	check(want == (got == PKTFILTER_PASS));
}

int LLVMFuzzerInitialize(int *argc, char ***argv);

/* The interpreter that it is held against. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return pktfilter_prepare(NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cursor c = cur_init(data, size);
	size_t n = cur_u8(&c) % INSNS_MAX + 1, packet_len;
	uint8_t cut = cur_u8(&c);
	struct sock_filter insns[INSNS_MAX];
	struct bpf_insn code[INSNS_MAX * 8 + 8];
	const char *why;
	uint8_t *packet;
	int r;

	if (cur_left(&c) < n * 8)
		return 0;
	packet_len = MIN(cur_left(&c) - n * 8, (size_t)PKTFILTER_BUF_BYTES);
	for (size_t i = 0; i < n; i++)
		insns[i] = read_insn(&c, n - i - 1, packet_len);
	r = pktfilter_convert(insns, n, PKTFILTER_BUF_BYTES, code, ARRAY_SIZE(code));
	if (r < 0)
		return 0;
	check(interp_check(code, (size_t)r, &why));
	/* a copy of exact size, so that the sanitizer sees each access */
	packet = malloc(packet_len ? packet_len : 1);
	check(packet != NULL);
	cur_copy(&c, packet, packet_len);
	compare(insns, code, (size_t)r, packet, (uint32_t)packet_len, (uint32_t)packet_len);
	compare(insns, code, (size_t)r, packet, (uint32_t)(packet_len * cut / 256), (uint32_t)packet_len);
	free(packet);
	return 0;
}
