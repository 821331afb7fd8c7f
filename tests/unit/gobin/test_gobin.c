// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The parts of the analysis of Go programs, on real bytes and on output of compilers of other releases and machines.
 * Whole programs are tested in tests/e2e: they need a Go release.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <dwarf.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "elf/elf.h"
#include "gobin/abi.h"
#include "gobin/dwarf/dwarf.h"
#include "gobin/goroutine.h"
#include "gobin/job.h"
#include "gobin/identify.h"
#include "gobin/image.h"
#include "gobin/names.h"
#include "gobin/site/site.h"

/* ---- placement ---- */

struct placed {
	uint16_t machine;
	const char *what, *hex;
	enum gobin_site_kind kind;
	uint32_t off;
	uint8_t len;
};

static const struct placed placed[] = {
	{ EM_X86_64, "Go 1.24, frame up to a page: loopyWriter.writeHeader",
	  "4c8d6424d84d3b66100f8678030000554889e54881eca0000000", GOBIN_AT_BRANCH, 9, 6 },
	{ EM_X86_64, "Go 1.24, large frame: http2Server.operateHeaders",
	  "4c8da424c8fdffff4d3b66100f86752a0000554889e54881ecb0020000", GOBIN_AT_BRANCH, 12, 6 },
	{ EM_X86_64, "Go 1.24, small frame and a short branch: Framer.WriteDataPadded",
	  "493b6610763b554889e54883ec40", GOBIN_AT_BRANCH, 4, 2 },
	{ EM_X86_64, "Go 1.19, small frame", "493b661076494883ec5048896c2448", GOBIN_AT_BRANCH, 4, 2 },
	{ EM_X86_64, "Go 1.19, frame up to a page: loopyWriter.writeHeader",
	  "4c8d6424c04d3b66100f86f60300004881ecc0000000", GOBIN_AT_BRANCH, 9, 6 },
	{ EM_X86_64, "Go 1.16, small frame: g from thread-local storage",
	  "64488b0c25f8ffffff483b611076384883ec20", GOBIN_AT_BRANCH, 13, 2 },
	{ EM_X86_64, "Go 1.16, frame up to a page",
	  "64488b0c25f8ffffff488d442480483b41100f86a20000004881ec00010000", GOBIN_AT_BRANCH, 18, 6 },
	{ EM_X86_64, "a frame that could wrap around: two branches, the second is the check's",
	  "4989e44981ec00000100" "0f8200010000" "4d3b6610" "0f86f0000000" "554889e5", GOBIN_AT_BRANCH, 20, 6 },
	{ EM_X86_64, "no check, a frame", "554889e54883ec10", GOBIN_AT_FIRST, 0, 1 },
	{ EM_X86_64, "C: a mark for indirect branches, then a frame", "f30f1efa554889e5", GOBIN_AT_FIRST, 4, 1 },
	{ EM_X86_64, "a leaf: arguments are used at once", "488b4008c3cccccc", GOBIN_AT_ENTRY, 0, 1 },
	{ EM_X86_64, "a leaf that compares its arguments is no stack check", "4839d976054889c8c3",
	  GOBIN_AT_ENTRY, 0, 1 },
	{ EM_X86_64, "a leaf that compares with a member 16 bytes into its argument",
	  "483b4b107605" "554889e5", GOBIN_AT_ENTRY, 0, 1 },
	{ EM_AARCH64, "small frame: runtime 1.24", "900b40f9ff6330eba9030054fe0f1ef8", GOBIN_AT_BRANCH, 8, 4 },
	{ EM_AARCH64, "frame up to a page", "900b40f9f14302d13f0210ebe9140054", GOBIN_AT_BRANCH, 12, 4 },
	{ EM_AARCH64, "a leaf", "000400d1c0035fd6", GOBIN_AT_ENTRY, 0, 4 },
};

static size_t unhex(const char *hex, uint8_t *out)
{
	size_t n = strlen(hex) / 2;

	for (size_t i = 0; i < n; i++) {
		char pair[3] = { hex[2 * i], hex[2 * i + 1] };

		out[i] = (uint8_t)strtoul(pair, NULL, 16);
	}
	return n;
}

static void places(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(placed); i++) {
		uint8_t code[64];
		struct site p = { 0 };
		size_t n = unhex(placed[i].hex, code);

		if (site_choose(placed[i].machine, code, n, &p) != 0 || p.kind != placed[i].kind ||
		    p.off != placed[i].off || p.len != placed[i].len)
			fail_msg("%s: %s at %u, %u bytes", placed[i].what, gobin_site_kind_name(p.kind), p.off,
				 p.len);
	}
}

