// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Parts of strace's lines: times, strings in hex, dumps, names of descriptors.
 */
#include "compat/strace/strace_line.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/buf.h"
#include "base/macros.h"
#include "compat/strace/strace_opts.h"
#include "event/event.h"
#include "probes/sys/sys_body.h"
#include "scap/state/state.h"

/* ---- times ---- */

static void add_decimals(uint64_t ns, unsigned digits, struct buf *out)
{
	static const uint32_t divisors[] = { [3] = 1000000, [6] = 1000, [9] = 1 };

	if (!digits)
		return;
	buf_add_char(out, '.');
	buf_add_digits(out, (uint32_t)(ns % NS_PER_S) / divisors[digits], digits);
}

static void add_relative(uint64_t ns, unsigned digits, struct buf *out)
{
	buf_printf(out, "%6llu", (unsigned long long)(ns / NS_PER_S));
	add_decimals(ns, digits, out);
}

static void add_absolute(const struct strace_opts *o, uint64_t wall_ns, struct buf *out)
{
	time_t second = (time_t)(wall_ns / NS_PER_S);
	char text[16] = "";
	struct tm tm;

	if (o->absolute == STRACE_CLOCK_UNIX)
		buf_add_u64(out, wall_ns / NS_PER_S);
	else if (localtime_r(&second, &tm) && strftime(text, sizeof(text), "%H:%M:%S", &tm))
		buf_add_str(out, text);
	add_decimals(wall_ns, o->digits, out);
}

void strace_line_times(const struct strace_opts *o, uint64_t wall_ns, uint64_t since_ns, struct buf *out)
{
	if (o->absolute) {
		add_absolute(o, wall_ns, out);
		buf_add_char(out, ' ');
	}
	if (!o->relative)
		return;
	buf_add_str(out, o->absolute ? "(+" : "");
	add_relative(since_ns, o->relative_digits, out);
	buf_add_str(out, o->absolute ? ") " : " ");
}

void strace_line_took(uint64_t ns, unsigned digits, struct buf *out)
{
	buf_add_str(out, " <");
	buf_add_u64(out, ns / NS_PER_S);
	add_decimals(ns, digits, out);
	buf_add_char(out, '>');
}

/* ---- strings ---- */

