// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * DNS messages (RFC 1035) over UDP: the header during dissection, questions and answers for -vv only. Compressed
 * names point backwards; jumps and lengths are bounded and all text is escaped.
 */
#include "packet/dissect.h"
#include "packet/dns.h"
#include "packet/names.h"
#include "packet/print.h"

#include "base/buf.h"
#include "base/str.h"

#define DNS_MAX_JUMPS 16
#define DNS_MAX_NAME 255
/* Record types: RFC 1035, 3596, 2782, 6891. */
enum {
	DNS_A = 1, DNS_NS = 2, DNS_CNAME = 5, DNS_PTR = 12, DNS_MX = 15, DNS_TXT = 16, DNS_AAAA = 28, DNS_SRV = 33,
	DNS_OPT = 41,
};

#define DNS_MAX_RECORDS 16		/* shown per section */

void dissect_dns(struct dissect *d)
{
	bool was_cut = d->p->cut;
	struct cursor h;

	if (cur_left(&d->cur) < 12 && d->wire_left < 12)
		return;	/* too short for DNS */
	layer_take_rest(d, LAYER_DNS, 12, &h);
	d->p->cut = was_cut;	/* the network headers are complete */
}

/* ---- -vv ---- */

static void print_type(struct buf *out, uint16_t type)
{
	const char *name = dns_type_name(type);

	if (name)
		buf_add_str(out, name);
	else
		buf_printf(out, "TYPE%u", type);
}

/* One label; escapes dots inside it. */
static void print_label(struct buf *out, const char *label, size_t len)
{
	for (size_t from = 0, i = 0; i <= len; i++) {
		if (i < len && label[i] != '.')
			continue;
		str_escape_buf(out, label + from, i - from);
		if (i < len)
			buf_add_str(out, "\\.");
		from = i + 1;
	}
}

/* Prints the name at @c and moves past it; @msg is the whole message. False if invalid. */
static bool print_name(struct buf *out, struct cursor msg, struct cursor *c)
{
	struct cursor at = *c;
	unsigned jumps = 0;
	size_t total = 0;

	for (;;) {
		uint8_t len = cur_u8(&at);

		if (!cur_ok(&at))
			return false;
		if (len >= 0xc0) {
			size_t off = (len & 0x3fu) << 8 | cur_u8(&at);

			if (!jumps)
				*c = at;
			if (!cur_ok(&at) || ++jumps > DNS_MAX_JUMPS)
				return false;
			at = msg;
			cur_skip(&at, off);
			continue;
		}
		if (len == 0) {
			if (!jumps)
				*c = at;
			if (!total)
				buf_add_char(out, '.');
			return true;
		}
		total += len + 1u;
		if (len > 63 || total > DNS_MAX_NAME || cur_left(&at) < len)
			return false;
		print_label(out, cur_bytes(&at, len), len);
		buf_add_char(out, '.');
	}
}

static bool print_question(struct buf *out, struct cursor msg, struct cursor *c)
{
	size_t mark = out->len;
	bool ok = print_name(out, msg, c);
	uint16_t type = cur_u16be(c), class = cur_u16be(c);

	if (!ok || !cur_ok(c)) {
		out->len = mark;
		return false;
	}
	buf_add_char(out, ' ');
	print_type(out, type);
	if ((class & 0x7fff) != 1)
		buf_printf(out, " class %u", class);
	return true;
}

static void print_rdata(struct buf *out, struct cursor msg, uint16_t type, struct cursor c)
{
	size_t mark = out->len, len;
	const void *addr;

	buf_add_char(out, ' ');
	switch (type) {
	case DNS_A:
	case DNS_AAAA:
		addr = cur_bytes(&c, type == DNS_A ? 4 : 16);
		if (addr)
			packet_names_text_ip(out, type == DNS_A ? SONDE_IPV4 : SONDE_IPV6, addr);
		break;
	case DNS_SRV:
		buf_printf(out, "%u ", cur_u16be(&c));
		buf_printf(out, "%u ", cur_u16be(&c));
		buf_printf(out, "%u ", cur_u16be(&c));
		if (!print_name(out, msg, &c))
			out->len = mark;
		break;
	case DNS_MX:
		buf_printf(out, "%u ", cur_u16be(&c));
		if (!print_name(out, msg, &c))
			out->len = mark;
		break;
	case DNS_NS:
	case DNS_CNAME:
	case DNS_PTR:
		if (!print_name(out, msg, &c))
			out->len = mark;
		break;
	case DNS_TXT:
		len = MIN((size_t)cur_u8(&c), cur_left(&c));
		buf_add_char(out, '"');
		str_escape_buf(out, cur_bytes(&c, len), len);
		buf_add_char(out, '"');
		break;
	default:
		buf_printf(out, "(%zu bytes)", cur_left(&c));
	}
}

static bool print_record(struct buf *out, struct cursor msg, struct cursor *c)
{
	size_t mark = out->len;
	bool ok = print_name(out, msg, c);
	uint16_t type = cur_u16be(c), class _unused_ = cur_u16be(c), len;
	uint32_t ttl = cur_u32be(c);
	struct cursor data;

	len = cur_u16be(c);
	data = cur_sub(c, len);
	if (!ok || !cur_ok(c)) {
		out->len = mark;
		return false;
	}
	buf_add_char(out, ' ');
	print_type(out, type);
	if (type != DNS_OPT)
		buf_printf(out, " ttl %u", ttl);
	print_rdata(out, msg, type, data);
	return true;
}

/* All records of a section; false if the message cannot be parsed further. */
static bool print_section(struct buf *out, const char *title, uint16_t n, struct cursor msg, struct cursor *c,
			  bool (*row)(struct buf *, struct cursor, struct cursor *))
{
	for (uint16_t i = 0; i < n; i++) {
		size_t mark = out->len;

		if (i == DNS_MAX_RECORDS) {
			buf_printf(out, ", %u more", n - i);
			return false;
		}
		buf_add_str(out, i ? ", " : title);
		if (!row(out, msg, c)) {
			out->len = mark;
			buf_add_str(out, ", cut");
			return false;
		}
	}
	return true;
}

void packet_print_dns(struct printer *pr, struct buf *out)
{
	static const char *const codes[] = { "NoError", "FormErr", "ServFail", "NXDomain", "NotImp", "Refused" };
	struct cursor msg = pr->c;
	uint16_t id = cur_u16be(&pr->c), flags = cur_u16be(&pr->c), n[4];

	for (int i = 0; i < 4; i++)
		n[i] = cur_u16be(&pr->c);
	if (!cur_ok(&pr->c))
		return;
	buf_printf(out, "%s id %u%s%s%s%s", flags & 0x8000 ? "response" : "query", id, flags & 0x0400 ? ", aa" : "",
		   flags & 0x0200 ? ", tc" : "", flags & 0x0100 ? ", rd" : "", flags & 0x0080 ? ", ra" : "");
	if (flags >> 11 & 15)
		buf_printf(out, ", opcode %u", flags >> 11 & 15);
	if (flags & 0x8000 && (flags & 15u) < ARRAY_SIZE(codes))
		buf_printf(out, ", %s", codes[flags & 15]);
	else if (flags & 0x8000)
		buf_printf(out, ", rcode %u", flags & 15);
	if (print_section(out, ", question ", n[0], msg, &pr->c, print_question) &&
	    print_section(out, ", answer ", n[1], msg, &pr->c, print_record) &&
	    print_section(out, ", authority ", n[2], msg, &pr->c, print_record))
		print_section(out, ", additional ", n[3], msg, &pr->c, print_record);
	pr->c.bad = false;
}
