// SPDX-License-Identifier: GPL-2.0-or-later
#include "compat/hubble/hubble_filter.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/str.h"
#include "cmd/run/run.h"
#include "event/value.h"

/* ---- options ---- */

#define WORDS(conf) (&((struct hubble_filter *)(conf))->words)

OPT_CALL(on_ip) { return hubble_words_ip(WORDS(conf), "--ip", "fd.ip", arg, err); }
OPT_CALL(on_from_ip) { return hubble_words_ip(WORDS(conf), "--from-ip", "conn.src", arg, err); }
OPT_CALL(on_to_ip) { return hubble_words_ip(WORDS(conf), "--to-ip", "conn.dst", arg, err); }
OPT_CALL(on_snat_ip) { return hubble_words_ip(WORDS(conf), "--snat-ip", "nat.sip", arg, err); }
OPT_CALL(on_port) { return hubble_words_port(WORDS(conf), "--port", "fd.port", arg, err); }
OPT_CALL(on_from_port) { return hubble_words_port(WORDS(conf), "--from-port", "conn.sport", arg, err); }
OPT_CALL(on_to_port) { return hubble_words_port(WORDS(conf), "--to-port", "conn.dport", arg, err); }
OPT_CALL(on_fqdn) { return hubble_words_host(WORDS(conf), "--fqdn", HUBBLE_EITHER, arg, err); }
OPT_CALL(on_from_fqdn) { return hubble_words_host(WORDS(conf), "--from-fqdn", HUBBLE_SENDER, arg, err); }
OPT_CALL(on_to_fqdn) { return hubble_words_host(WORDS(conf), "--to-fqdn", HUBBLE_RECEIVER, arg, err); }
OPT_CALL(on_verdict) { return hubble_words_verdict(WORDS(conf), "--verdict", arg, err); }
OPT_CALL(on_protocol) { return hubble_words_protocol(WORDS(conf), "--protocol", arg, err); }
OPT_CALL(on_ip_version) { return hubble_words_ip_version(WORDS(conf), "--ip-version", arg, err); }
OPT_CALL(on_tcp_flags) { return hubble_words_tcp_flags(WORDS(conf), "--tcp-flags", arg, err); }
OPT_CALL(on_interface) { return hubble_words_interface(WORDS(conf), "--interface", arg, err); }

OPT_CALL(on_not)
{
	struct hubble_filter *f = conf;

	if (f->words.negate_next)
		return err_set(err, -EINVAL, "--not --not: one is enough");
	f->words.negate_next = true;
	return 0;
}

/* ---- pods: those of the event's process, which is at one end ---- */

OPT_CALL(on_pod) { return hubble_words_pod(WORDS(conf), "--pod", HUBBLE_EITHER, arg, err); }
OPT_CALL(on_from_pod) { return hubble_words_pod(WORDS(conf), "--from-pod", HUBBLE_SENDER, arg, err); }
OPT_CALL(on_to_pod) { return hubble_words_pod(WORDS(conf), "--to-pod", HUBBLE_RECEIVER, arg, err); }

#define LOCAL(fn, option, field, ends, value) \
	static int fn(void *conf, _unused_ const char *arg, struct err *err) \
	{ \
		return hubble_words_local(WORDS(conf), option, field, ends, value, err); \
	}

LOCAL(on_namespace, "--namespace", "k8s.ns", HUBBLE_EITHER, arg)
LOCAL(on_from_namespace, "--from-namespace", "k8s.ns", HUBBLE_SENDER, arg)
LOCAL(on_to_namespace, "--to-namespace", "k8s.ns", HUBBLE_RECEIVER, arg)
LOCAL(on_workload, "--workload", "proc.name", HUBBLE_EITHER, arg)
LOCAL(on_from_workload, "--from-workload", "proc.name", HUBBLE_SENDER, arg)
LOCAL(on_to_workload, "--to-workload", "proc.name", HUBBLE_RECEIVER, arg)
LOCAL(on_all_namespaces, "--all-namespaces", "k8s.ns", HUBBLE_EITHER, NULL)
LOCAL(on_from_all_namespaces, "--from-all-namespaces", "k8s.ns", HUBBLE_SENDER, NULL)
LOCAL(on_to_all_namespaces, "--to-all-namespaces", "k8s.ns", HUBBLE_RECEIVER, NULL)

