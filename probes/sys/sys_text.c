// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A system call as text, the way strace(1) writes it: one function for each kind of value, all of them driven by
 * the tables. Bytes come from the traced program and are quoted or escaped without exception.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/macros.h"
#include "probes/sys/sys_event.h"

#define SIGRTMIN 32
#define SIG_LAST 64

/* ---- numbers and names ---- */

static const struct sys_xlat *names_of(const char *name)
{
	return sys_xlat_named(name);
}

static void add_enum(const struct xlat *x, uint64_t v, struct buf *out)
{
	const char *name = xlat_name(x, v);

	if (name)
		buf_add_str(out, name);
	else
		buf_printf(out, "%#" PRIx64, v);
}

/* Names of the bits, the rest in hex; 0 by its name or as 0. */
static void add_flags(const struct xlat *x, uint64_t v, struct buf *out)
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
	if (v)
		buf_printf(out, "%s%#" PRIx64, sep, v);
	else if (!*sep)
		buf_add_str(out, xlat_name(x, 0) ? xlat_name(x, 0) : "0");
}

static void add_or_flags(const char *table, uint64_t flags, struct buf *out)
{
	const struct sys_xlat *x = names_of(table);

	if (!flags || !x)
		return;
	buf_add_char(out, '|');
	add_flags(&x->x, flags, out);
}

/* A future operation: the command, then its two modifiers. */
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
	const struct sys_xlat *x = names_of("signum");
	const char *name = x ? xlat_name(&x->x, signo) : NULL;

	if (name)
		buf_add_str(out, name);
	else if (signo >= SIGRTMIN && signo <= SIG_LAST)
		buf_printf(out, signo == SIGRTMIN ? "SIGRTMIN" : "SIGRT_%d", (int)(signo - SIGRTMIN));
	else
		buf_printf(out, "%" PRIu64, signo);
}

/* clone: flags above, the signal for the parent in the low byte. */
static void add_low(const struct xlat *x, uint64_t v, struct buf *out)
{
	if (v & ~0xffull)
		add_flags(x, v & ~0xffull, out);
	if (v & 0xff) {
		buf_add_str(out, v & ~0xffull ? "|" : "");
		sys_text_signal(v & 0xff, out);
	} else if (!v) {
		buf_add_char(out, '0');
	}
}

/* Flags of an IPC object, its permissions in the low nine bits. */
static void add_perm(const struct xlat *x, uint64_t v, struct buf *out)
{
	if (v & ~0777ull) {
		add_flags(x, v & ~0777ull, out);
		buf_add_char(out, '|');
	}
	buf_printf(out, "%#03o", (unsigned)v & 0777);
}

/* The access mode is no bit: O_RDONLY is 0. */
static void add_open(const struct xlat *x, uint64_t v, struct buf *out)
{
	if (!(v & 3)) {
		buf_add_str(out, "O_RDONLY");
		if (!v)
			return;
		buf_add_char(out, '|');
	}
	add_flags(x, v, out);
}

/* socket type, memory policy: one of them in the low bits, flags above. */
static void add_base(const struct xlat *x, uint64_t v, struct buf *out)
{
	add_enum(x, v & 0xf, out);
	if (!strcmp(x->name, "socktype"))
		add_or_flags("sockflags", v & ~0xfull, out);
	else if (v & ~0xfull)
		buf_printf(out, "|%#llx", (unsigned long long)(v & ~0xfull));
}

