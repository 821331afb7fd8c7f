// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Means of slow calls less means of normal ones, by cause, with bootstrapped bounds.
 */
#include "trace/trace_explain.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "event/json.h"
#include "trace/trace_call.h"
#include "trace/trace_text.h"

#define OPERATIONS_MAX 64u
#define CALLS_MAX 20000u	/* of an operation */
#define CAUSES_MAX 256u		/* of an operation; the rest is one more */
#define WHYS_MAX 256u		/* of an operation; the rest is left out */
#define WHYS_SHOWN 2u		/* of a cause */
#define STATUSES_MAX 4u		/* of failed calls; the rest is left out */
#define ROUNDS 1000u		/* of resampling */
#define LOW_ROUND 25u		/* of these: the lower bound of 95 % */
#define MIN_SLOW 3u
#define MIN_NORMAL 20u
#define MIN_NS 1000000.0	/* a smaller difference is not named */
#define PART_OF_EXCESS 0.10
#define PART_OF_CALL 0.05
#define EXAMPLES 3u		/* calls shown for a cause */

struct cause {
	char *text; /* owned */
	bool unknown;
	bool runq;  /* run queue of one process */
	bool all;   /* sum of these: a lack of CPUs is spread over the processes that a call passes */
};

struct share {
	uint32_t cause, why;	/* why: of the operation's, 0 = no more is known */
	uint64_t ns;
};

struct one_call {
	uint64_t id, ns;
	struct share *shares; /* owned */
	uint32_t n_shares;
	bool failed;
};

/* How calls failed. */
struct status {
	char *text; /* owned */
	uint64_t calls;
};

struct operation {
	char *name; /* owned */
	struct status statuses[STATUSES_MAX]; /* in the order of their first calls */
	VEC(struct cause) causes;
	VEC(char *) whys; /* owned */
	VEC(struct one_call) calls;
	struct map ids; /* uint64_t -> uint8_t */
	uint64_t beyond; /* calls beyond CALLS_MAX */
};

struct trace_explain {
	VEC(struct operation *) operations; /* owned */
	bool failed_only;
};

struct trace_explain *trace_explain_new(bool failed_only)
{
	struct trace_explain *e = calloc(1, sizeof(*e));

	if (e)
		e->failed_only = failed_only;
	return e;
}

static void free_operation(struct operation *o)
{
	for (size_t i = 0; i < o->causes.len; i++)
		free(o->causes.items[i].text);
	for (size_t i = 0; i < o->calls.len; i++)
		free(o->calls.items[i].shares);
	for (size_t i = 0; i < o->whys.len; i++)
		free(o->whys.items[i]);
	for (size_t i = 0; i < STATUSES_MAX; i++)
		free(o->statuses[i].text);
	vec_fini(&o->whys);
	vec_fini(&o->causes);
	vec_fini(&o->calls);
	map_fini(&o->ids);
	free(o->name);
	free(o);
}
DEFINE_CLEANUP(struct operation *, free_operation)

void trace_explain_free(struct trace_explain *e)
{
	if (!e)
		return;
	for (size_t i = 0; i < e->operations.len; i++)
		free_operation(e->operations.items[i]);
	vec_fini(&e->operations);
	free(e);
}

/* ---- calls ---- */

/* NULL without memory, or beyond OPERATIONS_MAX. */
static struct operation *operation_of(struct trace_explain *e, const char *name)
{
	_cleanup_(free_operationp) struct operation *o = NULL;

	for (size_t i = 0; i < e->operations.len; i++)
		if (!strcmp(e->operations.items[i]->name, name))
			return e->operations.items[i];
	if (e->operations.len >= OPERATIONS_MAX || vec_grow(&e->operations) < 0)
		return NULL;
	o = calloc(1, sizeof(*o));
	if (!o)
		return NULL;
	map_init(&o->ids, sizeof(uint64_t), sizeof(uint8_t));
	o->name = strdup(name);
	if (!o->name)
		return NULL;
	e->operations.items[e->operations.len++] = o;
	return TAKE_PTR(o);
}

/*
 * "back serves t.Back/Get: idle": the same in each call, so without threads and numbers. A run queue is the
 * process's, whichever call waits in it; why an idle process was woken is chance.
 */
