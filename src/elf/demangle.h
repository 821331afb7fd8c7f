/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * C++ (Itanium ABI) and Rust (legacy and v0) names for people. The result may hold any byte but NUL: whoever prints
 * it passes it through the escape layer.
 */
#ifndef ELF_DEMANGLE_H
#define ELF_DEMANGLE_H

#include <stddef.h>

#define DEMANGLE_IN_MAX 4096	/* bytes of a mangled name; longer ones stay as they are */
#define DEMANGLE_OUT_MAX 16384	/* bytes with the NUL: names that unfold beyond it stay as they are */

/*
 * Writes the readable form of @raw, without a symbol version ("@GLIBC_2.2"), to @buf. Its length; 0 when @raw is no
 * mangled name, or one too deep or too long. Rust's legacy hash is left out.
 */
size_t demangle(const char *raw, char buf[DEMANGLE_OUT_MAX]);

#endif
