/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of the ELF reader share. Internal to src/elf.
 */
#ifndef ELF_ELF_IMPL_H
#define ELF_ELF_IMPL_H

#include "base/vec.h"
#include "elf/elf.h"

struct elf_loaded {		/* bytes that were asked for and are kept */
	uint64_t off, size;	/* in the file */
	bool inflated;		/* what the file has there is compressed */
	const uint8_t *data;	/* owned unless the file is a buffer and they were not compressed */
	size_t len;
};

struct elf_phdr {
	uint32_t type;		/* PT_* */
	uint64_t align;
	struct elf_segment seg;
};

struct elf {
	int fd;			/* borrowed; -1 = a buffer */
	const uint8_t *mem;	/* borrowed */
	uint64_t size;		/* of the file at the time of opening */
	size_t budget, used;	/* bytes */
	bool is_64;
	uint16_t type, machine;
	uint64_t entry;
	VEC(struct elf_phdr) phdrs;
	VEC(struct elf_segment) loads;
	VEC(struct elf_section) sections;
	VEC(struct elf_loaded) loaded;
};

/* Counts @len bytes. -E2BIG when they go beyond the budget. */
int elf_charge(struct elf *e, uint64_t len);

/* Bytes of the file in place, kept and counted; the same range is loaded once. */
int elf_load(struct elf *e, uint64_t off, uint64_t size, const uint8_t **ret);
int elf_load_inflated(struct elf *e, uint64_t off, uint64_t size, const uint8_t **ret, size_t *ret_len);
int elf_load_zdebug(struct elf *e, uint64_t off, uint64_t size, const uint8_t **ret, size_t *ret_len);

#endif
