// SPDX-License-Identifier: GPL-2.0-or-later
#include "hubble/hubble_words.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "base/macros.h"
#include "base/str.h"
#include "cilium/hubble.h"
#include "cilium/kdrops.h"
#include "event/value.h"

/* ---- parts ---- */

static struct hubble_words_part *part_of(struct hubble_words *w, const char *name)
{
	bool negated = w->negate_next;

	w->negate_next = false;
	for (size_t i = 0; i < w->parts.len; i++)
		if (!strcmp(w->parts.items[i].name, name) && w->parts.items[i].negated == negated)
			return &w->parts.items[i];
	if (vec_push(&w->parts, (struct hubble_words_part){ .name = name, .negated = negated }) < 0)
		return NULL;
	return &w->parts.items[w->parts.len - 1];
}

int hubble_words_add(struct hubble_words *w, const char *name, const char *check)
{
	struct hubble_words_part *p = part_of(w, name);

	if (!p)
		return -ENOMEM;
	return buf_printf(&p->expr, "%s%s", p->expr.len ? " or " : "", check);
}

int hubble_words_add_value(struct hubble_words *w, const char *name, const char *field, const char *op,
			   const char *value)
{
	char check[512];

	snprintf(check, sizeof(check), "%s %s %s", field, op, value);
	return hubble_words_add(w, name, check);
}

void hubble_words_put(const struct hubble_words *w, struct buf *out)
{
	for (size_t i = 0; i < w->parts.len; i++) {
		const struct hubble_words_part *p = &w->parts.items[i];

		buf_printf(out, "%s%s(%.*s)", i ? " and " : "", p->negated ? "not " : "", (int)p->expr.len,
			   p->expr.data);
	}
}

void hubble_words_fini(struct hubble_words *w)
{
	for (size_t i = 0; i < w->parts.len; i++)
		buf_fini(&w->parts.items[i].expr);
	vec_fini(&w->parts);
}

/* ---- values ---- */

int hubble_words_ip(struct hubble_words *w, const char *name, const char *field, const char *value, struct err *err)
{
	struct ipnet net;

	if (ipaddr_ipnet_parse(value, &net) < 0)
		return err_set(err, -EINVAL, "%s \"%s\": expected an address or a network (10.0.0.0/8)", name, value);
	return hubble_words_add_value(w, name, field, "=", value);
}

int hubble_words_port(struct hubble_words *w, const char *name, const char *field, const char *value,
		      struct err *err)
{
	uint64_t n;

	if (str_to_u64(value, 10, &n) < 0 || !n || n > UINT16_MAX)
		return err_set(err, -EINVAL, "%s \"%s\": expected a port number", name, value);
	return hubble_words_add_value(w, name, field, "=", value);
}

bool hubble_words_is_name(const char *s, bool glob)
{
	if (!*s || strlen(s) > 255)
		return false;
	for (; *s; s++)
		if (!isalnum((unsigned char)*s) && !strchr("._-:@", *s) && !(glob && *s == '*'))
			return false;
	return true;
}

int hubble_words_host(struct hubble_words *w, const char *name, enum hubble_end_of end, const char *value,
		      struct err *err)
{
	size_t len = strlen(value);
	char check[1200];

	if (!hubble_words_is_name(value, true))
		return err_set(err, -EINVAL, "%s \"%s\": expected a host name (*.example.org)", name, value);
	if (value[len - 1] == '.')
		len--;
	if (end != HUBBLE_EITHER)
		snprintf(check, sizeof(check), "%s glob '%.*s'", end == HUBBLE_SENDER ? "dns.sname" : "dns.dname",
			 (int)len, value);
	else
		snprintf(check, sizeof(check), "dns.sname glob '%.*s' or dns.dname glob '%.*s'", (int)len, value,
			 (int)len, value);
	return hubble_words_add(w, name, check);
}

struct word_pair { const char *word, *check; };

static int add_word(struct hubble_words *w, const char *name, const struct word_pair *pairs, size_t n,
		    const char *value, struct err *err)
{
	char list[256] = "";

	for (size_t i = 0; i < n; i++) {
		if (!strcasecmp(value, pairs[i].word))
			return hubble_words_add(w, name, pairs[i].check);
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", i ? ", " : "", pairs[i].word);
	}
	return err_set(err, -EINVAL, "%s \"%s\": expected one of %s", name, value, list);
}

/* ---- words of the event's process ---- */

static const char *const end_checks[] = {
	[HUBBLE_EITHER] = "", [HUBBLE_SENDER] = " and owner.end=src", [HUBBLE_RECEIVER] = " and owner.end=dst",
};
_Static_assert(ARRAY_SIZE(end_checks) == HUBBLE_END__MAX, "a check per end");

int hubble_words_pod(struct hubble_words *w, const char *name, enum hubble_end_of end, const char *value,
		     struct err *err)
{
	const char *slash = strchr(value, '/');
	char ns[256], check[700] = "";
	int len = slash ? (int)(slash - value) : 7;

	snprintf(ns, sizeof(ns), "%.*s", len, slash ? value : "default");
	slash = slash ? slash + 1 : value;
	if ((*ns && !hubble_words_is_name(ns, false)) || (*slash && !hubble_words_is_name(slash, false)))
		return err_set(err, -EINVAL, "%s \"%s\": expected [NAMESPACE/]NAME", name, value);
	snprintf(check, sizeof(check), "k8s.pod startswith '%s'%s%s%s%s", slash, *ns ? " and k8s.ns='" : "", ns,
		 *ns ? "'" : "", end_checks[end]);
	return hubble_words_add(w, name, check);
}