static void name_cause(const struct trace_call *c, const struct trace_segment *s, struct buf *out)
{
	const struct trace_fact *side = &c->rows[s->row].call;
	const char *process = trace_fact_text(c->names, s->comm ? s->comm : side->comm);
	const char *method = trace_fact_text(c->names, side->of_call.method);

	buf_add_str(out, process);
	if (s->cause != TRACE_CAUSE_RUNQ)
		buf_printf(out, " %s %s", side->of_call.side == TRACE_SIDE_SERVER ? "serves" : "calls", method);
	buf_printf(out, ": %s", trace_text_causes[s->cause]);
	if (s->detail && s->cause == TRACE_CAUSE_WAIT)
		buf_printf(out, " %s", trace_fact_text(c->names, s->detail));
	if (s->cause == TRACE_CAUSE_CPU && s->by == TRACE_BY_PROCESS)
		buf_add_str(out, " of any thread");
}

static int add_cause(struct operation *o, const char *text, struct cause one, uint32_t *ret)
{
	for (size_t i = 0; i < o->causes.len; i++) {
		if (strcmp(o->causes.items[i].text, text) != 0)
			continue;
		*ret = (uint32_t)i;
		return 0;
	}
	one.text = strdup(text);
	*ret = (uint32_t)o->causes.len;
	if (!one.text || vec_push(&o->causes, one) < 0) {
		free(one.text);
		return -ENOMEM;
	}
	return 0;
}

static int find_cause(struct operation *o, const struct trace_call *c, const struct trace_segment *s, uint32_t *ret)
{
	_cleanup_(buf_fini) struct buf text = { 0 };
	const struct cause one = { .unknown = s->cause == TRACE_CAUSE_UNKNOWN, .runq = s->cause == TRACE_CAUSE_RUNQ };

	if (o->causes.len < CAUSES_MAX)
		name_cause(c, s, &text);
	else
		buf_add_str(&text, "other causes");
	return add_cause(o, buf_str(&text), one, ret);
}

static void name_served(const struct trace_call *c, const struct trace_segment *s, struct buf *out)
{
	if (s->waker_call)
		buf_printf(out, ", serving %s", trace_fact_text(c->names, s->waker_call));
}

static void name_why(const struct trace_call *c, const struct trace_segment *s, struct buf *out)
{
	const char *detail = trace_fact_text(c->names, s->detail), *waker = trace_fact_text(c->names, s->waker);
	bool has_call = s->cause == TRACE_CAUSE_DISK || s->cause == TRACE_CAUSE_FAULT ||
			s->cause == TRACE_CAUSE_RECLAIM || s->cause == TRACE_CAUSE_KERNEL_LOCK ||
			s->cause == TRACE_CAUSE_SYSCALL;

	if (s->cause == TRACE_CAUSE_LOCK) {
		buf_printf(out, "held by %s", waker);
		name_served(c, s, out);
		if (*detail)
			buf_printf(out, ", which waited: %s", detail);
	} else if (s->cause == TRACE_CAUSE_RETRANSMIT && *detail) {
		buf_printf(out, "packet dropped: %s", detail);
	} else if ((s->cause == TRACE_CAUSE_QUEUE || s->cause == TRACE_CAUSE_ACCEPT) && *detail) {
		buf_printf(out, "its thread waited meanwhile: %s", detail);
	} else if (s->behind) {
		buf_printf(out, "its thread served %s meanwhile", trace_fact_text(c->names, s->behind));
	} else if (has_call && *detail) {
		buf_printf(out, "in %s", detail);
	} else if (s->cause == TRACE_CAUSE_WINDOW) {
		buf_add_str(out, "the receiver did not read");
	} else if (s->held) {
		buf_add_str(out, trace_text_held[s->held]);
	} else if (s->cause == TRACE_CAUSE_THROTTLED && *detail) {
		buf_printf(out, "quota of %s", detail);
	} else if (s->cause == TRACE_CAUSE_STOPPED && *waker) {
		buf_printf(out, "continued by %s", waker);
	} else if ((s->cause == TRACE_CAUSE_WAIT || s->cause == TRACE_CAUSE_IDLE) && *waker) {
		buf_printf(out, "woken by %s", waker);
		name_served(c, s, out);
	}
}

