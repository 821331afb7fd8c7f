// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Structures in strace's format, driven by tables/structs.in.
 */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/buf.h"
#include "base/macros.h"
#include "probes/sys/print/sys_print.h"
#include "probes/sys/print/sys_text.h"

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

static void add_dev(uint64_t dev, struct buf *out)
{
	uint64_t major = (dev >> 8 & 0xfff) | (dev >> 32 & ~0xfffull), minor = (dev & 0xff) | (dev >> 12 & ~0xffull);

	buf_printf(out, "makedev(%#" PRIx64 ", %#" PRIx64 ")", major & 0xffffffff, minor & 0xffffffff);
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
		[SYS_MEMBER_H8] = 1, [SYS_MEMBER_H16] = 2, [SYS_MEMBER_H32] = 4, [SYS_MEMBER_H64] = 8,
		[SYS_MEMBER_PTR] = 8, [SYS_MEMBER_DEV] = 8, [SYS_MEMBER_MODE] = 4, [SYS_MEMBER_MODE2] = 2,
		[SYS_MEMBER_U64MODE] = 8, [SYS_MEMBER_SIGSET] = 8, [SYS_MEMBER_SIG] = 4, [SYS_MEMBER_SIG64] = 8,
		[SYS_MEMBER_FD] = 4, [SYS_MEMBER_UID] = 4, [SYS_MEMBER_GID] = 4, [SYS_MEMBER_WSTATUS] = 4,
		[SYS_MEMBER_RLIM] = 8, [SYS_MEMBER_TIME_NSEC] = 8, [SYS_MEMBER_SIGHANDLER] = 8, [SYS_MEMBER_IP4] = 4,
		[SYS_MEMBER_PORT] = 2, [SYS_MEMBER_UTIME] = 16, [SYS_MEMBER_UTIMEVAL] = 16, [SYS_MEMBER_DATE] = 16,
		[SYS_MEMBER_TICKS] = 8, [SYS_MEMBER_CAPS] = 16, [SYS_MEMBER_TERMIOS] = 16, [SYS_MEMBER_TERMIO] = 8,
		[SYS_MEMBER_ERROR] = 4, [SYS_MEMBER_MAC] = 6,
		[SYS_MEMBER_ADDR] = 16,
	};

	if (m->kind == SYS_MEMBER_DATE && m->size)
		return 2 * m->size;
	return m->size ? m->size : sizes[m->kind];
}

/* Local time, as a comment after the seconds. */
static void add_date(int64_t sec, uint64_t nsec, struct buf *out)
{
	time_t t = (time_t)sec;
	struct tm tm;
	char text[64];

	if ((!sec && !nsec) || nsec > 999999999 || !localtime_r(&t, &tm) ||
	    !strftime(text, sizeof(text), "%FT%T", &tm))
		return;
	buf_printf(out, " /* %s", text);
	if (nsec)
		buf_printf(out, ".%09" PRIu64, nsec);
	if (strftime(text, sizeof(text), "%z", &tm))
		buf_printf(out, "%s */", text);
}

#define UTIME_NOW_NS 0x3fffffff
#define UTIME_OMIT_NS 0x3ffffffe

static void add_utime(const uint8_t *p, bool micro, struct buf *out)
{
	int64_t sec = (int64_t)load(p, 8);
	uint64_t part = load(p + 8, 8);

	if (!micro && (part == UTIME_NOW_NS || part == UTIME_OMIT_NS)) {
		buf_add_str(out, part == UTIME_NOW_NS ? "UTIME_NOW" : "UTIME_OMIT");
		return;
	}
	buf_printf(out, "{tv_sec=%" PRId64 ", tv_%csec=%" PRIu64 "}", sec, micro ? 'u' : 'n', part);
	add_date(sec, micro ? part * 1000 : part, out);
}

/* Clock ticks, with seconds as a comment. */
static void add_ticks(int64_t v, struct buf *out)
{
	buf_printf(out, "%" PRId64, v);
	if (v > 0)
		buf_printf(out, " /* %" PRId64 ".%02" PRId64 " s */", v / 100, v % 100);
}