void sys_text_xlat(const struct sys_xlat *x, uint64_t v, struct buf *out)
{
	switch (x->kind) {
	case SYS_XLAT_FLAGS:
		if (!strcmp(x->x.name, "open"))
			add_open(&x->x, v, out);
		else
			add_flags(&x->x, v, out);
		break;
	case SYS_XLAT_ENUM:
		add_enum(&x->x, v, out);
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


static void add_ip(int family, const uint8_t *addr, struct buf *out)
{
	struct ipaddr ip = { .family = family == 2 ? 4 : 6 };

	memcpy(ip.addr, addr, family == 2 ? 4 : 16);
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

/* struct sockaddr of the families that most calls carry; ports are in network order. */
void sys_text_sockaddr(const uint8_t *data, size_t len, struct buf *out)
{
	struct cursor c = cur_init(data, len);
	const struct sys_xlat *af = names_of("af");
	uint16_t family = cur_u16(&c);

	if (!cur_ok(&c)) {
		buf_add_str(out, "{}");
		return;
	}
	buf_add_str(out, "{sa_family=");
	add_enum(&af->x, family, out);
	if (family == 2 && len >= 8) {
		buf_printf(out, ", sin_port=htons(%u), sin_addr=inet_addr(\"", cur_u16be(&c));
		add_ip(2, cur_bytes(&c, 4), out);
		buf_add_str(out, "\")");
	} else if (family == 10 && len >= 24) {
		uint16_t port = cur_u16be(&c);
		uint32_t flow = cur_u32be(&c);

		buf_printf(out, ", sin6_port=htons(%u), sin6_flowinfo=htonl(%u), inet_pton(AF_INET6, \"", port, flow);
		add_ip(10, cur_bytes(&c, 16), out);
		buf_printf(out, "\", &sin6_addr), sin6_scope_id=%u", cur_u32(&c));
	} else if (family == 1) {
		add_unix(&c, out);
	} else if (family == 16 && len >= 12) {
		cur_skip(&c, 2);
		buf_printf(out, ", nl_pid=%u", cur_u32(&c));
		buf_printf(out, ", nl_groups=%08x", cur_u32(&c));
	} else if (cur_left(&c)) {
		buf_add_str(out, ", sa_data=");
		sys_text_quoted(c.pos, cur_left(&c), false, out);
	}
	buf_add_char(out, '}');
}

/* ---- structures ---- */

static void add_sigset(uint64_t set, struct buf *out)
{
	const char *sep = "";
	bool most = __builtin_popcountll(set) > 32;

	if (most) {
		buf_add_char(out, '~');
		set = ~set;
	}
	buf_add_char(out, '[');
	for (unsigned i = 0; i < 64; i++) {
		size_t at;

		if (!(set & 1ull << i))
			continue;
		buf_add_str(out, sep);
		at = out->len;
		sys_text_signal(i + 1, out);
		if (out->len > at + 3 && !memcmp(out->data + at, "SIG", 3)) {
			memmove(out->data + at, out->data + at + 3, out->len - at - 3);
			out->len -= 3;
		}
		sep = " ";
	}
	buf_add_char(out, ']');
}

static void add_wstatus(uint32_t st, struct buf *out)
{
	uint32_t sig = st & 0x7f;

	if (st == 0xffff) {
		buf_add_str(out, "{WIFCONTINUED(s)}");
	} else if ((st & 0xff) == 0x7f) {
		buf_add_str(out, "{WIFSTOPPED(s) && WSTOPSIG(s) == ");
		sys_text_signal(st >> 8 & 0xff, out);
		buf_add_char(out, '}');
	} else if (sig) {
		buf_add_str(out, "{WIFSIGNALED(s) && WTERMSIG(s) == ");
		sys_text_signal(sig, out);
		buf_add_str(out, st & 0x80 ? " && WCOREDUMP(s)}" : "}");
	} else {
		buf_printf(out, "{WIFEXITED(s) && WEXITSTATUS(s) == %u}", st >> 8 & 0xff);
	}
}

void sys_text_mode(uint64_t mode, struct buf *out)
{
	static const char *const types[16] = {
		[1] = "S_IFIFO|", [2] = "S_IFCHR|", [4] = "S_IFDIR|", [6] = "S_IFBLK|", [8] = "S_IFREG|",
		[10] = "S_IFLNK|", [12] = "S_IFSOCK|",
	};
	const char *type = mode < 0x10000 ? types[mode >> 12 & 15] : NULL;

	buf_printf(out, "%s%#03llo", type ? type : "", (unsigned long long)(type ? mode & 07777 : mode));
}

static void add_dev(uint64_t dev, struct buf *out)
{
	uint64_t major = (dev >> 8 & 0xfff) | (dev >> 32 & ~0xfffull), minor = (dev & 0xff) | (dev >> 12 & ~0xffull);

	buf_printf(out, "makedev(%#" PRIx64 ", %#" PRIx64 ")", major & 0xffffffff, minor & 0xffffffff);
}

static void add_pointer(uint64_t v, struct buf *out)
{
	if (v)
		buf_printf(out, "%#" PRIx64, v);
	else
		buf_add_str(out, "NULL");
}

static uint64_t load(const uint8_t *p, unsigned size)
{
	uint64_t v = 0;

	memcpy(&v, p, size);
	return v;
}

static unsigned member_size(const struct sys_member *m)
{
	static const uint8_t sizes[SYS_MEMBER__MAX] = {
		[SYS_MEMBER_I8] = 1, [SYS_MEMBER_I16] = 2, [SYS_MEMBER_I32] = 4, [SYS_MEMBER_I64] = 8,
		[SYS_MEMBER_U8] = 1, [SYS_MEMBER_U16] = 2, [SYS_MEMBER_U32] = 4, [SYS_MEMBER_U64] = 8,
		[SYS_MEMBER_H32] = 4, [SYS_MEMBER_H64] = 8, [SYS_MEMBER_DEV] = 8, [SYS_MEMBER_MODE] = 4,
		[SYS_MEMBER_MODE2] = 2, [SYS_MEMBER_U64MODE] = 8, [SYS_MEMBER_SIGSET] = 8, [SYS_MEMBER_SIG] = 4,
		[SYS_MEMBER_SIG64] = 8, [SYS_MEMBER_FD] = 4, [SYS_MEMBER_UID] = 4, [SYS_MEMBER_GID] = 4,
		[SYS_MEMBER_WSTATUS] = 4, [SYS_MEMBER_RLIM] = 8, [SYS_MEMBER_TIME_NSEC] = 8,
		[SYS_MEMBER_SIGHANDLER] = 8, [SYS_MEMBER_IP4] = 4,
	};

	return m->size ? m->size : sizes[m->kind];
}

static void add_member(const struct sys_member *m, unsigned abi, const uint8_t *p, struct buf *out)
{
	unsigned size = member_size(m);
	uint64_t v = size <= 8 ? load(p, size) : 0;

	switch (m->kind) {
	case SYS_MEMBER_I8: case SYS_MEMBER_I16: case SYS_MEMBER_I32: case SYS_MEMBER_I64: case SYS_MEMBER_FD:
		buf_printf(out, "%" PRId64, (int64_t)(v << (64 - 8 * size)) >> (64 - 8 * size));
		break;
	case SYS_MEMBER_U8: case SYS_MEMBER_U16: case SYS_MEMBER_U32: case SYS_MEMBER_U64: case SYS_MEMBER_UID:
	case SYS_MEMBER_GID:
		buf_add_u64(out, v);
		break;
	case SYS_MEMBER_H32: case SYS_MEMBER_H64:
		buf_printf(out, v ? "%#" PRIx64 : "0", v);
		break;
	case SYS_MEMBER_DEV:
		add_dev(v, out);
		break;
	case SYS_MEMBER_MODE: case SYS_MEMBER_MODE2: case SYS_MEMBER_U64MODE:
		sys_text_mode(v, out);
		break;
	case SYS_MEMBER_SIGSET:
		add_sigset(v, out);
		break;
	case SYS_MEMBER_SIG: case SYS_MEMBER_SIG64:
		sys_text_signal(v, out);
		break;
	case SYS_MEMBER_WSTATUS:
		add_wstatus((uint32_t)v, out);
		break;
	case SYS_MEMBER_RLIM:
		if (v == (size == 4 ? UINT32_MAX : UINT64_MAX))
			buf_add_str(out, size == 4 ? "RLIM_INFINITY" : "RLIM64_INFINITY");
		else
			buf_add_u64(out, v);
		break;
	case SYS_MEMBER_TIME_NSEC:
		if (v == 0x3fffffff || v == 0x3ffffffe)
			buf_add_str(out, v & 1 ? "UTIME_NOW" : "UTIME_OMIT");
		else
			buf_add_u64(out, v);
		break;
	case SYS_MEMBER_SIGHANDLER:
		if (v <= 1)
			buf_add_str(out, v ? "SIG_IGN" : "SIG_DFL");
		else
			add_pointer(v, out);
		break;
	case SYS_MEMBER_IP4:
		add_ip(2, p, out);
		break;
	case SYS_MEMBER_C:
		sys_text_quoted(p, strnlen((const char *)p, size), false, out);
		break;
	case SYS_MEMBER_X:
		sys_text_xlat(sys_xlat_for(m->xlat, abi), v, out);
		break;
	case SYS_MEMBER__MAX:
		break;
	}
}

/* Of "it_value.tv_sec" what comes before the dot: a structure inside. */
static size_t inner_len(const char *name)
{
	const char *dot = strchr(name, '.');

	return dot ? (size_t)(dot - name) : 0;
}

static void add_one(const struct sys_struct *s, unsigned abi, const uint8_t *data, size_t len, struct buf *out)
{
	bool single = s->n_members == 1 && !*s->members[0].name, pair = *s->members[0].name == '0';
	const char *sep = "", *open = "";
	size_t open_len = 0;

	if (!single)
		buf_add_char(out, pair ? '[' : '{');
	for (unsigned i = 0; i < s->n_members; i++) {
		const struct sys_member *m = &s->members[i];

		if (m->off + member_size(m) > len) {
			buf_printf(out, "%s...", sep);
			break;
		}
		if (open_len != inner_len(m->name) || memcmp(open, m->name, open_len)) {
			buf_printf(out, "%s%s", open_len ? "}" : "", sep);
			open = m->name;
			open_len = inner_len(open);
			if (open_len)
				buf_printf(out, "%.*s={", (int)open_len, open);
		} else {
			buf_add_str(out, sep);
		}
		if (!single && !pair)
			buf_printf(out, "%s=", m->name + (open_len ? open_len + 1 : 0));
		add_member(m, abi, data + m->off, out);
		sep = ", ";
	}
	buf_add_str(out, open_len ? "}" : "");
	if (!single)
		buf_add_char(out, pair ? ']' : '}');
}

void sys_text_struct(const struct sys_struct *s, unsigned abi, const uint8_t *data, size_t len, struct buf *out)
{
	add_one(s, abi, data, len, out);
}
