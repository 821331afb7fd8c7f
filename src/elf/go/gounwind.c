// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Unwind rows for Go code, which has no .eh_frame: gopclntab records how far the stack pointer has moved at each
 * address. Go keeps frame pointers, but they lose the caller of a frameless function and do not follow the runtime
 * when it switches from a goroutine's stack to the thread's.
 *
 * Frames: "Stack frame layout" in runtime/stack.go; the return address and the saved frame pointer next to it are at
 * the upper end of a frame on x86-64, at the lower end on AArch64 (cmd/internal/obj/{x86,arm64}/obj*.go).
 */
#include "elf/go/gounwind.h"

#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "elf/dwarf/ehframe_cfa.h"
#include "elf/dwarf/ehframe_table.h"
#include "elf/elf.h"
#include "elf/go/gopclntab.h"

#define FRAME_MAX ((1 << 30) + 4096)	/* limit in bytes: the largest frame of reflect.call */
#define SIGNAL_SP_X86 160	/* offset of the saved stack pointer in the kernel's signal frame */

struct rows {
	const struct cfi_arch *arch;
	struct cfi_table *table;
	uint64_t bias;		/* virtual address - file offset */
};

static struct sonde_unwind_rule frame_rule(const struct cfi_arch *a, int32_t bytes)
{
	struct sonde_unwind_rule r = { .cfa = SONDE_CFA_REG, .reg = a->sp, .cfa_off = bytes };

	if (a->link && bytes) {
		r.fp = SONDE_FP_AT_SP;
		r.fp_off = -8;
		r.ra = SONDE_RA_AT_CFA;
		r.aux = -bytes;
	} else if (a->link) {
		r.ra = SONDE_RA_LINK;
	} else {
		r.cfa_off += 8;
		r.fp = bytes ? SONDE_FP_AT_CFA : SONDE_FP_SAME;
		r.fp_off = bytes ? -16 : 0;
	}
	return r;
}

static int add_part(void *ctx, uint64_t start, _unused_ uint64_t end, int32_t bytes)
{
	struct rows *w = ctx;
	struct sonde_unwind_rule rule;

	if (bytes < 0 || bytes > FRAME_MAX)
		return ehframe_table_gap(w->table, start - w->bias);
	rule = frame_rule(w->arch, bytes);
	return ehframe_table_add(w->table, start - w->bias, &rule);
}

static int add_whole(struct rows *w, uint64_t start, const struct sonde_unwind_rule *rule)
{
	return ehframe_table_add(w->table, start - w->bias, rule);
}

/*
 * The kernel returns from a signal handler to the first byte of this function; the unwinder looks up the byte before.
 */
static bool is_sigreturn(const struct gofunc *f)
{
	return !strncmp(f->name, "runtime.sigreturn", 17);
}

static int add_func(struct rows *w, const struct gopclntab *t, const struct gofunc *f)
{
	const struct sonde_unwind_rule top = { .cfa = SONDE_CFA_REG, .reg = w->arch->sp, .ra = SONDE_RA_NONE };
	const struct sonde_unwind_rule change = { .cfa = SONDE_CFA_SWITCH };
	const struct sonde_unwind_rule signal = { .cfa = SONDE_CFA_SIGNAL,
						  .cfa_off = w->arch->link ? 0 : SIGNAL_SP_X86 };
	unsigned flags = gopclntab_flags(t, f);
	int r;

	if (is_sigreturn(f))
		return add_whole(w, f->entry - (f->entry > w->bias), &signal);
	if (flags & GOFUNC_TOP)
		return add_whole(w, f->entry, &top);
	if (flags & GOFUNC_SWITCHES)
		return add_whole(w, f->entry, &change);
	/* fall back to frame pointers where the table has no value */
	r = ehframe_table_gap(w->table, f->entry - w->bias);
	if (r == 0)
		r = gopclntab_sp(t, f, add_part, w);
	return r == -EBADMSG ? 0 : r;
}

int gounwind_rows(const struct gopclntab *t, const struct cfi_arch *arch, const struct elf_segment *seg,
		  struct cfi_table *table, uint64_t *ret_end)
{
	struct rows w = { .arch = arch, .table = table, .bias = seg->vaddr - seg->off };
	uint64_t last = seg->vaddr, limit = seg->vaddr + seg->filesz;
	int r = 0;

	for (size_t i = 0; r == 0 && i < gopclntab_n(t); i++) {
		struct gofunc f;

		if (gopclntab_func(t, i, &f) < 0 || f.entry < last || f.end > limit) {
			table->n_skipped++;
			continue;
		}
		r = add_func(&w, t, &f);
		table->n_fdes++;
		last = f.end;
	}
	*ret_end = last - w.bias;
	return r < 0 ? r : ehframe_table_gap(table, *ret_end);
}