static int find_why(struct operation *o, const struct trace_call *c, const struct trace_segment *s, uint32_t *ret)
{
	_cleanup_(buf_fini) struct buf text = { 0 };
	_cleanup_free_ char *copy = NULL;

	*ret = 0;
	name_why(c, s, &text);
	if (!text.len)
		return buf_error(&text);
	for (size_t i = 0; i < o->whys.len; i++)
		if (!strcmp(o->whys.items[i], buf_str(&text))) {
			*ret = (uint32_t)i + 1;
			return 0;
		}
	if (o->whys.len >= WHYS_MAX)
		return 0;
	copy = strdup(buf_str(&text));
	if (!copy || vec_push(&o->whys, TAKE_PTR(copy)) < 0)
		return -ENOMEM;
	*ret = (uint32_t)o->whys.len;
	return 0;
}

static void add_share(struct one_call *call, uint32_t cause, uint32_t why, uint64_t ns)
{
	uint32_t n = 0;

	while (n < call->n_shares && (call->shares[n].cause != cause || call->shares[n].why != why))
		n++;
	if (n == call->n_shares)
		call->shares[call->n_shares++] = (struct share){ .cause = cause, .why = why };
	call->shares[n].ns += ns;
}

/* call->shares has room for two per segment. */
static int add_shares(struct operation *o, const struct trace_call *c, struct one_call *call)
{
	static const struct cause all = { .all = true };

	each_item(s, c->segs, c->n_segs) {
		uint32_t cause, why;

		if (find_cause(o, c, s, &cause) < 0 || find_why(o, c, s, &why) < 0)
			return -ENOMEM;
		add_share(call, cause, why, s->to_ns - s->from_ns);
		if (s->cause != TRACE_CAUSE_RUNQ)
			continue;
		if (add_cause(o, "all processes: run queue", all, &cause) < 0)
			return -ENOMEM;
		add_share(call, cause, 0, s->to_ns - s->from_ns);
	}
	return 0;
}

static int add_status(struct operation *o, const char *text)
{
	struct status *s = o->statuses, *end = s + STATUSES_MAX;

	while (s < end && s->text && strcmp(s->text, text) != 0)
		s++;
	if (s == end || !*text)
		return 0;
	if (!s->text)
		s->text = strdup(text);
	s->calls++;
	return s->text ? 0 : -ENOMEM;
}

int trace_explain_add(struct trace_explain *e, const struct trace_call *c)
{
	const struct trace_fact *root = &c->rows[0].call;
	struct operation *o = operation_of(e, trace_fact_text(c->names, root->of_call.method));
	struct one_call call = { .id = root->of_call.id, .ns = c->end_ns - c->begin_ns,
				 .failed = root->of_call.error };
	int r;

	if (!o)
		return e->operations.len >= OPERATIONS_MAX ? 0 : -ENOMEM;
	r = map_note(&o->ids, &call.id);
	if (r <= 0)
		return r;
	if (o->calls.len >= CALLS_MAX) {
		o->beyond++;
		return 0;
	}
	call.shares = calloc(2 * c->n_segs + 1, sizeof(*call.shares));
	if (!call.shares || add_shares(o, c, &call) < 0 || vec_push(&o->calls, call) < 0) {
		free(call.shares);
		return -ENOMEM;
	}
	return call.failed ? add_status(o, trace_fact_text(c->names, root->of_call.status)) : 0;
}

/* ---- comparing ---- */

struct finding {
	uint32_t cause;
	double ns, low, high; /* slow less normal, and its bounds */
	bool named;
};

/* An operation's calls in two groups, and the difference by cause. */
struct verdict {
	const struct operation *o;
	const struct one_call **slow, **normal; /* owned */
	size_t n_slow, n_normal, n_failed;
	double slow_ns, normal_ns, spread_ns;
	struct finding *findings; /* owned; by size; o->causes.len */
	const char *silence;	  /* why no cause is named; NULL = some are */
};

static void verdict_fini(struct verdict *v)
{
	free(v->slow);
	free(v->normal);
	free(v->findings);
}

