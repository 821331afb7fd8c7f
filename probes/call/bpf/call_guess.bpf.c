// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * The protocol of a connection, guessed from the first bytes of an operation. User space confirms it on both sides:
 * a wrong guess costs copies, a missed one loses the connection.
 *
 * HTTP/1: RFC 9112. HTTP/2: RFC 9113, section 3.4. PostgreSQL: documentation, "Message Formats". MySQL: "Protocol
 * Basics" of its internals manual. Redis: RESP specification. DNS: RFC 1035. Others: src/call/protocol.
 */
#include "bpf/kernel.h"
#include "probes/call/bpf/call_state.bpf.h"
#include "probes/call/bpf/call_unit.bpf.h"
#include "probes/call/call_wire.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>

#define FOUR(a, b, c, d) ((__u32)(a) | (__u32)(b) << 8 | (__u32)(c) << 16 | (__u32)(d) << 24)

static __always_inline __u32 guess_le32(const struct call_guess *g, __u32 at)
{
	return FOUR(g->b[at], g->b[at + 1], g->b[at + 2], g->b[at + 3]);
}

static __always_inline __u32 guess_be32(const struct call_guess *g, __u32 at)
{
	return bpf_ntohl(guess_le32(g, at));
}

static __always_inline __u32 guess_be16(const struct call_guess *g, __u32 at)
{
	return (__u32)g->b[at] << 8 | g->b[at + 1];
}

/*
 * Kept as a pointer: of a number to which the compiler adds a pointer into the caller's stack, the verifier (6.18)
 * believes that it leads into the first program's.
 */
static __always_inline const __u8 *guess_at(const struct call_guess *g, __u32 at)
{
	const __u8 *b = g->b + at;

	barrier_var(b);
	return b;
}

static __always_inline bool is_upper(__u8 c)
{
	return c >= 'A' && c <= 'Z';
}

/* A method (up to nine letters) and a path, or "HTTP/1.". */
static __always_inline bool guess_http(const struct call_guess *g)
{
	if (guess_le32(g, 0) == FOUR('H', 'T', 'T', 'P'))
		return g->b[4] == '/' && g->b[5] == '1' && g->b[6] == '.';
	if (!is_upper(g->b[0]) || !is_upper(g->b[1]) || !is_upper(g->b[2]))
		return false;
	for (int i = 3; i < 10; i++) {
		const __u8 *at = guess_at(g, i);

		if (*at == ' ')
			return at[1] == '/' || at[1] == '*' || at[1] == 'h' ||
			       guess_le32(g, 0) == FOUR('C', 'O', 'N', 'N');
		if (!is_upper(*at))
			return false;
	}
	return false;
}

#define PG_V3 196608
#define PG_CANCEL 80877102
#define PG_SSL 80877103
#define PG_GSS 80877104

/* Types of messages with a length: of clients and of servers, as bits from '@' on. */
#define PG_BIT(c) (1ull << ((c)-0x40))
#define PG_TYPES \
	(PG_BIT('Q') | PG_BIT('P') | PG_BIT('B') | PG_BIT('E') | PG_BIT('S') | PG_BIT('C') | PG_BIT('D') | \
	 PG_BIT('F') | PG_BIT('X') | PG_BIT('p') | PG_BIT('H') | PG_BIT('f') | PG_BIT('d') | PG_BIT('c') | \
	 PG_BIT('R') | PG_BIT('T') | PG_BIT('Z') | PG_BIT('N') | PG_BIT('K') | PG_BIT('n') | PG_BIT('t') | \
	 PG_BIT('s') | PG_BIT('I') | PG_BIT('A') | PG_BIT('G') | PG_BIT('W') | PG_BIT('V'))

static __always_inline bool guess_postgresql(const struct call_guess *g)
{
	__u32 len = guess_be32(g, 0), code = guess_be32(g, 4), type = g->b[0];

	if (len == g->size && len >= 8)
		return code == PG_V3 || code == PG_SSL || code == PG_CANCEL || code == PG_GSS;
	if (type == '1' || type == '2' || type == '3')
		return guess_be32(g, 1) == 4;
	if (type < 0x40 || type > 0x7f || !(PG_TYPES >> (type - 0x40) & 1))
		return false;
	len = guess_be32(g, 1);
	return len >= 4 && len < g->size;
}

#define MYSQL_PROTOCOL 10
#define MYSQL_COMMANDS 0x20
#define MYSQL_LENGTH (1 << 20)	/* longer requests are not the first that is seen */