static void places_in_nothing(void **state)
{
	static const uint8_t zeros[16], traps[] = { 0xcc, 0xcc, 0xcc, 0xcc };
	struct site p;
	uint8_t code[64];
	size_t n = unhex(placed[0].hex, code);

	(void)state;
	assert_int_equal(site_choose(EM_X86_64, zeros, sizeof(zeros), &p), -EBADMSG);
	assert_int_equal(site_choose(EM_X86_64, traps, sizeof(traps), &p), -EBADMSG);
	assert_int_equal(site_choose(EM_AARCH64, zeros, sizeof(zeros), &p), -EBADMSG);
	assert_int_equal(site_choose(EM_RISCV, code, n, &p), -EOPNOTSUPP);
	/* Truncated at any byte: no incomplete instruction is accepted. */
	for (size_t len = 2; len < n; len++)
		if (site_choose(EM_X86_64, code, len, &p) == 0)
			assert_true(p.off + p.len <= len);
}

/* ---- goroutines ---- */

static void thread_local_g(void **state)
{
	static const struct {
		const char *what, *hex;
		int32_t off;
	} forms[] = {
		{ "Go 1.24: runtime.morestack", "64488b3c25f8ffffff488b5f30", -8 },
		{ "Go 1.19", "64488b0c25f8ffffff488b5930", -8 },
		{ "Go 1.24, position-independent", "48c7c1f8ffffff64488b39488b5f30", -8 },
		{ "cgo with other thread-local data", "48c7c100fcffff64488b39488b5f30", -1024 },
		{ "a library: the offset is in its global offset table", "488b0d11223344" "64488b39", 0 },
		{ "another register is loaded than set", "48c7c1f8ffffff64488b3a", 0 },
		{ "above the thread pointer", "64488b3c2508000000", 0 },
		{ "not a word", "64488b3c25fcffffff", 0 },
		{ "too short", "64488b3c25f8ffff", 0 },
		{ "no bytes", "", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		uint8_t code[64];
		size_t n = unhex(forms[i].hex, code);

		if (goroutine_tls_off(code, n) != forms[i].off)
			fail_msg("%s: %d", forms[i].what, goroutine_tls_off(code, n));
	}
}

/* Parts of a function at 0x1000 by the bytes of its frame, and its return instructions. */
static void places_of_returns(void **state)
{
	static const struct {
		uint16_t machine;
		const char *what, *hex;
		struct { uint32_t at; int32_t bytes; } parts[6];
		int result;
		uint32_t n, off[2];
	} cases[] = {
		/* jbe 15; push, sub; nop; add, pop; ret; nop; add, pop; ret; call of morestack */
		{ EM_X86_64, "two returns, then the code that grows the stack",
		  "493b6610760f" "554889e5" "5dc3" "905dc3" "9090" "9090e8", {
			{ 0, 0 }, { 7, 8 }, { 11, 0 }, { 12, 8 }, { 14, 0 }, { 15, 8 } }, 0, 2, { 11, 14 } },
		{ EM_X86_64, "that code is a part of its own", "493b6610" "7604" "55" "5dc3" "90" "e8", {
			{ 0, 0 }, { 7, 8 }, { 8, 0 }, { 9, 8 }, { 10, 0 } }, 0, 1, { 8 } },
		{ EM_X86_64, "something else without a frame", "493b6610" "7604" "55" "5dc3" "90" "90", {
			{ 0, 0 }, { 7, 8 }, { 8, 0 }, { 9, 8 }, { 9, 0 } }, -EBADMSG, 1, { 8 } },
		{ EM_AARCH64, "a return, then the code that grows the stack",
		  "900b40f9" "ff6330eb" "69000054" "fe0f1ef8" "c0035fd6" "e0031faa", {
			{ 0, 0 }, { 16, 32 }, { 16, 0 }, { 20, 0 } }, 0, 1, { 16 } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint8_t code[64];
		struct site_returns s = { .machine = cases[i].machine, .code = code, .entry = 0x1000 };
		int r;

		s.len = unhex(cases[i].hex, code);
		r = site_choose(s.machine, code, s.len, &s.check);
		for (size_t k = 0; r == 0 && k < ARRAY_SIZE(cases[i].parts) && (!k || cases[i].parts[k].at); k++)
			r = site_returns_part(&s, s.entry + cases[i].parts[k].at, 0, cases[i].parts[k].bytes);
		if (r != cases[i].result || s.n != cases[i].n || memcmp(s.off, cases[i].off, s.n * sizeof(s.off[0])))
			fail_msg("%s: %d, %u returns, the first at %u", cases[i].what, r, s.n, s.off[0]);
	}
}

/* A function at 0x1000 that calls 0x2000. */
static void places_after_a_call(void **state)
{
	static const struct { uint16_t machine; const char *what, *hex; int off; } cases[] = {
		{ EM_X86_64, "Go 1.24: invoke", "e8fb0f0000" "4885c9" "7502" "9090" "4889c84889fb", 12 },
		{ EM_X86_64, "Go 1.19: padding, a long branch", "e8fb0f0000" "0f1f00" "4885c9" "0f8501000000" "90"
		  "4889c84889fb", 18 },
		{ EM_X86_64, "an error falls through", "e8fb0f0000" "4885c9" "7406" "4889c84889fb", 10 },
		{ EM_X86_64, "results returned unchanged: NewStream", "e8fb0f0000" "4883c4685dc3", 5 },
		{ EM_X86_64, "another register is tested", "e8fb0f0000" "4885c0" "7502" "9090" "4889c84889fb", -1 },
		{ EM_X86_64, "two calls", "e8fb0f0000" "4883c468" "e8f20f0000" "4883c468", -1 },
		{ EM_X86_64, "no call", "4885c97502909090909090", -1 },
		{ EM_X86_64, "a branch out of the function", "e8fb0f0000" "4885c9" "757f" "909090909090", -1 },
		{ EM_AARCH64, "cbnz", "00040094" "420000b5" "1f2003d5" "e00302aa", 12 },
		{ EM_AARCH64, "a branch backwards, out of the function", "00040094" "c2ffffb5" "1f2003d5", -1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint8_t code[64];
		struct site p = { 0 };
		size_t n = unhex(cases[i].hex, code);
		int r = site_after_call(cases[i].machine, code, n, 0x1000, 0x2000, &p);

		if (cases[i].off < 0 ? r != -EBADMSG : r != 0 || p.off != (uint32_t)cases[i].off || p.off + p.len > n)
			fail_msg("%s: %d, %u", cases[i].what, r, p.off);
	}
}

/* The same with a slice and an error as results. */
static void places_after_a_slice(void **state)
{
	static const struct { uint16_t machine; const char *what, *hex; int off; } cases[] = {
		{ EM_X86_64, "Go 1.19: a long branch", "e8fb0f0000" "4885ff" "0f853b020000" "4889442468", 8 },
		{ EM_X86_64, "Go 1.24: an error falls through", "e8fb0f0000" "4885ff" "7465" "4889b42430010000", 8 },
		{ EM_X86_64, "the register of an interface", "e8fb0f0000" "4885c9" "7502" "90904889c84889fb", -1 },
		{ EM_X86_64, "the results are stored first", "e8fb0f0000" "4889442468" "4885ff" "7402", -1 },
		{ EM_X86_64, "no branch", "e8fb0f0000" "4885ff" "4889442468" "4889442468", -1 },
		{ EM_X86_64, "two calls", "e8fb0f0000" "4885ff" "e8f30f0000" "4885ff" "740290909090", -1 },
		{ EM_X86_64, "it ends", "e8fb0f0000" "4885ff" "74", -1 },
		{ EM_AARCH64, "cbz", "00040094" "430000b4" "1f2003d5", 4 },
		{ EM_AARCH64, "cbnz", "00040094" "430000b5" "1f2003d5", 4 },
		{ EM_AARCH64, "another register", "00040094" "420000b5" "1f2003d5", -1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint8_t code[64];
		struct site p = { 0 };
		size_t n = unhex(cases[i].hex, code);
		int r = site_after_slice(cases[i].machine, code, n, 0x1000, 0x2000, &p);

		if (cases[i].off < 0 ? r != -EBADMSG : r != 0 || p.off != (uint32_t)cases[i].off || p.off + p.len > n)
			fail_msg("%s: %d, %u", cases[i].what, r, p.off);
	}
}

/* ---- arguments ---- */

static void expect(uint16_t machine, enum gobin_abi abi, const char *signature, const char *want)
{
	struct abi_args a;
	char text[512] = "";

	assert_int_equal(abi_assign(machine, abi, signature, &a), 0);
	for (unsigned i = 0; i < a.n_words; i++) {
		size_t at = strlen(text);

		if (a.words[i].loc.where == GOBIN_IN_REG)
			snprintf(text + at, sizeof(text) - at, "%s=%s ", a.words[i].name,
				 gobin_reg_name(machine, a.words[i].loc.reg));
		else
			snprintf(text + at, sizeof(text) - at, "%s=%d ", a.words[i].name, a.words[i].loc.off);
	}
	assert_string_equal(text, want);
}

static void arguments(void **state)
{
	static const char write_header[] = "l:p streamID:u endStream:b hf:S onWrite:p";

	(void)state;
	expect(EM_X86_64, GOBIN_ABI_REGS, write_header,
	       "l=AX streamID=BX endStream=CX hf.ptr=DI hf.len=SI hf.cap=R8 onWrite=R9 ");
	expect(EM_X86_64, GOBIN_ABI0, write_header,
	       "l=8 streamID=16 endStream=20 hf.ptr=24 hf.len=32 hf.cap=40 onWrite=48 ");
	expect(EM_AARCH64, GOBIN_ABI_REGS, write_header,
	       "l=R0 streamID=R1 endStream=R2 hf.ptr=R3 hf.len=R4 hf.cap=R5 onWrite=R6 ");
	expect(EM_X86_64, GOBIN_ABI_REGS, "t:p ctx:i frame:p handle:p",
	       "t=AX ctx.type=BX ctx.data=CX frame=DI handle=SI ");
	expect(EM_X86_64, GOBIN_ABI0, "t:p ctx:i frame:p handle:p",
	       "t=8 ctx.type=16 ctx.data=24 frame=32 handle=40 ");
	expect(EM_X86_64, GOBIN_ABI_REGS, "fr:p fh:F",
	       "fr=AX fh.valid=BX fh.type=CX fh.flags=DI fh.length=SI fh.stream=R8 ");
	expect(EM_X86_64, GOBIN_ABI0, "fr:p fh:F",
	       "fr=8 fh.valid=16 fh.type=17 fh.flags=18 fh.length=20 fh.stream=24 ");
	expect(EM_X86_64, GOBIN_ABI_REGS, "e:p f:H",
	       "e=AX f.name.ptr=BX f.name.len=CX f.value.ptr=DI f.value.len=SI f.sensitive=R8 ");
	/*
	 * ClientConn.Invoke: an argument that does not fit as a whole goes to the stack, though registers are free.
	 */
	expect(EM_X86_64, GOBIN_ABI_REGS, "cc:p ctx:i method:s args:i reply:i opts:S",
	       "cc=AX ctx.type=BX ctx.data=CX method.ptr=DI method.len=SI args.type=R8 args.data=R9 reply.type=R10 "
	       "reply.data=R11 opts.ptr=8 opts.len=16 opts.cap=24 ");
}

static void arguments_of_nothing(void **state)
{
	struct abi_args a;

	(void)state;
	assert_int_equal(abi_assign(EM_X86_64, GOBIN_ABI_UNKNOWN, "t:p", &a), -EOPNOTSUPP);
	assert_int_equal(abi_assign(EM_RISCV, GOBIN_ABI_REGS, "t:p", &a), -EOPNOTSUPP);
	assert_int_equal(abi_assign(EM_X86_64, GOBIN_ABI_REGS, "t", &a), -EINVAL);
	assert_int_equal(abi_assign(EM_X86_64, GOBIN_ABI_REGS, "t:?", &a), -EINVAL);
	assert_int_equal(abi_from_dwarf(EM_X86_64, 5), 3);
	assert_int_equal(abi_from_dwarf(EM_X86_64, 7), -1);
	assert_int_equal(abi_dwarf_reg(EM_AARCH64, 16), -1);
}

/* Every row's signature works in both conventions and has the words that the row lists. */
static void rows(void **state)
{
	size_t n;
	const struct hooker *h = rules_hookers(&n);

	(void)state;
	assert_true(n + 8 < FUNCTIONS_MAX);
	for (size_t i = 0; i < n; i++) {
		struct abi_args a;
		unsigned words = 0;

		assert_int_equal(abi_assign(EM_X86_64, GOBIN_ABI_REGS, h[i].signature, &a), 0);
		assert_true(gobin_rule_sets(h[i].rule) & (GOBIN_ALL | GOBIN_SERVING | GOBIN_RANGES | GOBIN_TLS));
		for (const char *p = h[i].args; *p; words++) {
			unsigned len = (unsigned)strcspn(p, " ");

			if (!abi_word(&a, p, len))
				fail_msg("%s: no word %.*s", gobin_rule_name(h[i].rule), (int)len, p);
			p += len;
			p += *p == ' ';
		}
		assert_in_range(words, 1, GOBIN_ARGS_MAX);
	}
	for (int r = 0; r < GOBIN_RULE__MAX; r++) {
		bool any = false;

		for (size_t i = 0; i < n; i++)
			any |= h[i].rule == (enum gobin_rule)r;
		if (!any)
			fail_msg("%s has no hooker", gobin_rule_name((enum gobin_rule)r));
	}
}

/* ---- names ---- */

static enum go_match match(const char *name, enum go_pkg p, const char *receiver, const char *method)
{
	return gobin_names_match_function(name, strlen(name), p, receiver, method);
}

static void names(void **state)
{
	(void)state;
	assert_int_equal(match("net/http.(*http2serverConn).processHeaders", PKG_STD, "serverConn", "processHeaders"),
			 GO_BUNDLED);
	assert_int_equal(match("net/http/internal/http2.(*serverConn).processHeaders", PKG_STD, "serverConn",
			       "processHeaders"), GO_EXACT);
	assert_int_equal(match("net/http.(*serverConn).processHeaders", PKG_STD, "serverConn", "processHeaders"),
			 GO_NO);
	assert_int_equal(match("net/http/internal/http2.(*http2serverConn).processHeaders", PKG_STD, "serverConn",
			       "processHeaders"), GO_NO);
	assert_int_equal(match("example.com/a/vendor/golang.org/x/net/http2.(*Framer).WriteRSTStream", PKG_XNET,
			       "Framer", "WriteRSTStream"), GO_VENDORED);
	assert_int_equal(match("example.com/golang.org/x/net/http2.(*Framer).WriteRSTStream", PKG_XNET, "Framer",
			       "WriteRSTStream"), GO_NO);
	assert_int_equal(match("golang.org/x/net/http2.(*Framer).WriteRSTStreamer", PKG_XNET, "Framer",
			       "WriteRSTStream"), GO_NO);
	assert_int_equal(match("golang.org/x/net/http2.(*xFramer).WriteRSTStream", PKG_XNET, "Framer",
			       "WriteRSTStream"), GO_NO);
	/* The standard library's own copy of hpack is another package. */
	assert_int_equal(match("vendor/golang.org/x/net/http2/hpack.(*Encoder).WriteField", PKG_HPACK, "Encoder",
			       "WriteField"), GO_NO);
	assert_int_equal(match("vendor/golang.org/x/net/http2/hpack.(*Encoder).WriteField", PKG_STD_HPACK, "Encoder",
			       "WriteField"), GO_EXACT);
	/* Its types are used where no other copy exists. */
	assert_int_equal(gobin_names_match_package(PKG_HPACK, "vendor/golang.org/x/net/http2/hpack", 35),
			 GO_VENDORED);
}

static void releases(void **state)
{
	(void)state;
	assert_int_equal(identify_minor("go1.24.4"), 24);
	assert_int_equal(identify_minor("go1.27rc1"), 27);
	assert_int_equal(identify_minor("go1.9"), 9);
	assert_int_equal(identify_minor("devel go1.28-abcdef Mon"), 28);
	assert_int_equal(identify_minor("devel +4d5bb9c60a"), 0);
	assert_int_equal(identify_minor("cargo1.24"), 0);
	assert_int_equal(identify_minor(""), 0);
}

/* ---- locations ---- */

static struct dwarf_arg located(uint16_t machine, uint32_t size, const Dwarf_Op *ops, size_t n)
{
	struct dwarf_arg a = { .size = size };

	dwarf_loc_pieces(machine, ops, n, &a);
	return a;
}

static void locations(void **state)
{
	static const Dwarf_Op slice[] = { { DW_OP_reg5 }, { DW_OP_piece, 8 }, { DW_OP_reg4 }, { DW_OP_piece, 8 },
					  { DW_OP_reg8 }, { DW_OP_piece, 8 } };
	static const Dwarf_Op twice[] = { { DW_OP_reg3 }, { DW_OP_piece, 8 }, { DW_OP_reg3 }, { DW_OP_piece, 8 },
					  { DW_OP_reg2 }, { DW_OP_piece, 8 }, { DW_OP_reg2 }, { DW_OP_piece, 8 } };
	static const Dwarf_Op empty[] = { { DW_OP_piece, 8 }, { DW_OP_reg3 }, { DW_OP_piece, 8 }, { DW_OP_reg2 },
					  { DW_OP_piece, 8 } };
	static const Dwarf_Op frame[] = { { DW_OP_call_frame_cfa } }, slot[] = { { DW_OP_fbreg, 16 } };
	static const Dwarf_Op computed[] = { { DW_OP_reg3 }, { DW_OP_stack_value } };
	struct dwarf_arg a = located(EM_X86_64, 24, slice, ARRAY_SIZE(slice));

	(void)state;
	assert_int_equal(a.n_pieces, 3);
	assert_int_equal(a.pieces[2].dwarf_reg, 8);
	assert_int_equal(a.pieces[2].at, 16);
	a = located(EM_X86_64, 16, twice, ARRAY_SIZE(twice));	/* as Go 1.19 writes interfaces */
	assert_int_equal(a.n_pieces, 2);
	assert_int_equal(a.pieces[1].dwarf_reg, 2);
	assert_int_equal(a.pieces[1].at, 8);
	a = located(EM_X86_64, 16, empty, ARRAY_SIZE(empty));
	assert_int_equal(a.n_pieces, 2);
	assert_int_equal(a.pieces[0].dwarf_reg, 3);
	assert_int_equal(a.pieces[0].at, 0);
	a = located(EM_X86_64, 8, frame, 1);
	assert_int_equal(a.pieces[0].where, GOBIN_ON_STACK);
	assert_int_equal(a.pieces[0].off, 8);
	a = located(EM_X86_64, 8, slot, 1);
	assert_int_equal(a.pieces[0].off, 24);
	a = located(EM_AARCH64, 8, slot, 1);
	assert_int_equal(a.pieces[0].off, 16);
	assert_int_equal(located(EM_X86_64, 8, computed, 2).n_pieces, 0);
}

/* ---- DWARF of a release that passes arguments on the stack ---- */

struct sections {
	struct buf info, abbrev;
};

static void u8(struct buf *b, unsigned v) { buf_add_char(b, (char)v); }
static void u32(struct buf *b, uint32_t v) { buf_add(b, &v, 4); }
static void u64(struct buf *b, uint64_t v) { buf_add(b, &v, 8); }
static void str(struct buf *b, const char *s) { buf_add(b, s, strlen(s) + 1); }

/* tag, children, then pairs of attribute and form. */
static void abbrev(struct buf *b, unsigned number, unsigned tag, bool children, const unsigned *pairs, size_t n)
{
	u8(b, number);
	u8(b, tag);
	u8(b, children);
	for (size_t i = 0; i < n; i++) {
		if (pairs[i] > 127) {		/* unsigned LEB128 */
			u8(b, (pairs[i] & 127) | 128);
			u8(b, pairs[i] >> 7);
		} else {
			u8(b, pairs[i]);
		}
	}
	u8(b, 0);
	u8(b, 0);
}

enum { UNIT = 1, SUBPROGRAM, PARAMETER, BASE, STRUCT, MEMBER };

static void make_abbrevs(struct buf *b)
{
	static const unsigned unit[] = { DW_AT_name, DW_FORM_string };
	static const unsigned subprogram[] = { DW_AT_name, DW_FORM_string, DW_AT_low_pc, DW_FORM_addr };
	static const unsigned parameter[] = { DW_AT_name, DW_FORM_string, DW_AT_variable_parameter, DW_FORM_flag,
					      DW_AT_type, DW_FORM_ref4, DW_AT_location, DW_FORM_exprloc };
	static const unsigned base[] = { DW_AT_name, DW_FORM_string, DW_AT_byte_size, DW_FORM_data1 };
	static const unsigned structure[] = { DW_AT_name, DW_FORM_string, DW_AT_byte_size, DW_FORM_data1, 0x2904,
					      DW_FORM_data4 };
	static const unsigned member[] = { DW_AT_name, DW_FORM_string, DW_AT_data_member_location, DW_FORM_data1,
					   DW_AT_type, DW_FORM_ref4 };

	abbrev(b, UNIT, DW_TAG_compile_unit, true, unit, ARRAY_SIZE(unit));
	abbrev(b, SUBPROGRAM, DW_TAG_subprogram, true, subprogram, ARRAY_SIZE(subprogram));
	abbrev(b, PARAMETER, DW_TAG_formal_parameter, false, parameter, ARRAY_SIZE(parameter));
	abbrev(b, BASE, DW_TAG_base_type, false, base, ARRAY_SIZE(base));
	abbrev(b, STRUCT, DW_TAG_structure_type, true, structure, ARRAY_SIZE(structure));
	abbrev(b, MEMBER, DW_TAG_member, false, member, ARRAY_SIZE(member));
	u8(b, 0);
}

static void parameter(struct buf *b, const char *name, bool result, uint32_t type, int slot)
{
	u8(b, PARAMETER);
	str(b, name);
	u8(b, result);
	u32(b, type);
	u8(b, slot ? 2 : 1);
	u8(b, slot ? DW_OP_fbreg : DW_OP_call_frame_cfa);
	if (slot)
		u8(b, (unsigned)slot);	/* below 64: one byte */
}

#define ENTRY 0x401000u
#define TYPES 0x500000u

/* Numbers of the entries that others refer to: from the unit's begin. */
static void make_info(struct buf *b)
{
	uint32_t word, half;

	u32(b, 0);	/* length, below */
	u8(b, 4);
	u8(b, 0);
	u32(b, 0);
	u8(b, 8);
	u8(b, UNIT);
	str(b, "google.golang.org/grpc/internal/transport");
	word = (uint32_t)b->len;
	u8(b, BASE);
	str(b, "uintptr");
	u8(b, 8);
	half = (uint32_t)b->len;
	u8(b, BASE);
	str(b, "uint32");
	u8(b, 4);
	u8(b, STRUCT);
	str(b, "google.golang.org/grpc/internal/transport.loopyWriter");
	u8(b, 88);
	u32(b, 0x1230);
	u8(b, MEMBER);
	str(b, "framer");
	u8(b, 40);
	u32(b, word);
	u8(b, 0);
	u8(b, SUBPROGRAM);
	str(b, "google.golang.org/grpc/internal/transport.(*loopyWriter).writeHeader");
	u64(b, ENTRY);
	parameter(b, "l", false, word, 0);
	parameter(b, "streamID", false, half, 8);
	parameter(b, "~r0", true, word, 48);
	u8(b, 0);
	u8(b, 0);
	word = (uint32_t)b->len - 4;
	memcpy(b->data, &word, 4);
}

/* An ELF file with these two sections. */
static void make_file(struct sections *s, struct buf *out)
{
	static const char names[] = "\0.debug_info\0.debug_abbrev\0.shstrtab";
	Elf64_Ehdr eh = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT }, .e_type = ET_EXEC,
			  .e_machine = EM_X86_64, .e_version = EV_CURRENT, .e_ehsize = sizeof(eh),
			  .e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 4, .e_shstrndx = 3 };
	Elf64_Shdr sh[4] = {
		[1] = { .sh_name = 1, .sh_type = SHT_PROGBITS, .sh_offset = sizeof(eh), .sh_size = s->info.len },
		[2] = { .sh_name = 13, .sh_type = SHT_PROGBITS, .sh_size = s->abbrev.len },
		[3] = { .sh_name = 27, .sh_type = SHT_STRTAB, .sh_size = sizeof(names) },
	};

	sh[2].sh_offset = sh[1].sh_offset + sh[1].sh_size;
	sh[3].sh_offset = sh[2].sh_offset + sh[2].sh_size;
	eh.e_shoff = sh[3].sh_offset + sh[3].sh_size;
	buf_add(out, &eh, sizeof(eh));
	buf_add(out, s->info.data, s->info.len);
	buf_add(out, s->abbrev.data, s->abbrev.len);
	buf_add(out, names, sizeof(names));
	buf_add(out, sh, sizeof(sh));
	assert_int_equal(buf_error(out), 0);
}

static void make_dwarf(struct buf *out)
{
	struct sections s = { 0 };

	make_abbrevs(&s.abbrev);
	make_info(&s.info);
	make_file(&s, out);
	buf_fini(&s.info);
	buf_fini(&s.abbrev);
}

static int read_back(const void *data, size_t len, struct dwarf_facts *f, const char **why)
{
	static const struct type_query queries[] = { { PKG_TRANSPORT, "loopyWriter" } };
	static const uint64_t entries[] = { ENTRY };
	struct elf *e;
	int r = elf_open_mem(data, len, 1u << 20, &e);

	if (r < 0)
		return r;
	r = dwarf_read(e, queries, 1, entries, 1, TYPES, f, why);
	elf_free(e);
	return r;
}

static void stack_arguments(void **state)
{
	struct dwarf_facts f = { 0 };
	const struct go_type *t;
	const char *why = "";
	struct buf file = { 0 };

	(void)state;
	make_dwarf(&file);
	assert_int_equal(read_back(file.data, file.len, &f, &why), 0);
	t = dwarf_find(&f, PKG_TRANSPORT, "loopyWriter");
	assert_non_null(t);
	assert_int_equal(t->size, 88);
	assert_int_equal(t->addr, TYPES + 0x1230);
	assert_int_equal(types_field(t, "framer")->off, 40);
	assert_int_equal(f.functions.len, 1);
	assert_int_equal(f.functions.items[0].n_args, 2);	/* the result is none */
	assert_int_equal(f.functions.items[0].args[0].pieces[0].off, 8);
	assert_int_equal(f.functions.items[0].args[1].pieces[0].off, 16);
	assert_int_equal(f.functions.items[0].args[1].size, 4);
	dwarf_facts_fini(&f);
	buf_fini(&file);
}

/* Every byte replaced, and the file truncated at every length: no crash, and the findings can be released. */
static void broken_dwarf(void **state)
{
	struct buf file = { 0 };

	(void)state;
	make_dwarf(&file);
	for (size_t i = 0; i < file.len; i++) {
		static const uint8_t values[] = { 0, 0x7f, 0xff };

		for (size_t k = 0; k < sizeof(values); k++) {
			struct dwarf_facts f = { 0 };
			const char *why = "";
			char was = file.data[i];

			file.data[i] = (char)values[k];
			if (read_back(file.data, file.len, &f, &why) < 0)
				assert_non_null(why);
			dwarf_facts_fini(&f);
			file.data[i] = was;
		}
	}
	buf_fini(&file);
}

/* ---- read-only bytes ---- */

extern const char __executable_start;	/* the linker's: where this program begins */

static uint64_t from_start(const void *p)
{
	return (uint64_t)((uintptr_t)p - (uintptr_t)&__executable_start);
}

/* This very program; its own symbols give the expected values. */
static void fixed_bytes(void **state)
{
	static const char literal[] = "in no segment that can be written to";
	static char variable[] = "in one that can";
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct image img = { 0 };
	struct elf *e = NULL;
	uint64_t len;

	(void)state;
	assert_int_equal(elf_open_fd(fd, 1u << 30, &e), 0);
	assert_int_equal(image_init(&img, e, 1u << 30), 0);
	len = image_fixed_end(&img) - image_base(&img);
	assert_true(from_start(literal) + sizeof(literal) <= len);
	assert_true(from_start((const void *)(uintptr_t)fixed_bytes) < len);
	assert_true(from_start(variable) >= len);
	image_fini(&img);
	elf_free(e);
	close(fd);
}

/* ---- answers ---- */

static void answers(void **state)
{
	size_t len = sizeof(struct gobin_answer) + 1;
	struct gobin_answer *made = calloc(1, len), *a = NULL;
	static const char load_error[] = "rgfr"
					 "no Go program"; /* GOBIN_LOAD_ERROR in front */
	struct err err = { 0 };

	(void)state;
	assert_non_null(made);
	made->magic = GOBIN_MAGIC;
	made->len = (uint32_t)len;
	assert_int_equal(gobin_answer_parse(made, len, &a, &err), 0);
	assert_string_equal(gobin_str(a, 0), "");
	assert_string_equal(gobin_str(a, 99), "");
	gobin_answer_free(a);
	assert_int_equal(gobin_answer_parse(made, len - 1, &a, &err), -EBADMSG);
	assert_int_equal(gobin_answer_parse(made, 3, &a, &err), -EBADMSG);
	made->rules[0].state = GOBIN_STATE__MAX;
	assert_int_equal(gobin_answer_parse(made, len, &a, &err), -EBADMSG);
	made->rules[0].state = 0;
	made->rules[0].site.n_args = GOBIN_ARGS_MAX + 1;
	assert_int_equal(gobin_answer_parse(made, len, &a, &err), -EBADMSG);
	made->rules[0].site.n_args = 0;
	made->fields[0].name = 1;
	assert_int_equal(gobin_answer_parse(made, len, &a, &err), -EBADMSG);
	assert_int_equal(gobin_answer_parse(load_error, sizeof(load_error), &a, &err), -ENOEXEC);
	assert_string_equal(err.msg, "no Go program");
	free(made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places),
		cmocka_unit_test(places_in_nothing),
		cmocka_unit_test(places_of_returns),
		cmocka_unit_test(places_after_a_call),
		cmocka_unit_test(places_after_a_slice),
		cmocka_unit_test(thread_local_g),
		cmocka_unit_test(arguments),
		cmocka_unit_test(arguments_of_nothing),
		cmocka_unit_test(rows),
		cmocka_unit_test(names),
		cmocka_unit_test(releases),
		cmocka_unit_test(locations),
		cmocka_unit_test(stack_arguments),
		cmocka_unit_test(broken_dwarf),
		cmocka_unit_test(fixed_bytes),
		cmocka_unit_test(answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
