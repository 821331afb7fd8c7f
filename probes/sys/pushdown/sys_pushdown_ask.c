// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Push-down of sysdig's fields by evaluation: a part of the filter is evaluated for an event of every call, with
 * every type of descriptor, or with every error. The kernel knows the type of a descriptor less exactly than the
 * state tables, so it drops an event only if no possible type passes.
 */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/macros.h"
#include "event/event.h"
#include "event/filter/filter.h"
#include "event/params.h"
#include "probes/sys/pushdown/sys_pushdown.h"
#include "probes/sys/sys_event.h"
#include "probes/sys/sys_map.h"
#include "probes/sys/sys_params.h"
#include "probes/sys/pushdown/sys_pushdown_part.h"
#include "scap/block.h"
#include "scap/schema.h"
#include "scap/state/state.h"

#define FD_TYPES 22	/* of the state tables (FD_*); 0 = unknown */
#define TYPE(n) (1u << (n))
#define NO_FD FD_TYPES	/* no descriptor */

/* Types that the state tables may give each of SYS_FD_*. A directory or pipe opened by its path is a file there. */
static const uint32_t types_of[] = {
	/* plain */ ~(TYPE(FD_DIRECTORY) | TYPE(FD_IPV4) | TYPE(FD_IPV6) | TYPE(FD_IPV4_SERVER) |
		      TYPE(FD_IPV6_SERVER) | TYPE(FD_FIFO) | TYPE(FD_UNIX) | TYPE(FD_NETLINK)),
	/* directory */ TYPE(0) | TYPE(FD_DIRECTORY) | TYPE(FD_FILE) | TYPE(FD_FILE_V2) | TYPE(FD_UNSUPPORTED),
	/* pipe */ TYPE(0) | TYPE(FD_FIFO) | TYPE(FD_FILE) | TYPE(FD_FILE_V2) | TYPE(FD_UNSUPPORTED),
	/* IPv4 */ TYPE(0) | TYPE(FD_IPV4) | TYPE(FD_IPV4_SERVER) | TYPE(FD_UNSUPPORTED),
	/* IPv6 */ TYPE(0) | TYPE(FD_IPV4) | TYPE(FD_IPV4_SERVER) | TYPE(FD_IPV6) | TYPE(FD_IPV6_SERVER) |
		TYPE(FD_UNSUPPORTED),
	/* unix */ TYPE(0) | TYPE(FD_UNIX) | TYPE(FD_UNSUPPORTED),
	/* netlink */ TYPE(0) | TYPE(FD_NETLINK) | TYPE(FD_UNSUPPORTED),
	/* other */ ~0u,
};

static const char *const call_fields[] = {
	"syscall.name", "syscall.class", "syscall.nr",	   "syscall.abi",     "evt.type",	 "evt.dir",
	"evt.category", "evt.is_io",	 "evt.is_io_read", "evt.is_io_write", "evt.io_dir",	 "evt.is_wait",
	"syscall.type", "fd.type",	 "fd.typechar",	   "fd.sockfamily",   "syscall.is_file", "syscall.is_desc",
	NULL,
};
static const char *const error_fields[] = { "evt.failed", "evt.res", NULL };

bool sys_pushdown_ask_fits(const struct filter *f)
{
	return filter_has_only(f, call_fields) || filter_has_only(f, error_fields);
}

/* ---- one event to ask about ---- */

struct asked {
	const struct filter *f;
	struct sys_body body;
	struct event ev;
	struct scap_view view;
	struct params_out out;
	struct buf section;
};

/* 0 or -ENOMEM. */
static int asked_init(struct asked *a, const struct filter *f, const struct scap_state *st)
{
	*a = (struct asked){ .f = f, .view = { .state = st, .fd_num = -1 } };
	return st ? 0 : -ENOMEM;
}

static void asked_fini(struct asked *a)
{
	params_out_fini(&a->out);
	buf_fini(&a->section);
}