static __always_inline bool guess_mysql_greeting(const struct call_guess *g)
{
	__u32 len = guess_le32(g, 0);	/* and the number, 0 */

	return len + 4 == g->size && len > 30 && g->b[4] == MYSQL_PROTOCOL && g->b[5] >= '1' && g->b[5] <= '9';
}

/* Servers read the length and the number first: all of an operation, on a connection from before the start. */
static __always_inline bool guess_mysql(const struct call_guess *g)
{
	__u32 len = guess_le32(g, 0) & 0xffffff;

	if (g->b[3] || !len || len > MYSQL_LENGTH)
		return false;
	if (g->size == 4)
		return true;
	return len + 4 == g->size && g->b[4] && g->b[4] < MYSQL_COMMANDS;
}

/* A command: an array of strings. */
static __always_inline bool guess_redis(const struct call_guess *g)
{
	if (g->b[0] != '*')
		return false;
	for (int i = 1; i < 6; i++) {
		const __u8 *at = guess_at(g, i);

		if (*at == '\r')
			return i > 1 && at[1] == '\n' && at[2] == '$';
		if (*at < '0' || *at > '9')
			return false;
	}
	return false;
}

/* A stream, of which servers read the length first; datagrams are known by their port. */
static __always_inline bool guess_dns(const struct call_guess *g)
{
	__u32 len = (__u32)g->b[0] << 8 | g->b[1];

	return len >= 12 && (len + 2 == g->size || g->size == 2);
}

/* First words of text commands, by their first four bytes. */
static __always_inline bool guess_memcached_text(const struct call_guess *g)
{
	switch (guess_le32(g, 0)) {
	case FOUR('g', 'e', 't', ' '):
	case FOUR('g', 'e', 't', 's'):
	case FOUR('s', 'e', 't', ' '):
	case FOUR('a', 'd', 'd', ' '):
	case FOUR('r', 'e', 'p', 'l'):
	case FOUR('a', 'p', 'p', 'e'):
	case FOUR('p', 'r', 'e', 'p'):
	case FOUR('c', 'a', 's', ' '):
	case FOUR('g', 'a', 't', ' '):
	case FOUR('g', 'a', 't', 's'):
	case FOUR('d', 'e', 'l', 'e'):
	case FOUR('i', 'n', 'c', 'r'):
	case FOUR('d', 'e', 'c', 'r'):
	case FOUR('t', 'o', 'u', 'c'):
	case FOUR('s', 't', 'a', 't'):
	case FOUR('v', 'e', 'r', 's'):
	case FOUR('f', 'l', 'u', 's'):
		return true;
	default:	/* mg, ms, md, ma, mn, me */
		return g->b[0] == 'm' && g->b[1] >= 'a' && g->b[1] <= 's' && (g->b[2] == ' ' || g->b[2] == '\r');
	}
}

/* A header of 24 bytes: magic, command, lengths of key, extras and all of them. */
static __always_inline bool guess_memcached_binary(const struct call_guess *g)
{
	return g->b[0] == 0x80 && g->b[1] <= 0x24 && guess_be16(g, 2) <= 250 && g->b[4] <= 24 && !g->b[5] &&
	       !g->b[6] && !g->b[7] && guess_be32(g, 8) >= guess_be16(g, 2) + g->b[4] && g->size >= 24;
}

/* Greetings of both sides, and commands of a connection from before. Asked before HTTP: CONNECT is a method, too. */
static __always_inline bool guess_nats(const struct call_guess *g)
{
	switch (guess_le32(g, 0)) {
	case FOUR('I', 'N', 'F', 'O'):
		return g->b[4] == ' ' && g->b[5] == '{';
	case FOUR('C', 'O', 'N', 'N'):
		return guess_le32(g, 4) == FOUR('E', 'C', 'T', ' ') && g->b[8] == '{';
	case FOUR('P', 'U', 'B', ' '):
	case FOUR('H', 'P', 'U', 'B'):
	case FOUR('M', 'S', 'G', ' '):
	case FOUR('H', 'M', 'S', 'G'):
		return true;
	default:
		return false;
	}
}

/* The protocol header, or a frame that fits: type, channel, size; of methods a known class. */
static __always_inline bool guess_amqp(const struct call_guess *g)
{
	if (guess_le32(g, 0) == FOUR('A', 'M', 'Q', 'P'))
		return g->b[4] == 0 && g->b[5] == 0 && g->b[6] == 9 && g->b[7] == 1;
	return g->b[0] == 1 && guess_be32(g, 3) >= 4 && guess_be32(g, 3) < g->size && !g->b[7] && g->b[8] >= 10 &&
	       g->b[8] <= 90 && !(g->b[8] % 5) && !g->b[9] && g->b[10] >= 10;
}

