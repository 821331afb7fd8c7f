// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reading a thread's CPU time takes a system call, reading the clock does not: short holds have no CPU time.
 */
#include "loop/hold.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/macros.h"

#define CPU_ABOVE_NS 1000000ULL /* minimum hold for which CPU time is read */

void hold_text(const struct hold *h, char *buf, size_t cap)
{
	const char *verb = h->step.verb, *object = h->step.object;
	int n = snprintf(buf, cap, "%s%s%s%s%s", h->who ? h->who : "a handler", verb ? ": " : "", verb ? verb : "",
			 verb && object ? " " : "", verb && object ? object : "");

	if (h->from && h->to && n >= 0 && (size_t)n < cap)
		snprintf(buf + n, cap - (size_t)n, ", from %s() to %s()", h->from, h->to);
}

void hold_begin(struct hold_meter *m, const char *from)
{
	m->now.from = from;
	m->cpu_ns = clock_thread_cpu_ns();
	m->wall_ns = m->step_ns = clock_boot_ns();
	m->longest_ns = 0;
}

static void end_step(struct hold_meter *m, uint64_t now_ns)
{
	if (now_ns - m->step_ns >= m->longest_ns) {
		m->longest = m->now.step;
		m->longest_ns = now_ns - m->step_ns;
	}
	m->step_ns = now_ns;
}

void hold_step(struct hold_meter *m, const char *verb, const char *object)
{
	end_step(m, clock_boot_ns());
	m->now.step = (struct hold_step){ verb, object };
}

void hold_end(struct hold_meter *m, const char *to, struct hold *ret)
{
	uint64_t now_ns = clock_boot_ns(), cpu_ns;

	end_step(m, now_ns);
	*ret = m->now;
	ret->step = m->longest;
	ret->to = to;
	ret->wall_ns = now_ns - m->wall_ns;
	if (ret->wall_ns > CPU_ABOVE_NS) {
		cpu_ns = clock_thread_cpu_ns();
		ret->cpu_ns = MIN(cpu_ns - m->cpu_ns, ret->wall_ns);
		m->cpu_ns = cpu_ns;
	}
	m->wall_ns = m->step_ns = now_ns;
	m->longest_ns = 0;
}

void hold_note(struct hold_watch *w, const struct hold *h)
{
	if (h->wall_ns > w->longest.wall_ns)
		w->longest = *h;
	if (w->fn && h->wall_ns > w->above_ns)
		w->fn(w->ctx, h);
}
