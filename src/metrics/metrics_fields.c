// SPDX-License-Identifier: GPL-2.0-or-later
#include "metrics/metrics_fields.h"

#include <string.h>

#include "base/macros.h"

static const struct {
	const char *name;
	const char *parts[METRICS_PARTS];
} pseudos[] = {
	[METRICS_NO_PSEUDO] = { "", { NULL } },
	[METRICS_ERROR_TYPE] = { "error.type", { "rpc.error", "rpc.status", "rpc.http_status", "rpc.end",
						  "rpc.side", "rpc.kind" } },
	[METRICS_CPU_MODE] = { "cpu.mode", { "stack.mode" } },
	[METRICS_CONN_ROLE] = { "conn.role", { "owner.end", "flow.is_reply" } },
	[METRICS_CALL_RESULT] = { "call.result", { "rpc.error" } },
	[METRICS_SERVICE_NAME] = { "service.name", { "k8s.container", "proc.exe", "proc.name" } },
	[METRICS_HUBBLE_PROTOCOL] = { "hubble.protocol", { "fd.l4proto" } },
	[METRICS_HUBBLE_TYPE] = { "hubble.type", { "net.verdict" } },
	[METRICS_HUBBLE_VERDICT] = { "hubble.verdict", { "net.verdict" } },
	[METRICS_COUNT_CAUSE] = { "count.cause", { "count.kind", "count.reason" } },
};
_Static_assert(ARRAY_SIZE(pseudos) == METRICS_PSEUDO__MAX, "each pseudo field has a name");

static const struct field *own_field(const struct event_desc *d, const char *name)
{
	return event_field_named(d->fields, d->n_fields, name);
}

static const struct field *common_field(const char *name)
{
	return event_field_named(event_common_fields, event_n_common_fields, name);
}

static bool find_pseudo(const struct event_desc *d, const char *name, struct metrics_field *ret)
{
	unsigned i = METRICS_NO_PSEUDO + 1;

	while (i < METRICS_PSEUDO__MAX && strcmp(pseudos[i].name, name))
		i++;
	if (i == METRICS_PSEUDO__MAX)
		return false;
	ret->pseudo = (enum metrics_pseudo)i;
	ret->common_parts = common_field(pseudos[i].parts[0]);
	for (size_t k = 0; k < METRICS_PARTS && pseudos[i].parts[k]; k++)
		ret->parts[k] = ret->common_parts ? common_field(pseudos[i].parts[k]) :
						    own_field(d, pseudos[i].parts[k]);
	return ret->parts[0];
}

bool metrics_fields_find(const struct event_desc *d, const char *name, struct metrics_field *ret)
{
	*ret = (struct metrics_field){ 0 };
	if (!name || find_pseudo(d, name, ret))
		return true;
	ret->field = own_field(d, name);
	if (ret->field)
		return true;
	ret->field = common_field(name);
	ret->common = true;
	return ret->field;
}

/* ---- pseudo fields ---- */

static bool part(const struct metrics_field *f, size_t i, const struct event *ev, struct value *ret)
{
	int r = -1;

	*ret = (struct value){ 0 };
	if (f->parts[i])
		r = f->common_parts ? event_get_common(ev, f->parts[i], ret) : event_get(ev, f->parts[i], ret);
	return r >= 0 && ret->kind != VAL_NONE;
}

static bool is_true(const struct metrics_field *f, size_t i, const struct event *ev)
{
	struct value v;

	return part(f, i, ev, &v) && v.u;
}

static void set_word(const char *word, struct value *ret)
{
	*ret = (struct value){ .kind = VAL_STR, .str = word, .len = strlen(word) };
}

enum { ERROR, STATUS, HTTP_STATUS, END, SIDE, KIND };

/* A server does not fail by a wrong request: the conventions name the statuses that are its own errors. */
static bool is_error_of(bool server, bool grpc, uint64_t status)
{
	static const uint32_t grpc_errors = 1u << 2 | 1u << 4 | 1u << 12 | 1u << 13 | 1u << 14 | 1u << 15;

	if (!grpc)
		return status >= (server ? 500 : 400);
	return server ? status < 32 && grpc_errors & 1u << status : status != 0;
}

/* Status of the protocol, of HTTP, or how the call ended: only of failed ones. */
static void get_error_type(const struct metrics_field *f, const struct event *ev, struct value *ret)
{
	struct value side, kind, status;
	bool server = part(f, SIDE, ev, &side) && value_is(&side, "server");
	bool grpc = part(f, KIND, ev, &kind) && value_is(&kind, "grpc");
	uint64_t number;

	if (!is_true(f, ERROR, ev))
		return;
	if (!part(f, STATUS, ev, &status) || (status.kind == VAL_STR && !status.len))
		status.kind = VAL_NONE;
	if (grpc && status.kind != VAL_NONE && event_get_number(ev, f->parts[STATUS], &number) >= 0 &&
	    !is_error_of(server, true, number))
		return;
	if (status.kind != VAL_NONE)
		*ret = status;
	else if (!part(f, HTTP_STATUS, ev, ret))
		part(f, END, ev, ret);
	else if (!is_error_of(server, false, ret->u))
		*ret = (struct value){ 0 };
}

