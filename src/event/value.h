/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The value of one field of one event, for text, JSON and filters.
 */
#ifndef EVENT_VALUE_H
#define EVENT_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sonde/owner_wire.h"

struct buf;

/* ---- names of numbers ---- */

struct xlat_val { uint64_t val; const char *name; };
struct xlat {
	const char *name;
	const struct xlat_val *vals;
	uint32_t n;
	bool is_flags;		/* bits that combine, joined by "|" */
};

/* Name of @val, or NULL. xlat_value() ignores case. */
const char *xlat_name(const struct xlat *x, uint64_t val);
int xlat_value(const struct xlat *x, const char *name, uint64_t *ret);	/* 0 or -ENOENT */

/* ---- values ---- */

/* An address of either family; family 0 = none. */
struct ipaddr {
	uint8_t family;		/* SONDE_IPV4, SONDE_IPV6; 0 = none */
	uint8_t pad[3];
	uint8_t addr[16];	/* network order; IPv4 in the first four bytes */
};

enum value_kind {
	VAL_NONE,	/* unknown for this event */
	VAL_UINT,	/* u */
	VAL_INT,	/* i */
	VAL_BOOL,	/* u: 0 or 1 */
	VAL_STR,	/* str, len: may hold any byte */
	VAL_IP,		/* ip */
	VAL_MAC,	/* str: six bytes */
	VAL_BYTES,	/* str, len */
	VAL_FLAGS,	/* u: bits named by xlat */
	VAL_LIST,	/* str, len: strings with a NUL behind each; a check holds if it holds for one of them */
	VAL__MAX,
};

struct value {
	enum value_kind kind;
	bool hex;		/* number: show as 0x... in text */
	bool ns;		/* number: a duration, shown with a unit in text */
	bool padded;		/* number: at least nine digits in text, as fractions of a second */
	bool printable;		/* VAL_STR: already escaped; keep newlines and tabs */
	bool has_number;	/* VAL_STR: name of the number in u (an enum's) */
	uint64_t u;
	int64_t i;
	const char *str;	/* borrowed from the event */
	size_t len;
	const struct xlat *xlat;
	struct ipaddr ip;
};

/* Values of fields: 0, or -ENOENT for NULL and for an address of no family. Strings are borrowed. */
int value_set_uint(struct value *ret, uint64_t u);
int value_set_int(struct value *ret, int64_t i);
int value_set_ns(struct value *ret, uint64_t u);
int value_set_bool(struct value *ret, bool b);
int value_set_text(struct value *ret, const char *s);
int value_set_chars(struct value *ret, const char *s, size_t len);
int value_set_named(struct value *ret, uint64_t u, const char *name);
int value_set_ip(struct value *ret, const struct ipaddr *ip);

/* Is @v the string @s? */
bool value_is(const struct value *v, const char *s);

/* The number that @v is or has the name of; 0 for one below. False if it is none. */
bool value_number(const struct value *v, uint64_t *ret);

/* Printable text, escaped (base/str.h); "" for VAL_NONE. */
int value_text(const struct value *v, struct buf *out);

/* One JSON value: integers of 64 bits, flags as an array of names, null for VAL_NONE. 0 or -errno. */
int value_json(const struct value *v, struct buf *out);

unsigned ipaddr_bytes(uint8_t family);				/* length of an address; 0 = no such family */
void ipaddr_set(struct ipaddr *ret, uint8_t family, const uint8_t *addr);
void ipaddr_unmap(struct ipaddr *ip);				/* ::ffff:10.0.0.1 becomes 10.0.0.1 */
int ipaddr_text(const struct ipaddr *ip, struct buf *out);
int ipaddr_port_text(const struct ipaddr *ip, uint16_t port, struct buf *out);	/* "10.0.0.1:53", "[fe80::1]:53" */
bool ipaddr_equal(const struct ipaddr *a, const struct ipaddr *b);
int ipaddr_parse(const char *s, struct ipaddr *ret);		/* 0 or -EINVAL */

/* "10.0.0.0/8", "fe80::/10", or a bare address. 0 or -EINVAL. */
struct ipnet { struct ipaddr ip; unsigned bits; };
int ipaddr_ipnet_parse(const char *s, struct ipnet *ret);
bool ipaddr_ipnet_contains(const struct ipnet *net, const struct ipaddr *ip);

#endif