/* Makes it an event of this call. 0 or -ENOMEM. */
static int asked_set(struct asked *a, unsigned abi, unsigned nr, const struct event_desc *desc, int64_t ret)
{
	int r;

	a->body = (struct sys_body){ .abi = (uint8_t)abi, .nr = (uint16_t)nr, .n_args = 6, .ret = ret };
	a->ev = (struct event){ .desc = desc, .body = &a->body, .body_len = sizeof(a->body), .tgid = 1, .tid = 1,
				.view = &a->view };
	r = sys_params_of(&a->ev, &a->out);
	buf_reset(&a->section);
	if (r >= 0)
		r = params_write(&a->out, &a->section);
	if (r >= 0)
		r = params_read(a->section.data, a->section.len, &a->view.p);
	if (r < 0)
		return r;
	a->view.info = scap_schema_event_info(a->view.p.head->type);
	return 0;
}

/* TYPE() of the descriptors that pass. */
static uint32_t asked_types(struct asked *a)
{
	uint32_t pass = 0;

	for (unsigned t = 0; t <= NO_FD; t++) {
		const struct scap_fd fd = { .type = (uint8_t)t };

		a->view.fd = t == NO_FD ? NULL : &fd;
		pass |= filter_match(a->f, &a->ev) ? TYPE(t) : 0;
	}
	a->view.fd = NULL;
	return pass;
}

/* ---- calls ---- */

static int arg_in(const char *sources, int8_t param)
{
	const char *src;

	if (param < 0 || strlen(sources) < 2 * (size_t)param + 2)
		return SYS_PUSHDOWN_NO_FD;
	src = sources + 2 * (size_t)param;
	return src[0] == 'a' ? src[1] - '0' : SYS_PUSHDOWN_NOT_ARG;
}

int sys_pushdown_ask_fd_arg(const struct sys_call *call)
{
	const struct sys_mapping *m = sys_map_find(call);
	int enter, leave;

	if (!m)
		return SYS_PUSHDOWN_NO_FD;
	enter = arg_in(m->enter, scap_state_fd_param(m->type));
	leave = arg_in(m->exit, scap_state_fd_param(m->type + 1));
	if (enter == leave || enter == SYS_PUSHDOWN_NO_FD)
		return leave;
	return leave == SYS_PUSHDOWN_NO_FD ? enter : SYS_PUSHDOWN_NOT_ARG;
}

void sys_pushdown_ask_start_calls(struct sys_pushdown *p)
{
	if (!p->has_calls)
		memset(p->calls, 1, sizeof(p->calls));
	p->has_calls = true;
}

void sys_pushdown_ask_narrow(struct sys_pushdown *p, unsigned abi, unsigned nr, int arg, unsigned kinds)
{
	uint16_t *check = &p->checks[abi][nr];

	if (!kinds)
		p->calls[abi][nr] = 0;
	if (arg < 0 || kinds == SYS_CHECK_FDS)
		return;
	*check &= (uint16_t)~(SYS_CHECK_FDS & ~kinds);
	*check &= (uint16_t)~(SYS_CHECK_NO_ARG << SYS_CHECK_FD_SHIFT);
	*check |= (uint16_t)((unsigned)arg << SYS_CHECK_FD_SHIFT);
	p->pred.on |= SYS_PRED_CALLS;
}

/* SYS_FD_* that may have one of these types. */
static unsigned kinds_of(uint32_t types)
{
	unsigned kinds = 0;

	if (types & TYPE(NO_FD))
		return SYS_CHECK_FDS;
	for (unsigned k = 0; k < ARRAY_SIZE(types_of); k++)
		kinds |= types & types_of[k] & (TYPE(FD_TYPES) - 1) ? 1u << k : 0;
	return kinds;
}

