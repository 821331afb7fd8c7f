// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Call frame programs (DWARF 5, 6.4.2), run for three registers only: CFA, frame pointer and return address of the
 * caller. Rules for other registers are parsed and dropped. Expressions are recognised by shape, not evaluated.
 */
#include "elf/dwarf/ehframe_cfa.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "elf/dwarf/ehframe_pointer.h"
#include "elf/dwarf/ehframe_table.h"
#include "elf/leb.h"

#define REMEMBER_MAX 64		/* limit of saved states; compilers use one or two */

/* GNU and AArch64 additions that some versions of elfutils' dwarf.h lack. */
#define CFA_AARCH64_NEGATE_RA_STATE_WITH_PC 0x2c
#define CFA_AARCH64_NEGATE_RA_STATE 0x2d	/* DW_CFA_GNU_window_save elsewhere */
#define CFA_GNU_ARGS_SIZE 0x2e
#define CFA_GNU_NEGATIVE_OFFSET 0x2f

struct machine {
	struct cfi_run *run;
	struct cursor c;
	struct cfi_state stack[REMEMBER_MAX];
	unsigned depth;
};

static bool fits(int64_t v)
{
	return v >= INT32_MIN && v <= INT32_MAX;
}

/* ---- expressions ---- */

/* DW_OP_bregN off */
static bool expr_register(struct cursor *c, uint8_t *ret_reg, int64_t *ret_off)
{
	uint8_t op = cur_u8(c);

	if (op < DW_OP_breg0 || op > DW_OP_breg31)
		return false;
	*ret_reg = (uint8_t)(op - DW_OP_breg0);
	*ret_off = cur_sleb(c);
	return cur_ok(c);
}

/* The addend at the end of an expression; 0 if it has none. False: unknown shape. */
static bool expr_addend(struct cursor *c, int64_t *ret)
{
	uint8_t op;

	*ret = 0;
	if (!cur_left(c))
		return cur_ok(c);
	op = cur_u8(c);
	if (op == DW_OP_plus_uconst) {
		*ret = (int64_t)cur_uleb(c);
		return cur_ok(c) && !cur_left(c);
	}
	if (op >= DW_OP_lit0 && op <= DW_OP_lit31)
		*ret = op - DW_OP_lit0;
	else if (op == DW_OP_const1u)
		*ret = cur_u8(c);
	else if (op == DW_OP_const1s)
		*ret = (int8_t)cur_u8(c);
	else
		return false;
	op = cur_u8(c);
	if (op == DW_OP_minus)
		*ret = -*ret;
	return (op == DW_OP_plus || op == DW_OP_minus) && cur_ok(c) && !cur_left(c);
}

/* sp + 8 + (((ip & 15) >= N) << 3), which linkers write for .plt; N is the length of a stub's first part. */
static bool expr_plt(const struct cfi_arch *a, struct cursor c, struct cfi_state *s)
{
	static const uint8_t middle[] = { DW_OP_lit15, DW_OP_and }, tail[] = { DW_OP_ge, DW_OP_lit3, DW_OP_shl,
		DW_OP_plus };
	uint8_t reg, limit;
	const void *m, *t;
	int64_t off, ip;

	if (a->link || !expr_register(&c, &reg, &off) || reg != a->sp)
		return false;
	if (!expr_register(&c, &reg, &ip) || reg != a->ra || ip)
		return false;
	m = cur_bytes(&c, sizeof(middle));
	limit = cur_u8(&c);
	t = cur_bytes(&c, sizeof(tail));
	if (!cur_ok(&c) || cur_left(&c) || memcmp(m, middle, sizeof(middle)) || memcmp(t, tail, sizeof(tail)) ||
	    limit < DW_OP_lit0 || limit > DW_OP_lit15)
		return false;
	s->cfa = SONDE_CFA_PLT;
	s->reg = a->sp;
	s->off = off;
	s->aux = limit - DW_OP_lit0;
	return true;
}

