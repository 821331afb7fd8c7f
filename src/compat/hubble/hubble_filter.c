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
#include "base/units.h"
#include "cilium/hubble.h"
#include "cilium/kdrops.h"
#include "cmd/run.h"
#include "event/value.h"

/* ---- parts ---- */

static struct hubble_part *part_of(struct hubble_filter *f, const char *option)
{
	bool negated = f->negate_next;

	f->negate_next = false;
	for (size_t i = 0; i < f->parts.len; i++)
		if (!strcmp(f->parts.items[i].option, option) && f->parts.items[i].negated == negated)
			return &f->parts.items[i];
	if (vec_grow(&f->parts) < 0)
		return NULL;
	f->parts.items[f->parts.len] = (struct hubble_part){ .option = option, .negated = negated };
	return &f->parts.items[f->parts.len++];
}

/* The value was validated: it needs no quotes, or has them. */
static int add(struct hubble_filter *f, const char *option, const char *check)
{
	struct hubble_part *p = part_of(f, option);

	if (!p)
		return -ENOMEM;
	buf_printf(&p->expr, "%s%s", p->expr.len ? " or " : "", check);
	return buf_error(&p->expr);
}

static int add_value(struct hubble_filter *f, const char *option, const char *word, const char *op,
		     const char *value)
{
	char check[512];

	snprintf(check, sizeof(check), "%s %s %s", word, op, value);
	return add(f, option, check);
}

/* ---- values ---- */

static int add_address(struct hubble_filter *f, const char *option, const char *word, const char *arg,
		       struct err *err)
{
	struct ipnet net;

	if (ipaddr_ipnet_parse(arg, &net) < 0)
		return err_set(err, -EINVAL, "--%s \"%s\": expected an address or a network (10.0.0.0/8)", option,
			       arg);
	return add_value(f, option, word, "=", arg);
}

static int add_port(struct hubble_filter *f, const char *option, const char *word, const char *arg, struct err *err)
{
	uint64_t n;

	if (str_to_u64(arg, 10, &n) < 0 || !n || n > UINT16_MAX)
		return err_set(err, -EINVAL, "--%s \"%s\": expected a port number", option, arg);
	return add_value(f, option, word, "=", arg);
}

/* Letters allowed in the name of a host, an interface or a reason; * if @glob. */
static bool is_name(const char *s, bool glob)
{
	if (!*s || strlen(s) > 255)
		return false;
	for (; *s; s++)
		if (!isalnum((unsigned char)*s) && !strchr("._-:@", *s) && !(glob && *s == '*'))
			return false;
	return true;
}

/* Hubble's pattern: * matches any part of a name. */
static int add_host(struct hubble_filter *f, const char *option, const char *words, const char *arg, struct err *err)
{
	size_t len = strlen(arg);
	char check[1200];

	if (!is_name(arg, true))
		return err_set(err, -EINVAL, "--%s \"%s\": expected a host name (*.example.org)", option, arg);
	if (arg[len - 1] == '.')
		len--;
	if (strcmp(words, "either") != 0)
		snprintf(check, sizeof(check), "%s glob '%.*s'", words, (int)len, arg);
	else
		snprintf(check, sizeof(check), "dns.sname glob '%.*s' or dns.dname glob '%.*s'", (int)len, arg,
			 (int)len, arg);
	return add(f, option, check);
}

struct word_pair { const char *word, *check; };

static int add_word(struct hubble_filter *f, const char *option, const struct word_pair *pairs, size_t n,
		    const char *arg, struct err *err)
{
	char list[256] = "";

	for (size_t i = 0; i < n; i++) {
		if (!strcasecmp(arg, pairs[i].word))
			return add(f, option, pairs[i].check);
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", i ? ", " : "", pairs[i].word);
	}
	return err_set(err, -EINVAL, "--%s \"%s\": expected one of %s", option, arg, list);
}

/* ---- options ---- */

#define CALL(fn) static int fn(void *conf, const char *arg, struct err *err)