/* Capability sets: each of the two structures has one half. */
static void add_caps(const uint8_t *p, struct buf *out)
{
	const struct sys_xlat *x = sys_table_xlat_named("caps");
	uint64_t set = load(p, 4) | load(p + 12, 4) << 32;
	const char *sep = "";

	if (!set)
		buf_add_char(out, '0');
	for (uint32_t i = 0; i < x->x.n; i++) {
		if (!(set >> x->x.vals[i].val & 1))
			continue;
		buf_printf(out, "%s1<<%s", sep, x->x.vals[i].name);
		set &= ~(1ull << x->x.vals[i].val);
		sep = "|";
	}
	if (set)
		buf_printf(out, "%s%#" PRIx64, sep, set);
}

/* Flags; 0 prints nothing. */
static void add_bits(const char *flags, uint64_t v, struct buf *out)
{
	if (v)
		sys_text_xlat(sys_table_xlat_named(flags), v, out);
}

/* Multi-bit fields before the flags: output delays, speed, character size. */
static void add_fields(uint64_t v, const uint32_t *masks, const char *table, const char *flags, struct buf *out)
{
	for (; *masks; masks++) {
		sys_text_xlat(sys_table_xlat_named(table), v & *masks, out);
		v &= ~(uint64_t)*masks;
		buf_add_char(out, '|');
		table = masks[1] ? table + strlen(table) + 1 : table;
	}
	add_bits(flags, v, out);
}

/* The four mode words at the start of struct termios, or of struct termio with @size 2. */
static void add_termios(const uint8_t *p, unsigned size, struct buf *out)
{
	static const uint32_t delays[] = { 0400, 03000, 014000, 020000, 040000, 0100000, 0 };
	static const uint32_t sizes[] = { 0x100f, 060, 0 };

	buf_add_str(out, "{c_iflag=");
	add_bits("c_iflag", load(p, size), out);
	buf_add_str(out, ", c_oflag=");
	add_fields(load(p + size, size), delays, "nldly\0crdly\0tabdly\0bsdly\0vtdly\0ffdly", "c_oflag", out);
	buf_add_str(out, ", c_cflag=");
	add_fields(load(p + 2 * size, size), sizes, "baud\0csize", "c_cflag", out);
	buf_add_str(out, ", c_lflag=");
	add_bits("c_lflag", load(p + 3 * size, size), out);
	buf_add_str(out, ", ...}");
}

static void add_rlim(uint64_t v, unsigned size, struct buf *out)
{
	if (v == (size == 4 ? UINT32_MAX : UINT64_MAX))
		buf_add_str(out, size == 4 ? "RLIM_INFINITY" : "RLIM64_INFINITY");
	else if (v > 1024 && v % 1024 == 0)
		buf_printf(out, "%" PRIu64 "*1024", v / 1024);
	else
		buf_add_u64(out, v);
}

/* Numbers. False for other kinds. */
static bool add_number(const struct sys_member *m, unsigned size, uint64_t v, struct buf *out)
{
	switch (m->kind) {
	case SYS_MEMBER_I8: case SYS_MEMBER_I16: case SYS_MEMBER_I32: case SYS_MEMBER_I64: case SYS_MEMBER_FD:
		buf_printf(out, "%" PRId64, (int64_t)(v << (64 - 8 * size)) >> (64 - 8 * size));
		return true;
	case SYS_MEMBER_U8: case SYS_MEMBER_U16: case SYS_MEMBER_U32: case SYS_MEMBER_U64: case SYS_MEMBER_UID:
	case SYS_MEMBER_GID:
		buf_add_u64(out, v);
		return true;
	case SYS_MEMBER_H8: case SYS_MEMBER_H16: case SYS_MEMBER_H32: case SYS_MEMBER_H64:
		buf_printf(out, v ? "%#" PRIx64 : "0", v);
		return true;
	case SYS_MEMBER_PTR: sys_text_ptr(v, out); return true;
	case SYS_MEMBER_PORT:
		buf_printf(out, "htons(%u)", (unsigned)(v >> 8 | (v & 0xff) << 8));
		return true;
	default:
		return false;
	}
}