static void set_cfa_expression(const struct cfi_arch *a, struct cfi_state *s, struct cursor c)
{
	bool deref;

	s->cfa = SONDE_CFA_OTHER;
	if (expr_plt(a, c, s))
		return;
	if (!expr_register(&c, &s->reg, &s->off))
		return;
	deref = cur_left(&c) && cur_peek(&c, 0) == DW_OP_deref;
	if (deref)
		cur_skip(&c, 1);
	if (!expr_addend(&c, &s->aux))
		return;
	s->cfa = deref ? SONDE_CFA_DEREF : SONDE_CFA_REG;
	if (!deref && __builtin_add_overflow(s->off, s->aux, &s->off))
		s->cfa = SONDE_CFA_OTHER;
	if (!deref)
		s->aux = 0;
}

static struct cfi_saved saved_by_expression(struct cursor c)
{
	struct cfi_saved s = { .where = CFI_ELSEWHERE };

	if (expr_register(&c, &s.reg, &s.off) && !cur_left(&c))
		s.where = CFI_AT_REG;
	return s;
}

/* ---- from a state to a rule ---- */

static void rule_fp(const struct cfi_arch *a, const struct cfi_saved *s, struct sonde_unwind_rule *r)
{
	r->fp = SONDE_FP_LOST;
	if (s->where == CFI_SAME || s->where == CFI_UNDEFINED) {
		r->fp = SONDE_FP_SAME;
	} else if (s->where == CFI_AT_CFA && fits(s->off)) {
		r->fp = SONDE_FP_AT_CFA;
		r->fp_off = (int32_t)s->off;
	} else if (s->where == CFI_AT_REG && fits(s->off) && (s->reg == a->fp || s->reg == a->sp)) {
		r->fp = s->reg == a->fp ? SONDE_FP_AT_FP : SONDE_FP_AT_SP;
		r->fp_off = (int32_t)s->off;
	}
}

/* False if no rule can find the return address. */
static bool rule_ra(const struct cfi_arch *a, const struct cfi_state *s, struct sonde_unwind_rule *r)
{
	if (a->link && s->ra.where == CFI_SAME) {
		r->ra = SONDE_RA_LINK;
		return true;
	}
	if (s->ra.where == CFI_IN_REG && s->cfa == SONDE_CFA_REG && s->ra.reg < a->n_regs) {
		r->ra = SONDE_RA_REG;
		r->aux = s->ra.reg;
		return true;
	}
	if (s->ra.where != CFI_AT_CFA)
		return false;
	r->ra = SONDE_RA_CFA8;
	if (s->ra.off == -8)
		return true;
	r->ra = SONDE_RA_AT_CFA;
	r->aux = (int32_t)s->ra.off;
	return s->cfa == SONDE_CFA_REG && fits(s->ra.off);
}

/* x86-64 C libraries describe the kernel's signal frame this way: ip is saved 8 bytes above sp. */
static bool is_signal_frame(const struct cfi_run *r)
{
	const struct cfi_state *s = &r->now;

	if (!r->cie->signal)
		return false;
	return r->arch->link || (s->cfa == SONDE_CFA_DEREF && s->reg == r->arch->sp && !s->aux && fits(s->off) &&
				 s->ra.where == CFI_AT_REG && s->ra.reg == r->arch->sp && s->ra.off == s->off + 8);
}

static struct sonde_unwind_rule rule_of(const struct cfi_run *r)
{
	const struct cfi_state *s = &r->now;
	struct sonde_unwind_rule rule = { .cfa = SONDE_CFA_OTHER };

	if (s->ra.where == CFI_UNDEFINED)
		return (struct sonde_unwind_rule){ .cfa = SONDE_CFA_REG, .reg = r->arch->sp, .ra = SONDE_RA_NONE };
	if (is_signal_frame(r))
		return (struct sonde_unwind_rule){ .cfa = SONDE_CFA_SIGNAL, .reg = r->arch->sp,
						   .cfa_off = r->arch->link ? 0 : (int32_t)s->off };
	if (s->cfa == SONDE_CFA_OTHER || s->reg >= r->arch->n_regs || !fits(s->off) || !fits(s->aux))
		return rule;
	rule = (struct sonde_unwind_rule){ .cfa = s->cfa, .reg = s->reg, .cfa_off = (int32_t)s->off,
					   .aux = (int32_t)s->aux };
	rule_fp(r->arch, &s->fp, &rule);
	return rule_ra(r->arch, s, &rule) ? rule : (struct sonde_unwind_rule){ .cfa = SONDE_CFA_OTHER };
}