CALL(on_ip) { return add_address(conf, "ip", "fd.ip", arg, err); }
CALL(on_from_ip) { return add_address(conf, "from-ip", "conn.src", arg, err); }
CALL(on_to_ip) { return add_address(conf, "to-ip", "conn.dst", arg, err); }
CALL(on_snat_ip) { return add_address(conf, "snat-ip", "nat.sip", arg, err); }
CALL(on_port) { return add_port(conf, "port", "fd.port", arg, err); }
CALL(on_from_port) { return add_port(conf, "from-port", "conn.sport", arg, err); }
CALL(on_to_port) { return add_port(conf, "to-port", "conn.dport", arg, err); }
CALL(on_fqdn) { return add_host(conf, "fqdn", "either", arg, err); }
CALL(on_from_fqdn) { return add_host(conf, "from-fqdn", "dns.sname", arg, err); }
CALL(on_to_fqdn) { return add_host(conf, "to-fqdn", "dns.dname", arg, err); }

CALL(on_not)
{
	struct hubble_filter *f = conf;

	(void)arg;
	if (f->negate_next)
		return err_set(err, -EINVAL, "--not --not: one is enough");
	f->negate_next = true;
	return 0;
}

/* ---- pods: those of the event's process, which is at one end ---- */

enum end { EITHER, SENDER, RECEIVER, END__MAX };

static const char *const end_checks[] = {
	[EITHER] = "", [SENDER] = " and owner.end=src", [RECEIVER] = " and owner.end=dst",
};

/* "namespace/prefix", or a prefix in the namespace "default", as in Hubble. */
static int add_pod(struct hubble_filter *f, const char *option, enum end end, const char *arg, struct err *err)
{
	const char *slash = strchr(arg, '/');
	int len = slash ? (int)(slash - arg) : 0;
	char ns[256] = "default", check[700];

	snprintf(ns, sizeof(ns), "%.*s", slash ? len : 7, slash ? arg : "default");
	slash = slash ? slash + 1 : arg;
	if ((*ns && !is_name(ns, false)) || (*slash && !is_name(slash, false)))
		return err_set(err, -EINVAL, "--%s \"%s\": expected [NAMESPACE/]NAME", option, arg);
	snprintf(check, sizeof(check), "k8s.pod startswith '%s'%s%s%s%s", slash, *ns ? " and k8s.ns='" : "", ns,
		 *ns ? "'" : "", end_checks[end]);
	return add(f, option, check);
}

CALL(on_pod) { return add_pod(conf, "pod", EITHER, arg, err); }
CALL(on_from_pod) { return add_pod(conf, "from-pod", SENDER, arg, err); }
CALL(on_to_pod) { return add_pod(conf, "to-pod", RECEIVER, arg, err); }

/* A word of the process at @end is @arg. */
static int add_local(struct hubble_filter *f, const char *option, const char *word, enum end end, const char *arg,
		     struct err *err)
{
	char check[400];

	if (!is_name(arg, false))
		return err_set(err, -EINVAL, "--%s \"%s\": expected a name", option, arg);
	snprintf(check, sizeof(check), "%s='%s'%s", word, arg, end_checks[end]);
	return add(f, option, check);
}

CALL(on_namespace) { return add_local(conf, "namespace", "k8s.ns", EITHER, arg, err); }
CALL(on_from_namespace) { return add_local(conf, "from-namespace", "k8s.ns", SENDER, arg, err); }
CALL(on_to_namespace) { return add_local(conf, "to-namespace", "k8s.ns", RECEIVER, arg, err); }
CALL(on_workload) { return add_local(conf, "workload", "proc.name", EITHER, arg, err); }
CALL(on_from_workload) { return add_local(conf, "from-workload", "proc.name", SENDER, arg, err); }
CALL(on_to_workload) { return add_local(conf, "to-workload", "proc.name", RECEIVER, arg, err); }

CALL(on_all_namespaces)
{
	(void)arg;
	(void)err;
	return add(conf, "all-namespaces", "k8s.ns exists");
}

CALL(on_from_all_namespaces)
{
	(void)arg;
	(void)err;
	return add(conf, "from-all-namespaces", "k8s.ns exists and owner.end=src");
}

CALL(on_to_all_namespaces)
{
	(void)arg;
	(void)err;
	return add(conf, "to-all-namespaces", "k8s.ns exists and owner.end=dst");
}

