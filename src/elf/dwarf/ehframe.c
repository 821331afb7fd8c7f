// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The records of .eh_frame: CIEs (shared by functions) and FDEs (one address range each), sorted and run in order. An
 * invalid record loses only its own addresses: they have no rows.
 */
#include "elf/dwarf/ehframe.h"

#include <dwarf.h>
#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/macros.h"
#include "elf/dwarf/ehframe_cfa.h"
#include "elf/dwarf/ehframe_pointer.h"
#include "elf/dwarf/ehframe_table.h"
#include "elf/elf.h"
#include "elf/go/gopclntab.h"
#include "elf/go/gounwind.h"
#include "elf/leb.h"

#define GAP_BYTES 16	/* padding up to the next function is not a gap: it is never executed */
#define ENTRY_BYTES 64 /* limit in bytes of an entry function without an FDE; the shortest have 10 to 50 */

static const struct cfi_arch arch_x86_64 = { .sp = 7, .fp = 6, .ra = 16, .n_regs = 16, .link = false };
static const struct cfi_arch arch_arm64 = { .sp = 31, .fp = 29, .ra = 30, .n_regs = 32, .link = true };

struct fde {
	uint64_t start, end;	/* virtual addresses */
	uint64_t bias;		/* virtual address - file offset */
	uint32_t cie;		/* index */
	uint32_t program, program_len;	/* in the section */
	bool is_entry;			/* the file's entry point if it lacks an FDE */
};

struct compiler {
	const struct cfi_arch *arch;
	const struct elf_segment *segs;
	size_t n_segs, last_seg;
	const uint8_t *bytes;
	size_t len;
	uint64_t vaddr;		/* of bytes[0] */
	bool to_terminator;	/* guessed length: a zero record ends the section */
	struct map cie_at;	/* offset -> u32 index */
	VEC(struct cfi_cie) cies;
	VEC(struct fde) fdes;
	struct cfi_table table;
	struct gopclntab *go;	/* NULL = no Go code, or its rows are already in the table */
	const struct elf_segment *go_seg;
	uint64_t go_end;	/* file offset of the end of the Go rows */
};

/* ---- CIE ---- */

static void skip_personality(struct compiler *k, struct cursor *c)
{
	uint8_t enc = cur_u8(c);

	if (enc != DW_EH_PE_omit && ehframe_pointer_skip(c, enc, k->bytes, k->vaddr) < 0)
		c->bad = true;
}

/* Parses the augmentation string. Its data has a length, so unknown letters are skipped. */
static bool read_augmentation(struct compiler *k, struct cursor *c, const char *letters, struct cfi_cie *cie)
{
	struct cursor data;

	cie->sized = *letters == 'z';
	if (!*letters)
		return true;
	if (!cie->sized)
		return false;
	data = cur_sub(c, cur_uleb(c));
	for (letters++; *letters; letters++) {
		if (*letters == 'R')
			cie->pointers = cur_u8(&data);
		else if (*letters == 'L')
			(void)cur_u8(&data);
		else if (*letters == 'P')
			skip_personality(k, &data);
		else if (*letters == 'S')
			cie->signal = true;
		else if (*letters != 'B' && *letters != 'G')	/* AArch64: key B, tagged stack; no data */
			break;
	}
	return cur_ok(&data);
}

static struct cfi_state first_state(const struct cfi_arch *a)
{
	return (struct cfi_state){ .cfa = SONDE_CFA_OTHER,
		.ra.where = a->link ? CFI_SAME : CFI_ELSEWHERE };
}

/* @c: after the id. */
static void read_cie(struct compiler *k, struct cursor c, struct cfi_cie *cie)
{
	struct cfi_run run = { .arch = k->arch, .cie = cie, .section = k->vaddr, .bytes = k->bytes };
	uint8_t version = cur_u8(&c);
	size_t left = cur_left(&c);
	const char *letters = (const char *)c.pos;
	const void *nul = left ? memchr(letters, 0, left) : NULL;

	if (!nul || (version != 1 && version != 3 && version != 4))
		return;
	cur_skip(&c, strlen(letters) + 1);
	if (version == 4 && (cur_u8(&c) != 8 || cur_u8(&c) != 0))
		return;
	cie->code_align = cur_uleb(&c);
	cie->data_align = cur_sleb(&c);
	cie->ra = version == 1 ? cur_u8(&c) : cur_uleb(&c);
	cie->pointers = DW_EH_PE_absptr;
	if (!read_augmentation(k, &c, letters, cie) || !cur_ok(&c))
		return;
	run.now = first_state(k->arch);
	if (ehframe_cfa_run(&run, c) < 0)
		return;
	cie->init = run.now;
	cie->good = true;
}