/* ---- instructions ---- */

/* The current state applies from r->loc on, the next one from @loc on. */
static int advance(struct cfi_run *r, uint64_t loc)
{
	struct sonde_unwind_rule rule;
	int n;

	if (loc < r->loc || loc > r->end)
		return -EBADMSG;
	if (loc == r->loc || !r->table)
		return 0;
	rule = rule_of(r);
	n = ehframe_table_add(r->table, r->loc - r->bias, &rule);
	r->loc = loc;
	return n;
}

static int advance_by(struct cfi_run *r, uint64_t units)
{
	uint64_t delta;

	if (__builtin_mul_overflow(units, r->cie->code_align, &delta) || delta > r->end - r->loc)
		return -EBADMSG;
	return advance(r, r->loc + delta);
}

static struct cfi_saved *column(struct cfi_run *r, struct cfi_state *s, uint64_t reg)
{
	if (reg == r->cie->ra)
		return &s->ra;
	return reg == r->arch->fp ? &s->fp : NULL;
}

static void save(struct cfi_run *r, uint64_t reg, struct cfi_saved v)
{
	struct cfi_saved *s = column(r, &r->now, reg);

	if (s)
		*s = v;
}

static void save_at(struct cfi_run *r, uint64_t reg, int64_t factored)
{
	struct cfi_saved v = { .where = CFI_AT_CFA };

	if (__builtin_mul_overflow(factored, r->cie->data_align, &v.off))
		v.where = CFI_ELSEWHERE;
	save(r, reg, v);
}

static void restore(struct cfi_run *r, uint64_t reg)
{
	struct cfi_saved *s = column(r, &r->now, reg);
	struct cfi_state init = r->cie->init;

	if (s)
		*s = *column(r, &init, reg);
}

static void def_cfa(struct cfi_run *r, uint64_t reg, int64_t off)
{
	r->now.cfa = reg < r->arch->n_regs ? SONDE_CFA_REG : SONDE_CFA_OTHER;
	r->now.reg = (uint8_t)reg;
	r->now.off = off;
	r->now.aux = 0;
}

static int64_t factored(const struct cfi_run *r, int64_t v)
{
	int64_t out;

	return __builtin_mul_overflow(v, r->cie->data_align, &out) ? INT64_MAX : out;
}

/* Skips the bytes of an expression. */
static struct cursor block(struct cursor *c)
{
	return cur_sub(c, cur_uleb(c));
}

static int remember(struct machine *m)
{
	if (m->depth == REMEMBER_MAX)
		return -EBADMSG;
	m->stack[m->depth++] = m->run->now;
	return 0;
}

static int restore_state(struct machine *m)
{
	if (!m->depth)
		return -EBADMSG;
	m->run->now = m->stack[--m->depth];
	return 0;
}

static int step_move(struct machine *m, uint8_t op)
{
	struct cfi_run *r = m->run;
	uint64_t loc;
	int n;

	switch (op) {
	case DW_CFA_set_loc:
		n = ehframe_pointer(&m->c, r->cie->pointers, r->bytes, r->section, &loc);
		return n < 0 ? n : advance(r, loc);
	case DW_CFA_advance_loc1:
		return advance_by(r, cur_u8(&m->c));
	case DW_CFA_advance_loc2:
		return advance_by(r, cur_u16(&m->c));
	case DW_CFA_advance_loc4:
		return advance_by(r, cur_u32(&m->c));
	case DW_CFA_remember_state:
		return remember(m);
	case DW_CFA_restore_state:
		return restore_state(m);
	default:
		return -EBADMSG;
	}
}

