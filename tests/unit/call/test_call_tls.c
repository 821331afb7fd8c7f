// SPDX-License-Identifier: GPL-2.0-or-later
/* The offset of the client random, read out of SSL_get_client_random() of libraries that the assembler made. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <elf.h>

#include "base/err.h"
#include "base/macros.h"
#include "tests/unit/elf/elf_util.h"
#include "probes/call/call_wire.h"
#include "probes/call/tls/call_tls_find.h"
#include "probes/call/tls/call_tls_wire.h"

/* A library for @machine with these functions. */
static int build(uint16_t machine, const char *functions)
{
	Elf64_Ehdr *header;
	char *file;
	size_t len;

	assert_true(util_sh("printf '%s' > f.s && cc -shared -nostdlib -o f.so f.s", functions));
	file = util_read("f.so", &len);
	assert_non_null(file);
	header = (Elf64_Ehdr *)file;
	header->e_machine = machine;
	util_write("f.so", file, len);
	free(file);
	return util_open("f.so");
}

struct way {
	uint32_t pointer, random; /* offsets + 1; 0 = none, unknown */
};

/* @begin, @end: of the function, for the unwind table. */
static struct way way_between(uint16_t machine, const char *begin, const char *code, const char *end)
{
	char functions[512];
	struct call_tls_found found;
	struct err err = { 0 };
	int fd, r;

	snprintf(functions, sizeof(functions),
		 ".global SSL_read, SSL_get_client_random\\n"
		 ".type SSL_read, STT_FUNC\\n.type SSL_get_client_random, STT_FUNC\\n"
		 "SSL_read: .skip 16\\nSSL_get_client_random: %s\\n%s\\n%s\\n.skip 128\\n",
		 begin, code, end);
	fd = build(machine, functions);
	assert_true(fd >= 0);
	r = call_tls_find(fd, NULL, &found, &err);
	close(fd);
	assert_int_equal(r, 0);
	assert_int_equal(found.n, 1);
	assert_int_equal(found.library, CALL_SOURCE_OPENSSL);
	assert_int_equal(found.sites[0].fn, CALL_TLS_READ);
	return (struct way){ .pointer = found.pointer, .random = found.random };
}

static void expect(uint16_t machine, const char *code, uint32_t pointer, uint32_t random)
{
	const struct way w = way_between(machine, "", code, "");

	if (w.pointer != pointer || w.random != random)
		fail_msg("%s: 0x%x, 0x%x instead of 0x%x, 0x%x", code, w.pointer, w.random, pointer, random);
}

/* Code is bytes, which the assembler of every machine takes. */
static void test_x86(void **state)
{
	(void)state;
	/* lea 0x160(%rdi), %rsi; then %rcx (node's copy of 3.0.19), %r8; add $0x160, %rdi; endbr64, lea 0xb8(%rdi),
	 * %rax */
	expect(EM_X86_64, ".byte 0x48,0x8d,0xb7,0x60,0x01,0,0", 0, 0x160 + 1);
	expect(EM_X86_64, ".byte 0x48,0x8d,0x8f,0x60,0x01,0,0", 0, 0x160 + 1);
	expect(EM_X86_64, ".byte 0x4c,0x8d,0x87,0x60,0x01,0,0", 0, 0x160 + 1);
	expect(EM_X86_64, ".byte 0x48,0x81,0xc7,0x60,0x01,0,0", 0, 0x160 + 1);
	expect(EM_X86_64, ".byte 0xf3,0x0f,0x1e,0xfa,0x48,0x8d,0x87,0xb8,0,0,0", 0, 0xb8 + 1);
	/* not the first argument: lea 0x160(%rsi), %rsi; add $0x160, %rsi */
	expect(EM_X86_64, ".byte 0x48,0x8d,0xb6,0x60,0x01,0,0", 0, 0);
	expect(EM_X86_64, ".byte 0x48,0x81,0xc6,0x60,0x01,0,0", 0, 0);
	/* too near, too far: lea 0x60(%rdi), %rsi; lea 0x9000(%rdi), %rsi; behind a return */
	expect(EM_X86_64, ".byte 0x48,0x8d,0x77,0x60", 0, 0);
	expect(EM_X86_64, ".byte 0x48,0x8d,0xb7,0,0x90,0,0", 0, 0);
	expect(EM_X86_64, ".byte 0xc3,0x48,0x8d,0xb7,0x60,0x01,0,0", 0, 0);
	expect(EM_X86_64, ".byte 0x90", 0, 0);
}