/* One byte of a quoted string; *p stands behind it then. */
static uint8_t take_byte(const char **p, const char *end)
{
	static const char letters[] = "ntrvf", bytes[] = "\n\t\r\v\f";
	const char *known;
	unsigned v = 0;

	if (**p != '\\' || *p + 1 >= end)
		return (uint8_t) * (*p)++;
	++*p;
	known = strchr(letters, **p);
	if (known && **p) {
		++*p;
		return (uint8_t)bytes[known - letters];
	}
	if (**p == 'x') {
		for (int i = 0; i < 2 && *p + 1 < end && isxdigit((unsigned char)(*p)[1]); i++) {
			int c = tolower((unsigned char)*++*p);

			v = v * 16 + (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
		}
		++*p;
		return (uint8_t)v;
	}
	if (**p < '0' || **p > '7')
		return (uint8_t) * (*p)++;
	for (int i = 0; i < 3 && *p < end && **p >= '0' && **p <= '7'; i++)
		v = v * 8 + (unsigned)(*(*p)++ - '0');
	return (uint8_t)v;
}

/* The end of the string that begins at @p, at its closing quote. */
static const char *string_end(const char *p, const char *end)
{
	while (p < end && *p != '"')
		p += *p == '\\' && p + 1 < end ? 2 : 1;
	return p;
}

static bool is_text(uint8_t c)
{
	return (c >= 0x20 && c < 0x7f) || (c >= '\t' && c <= '\r');
}

static bool all_text(const char *p, const char *end)
{
	while (p < end)
		if (!is_text(take_byte(&p, end)))
			return false;
	return true;
}

static void add_string(const char *p, const char *end, unsigned hex, struct buf *out)
{
	bool whole = hex == STRACE_HEX_ALL || (hex == STRACE_HEX_STRINGS && !all_text(p, end));

	while (p < end) {
		const char *from = p;
		uint8_t c = take_byte(&p, end);

		if (whole || (hex == STRACE_HEX_CHARS && !is_text(c)))
			buf_printf(out, "\\x%02x", c);
		else
			buf_add(out, from, (size_t)(p - from));
	}
}

void strace_line_requote(const char *text, size_t len, unsigned hex, struct buf *out)
{
	const char *p = text, *end = text + len;

	while (p < end) {
		size_t plain = 0;
		const char *close;

		while (p + plain < end && p[plain] != '"')
			plain += p[plain] == '\\' && p + plain + 1 < end ? 2 : 1;
		buf_add(out, p, plain);
		p += plain;
		if (p >= end)
			break;
		close = string_end(p + 1, end);
		buf_add_char(out, '"');
		add_string(p + 1, close, hex, out);
		if (close < end)
			buf_add_char(out, '"');
		p = close + (close < end);
	}
}

/* ---- dumps ---- */

#define ROW_BYTES 16u

void strace_line_dump(const uint8_t *data, size_t len, struct buf *out)
{
	for (size_t at = 0; at < len; at += ROW_BYTES) {
		buf_printf(out, " | %05zx ", at);
		for (size_t i = 0; i < ROW_BYTES; i++) {
			buf_add_str(out, i == ROW_BYTES / 2 ? " " : "");
			if (at + i < len)
				buf_printf(out, " %02x", data[at + i]);
			else
				buf_add_str(out, "   ");
		}
		buf_add_str(out, "  ");
		for (size_t i = 0; i < ROW_BYTES; i++) {
			uint8_t c = at + i < len ? data[at + i] : ' ';

			buf_add_char(out, c >= 0x20 && c < 0x7f ? (char)c : '.');
		}
		buf_add_str(out, " |\n");
	}
}

/* ---- descriptors ---- */

static bool is_plain(uint8_t c)
{
	return c >= 0x20 && c < 0x7f && c != '<' && c != '>';
}

void strace_line_path(const char *path, size_t len, struct buf *out)
{
	static const char controls[] = { ['\n'] = 'n', ['\t'] = 't', ['\r'] = 'r', ['\v'] = 'v', ['\f'] = 'f' };

	for (size_t i = 0; i < len; i++) {
		uint8_t c = (uint8_t)path[i];
		bool digit = i + 1 < len && path[i + 1] >= '0' && path[i + 1] <= '7';

		if (c == '"' || c == '\\')
			buf_printf(out, "\\%c", c);
		else if (c < sizeof(controls) && controls[c])
			buf_printf(out, "\\%c", controls[c]);
		else if (is_plain(c))
			buf_add_char(out, (char)c);
		else
			buf_printf(out, digit ? "\\%03o" : "\\%o", c);
	}
}

static void add_socket(const struct sec_file *f, bool details, struct buf *out)
{
	const struct conn *c = &f->conn;
	const char *proto = c->proto == IPPROTO_TCP ? "TCP" : c->proto == IPPROTO_UDP ? "UDP" : NULL;

	if (!details || f->kind != FILE_KIND_INET || !proto) {
		buf_printf(out, "<socket:[%" PRIu64 "]>", f->ino);
		return;
	}
	buf_printf(out, "<%s%s:[", proto, c->saddr.family == SONDE_IPV6 ? "v6" : "");
	if (!c->saddr.family || !c->sport)
		buf_add_u64(out, f->ino);
	else
		ipaddr_port_text(&c->saddr, c->sport, out);
	if (c->daddr.family && c->dport) {
		buf_add_str(out, "->");
		ipaddr_port_text(&c->daddr, c->dport, out);
	}
	buf_add_str(out, "]>");
}

static void add_device(const struct sec_file *f, struct buf *out)
{
	if (S_ISCHR(f->mode) || S_ISBLK(f->mode))
		buf_printf(out, "<%s %u:%u>", S_ISCHR(f->mode) ? "char" : "block", f->rdev >> 20, f->rdev & 0xfffff);
}

static void add_file(const char *name, size_t len, const struct sec_file *f, unsigned fds, struct buf *out)
{
	static const char gone[] = " (deleted)";
	bool deleted = len >= sizeof(gone) - 1 && !memcmp(name + len - (sizeof(gone) - 1), gone, sizeof(gone) - 1);

	buf_add_char(out, '<');
	strace_line_path(name, len - (deleted ? sizeof(gone) - 1 : 0), out);
	if (f && fds & STRACE_FDS_DEV)
		add_device(f, out);
	buf_add_str(out, deleted ? ">(deleted)" : ">");
}

/* The open file, if @fd is the descriptor that the event is about. */
static const struct sec_file *own_file(const struct event *ev, int32_t fd)
{
	const struct sys_body *b = sys_body_of(ev);

	return b && sys_body_fd(b) == fd ? event_file(ev) : NULL;
}

const char *strace_line_fd_path(const struct event *ev, int32_t fd, size_t *ret_len)
{
	const struct scap_view *v = scap_state_view(ev);
	const struct sec_file *f = own_file(ev, fd);
	const struct scap_str *name = NULL;
	const struct scap_fd *known;

	if (f && f->name_len) {
		*ret_len = f->name_len;
		return f->name;
	}
	if (!v || !v->thread)
		return NULL;
	known = fd == AT_FDCWD ? NULL : scap_state_fd(v->state, v->thread, fd);
	name = fd == AT_FDCWD ? scap_state_process(v->state, v->thread)->cwd : known ? known->name : NULL;
	if (!name || !name->len)
		return NULL;
	*ret_len = name->len;
	return name->data;
}

void strace_line_fd(void *ctx, int32_t fd, struct buf *out)
{
	const struct strace_names *n = ctx;
	const struct sec_file *f = own_file(n->ev, fd);
	const struct scap_view *v = scap_state_view(n->ev);
	const struct scap_fd *known = v && v->thread && fd >= 0 ? scap_state_fd(v->state, v->thread, fd) : NULL;
	const char *name;
	size_t len;

	if (fd < 0 && fd != AT_FDCWD)
		return;
	if (f && (f->kind == FILE_KIND_INET || f->kind == FILE_KIND_UNIX)) {
		add_socket(f, n->fds & STRACE_FDS_SOCKET, out);
		return;
	}
	name = strace_line_fd_path(n->ev, fd, &len);
	if (!f && known && (known->dip.family || known->unix_source))
		buf_printf(out, known->ino ? "<socket:[%" PRIu64 "]>" : "", known->ino);
	else if (name)
		add_file(name, fd == AT_FDCWD && len > 1 && name[len - 1] == '/' ? len - 1 : len, f, n->fds, out);
}