static bool step_cfa(struct cfi_run *r, struct cursor *c, uint8_t op)
{
	uint64_t reg;

	switch (op) {
	case DW_CFA_def_cfa:
		reg = cur_uleb(c);
		def_cfa(r, reg, (int64_t)cur_uleb(c));
		return true;
	case DW_CFA_def_cfa_sf:
		reg = cur_uleb(c);
		def_cfa(r, reg, factored(r, cur_sleb(c)));
		return true;
	case DW_CFA_def_cfa_register:
		def_cfa(r, cur_uleb(c), r->now.off);
		return true;
	case DW_CFA_def_cfa_offset:
		r->now.off = (int64_t)cur_uleb(c);
		return true;
	case DW_CFA_def_cfa_offset_sf:
		r->now.off = factored(r, cur_sleb(c));
		return true;
	case DW_CFA_def_cfa_expression:
		set_cfa_expression(r->arch, &r->now, block(c));
		return true;
	default:
		return false;
	}
}

static bool step_saved(struct cfi_run *r, struct cursor *c, uint8_t op)
{
	const struct cfi_saved elsewhere = { .where = CFI_ELSEWHERE };
	struct cfi_saved in = { .where = CFI_IN_REG };
	uint64_t reg;

	switch (op) {
	case DW_CFA_offset_extended:
		reg = cur_uleb(c);
		save_at(r, reg, (int64_t)cur_uleb(c));
		return true;
	case DW_CFA_offset_extended_sf:
		reg = cur_uleb(c);
		save_at(r, reg, cur_sleb(c));
		return true;
	case CFA_GNU_NEGATIVE_OFFSET:
		reg = cur_uleb(c);
		save_at(r, reg, (int64_t)-cur_uleb(c));
		return true;
	case DW_CFA_restore_extended:
		restore(r, cur_uleb(c));
		return true;
	case DW_CFA_undefined:
		save(r, cur_uleb(c), (struct cfi_saved){ .where = CFI_UNDEFINED });
		return true;
	case DW_CFA_same_value:
		save(r, cur_uleb(c), (struct cfi_saved){ .where = CFI_SAME });
		return true;
	case DW_CFA_register:
		reg = cur_uleb(c);
		in.reg = (uint8_t)MIN(cur_uleb(c), 255u);
		save(r, reg, in);
		return true;
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
		save(r, cur_uleb(c), elsewhere);
		(void)cur_uleb(c);
		return true;
	case DW_CFA_expression:
		reg = cur_uleb(c);
		save(r, reg, saved_by_expression(block(c)));
		return true;
	case DW_CFA_val_expression:
		save(r, cur_uleb(c), elsewhere);
		(void)block(c);
		return true;
	default:
		return false;
	}
}

static int step_extended(struct machine *m, uint8_t op)
{
	switch (op) {
	case DW_CFA_nop:
	case CFA_AARCH64_NEGATE_RA_STATE:	/* signed or not: the walker strips the signature */
		return 0;
	case CFA_AARCH64_NEGATE_RA_STATE_WITH_PC:
		return 0;
	case CFA_GNU_ARGS_SIZE:
		(void)cur_uleb(&m->c);
		return 0;
	default:
		if (step_cfa(m->run, &m->c, op) || step_saved(m->run, &m->c, op))
			return 0;
		return step_move(m, op);
	}
}

static int step(struct machine *m)
{
	uint8_t op = cur_u8(&m->c), low = op & 0x3f;

	switch (op & 0xc0) {
	case DW_CFA_advance_loc:
		return advance_by(m->run, low);
	case DW_CFA_offset:
		save_at(m->run, low, (int64_t)cur_uleb(&m->c));
		return 0;
	case DW_CFA_restore:
		restore(m->run, low);
		return 0;
	default:
		return step_extended(m, op);
	}
}

int ehframe_cfa_run(struct cfi_run *r, struct cursor program)
{
	struct machine m = { .run = r, .c = program };
	int n = 0;

	while (n >= 0 && cur_left(&m.c))
		n = step(&m);
	if (n >= 0 && !cur_ok(&m.c))
		n = -EBADMSG;
	return n < 0 ? n : advance(r, r->end);
}
