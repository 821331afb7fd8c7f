// SPDX-License-Identifier: GPL-2.0-or-later
/* Functions of C libraries by their names or given addresses; those of Go's crypto/tls are found by src/gobin. */
#include "probes/call/tls/call_tls_find.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/io.h"
#include "base/macros.h"
#include "base/str.h"
#include "elf/dwarf/ehindex.h"
#include "elf/elf.h"
#include "elf/symfind.h"
#include "gobin/gobin.h"
#include "probes/call/call_wire.h"
#include "probes/call/tls/call_tls_random.h"
#include "worker/worker.h"

#define ELF_BYTES (256u << 20)
#define TIMEOUT_NS 10000000000ull

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
_Static_assert(N_FUNCTIONS == CALL_TLS_NAMES, "an address per function");

static void add_sites(struct elf *e, const uint64_t *addrs, struct call_tls_found *f)
{
	for (size_t i = 0; i < N_FUNCTIONS && f->n < CALL_TLS_SITES_MAX; i++) {
		struct call_tls_site *s = &f->sites[f->n];

		if (!addrs[i])
			continue;
		if (!functions[i].fn) {
			call_tls_random_find(e, addrs[i], &f->random, &f->pointer);
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

/* ---- addresses given by the user ---- */

enum refusal { REFUSED_NOT, REFUSED_OUTSIDE, REFUSED_NO_TABLE, REFUSED_INSIDE, REFUSED_ELF, REFUSED__MAX };

/* Sent by the worker. */
struct answer {
	uint32_t refusal;	/* enum refusal */
	uint32_t function;	/* whose address is refused */
	uint64_t near;		/* where the function before it begins */
	struct call_tls_found found;
};

/* A probe inside a function would break it: only places where the unwind table has a function's begin. */
static enum refusal check_address(struct elf *e, uint64_t addr, uint64_t *ret_near)
{
	uint64_t off;

	if (elf_vaddr_to_off(e, addr, &off) < 0)
		return REFUSED_OUTSIDE;
	if (ehindex_find(e, addr, ret_near) < 0)
		return REFUSED_NO_TABLE;
	return *ret_near == addr ? REFUSED_NOT : REFUSED_INSIDE;
}

static void use_given(struct elf *e, const struct call_tls_given *given, struct answer *a)
{
	for (uint32_t i = 0; !a->refusal && i < N_FUNCTIONS; i++) {
		a->function = i;
		if (given->addrs[i])
			a->refusal = check_address(e, given->addrs[i], &a->near);
	}
	if (!a->refusal)
		add_sites(e, given->addrs, &a->found);
}

static int refuse(const struct answer *a, const struct call_tls_given *given, struct err *err)
{
	const char *name = functions[a->function].name;
	const uint64_t addr = given->addrs[a->function];

	switch ((enum refusal)a->refusal) {
	case REFUSED_OUTSIDE:
		return err_set(err, -EINVAL, "%s=0x%" PRIx64 ": not an address of the file's code", name, addr);
	case REFUSED_NO_TABLE:
		return err_set(err, -EINVAL, "%s=0x%" PRIx64 ": the file does not say where its functions begin "
			       "(no .eh_frame_hdr)", name, addr);
	case REFUSED_INSIDE:
		return err_set(err, -EINVAL, "%s=0x%" PRIx64 ": no function begins there, the one before it begins "
			       "at 0x%" PRIx64, name, addr, a->near);
	case REFUSED_ELF:
		return err_set(err, -EINVAL, "not a 64-bit ELF file");
	case REFUSED_NOT:
	case REFUSED__MAX: break;
	}
	return 0;
}

int call_tls_find_name(const char *name, size_t len, struct err *err)
{
	char typed[32];
	struct str_near near = { .word = typed };

	for (size_t i = 0; i < N_FUNCTIONS; i++)
		if (strlen(functions[i].name) == len && !memcmp(functions[i].name, name, len))
			return (int)i;
	snprintf(typed, sizeof(typed), "%.*s", (int)MIN(len, sizeof(typed) - 1), name);
	for (size_t i = 0; i < N_FUNCTIONS; i++)
		str_near_offer(&near, functions[i].name);
	return near.best ? err_set(err, -ENOENT, "%s is not a function that is watched; did you mean %s?", typed,
				   near.best) :
			   err_set(err, -ENOENT, "%s is not a function that is watched; expected SSL_read, SSL_write "
				   "and others of OpenSSL or GnuTLS", typed);
}

/* ---- Go ---- */

_Static_assert(CALL_TLS_GO_FD == (int)GOBIN_CONN_FD && CALL_TLS_GO_IFACE == (int)GOBIN_CONN_IFACE &&
	       CALL_TLS_GO_POINTER == (int)GOBIN_CONN_POINTER && CALL_TLS_GO_MAYBE == (int)GOBIN_CONN_MAYBE &&
	       CALL_TLS_GO_WAYS == GOBIN_CONN_WAYS, "the programs take the numbers of src/gobin");
_Static_assert(2 + 2 * GOBIN_RETURNS_MAX <= CALL_TLS_SITES_MAX && GOBIN_CONNS_MAX <= CALL_TLS_TYPES_MAX, "room");

static void add_site(struct call_tls_found *f, uint32_t fn, uint64_t file_off, uint64_t addr)
{
	f->sites[f->n++] = (struct call_tls_site){ .file_off = file_off, .fn = fn, .addr = (uint32_t)addr };
}

/* Receiver and slice are the first words in registers, restarts are recognized, and addresses fit the cookie. */
static bool can_watch(const struct gobin_rule_answer *r)
{
	const struct gobin_site *s = &r->site;

	for (unsigned i = 0; i < s->n_args; i++)
		if (s->args[i].where != GOBIN_IN_REG || s->args[i].reg != i)
			return false;
	return r->state == GOBIN_READY && s->kind == GOBIN_AT_BRANCH && s->addr <= UINT32_MAX - UINT16_MAX;
}

static void add_go_function(struct call_tls_found *f, const struct gobin_site *s, uint32_t fn, uint32_t end)
{
	const uint64_t file_off = s->file_off - (s->addr - s->function);

	add_site(f, fn, s->file_off, s->addr);
	for (uint32_t i = 0; i < s->n_returns; i++)
		add_site(f, end, file_off + s->returns[i], s->function + s->returns[i]);
}

static void add_go(const struct gobin_answer *a, struct call_tls_found *f)
{
	if (!can_watch(&a->rules[GOBIN_TLS_READ]) || !can_watch(&a->rules[GOBIN_TLS_WRITE]))
		return;
	f->library = CALL_SOURCE_GOTLS;
	add_go_function(f, &a->rules[GOBIN_TLS_READ].site, CALL_TLS_GO_READ, CALL_TLS_GO_READ_END);
	add_go_function(f, &a->rules[GOBIN_TLS_WRITE].site, CALL_TLS_GO_WRITE, CALL_TLS_GO_WRITE_END);
	f->program.conn = (uint32_t)a->fields[GOBIN_F_TLS_CONN].off;
	f->program.sysfd = (uint32_t)(a->fields[GOBIN_F_NETFD_PFD].off + a->fields[GOBIN_F_POLLFD_SYSFD].off);
	for (uint32_t i = 0; i < a->n_conns; i++) {
		struct call_tls_go_type *t = &f->types[f->n_types].ways;

		f->types[f->n_types++].type = a->conns[i].type;
		t->direct = a->conns[i].direct;
		for (unsigned k = 0; k < a->conns[i].n_ways; k++) {
			t->how[k] = a->conns[i].ways[k].how;
			t->off[k] = a->conns[i].ways[k].off;
			t->inner[k] = a->conns[i].ways[k].type;
		}
	}
}

static bool is_go(const struct elf *e)
{
	static const char *const sections[] = { ".go.buildinfo", ".note.go.buildid", ".gopclntab" };
	struct elf_section s;

	for (size_t i = 0; i < ARRAY_SIZE(sections); i++)
		if (elf_section_find(e, sections[i], &s) == 0)
			return true;
	return false;
}

static void find_go(int fd, struct call_tls_found *f)
{
	const struct gobin_request q = { .no_dwarf = true };
	struct gobin_answer *a = NULL;
	struct err err = { 0 };

	if (gobin_analyse(fd, &q, &a, &err) >= 0)
		add_go(a, f);
	gobin_answer_free(a);
}

/* ---- the worker ---- */

static int work(void *ctx, int in_fd, int out_fd)
{
	struct answer a = { 0 };
	const struct call_tls_given *given = ctx;
	const char *names[N_FUNCTIONS];
	uint64_t addrs[N_FUNCTIONS];
	struct elf *e = NULL;
	bool go = false;

	for (size_t i = 0; i < N_FUNCTIONS; i++)
		names[i] = functions[i].name;
	if (elf_open_fd(in_fd, ELF_BYTES, &e) < 0 || !elf_is_64(e))
		a.refusal = given ? REFUSED_ELF : REFUSED_NOT;
	else if (given)
		use_given(e, given, &a);
	else if (symfind_functions(e, names, N_FUNCTIONS, addrs) > 0)
		add_sites(e, addrs, &a.found);
	else
		go = is_go(e);
	elf_free(e);
	if (go)
		find_go(in_fd, &a.found);
	return io_write_all(out_fd, &a, sizeof(a)) < 0;
}
WORKER_PLAIN(work);

static bool is_valid(const struct answer *a)
{
	const struct call_tls_found *f = &a->found;
	bool ok = a->refusal < REFUSED__MAX && a->function < N_FUNCTIONS && f->n <= CALL_TLS_SITES_MAX &&
		  f->n_types <= CALL_TLS_TYPES_MAX && f->random <= CALL_TLS_OFFSET_MAX &&
		  f->pointer <= CALL_TLS_OFFSET_MAX && f->library < CALL_SOURCE__MAX &&
		  f->program.conn < CALL_TLS_OFFSET_MAX && f->program.sysfd < CALL_TLS_OFFSET_MAX;

	for (uint32_t i = 0; ok && i < f->n; i++)
		ok = f->sites[i].fn && f->sites[i].fn < CALL_TLS_FN__MAX;
	return ok;
}

int call_tls_find(int fd, const struct call_tls_given *given, struct call_tls_found *ret, struct err *err)
{
	const struct worker_opts o = {
		.name = "sonde tls", .cpu_seconds = 10, .memory_bytes = 512u << 20,
		.ctx_bytes = given ? sizeof(*given) : 0,
	};
	_cleanup_free_ struct answer *a = calloc(1, sizeof(*a));
	ssize_t n;

	if (!a)
		return err_set(err, -ENOMEM, "no memory for the search of a TLS library");
	n = worker_call(&o, work, (void *)given, fd, a, sizeof(*a), TIMEOUT_NS, err);
	if (n < 0)
		return (int)n;
	if (n != sizeof(*a) || !is_valid(a))
		return err_set(err, -EBADMSG, "the worker process did not answer");
	if (given && a->refusal)
		return refuse(a, given, err);
	if (!a->found.n)
		return err_set(err, -ENOENT, "no TLS library whose functions are watched");
	*ret = a->found;
	return 0;
}