/* ---- records ---- */

/* The next record: its bytes after the length, cut from @c. False at the end. */
static bool next_record(const struct compiler *k, struct cursor *c, struct cursor *ret)
{
	uint64_t len;

	while (cur_left(c) >= 4) {
		len = cur_u32(c);
		if (!len && k->to_terminator)
			return false;
		if (!len)
			continue;
		if (len == UINT32_MAX)
			len = cur_u64(c);
		if (len > cur_left(c))
			return false;
		*ret = cur_sub(c, (size_t)len);
		return cur_ok(c);
	}
	return false;
}

/* The CIE whose length field is at @at in the section, parsed at first use. */
static int find_cie(struct compiler *k, uint64_t at, uint32_t *ret)
{
	struct cursor c = cur_init(k->bytes + at, k->len - at), body;
	struct cfi_cie cie = { 0 };
	bool is_new = false;
	uint32_t *index = map_add(&k->cie_at, &at, &is_new);

	if (!index)
		return -ENOMEM;
	*ret = *index;
	if (!is_new)
		return 0;
	if (next_record(k, &c, &body) && cur_u32(&body) == 0)
		read_cie(k, body, &cie);
	if (vec_push(&k->cies, cie) < 0)
		return -ENOMEM;
	*ret = *index = (uint32_t)k->cies.len - 1;
	return 0;
}

/* The executable segment of the code at @vaddr; usually the same as for the previous one. */
static const struct elf_segment *find_segment(struct compiler *k, uint64_t vaddr)
{
	for (size_t n = 0; n < k->n_segs; n++) {
		size_t i = (k->last_seg + n) % k->n_segs;
		const struct elf_segment *s = &k->segs[i];

		if (!s->exec || vaddr < s->vaddr || vaddr - s->vaddr >= s->filesz || s->off > UINT64_MAX / 2)
			continue;
		k->last_seg = i;
		return s;
	}
	return NULL;
}

/* @c: after the CIE pointer. False if the record cannot be parsed. */
static bool read_fde(struct compiler *k, struct cursor c, const struct cfi_cie *cie, struct fde *f)
{
	const struct elf_segment *seg;
	uint64_t size, left;

	if (!cie->good || ehframe_pointer(&c, cie->pointers, k->bytes, k->vaddr, &f->start) < 0 ||
	    ehframe_pointer(&c, cie->pointers & EHFRAME_PE_FORMAT, k->bytes, k->vaddr, &size) < 0)
		return false;
	if (cie->sized)
		cur_skip(&c, cur_uleb(&c));
	seg = find_segment(k, f->start);
	if (!cur_ok(&c) || !seg || !size)
		return false;
	left = seg->filesz - (f->start - seg->vaddr);
	f->end = f->start + MIN(size, left);
	f->bias = seg->vaddr - seg->off;
	f->program = (uint32_t)(c.pos - k->bytes);
	f->program_len = (uint32_t)cur_left(&c);
	return true;
}

static int add_record(struct compiler *k, struct cursor body)
{
	uint64_t at = (uint64_t)(body.pos - k->bytes), back = cur_u32(&body);
	struct fde f = {0};
	int r;

	if (!cur_ok(&body) || back == 0)	/* a CIE: parsed at first reference */
		return 0;
	if (back > at) {
		k->table.n_skipped++;
		return 0;
	}
	r = find_cie(k, at - back, &f.cie);
	if (r < 0)
		return r;
	if (!read_fde(k, body, &k->cies.items[f.cie], &f)) {
		k->table.n_skipped++;
		return 0;
	}
	return vec_push(&k->fdes, f);
}

static int read_records(struct compiler *k)
{
	struct cursor c = cur_init(k->bytes, k->len), body;
	int r = 0;

	while (r >= 0 && next_record(k, &c, &body))
		r = add_record(k, body);
	return r;
}

/* ---- rows ---- */

static bool has_fde(const struct compiler *k, uint64_t addr)
{
	return vec_find(it, &k->fdes, addr >= it->start && addr < it->end);
}

/* Old linkers set the entry point of shared libraries to the start of .text; it is never entered there. */
static bool has_entry(const struct elf *e)
{
	struct elf_segment interp;
	struct elf_section text;

	if (elf_type(e) == ET_EXEC || elf_segment_find(e, PT_INTERP, &interp) == 0)
		return true;
	return elf_section_find(e, ".text", &text) == 0 && elf_entry(e) != text.addr;
}

