/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packets as tcpdump prints them. Input is untrusted and possibly truncated; independent of kernel, events and files.
 *
 * tcpdump_print.c has the link layer and what the layers share, one file each the layers above. A printer that runs
 * out of captured bytes appends " [|name]" and ends.
 */
#ifndef COMPAT_TCPDUMP_PRINT_H
#define COMPAT_TCPDUMP_PRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/map.h"
#include "sonde/owner_wire.h"

struct buf;

struct tcpdump_opts {
	unsigned verbose;	 /* -v */
	bool ether;		 /* -e */
	bool quick;		 /* -q */
	bool absolute;		 /* -S */
	bool unchecked;		 /* -K */
	bool numeric;		 /* -n */
	unsigned hex, hex_ascii; /* -x and -X, how often */
	bool ascii;		 /* -A */
	unsigned stamp;		 /* -t, how often */
	bool nano, number;
};

/* State between the packets of one stream. */
struct tcpdump_state {
	struct map flows; /* first sequence numbers by connection */
	/* The name of a port, or NULL; may be NULL. */
	const char *(*port_name)(void *ctx, uint16_t port, bool tcp);
	/* The name of an interface, or NULL; may be NULL. */
	const char *(*iface_name)(void *ctx, uint32_t index);
	void *names_ctx; /* of both */
};

void tcpdump_print_init(struct tcpdump_state *s);
void tcpdump_print_fini(struct tcpdump_state *s);

struct tcpdump_packet {
	uint32_t link; /* SONDE_LINK_* or LINKTYPE_* */
	const uint8_t *data;
	uint32_t cap_len, orig_len;
	const char *iface; /* in front of the line, with @way; NULL = none */
	const char *way;   /* "In", "Out" */
};

/* Everything behind the time, without a newline at the end. */
void tcpdump_print_packet(const struct tcpdump_opts *o, struct tcpdump_state *s, const struct tcpdump_packet *p,
			  struct buf *out);
/* The bytes that -x, -X and -A ask for, each line with its newline in front. */
void tcpdump_hex_print(const struct tcpdump_opts *o, const struct tcpdump_packet *p, struct buf *out);
/* Bytes of the link-layer header; 0 = unknown. */
uint32_t tcpdump_print_link_len(const struct tcpdump_packet *p);

/* ---- between the files of the printer ---- */

struct tcpdump_print {
	const struct tcpdump_opts *o;
	struct tcpdump_state *s;
	struct buf *out;
	unsigned depth; /* of packets inside packets */
	/* Prints the IP packet inside an error message. */
	void (*embedded)(struct tcpdump_print *pr, struct cursor c, uint32_t len);
};

#define TCPDUMP_DEPTH 4u /* packets inside packets that are printed */

/* Parts of an IP header that the layers above need. */
struct tcpdump_ip {
	uint8_t family, proto; /* SONDE_IPV4, SONDE_IPV6 */
	bool fragment;	       /* a part only: no checksum can be verified */
	uint8_t saddr[16], daddr[16];
};

void tcpdump_ip_print4(struct tcpdump_print *pr, struct cursor c, uint32_t len);
void tcpdump_ip_print6(struct tcpdump_print *pr, struct cursor c, uint32_t len);
void tcpdump_tcp_print(struct tcpdump_print *pr, const struct tcpdump_ip *ip, struct cursor c, uint32_t len);
void tcpdump_udp_print(struct tcpdump_print *pr, const struct tcpdump_ip *ip, struct cursor c, uint32_t len);
void tcpdump_icmp_print(struct tcpdump_print *pr, struct cursor c, uint32_t len);
void tcpdump_icmp_print6(struct tcpdump_print *pr, const struct tcpdump_ip *ip, struct cursor c, uint32_t len);
void tcpdump_igmp_print(struct tcpdump_print *pr, struct cursor c, uint32_t len);
void tcpdump_dns_print(struct tcpdump_print *pr, struct cursor c, uint32_t len, bool mdns);

void tcpdump_base_addr(struct buf *out, unsigned family, const uint8_t *addr);
void tcpdump_base_mac(struct buf *out, const uint8_t *mac);
/* Without -n its vendor is behind it. */
void tcpdump_base_station(struct tcpdump_print *pr, const uint8_t *mac);
/* "10.0.0.1.80 > 10.0.0.2.4711: " */
void tcpdump_base_ends(struct tcpdump_print *pr, const struct tcpdump_ip *ip, uint16_t sport, uint16_t dport);
void tcpdump_base_port(struct tcpdump_print *pr, uint16_t port, bool tcp);
void tcpdump_base_cut(struct buf *out, const char *name);
/* The same in place of all text from @start on. */
void tcpdump_base_cut_from(struct buf *out, size_t start, const char *name);
/* Rows of 16 bytes in hex with @indent in front of each; @ascii: with their text. */
void tcpdump_base_dump(struct buf *out, const char *indent, const uint8_t *data, size_t len, bool ascii);
/* Sum of 16-bit words in network order, folded; @sum: of what comes before. */
uint32_t tcpdump_base_sum(uint32_t sum, const uint8_t *data, size_t len);
/* Checksum of a transport header and its data over the pseudo header: 0 if the one inside is right. */
uint16_t tcpdump_base_transport_sum(const struct tcpdump_ip *ip, uint8_t proto, const uint8_t *data, uint32_t len);

#endif