static int by_ns(const void *a, const void *b)
{
	const struct one_call *x = *(const struct one_call *const *)a, *y = *(const struct one_call *const *)b;

	return COMPARE(x->ns, y->ns) ?: COMPARE(x->id, y->id);
}

static double mean_of(const struct one_call *const *calls, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += (double)calls[i]->ns;
	return n ? sum / (double)n : 0;
}

/* Slow: above the 95th percentile, or failed. Normal: between the quartiles. */
static int split(const struct operation *o, bool failed_only, struct verdict *v)
{
	size_t n = o->calls.len;
	_cleanup_free_ const struct one_call **sorted = calloc(n + 1, sizeof(*sorted));

	v->slow = calloc(n + 1, sizeof(*v->slow));
	v->normal = calloc(n + 1, sizeof(*v->normal));
	v->findings = calloc(o->causes.len + 1, sizeof(*v->findings));
	if (!sorted || !v->slow || !v->normal || !v->findings)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		sorted[i] = &o->calls.items[i];
	qsort(sorted, n, sizeof(*sorted), by_ns);
	for (size_t i = 0; i < n; i++) {
		v->n_failed += sorted[i]->failed;
		if (sorted[i]->failed || (!failed_only && i >= n * 95 / 100))
			v->slow[v->n_slow++] = sorted[i];
		else if (i >= n / 4 && i < n * 3 / 4)
			v->normal[v->n_normal++] = sorted[i];
	}
	v->slow_ns = mean_of(v->slow, v->n_slow);
	v->normal_ns = mean_of(v->normal, v->n_normal);
	if (v->n_normal)
		v->spread_ns = (double)(v->normal[v->n_normal * 95 / 100]->ns - v->normal[v->n_normal / 2]->ns);
	return 0;
}

/* xorshift64*, Vigna 2016: https://arxiv.org/abs/1402.6246 */
static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed >> 12;
	*seed ^= *seed << 25;
	*seed ^= *seed >> 27;
	return *seed * 0x2545f4914f6cdd1dull;
}

/* Adds the means of a group: of its calls, or with @seed of a sample of the same size. */
static void add_means(const struct one_call *const *calls, size_t n, double sign, uint64_t *seed, double *sums)
{
	for (size_t i = 0; i < n; i++) {
		const struct one_call *c = calls[seed ? next_random(seed) % n : i];

		for (uint32_t j = 0; j < c->n_shares; j++)
			sums[c->shares[j].cause] += sign * (double)c->shares[j].ns / (double)n;
	}
}

static int by_value(const void *a, const void *b)
{
	return COMPARE(*(const double *)a, *(const double *)b);
}

/* Bounds of each difference: the 2.5th and the 97.5th percentile of ROUNDS samples. */
static int resample(struct verdict *v)
{
	size_t n = v->o->causes.len;
	_cleanup_free_ double *sums = calloc(n + 1, sizeof(*sums));
	_cleanup_free_ double *values = calloc(n + 1, ROUNDS * sizeof(*values));
	uint64_t seed = 0x9e3779b97f4a7c15ull;

	if (!sums || !values)
		return -ENOMEM;
	for (unsigned round = 0; round < ROUNDS; round++) {
		memset(sums, 0, n * sizeof(*sums));
		add_means(v->slow, v->n_slow, 1, &seed, sums);
		add_means(v->normal, v->n_normal, -1, &seed, sums);
		for (size_t i = 0; i < n; i++)
			values[i * ROUNDS + round] = sums[i];
	}
	for (size_t i = 0; i < n; i++) {
		qsort(values + i * ROUNDS, ROUNDS, sizeof(*values), by_value);
		v->findings[i].low = values[i * ROUNDS + LOW_ROUND];
		v->findings[i].high = values[i * ROUNDS + ROUNDS - 1 - LOW_ROUND];
	}
	return 0;
}

static int by_size(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;

	return COMPARE(y->named, x->named) ?: COMPARE(y->ns, x->ns) ?: COMPARE(x->cause, y->cause);
}