/* The entry point has no caller, even if hand-written code lacks an FDE that marks it. */
static int add_entry(struct compiler *k, const struct elf *e)
{
	const uint64_t entry = elf_entry(e);
	const struct elf_segment *seg = entry && has_entry(e) ? find_segment(k, entry) : NULL;

	if (!seg || has_fde(k, entry))
		return 0;
	return vec_push(&k->fdes, (struct fde){
		.start = entry,
		.end = entry + MIN((uint64_t)ENTRY_BYTES, seg->filesz - (entry - seg->vaddr)),
		.bias = seg->vaddr - seg->off,
		.is_entry = true,
	});
}

static int by_offset(const void *a, const void *b)
{
	const struct fde *x = a, *y = b;
	uint64_t p = x->start - x->bias, q = y->start - y->bias;

	return COMPARE(p, q) ?: COMPARE(x->program, y->program);
}

static int compile_entry(struct compiler *k, const struct fde *f)
{
	const struct sonde_unwind_rule bottom = {.cfa = SONDE_CFA_REG, .reg = k->arch->sp, .ra = SONDE_RA_NONE};

	return ehframe_table_add(&k->table, f->start - f->bias, &bottom);
}

/* Adds the rows of one function, which ends at @next at the latest. */
static int compile_fde(struct compiler *k, const struct fde *f, uint64_t limit)
{
	const struct cfi_cie *cie = &k->cies.items[f->cie];
	struct cfi_run run = { .arch = k->arch, .cie = cie, .section = k->vaddr, .bytes = k->bytes, .loc = f->start,
		.end = f->end, .bias = f->bias, .now = cie->init, .table = &k->table };
	size_t before = k->table.rows.len;
	int r = ehframe_cfa_run(&run, cur_init(k->bytes + f->program, f->program_len));

	if (r == -EBADMSG) {
		k->table.n_skipped++;
		r = ehframe_table_gap(&k->table, run.loc - f->bias);
	} else if (r == 0) {
		k->table.n_fdes++;
	}
	/* rows beyond the next function's start would break the order */
	while (k->table.rows.len > before && k->table.rows.items[k->table.rows.len - 1].off >= limit)
		k->table.rows.len--;
	return r;
}

static uint64_t fde_off(const struct fde *f)
{
	return f->start - f->bias;
}

/* Start of the Go code whose rows are not yet added. */
static uint64_t go_off(const struct compiler *k)
{
	struct gofunc first;

	if (!k->go || gopclntab_func(k->go, 0, &first) < 0)
		return UINT64_MAX;
	return first.entry - k->go_seg->vaddr + k->go_seg->off;
}

/* Go's linker places its code contiguously, so its rows are one block between those of other code. */
static int compile_go(struct compiler *k)
{
	int r = gounwind_rows(k->go, k->arch, k->go_seg, &k->table, &k->go_end);

	gopclntab_free(TAKE_PTR(k->go));
	return r;
}

/* Number @i of the sorted FDEs; its code ends at @next at the latest. */
static int compile_one(struct compiler *k, const struct fde *f, uint64_t next)
{
	uint64_t end = f->end - f->bias;
	int r = 0;

	if (go_off(k) <= fde_off(f))
		r = compile_go(k);
	/* duplicate range: the last FDE wins, in Go code the Go table */
	if (next == fde_off(f) || fde_off(f) < k->go_end) {
		k->table.n_skipped += !f->is_entry;
		return r;
	}
	next = MIN(next, go_off(k));
	if (r >= 0)
		r = f->is_entry ? compile_entry(k, f) : compile_fde(k, f, next);
	if (r >= 0 && (next == UINT64_MAX || (next > end && next - end >= GAP_BYTES)))
		r = ehframe_table_gap(&k->table, end);
	return r;
}

static int compile_all(struct compiler *k, uint64_t *ret_end)
{
	const struct fde *f = k->fdes.items;
	int r = 0;

	vec_sort(&k->fdes, by_offset);
	*ret_end = 0;
	for (size_t i = 0; i < k->fdes.len && r >= 0; i++) {
		r = compile_one(k, &f[i], i + 1 < k->fdes.len ? fde_off(&f[i + 1]) : UINT64_MAX);
		*ret_end = MAX(*ret_end, f[i].end - f[i].bias);
	}
	if (r >= 0 && go_off(k) != UINT64_MAX)
		r = compile_go(k);
	*ret_end = MAX(*ret_end, k->go_end);
	return r;
}

