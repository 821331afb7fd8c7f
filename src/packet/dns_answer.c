// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Compressed names point backwards into the message. Jumps and lengths are bounded, so time is linear in the records,
 * of which at most RECORDS_MAX are read.
 */
#include "packet/dns.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/cursor.h"
#include "base/macros.h"

#define JUMPS_MAX 16
#define RECORDS_MAX 64
#define TYPE_A 1
#define TYPE_CNAME 5
#define TYPE_AAAA 28
#define TYPE_HTTPS 65
#define TYPE_ANY 255
#define CLASS_IN 1
#define FLAG_RESPONSE 0x8000
#define FLAG_TRUNCATED 0x0200
#define OPCODE_SHIFT 11

/* Lower case, or 0 for characters that host names cannot have. */
static char letter(uint8_t c)
{
	if (c >= 'A' && c <= 'Z')
		return (char)(c - 'A' + 'a');
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ? (char)c : 0;
}

static bool add_label(char name[static DNS_NAME_MAX + 1], size_t *len, const uint8_t *label, size_t n)
{
	if (!label || *len + n + 1 > DNS_NAME_MAX)
		return false;
	if (*len)
		name[(*len)++] = '.';
	for (size_t i = 0; i < n; i++) {
		name[*len] = letter(label[i]);
		if (!name[(*len)++])
			return false;
	}
	return true;
}

/* Reads a name and moves @c past it. False if it is invalid or not a host name. */
static bool read_name(struct cursor msg, struct cursor *c, char name[static DNS_NAME_MAX + 1])
{
	struct cursor at = *c;
	size_t len = 0;
	bool plain = true;

	for (unsigned jumps = 0; jumps <= JUMPS_MAX;) {
		uint8_t n = cur_u8(&at);

		if (!cur_ok(&at))
			break;
		if (n >= 0xc0) {
			size_t off = (n & 0x3fu) << 8 | cur_u8(&at);

			if (!jumps++)
				*c = at;
			if (!cur_ok(&at))
				break;
			at = msg;
			cur_skip(&at, off);
		} else if (n > 63) {
			break;
		} else if (n) {
			const uint8_t *label = cur_bytes(&at, n);

			if (!label)
				break;
			plain = plain && add_label(name, &len, label, n);
		} else {
			if (!jumps)
				*c = at;
			name[plain ? len : 0] = '\0';
			return plain && len;
		}
	}
	c->bad = true;
	return false;
}

struct record {
	char owner[DNS_NAME_MAX + 1];
	bool named;		/* the owner is a host name */
	uint16_t type, class;
	uint32_t ttl;
	struct cursor data;
};

static bool read_record(struct cursor msg, struct cursor *c, struct record *ret)
{
	ret->named = read_name(msg, c, ret->owner);
	ret->type = cur_u16be(c);
	ret->class = cur_u16be(c);
	ret->ttl = cur_u32be(c);
	ret->data = cur_sub(c, cur_u16be(c));
	return cur_ok(c);
}

static void add_address(struct dns_answer *a, const struct record *r, uint32_t ttl)
{
	size_t len = r->type == TYPE_A ? 4 : 16;
	struct dns_address *to = &a->addresses[a->n];
	struct cursor c = r->data;
	const void *addr = cur_left(&c) == len ? cur_bytes(&c, len) : NULL;

	if (!addr || a->n == DNS_ADDRESSES_MAX)
		return;
	*to = (struct dns_address){ .family = len == 4 ? SONDE_IPV4 : SONDE_IPV6, .ttl = MIN(ttl, r->ttl) };
	memcpy(to->addr, addr, len);
	a->n++;
}

/* Expects records in chain order, as servers send them and resolvers read them. */
static void read_answers(struct cursor msg, struct cursor *c, uint16_t n, struct dns_answer *a)
{
	char current[DNS_NAME_MAX + 1], target[DNS_NAME_MAX + 1];
	uint32_t ttl = UINT32_MAX;
	struct record r;

	memcpy(current, a->name, sizeof(current));
	for (unsigned i = 0; i < n && i < RECORDS_MAX && read_record(msg, c, &r); i++) {
		struct cursor data = r.data;

		if (!r.named || r.class != CLASS_IN || strcmp(r.owner, current) != 0)
			continue;
		if (r.type == TYPE_A || r.type == TYPE_AAAA) {
			add_address(a, &r, ttl);
		} else if (r.type == TYPE_CNAME && read_name(msg, &data, target)) {
			memcpy(current, target, sizeof(current));
			ttl = MIN(ttl, r.ttl);
		}
	}
}