OPT_CALL(on_ipv4) { return hubble_words_ip_version(WORDS(conf), "--ip-version", "4", err); }
OPT_CALL(on_ipv6) { return hubble_words_ip_version(WORDS(conf), "--ip-version", "6", err); }

/* Of the flow: a reply leaves the server's machine and belongs to the request that came in. */
OPT_CALL(on_direction)
{
	static const char *const checks[] = {
		"net.dir=in and not flow.is_reply or net.dir=out and flow.is_reply",
		"net.dir=out and not flow.is_reply or net.dir=in and flow.is_reply",
	};
	bool egress = !strcasecmp(arg, "egress");

	if (!egress && strcasecmp(arg, "ingress") != 0)
		return err_set(err, -EINVAL, "--traffic-direction \"%s\": expected one of ingress, egress", arg);
	return hubble_words_add(WORDS(conf), "--traffic-direction", checks[egress]);
}

OPT_CALL(on_drop_reason)
{
	_cleanup_(buf_fini) struct buf check = { 0 };
	int r = hubble_words_put_reason(arg, &check, err);

	return r < 0 ? r : hubble_words_add(WORDS(conf), "--drop-reason-desc", buf_str(&check));
}

/* ---- times ---- */

/* A zone: "Z", "+02:00" or "+0200". */
static bool parse_zone(const char *s, long *ret_s)
{
	unsigned hours, minutes;
	int len = 0;

	*ret_s = 0;
	if (!strcmp(s, "Z"))
		return true;
	if ((*s != '+' && *s != '-') || !isdigit((unsigned char)s[1]) ||
	    (sscanf(s + 1, "%2u:%2u%n", &hours, &minutes, &len) != 2 &&
	     sscanf(s + 1, "%2u%2u%n", &hours, &minutes, &len) != 2))
		return false;
	*ret_s = (*s == '-' ? -1 : 1) * (long)(hours * 3600 + minutes * 60);
	return !s[1 + len] && hours < 24 && minutes < 60;
}

/* Hubble's forms, which have a zone or are a day in UTC, and a time of this host's zone. */
static bool parse_date(const char *arg, uint64_t *ret_ns)
{
	static const char *const forms[] = {
		"%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H", "%a, %d %b %Y %H:%M:%S ",
		"%Y-%m-%d",
	};

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		struct tm tm = { .tm_isdst = -1 };
		const char *end = strptime(arg, forms[i], &tm);
		uint64_t frac = 0, unit = 100000000;
		long zone = 0;
		time_t t;

		if (!end)
			continue;
		if (*end == '.')
			for (end++; isdigit((unsigned char)*end); end++, unit /= 10)
				frac += (uint64_t)(*end - '0') * unit;
		if (*end && !parse_zone(end, &zone))
			continue;
		t = *end || i == ARRAY_SIZE(forms) - 1 ? timegm(&tm) - zone : mktime(&tm);
		*ret_ns = (uint64_t)t * NS_PER_S + frac;
		return t >= 0;
	}
	return false;
}

/* "1h30m": spans behind one another. */
static int parse_span(const char *arg, uint64_t *ret_ns)
{
	uint64_t sum = 0, ns;

	do {
		char part[32];
		size_t len = strspn(arg, "0123456789.");

		len += strcspn(arg + len, "0123456789.");
		if (!str_copy(part, sizeof(part), arg, len))
			return -EINVAL;
		if (str_to_duration_ns(part, &ns) < 0)
			return -EINVAL;
		sum += ns;
		arg += len;
	} while (*arg);
	*ret_ns = sum;
	return 0;
}

/* "5m" is five minutes ago. */
static int parse_time(const char *option, const char *arg, uint64_t *ret_ns, struct err *err)
{
	struct timespec now;
	uint64_t ago;

	if (parse_date(arg, ret_ns))
		return 0;
	if (parse_span(arg, &ago) < 0)
		return err_set(err, -EINVAL, "%s \"%s\": expected a time (2026-11-22T13:00:00Z) or a span "
			       "that ends now (5m)", option, arg);
	clock_gettime(CLOCK_REALTIME, &now);
	*ret_ns = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
	*ret_ns -= MIN(*ret_ns, ago);
	return 0;
}

