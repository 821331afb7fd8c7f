// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Options of the call probe.
 */
#include "probes/call/call.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/macros.h"
#include "base/str.h"
#include "probes/call/call_wire.h"

const struct call_conf call_conf_default = { .head_bytes = CALL_HEAD_BYTES };

#define ROW(member, ...) OPT_ROW(call_conf, member, __VA_ARGS__)

static const char sources_more[] =
	"go: HTTP/2 and gRPC inside Go programs; socket: bytes at sockets, of all protocols; separated by commas; "
	"may repeat; protocols are"
#define CALL_GUESS(protocol, name) " " name
#include "probes/call/call_guess.def"
	;

const struct opt call_opts[] = {
	ROW(sources, "source", 0, OPT_STRV, "LIST", "where calls are seen: go (default), socket, or protocols",
	    .more = sources_more),
	ROW(ports, "port", 0, OPT_STRV, "LIST", "connections with one of these ports at either end",
	    .more = "sixteen at most; AF_UNIX sockets have none; dns:PORT adds a port of DNS to 53 and 5353"),
	ROW(head_bytes, "head", 0, OPT_BYTES, "SIZE", "bytes kept of each turn (default 1024)",
	    .use = OPT_USE_BYTES,
	    .more = "a turn: what one side sends before the other answers; 64 to 16384; the rest is counted"),
	ROW(tls_at, "tls-at", 0, OPT_STRV, "FILE:LIST", "TLS functions of a stripped program; may repeat",
	    .more = "FILE:SSL_read=0x1234,SSL_write=0x5678: addresses as objdump -d shows them; also the _ex forms, "
		    "SSL_do_handshake, and SSL_get_client_random for event loops; refused where no function begins"),
	OPT_END,
};

/* Options that commands set for an agent. */
const struct opt call_command_opts[] = {
	ROW(optional, "optional", 0, OPT_BOOL, NULL, "go on without the tracepoints"),
	ROW(leave_go, "leave-go", 0, OPT_BOOL, NULL, "leave HTTP/2 of Go programs to the gohttp2 probe"),
	ROW(prefetch, "prefetch", 0, OPT_STRV, "FILE", "attach to this program before it runs"),
	ROW(queue, "queue", 0, OPT_BOOL, NULL, "how long bytes wait for the first read (rpc.queue)"),
	OPT_END,
};

static const char *const kind_names[] = {
	[CALL_GUESS_NONE] = "",
#define CALL_GUESS(protocol, name) [CALL_GUESS_##protocol] = name,
#include "probes/call/call_guess.def"
};
_Static_assert(ARRAY_SIZE(kind_names) == CALL_GUESS__MAX, "a name per guess");

static bool is_word(const char *word, size_t len, const char *name)
{
	return strlen(name) == len && !memcmp(name, word, len);
}

static int kind_of(const char *word, size_t len)
{
	for (int i = 1; i < CALL_GUESS__MAX; i++)
		if (is_word(word, len, kind_names[i]))
			return i;
	return -ENOENT;
}

static int unknown_kind(const char *word, size_t len, struct err *err)
{
	char typed[32];
	struct str_near near = { .word = typed };

	snprintf(typed, sizeof(typed), "%.*s", (int)MIN(len, sizeof(typed) - 1), word);
	for (int i = 1; i < CALL_GUESS__MAX; i++)
		str_near_offer(&near, kind_names[i]);
	str_near_offer(&near, "socket");
	if (near.best)
		return err_set(err, -EINVAL, "--source %s: not a source; did you mean %s?", typed, near.best);
	return err_set(err, -EINVAL, "--source %s: not a source; expected go, socket or one of"
#define CALL_GUESS(protocol, name) " " name
#include "probes/call/call_guess.def"
		       , typed);
}

/* Protocols that a list of sources asks for; none of `go`, which is another probe's. */
static int add_kinds(const char *list, uint32_t *bits, struct err *err)
{
	const char *word;
	size_t len;

	while ((word = str_next_word(&list, &len))) {
		int kind = kind_of(word, len);

		if (is_word(word, len, "socket"))
			*bits = ~0u;
		else if (kind >= 0)
			*bits |= 1u << kind;
		else if (!is_word(word, len, "go"))
			return unknown_kind(word, len, err);
	}
	return 0;
}

static int get_kinds(const struct call_conf *c, uint32_t *ret, struct err *err)
{
	uint32_t bits = 0;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < c->sources.len; i++)
		r = add_kinds(c->sources.items[i], &bits, err);
	if (r < 0)
		return r;
	*ret = bits ? bits : ~0u;
	return 0;
}

unsigned call_conf_sources(const struct call_conf *c)
{
	unsigned sources = 0;

	for (size_t i = 0; i < c->sources.len; i++) {
		const char *list = c->sources.items[i], *word;
		size_t len;

		while ((word = str_next_word(&list, &len)))
			sources |= is_word(word, len, "go") ? CALL_FROM_GO : CALL_FROM_SOCKETS;
	}
	if (!sources)	/* ports concern sockets only */
		sources = c->ports.len ? CALL_FROM_SOCKETS : CALL_FROM_GO;
	return sources;
}

/* 0 if it is not one. */
static uint16_t port_of(const char *word, size_t len)
{
	uint32_t port = 0;

	for (size_t i = 0; i < len; i++) {
		if (word[i] < '0' || word[i] > '9' || port > UINT16_MAX)
			return 0;
		port = port * 10 + (uint32_t)(word[i] - '0');
	}
	return port > UINT16_MAX ? 0 : (uint16_t)port;
}

#define DNS_PREFIX "dns:"

/* One word of --port. */
static int add_port(struct call_choice *ch, const char *word, size_t len, struct err *err)
{
	size_t prefix = strlen(DNS_PREFIX);
	bool dns = len > prefix && !memcmp(word, DNS_PREFIX, prefix);
	uint16_t port = dns ? port_of(word + prefix, len - prefix) : port_of(word, len);

	if (!port)
		return err_set(err, -EINVAL, "--port %.*s: not a port number", (int)MIN(len, (size_t)64), word);
	if (dns && ch->dns_port)
		return err_set(err, -EINVAL, "--port %.*s: DNS has one more port, %u", (int)len, word, ch->dns_port);
	if (dns)
		ch->dns_port = port;
	else if (ch->n_ports == CALL_PORTS)
		return err_set(err, -EINVAL, "--port: more than %d ports", CALL_PORTS);
	else
		ch->ports[ch->n_ports++] = port;
	return 0;
}

static int get_ports(const struct call_conf *c, struct call_choice *ch, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < c->ports.len; i++) {
		const char *list = c->ports.items[i], *word;
		size_t len;

		while (r >= 0 && (word = str_next_word(&list, &len)))
			r = add_port(ch, word, len, err);
	}
	return r;
}

int call_conf_choose(const struct call_conf *c, struct call_choice *ret, struct err *err)
{
	struct call_choice ch = { .head = (uint32_t)c->head_bytes, .leave_go = c->leave_go };
	int r;

	if (c->head_bytes < CALL_HEAD_MIN || c->head_bytes > CALL_HEAD_MAX)
		return err_set(err, -EINVAL, "--head: between %d and %d bytes", CALL_HEAD_MIN, CALL_HEAD_MAX);
	r = get_kinds(c, &ch.kinds, err);
	if (r >= 0)
		r = get_ports(c, &ch, err);
	if (r < 0)
		return r;
	*ret = ch;
	return 0;
}
