// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Layer listing of -vv, one line per layer, and hex dump.
 */
#include "packet/print.h"

#include "base/buf.h"
#include "packet/names.h"
#include "sonde/wire.h"

static void print_payload(struct printer *pr, struct buf *out)
{
	buf_printf(out, "%u bytes captured%s", pr->l->len, pr->l->cut ? ", more on the wire" : "");
}

static void (*const printers[])(struct printer *pr, struct buf *out) = {
	[LAYER_ETHERNET] = packet_print_ethernet,
	[LAYER_SLL] = packet_print_sll,
	[LAYER_SLL2] = packet_print_sll2,
	[LAYER_VLAN] = packet_print_vlan,
	[LAYER_MPLS] = packet_print_mpls,
	[LAYER_ARP] = packet_print_arp,
	[LAYER_IPV4] = packet_print_ipv4,
	[LAYER_IPV6] = packet_print_ipv6,
	[LAYER_IPV6_EXT] = packet_print_ipv6_ext,
	[LAYER_FRAGMENT] = packet_print_fragment,
	[LAYER_TCP] = packet_print_tcp,
	[LAYER_UDP] = packet_print_udp,
	[LAYER_ICMP] = packet_print_icmp,
	[LAYER_ICMPV6] = packet_print_icmpv6,
	[LAYER_IGMP] = packet_print_igmp,
	[LAYER_SCTP] = packet_print_sctp,
	[LAYER_VRRP] = packet_print_vrrp,
	[LAYER_ESP] = packet_print_esp,
	[LAYER_AH] = packet_print_ah,
	[LAYER_GRE] = packet_print_gre,
	[LAYER_VXLAN] = packet_print_vxlan,
	[LAYER_GENEVE] = packet_print_geneve,
	[LAYER_DNS] = packet_print_dns,
	[LAYER_PAYLOAD] = print_payload,
};
_Static_assert(ARRAY_SIZE(printers) == LAYER__MAX, "every layer can be printed");

/* Start of the packet that an ICMP error quotes; prints its ports even if the header is truncated. */
void packet_print_embedded(struct buf *out, struct cursor c)
{
	struct packet in;
	const struct packet_flow *f = &in.outer;
	const char *name;

	if (!cur_left(&c))
		return;
	packet_dissect(SONDE_LINK_RAW, c.pos, (uint32_t)cur_left(&c), (uint32_t)cur_left(&c), &in);
	if (!f->family)
		return;
	buf_add_str(out, ", original [");
	packet_summary_pair(out, f);
	name = packet_names_proto_name(f->proto);
	if (name)
		buf_printf(out, " %s]", name);
	else
		buf_printf(out, " proto %u]", f->proto);
}

/* Protocol number of the next layer, from the preceding IP header. */
static uint8_t next_proto(const struct packet *p, const struct packet_layer *l, uint8_t before)
{
	struct cursor c = cur_init(p->data + l->off, l->len);

	switch (l->kind) {
	case LAYER_IPV6: return cur_peek(&c, 6);
	case LAYER_IPV6_EXT: return cur_peek(&c, 0);
	default: return before;
	}
}

int packet_print(const struct packet *p, struct buf *out)
{
	uint8_t proto = 0;

	each_item(l, p->layers, p->n_layers) {
		struct printer pr = { .p = p, .l = l, .c = cur_init(p->data + l->off, l->len), .proto = proto };
		size_t mark;

		buf_printf(out, "%*s%-9s ", l->depth * 2, "", packet_layer_name(l->kind));
		mark = out->len;
		printers[l->kind](&pr, out);
		if (!cur_ok(&pr.c)) {
			out->len = mark;
			buf_printf(out, "cut after %u bytes", l->len);
		} else if (l->cut && l->kind != LAYER_PAYLOAD) {
			buf_add_str(out, ", cut or wrong length");
		}
		buf_add_char(out, '\n');
		proto = next_proto(p, l, proto);
	}
	return buf_error(out);
}