CALL(on_verdict)
{
	static const struct word_pair words[] = {
		{ "FORWARDED", "net.verdict=forwarded" }, { "DROPPED", "net.verdict=dropped" },
		{ "AUDIT", "net.verdict=audit" }, { "REDIRECTED", "net.verdict=redirected" },
		{ "TRACED", "net.verdict=traced" }, { "TRANSLATED", "net.verdict=translated" },
		{ "ERROR", "net.verdict=error" },
	};

	return add_word(conf, "verdict", words, ARRAY_SIZE(words), arg, err);
}

CALL(on_protocol)
{
	static const struct word_pair words[] = {
		{ "tcp", "fd.l4proto=tcp" }, { "udp", "fd.l4proto=udp" }, { "sctp", "fd.l4proto=sctp" },
		{ "icmp", "fd.l4proto in (icmp, icmpv6)" }, { "icmpv4", "fd.l4proto=icmp" },
		{ "icmpv6", "fd.l4proto=icmpv6" }, { "vrrp", "fd.l4proto=vrrp" }, { "igmp", "fd.l4proto=igmp" },
		{ "dns", "fd.port=53" },
	};

	if (!strcasecmp(arg, "http") || !strcasecmp(arg, "kafka"))
		return err_set(err, -EINVAL,
			       "--protocol %s is not supported: use sonde rpc and the filter rpc.protocol", arg);
	return add_word(conf, "protocol", words, ARRAY_SIZE(words), arg, err);
}

static const struct word_pair ip_versions[] = {
	{ "4", "conn.src=0.0.0.0/0" }, { "ipv4", "conn.src=0.0.0.0/0" }, { "v4", "conn.src=0.0.0.0/0" },
	{ "ip4", "conn.src=0.0.0.0/0" }, { "6", "conn.src=::/0" }, { "ipv6", "conn.src=::/0" },
	{ "v6", "conn.src=::/0" }, { "ip6", "conn.src=::/0" }, { "none", "not conn.src exists" },
};

CALL(on_ip_version) { return add_word(conf, "ip-version", ip_versions, ARRAY_SIZE(ip_versions), arg, err); }

CALL(on_ipv4)
{
	(void)arg;
	return add_word(conf, "ip-version", ip_versions, ARRAY_SIZE(ip_versions), "4", err);
}

CALL(on_ipv6)
{
	(void)arg;
	return add_word(conf, "ip-version", ip_versions, ARRAY_SIZE(ip_versions), "6", err);
}

/* Of the flow: a reply leaves the server's machine and belongs to the request that came in. */
CALL(on_direction)
{
	static const struct word_pair words[] = {
		{ "ingress", "net.dir=in and not flow.is_reply or net.dir=out and flow.is_reply" },
		{ "egress", "net.dir=out and not flow.is_reply or net.dir=in and flow.is_reply" },
	};

	return add_word(conf, "traffic-direction", words, ARRAY_SIZE(words), arg, err);
}

/* "SYN,ACK": all of them are set. Several options are alternatives. */
CALL(on_tcp_flags)
{
	static const char *const flags[] = { "FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR" };
	char list[64] = "", check[96];

	for (const char *p = arg; *p; p += strcspn(p, ",") + (p[strcspn(p, ",")] == ',')) {
		size_t len = strcspn(p, ","), i = 0;

		while (i < ARRAY_SIZE(flags) && (len != 3 || strncasecmp(p, flags[i], 3) != 0))
			i++;
		if (i == ARRAY_SIZE(flags) || strlen(list) > 40)
			return err_set(err, -EINVAL, "--tcp-flags \"%s\": expected FIN, SYN, RST, PSH, ACK, URG, "
				       "ECE or CWR, comma separated", arg);
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", *list ? "|" : "", flags[i]);
	}
	if (!*list)
		return err_set(err, -EINVAL, "--tcp-flags: expected at least one flag");
	snprintf(check, sizeof(check), "tcp.flags contains '%s'", list);
	return add(conf, "tcp-flags", check);
}

/* ---- drop reasons ---- */