static void add_time_nsec(uint64_t v, struct buf *out)
{
	if (v == UTIME_NOW_NS || v == UTIME_OMIT_NS)
		buf_add_str(out, v == UTIME_NOW_NS ? "UTIME_NOW" : "UTIME_OMIT");
	else
		buf_add_u64(out, v);
}

/* A negative error of the kernel. */
static void add_error(int32_t v, struct buf *out)
{
	const char *name = v < 0 ? xlat_name(&sys_xlat_errno->x, -(int64_t)v) : NULL;

	if (name)
		buf_printf(out, "-%s", name);
	else
		buf_printf(out, "%" PRId32, v);
}

static void add_handler(uint64_t v, unsigned size, struct buf *out)
{
	if (v <= 1)
		buf_add_str(out, v ? "SIG_IGN" : "SIG_DFL");
	else if (v == (size == 4 ? UINT32_MAX : UINT64_MAX))
		buf_add_str(out, "SIG_ERR");
	else
		sys_text_ptr(v, out);
}

/* Names and other formats of a single number. False for kinds of several numbers. */
static bool add_value(const struct sys_member *m, unsigned abi, unsigned size, uint64_t v, struct buf *out)
{
	switch (m->kind) {
	case SYS_MEMBER_DEV:
		add_dev(v, out);
		return true;
	case SYS_MEMBER_MODE: case SYS_MEMBER_MODE2:
	case SYS_MEMBER_U64MODE: sys_text_mode(v, out); return true;
	case SYS_MEMBER_SIGSET:
		add_sigset(v, out);
		return true;
	case SYS_MEMBER_SIG: case SYS_MEMBER_SIG64:
		sys_text_signal(v, out);
		return true;
	case SYS_MEMBER_WSTATUS:
		add_wstatus((uint32_t)v, out);
		return true;
	case SYS_MEMBER_RLIM:
		add_rlim(v, size, out);
		return true;
	case SYS_MEMBER_TIME_NSEC:
		add_time_nsec(v, out);
		return true;
	case SYS_MEMBER_SIGHANDLER:
		add_handler(v, size, out);
		return true;
	case SYS_MEMBER_TICKS:
		add_ticks((int64_t)v, out);
		return true;
	case SYS_MEMBER_ERROR:
		add_error((int32_t)v, out);
		return true;
	case SYS_MEMBER_X: sys_text_xlat(sys_table_xlat_for(m->xlat, abi), v, out); return true;
	default:
		return false;
	}
}

/* An array of characters; without a NUL the last one is omitted. */
static void add_chars(const uint8_t *p, size_t size, struct buf *out)
{
	size_t len = strnlen((const char *)p, size);

	sys_text_quoted(p, len < size || size == 1 ? len : size - 1, len == size && size > 1, out);
}

/* @p: at least as many bytes as the kind has. */
static void add_bytes(const struct sys_member *m, unsigned size, const uint8_t *p, struct buf *out)
{
	uint64_t nsec;
	int64_t sec;

	switch (m->kind) {
	case SYS_MEMBER_UTIME: case SYS_MEMBER_UTIMEVAL:
		add_utime(p, m->kind == SYS_MEMBER_UTIMEVAL, out);
		break;
	case SYS_MEMBER_DATE:
		sec = size == 8 ? (int32_t)load(p, 4) : (int64_t)load(p, 8);
		nsec = load(p + size / 2, size / 2);
		buf_printf(out, "%" PRId64, sec);
		add_date(sec, nsec, out);
		buf_printf(out, ", %s_nsec=%" PRIu64, m->name, nsec);
		break;
	case SYS_MEMBER_CAPS:
		add_caps(p, out);
		break;
	case SYS_MEMBER_TERMIOS: case SYS_MEMBER_TERMIO:
		add_termios(p, m->kind == SYS_MEMBER_TERMIOS ? 4 : 2, out);
		break;
	case SYS_MEMBER_MAC:
		buf_add_mac(out, p);
		break;
	case SYS_MEMBER_ADDR:
		sys_text_sockaddr(p, size, out);
		break;
	case SYS_MEMBER_IP4:
		buf_add_str(out, "inet_addr(\"");
		sys_text_ip(AF_INET, p, out);
		buf_add_str(out, "\")");
		break;
	case SYS_MEMBER_MORE:
		buf_add_str(out, "...");
		break;
	case SYS_MEMBER_C:
		add_chars(p, size, out);
		break;
	default:
		break;
	}
}

