// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Single values in strace's format, driven by the tables. Bytes come from the traced program: all are quoted or
 * escaped.
 */
#include "probes/sys/print/sys_text.h"

#include <inttypes.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/macros.h"

#define SIGRTMIN 32
#define SIG_LAST 64

/* ---- numbers and names ---- */

static void add_unknown(uint64_t v, const char *unknown, struct buf *out)
{
	buf_add_hex(out, v);
	if (unknown)
		buf_printf(out, " /* %s */", unknown);
}

static void add_enum(const struct xlat *x, uint64_t v, const char *unknown, struct buf *out)
{
	const char *name = xlat_name(x, v);

	if (name)
		buf_add_str(out, name);
	else
		add_unknown(v, unknown, out);
}

/* Names of the bits, the rest in hex; 0 by its name, or as 0. */
static void add_flags(const struct xlat *x, uint64_t v, const char *unknown, struct buf *out)
{
	const char *sep = "";

	for (uint32_t i = 0; i < x->n; i++) {
		uint64_t bit = x->vals[i].val;

		if (!bit || (v & bit) != bit)
			continue;
		buf_printf(out, "%s%s", sep, x->vals[i].name);
		v &= ~bit;
		sep = "|";
	}
	if (v && !*sep)
		add_unknown(v, unknown, out);
	else if (v)
		buf_printf(out, "%s%#" PRIx64, sep, v);
	else if (!*sep)
		buf_add_str(out, xlat_name(x, 0) ? xlat_name(x, 0) : "0");
}

static void add_or_flags(const struct sys_xlat *x, uint64_t flags, struct buf *out)
{
	if (!flags)
		return;
	buf_add_char(out, '|');
	add_flags(&x->x, flags, NULL, out);
}

/* A futex operation: the command, then its two modifiers. */
static void add_futex(const struct xlat *x, uint64_t v, struct buf *out)
{
	const char *name = xlat_name(x, v & 0x7f);

	if (name)
		buf_add_str(out, name);
	else
		buf_printf(out, "%#llx", (unsigned long long)(v & 0x7f));
	if (v & 128)
		buf_add_str(out, "_PRIVATE");
	if (v & 256)
		buf_add_str(out, "|FUTEX_CLOCK_REALTIME");
}

void sys_text_signal(uint64_t signo, struct buf *out)
{
	const char *name = xlat_name(&sys_xlat_signum->x, signo);

	if (name)
		buf_add_str(out, name);
	else if (signo >= SIGRTMIN && signo <= SIG_LAST)
		buf_printf(out, signo == SIGRTMIN ? "SIGRTMIN" : "SIGRT_%d", (int)(signo - SIGRTMIN));
	else
		buf_printf(out, "%" PRIu64, signo);
}

void sys_text_ptr(uint64_t v, struct buf *out)
{
	if (v)
		buf_add_hex(out, v);
	else
		buf_add_str(out, "NULL");
}

void sys_text_mode(uint64_t mode, struct buf *out)
{
	static const char *const types[16] = {
		[1] = "S_IFIFO|", [2] = "S_IFCHR|", [4] = "S_IFDIR|", [6] = "S_IFBLK|", [8] = "S_IFREG|",
		[10] = "S_IFLNK|", [12] = "S_IFSOCK|",
	};
	static const struct { unsigned bit; const char *name; } bits[] = {
		{ 04000, "S_ISUID|" }, { 02000, "S_ISGID|" }, { 01000, "S_ISVTX|" },
	};
	const char *type = mode < 0x10000 ? types[mode >> 12 & 15] : NULL;

	buf_add_str(out, type ? type : "");
	for (size_t i = 0; type && i < ARRAY_SIZE(bits); i++)
		buf_add_str(out, mode & bits[i].bit ? bits[i].name : "");
	buf_printf(out, "%#03" PRIo64, type ? mode & 0777 : mode);
}

/* clone() flags, with the parent's signal in the low byte. */
static void add_low(const struct xlat *x, uint64_t v, struct buf *out)
{
	if (v & ~0xffull)
		add_flags(x, v & ~0xffull, NULL, out);
	if (v & 0xff) {
		buf_add_str(out, v & ~0xffull ? "|" : "");
		sys_text_signal(v & 0xff, out);
	} else if (!v) {
		buf_add_char(out, '0');
	}
}

/* Flags of an IPC object, with permissions in the low nine bits. */
static void add_perm(const struct xlat *x, uint64_t v, struct buf *out)
{
	if (v & ~0777ull) {
		add_flags(x, v & ~0777ull, NULL, out);
		buf_add_char(out, '|');
	}
	buf_printf(out, "%#03o", (unsigned)v & 0777);
}

/* Flags in which 0 under a mask has a name: O_RDONLY, AT_STATX_SYNC_AS_STAT. */
static void add_open(const struct xlat *x, uint64_t v, uint64_t mask, const char *zero, struct buf *out)
{
	if (!(v & mask)) {
		buf_add_str(out, zero);
		if (!v)
			return;
		buf_add_char(out, '|');
	}
	add_flags(x, v, NULL, out);
}

/* Socket type or memory policy: a value in the low bits, flags above. */
static void add_base(const struct xlat *x, uint64_t v, struct buf *out)
{
	add_enum(x, v & 0xf, NULL, out);
	add_or_flags(strcmp(x->name, "socktype") ? sys_xlat_mpol_flags : sys_xlat_sockflags, v & ~0xfull, out);
}