static void test_x86_behind_a_pointer(void **state)
{
	(void)state;
	/* OpenSSL 1.1.1: mov 0xa8(%rdi), %rdi; cmovbe %rdx, %rax; lea 0xb8(%rdi), %rcx */
	expect(EM_X86_64, ".byte 0x48,0x8b,0xbf,0xa8,0,0,0, 0x48,0x0f,0x46,0xc2, 0x48,0x8d,0x8f,0xb8,0,0,0", 0xa8 + 1,
	       0xb8 + 1);
	/* BoringSSL: mov 0x30(%rdi), %rax; add $0x30, %rax */
	expect(EM_X86_64, ".byte 0x48,0x8b,0x47,0x30, 0x48,0x83,0xc0,0x30", 0x30 + 1, 0x30 + 1);
	/* the pointer is not used: mov 0x30(%rdi), %rax; lea 0x160(%rdi), %rsi */
	expect(EM_X86_64, ".byte 0x48,0x8b,0x47,0x30, 0x48,0x8d,0xb7,0x60,0x01,0,0", 0, 0x160 + 1);
	/* only the pointer: mov 0x30(%rdi), %rax; mov 0x30(%rax), %rdx */
	expect(EM_X86_64, ".byte 0x48,0x8b,0x47,0x30, 0x48,0x8b,0x50,0x30", 0, 0);
}

/* As in 3.5: far from the entry, behind a byte that looks like a return (cmp %rax, %rbx). */
static void test_x86_by_unwind_table(void **state)
{
	static const char far[] = ".skip 66, 0x90; .byte 0x48,0x39,0xc3; .byte 0x48,0x8d,0x8f,0x88,0x01,0,0";
	static const char next[] = ".byte 0xc3; .cfi_endproc; .cfi_startproc; .byte 0x48,0x8d,0x8f,0x88,0x01,0,0";

	(void)state;
	assert_int_equal(way_between(EM_X86_64, ".cfi_startproc", far, ".cfi_endproc").random, 0x188 + 1);
	assert_int_equal(way_between(EM_X86_64, ".cfi_startproc", next, ".cfi_endproc").random, 0);
	expect(EM_X86_64, far, 0, 0);
}

static void test_arm64(void **state)
{
	(void)state;
	expect(EM_AARCH64, ".long 0xd503245f, 0x91058001", 0, 0x160 + 1); /* bti c; add x1, x0, #0x160 */
	expect(EM_AARCH64, ".long 0xf9401800, 0x9100c001", 0x30 + 1,
	       0x30 + 1); /* ldr x0, [x0, #0x30]; add x1, x0, #0x30 */
	expect(EM_AARCH64, ".long 0xf9401803, 0x91058001", 0,
	       0x160 + 1);					  /* ldr x3, [x0, #0x30]; add x1, x0, #0x160 */
	expect(EM_AARCH64, ".long 0x91058021", 0, 0);		  /* add x1, x1, #0x160 */
	expect(EM_AARCH64, ".long 0xd65f03c0, 0x91058001", 0, 0); /* behind ret */
	expect(EM_AARCH64, ".long 0x91000001", 0, 0);		  /* mov x1, x0 */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_x86),
		cmocka_unit_test(test_x86_behind_a_pointer),
		cmocka_unit_test(test_x86_by_unwind_table),
		cmocka_unit_test(test_arm64),
	};

	return cmocka_run_group_tests(tests, util_setup, util_teardown);
}
