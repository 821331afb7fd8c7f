// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The walk of cpu_unwind.bpf.c over a copy of the stack. Only the stack is at hand: where code has to be read (a
 * signal frame without call frame information) the chain of frame pointers breaks.
 */
#include "probes/cpu/cpu_deferred.h"
#include "probes/cpu/cpu_walk_wire.h"

static const struct cpu_place *find_place(const cpu_place_vec *places, uint64_t pc)
{
	return vec_find(it, places, pc >= it->start && pc < it->end);
}

/* The rule for w.pc, to w.rule; a gap's aux says why a walk ends that finds no pair. 0, or why there is none. */
static int find_rule(struct cpu_deferred_stack *s, const struct cpu_tables *t, const cpu_place_vec *places)
{
	const struct cpu_place *place = find_place(places, s->copy.w.pc);
	struct cpu_unwind_file file = { 0 };

	if (!place)
		return SONDE_STACK_NO_MAPPING;
	s->copy.w.rule = (struct sonde_unwind_rule){ .cfa = SONDE_CFA_GAP, .aux = SONDE_STACK_FP };
	if (place->kind == CPU_PLACE_ANON || (s->copy.w.compat && place->kind == CPU_PLACE_VDSO))
		return 0;
	if (!cpu_tables_find(t, place, &file))
		return SONDE_STACK_NO_TABLE;
	if (file.n_rows && !cpu_tables_rule(t, &file, s->copy.w.pc - place->start + place->off, &s->copy.w.rule))
		s->copy.w.rule = (struct sonde_unwind_rule){ .cfa = SONDE_CFA_GAP };
	if (file.n_rows && s->copy.w.rule.cfa == SONDE_CFA_GAP)
		s->copy.w.rule.aux = SONDE_STACK_NO_RULE;
	return 0;
}

/* As cpu_unwind_step() does. */
static int step(struct cpu_deferred_stack *s, const struct cpu_tables *t, const cpu_place_vec *places)
{
	struct cpu_walk *w = &s->copy.w;
	int r;

	w->pc = w->ip - (w->exact ? 0 : 1);
	r = find_rule(s, t, places);
	if (!s->noted) {
		if (r && r != SONDE_STACK_NO_TABLE)
			return r == SONDE_STACK_NO_MAPPING && w->by_fp ? SONDE_STACK_FP : r;
		if (s->n_ips >= CPU_DEFERRED_FRAMES)
			return SONDE_STACK_DEPTH;
		s->ips[s->n_ips++] = w->ip;
		w->n++;
		s->noted = true;
	}
	if (r)
		return r;
	s->noted = false;
	return w->rule.cfa == SONDE_CFA_GAP ? step_fp(w, w->rule.aux) : step_rule(w);
}

void cpu_deferred_walk(struct cpu_deferred_stack *s, const struct cpu_tables *t, const cpu_place_vec *places)
{
	do
		s->end = step(s, t, places);
	while (!s->end);
}