static int compare(const struct operation *o, bool failed_only, struct verdict *v)
{
	_cleanup_free_ double *sums = calloc(o->causes.len + 1, sizeof(*sums));
	double excess, least;
	bool any = false, runq = false;

	v->o = o;
	if (!sums || split(o, failed_only, v) < 0)
		return -ENOMEM;
	if (v->n_slow < MIN_SLOW || v->n_normal < MIN_NORMAL) {
		v->silence = "too few calls";
		return 0;
	}
	add_means(v->slow, v->n_slow, 1, NULL, sums);
	add_means(v->normal, v->n_normal, -1, NULL, sums);
	if (resample(v) < 0)
		return -ENOMEM;
	excess = v->slow_ns - v->normal_ns;
	least = MAX(MIN_NS, PART_OF_CALL * v->slow_ns);
	least = MAX(least, PART_OF_EXCESS * excess);
	for (uint32_t i = 0; i < o->causes.len; i++) {
		v->findings[i].cause = i;
		v->findings[i].ns = sums[i];
		v->findings[i].named = excess >= 2 * v->spread_ns && v->findings[i].low > least &&
				       !o->causes.items[i].unknown;
		runq |= v->findings[i].named && o->causes.items[i].runq;
	}
	for (uint32_t i = 0; i < o->causes.len; i++) {
		v->findings[i].named &= !(runq && o->causes.items[i].all);
		any |= v->findings[i].named;
	}
	qsort(v->findings, o->causes.len, sizeof(*v->findings), by_size);
	v->silence = any ? NULL : "nothing stands out";
	return 0;
}

/* ---- output ---- */

static double ms(double ns)
{
	return ns / 1e6;
}

/* The slow calls that have most of the cause. */
static size_t examples(const struct verdict *v, uint32_t cause, uint64_t *ret_ids)
{
	uint64_t most[EXAMPLES] = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < v->n_slow; i++) {
		uint64_t ns = 0;
		size_t at;

		for (uint32_t j = 0; j < v->slow[i]->n_shares; j++)
			ns += v->slow[i]->shares[j].cause == cause ? v->slow[i]->shares[j].ns : 0;
		for (at = n; at && most[at - 1] < ns; at--)
			if (at < EXAMPLES) {
				most[at] = most[at - 1];
				ret_ids[at] = ret_ids[at - 1];
			}
		if (at >= EXAMPLES || !ns)
			continue;
		most[at] = ns;
		ret_ids[at] = v->slow[i]->id;
		n = MIN(n + 1, (size_t)EXAMPLES);
	}
	return n;
}

/* One reason of a cause in the slow calls. */
struct reason {
	const char *text;
	double ns; /* of all slow calls */
	uint32_t calls;
};

/* The largest reasons of the cause, at most WHYS_SHOWN; those below a tenth of the largest are left out. */
static size_t reasons(const struct verdict *v, uint32_t cause, struct reason *ret)
{
	size_t n = 0;

	for (uint32_t why = 1; why <= v->o->whys.len; why++) {
		struct reason one = { .text = v->o->whys.items[why - 1] };
		size_t at;

		for (size_t i = 0; i < v->n_slow; i++)
			for (uint32_t j = 0; j < v->slow[i]->n_shares; j++)
				if (v->slow[i]->shares[j].cause == cause && v->slow[i]->shares[j].why == why) {
					one.ns += (double)v->slow[i]->shares[j].ns;
					one.calls++;
				}
		for (at = n; one.calls && at && ret[at - 1].ns < one.ns; at--)
			if (at < WHYS_SHOWN)
				ret[at] = ret[at - 1];
		if (!one.calls || at >= WHYS_SHOWN)
			continue;
		ret[at] = one;
		n = MIN(n + 1, (size_t)WHYS_SHOWN);
	}
	while (n > 1 && ret[n - 1].ns < ret[0].ns / 10)
		n--;
	return n;
}

static void text_reasons(const struct verdict *v, uint32_t cause, struct buf *out)
{
	struct reason r[WHYS_SHOWN];
	size_t n = reasons(v, cause, r);

	for (size_t i = 0; i < n; i++) {
		buf_printf(out, "      %" PRIu32 " of %zu calls: ", r[i].calls, v->n_slow);
		str_escape_buf(out, r[i].text, strlen(r[i].text));
		buf_add_char(out, '\n');
	}
}

