// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Libraries are known by the names of mapped files; what is linked into the program by strings that every build of
 * the library has in its read-only data. Whether its functions are found is asked of the probe.
 */
#include "cmd/rpc/rpc_program.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/io.h"
#include "base/macros.h"
#include "probes/call/tls/call_tls_find.h"
#include "worker/worker.h"

#define CHUNK_BYTES (1u << 20)
#define FILE_BYTES (1024u << 20) /* more of a program is not read */
#define CPU_SECONDS 20
#define TIMEOUT_NS (20ull * NS_PER_S)

/* ---- inside the program file ---- */

enum mark { MARK_OPENSSL, MARK_BORING, MARK_RUSTLS, MARK_GO_TLS, MARK__MAX };

/* Names of source files in messages and panics, and of Go's own function table. */
static const struct {
	const char *text;
	size_t len;
} marks[] = {
	[MARK_OPENSSL] = { "ssl/ssl_lib.c", sizeof("ssl/ssl_lib.c") }, /* with its NUL: BoringSSL's ends in .cc */
	[MARK_BORING] = { "ssl/ssl_lib.cc", sizeof("ssl/ssl_lib.cc") },
	[MARK_RUSTLS] = { "/rustls-0.", sizeof("/rustls-0.") - 1 },
	[MARK_GO_TLS] = { "crypto/tls.(*Conn)", sizeof("crypto/tls.(*Conn)") - 1 },
};
_Static_assert(ARRAY_SIZE(marks) == MARK__MAX, "a text per mark");
#define MARK_BYTES 32 /* the longest is shorter */

struct inside {
	uint8_t has[MARK__MAX];
};

/* The file in overlapping pieces, so that no mark is cut. */
static void find_marks(int fd, struct inside *ret)
{
	_cleanup_free_ char *piece = malloc(CHUNK_BYTES + MARK_BYTES);
	size_t kept = 0, len;
	ssize_t n;

	for (uint64_t done = 0; piece && done < FILE_BYTES; done += (uint64_t)n) {
		n = read(fd, piece + kept, CHUNK_BYTES);
		if (n <= 0)
			return;
		len = kept + (size_t)n;
		for (size_t i = 0; i < MARK__MAX; i++)
			ret->has[i] |= memmem(piece, len, marks[i].text, marks[i].len) != NULL;
		kept = MIN(len, (size_t)MARK_BYTES);
		memmove(piece, piece + len - kept, kept);
	}
}

static int work(_unused_ void *ctx, int in_fd, int out_fd)
{
	struct inside in = { 0 };

	find_marks(in_fd, &in);
	return write(out_fd, &in, sizeof(in)) != sizeof(in);
}
WORKER_PLAIN(work);

/* *ret_watched: the program's own copy of a library has functions that are watched. */
static void look_inside(uint32_t pid, struct inside *ret, bool *ret_watched)
{
	const struct worker_opts o = { .name = "sonde program",
				       .cpu_seconds = CPU_SECONDS,
				       .memory_bytes = 512u << 20 };
	_cleanup_free_ struct call_tls_found *found = malloc(sizeof(*found));
	_cleanup_close_ int fd = -1;
	struct inside in = { 0 };
	struct err err = { 0 };
	char path[64];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/exe", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0 && worker_call(&o, work, NULL, fd, &in, sizeof(in), TIMEOUT_NS, &err) == sizeof(in))
		*ret = in;
	*ret_watched = fd >= 0 && found && call_tls_find(fd, NULL, found, &err) >= 0;
}

/* ---- around it ---- */

enum library { LIBRARY_OPENSSL, LIBRARY_GNUTLS, LIBRARY_NSS, LIBRARY_JAVA, LIBRARY__MAX };

static const char *const libraries[] = {
	[LIBRARY_OPENSSL] = "/libssl.so",
	[LIBRARY_GNUTLS] = "/libgnutls.so",
	[LIBRARY_NSS] = "/libnss3.so",
	[LIBRARY_JAVA] = "/libjvm.so",
};
_Static_assert(ARRAY_SIZE(libraries) == LIBRARY__MAX, "a name per library");

/* Bits of the libraries that the process maps. */
static unsigned mapped(uint32_t pid)
{
	_cleanup_fclose_ FILE *f = NULL;
	_cleanup_free_ char *line = NULL;
	unsigned bits = 0;
	size_t cap = 0;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/maps", pid);
	f = fopen(path, "re");
	while (f && getline(&line, &cap, f) > 0)
		for (unsigned i = 0; i < LIBRARY__MAX; i++)
			bits |= strstr(line, libraries[i]) ? 1u << i : 0;
	return bits;
}

static bool has_ring(uint32_t pid)
{
	_cleanup_(closedirp) DIR *dir = NULL;
	const struct dirent *e;
	char path[64], link[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/fd", pid);
	dir = opendir(path);
	while (dir && (e = readdir(dir))) {
		n = readlinkat(dirfd(dir), e->d_name, link, sizeof(link) - 1);
		link[MAX(n, (ssize_t)0)] = '\0';
		if (strstr(link, "[io_uring]"))
			return true;
	}
	return false;
}

/* Its own copy first: a program that has one may map a library for others. */
static enum rpc_program_tls tls_of(const struct inside *in, unsigned libs)
{
	if (in->has[MARK_OPENSSL] && !in->has[MARK_BORING])
		return RPC_PROGRAM_TLS_STRIPPED;
	if (in->has[MARK_BORING])
		return RPC_PROGRAM_TLS_BORING;
	if (libs & 1u << LIBRARY_JAVA)
		return RPC_PROGRAM_TLS_JAVA;
	if (libs & (1u << LIBRARY_OPENSSL | 1u << LIBRARY_GNUTLS))
		return RPC_PROGRAM_TLS_WATCHED;
	if (libs & 1u << LIBRARY_NSS)
		return RPC_PROGRAM_TLS_NSS;
	if (in->has[MARK_GO_TLS])
		return RPC_PROGRAM_TLS_GO;
	return in->has[MARK_RUSTLS] ? RPC_PROGRAM_TLS_RUSTLS : RPC_PROGRAM_TLS_UNKNOWN;
}

void rpc_program_look(uint32_t pid, struct rpc_program *ret)
{
	struct inside in = { 0 };
	bool watched = false;

	look_inside(pid, &in, &watched);
	ret->tls = watched ? RPC_PROGRAM_TLS_WATCHED : tls_of(&in, mapped(pid));
	ret->io_uring = has_ring(pid);
}
