// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Splits a filter and pushes its parts down. Parts on the number or error of a call alone are evaluated in user space
 * for every number or error, and the results become a table for the kernel: so the whole language is available there.
 */
#include "probes/sys/pushdown/sys_pushdown.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "event/event.h"
#include "event/filter/filter.h"
#include "probes/sys/sys_event.h"
#include "probes/sys/pushdown/sys_pushdown_part.h"

DEFINE_CLEANUP(struct filter *, filter_free)

static bool try_event(const struct filter *f, const struct event_desc *desc, const struct sys_body *b)
{
	struct event ev = { .desc = desc, .body = b, .body_len = sizeof(*b), .tgid = 1, .tid = 1 };

	return filter_match(f, &ev);
}

/* ---- by number ---- */

static enum verdict push_calls(struct pushing *s, const struct filter *f)
{
	bool enters = false;

	for (unsigned abi = 0; abi < ARRAY_SIZE(s->p->calls); abi++)
		for (unsigned nr = 0; nr < SYS_NUMBERS; nr++) {
			const struct sys_body b = { .abi = (uint8_t)abi, .nr = (uint16_t)nr };
			bool pass = try_event(f, &sys_exit_desc, &b);

			enters |= try_event(f, &sys_enter_desc, &b);
			s->p->calls[abi][nr] = pass && (!s->p->has_calls || s->p->calls[abi][nr]);
		}
	s->p->has_calls = true;
	s->p->no_enter |= !enters;
	if (s->o->tables_only)
		return PUSH_KERNEL;
	s->why = "for numbers without a name";
	return PUSH_BOTH;
}

/* ---- by result ---- */

static enum verdict push_errno(struct pushing *s, const struct filter *f)
{
	struct sys_pred *pred = &s->p->pred;
	const struct sys_body none = { 0 };

	if (!(pred->on & SYS_PRED_ERRNO))
		memset(pred->errnos, 0xff, sizeof(pred->errnos));
	pred->on |= SYS_PRED_ERRNO;
	for (unsigned e = 0; e < SYS_ERRNO_MAX; e++) {
		const struct sys_body b = { .ret = -(int64_t)e };

		if (!try_event(f, &sys_exit_desc, &b))
			pred->errnos[e / 8] &= (uint8_t)~(1u << e % 8);
	}
	if (!s->o->tables_only && try_event(f, &sys_enter_desc, &none)) {
		s->why = "for entries";
		return PUSH_BOTH;
	}
	s->p->no_enter = true;
	return PUSH_KERNEL;
}

static int64_t signed_of(const struct filter_value *v)
{
	return v->negative ? (int64_t)(0 - v->number) : (int64_t)v->number;
}

static enum verdict push_ret(struct pushing *s, const struct filter_conjunct *c)
{
	struct sys_pred *pred = &s->p->pred;
	int64_t v = signed_of(&c->values[0]), low = INT64_MIN, high = INT64_MAX;

	if (c->negated || c->n_values != 1 || !c->values[0].has_number || c->values[0].number > INT64_MAX)
		return PUSH_USER;
	if ((c->op == FILTER_LT && v == INT64_MIN) || (c->op == FILTER_GT && v == INT64_MAX))
		return PUSH_USER;
	switch (c->op) {
	case FILTER_EQ: low = high = v; break;
	case FILTER_LT: high = v - 1; break;
	case FILTER_LE: high = v; break;
	case FILTER_GT: low = v + 1; break;
	case FILTER_GE: low = v; break;
	default: return PUSH_USER;
	}
	if (!(pred->on & SYS_PRED_RET)) {
		pred->ret_min = INT64_MIN;
		pred->ret_max = INT64_MAX;
	}
	pred->on |= SYS_PRED_RET;
	pred->ret_min = MAX(pred->ret_min, low);
	pred->ret_max = MIN(pred->ret_max, high);
	s->p->no_enter = true;
	return PUSH_KERNEL;
}

/* @maybe: the field reads as 0 for a call that was entered before the start, which the kernel drops. */
static enum verdict push_latency(struct pushing *s, const struct filter_conjunct *c, bool maybe)
{
	struct sys_pred *pred = &s->p->pred;
	uint64_t v = c->values[0].number, low = 0, high = UINT64_MAX;