static void add_member(const struct sys_member *m, unsigned abi, const uint8_t *p, struct buf *out)
{
	unsigned size = member_size(m);
	uint64_t v = size <= 8 ? load(p, size) : 0;

	if (!add_number(m, size, v, out) && !add_value(m, abi, size, v, out))
		add_bytes(m, size, p, out);
}

/* Length of the part before the dot: "it_value" of "it_value.tv_sec". */
static size_t inner_len(const char *name)
{
	const char *dot = strchr(name, '.');

	return dot ? (size_t)(dot - name) : 0;
}

static bool is_there(const struct sys_condition *c, const uint8_t *data, size_t len)
{
	if (!c->size)
		return true;
	if (c->off + c->size > len)
		return false;
	return ((load(data + c->off, c->size) & c->mask) == c->value) != c->negated;
}

static void add_members(const struct sys_member *m, unsigned abi, const uint8_t *p, struct buf *out)
{
	unsigned n = m->n;

	if (!n) {
		add_member(m, abi, p, out);
		return;
	}
	for (unsigned i = 0; i < n; i++) {
		buf_add_str(out, i ? ", " : "[");
		add_member(m, abi, p + i * member_size(m), out);
	}
	buf_add_char(out, ']');
}

/* Nested structures: "a.b" is member b of structure a; in an array the index replaces a. */
struct nesting { const char *name; size_t len; const char *sep; };

static void enter_member(struct nesting *n, const char *name, bool array, struct buf *out)
{
	size_t len = inner_len(name);

	if (n->len == len && !memcmp(n->name, name, len)) {
		buf_add_str(out, n->sep);
		return;
	}
	buf_printf(out, "%s%s", n->len ? "}" : "", n->sep);
	n->name = name;
	n->len = len;
	if (len && array)
		buf_add_char(out, '{');
	else if (len)
		buf_printf(out, "%.*s={", (int)len, name);
}

/* Array elements, dots and single values have no name. */
static void add_name(const char *name, struct buf *out)
{
	if (*name && !isdigit((unsigned char)*name) && *name != '-')
		buf_printf(out, "%s=", name);
}

void sys_struct_print(const struct sys_struct *s, unsigned abi, bool full, bool answered, const uint8_t *data,
		      size_t len, struct buf *out)
{
	bool single = s->n_members == 1 && !*s->members[0].name, array = isdigit((unsigned char)*s->members[0].name);
	bool brief = s->has_brief && !full;
	struct nesting n = { "", 0, "" };

	if (!single)
		buf_add_char(out, array ? '[' : '{');
	each_item(m, s->members, s->n_members) {
		if ((brief && !m->brief) || (m->answer && !answered) || !is_there(&m->when, data, len))
			continue;
		if (m->off + member_size(m) * MAX(m->n, 1) > len) {
			buf_printf(out, "%s...", n.sep);
			break;
		}
		enter_member(&n, m->name, array, out);
		add_name(m->name + (n.len ? n.len + 1 : 0), out);
		add_members(m, abi, data + m->off, out);
		n.sep = ", ";
	}
	buf_add_str(out, n.len ? "}" : "");
	buf_add_str(out, brief ? ", ..." : "");
	if (!single)
		buf_add_char(out, array ? ']' : '}');
}
