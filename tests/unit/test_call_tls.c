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
#include "elf_util.h"
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

/* The offset + 1; 0 = unknown. */
static uint32_t random_of(uint16_t machine, const char *code)
{
	char functions[512];
	struct call_tls_found found;
	struct err err = { 0 };
	int fd, r;

	snprintf(functions, sizeof(functions),
		 ".global SSL_read, SSL_get_client_random\\n"
		 ".type SSL_read, STT_FUNC\\n.type SSL_get_client_random, STT_FUNC\\n"
		 "SSL_read: .skip 16\\nSSL_get_client_random: %s\\n.skip 64\\n",
		 code);
	fd = build(machine, functions);
	assert_true(fd >= 0);
	r = call_tls_find(fd, NULL, &found, &err);
	close(fd);
	assert_int_equal(r, 0);
	assert_int_equal(found.n, 1);
	assert_int_equal(found.library, CALL_SOURCE_OPENSSL);
	assert_int_equal(found.sites[0].fn, CALL_TLS_READ);
	return found.random;
}

/* Code is bytes, which the assembler of every machine takes. */
static void test_x86(void **state)
{
	static const struct {
		const char *code;
		uint32_t want;
	} rows[] = {
		{ "0x48,0x8d,0xb7,0x60,0x01,0,0", 0x160 + 1 }, /* lea 0x160(%rdi), %rsi */
		{ "0x48,0x8d,0x8f,0x60,0x01,0,0", 0x160 + 1 }, /* lea 0x160(%rdi), %rcx: node's copy of 3.0.19 */
		{ "0x4c,0x8d,0x87,0x60,0x01,0,0", 0x160 + 1 }, /* lea 0x160(%rdi), %r8 */
		{ "0x48,0x81,0xc7,0x60,0x01,0,0", 0x160 + 1 }, /* add $0x160, %rdi */
		{ "0xf3,0x0f,0x1e,0xfa,0x48,0x8d,0x87,0xb8,0,0,0", 0xb8 + 1 }, /* endbr64; lea 0xb8(%rdi), %rax */
		{ "0x48,0x8d,0xb6,0x60,0x01,0,0", 0 },	    /* lea 0x160(%rsi), %rsi: not the first argument */
		{ "0x48,0x81,0xc6,0x60,0x01,0,0", 0 },	    /* add $0x160, %rsi */
		{ "0x48,0x8d,0x77,0x60", 0 },		    /* lea 0x60(%rdi), %rsi: too near for the member */
		{ "0x48,0x8d,0xb7,0,0x90,0,0", 0 },	    /* lea 0x9000(%rdi), %rsi: too far */
		{ "0xc3,0x48,0x8d,0xb7,0x60,0x01,0,0", 0 }, /* behind the return */
		{ "0x90", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char code[128];
		uint32_t got;

		snprintf(code, sizeof(code), ".byte %s", rows[i].code);
		got = random_of(EM_X86_64, code);
		if (got != rows[i].want)
			fail_msg("%s: 0x%x instead of 0x%x", rows[i].code, got, rows[i].want);
	}
}

static void test_arm64(void **state)
{
	(void)state;
	assert_int_equal(random_of(EM_AARCH64, ".long 0xd503245f, 0x91058001"), 0x160 + 1); /* add x1, x0, #0x160 */
	assert_int_equal(random_of(EM_AARCH64, ".long 0x91058021"), 0);			    /* add x1, x1, #0x160 */
	assert_int_equal(random_of(EM_AARCH64, ".long 0xd65f03c0, 0x91058001"), 0);	    /* behind ret */
	assert_int_equal(random_of(EM_AARCH64, ".long 0x91000001"), 0);			    /* mov x1, x0 */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_x86),
		cmocka_unit_test(test_arm64),
	};

	return cmocka_run_group_tests(tests, util_setup, util_teardown);
}