int hubble_words_local(struct hubble_words *w, const char *name, const char *field, enum hubble_end_of end,
		       const char *value, struct err *err)
{
	char check[400];

	if (value && !hubble_words_is_name(value, false))
		return err_set(err, -EINVAL, "%s \"%s\": expected a name", name, value);
	if (value)
		snprintf(check, sizeof(check), "%s='%s'%s", field, value, end_checks[end]);
	else
		snprintf(check, sizeof(check), "%s exists%s", field, end_checks[end]);
	return hubble_words_add(w, name, check);
}

/* ---- words of the packet ---- */

int hubble_words_verdict(struct hubble_words *w, const char *name, const char *value, struct err *err)
{
	static const struct word_pair words[] = {
		{ "FORWARDED", "net.verdict=forwarded" }, { "DROPPED", "net.verdict=dropped" },
		{ "AUDIT", "net.verdict=audit" }, { "REDIRECTED", "net.verdict=redirected" },
		{ "TRACED", "net.verdict=traced" }, { "TRANSLATED", "net.verdict=translated" },
		{ "ERROR", "net.verdict=error" },
	};

	return add_word(w, name, words, ARRAY_SIZE(words), value, err);
}

int hubble_words_protocol(struct hubble_words *w, const char *name, const char *value, struct err *err)
{
	static const struct word_pair words[] = {
		{ "tcp", "fd.l4proto=tcp" }, { "udp", "fd.l4proto=udp" }, { "sctp", "fd.l4proto=sctp" },
		{ "icmp", "fd.l4proto in (icmp, icmpv6)" }, { "icmpv4", "fd.l4proto=icmp" },
		{ "icmpv6", "fd.l4proto=icmpv6" }, { "vrrp", "fd.l4proto=vrrp" }, { "igmp", "fd.l4proto=igmp" },
		{ "dns", "fd.port=53" },
	};

	if (!strcasecmp(value, "http") || !strcasecmp(value, "kafka"))
		return err_set(err, -EINVAL,
			       "%s %s is not supported: use sonde rpc and the filter rpc.protocol", name, value);
	return add_word(w, name, words, ARRAY_SIZE(words), value, err);
}

int hubble_words_ip_version(struct hubble_words *w, const char *name, const char *value, struct err *err)
{
	static const struct word_pair words[] = {
		{ "4", "conn.src=0.0.0.0/0" }, { "ipv4", "conn.src=0.0.0.0/0" }, { "v4", "conn.src=0.0.0.0/0" },
		{ "ip4", "conn.src=0.0.0.0/0" }, { "6", "conn.src=::/0" }, { "ipv6", "conn.src=::/0" },
		{ "v6", "conn.src=::/0" }, { "ip6", "conn.src=::/0" }, { "none", "not conn.src exists" },
	};

	return add_word(w, name, words, ARRAY_SIZE(words), value, err);
}

int hubble_words_tcp_flags(struct hubble_words *w, const char *name, const char *value, struct err *err)
{
	static const char *const flags[] = { "FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR" };
	char list[64] = "", check[96];

	for (const char *p = value; *p; p += strcspn(p, ",") + (p[strcspn(p, ",")] == ',')) {
		size_t len = strcspn(p, ","), i = 0;

		while (i < ARRAY_SIZE(flags) && (len != 3 || strncasecmp(p, flags[i], 3) != 0))
			i++;
		if (i == ARRAY_SIZE(flags) || strlen(list) > 40)
			return err_set(err, -EINVAL, "%s \"%s\": expected FIN, SYN, RST, PSH, ACK, URG, "
				       "ECE or CWR, comma separated", name, value);
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", *list ? "|" : "", flags[i]);
	}
	if (!*list)
		return err_set(err, -EINVAL, "%s: expected at least one flag", name);
	snprintf(check, sizeof(check), "tcp.flags contains '%s'", list);
	return hubble_words_add(w, name, check);
}

int hubble_words_interface(struct hubble_words *w, const char *name, const char *value, struct err *err)
{
	if (!hubble_words_is_name(value, false))
		return err_set(err, -EINVAL, "%s \"%s\": expected the name of an interface", name, value);
	return hubble_words_add_value(w, name, "net.iface", "=", value);
}

int hubble_words_put_reason(const char *value, struct buf *out, struct err *err)
{
	int code = hubble_drop_code(value, strlen(value));
	uint64_t n;
	bool found = false;

	if (str_to_u64(value, 10, &n) == 0)
		code = n <= UINT8_MAX ? (int)n : -1;
	else if (!hubble_words_is_name(value, false))
		return err_set(err, -EINVAL, "unknown drop reason \"%s\"", value);
	for (size_t i = 0; code >= 0 && i < n_kdrop_rows; i++) {
		if (kdrop_rows[i].code != code)
			continue;
		buf_printf(out, "%s%s", found ? ", " : "drop.reason in (", kdrop_rows[i].name);
		found = true;
	}
	if (found)
		buf_add_str(out, ")");
	else
		buf_printf(out, "drop.reason=%s", value);
	return buf_error(out);
}
