/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Extracts the addresses from a DNS answer (RFC 1035). Input is untrusted; independent of packets, events and tables.
 */
#ifndef PACKET_DNS_H
#define PACKET_DNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sonde/owner_wire.h"

#define DNS_NAME_MAX 255	/* RFC 1035, 2.3.4 */
#define DNS_ADDRESSES_MAX 16	/* per answer; further ones are ignored */

struct dns_address {
	uint8_t family;		/* SONDE_IPV4, SONDE_IPV6 */
	uint8_t addr[16];	/* network order; IPv4 in the first four bytes */
	uint32_t ttl;		/* seconds; minimum along the CNAME chain */
};

struct dns_answer {
	char name[DNS_NAME_MAX + 1];	/* lower case without trailing dot; only a-z 0-9 - _ and dots */
	uint8_t rcode;
	uint8_t n;
	struct dns_address addresses[DNS_ADDRESSES_MAX];
};

struct dns_question {
	uint16_t id, type, class;
	uint8_t opcode, rcode;
	bool response, truncated;	/* truncated: asked again over TCP */
	bool named;			/* false: the name has other characters */
	char name[DNS_NAME_MAX + 1];	/* as above; "" = the root, or not named */
};

/*
 * Parses the header and the first question of any message. 0, or -EBADMSG if they are incomplete or the message has
 * no question.
 */
int dns_question_parse(const void *data, size_t len, struct dns_question *ret);

/* "A", "HTTPS"; NULL = unknown */
const char *dns_type_name(uint16_t type);
/* "NOERROR", "NXDOMAIN"; NULL = unknown */
const char *dns_rcode_name(uint8_t rcode);

/*
 * Parses the answer to a single question for A, AAAA, ANY or HTTPS of class IN. Yields the addresses of the name, or
 * of the last name in its CNAME chain. A truncated message yields its complete records. 0, or -EBADMSG for other
 * messages and for names with other characters.
 */
int dns_answer_parse(const void *data, size_t len, struct dns_answer *ret);

#endif