static int add_time(struct hubble_filter *f, const char *option, const char *op, uint64_t ns)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, ns);
	return hubble_words_add_value(&f->words, option, "evt.time", op, text);
}

OPT_CALL(on_since)
{
	uint64_t ns;
	int r = parse_time("--since", arg, &ns, err);

	return r < 0 ? r : add_time(conf, "--since", ">=", ns);
}

OPT_CALL(on_until)
{
	uint64_t ns;
	int r = parse_time("--until", arg, &ns, err);

	return r < 0 ? r : add_time(conf, "--until", "<=", ns);
}

#define ROW(name_, key_, arg_, fn_, help_) OPT_CALL_ROW(fn_, name_, key_, arg_, help_)

const struct opt hubble_opts[] = {
	ROW("not", 0, NULL, on_not, "negate the next filter option"),
	OPT_ROW(hubble_filter, types, "type", 't', OPT_STRV, "TYPE[:SUB]", "event type: trace, drop, drop:133"),
	ROW("verdict", 0, "VERDICT", on_verdict, "FORWARDED, DROPPED, AUDIT, REDIRECTED and so on"),
	ROW("protocol", 0, "NAME", on_protocol, "tcp, udp, sctp, icmpv4, icmpv6, igmp, vrrp, dns"),
	ROW("ip", 0, "ADDR", on_ip, "address or network of either end"),
	ROW("from-ip", 0, "ADDR", on_from_ip, "of the sender"),
	ROW("to-ip", 0, "ADDR", on_to_ip, "of the receiver"),
	ROW("snat-ip", 0, "ADDR", on_snat_ip, "translated address of the sender"),
	ROW("port", 0, "PORT", on_port, "port of either end"),
	ROW("from-port", 0, "PORT", on_from_port, "of the sender"),
	ROW("to-port", 0, "PORT", on_to_port, "of the receiver"),
	ROW("fqdn", 0, "NAME", on_fqdn, "DNS name of either end, * for any part"),
	ROW("from-fqdn", 0, "NAME", on_from_fqdn, "of the sender"),
	ROW("to-fqdn", 0, "NAME", on_to_fqdn, "of the receiver"),
	ROW("ip-version", 0, "N", on_ip_version, "4 or 6"),
	ROW("ipv4", '4', NULL, on_ipv4, "as --ip-version 4"),
	ROW("ipv6", '6', NULL, on_ipv6, "as --ip-version 6"),
	ROW("tcp-flags", 0, "FLAGS", on_tcp_flags, "all of these TCP flags (SYN,ACK)"),
	ROW("traffic-direction", 0, "DIR", on_direction, "ingress or egress of the connection"),
	ROW("drop-reason-desc", 0, "REASON", on_drop_reason, "drop reason, in the kernel's or Hubble's words"),
	ROW("interface", 0, "NAME", on_interface, "interface that the event was seen at"),
#define OF_PROCESS .differs = "of the local process, which is at one end only"
	OPT_CALL_ROW(on_pod, "pod", 0, "[NS/]NAME", "pod of either end, by the start of its name", OF_PROCESS),
	OPT_CALL_ROW(on_from_pod, "from-pod", 0, "[NS/]NAME", "of the sender", OF_PROCESS),
	OPT_CALL_ROW(on_to_pod, "to-pod", 0, "[NS/]NAME", "of the receiver", OF_PROCESS),
	OPT_CALL_ROW(on_namespace, "namespace", 'n', "NAME", "Kubernetes namespace of either end", OF_PROCESS),
	OPT_CALL_ROW(on_from_namespace, "from-namespace", 0, "NAME", "of the sender", OF_PROCESS),
	OPT_CALL_ROW(on_to_namespace, "to-namespace", 0, "NAME", "of the receiver", OF_PROCESS),
	OPT_CALL_ROW(on_all_namespaces, "all-namespaces", 'A', NULL, "either end is a pod", OF_PROCESS),
	OPT_CALL_ROW(on_from_all_namespaces, "from-all-namespaces", 0, NULL, "the sender is a pod", OF_PROCESS),
	OPT_CALL_ROW(on_to_all_namespaces, "to-all-namespaces", 0, NULL, "the receiver is a pod", OF_PROCESS),
#define IS_PROCESS .differs = "the workload is the local process, by its name"
	OPT_CALL_ROW(on_workload, "workload", 0, "NAME", "workload of either end", IS_PROCESS),
	OPT_CALL_ROW(on_from_workload, "from-workload", 0, "NAME", "of the sender", IS_PROCESS),
	OPT_CALL_ROW(on_to_workload, "to-workload", 0, "NAME", "of the receiver", IS_PROCESS),
	ROW("since", 0, "TIME", on_since, "from this time on, or this long ago (5m)"),
	ROW("until", 0, "TIME", on_until, "up to this time"),
	OPT_END
};