/* The gopclntab if its code is in an executable segment; otherwise frame pointers. */
static int find_go(struct elf *e, struct compiler *k)
{
	struct gofunc first;
	int r;

	if (elf_section_find(e, ".note.go.buildid", &(struct elf_section){ 0 }) < 0)
		return 0;
	r = gopclntab_open(e, &k->go);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	k->go_seg = gopclntab_func(k->go, 0, &first) == 0 ? find_segment(k, first.entry) : NULL;
	if (!k->go_seg)
		gopclntab_free(TAKE_PTR(k->go));
	return 0;
}

/* ---- the section ---- */

/* Without section headers: the search table's header points to .eh_frame, which a zero record ends. */
static int find_by_segment(struct elf *e, struct compiler *k)
{
	const struct elf_segment *load = NULL;
	struct elf_segment hdr;
	const uint8_t *raw;
	struct cursor c;
	uint64_t at, left;
	uint8_t enc;
	int r = elf_segment_find(e, PT_GNU_EH_FRAME, &hdr);

	if (r < 0)
		return r;
	r = elf_vaddr_data(e, hdr.vaddr, MIN(hdr.filesz, 32u), &raw);
	if (r < 0)
		return r;
	c = cur_init(raw, MIN(hdr.filesz, 32u));
	if (cur_u8(&c) != 1)
		return -EBADMSG;
	enc = cur_u8(&c);
	cur_skip(&c, 2);
	r = ehframe_pointer(&c, enc, raw, hdr.vaddr, &at);
	if (r < 0)
		return -EBADMSG;
	for (size_t i = 0; i < k->n_segs; i++)
		if (at >= k->segs[i].vaddr && at - k->segs[i].vaddr < k->segs[i].filesz)
			load = &k->segs[i];
	if (!load)
		return -EBADMSG;
	left = load->filesz - (at - load->vaddr);
	k->vaddr = at;
	k->len = (size_t)left;
	k->to_terminator = true;
	return elf_vaddr_data(e, at, (size_t)left, &k->bytes);
}

static int find_section(struct elf *e, struct compiler *k)
{
	struct elf_section s;
	int r = elf_section_find(e, ".eh_frame", &s);

	if (r == 0)
		r = elf_section_data(e, &s, &k->bytes, &k->len);
	if (r == 0)
		k->vaddr = s.addr;
	if (r == -ENOENT)
		r = find_by_segment(e, k);
	if (r == -ENODATA)
		r = -ENOENT;
	if (r == 0 && k->len > UINT32_MAX)
		r = -E2BIG;
	return r;
}

static const struct cfi_arch *arch_of(const struct elf *e)
{
	switch (elf_machine(e)) {
	case EM_386:
	case EM_X86_64:
		return &arch_x86_64;
	case EM_ARM:
	case EM_AARCH64:
		return &arch_arm64;
	default:
		return NULL;
	}
}

static void compiler_fini(struct compiler *k)
{
	map_fini(&k->cie_at);
	vec_fini(&k->cies);
	vec_fini(&k->fdes);
	ehframe_table_fini(&k->table);
	gopclntab_free(k->go);
}

/* Uses all call frame information of 64-bit code: .eh_frame and gopclntab. */
static int read_all(struct elf *e, struct compiler *k)
{
	int r = find_go(e, k);

	if (r < 0)
		return r;
	r = find_section(e, k);
	if (r == 0)
		return read_records(k);
	return k->go || r == -ENOENT || r == -EBADMSG ? 0 : r; /* Go's linker writes none */
}

int ehframe_compile(struct elf *e, size_t max_bytes, struct buf *ret)
{
	_cleanup_(compiler_fini) struct compiler k = { 0 };
	uint64_t end = 0;
	int r;

	map_init(&k.cie_at, sizeof(uint64_t), sizeof(uint32_t));
	k.arch = arch_of(e);
	if (!k.arch)
		return -ENOENT;
	k.segs = elf_segments(e, &k.n_segs);
	r = ehframe_table_init(&k.table, max_bytes / sizeof(uint32_t));
	if (r == 0 && elf_is_64(e))
		r = read_all(e, &k);
	if (r == 0)
		r = add_entry(&k, e);
	if (r == 0)
		r = compile_all(&k, &end);
	return r < 0 ? r : ehframe_table_write(&k.table, end, max_bytes, ret);
}
