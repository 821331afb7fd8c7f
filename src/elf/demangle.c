// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libiberty does the reading; here are its bounds. A name of a few bytes can unfold to gigabytes by referring back to
 * itself, and libiberty has no limit for that and no way to stop but not to return: so output beyond the limit
 * leaves by longjmp(). The callback interface keeps its state on the stack, except for the few bytes of a Rust
 * identifier in punycode, which are lost then. Its own limit of recursion refuses names above 1024 bytes, so it is
 * off: names of the length that is allowed here take less than 1 MiB of stack (tried with each construct nested).
 *
 * Formats: Itanium C++ ABI, "Mangling"; Rust RFC 2603.
 */
#include "elf/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <string.h>

struct out {
	char *buf;
	size_t len;
	jmp_buf full;
};

static void collect(const char *text, size_t len, void *opaque)
{
	struct out *o = opaque;

	if (!len)	/* @text may be NULL then */
		return;
	if (len >= DEMANGLE_OUT_MAX - o->len)
		longjmp(o->full, 1);
	memcpy(o->buf + o->len, text, len);
	o->len += len;
}

static bool is_cxx(const char *s)
{
	return !strncmp(s, "_Z", 2) || !strncmp(s, "__Z", 3);
}

/* A legacy Rust name is a C++ name that ends in a hash; only the Rust demangler tells the two apart. */
static bool unfold(const char *mangled, struct out *o)
{
	if (setjmp(o->full))
		return false;
	if (rust_demangle_callback(mangled, 0, collect, o))
		return true;
	o->len = 0;
	return is_cxx(mangled) &&
	       cplus_demangle_v3_callback(mangled, DMGL_PARAMS | DMGL_ANSI | DMGL_NO_RECURSE_LIMIT, collect, o);
}

size_t demangle(const char *raw, char buf[DEMANGLE_OUT_MAX])
{
	char mangled[DEMANGLE_IN_MAX + 1];
	size_t len = strcspn(raw, "@");
	struct out o = { .buf = buf };

	if (len > DEMANGLE_IN_MAX || (!is_cxx(raw) && strncmp(raw, "_R", 2) != 0))
		return 0;
	memcpy(mangled, raw, len);
	mangled[len] = '\0';
	if (!unfold(mangled, &o) || !o.len)
		return 0;
	buf[o.len] = '\0';
	return strlen(buf);
}