static bool has_flag(const struct value *v, const char *name)
{
	uint64_t bit;

	return v->kind == VAL_FLAGS && v->xlat && xlat_value(v->xlat, name, &bit) >= 0 && v->u & bit;
}

static void get_cpu_mode(const struct metrics_field *f, const struct event *ev, struct value *ret)
{
	struct value v;

	part(f, 0, ev, &v);	/* no flags: a thread in user space */
	set_word(has_flag(&v, "idle") ? "idle" : has_flag(&v, "kernel") ? "kernel" : "user", ret);
}

/* The sender of the first packet is the client. */
static void get_conn_role(const struct metrics_field *f, const struct event *ev, struct value *ret)
{
	bool is_reply = is_true(f, 1, ev), is_source;
	struct value end;

	if (!part(f, 0, ev, &end))
		return;
	is_source = value_is(&end, "src");
	set_word(is_source != is_reply ? "client" : "server", ret);
}

/* The kernel's table was full: the sum of several reasons. */
static void get_count_cause(const struct metrics_field *f, const struct event *ev, struct value *ret)
{
	struct value kind;

	if (part(f, 0, ev, &kind) && value_is(&kind, "rest"))
		set_word("other", ret);
	else
		part(f, 1, ev, ret);
}

/* The container in its pod, else the program: a service's own name for itself is not observable. */
static void get_service_name(const struct metrics_field *f, const struct event *ev, struct value *ret)
{
	const char *slash;

	if (part(f, 0, ev, ret))
		return;
	if (!part(f, 1, ev, ret) || ret->kind != VAL_STR || !ret->len) {
		part(f, 2, ev, ret);
		return;
	}
	slash = memrchr(ret->str, '/', ret->len);
	if (slash) {
		ret->len -= (size_t)(slash + 1 - ret->str);
		ret->str = slash + 1;
	}
}

/* The field in Hubble's words; others stay as they are. */
static void get_hubble(const struct metrics_field *f, const struct event *ev, struct value *ret)
{
	static const struct { enum metrics_pseudo of; const char *word, *hubble; } words[] = {
		{ METRICS_HUBBLE_PROTOCOL, "tcp", "TCP" }, { METRICS_HUBBLE_PROTOCOL, "udp", "UDP" },
		{ METRICS_HUBBLE_PROTOCOL, "icmp", "ICMPv4" }, { METRICS_HUBBLE_PROTOCOL, "icmpv6", "ICMPv6" },
		{ METRICS_HUBBLE_PROTOCOL, "sctp", "SCTP" }, { METRICS_HUBBLE_TYPE, "forwarded", "Trace" },
		{ METRICS_HUBBLE_TYPE, "redirected", "Trace" }, { METRICS_HUBBLE_TYPE, "dropped", "Drop" },
		{ METRICS_HUBBLE_VERDICT, "forwarded", "FORWARDED" },
		{ METRICS_HUBBLE_VERDICT, "dropped", "DROPPED" },
		{ METRICS_HUBBLE_VERDICT, "redirected", "REDIRECTED" },
	};

	if (!part(f, 0, ev, ret))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (words[i].of == f->pseudo && value_is(ret, words[i].word)) {
			set_word(words[i].hubble, ret);
			return;
		}
	}
}

static void get_pseudo(const struct metrics_field *f, const struct event *ev, struct value *ret)
{
	switch (f->pseudo) {
	case METRICS_ERROR_TYPE: get_error_type(f, ev, ret); break;
	case METRICS_CPU_MODE: get_cpu_mode(f, ev, ret); break;
	case METRICS_CONN_ROLE: get_conn_role(f, ev, ret); break;
	case METRICS_CALL_RESULT: set_word(is_true(f, 0, ev) ? "error" : "ok", ret); break;
	case METRICS_COUNT_CAUSE: get_count_cause(f, ev, ret); break;
	case METRICS_SERVICE_NAME: get_service_name(f, ev, ret); break;
	case METRICS_HUBBLE_PROTOCOL:
	case METRICS_HUBBLE_TYPE:
	case METRICS_HUBBLE_VERDICT: get_hubble(f, ev, ret); break;
	case METRICS_NO_PSEUDO:
	case METRICS_PSEUDO__MAX: break;
	}
}

/* ---- reading ---- */

void metrics_fields_get(const struct metrics_field *f, const struct event *ev, struct value *ret)
{
	*ret = (struct value){ 0 };
	if (f->pseudo)
		get_pseudo(f, ev, ret);
	else if (!f->field ||
		 (f->common ? event_get_common(ev, f->field, ret) : event_get(ev, f->field, ret)) < 0)
		ret->kind = VAL_NONE;
}

bool metrics_fields_number(const struct metrics_field *f, const struct event *ev, uint64_t *ret)
{
	struct value v;

	metrics_fields_get(f, ev, &v);
	return value_number(&v, ret);
}
