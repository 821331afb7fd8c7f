/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which addresses a DNS answer gives the name that was asked for (RFC 1035). Works on untrusted bytes; knows no
 * packet, event or table.
 */
#ifndef PACKET_DNS_H
#define PACKET_DNS_H

#include <stddef.h>
#include <stdint.h>

#define DNS_NAME_MAX 255	/* RFC 1035, 2.3.4 */
#define DNS_ADDRESSES_MAX 16	/* of one answer; more are left out */

struct dns_address {
	uint8_t family;		/* 4 or 6 */
	uint8_t addr[16];	/* network order; IPv4 in the first four bytes */
	uint32_t ttl;		/* seconds; the least on the way there */
};

struct dns_answer {
	char name[DNS_NAME_MAX + 1];	/* lower case, without the dot at its end: a-z 0-9 - _ and dots only */
	uint8_t rcode;
	uint8_t n;
	struct dns_address addresses[DNS_ADDRESSES_MAX];
};

/*
 * The answer to one question for A, AAAA, ANY or HTTPS of class IN: addresses of its name, or of the last name of the
 * chain of CNAMEs that begins there. A message that is cut gives what stands before the end. 0, or -EBADMSG for what
 * is no such answer, or asks for a name with other letters.
 */
int dns_answer_parse(const void *data, size_t len, struct dns_answer *ret);

#endif
