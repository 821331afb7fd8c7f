// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * IGMP: RFC 1112 (version 1), 2236 (2), 3376 (3).
 */
#include <string.h>

#include "base/buf.h"
#include "base/macros.h"
#include "compat/tcpdump/tcpdump_print.h"

/* types */
#define IGMP_QUERY 0x11
#define IGMP_REPORT_1 0x12
#define IGMP_REPORT_2 0x16
#define IGMP_LEAVE 0x17
#define IGMP_REPORT_3 0x22

#define SHORT_LEN 8u /* of versions 1 and 2 */
#define QUERY_3_LEN 12u
#define USUAL_TENTHS 100 /* maximum response time that is not printed */

static void add_group(struct buf *out, struct cursor *c)
{
	uint8_t addr[4];

	if (cur_copy(c, addr, sizeof(addr)))
		tcpdump_base_addr(out, SONDE_IPV4, addr);
}

static void add_length(struct buf *out, uint32_t len)
{
	if (len != SHORT_LEN)
		buf_printf(out, " [len %u]", len);
}

/* " { A B }" with -vv, else the number. */
static void add_sources(struct tcpdump_print *pr, struct cursor *c, unsigned n)
{
	if (pr->o->verbose < 2) {
		buf_printf(pr->out, ", %u source(s)", n);
		cur_skip(c, n * 4);
		return;
	}
	buf_add_str(pr->out, " {");
	for (unsigned i = 0; i < n && cur_left(c) >= 4; i++) {
		buf_add_char(pr->out, ' ');
		add_group(pr->out, c);
	}
	buf_add_str(pr->out, " }");
}

static void print_records(struct tcpdump_print *pr, struct cursor c, unsigned n)
{
	static const char *const kinds[] = { "", "is_in", "is_ex", "to_in", "to_ex", "allow", "block" };

	for (unsigned i = 0; i < n; i++) {
		uint8_t kind = cur_u8(&c);
		unsigned n_sources;

		cur_skip(&c, 1);
		n_sources = cur_u16be(&c);
		if (cur_left(&c) < 4) {
			tcpdump_base_cut(pr->out, "igmp");
			return;
		}
		buf_add_str(pr->out, " [gaddr ");
		add_group(pr->out, &c);
		if (kind && kind < ARRAY_SIZE(kinds))
			buf_printf(pr->out, " %s", kinds[kind]);
		else
			buf_printf(pr->out, "  [v3-report-#%u]", kind);
		if (cur_left(&c) < n_sources * 4u) {
			buf_printf(pr->out, " [invalid number of sources %u]", n_sources);
			return;
		}
		add_sources(pr, &c, n_sources);
		buf_add_char(pr->out, ']');
	}
}

static void print_report3(struct tcpdump_print *pr, struct cursor c)
{
	unsigned n;

	cur_skip(&c, 6);
	n = cur_u16be(&c);
	buf_add_str(pr->out, "igmp v3 report");
	if (!cur_ok(&c)) {
		tcpdump_base_cut(pr->out, "igmp");
		return;
	}
	buf_printf(pr->out, ", %u group record(s)", n);
	if (pr->o->verbose)
		print_records(pr, c, n);
}

/* Tenths of a second: RFC 3376, 4.1.1. */
static unsigned response_time(uint8_t code)
{
	return code < 128 ? code : (unsigned)((code & 15) | 16) << ((code >> 4 & 7) + 3);
}

static void print_query3(struct tcpdump_print *pr, struct cursor c, uint32_t len)
{
	static const uint8_t none[4];
	unsigned tenths, n;
	struct cursor group;

	cur_skip(&c, 1);
	tenths = response_time(cur_u8(&c));
	cur_skip(&c, 2);
	group = cur_sub(&c, 4);
	cur_skip(&c, 2);
	n = cur_u16be(&c);
	buf_add_str(pr->out, " v3");
	if (tenths != USUAL_TENTHS && tenths < 600)
		buf_printf(pr->out, " [max resp time %u.%us]", tenths / 10, tenths % 10);
	else if (tenths != USUAL_TENTHS)
		buf_printf(pr->out, " [max resp time %um%us]", tenths / 600, tenths % 600 / 10);
	if (!cur_ok(&c)) {
		tcpdump_base_cut(pr->out, "igmp");
		return;
	}
	if (!memcmp(group.pos, none, sizeof(none)))
		return;
	buf_add_str(pr->out, " [gaddr ");
	add_group(pr->out, &group);
	if (n && len < QUERY_3_LEN + n * 4u)
		buf_add_str(pr->out, " [invalid number of sources]");
	else if (n)
		add_sources(pr, &c, n);
	buf_add_char(pr->out, ']');
}

static void print_query(struct tcpdump_print *pr, struct cursor c, uint32_t len)
{
	static const uint8_t none[4];
	uint8_t tenths;

	buf_add_str(pr->out, "igmp query");
	if (len >= QUERY_3_LEN) {
		print_query3(pr, c, len);
		return;
	}
	cur_skip(&c, 1);
	tenths = cur_u8(&c);
	cur_skip(&c, 2);
	buf_add_str(pr->out, tenths ? " v2" : " v1");
	if (tenths && tenths != USUAL_TENTHS)
		buf_printf(pr->out, " [max resp time %u]", tenths);
	if (cur_left(&c) < 4) {
		tcpdump_base_cut(pr->out, "igmp");
		return;
	}
	if (memcmp(c.pos, none, sizeof(none)) != 0) {
		buf_add_str(pr->out, " [gaddr ");
		add_group(pr->out, &c);
		buf_add_char(pr->out, ']');
	}
	add_length(pr->out, len);
}

/* False if the group was cut. */
static bool print_group(struct tcpdump_print *pr, const char *what, struct cursor c)
{
	cur_skip(&c, 4);
	if (cur_left(&c) < 4) {
		tcpdump_base_cut(pr->out, "igmp");
		return false;
	}
	buf_add_str(pr->out, what);
	add_group(pr->out, &c);
	return true;
}

void tcpdump_igmp_print(struct tcpdump_print *pr, struct cursor c, uint32_t len)
{
	const struct cursor all = c;
	const uint8_t type = cur_left(&c) ? *c.pos : 0;
	uint16_t sum;

	if (!cur_left(&c)) {
		buf_add_str(pr->out, "igmp");
		tcpdump_base_cut(pr->out, "igmp");
		return;
	}
	if (pr->o->quick) {
		buf_add_str(pr->out, "igmp");
		return;
	}
	switch (type) {
	case IGMP_QUERY: print_query(pr, c, len); break;
	case IGMP_REPORT_1:
		if (print_group(pr, "igmp v1 report ", c))
			add_length(pr->out, len);
		break;
	case IGMP_REPORT_2: print_group(pr, "igmp v2 report ", c); break;
	case IGMP_LEAVE: print_group(pr, "igmp leave ", c); break;
	case IGMP_REPORT_3: print_report3(pr, c); break;
	default: buf_printf(pr->out, "igmp-%u", type); break;
	}
	if (!pr->o->verbose || cur_left(&all) < len)
		return;
	sum = (uint16_t)~tcpdump_base_sum(0, all.pos, len);
	if (sum)
		buf_printf(pr->out, " bad igmp cksum %x!", sum);
}