/* ---- the expression ---- */

/* Hubble's types, also by their numbers. */
static const struct { const char *name, *number, *check; } flow_types[] = {
	{ "drop", "1", "evt.type=net.drop" }, { "capture", "3", "evt.type=net.capture" },
	{ "trace", "4", "evt.type in (net.flow, net.trace)" },
	{ "policy-verdict", "5", "evt.type=net.policy-verdict" }, { "trace-sock", "7", "evt.type=net.trace-sock" },
};

/* "trace:to-endpoint", "drop:133", "net.dns" as a check. */
static int type_check(const char *text, struct buf *check, struct err *err)
{
	size_t len = strcspn(text, ":"), i = 0;
	const char *sub = text[len] ? text + len + 1 : NULL;
	uint64_t n;

	if (!hubble_words_is_name(sub ? sub : text, false))
		return err_set(err, -EINVAL, "--type %s: this is not a type of events", text);
	if (str_is(text, len, "l7") || str_is(text, len, "129"))
		return err_set(err, -EINVAL, "--type %s is not supported: use sonde rpc", text);
	while (i < ARRAY_SIZE(flow_types) && !str_is(text, len, flow_types[i].name) &&
	       !str_is(text, len, flow_types[i].number))
		i++;
	if (i == ARRAY_SIZE(flow_types)) {
		if (sub || str_to_u64(text, 10, &n) == 0)
			return err_set(err, -EINVAL, "--type %s: this is not a type of events", text);
		buf_printf(check, "evt.type=%s", text);
		return buf_error(check);
	}
	buf_add_str(check, flow_types[i].check);
	if (!sub)
		return buf_error(check);
	buf_add_str(check, " and ");
	if (!strcmp(flow_types[i].name, "drop"))
		return hubble_words_put_reason(sub, check, err);
	if (strcmp(flow_types[i].name, "trace") != 0)
		return err_set(err, -EINVAL, "--type %s: subtypes go with trace and drop only", text);
	return buf_printf(check, "net.point=%s", sub);
}

static int use_types(struct hubble_filter *f, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < f->types.len; i++) {
		_cleanup_(buf_fini) struct buf check = { 0 };

		r = type_check(f->types.items[i], &check, err);
		if (r >= 0)
			r = hubble_words_add(&f->words, "--type", buf_str(&check));
	}
	return r;
}

int hubble_filter_use(struct hubble_filter *f, struct run_conf *run, struct err *err)
{
	int r;

	if (f->words.negate_next)
		return err_set(err, -EINVAL, "--not stands in front of the option that it is about");
	r = use_types(f, err);
	if (r < 0)
		return r == -ENOMEM ? err_errno(err, r, "cannot put the filter together") : r;
	hubble_words_put(&f->words, &f->where);
	if (f->where.len)
		run->where = buf_str(&f->where);
	return buf_error(&f->where) < 0 ? err_errno(err, -ENOMEM, "cannot put the filter together") : 0;
}

void hubble_filter_fini(struct hubble_filter *f)
{
	hubble_words_fini(&f->words);
	buf_fini(&f->where);
}
