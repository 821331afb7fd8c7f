/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ELF files (System V ABI; 64 and 32 bit, little endian): headers, segments, sections on demand.
 *
 * Input is hostile. It is an open descriptor, read with pread() only (a file truncated meanwhile gives short reads,
 * never a signal), or a buffer; never a path or a pid. Loaded bytes count against a budget. Production code calls
 * this in src/worker only.
 */
#ifndef ELF_ELF_H
#define ELF_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELF_BUILD_ID_MAX 20

struct elf;

struct elf_segment {		/* a PT_LOAD */
	uint64_t vaddr, memsz;
	uint64_t off, filesz;	/* in the file */
	bool exec, write;
};

struct elf_section {
	const char *name;	/* owned by the file */
	uint32_t type;		/* SHT_* */
	uint64_t flags;		/* SHF_* */
	uint64_t addr, off, size;
	uint32_t link, info;
	uint64_t entsize;
};

/*
 * @budget: limit in bytes of all loaded sections together. -EBADMSG if the file is not a supported ELF, -E2BIG,
 * -ENOMEM, -errno.
 */
int elf_open_fd(int fd, size_t budget, struct elf **ret);	/* @fd is borrowed; moves its offset */
int elf_open_mem(const void *data, size_t len, size_t budget, struct elf **ret);	/* borrowed */
void elf_free(struct elf *e);	/* NULL is fine */

uint16_t elf_machine(const struct elf *e);	/* EM_* */
uint16_t elf_type(const struct elf *e);		/* ET_* */
bool elf_is_64(const struct elf *e);
uint64_t elf_entry(const struct elf *e);
uint64_t elf_size(const struct elf *e);		/* size of the file when it was opened */
size_t elf_budget(const struct elf *e);		/* as passed to elf_open_*() */
const struct elf_segment *elf_segments(const struct elf *e, size_t *ret_n);
/* The first program header of a type (PT_GNU_EH_FRAME, PT_DYNAMIC, ...). -ENOENT. */
int elf_segment_find(const struct elf *e, uint32_t type, struct elf_segment *ret);
size_t elf_build_id(struct elf *e, uint8_t ret[ELF_BUILD_ID_MAX]);	/* bytes; 0 = none */

/* -ENOENT if the section does not exist. Names come from the section headers. */
int elf_section_find(const struct elf *e, const char *name, struct elf_section *ret);
const struct elf_section *elf_sections(const struct elf *e, size_t *ret_n);

/*
 * The section's bytes, loaded once, decompressed if SHF_COMPRESSED; owned by @e. -E2BIG beyond the budget, -EBADMSG
 * if the file is truncated, -ENODATA for SHT_NOBITS.
 */
int elf_section_data(struct elf *e, const struct elf_section *s, const uint8_t **ret, size_t *ret_len);

/* The same for a range of the file, and for ".zdebug_*", the compressed sections of Go up to 1.18. */
int elf_load(struct elf *e, uint64_t off, uint64_t size, const uint8_t **ret);
int elf_load_zdebug(struct elf *e, uint64_t off, uint64_t size, const uint8_t **ret, size_t *ret_len);

/* Charges @len bytes that the caller allocates for this file to the budget. -E2BIG beyond it. */
int elf_charge(struct elf *e, uint64_t len);

/* Copies bytes of the file, not charged to the budget. -EBADMSG if the file is truncated. */
int elf_read_at(const struct elf *e, uint64_t off, void *buf, size_t len);

/* Bytes at a virtual address, from the PT_LOAD that holds all of them; owned by @e, charged to the budget. */
int elf_vaddr_data(struct elf *e, uint64_t vaddr, size_t len, const uint8_t **ret);

/* File offset to virtual address by the executable PT_LOAD that holds it, and back. -ENOENT. */
int elf_off_to_vaddr(const struct elf *e, uint64_t off, uint64_t *ret);
int elf_vaddr_to_off(const struct elf *e, uint64_t vaddr, uint64_t *ret);

#endif
