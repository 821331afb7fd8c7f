/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Demangles C++ (Itanium ABI) and Rust (legacy and v0) names. The result may hold any byte but NUL: the caller
 * escapes it before printing.
 */
#ifndef ELF_DEMANGLE_H
#define ELF_DEMANGLE_H

#include <stddef.h>

#define DEMANGLE_IN_MAX 4096	/* limit in bytes; longer names are not demangled */
#define DEMANGLE_OUT_MAX 16384	/* limit in bytes with the NUL; names that unfold further are not demangled */

/*
 * Writes the demangled form of @raw, without a symbol version ("@GLIBC_2.2") and without the hash of legacy Rust, to
 * @buf. Returns its length; 0 if @raw is not mangled, nested too deeply or too long.
 */
size_t demangle(const char *raw, char buf[DEMANGLE_OUT_MAX]);

#endif