/* @any: the call is restricted. */
static int ask_call(struct pushing *s, struct asked *a, unsigned abi, unsigned nr, bool *enters, bool *any)
{
	const struct sys_call *call = sys_table_call_find(abi, nr);
	int arg = sys_pushdown_ask_fd_arg(call), r = asked_set(a, abi, nr, &sys_enter_desc, 0);
	unsigned kinds;
	uint32_t types;

	if (r < 0)
		return r;
	types = asked_types(a);
	*enters |= types != 0;
	r = asked_set(a, abi, nr, &sys_exit_desc, 0);
	if (r < 0)
		return r;
	types |= asked_types(a);
	if (arg == SYS_PUSHDOWN_NO_FD)
		types &= TYPE(NO_FD);
	kinds = arg == SYS_PUSHDOWN_NOT_ARG && types ? SYS_CHECK_FDS : kinds_of(types);
	*any |= kinds != SYS_CHECK_FDS;
	sys_pushdown_ask_narrow(s->p, abi, nr, arg, kinds);
	return 0;
}

static int ask_calls(struct pushing *s, struct asked *a, enum verdict *ret)
{
	bool enters = false, any = false;

	sys_pushdown_ask_start_calls(s->p);
	for (unsigned abi = 0; abi < ARRAY_SIZE(s->p->calls); abi++)
		for (unsigned nr = 0; nr < SYS_NUMBERS; nr++) {
			int r = ask_call(s, a, abi, nr, &enters, &any);

			if (r < 0)
				return r;
		}
	s->p->no_enter |= !enters;
	*ret = any || !enters ? push_both(s, "by the type in the state tables") : PUSH_USER;
	return 0;
}

/* ---- errors ---- */

/* In sysdig's formats calls with only the generic event have no result, and calls that return an address no error. */
static bool has_result(const struct sys_call *call)
{
	const struct sys_mapping *m = sys_map_find(call);

	return m && (m->exit[0] == 'r' || m->exit[0] == 'X');
}

static int ask_errors(struct pushing *s, struct asked *a, enum verdict *ret)
{
	struct sys_pred *pred = &s->p->pred;
	unsigned close_nr = 0, none = SYS_NUMBERS - 1;
	bool without;
	int r;

	while (close_nr < none && sys_table_call_find(SYS_ABI_X86_64, close_nr) != sys_table_call_named("close"))
		close_nr++;
	r = asked_set(a, SYS_ABI_X86_64, none, &sys_exit_desc, 0);
	if (r < 0)
		return r;
	without = filter_match(a->f, &a->ev);
	if (!(pred->on & SYS_PRED_ERRNO))
		memset(pred->errnos, 0xff, sizeof(pred->errnos));
	for (unsigned e = 0; r >= 0 && e < SYS_ERRNO_MAX; e++) {
		r = asked_set(a, SYS_ABI_X86_64, close_nr, &sys_exit_desc, -(int64_t)e);
		if (r >= 0 && !filter_match(a->f, &a->ev))
			pred->errnos[e / 8] &= (uint8_t)~(1u << e % 8);
	}
	if (r < 0)
		return r;
	r = asked_set(a, SYS_ABI_X86_64, close_nr, &sys_enter_desc, 0);
	s->p->no_enter |= r >= 0 && !filter_match(a->f, &a->ev);
	sys_pushdown_ask_start_calls(s->p);
	for (unsigned abi = 0; abi < ARRAY_SIZE(s->p->calls); abi++)
		for (unsigned nr = 0; nr < SYS_NUMBERS; nr++) {
			if (has_result(sys_table_call_find(abi, nr)))
				continue;
			s->p->calls[abi][nr] = s->p->calls[abi][nr] && without;
			s->p->checks[abi][nr] |= SYS_CHECK_ANY_RESULT;
		}
	pred->on |= SYS_PRED_ERRNO | (without ? SYS_PRED_CALLS : 0);
	*ret = push_both(s, "for calls without a result in sysdig's formats");
	return r;
}

int sys_pushdown_ask_call(struct pushing *s, const struct filter *f, enum verdict *ret)
{
	struct scap_state *st = scap_state_new();
	struct asked a;
	int r = asked_init(&a, f, st);

	if (r >= 0)
		r = filter_has_only(f, error_fields) ? ask_errors(s, &a, ret) : ask_calls(s, &a, ret);
	asked_fini(&a);
	scap_state_free(st);
	return r;
}