/* The record that begins a request: 16 bytes; servers read its header first. */
static __always_inline bool guess_fastcgi(const struct call_guess *g)
{
	if (g->b[0] != 1 || g->b[1] != 1 || guess_be16(g, 4) != 8 || g->b[6] || g->b[7])
		return false;
	return g->size == 8 || (!g->b[8] && g->b[9] && g->b[9] <= 3 && g->b[10] <= 1);
}

#define KAFKA_KEYS 96
#define KAFKA_VERSIONS 20

/*
 * Length, number and version of the request; a number of its own; length of the client's name, or none. Java reads
 * the length first.
 */
static __always_inline bool guess_kafka(const struct call_guess *g)
{
	__u32 name = guess_be16(g, 12);

	if (g->size == 4)
		return !g->b[0] && guess_be32(g, 0) >= 10;
	return guess_be32(g, 0) + 4 == g->size && g->size >= 14 && guess_be16(g, 4) < KAFKA_KEYS &&
	       guess_be16(g, 6) <= KAFKA_VERSIONS && !(g->b[8] & 0x80) && (name == 0xffff || name + 14 <= g->size);
}

/* Length, numbers of this and the answered message, type: OP_QUERY, OP_COMPRESSED, OP_MSG. */
static __always_inline bool guess_mongodb(const struct call_guess *g)
{
	__u32 len = guess_le32(g, 0), type = guess_le32(g, 12);

	return len > 20 && len <= 48000000 && (type == 2004 || type == 2012 || type == 2013);
}

/* Version 3 to 5, of requests and responses; flags; stream; type; length. */
static __always_inline bool guess_cql(const struct call_guess *g)
{
	__u8 version = g->b[0] & 0x7f;

	return version >= 3 && version <= 5 && g->b[1] < 0x20 && g->b[4] <= 0x10 && guess_be32(g, 5) + 9 == g->size;
}

/* The client's preface; or SETTINGS, which a server may send before it has that, and does over TLS. */
static __always_inline bool guess_http2(const struct call_guess *g)
{
	if (guess_le32(g, 0) == FOUR('P', 'R', 'I', ' '))
		return guess_le32(g, 4) == FOUR('*', ' ', 'H', 'T');
	return guess_be32(g, 0) >> 16 == 0 && g->b[3] == 4 && !guess_be32(g, 4) && !g->b[8] && g->b[2] % 6 == 0 &&
	       g->size >= 9u + g->b[2] && (!g->b[2] || (!g->b[9] && g->b[10] && g->b[10] <= 16));
}

/*
 * Those whose first bytes say more, so that they are asked before PostgreSQL and MySQL. Apart, for the sake of the
 * verifier.
 */
static __noinline int guess_others(const struct call_guess *g)
{
	if (guess_memcached_text(g) || guess_memcached_binary(g))
		return CALL_GUESS_MEMCACHED;
	if (guess_amqp(g))
		return CALL_GUESS_AMQP;
	if (guess_fastcgi(g))
		return CALL_GUESS_FASTCGI;
	if (guess_mongodb(g))
		return CALL_GUESS_MONGODB;
	if (guess_cql(g))
		return CALL_GUESS_CQL;
	return guess_kafka(g) ? CALL_GUESS_KAFKA : CALL_GUESS_NONE;
}

int call_guess_protocol(const struct call_guess *g, bool dns_port)
{
	int other;

	/* before HTTP/1, of which it looks like a request */
	if (guess_http2(g))
		return CALL_GUESS_HTTP2;
	if (guess_nats(g))
		return CALL_GUESS_NATS;
	if (guess_http(g))
		return CALL_GUESS_HTTP;
	if (dns_port && guess_dns(g))
		return CALL_GUESS_DNS;
	other = guess_others(g);
	if (other)
		return other;
	if (guess_redis(g))
		return CALL_GUESS_REDIS;
	if (guess_mysql_greeting(g))
		return CALL_GUESS_MYSQL;
	/* The length of a command of MySQL may look like a type of PostgreSQL. */
	if (guess_postgresql(g) && (call_kinds & 1 << CALL_GUESS_POSTGRESQL || !guess_mysql(g)))
		return CALL_GUESS_POSTGRESQL;
	return guess_mysql(g) ? CALL_GUESS_MYSQL : CALL_GUESS_NONE;
}

int call_guess_socket(const struct call_guess *g, bool dns_port)
{
	return g ? call_guess_protocol(g, dns_port) : CALL_GUESS_NONE;
}