static bool is_selected(uint16_t type)
{
	return type == TYPE_A || type == TYPE_AAAA || type == TYPE_HTTPS || type == TYPE_ANY;
}

int dns_answer_parse(const void *data, size_t len, struct dns_answer *ret)
{
	const struct cursor msg = cur_init(data, len);
	struct cursor c = msg;
	uint16_t flags, questions, answers, type, class;
	bool named;

	cur_skip(&c, 2);	/* id */
	flags = cur_u16be(&c);
	questions = cur_u16be(&c);
	answers = cur_u16be(&c);
	cur_skip(&c, 4);	/* authority, additional */
	if (!cur_ok(&c) || !(flags & FLAG_RESPONSE) || (flags >> OPCODE_SHIFT & 15) || questions != 1)
		return -EBADMSG;
	*ret = (struct dns_answer){ .rcode = flags & 15 };
	named = read_name(msg, &c, ret->name);
	type = cur_u16be(&c);
	class = cur_u16be(&c);
	if (!named || !cur_ok(&c) || class != CLASS_IN || !is_selected(type))
		return -EBADMSG;
	read_answers(msg, &c, answers, ret);
	return 0;
}

int dns_question_parse(const void *data, size_t len, struct dns_question *ret)
{
	const struct cursor msg = cur_init(data, len);
	struct cursor c = msg;
	struct dns_question q = { .id = cur_u16be(&c) };
	uint16_t flags = cur_u16be(&c), questions = cur_u16be(&c);

	cur_skip(&c, 6);	/* the other counts */
	if (!cur_ok(&c) || !questions || !cur_left(&c))
		return -EBADMSG;
	if (cur_peek(&c, 0)) {
		struct cursor name = c;

		q.named = read_name(msg, &name, q.name);
		if (!q.named)
			q.name[0] = '\0';
		for (uint8_t n = cur_u8(&c); n && n < 0xc0; n = cur_u8(&c))
			cur_skip(&c, n);
	} else {
		cur_skip(&c, 1);
		q.named = true;
	}
	q.type = cur_u16be(&c);
	q.class = cur_u16be(&c);
	if (!cur_ok(&c))
		return -EBADMSG;
	q.opcode = flags >> OPCODE_SHIFT & 15;
	q.rcode = flags & 15;
	q.response = flags & FLAG_RESPONSE;
	q.truncated = flags & FLAG_TRUNCATED;
	*ret = q;
	return 0;
}

const char *dns_type_name(uint16_t type)
{
	/* IANA, "Resource Record (RR) TYPEs" */
	static const struct {
		uint16_t type;
		const char *name;
	} rows[] = {
		{ 1, "A" }, { 2, "NS" }, { 5, "CNAME" }, { 6, "SOA" }, { 12, "PTR" }, { 13, "HINFO" }, { 15, "MX" },
		{ 16, "TXT" }, { 28, "AAAA" }, { 33, "SRV" }, { 35, "NAPTR" }, { 41, "OPT" }, { 43, "DS" },
		{ 46, "RRSIG" }, { 47, "NSEC" }, { 48, "DNSKEY" }, { 52, "TLSA" }, { 64, "SVCB" },
		{ 65, "HTTPS" }, { 251, "IXFR" }, { 252, "AXFR" }, { 255, "ANY" }, { 257, "CAA" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].type == type)
			return rows[i].name;
	return NULL;
}

const char *dns_rcode_name(uint8_t rcode)
{
	/* IANA, "DNS RCODEs" */
	static const char *const names[] = {
		"NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED", "YXDOMAIN", "YXRRSET", "NXRRSET",
		"NOTAUTH", "NOTZONE",
	};

	return rcode < ARRAY_SIZE(names) ? names[rcode] : NULL;
}
