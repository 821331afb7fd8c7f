// SPDX-License-Identifier: GPL-2.0-or-later
#include "compat/perf/perf_select.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/vec.h"
#include "event/event.h"
#include "probes/cpu/cpu_event.h"
#include "ring/cpulist.h"

/* "12.345678" in ns; @len 0: *ret stays. */
static int take_time(const char *text, size_t len, uint64_t *ret)
{
	char word[40];
	uint64_t secs, part = 0;
	char *dot;

	if (!len)
		return 0;
	if (len >= sizeof(word))
		return -EINVAL;
	snprintf(word, sizeof(word), "%.*s", (int)len, text);
	dot = strchr(word, '.');
	if (dot) {
		*dot++ = '\0';
		if (strlen(dot) > 9 || str_to_u64(dot, 10, &part) < 0)
			return -EINVAL;
		for (size_t digits = strlen(dot); digits < 9; digits++)
			part *= 10;
	}
	if (str_to_u64(word, 10, &secs) < 0 || secs > UINT64_MAX / NS_PER_S - 1)
		return -EINVAL;
	*ret = secs * NS_PER_S + part;
	return 0;
}

static int take_span(struct perf_select *s, struct err *err)
{
	const char *comma = s->time ? strchr(s->time, ',') : NULL;

	s->to_ns = UINT64_MAX;
	if (!s->time)
		return 0;
	if (strchr(s->time, '%'))
		return err_set(err, -EINVAL,
			       "--time %s is not supported in percent: use --time START,STOP in seconds", s->time);
	if (!comma || strchr(comma + 1, ',') || take_time(s->time, (size_t)(comma - s->time), &s->from_ns) < 0 ||
	    take_time(comma + 1, strlen(comma + 1), &s->to_ns) < 0)
		return err_set(err, -EINVAL, "--time %s: expected START,STOP in seconds, as in 3971.5,3972", s->time);
	return 0;
}

static int take_cpus(struct perf_select *s, const char *list, struct err *err)
{
	_cleanup_free_ uint32_t *cpus = NULL;
	int n = cpulist_parse(list, strlen(list), &cpus);
	uint32_t *all;

	if (n <= 0)
		return err_set(err, -EINVAL, "--cpu %s: expected CPU numbers such as 0-3,8", list);
	all = reallocarray(s->cpu_list, s->n_cpus + (size_t)n, sizeof(*all));
	if (!all)
		return err_errno(err, -ENOMEM, "--cpu");
	memcpy(all + s->n_cpus, cpus, (size_t)n * sizeof(*all));
	s->cpu_list = all;
	s->n_cpus += (size_t)n;
	return 0;
}

int perf_select_begin(struct perf_select *s, struct err *err)
{
	int r = take_span(s, err);

	for (size_t i = 0; r >= 0 && i < s->cpus.len; i++)
		r = take_cpus(s, s->cpus.items[i], err);
	return r;
}

void perf_select_fini(struct perf_select *s)
{
	free(TAKE_PTR(s->cpu_list));
	s->n_cpus = 0;
}

bool perf_select_has(const struct opt_strv *lists, const char *name, size_t len)
{
	for (size_t i = 0; i < lists->len; i++) {
		const char *list = lists->items[i], *word;
		size_t n;

		while ((word = str_next_word(&list, &n)))
			if (n == len && !memcmp(word, name, len))
				return true;
	}
	return false;
}

static bool has_number(const struct opt_u32v *v, uint32_t n)
{
	return !v->len || vec_find(it, v, *it == n);
}

static const char *comm_of(const struct event *ev)
{
	const struct cpu_body *b = ev->desc == &cpu_sample_desc || ev->desc == &cpu_block_desc ? ev->body : NULL;

	return b ? b->comm : NULL;
}

bool perf_select_pass(void *ctx, const struct event *ev)
{
	const struct perf_select *s = ctx;
	const char *comm = comm_of(ev);

	if (!comm)
		return ev->desc->class != EVENT_DATA;
	if (s->n_cpus && !cpulist_has(s->cpu_list, s->n_cpus, ev->cpu))
		return false;
	if (s->comms.len && !perf_select_has(&s->comms, comm, strnlen(comm, sizeof(((struct cpu_body *)0)->comm))))
		return false;
	return ev->ts_ns >= s->from_ns && ev->ts_ns <= s->to_ns && has_number(&s->pids, ev->tgid) &&
	       has_number(&s->tids, ev->tid);
}
