// SPDX-License-Identifier: GPL-2.0-or-later
#include "sinks/stack/profile.h"

#include <errno.h>

#include "base/macros.h"
#include "event/core.h"
#include "event/event.h"
#include "event/names.h"
#include "sinks/sink.h"

int sinks_profile_open(struct profile *p, const struct sink_opts *o)
{
	struct stack_set_opts set;

	p->sym = o->sym;
	p->left_out = o->left_out;
	if (o->stack)
		p->view = *o->stack;
	set = (struct stack_set_opts){
		.by_thread = p->view.by_thread || p->apart, .by_call = p->apart, .by_cpu = p->apart,
		.max_entries = p->view.max_entries,
	};
	return stack_set_new(p->sym, &set, &p->set);
}

void sinks_profile_fini(struct profile *p)
{
	if (p->set && p->left_out)
		*p->left_out = MAX(*p->left_out, stack_set_dropped(p->set));
	stack_set_free(TAKE_PTR(p->set));
	buf_fini(&p->losses);
}

/* Final totals of an instance: seen and lost. */
static void take_ledger(struct profile *p, const struct event *ev)
{
	const struct core_ledger *l = ev->body;
	const char *name = event_names_get(ev->names, SONDE_NAME_INSTANCE, ev->instance);
	const char *comma = "";

	if (!l->seen && !l->lost)
		return;
	buf_printf(&p->losses, "%s: %llu seen, %llu lost", name ? name : "file", (unsigned long long)l->seen,
		   (unsigned long long)l->lost);
	for (unsigned i = 0; i < SONDE_LOST__MAX; i++) {
		if (!l->lost_by[i])
			continue;
		buf_printf(&p->losses, "%s%s %llu", *comma ? comma : " (", xlat_name(&lost_cause_xlat, i),
			   (unsigned long long)l->lost_by[i]);
		comma = ", ";
	}
	buf_add_str(&p->losses, *comma ? ")\n" : "\n");
	p->lost += l->lost;
}

int sinks_profile_take(struct profile *p, const struct event *ev, size_t *ret_index)
{
	int r;

	if (ev->desc->type == SONDE_EV_LEDGER) {
		take_ledger(p, ev);
		return -ENOENT;
	}
	if (ev->desc->class != EVENT_DATA)
		return -ENOENT;
	r = stack_set_put(p->set, ev, ret_index);
	if (r < 0)
		return -ENOENT;
	if (!p->first_ns)
		p->first_ns = ev->ts_ns;
	if (!p->view.period && p->view.weight == STACK_SAMPLES)
		p->view.period = stack_event_value(p->set, ev) / stack_event_count(p->set, ev);
	p->last_ns = MAX(p->last_ns, ev->ts_ns);
	p->clock_offset_ns = ev->clock_offset_ns;
	return 0;
}

int sinks_profile_sink_open(struct sink *s, _unused_ struct err *err)
{
	return sinks_profile_open(s->state, s->opts);
}

int sinks_profile_sink_event(struct sink *s, const struct event *ev)
{
	size_t i;

	sinks_profile_take(s->state, ev, &i);
	return 0;
}

const char *sinks_profile_losses(struct profile *p)
{
	uint64_t dropped = stack_set_dropped(p->set);

	if (dropped)
		buf_printf(&p->losses, "output: %llu samples dropped: out of memory for stacks\n",
			   (unsigned long long)dropped);
	p->lost += dropped;
	return buf_str(&p->losses);
}

const char *sinks_profile_kind(const struct profile *p)
{
	static const char *const names[] = {
		[STACK_SAMPLES] = "cpu", [STACK_OFF_CPU] = "off_cpu", [STACK_WALL] = "wall",
	};

	_Static_assert(ARRAY_SIZE(names) == STACK_WEIGHT__MAX, "a name per weight");
	return names[p->view.weight];
}