static void text_finding(const struct verdict *v, const struct finding *f, struct buf *out)
{
	const char *text = v->o->causes.items[f->cause].text;
	uint64_t ids[EXAMPLES];
	size_t n = examples(v, f->cause, ids);

	buf_printf(out, "  %9.3f ms %5.1f%%  ", ms(f->ns), 100 * f->ns / (v->slow_ns - v->normal_ns));
	str_escape_buf(out, text, strlen(text));
	buf_printf(out, "\n      between %.3f and %.3f ms; sonde trace", ms(f->low), ms(f->high));
	for (size_t i = 0; i < n; i++)
		buf_printf(out, " %0*" PRIx64, CALL_ID_DIGITS, ids[i]);
	buf_add_char(out, '\n');
	text_reasons(v, f->cause, out);
}

static double unknown_of(const struct verdict *v)
{
	double ns = 0;

	for (size_t i = 0; i < v->o->causes.len; i++)
		ns += v->o->causes.items[v->findings[i].cause].unknown ? v->findings[i].ns : 0;
	return ns;
}

/* The difference less named causes and the unknown part, and the largest cause in it; NULL = it has none. */
static double others_of(const struct verdict *v, const struct finding **ret_largest)
{
	double ns = v->slow_ns - v->normal_ns - unknown_of(v);
	const struct finding *largest = NULL;

	each_item(f, v->findings, v->o->causes.len) {
		const struct cause *c = &v->o->causes.items[f->cause];

		if (f->named)
			ns -= f->ns;
		else if (!c->unknown && !c->all && (!largest || f->ns > largest->ns))
			largest = f;
	}
	*ret_largest = largest;
	return ns;
}

static void text_others(const struct verdict *v, struct buf *out)
{
	const double excess = v->slow_ns - v->normal_ns;
	const struct finding *f;
	double ns = others_of(v, &f);
	const char *text;

	if (v->silence || !f || ns < PART_OF_EXCESS * excess)
		return;
	text = v->o->causes.items[f->cause].text;
	buf_printf(out, "  %9.3f ms %5.1f%%  other causes, none certain\n      largest: ", ms(ns), 100 * ns / excess);
	str_escape_buf(out, text, strlen(text));
	buf_printf(out, ", between %.3f and %.3f ms\n", ms(f->low), ms(f->high));
}

/* " (10 UNAVAILABLE, 2 UNKNOWN)" */
static void text_statuses(const struct operation *o, struct buf *out)
{
	for (size_t i = 0; i < STATUSES_MAX && o->statuses[i].text; i++) {
		buf_printf(out, "%s%" PRIu64 " ", i ? ", " : " (", o->statuses[i].calls);
		str_escape_buf(out, o->statuses[i].text, strlen(o->statuses[i].text));
	}
	if (o->statuses[0].text)
		buf_add_char(out, ')');
}

static void text_operation(const struct verdict *v, struct buf *out)
{
	str_escape_buf(out, v->o->name, strlen(v->o->name));
	buf_printf(out, ": %zu calls, %zu failed", v->o->calls.len, v->n_failed);
	text_statuses(v->o, out);
	if (v->o->beyond)
		buf_printf(out, ", %" PRIu64 " more not compared", v->o->beyond);
	if (v->n_slow < MIN_SLOW || v->n_normal < MIN_NORMAL) {
		buf_printf(out, ": %s (%zu slow, %zu normal)\n", v->silence, v->n_slow, v->n_normal);
		return;
	}
	buf_printf(out, "; slow %zu of %.3f ms, normal %zu of %.3f ms\n", v->n_slow, ms(v->slow_ns), v->n_normal,
		   ms(v->normal_ns));
	if (v->silence)
		buf_printf(out, "  %s\n", v->silence);
	for (size_t i = 0; i < v->o->causes.len && v->findings[i].named; i++)
		text_finding(v, &v->findings[i], out);
	text_others(v, out);
	buf_printf(out, "  %9.3f ms         unknown\n", ms(unknown_of(v)));
}

static void put_number(struct json *j, const char *key, double ns)
{
	json_put_i64(j, key, (int64_t)ns);
}

