// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/answers/ui_scan.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/macros.h"
#include "event/filter/filter.h"
#include "stack/functions.h"
#include "ui/ui_answer.h"

/* Time of the first kept event; the end without one. */
static uint64_t first_of(const struct ui_memory *m)
{
	uint64_t first_ns, last_ns;

	return view_kept_span(m->kept, &first_ns, &last_ns) ? first_ns : ui_memory_end(m);
}

uint64_t ui_scan_time(const struct ui_memory *m, const struct ui_time *t, uint64_t otherwise)
{
	uint64_t end_ns = ui_memory_end(m);

	switch (t->kind) {
	case UI_TIME_AT:
		return t->ns;
	case UI_TIME_BACK:
		return end_ns - MIN(t->ns, end_ns);
	case UI_TIME_NONE:
	case UI_TIME__MAX:
		break;
	}
	return otherwise;
}

/* Only events of data are kept: a type of another class would select nothing, without a word. */
static int check_type(void *ctx, const char *name, const struct event_desc *const *descs, size_t n)
{
	bool any = !n;

	for (size_t i = 0; i < n; i++)
		any = any || descs[i]->class == EVENT_DATA;
	return any ? 0 : err_set(ctx, -EINVAL, "evt.type=%s: events of this type are not kept here", name);
}

int ui_scan_filter(const struct ui_memory *m, const char *text, struct filter **ret, struct err *err)
{
	struct filter *f = NULL;
	int r = filter_parse(m->reg, text, &f, err);

	if (r >= 0)
		r = filter_eval_types(f, m->reg, check_type, err);
	if (r < 0) {
		filter_free(f);
		return r;
	}
	*ret = f;
	return 0;
}

void ui_scan_range(struct ui_scan *s, uint64_t from_ns, uint64_t to_ns)
{
	s->part = (struct view_kept_part){ .from_ns = from_ns, .to_ns = to_ns };
	s->at = (struct view_kept_at){ 0 };
}

static int name_functions(struct ui_scan *s)
{
	const struct ui_facts *f = &s->m->facts;
	struct ui_host h = { 0 };
	int r = 0;

	for (size_t i = 0; r >= 0 && i < f->n_hosts; i++) {
		f->host(f->ctx, i, &h);
		r = h.sym ? stack_functions_new(h.sym, &s->functions[i]) : 0;
	}
	return r;
}

int ui_scan_init(struct ui_scan *s, const struct ui_memory *m, const struct ui_query *q, struct err *err)
{
	*s = (struct ui_scan){ .m = m };
	s->to_ns = ui_scan_time(m, &q->to, ui_memory_end(m));
	s->from_ns = ui_scan_time(m, &q->from, MIN(first_of(m), s->to_ns));
	if (s->from_ns > s->to_ns)
		return err_set(err, -EINVAL, "from is behind to");
	ui_scan_range(s, s->from_ns, s->to_ns);
	if (ui_scan_names_functions(q->q) && name_functions(s) < 0)
		return -ENOMEM;
	return q->q && *q->q ? ui_scan_filter(m, q->q, &s->filter, err) : 0;
}

bool ui_scan_names_functions(const char *text)
{
	return text && strstr(text, "stack.function");
}

void ui_scan_fini(struct ui_scan *s)
{
	filter_free(s->filter);
	for (size_t i = 0; i < UI_HOSTS; i++)
		stack_functions_free(s->functions[i]);
	arena_fini(&s->scratch);
}

bool ui_scan_next(struct ui_scan *s, struct event *ret)
{
	while (view_kept_next_of(s->m->kept, &s->part, &s->at, ret)) {
		if (s->host && ret->names != s->host)
			continue;
		arena_reset(&s->scratch);
		ret->scratch = &s->scratch;
		ret->functions = stack_functions_of(s->functions[ui_memory_host(s->m, ret)]);
		if (!s->filter || filter_match(s->filter, ret))
			return true;
	}
	return false;
}

struct view_kept_at ui_scan_place(const struct ui_scan *s, const struct event *ev)
{
	return (struct view_kept_at){ .chunk = s->at.chunk, .offset = s->at.offset - view_kept_size(ev) };
}

void ui_scan_head(const struct ui_scan *s, struct json *j)
{
	ui_answer_put_time(j, "from", s->from_ns);
	ui_answer_put_time(j, "to", s->to_ns);
	ui_answer_put_time(j, "first", first_of(s->m));
	json_put_u64(j, "lost", ui_memory_lost(s->m, s->from_ns, s->to_ns));
	if (!s->m->reading)
		return;
	json_put_bool(j, "reading", true);
	if (s->m->read_permille >= 0) {
		json_key(j, "read");
		json_element(j);
		buf_printf(j->out, "%d.%03d", s->m->read_permille / 1000, s->m->read_permille % 1000);
	}
}