/* Hubble's name or number as the kernel's reasons that map to it, or one of the kernel's own. */
static int reason_check(const char *arg, struct buf *ret, struct err *err)
{
	int code = hubble_drop_code(arg, strlen(arg));
	uint64_t n;
	bool found = false;

	if (str_to_u64(arg, 10, &n) == 0)
		code = n <= UINT8_MAX ? (int)n : -1;
	else if (!is_name(arg, false))
		return err_set(err, -EINVAL, "unknown drop reason \"%s\"", arg);
	for (size_t i = 0; code >= 0 && i < n_kdrop_rows; i++) {
		if (kdrop_rows[i].code != code)
			continue;
		buf_printf(ret, "%s%s", found ? ", " : "drop.reason in (", kdrop_rows[i].name);
		found = true;
	}
	if (found)
		buf_add_str(ret, ")");
	else
		buf_printf(ret, "drop.reason=%s", arg);
	return buf_error(ret);
}

CALL(on_drop_reason)
{
	_cleanup_(buf_fini) struct buf check = { 0 };
	int r = reason_check(arg, &check, err);

	return r < 0 ? r : add(conf, "drop-reason-desc", buf_str(&check));
}

CALL(on_interface)
{
	if (!is_name(arg, false))
		return err_set(err, -EINVAL, "--interface \"%s\": expected the name of an interface", arg);
	return add_value(conf, "interface", "net.iface", "=", arg);
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
		if (len >= sizeof(part))
			return -EINVAL;
		memcpy(part, arg, len);
		part[len] = '\0';
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
		return err_set(err, -EINVAL, "--%s \"%s\": expected a time (2026-11-22T13:00:00Z) or a span "
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
	return add_value(f, option, "evt.time", op, text);
}

CALL(on_since)
{
	uint64_t ns;
	int r = parse_time("since", arg, &ns, err);

	return r < 0 ? r : add_time(conf, "since", ">=", ns);
}

CALL(on_until)
{
	uint64_t ns;
	int r = parse_time("until", arg, &ns, err);

	return r < 0 ? r : add_time(conf, "until", "<=", ns);
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

static bool is_word(const char *text, size_t len, const char *word)
{
	return strlen(word) == len && !memcmp(text, word, len);
}

/* "trace:to-endpoint", "drop:133", "net.dns" as a check. */
static int type_check(const char *text, struct buf *check, struct err *err)
{
	size_t len = strcspn(text, ":"), i = 0;
	const char *sub = text[len] ? text + len + 1 : NULL;
	uint64_t n;

	if (!is_name(sub ? sub : text, false))
		return err_set(err, -EINVAL, "--type %s: this is not a type of events", text);
	if (is_word(text, len, "l7") || is_word(text, len, "129"))
		return err_set(err, -EINVAL, "--type %s is not supported: use sonde rpc", text);
	while (i < ARRAY_SIZE(flow_types) && !is_word(text, len, flow_types[i].name) &&
	       !is_word(text, len, flow_types[i].number))
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
		return reason_check(sub, check, err);
	if (strcmp(flow_types[i].name, "trace") != 0)
		return err_set(err, -EINVAL, "--type %s: subtypes go with trace and drop only", text);
	buf_printf(check, "net.point=%s", sub);
	return buf_error(check);
}

static int use_types(struct hubble_filter *f, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < f->types.len; i++) {
		_cleanup_(buf_fini) struct buf check = { 0 };

		r = type_check(f->types.items[i], &check, err);
		if (r >= 0)
			r = add(f, "type", buf_str(&check));
	}
	return r;
}

int hubble_filter_use(struct hubble_filter *f, struct run_conf *run, struct err *err)
{
	int r;

	if (f->negate_next)
		return err_set(err, -EINVAL, "--not stands in front of the option that it is about");
	r = use_types(f, err);
	if (r < 0)
		return r == -ENOMEM ? err_errno(err, r, "cannot put the filter together") : r;
	for (size_t i = 0; i < f->parts.len; i++) {
		const struct hubble_part *p = &f->parts.items[i];

		buf_printf(&f->where, "%s%s(%.*s)", i ? " and " : "", p->negated ? "not " : "", (int)p->expr.len,
			   p->expr.data);
	}
	if (f->parts.len)
		run->where = buf_str(&f->where);
	return buf_error(&f->where) < 0 ? err_errno(err, -ENOMEM, "cannot put the filter together") : 0;
}

void hubble_filter_fini(struct hubble_filter *f)
{
	for (size_t i = 0; i < f->parts.len; i++)
		buf_fini(&f->parts.items[i].expr);
	vec_fini(&f->parts);
	buf_fini(&f->where);
}
