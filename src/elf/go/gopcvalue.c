// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Values that change along a function: pairs of change and distance, both as variable-length numbers. How far the
 * stack pointer has moved is one of them, so that each frame of Go code can be left without a frame pointer.
 *
 * Format: runtime/symtab.go (pcvalue, struct _func), cmd/internal/obj/pcln.go of the Go distribution.
 */
#include <errno.h>
#include <string.h>

#include "base/cursor.h"
#include "base/macros.h"
#include "elf/go/gopclntab_impl.h"

#define PC_STEPS_MAX (1u << 20)		/* of one function: real ones have thousands */

#define FLAG_TOP_FRAME 1	/* abi.FuncFlag */
#define FLAG_SP_WRITE 2

struct steps {
	struct cursor c;
	uint8_t quantum;
	uint64_t pc;		/* where the value ends */
	uint32_t value, n;
};

static uint32_t varint(struct cursor *c)
{
	uint32_t v = 0;

	for (unsigned shift = 0; shift < 35; shift += 7) {
		uint8_t b = cur_u8(c);

		v |= (uint32_t)((uint64_t)(b & 0x7f) << shift);
		if (!(b & 0x80))
			return v;
	}
	c->bad = true;
	return 0;
}

static struct steps steps_begin(const struct gopclntab *t, uint64_t off, uint64_t entry)
{
	return (struct steps){
		.c = gopclntab_at(t->pcs, off), .quantum = t->quantum, .pc = entry, .value = UINT32_MAX
	};
}

/* The next value, which holds up to s->pc. False at the end, and where there is no sense in it. */
static bool steps_next(struct steps *s)
{
	uint32_t change = varint(&s->c);

	if (s->n == PC_STEPS_MAX || (!change && s->n))
		return false;
	s->n++;
	s->value += change & 1 ? ~(change >> 1) : change >> 1;
	s->pc += (uint64_t)varint(&s->c) * s->quantum;
	return cur_ok(&s->c);
}

int32_t gopcvalue_at(const struct gopclntab *t, uint64_t off, uint64_t entry, uint64_t pc)
{
	struct steps s = steps_begin(t, off, entry);

	while (off && steps_next(&s))
		if (pc < s.pc)
			return (int32_t)s.value;
	return -1;
}

int gopclntab_sp(const struct gopclntab *t, const struct gofunc *f, gopclntab_sp_fn fn, void *ctx)
{
	struct cursor c = gopclntab_field(t, f->info, GO_FIELD_SP);
	uint32_t off = cur_u32(&c);	/* 0 = there is no table */
	struct steps s = steps_begin(t, off, f->entry);
	uint64_t from = f->entry;
	int r = 0;

	while (off && r >= 0 && from < f->end && cur_ok(&c) && steps_next(&s)) {
		if (s.pc <= from)	/* also what bounds the steps of a hostile table by the size of its code */
			return -EBADMSG;
		r = fn(ctx, from, MIN(s.pc, f->end), (int32_t)s.value);
		from = s.pc;
	}
	return r < 0 ? r : cur_ok(&c) && cur_ok(&s.c) ? 0 : -EBADMSG;
}

/* ---- functions that are not left like others ---- */

/* Their marks came with Go 1.17, and what they do differs between versions: names are what stays. */
static const struct { const char *name; unsigned flags; } special[] = {
	{ "runtime.goexit", GOFUNC_TOP },
	{ "runtime.mstart", GOFUNC_TOP },
	{ "runtime.rt0_go", GOFUNC_TOP },
	{ "runtime.mcall", GOFUNC_TOP },	/* the goroutine it left may run elsewhere by now */
	{ "runtime.morestack", GOFUNC_TOP },	/* likewise: Go's own tracebacks end here too */
	{ "runtime.systemstack", GOFUNC_SWITCHES },
	{ "runtime.asmcgocall", GOFUNC_SWITCHES },
	{ "runtime.cgocallback", GOFUNC_SWITCHES },
	{ "runtime.cgocallback_gofunc", GOFUNC_SWITCHES },
	{ "runtime.nanotime1", GOFUNC_SWITCHES },	/* the clock is read on the thread's stack */
	{ "runtime.walltime1", GOFUNC_SWITCHES },
	{ "runtime.walltime", GOFUNC_SWITCHES },
	{ "time.now", GOFUNC_SWITCHES },
};

/* Assembler functions may have the call convention behind their names. */
static bool is_called(const char *name, const char *plain)
{
	size_t len = strlen(plain);

	return !strncmp(name, plain, len) && (!name[len] || !strcmp(name + len, ".abi0"));
}

static uint8_t mark_of(const struct gopclntab *t, const struct gofunc *f)
{
	struct cursor c;

	if (t->version == GO_1_2)
		return 0;
	c = gopclntab_field(t, f->info, t->since >= 20 ? GO_FIELD_START_LINE + 1 : GO_FIELD_UNIT + 1);
	cur_skip(&c, 1);	/* the function's number among those that the runtime knows */
	return cur_u8(&c);
}

unsigned gopclntab_flags(const struct gopclntab *t, const struct gofunc *f)
{
	uint8_t mark = mark_of(t, f);

	if (!strncmp(f->name, "runtime.", 8) || !strcmp(f->name, "time.now"))
		for (size_t i = 0; i < ARRAY_SIZE(special); i++)
			if (is_called(f->name, special[i].name))
				return special[i].flags;
	if (mark & FLAG_TOP_FRAME && strncmp(f->name, "runtime.sig", 11))	/* handlers have a frame above */
		return GOFUNC_TOP;
	return mark & FLAG_SP_WRITE ? GOFUNC_SWITCHES : 0;
}
