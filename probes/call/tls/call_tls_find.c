// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The member with the client random moves between releases and builds. SSL_get_client_random() adds its offset to the
 * first argument: that instruction is searched for.
 */
#include "probes/call/tls/call_tls_find.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/macros.h"
#include "elf/elf.h"
#include "elf/symfind.h"
#include "probes/call/call_wire.h"
#include "probes/call/tls/call_tls_wire.h"
#include "worker/worker.h"

#define ELF_BYTES (256u << 20)
#define TIMEOUT_NS 10000000000ull
#define CODE_BYTES 64		/* of SSL_get_client_random() */
#define OFFSET_MAX 0x8000

#define CLIENT_RANDOM "SSL_get_client_random"

static const struct {
	const char *name;
	uint32_t library, fn;
} functions[] = {
	{ "SSL_read", CALL_SOURCE_OPENSSL, CALL_TLS_READ },
	{ "SSL_write", CALL_SOURCE_OPENSSL, CALL_TLS_WRITE },
	{ "SSL_read_ex", CALL_SOURCE_OPENSSL, CALL_TLS_READ_EX },
	{ "SSL_write_ex", CALL_SOURCE_OPENSSL, CALL_TLS_WRITE_EX },
	{ "SSL_do_handshake", CALL_SOURCE_OPENSSL, CALL_TLS_NO_BYTES },
	{ "SSL_peek", CALL_SOURCE_OPENSSL, CALL_TLS_NO_BYTES },
	{ "SSL_peek_ex", CALL_SOURCE_OPENSSL, CALL_TLS_NO_BYTES },
	{ "gnutls_record_recv", CALL_SOURCE_GNUTLS, CALL_TLS_READ },
	{ "gnutls_record_send", CALL_SOURCE_GNUTLS, CALL_TLS_WRITE },
	{ "gnutls_handshake", CALL_SOURCE_GNUTLS, CALL_TLS_NO_BYTES },
	{ CLIENT_RANDOM, CALL_SOURCE_OPENSSL, 0 },
};
#define N_FUNCTIONS ARRAY_SIZE(functions)

/* x86: lea disp32(%rdi), %rsi, or add $imm32, %rdi or %rsi. The first argument is in %rdi, and unchanged so far. */
static uint32_t offset_x86(const uint8_t *code, size_t len)
{
	static const uint8_t ways[][3] = { { 0x48, 0x8d, 0xb7 }, { 0x48, 0x81, 0xc7 }, { 0x48, 0x8d, 0xbf } };

	for (size_t i = 0; i + 7 <= len && code[i] != 0xc3; i++) {
		for (size_t way = 0; way < ARRAY_SIZE(ways); way++) {
			struct cursor c = cur_init(code + i + 3, 4);

			if (!memcmp(code + i, ways[way], 3))
				return cur_u32(&c);
		}
	}
	return 0;
}

/* arm64: add xN, x0, #imm12 (Arm Architecture Reference Manual, C6.2.5). */
static uint32_t offset_arm64(const uint8_t *code, size_t len)
{
	struct cursor c = cur_init(code, len);

	while (cur_left(&c) >= 4) {
		uint32_t insn = cur_u32(&c);

		if ((insn & 0xffc003e0) == 0x91000000 && (insn >> 10 & 0xfff))
			return insn >> 10 & 0xfff;
		if (insn == 0xd65f03c0)	/* ret */
			break;
	}
	return 0;
}

static uint32_t random_of(struct elf *e, uint64_t vaddr)
{
	uint8_t code[CODE_BYTES];
	uint32_t at = 0;
	uint64_t off;

	if (elf_vaddr_to_off(e, vaddr, &off) < 0 || elf_read_at(e, off, code, sizeof(code)) < 0)
		return 0;
	if (elf_machine(e) == EM_X86_64)
		at = offset_x86(code, sizeof(code));
	else if (elf_machine(e) == EM_AARCH64)
		at = offset_arm64(code, sizeof(code));
	return at && at < OFFSET_MAX ? at + 1 : 0;
}

static void add_sites(struct elf *e, const uint64_t *addrs, struct call_tls_found *f)
{
	for (size_t i = 0; i < N_FUNCTIONS && f->n < CALL_TLS_SITES_MAX; i++) {
		struct call_tls_site *s = &f->sites[f->n];

		if (!addrs[i])
			continue;
		if (!functions[i].fn) {
			f->random = random_of(e, addrs[i]);
			continue;
		}
		if (f->n && functions[i].library != f->library)
			continue;	/* the first one found speaks for the file */
		if (elf_vaddr_to_off(e, addrs[i], &s->file_off) < 0)
			continue;
		s->fn = functions[i].fn;
		f->library = functions[i].library;
		f->n++;
	}
}

/* Runs in the worker. */
static int work(_unused_ void *ctx, int in_fd, int out_fd)
{
	const char *names[N_FUNCTIONS];
	uint64_t addrs[N_FUNCTIONS];
	struct call_tls_found f = { 0 };
	struct elf *e = NULL;

	for (size_t i = 0; i < N_FUNCTIONS; i++)
		names[i] = functions[i].name;
	if (elf_open_fd(in_fd, ELF_BYTES, &e) == 0 && symfind_functions(e, names, N_FUNCTIONS, addrs) > 0)
		add_sites(e, addrs, &f);
	elf_free(e);
	return write(out_fd, &f, sizeof(f)) != sizeof(f);
}
WORKER_PLAIN(work);

static bool is_valid(const struct call_tls_found *f)
{
	for (uint32_t i = 0; i < MIN(f->n, CALL_TLS_SITES_MAX); i++)
		if (!f->sites[i].fn || f->sites[i].fn >= CALL_TLS_FN__MAX)
			return false;
	return f->n <= CALL_TLS_SITES_MAX && f->random <= OFFSET_MAX &&
	       (f->library == CALL_SOURCE_OPENSSL || f->library == CALL_SOURCE_GNUTLS || !f->n);
}

int call_tls_find(int fd, struct call_tls_found *ret, struct err *err)
{
	const struct worker_opts o = { .name = "sonde tls", .cpu_seconds = 10, .memory_bytes = 512u << 20 };
	struct call_tls_found f = { 0 };
	ssize_t n = worker_call(&o, work, NULL, fd, &f, sizeof(f), TIMEOUT_NS, err);

	if (n < 0)
		return (int)n;
	if (n != sizeof(f) || !is_valid(&f))
		return err_set(err, -EBADMSG, "the worker process did not answer");
	if (!f.n)
		return -ENOENT;
	*ret = f;
	return 0;
}
