// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * DNS messages on port 53, and those of multicast DNS (RFC 6762), whose classes have a flag.
 */

#include "base/buf.h"
#include "base/macros.h"
#include "compat/tcpdump/tcpdump_print.h"

#define TYPE_A 1
#define TYPE_NS 2
#define TYPE_CNAME 5
#define TYPE_SOA 6
#define TYPE_PTR 12
#define TYPE_MX 15
#define TYPE_TXT 16
#define TYPE_AAAA 28
#define TYPE_SRV 33
#define TYPE_OPT 41
#define POINTERS_MAX 32 /* in one name */
#define NAME_MAX_BYTES 255u
#define QUERY_UNUSED 0x6cfu /* flags that a query does not have */
#define MDNS_FLAG 0x8000u /* of a question: a unicast answer is wanted; of a record: it replaces what is cached */

struct message {
	struct cursor all; /* from its header on: names point into it */
	struct cursor c;
	bool mdns;
};

static void add_type(uint16_t type, struct buf *out)
{
	static const struct {
		uint16_t type;
		const char *name;
	} names[] = {
		{ TYPE_A, "A" },     { TYPE_NS, "NS" },	  { TYPE_CNAME, "CNAME" },
		{ TYPE_SOA, "SOA" }, { TYPE_PTR, "PTR" }, { 13, "HINFO" },
		{ TYPE_MX, "MX" },   { TYPE_TXT, "TXT" }, { TYPE_AAAA, "AAAA" },
		{ 29, "LOC" },	     { TYPE_SRV, "SRV" }, { 35, "NAPTR" },
		{ 39, "DNAME" },     { TYPE_OPT, "OPT" }, { 43, "DS" },
		{ 44, "SSHFP" },     { 46, "RRSIG" },	  { 47, "NSEC" },
		{ 48, "DNSKEY" },    { 50, "NSEC3" },	  { 51, "NSEC3PARAM" },
		{ 52, "TLSA" },	     { 64, "SVCB" },	  { 65, "HTTPS" },
		{ 251, "IXFR" },     { 252, "AXFR" },	  { 255, "ANY" },
		{ 257, "CAA" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (names[i].type != type)
			continue;
		buf_add_str(out, names[i].name);
		return;
	}
	buf_printf(out, "Type%u", type);
}

static void add_label(struct cursor *c, uint8_t len, struct buf *out)
{
	const uint8_t *p = cur_bytes(c, len);

	for (uint8_t i = 0; p && i < len; i++) {
		if (p[i] > 0x20 && p[i] < 0x7f)
			buf_add_char(out, (char)p[i]);
		else
			buf_printf(out, "\\%03u", p[i]);
	}
	buf_add_char(out, '.');
}

/* A name in m->c, which stands behind it then. */
static void add_name(struct message *m, struct buf *out)
{
	struct cursor c = m->c, *at = &m->c;
	unsigned pointers = 0, bytes = 0;

	for (;;) {
		uint8_t len = cur_u8(at);

		if (!cur_ok(at) || bytes > NAME_MAX_BYTES)
			break;
		if (!len) {
			if (!bytes)
				buf_add_char(out, '.');
			return;
		}
		if ((len & 0xc0) == 0xc0) {
			unsigned to = (len & 0x3fu) << 8 | cur_u8(at);

			c = m->all;
			cur_skip(&c, to);
			if (!cur_ok(&m->c) || !cur_ok(&c) || ++pointers > POINTERS_MAX)
				break;
			at = &c;
			continue;
		}
		if (len & 0xc0)
			break;
		add_label(at, len, out);
		bytes += len + 1u;
	}
	m->c.bad = true;
}

static void add_class(uint16_t class, struct buf *out)
{
	static const char *const names[] = { [1] = NULL, [3] = "CHAOS", [4] = "HS" };

	if (class == 1)
		return;
	if (class < ARRAY_SIZE(names) && names[class])
		buf_printf(out, " %s", names[class]);
	else
		buf_printf(out, " (Class %u)", class);
}

/* The class without the flag, where there is one. */
static uint16_t class_of(const struct message *m, uint16_t class)
{
	return m->mdns ? class & (uint16_t)~MDNS_FLAG : class;
}

/* Nothing if it was cut. */
static void add_question(struct message *m, struct buf *out)
{
	struct buf name = { 0 };
	uint16_t type, class;

	add_name(m, &name);
	type = cur_u16be(&m->c);
	class = cur_u16be(&m->c);
	if (cur_ok(&m->c)) {
		buf_add_char(out, ' ');
		add_type(type, out);
		add_class(class_of(m, class), out);
		if (m->mdns)
			buf_add_str(out, class & MDNS_FLAG ? " (QU)" : " (QM)");
		buf_printf(out, "? %s", buf_str(&name));
	}
	buf_fini(&name);
}

static void add_strings(struct cursor c, struct buf *out)
{
	while (cur_left(&c)) {
		uint8_t len = cur_u8(&c);
		const uint8_t *p = cur_bytes(&c, len);

		buf_add_str(out, " \"");
		for (uint8_t i = 0; p && i < len; i++)
			buf_add_char(out, p[i] >= 0x20 && p[i] < 0x7f ? (char)p[i] : '.');
		buf_add_char(out, '"');
	}
}

static void add_data(struct tcpdump_print *pr, struct message *m, uint16_t type, uint16_t len)
{
	struct buf *out = pr->out;
	struct message in = { .all = m->all, .c = cur_sub(&m->c, len) };
	const uint8_t *addr;

	switch (type) {
	case TYPE_A:
	case TYPE_AAAA:
		addr = cur_bytes(&in.c, type == TYPE_A ? 4 : 16);
		if (!addr)
			break;
		buf_add_char(out, ' ');
		tcpdump_base_addr(out, type == TYPE_A ? SONDE_IPV4 : SONDE_IPV6, addr);
		break;
	case TYPE_NS:
	case TYPE_CNAME:
	case TYPE_PTR:
		buf_add_char(out, ' ');
		in.c.end = m->c.end; /* a name may end in a pointer only */
		add_name(&in, out);
		break;
	case TYPE_MX:
		len = cur_u16be(&in.c);
		buf_add_char(out, ' ');
		add_name(&in, out);
		buf_printf(out, " %u", len);
		break;
	case TYPE_SRV: {
		uint16_t priority = cur_u16be(&in.c), weight = cur_u16be(&in.c), port = cur_u16be(&in.c);

		buf_add_char(out, ' ');
		add_name(&in, out);
		buf_printf(out, ":%u %u %u", port, priority, weight);
		break;
	}
	case TYPE_SOA:
		if (pr->o->verbose < 2)
			break;
		in.c.end = m->c.end;
		buf_add_char(out, ' ');
		add_name(&in, out);
		buf_add_char(out, ' ');
		add_name(&in, out);
		for (unsigned i = 0; i < 5; i++)
			buf_printf(out, " %u", cur_u32be(&in.c));
		break;
	case TYPE_TXT: add_strings(in.c, out); break;
	default: break;
	}
}

static void add_record(struct tcpdump_print *pr, struct message *m)
{
	struct buf name = { 0 }, *out = pr->out;
	uint16_t type, class, len;
	uint32_t ttl;

	add_name(m, &name);
	type = cur_u16be(&m->c);
	class = cur_u16be(&m->c);
	ttl = cur_u32be(&m->c);
	len = cur_u16be(&m->c);
	if (cur_ok(&m->c) && pr->o->verbose)
		buf_printf(out, " %s", buf_str(&name));
	if (cur_ok(&m->c) && type != TYPE_OPT)
		add_class(class_of(m, class), out);
	if (cur_ok(&m->c) && m->mdns && class & MDNS_FLAG)
		buf_add_str(out, " (Cache flush)");
	if (cur_ok(&m->c) && type == TYPE_OPT) {
		buf_printf(out, " OPT UDPsize=%u%s", class_of(m, class), ttl & 0x8000 ? " DO" : "");
		cur_skip(&m->c, len);
	} else if (cur_ok(&m->c)) {
		buf_add_char(out, ' ');
		add_type(type, out);
		add_data(pr, m, type, len);
	}
	buf_fini(&name);
}

static void add_section(struct tcpdump_print *pr, struct message *m, const char *title, unsigned n)
{
	for (unsigned i = 0; i < n && cur_ok(&m->c); i++) {
		buf_add_str(pr->out, i ? "," : title);
		add_record(pr, m);
	}
}

struct head {
	uint16_t id, flags, questions, answers, authorities, additional;
};

static void add_response_head(const struct head *h, struct buf *out)
{
	static const char *const codes[] = {
		"",	     " FormErr", " ServFail", " NXDomain", " NotImp",  " Refused",
		" YXDomain", " YXRRSet", " NXRRSet",  " NotAuth",  " NotZone",
	};
	unsigned code = h->flags & 15;

	if (code < ARRAY_SIZE(codes))
		buf_add_str(out, codes[code]);
	else
		buf_printf(out, " Resp%u", code);
	buf_printf(out, "%s%s%s%s", h->flags & 0x400 ? "*" : "", h->flags & 0x80 ? "" : "-",
		   h->flags & 0x200 ? "|" : "", h->flags & 0x20 ? "$" : "");
}

static void add_opcode(uint16_t flags, struct buf *out)
{
	static const char *const names[] = {
		"",	" inv_q", " stat",    " op3",	  " notify",   " update",  " op6",	" op7",
		" op8", " updateA", " updateD", " updateDA", " updateM", " updateMA", " zoneInit", " zoneRef",
	};

	buf_add_str(out, names[flags >> 11 & 15]);
}

static void print_response(struct tcpdump_print *pr, struct message *m, const struct head *h)
{
	const bool all = pr->o->verbose > 1;

	add_response_head(h, pr->out);
	if (h->questions != 1)
		buf_printf(pr->out, " [%uq]", h->questions);
	for (unsigned i = 0; i < h->questions && cur_ok(&m->c); i++) {
		struct buf skipped = { 0 };

		if (pr->o->verbose > 1)
			buf_add_str(pr->out, i ? "," : " q:");
		add_question(m, pr->o->verbose > 1 ? pr->out : &skipped);
		buf_fini(&skipped);
	}
	if (!cur_ok(&m->c))
		return;
	buf_printf(pr->out, " %u/%u/%u", h->answers, h->authorities, h->additional);
	add_section(pr, m, "", h->answers);
	if (!all)
		return;
	add_section(pr, m, " ns:", h->authorities);
	add_section(pr, m, " ar:", h->additional);
}

static void print_query(struct tcpdump_print *pr, struct message *m, const struct head *h)
{
	struct buf *out = pr->out;
	const bool all = pr->o->verbose > 1;

	buf_printf(out, "%s%s", h->flags & 0x100 ? "+" : "", h->flags & 0x10 ? "%" : "");
	if (h->flags & QUERY_UNUSED)
		buf_printf(out, " [b2&3=0x%x]", h->flags);
	if (h->answers)
		buf_printf(out, " [%ua]", h->answers);
	if (h->questions != 1)
		buf_printf(out, " [%uq]", h->questions);
	if (h->authorities)
		buf_printf(out, " [%un]", h->authorities);
	if (h->additional)
		buf_printf(out, " [%uau]", h->additional);
	for (unsigned i = 0; i < h->questions && cur_ok(&m->c); i++)
		add_question(m, out);
	if (!all)
		return;
	add_section(pr, m, "", h->answers);
	add_section(pr, m, " ns:", h->authorities);
	add_section(pr, m, " ar:", h->additional);
}

void tcpdump_dns_print(struct tcpdump_print *pr, struct cursor c, uint32_t len, bool mdns)
{
	struct message m = { .all = c, .c = c, .mdns = mdns };
	struct head h = { .id = cur_u16be(&m.c) };
	const size_t start = pr->out->len;

	h.flags = cur_u16be(&m.c);
	h.questions = cur_u16be(&m.c);
	h.answers = cur_u16be(&m.c);
	h.authorities = cur_u16be(&m.c);
	h.additional = cur_u16be(&m.c);
	if (!cur_ok(&m.c)) {
		if (len < 12)
			buf_printf(pr->out, "domain [length %u < 12] (invalid)", len);
		else
			tcpdump_base_cut(pr->out, "domain");
		return;
	}
	buf_add_u64(pr->out, h.id);
	add_opcode(h.flags, pr->out);
	if (h.flags & 0x8000)
		print_response(pr, &m, &h);
	else
		print_query(pr, &m, &h);
	if (cur_ok(&m.c)) {
		buf_printf(pr->out, " (%u)", len);
		return;
	}
	if (pr->out->len > start && pr->out->data[pr->out->len - 1] == ' ')	/* of a name that was not read */
		pr->out->len--;
	tcpdump_base_cut(pr->out, "domain");
}