	if (c->negated || c->n_values != 1 || !c->values[0].has_number || c->values[0].negative || !v ||
	    v == UINT64_MAX)
		return PUSH_USER;
	switch (c->op) {
	case FILTER_LT: high = v - 1; break;
	case FILTER_LE: high = v; break;
	case FILTER_GT: low = v + 1; break;
	case FILTER_GE: low = v; break;
	default: return PUSH_USER;
	}
	if (maybe && !low)
		return PUSH_USER;
	if (!(pred->on & SYS_PRED_LATENCY))
		pred->latency_max = UINT64_MAX;
	pred->on |= SYS_PRED_LATENCY;
	pred->latency_min = MAX(pred->latency_min, low);
	pred->latency_max = MIN(pred->latency_max, high);
	s->p->no_enter = true;
	return PUSH_KERNEL;
}

/* ---- by caller ---- */

/* Each criterion has room for one set. False if it is taken, or the comparison is not a set. */
static bool take_set(struct sys_pred *pred, uint32_t bit, const struct filter_conjunct *c)
{
	bool is_not = c->negated != (c->op == FILTER_NE);

	if ((c->op != FILTER_EQ && c->op != FILTER_NE && c->op != FILTER_IN) || pred->on & bit ||
	    c->n_values > SYS_SET_MOST)
		return false;
	pred->on |= bit;
	pred->not |= is_not ? bit : 0;
	return true;
}

static bool all_numbers(const struct filter_conjunct *c, uint64_t most)
{
	return !FIND_ITEM(it, c->values, c->n_values, !it->has_number || it->negative || it->number > most);
}

static enum verdict push_ids(struct sys_pred *pred, uint32_t bit, uint32_t *ids, uint32_t *n,
			     const struct filter_conjunct *c)
{
	if (!all_numbers(c, UINT32_MAX) || !take_set(pred, bit, c))
		return PUSH_USER;
	for (size_t i = 0; i < c->n_values; i++)
		ids[(*n)++] = (uint32_t)c->values[i].number;
	return PUSH_KERNEL;
}

static enum verdict push_cgroup(struct sys_pred *pred, const struct filter_conjunct *c)
{
	if (!all_numbers(c, UINT64_MAX) || !take_set(pred, SYS_PRED_CGROUP, c))
		return PUSH_USER;
	for (size_t i = 0; i < c->n_values; i++)
		pred->cgroups[pred->n_cgroups++] = c->values[i].number;
	return PUSH_KERNEL;
}

/* Names longer than a command name match no process. */
static enum verdict push_comm(struct sys_pred *pred, const struct filter_conjunct *c)
{
	if (!take_set(pred, SYS_PRED_COMM, c))
		return PUSH_USER;
	for (size_t i = 0; i < c->n_values; i++)
		if (c->values[i].len && c->values[i].len < sizeof(pred->comms[0]))
			memcpy(pred->comms[pred->n_comms++], c->values[i].text, c->values[i].len);
	return PUSH_KERNEL;
}

/* Containers that exist now: an id cannot appear later. */
static enum verdict push_container(struct pushing *s, const struct filter_conjunct *c)
{
	struct sys_pred *pred = &s->p->pred;
	uint64_t ids[SYS_SET_MOST];
	uint32_t n = 0;

	if (c->negated || (c->op != FILTER_EQ && c->op != FILTER_IN) || pred->on & SYS_PRED_CONTAINER ||
	    !s->o->cgroups_of)
		return PUSH_USER;
	for (size_t i = 0; i < c->n_values; i++) {
		size_t found = c->values[i].len < ID_SHORT ? 0 :
			       s->o->cgroups_of(c->values[i].text, ids + n, SYS_SET_MOST - n);

		if (!found)
			return PUSH_USER;
		n += (uint32_t)found;
	}
	memcpy(pred->containers, ids, n * sizeof(*ids));
	pred->n_containers = n;
	pred->on |= SYS_PRED_CONTAINER;
	return push_both(s, "for containers nested in this one");
}

/* sysdig's formats give only some calls a result; the kernel checks the results of all. */
static enum verdict push_rawres(struct pushing *s, const struct filter_conjunct *c)
{
	enum verdict v = push_ret(s, c);

	return v == PUSH_USER ? v : push_both(s, "for calls without a result in sysdig's formats");
}

static enum verdict push_check(struct pushing *s, const struct filter_conjunct *c)
{
	struct sys_pred *pred = &s->p->pred;