static void json_reasons(const struct verdict *v, uint32_t cause, struct json *j)
{
	struct reason r[WHYS_SHOWN];
	size_t n = reasons(v, cause, r);

	json_put_open(j, "why", '[');
	for (size_t i = 0; i < n; i++) {
		json_open(j, '{');
		json_put_text(j, "text", r[i].text);
		put_number(j, "calls", r[i].calls);
		put_number(j, "ns", r[i].ns);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void json_finding(const struct verdict *v, const struct finding *f, struct json *j)
{
	const char *text = v->o->causes.items[f->cause].text;
	uint64_t ids[EXAMPLES];
	size_t n = examples(v, f->cause, ids);

	json_open(j, '{');
	json_put_text(j, "cause", text);
	json_reasons(v, f->cause, j);
	put_number(j, "more_ns", f->ns);
	put_number(j, "low_ns", f->low);
	put_number(j, "high_ns", f->high);
	json_put_open(j, "calls", '[');
	for (size_t i = 0; i < n; i++) {
		char id[CALL_ID_DIGITS + 1];

		snprintf(id, sizeof(id), "%0*" PRIx64, CALL_ID_DIGITS, ids[i]);
		json_str(j, id, CALL_ID_DIGITS);
	}
	json_close(j, ']');
	json_close(j, '}');
}

static void json_statuses(const struct operation *o, struct json *j)
{
	json_put_open(j, "statuses", '[');
	for (size_t i = 0; i < STATUSES_MAX && o->statuses[i].text; i++) {
		json_open(j, '{');
		json_put_text(j, "status", o->statuses[i].text);
		put_number(j, "calls", (double)o->statuses[i].calls);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void json_operation(const struct verdict *v, struct buf *out)
{
	struct json j = { .out = out };
	bool compared = v->n_slow >= MIN_SLOW && v->n_normal >= MIN_NORMAL;
	const struct finding *largest;

	json_open(&j, '{');
	put_number(&j, "v", 1);
	json_put_str(&j, "type", "explain", 7);
	json_put_text(&j, "method", v->o->name);
	put_number(&j, "calls", (double)v->o->calls.len);
	put_number(&j, "failed", (double)v->n_failed);
	json_statuses(v->o, &j);
	put_number(&j, "slow", (double)v->n_slow);
	put_number(&j, "normal", (double)v->n_normal);
	put_number(&j, "slow_ns", v->slow_ns);
	put_number(&j, "normal_ns", v->normal_ns);
	put_number(&j, "not_compared", (double)v->o->beyond);
	if (v->silence)
		json_put_text(&j, "silence", v->silence);
	json_put_open(&j, "causes", '[');
	for (size_t i = 0; compared && i < v->o->causes.len && v->findings[i].named; i++)
		json_finding(v, &v->findings[i], &j);
	json_close(&j, ']');
	if (compared) {
		put_number(&j, "other_ns", others_of(v, &largest));
		put_number(&j, "unknown_ns", unknown_of(v));
	}
	json_close(&j, '}');
	buf_add_char(out, '\n');
}

static int by_calls(const void *a, const void *b)
{
	const struct operation *x = *(const struct operation *const *)a, *y = *(const struct operation *const *)b;

	return COMPARE(y->calls.len, x->calls.len) ?: strcmp(x->name, y->name);
}

int trace_explain_print(const struct trace_explain *e, bool json, struct buf *out)
{
	_cleanup_free_ const struct operation **sorted = calloc(e->operations.len + 1, sizeof(*sorted));
	int r = sorted ? 0 : -ENOMEM;

	for (size_t i = 0; r >= 0 && i < e->operations.len; i++)
		sorted[i] = e->operations.items[i];
	if (r >= 0)
		qsort(sorted, e->operations.len, sizeof(*sorted), by_calls);
	for (size_t i = 0; r >= 0 && i < e->operations.len; i++) {
		struct verdict v = { 0 };

		r = compare(sorted[i], e->failed_only, &v);
		if (r >= 0 && json)
			json_operation(&v, out);
		else if (r >= 0)
			text_operation(&v, out);
		verdict_fini(&v);
	}
	return r < 0 ? r : buf_error(out);
}