void sys_text_xlat(const struct sys_xlat *x, uint64_t v, struct buf *out)
{
	switch (x->kind) {
	case SYS_XLAT_FLAGS:
		if (!strcmp(x->x.name, "open"))
			add_open(&x->x, v, 3, "O_RDONLY", out);
		else if (!strcmp(x->x.name, "at_statx"))
			add_open(&x->x, v, 0x6000, "AT_STATX_SYNC_AS_STAT", out);
		else
			add_flags(&x->x, v, x->unknown, out);
		break;
	case SYS_XLAT_ENUM:
		add_enum(&x->x, v, x->unknown, out);
		break;
	case SYS_XLAT_BASE:
		add_base(&x->x, v, out);
		break;
	case SYS_XLAT_LOW:
		add_low(&x->x, v, out);
		break;
	case SYS_XLAT_PERM:
		add_perm(&x->x, v, out);
		break;
	case SYS_XLAT_FUTEX:
		add_futex(&x->x, v, out);
		break;
	case SYS_XLAT__MAX:
		break;
	}
}

/* ---- bytes ---- */

static const char escapes[] = { ['\n'] = 'n', ['\t'] = 't', ['\r'] = 'r', ['\v'] = 'v', ['\f'] = 'f', ['"'] = '"',
				['\\'] = '\\' };

void sys_text_quoted(const uint8_t *data, size_t len, bool more, struct buf *out)
{
	buf_add_char(out, '"');
	for (size_t i = 0; i < len; i++) {
		uint8_t c = data[i];
		bool digit = i + 1 < len && data[i + 1] >= '0' && data[i + 1] <= '7';

		if (c < sizeof(escapes) && escapes[c])
			buf_printf(out, "\\%c", escapes[c]);
		else if (c >= 0x20 && c < 0x7f)
			buf_add_char(out, (char)c);
		else
			buf_printf(out, digit ? "\\%03o" : "\\%o", c);
	}
	buf_add_str(out, more ? "\"..." : "\"");
}

void sys_text_hex(const uint8_t *data, size_t len, bool more, struct buf *out)
{
	buf_add_char(out, '"');
	for (size_t i = 0; i < len; i++)
		buf_printf(out, "\\x%02x", data[i]);
	buf_add_str(out, more ? "\"..." : "\"");
}

void sys_text_bits(const uint8_t *data, size_t n, bool more, struct buf *out)
{
	const char *sep = "";

	buf_add_char(out, '[');
	for (size_t i = 0; i < n; i++) {
		if (!(data[i / 8] & 1 << i % 8))
			continue;
		buf_printf(out, "%s%zu", sep, i);
		sep = " ";
	}
	buf_add_str(out, more ? " ...]" : "]");
}

void sys_text_ip(int family, const uint8_t *addr, struct buf *out)
{
	struct ipaddr ip;

	ipaddr_set(&ip, family == AF_INET ? SONDE_IPV4 : SONDE_IPV6, addr);
	ipaddr_text(&ip, out);
}

static void add_unix(struct cursor *c, struct buf *out)
{
	size_t len = cur_left(c);
	const uint8_t *path = cur_bytes(c, len);

	if (!len)
		return;
	buf_add_str(out, ", sun_path=");
	if (!path[0]) {
		buf_add_char(out, '@');
		sys_text_quoted(path + 1, len - 1, false, out);
	} else {
		sys_text_quoted(path, strnlen((const char *)path, len), false, out);
	}
}

/* struct sockaddr of common families; ports are in network order. */
void sys_text_sockaddr(const uint8_t *data, size_t len, struct buf *out)
{
	struct cursor c = cur_init(data, len);
	const struct sys_xlat *af = sys_xlat_af;
	uint16_t family = cur_u16(&c);

	if (!cur_ok(&c)) {
		buf_add_str(out, "{}");
		return;
	}
	buf_add_str(out, "{sa_family=");
	add_enum(&af->x, family, af->unknown, out);
	if (family == AF_INET && len >= 8) {
		buf_printf(out, ", sin_port=htons(%u), sin_addr=inet_addr(\"", cur_u16be(&c));
		sys_text_ip(AF_INET, cur_bytes(&c, 4), out);
		buf_add_str(out, "\")");
	} else if (family == AF_INET6 && len >= 24) {
		uint16_t port = cur_u16be(&c);
		uint32_t flow = cur_u32be(&c);

		buf_printf(out, ", sin6_port=htons(%u), sin6_flowinfo=htonl(%u), inet_pton(AF_INET6, \"", port, flow);
		sys_text_ip(AF_INET6, cur_bytes(&c, 16), out);
		buf_printf(out, "\", &sin6_addr), sin6_scope_id=%u", cur_u32(&c));
	} else if (family == AF_UNIX) {
		add_unix(&c, out);
	} else if (family == AF_NETLINK && len >= 12) {
		cur_skip(&c, 2);
		buf_printf(out, ", nl_pid=%d", (int)cur_u32(&c));
		buf_printf(out, ", nl_groups=%08x", cur_u32(&c));
	} else if (cur_left(&c)) {
		buf_add_str(out, ", sa_data=");
		sys_text_quoted(c.pos, cur_left(&c), false, out);
	}
	buf_add_char(out, '}');
}