	if (!c->field || !c->n_values)
		return PUSH_USER;
	if (!strcmp(c->field, "syscall.ret"))
		return push_ret(s, c);
	if (!strcmp(c->field, "syscall.latency") || !strcmp(c->field, "evt.latency"))
		return push_latency(s, c, c->field[0] == 'e');
	if (!strcmp(c->field, "evt.rawres"))
		return push_rawres(s, c);
	if (!strcmp(c->field, "proc.pid"))
		return push_ids(pred, SYS_PRED_TGID, pred->tgids, &pred->n_tgids, c);
	if (!strcmp(c->field, "thread.tid"))
		return push_ids(pred, SYS_PRED_TID, pred->tids, &pred->n_tids, c);
	if (!strcmp(c->field, "proc.name"))
		return push_comm(pred, c);
	if (!strcmp(c->field, "cgroup.id"))
		return push_cgroup(pred, c);
	if (!strcmp(c->field, "container.id"))
		return push_container(s, c);
	return sys_pushdown_path_add(s, c);
}

/* ---- the whole ---- */

static const char *const number_fields[] = {
	"syscall.name", "syscall.class",   "syscall.nr",      "syscall.abi", "evt.type",
	"evt.dir",	"syscall.is_file", "syscall.is_desc", NULL,
};
static const char *const error_fields[] = { "syscall.error", NULL };

static const char *reason(const struct pushing *s, enum verdict v)
{
	if (v == PUSH_USER)
		return "user space: not available in the kernel";
	if (s->o->keeps_state)
		return "kernel; again in user space, since calls that change descriptors and processes pass too";
	if (s->o->others)
		return "kernel; again in user space for events of other types";
	return v == PUSH_KERNEL ? "kernel" : "kernel; again in user space ";
}

static void explain_part(const struct pushing *s, const char *text, enum verdict v)
{
	bool said = v == PUSH_BOTH && !s->o->keeps_state && !s->o->others;

	buf_printf(s->explain, "%s: %s%s.\n", text, reason(s, v), said ? s->why : "");
}

static int push_part(void *ctx, const struct filter_conjunct *c)
{
	_cleanup_(filter_freep) struct filter *f = NULL;
	struct pushing *s = ctx;
	struct err err = { 0 };
	enum verdict v = PUSH_USER;
	int r = filter_parse(s->reg, c->text, &f, &err);

	if (r < 0)
		return r;
	s->why = "";
	if (filter_has_only(f, number_fields))
		v = push_calls(s, f);
	else if (filter_has_only(f, error_fields))
		v = push_errno(s, f);
	else if (sys_pushdown_ask_fits(f))
		r = sys_pushdown_ask_call(s, f, &v);
	else
		v = push_check(s, c);
	if (r < 0)
		return r;
	if (v != PUSH_KERNEL || s->o->keeps_state || s->o->others)
		buf_printf(s->rest, "%s(%s)", s->rest->len ? " and " : "", c->text);
	if (s->explain)
		explain_part(s, c->text, v);
	return buf_error(s->rest);
}

int sys_pushdown_filter(const struct filter *f, const struct registry *reg, const struct sys_pushdown_opts *o,
			struct sys_pushdown *ret, struct buf *rest, struct buf *explain)
{
	struct pushing s = { .reg = reg, .o = o, .p = ret, .rest = rest, .explain = explain };
	int r;

	memset(ret, 0, sizeof(*ret));
	for (unsigned abi = 0; abi < ARRAY_SIZE(ret->checks); abi++)
		for (unsigned nr = 0; nr < SYS_NUMBERS; nr++)
			ret->checks[abi][nr] = SYS_CHECK_NOTHING;
	r = filter_conjuncts(f, push_part, &s);
	return r < 0 ? r : 0;
}

bool sys_pushdown_keeps_state(const struct sys_call *call)
{
	static const char *const names[] = {
		"close", "close_range", "fcntl", "fcntl64", "bind", "connect", "listen", "socketpair", "pipe",
		"pipe2", "sendto", "sendmsg", "recvfrom", "recvmsg", "sendmmsg", "recvmmsg", "shutdown", "socketcall",
	};

	if (call->flags & SYS_CALL_LIFE || call->ret == SYS_ARG_FD)
		return true;
	return ARRAY_FIND(it, names, !strcmp(*it, call->name));
}

bool sys_pushdown_is_of_sums(const struct registry *reg, const char *text)
{
	static const char *const words[] = {
		"syscall.name", "syscall.nr", "syscall.calls", "syscall.errors", "syscall.total", "syscall.avg",
		"syscall.p50", "syscall.p99", NULL,
	};
	struct filter *f = NULL;
	bool is = filter_parse(reg, text, &f, NULL) >= 0 && filter_has_only(f, words);

	filter_free(f);
	return is;
}
