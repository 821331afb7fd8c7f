/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Module data of a Go program and the start of its text. Internal to src/elf/go.
 */
#ifndef ELF_GOTEXT_H
#define ELF_GOTEXT_H

#include <stdint.h>

struct elf;
struct gopclntab;

/* The pointer at @vaddr after relocation. -ENOENT. */
int gotext_pointer(struct elf *e, uint64_t vaddr, uint64_t *ret);

/* Address of the runtime's module data, the structure that points to the table. -ENOENT. */
int gotext_module(struct elf *e, const struct gopclntab *t, uint64_t *ret);

/*
 * runtime.text, the base of addresses in the table. The header holds it up to Go 1.25 (in relocatable programs,
 * through a relocation), the module data in every version.
 */
int gotext_start(struct elf *e, const struct gopclntab *t, uint64_t *ret);

#endif
