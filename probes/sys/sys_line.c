// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Arguments as text: which chunk belongs to which argument, and which function writes it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/macros.h"
#include "probes/sys/sys_event.h"
#include "probes/sys/sys_line.h"

#define AT_FDCWD (-100)
#define STRV_SHOWN 32

struct sys_bytes sys_chunk_nth(const struct sys_body *b, unsigned arg, unsigned what, unsigned nth)
{
	struct cursor c = cur_init(b + 1, b->chunks_len);
	struct sys_chunk chunk;

	while (cur_left(&c) > 0 && cur_copy(&c, &chunk, sizeof(chunk))) {
		const void *data = cur_bytes(&c, ROUND_UP((size_t)chunk.len, 8));

		if (data && chunk.arg == arg && chunk.what == what && !nth--)
			return (struct sys_bytes){ data, chunk.len, chunk.flags, true };
	}
	return (struct sys_bytes){ .data = (const uint8_t *)(b + 1) }; /* never NULL: readers add lengths to it */
}

struct sys_bytes sys_chunk_of(const struct sys_body *b, unsigned arg, unsigned what)
{
	return sys_chunk_nth(b, arg, what, 0);
}

unsigned sys_n_args(const struct sys_body *b)
{
	return MIN(b->n_args, 6u);
}

struct sys_value sys_value_of(const struct sys_body *b, unsigned i)
{
	static const char *const plain[6] = { "arg1", "arg2", "arg3", "arg4", "arg5", "arg6" };
	const struct sys_call *call = sys_call_find(b->abi, b->nr);
	struct sys_value v = { .name = plain[i % 6], .raw = b->args[i % 6] };

	if (call && i < call->n_args) {
		v.arg = &call->args[i];
		v.name = v.arg->name;
	}
	return v;
}

/* ---- parts ---- */

void sys_text_ptr(uint64_t v, struct buf *out)
{
	buf_printf(out, v ? "%#" PRIx64 : "NULL", v);
}

static const struct sys_xlat *table(const char *name)
{
	return sys_xlat_named(name);
}

static void add_string(const struct sys_body *b, unsigned i, unsigned cap, struct buf *out)
{
	struct sys_bytes s = sys_chunk_of(b, i, SYS_CHUNK_STR);
	size_t len = cap && s.len > cap ? cap : s.len;

	if (!s.there || (s.flags & SYS_CHUNK_F_FAULT && !s.len))
		sys_text_ptr(b->args[i], out);
	else
		sys_text_quoted(s.data, len, len < s.len || s.flags & SYS_CHUNK_F_CUT, out);
}

/* An array of strings, NUL after each. */
static void add_strings(const uint8_t *p, size_t len, unsigned cap, bool more, struct buf *out)
{
	const uint8_t *end = p + len;
	unsigned n = 0;

	buf_add_char(out, '[');
	for (; p < end && n < STRV_SHOWN; n++) {
		size_t one = strnlen((const char *)p, (size_t)(end - p)), shown = cap && one > cap ? cap : one;

		buf_add_str(out, n ? ", " : "");
		sys_text_quoted(p, shown, shown < one, out);
		p += one + 1;
	}
	buf_add_str(out, p < end || more ? ", ...]" : "]");
}

static unsigned count_strings(const uint8_t *p, size_t len)
{
	unsigned n = 0;

	for (size_t i = 0; i < len; i++)
		n += !p[i];
	return n;
}

/* An environment in a short line, as strace has it: where it was, if that is known, and how much. */
static void add_vars(uint64_t at, const uint8_t *p, size_t len, bool more, struct buf *out)
{
	const char *cut = more ? " and more" : "";

	if (at)
		buf_printf(out, "%#" PRIx64 " /* %u vars%s */", at, count_strings(p, len), cut);
	else
		buf_printf(out, "[/* %u vars%s */]", count_strings(p, len), cut);
}

static bool is_env(const struct sys_arg *arg)
{
	return arg && arg->kind == SYS_ARG_STRV && strcmp(arg->name, "argv");
}

static void add_strv(const struct sys_body *b, const struct sys_arg *arg, unsigned i, const struct sys_look *k,
		     struct buf *out)
{
	struct sys_bytes s = sys_chunk_of(b, i, SYS_CHUNK_STRV);

	if (!s.there || (s.flags & SYS_CHUNK_F_FAULT && !s.len))
		sys_text_ptr(b->args[i], out);
	else if (!k->full && is_env(arg))
		add_vars(b->args[i], s.data, s.len, s.flags & SYS_CHUNK_F_CUT, out);
	else
		add_strings(s.data, s.len, k->cap, s.flags & SYS_CHUNK_F_CUT, out);
}

bool sys_image_of(const struct sys_body *b, struct sys_image *ret)
{
	struct sys_bytes s = sys_chunk_of(b, SYS_OF_TASK, SYS_CHUNK_PROC);
	struct cursor c = cur_init(s.data, s.len);

	if (!s.there || !cur_copy(&c, &ret->proc, sizeof(ret->proc)))
		return false;
	ret->exe = cur_bytes(&c, ret->proc.exe_len);
	ret->cwd = cur_bytes(&c, ret->proc.cwd_len);
	ret->name = cur_bytes(&c, ret->proc.name_len);
	ret->args = cur_bytes(&c, ret->proc.args_len);
	ret->env = cur_bytes(&c, ret->proc.env_len);
	return cur_ok(&c);
}

/* Arguments of a successful exec, as the new program has them. False for other calls and arguments. */
static bool add_image(const struct sys_image *m, const struct sys_arg *arg, uint64_t at, const struct sys_look *k,
		      struct buf *out)
{
	if (!arg || !m->proc.name_len)
		return false;
	if (arg->kind == SYS_ARG_PATH)
		sys_text_quoted(m->name, m->proc.name_len, false, out);
	else if (arg->kind == SYS_ARG_STRV && !is_env(arg))
		add_strings(m->args, m->proc.args_len, k->cap, m->proc.flags & SYS_PROC_ARGS_CUT, out);
	else if (arg->kind == SYS_ARG_STRV && !k->full)
		add_vars(at, m->env, m->proc.env_len, m->proc.flags & SYS_PROC_ENV_CUT, out);
	else if (arg->kind == SYS_ARG_STRV)
		add_strings(m->env, m->proc.env_len, k->cap, m->proc.flags & SYS_PROC_ENV_CUT, out);
	else
		return false;
	return true;
}

/* Payload that was not asked for is an address, as any other memory that was not read. */
static void add_data(const struct sys_body *b, unsigned i, unsigned cap, struct buf *out)
{
	struct sys_bytes s = sys_chunk_of(b, i, SYS_CHUNK_DATA);
	size_t len = cap && s.len > cap ? cap : s.len;

	if (!s.there || (s.flags & SYS_CHUNK_F_FAULT && !s.len))
		sys_text_ptr(b->args[i], out);
	else
		sys_text_quoted(s.data, len, len < s.len || s.flags & SYS_CHUNK_F_CUT, out);
}

static void add_mem(const struct sys_body *b, const struct sys_arg *arg, unsigned i, struct buf *out)
{
	const struct sys_struct *s = sys_struct_for(arg->ref, b->abi);
	struct sys_bytes m = sys_chunk_of(b, i, SYS_CHUNK_MEM);
	bool wrap = s && s->n_members == 1 && !*s->members[0].name && s->members[0].kind != SYS_MEMBER_SIGSET &&
		    s->members[0].kind != SYS_MEMBER_WSTATUS;

	if (!s || !m.there || m.flags & SYS_CHUNK_F_FAULT) {
		sys_text_ptr(b->args[i], out);
		return;
	}
	if (wrap)
		buf_add_char(out, '[');
	sys_text_struct(s, b->abi, m.data, m.len, out);
	if (wrap)
		buf_add_char(out, ']');
}

static void add_array(const struct sys_body *b, const struct sys_arg *arg, unsigned i, struct buf *out)
{
	const struct sys_struct *s = sys_struct_for(arg->ref, b->abi);
	struct sys_bytes m = sys_chunk_of(b, i, SYS_CHUNK_MEM);
	size_t n = s && s->size ? m.len / s->size : 0;

	if (!s || !m.there || m.flags & SYS_CHUNK_F_FAULT) {
		if (b->args[i] && (arg->n == 6 ? b->ret == 0 : arg->n < 6 && !b->args[arg->n]))
			buf_add_str(out, "[]");
		else
			sys_text_ptr(b->args[i], out);
		return;
	}
	buf_add_char(out, '[');
	for (size_t k = 0; k < n; k++) {
		buf_add_str(out, k ? ", " : "");
		sys_text_struct(s, b->abi, m.data + k * s->size, s->size, out);
	}
	buf_add_str(out, m.flags & SYS_CHUNK_F_CUT ? ", ...]" : "]");
}

/* As it was given; what the kernel left in its place is the call's answer. */
static void add_fdset(const struct sys_body *b, unsigned i, struct buf *out)
{
	struct sys_bytes m = sys_chunk_of(b, i, SYS_CHUNK_MEM);

	if (!m.there || m.flags & SYS_CHUNK_F_FAULT)
		sys_text_ptr(b->args[i], out);
	else
		sys_text_bits(b, i, m, out);
}

static void add_sockaddr(const struct sys_body *b, unsigned i, struct buf *out)
{
	struct sys_bytes s = sys_chunk_of(b, i, SYS_CHUNK_SOCKADDR);

	if (!s.there || s.len < 2 || s.flags & SYS_CHUNK_F_FAULT)
		sys_text_ptr(b->args[i], out);
	else
		sys_text_sockaddr(s.data, s.len, out);
}

static void add_sockopt(const struct sys_body *b, uint64_t v, struct buf *out)
{
	static const struct { uint32_t level; const char *table; } tables[] = {
		{ 1, "so" }, { 0, "ipopt" }, { 41, "ip6opt" }, { 6, "tcpopt" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		if (tables[i].level == (uint32_t)b->args[1]) {
			sys_text_xlat(table(tables[i].table), (uint32_t)v, out);
			return;
		}
	}
	buf_printf(out, "%#x", (uint32_t)v);
}

/* The meaning of a protocol number depends on the family. */
static void add_protocol(const struct sys_body *b, uint64_t v, struct buf *out)
{
	uint32_t family = (uint32_t)b->args[0];

	if (family == 2 || family == 10)
		sys_text_xlat(table("ipproto"), (uint32_t)v, out);
	else if (family == 16)
		sys_text_xlat(table("netlink"), (uint32_t)v, out);
	else
		buf_add_u64(out, (uint32_t)v);
}

/* The third argument of fcntl is what its command takes. */
static void add_fcntl(const struct sys_body *b, uint64_t v, struct buf *out)
{
	switch ((uint32_t)b->args[1]) {
	case 2: /* F_SETFD */
		sys_text_xlat(table("fdflags"), (uint32_t)v, out);
		break;
	case 4: /* F_SETFL */
		sys_text_xlat(sys_xlat_for((unsigned)(table("open") - sys_xlats), b->abi), (uint32_t)v, out);
		break;
	case 1033: /* F_ADD_SEALS */
		sys_text_xlat(table("seals"), (uint32_t)v, out);
		break;
	case 5: case 6: case 7: case 36: case 37: case 38:
		sys_text_ptr(v, out);
		break;
	default:
		buf_printf(out, "%" PRId32, (int32_t)v);
		break;
	}
}

static void add_fd(uint64_t v, bool dir, struct buf *out)
{
	if (dir && (int32_t)v == AT_FDCWD)
		buf_add_str(out, "AT_FDCWD");
	else
		buf_printf(out, "%" PRId32, (int32_t)v);
}

static void add_id(uint64_t v, struct buf *out)
{
	if ((uint32_t)v == UINT32_MAX)
		buf_add_str(out, "-1");
	else
		buf_add_u64(out, (uint32_t)v);
}

static void add_dev32(uint64_t v, struct buf *out)
{
	uint32_t dev = (uint32_t)v;

	buf_printf(out, "makedev(%#x, %#x)", dev >> 8 & 0xfff, (dev & 0xff) | (dev >> 12 & 0xfff00));
}

/* A value that is all in its register. */
static void add_scalar(const struct sys_body *b, unsigned kind, unsigned ref, uint64_t v, struct buf *out)
{
	switch ((enum sys_arg_kind)kind) {
	case SYS_ARG_INT: case SYS_ARG_PID: case SYS_ARG_SPID:
		buf_printf(out, "%" PRId32, (int32_t)v);
		break;
	case SYS_ARG_UINT: case SYS_ARG_UFD: case SYS_ARG_U32V:
		buf_add_u64(out, (uint32_t)v);
		break;
	case SYS_ARG_LONG: case SYS_ARG_OFF:
		buf_printf(out, "%" PRId64, b->abi == SYS_ABI_I386 ? (int32_t)v : (int64_t)v);
		break;
	case SYS_ARG_ULONG: case SYS_ARG_U64: case SYS_ARG_SIZE:
		buf_add_u64(out, v);
		break;
	case SYS_ARG_HEX:
		buf_printf(out, v ? "%#" PRIx64 : "0", v);
		break;
	case SYS_ARG_FD:
		add_fd(v, false, out);
		break;
	case SYS_ARG_DIRFD:
		add_fd(v, true, out);
		break;
	case SYS_ARG_UID: case SYS_ARG_GID:
		add_id(v, out);
		break;
	case SYS_ARG_SIG:
		sys_text_signal((uint32_t)v, out);
		break;
	case SYS_ARG_MODE:
		sys_text_mode((uint32_t)v & 0xffff, out);
		break;
	case SYS_ARG_DEV:
		add_dev32(v, out);
		break;
	case SYS_ARG_XLAT:
		sys_text_xlat(sys_xlat_for(ref, b->abi), v, out);
		break;
	case SYS_ARG_FCNTL:
		add_fcntl(b, v, out);
		break;
	case SYS_ARG_SOCKOPT:
		add_sockopt(b, v, out);
		break;
	default:
		sys_text_ptr(v, out);
		break;
	}
}

/* An int that sign extension made long, in a register of flags or names. */
static uint64_t xlat_value_of(const struct sys_xlat *x, uint64_t v)
{
	for (uint32_t i = 0; i < x->x.n; i++)
		if (x->x.vals[i].val > UINT32_MAX)
			return v;
	return (uint32_t)v;
}

int sys_text_arg(const struct sys_body *b, unsigned i, bool entered, const struct sys_look *k, struct buf *out)
{
	struct sys_value v = sys_value_of(b, i);
	unsigned kind = v.arg ? v.arg->kind : SYS_ARG_HEX;
	struct sys_image image;

	if (!entered && sys_image_of(b, &image) && add_image(&image, v.arg, b->args[i], k, out))
		return buf_error(out);
	switch ((enum sys_arg_kind)kind) {
	case SYS_ARG_PATH: case SYS_ARG_STR:
		add_string(b, i, kind == SYS_ARG_PATH ? 0 : k->cap, out);
		break;
	case SYS_ARG_STRV:
		add_strv(b, v.arg, i, k, out);
		break;
	case SYS_ARG_MEM: case SYS_ARG_MEM_OUT: case SYS_ARG_MEM_IO: case SYS_ARG_MEM_REST:
		add_mem(b, v.arg, i, out);
		break;
	case SYS_ARG_ARRAY: case SYS_ARG_ARRAY_OUT:
		add_array(b, v.arg, i, out);
		break;
	case SYS_ARG_DATA: case SYS_ARG_DATA_OUT:
		add_data(b, i, k->cap, out);
		break;
	case SYS_ARG_SA: case SYS_ARG_OSA:
		add_sockaddr(b, i, out);
		break;
	case SYS_ARG_IOV: case SYS_ARG_OIOV:
		sys_text_iov(b, i, k->cap, out);
		break;
	case SYS_ARG_MSG: case SYS_ARG_OMSG:
		sys_text_msg(b, i, k->cap, out);
		break;
	case SYS_ARG_MMSG: case SYS_ARG_OMMSG:
		sys_text_mmsg(b, i, entered, k->cap, out);
		break;
	case SYS_ARG_FDSET:
		add_fdset(b, i, out);
		break;
	case SYS_ARG_DATA_LENP: {
		struct sys_bytes m = sys_chunk_of(b, i, SYS_CHUNK_MEM);

		if (m.there && m.len == 4 && !(m.flags & SYS_CHUNK_F_FAULT))
			buf_printf(out, "[%d]", (int)cur_u32(&(struct cursor){ m.data, m.data + m.len, false }));
		else if (m.there && !(m.flags & SYS_CHUNK_F_FAULT))
			sys_text_quoted(m.data, m.len, false, out);
		else
			sys_text_ptr(v.raw, out);
		break;
	}
	case SYS_ARG_XLAT:
		if (!strcmp(sys_xlats[v.arg->ref].x.name, "ipproto"))
			add_protocol(b, v.raw, out);
		else
			add_scalar(b, kind, v.arg->ref, xlat_value_of(sys_xlat_for(v.arg->ref, b->abi), v.raw), out);
		break;
	default:
		add_scalar(b, kind, 0, v.raw, out);
		break;
	}
	return buf_error(out);
}

#define O_CREAT_OR_TMPFILE 0x400040	/* the bits are the same on both architectures */

/* The mode of an open that makes no file was not given. */
static unsigned shown_args(const struct sys_body *b)
{
	const struct sys_call *call = sys_call_find(b->abi, b->nr);
	unsigned n = sys_n_args(b);

	if (!call || n < 3 || call->args[n - 1].kind != SYS_ARG_MODE || call->args[n - 2].kind != SYS_ARG_XLAT)
		return n;
	if (strcmp(sys_xlats[call->args[n - 2].ref].x.name, "open") != 0)
		return n;
	return b->args[n - 2] & O_CREAT_OR_TMPFILE ? n : n - 1;
}

void sys_text_pad(size_t column, struct buf *out)
{
	while (out->len + 1 < column && buf_add_char(out, ' ') >= 0)
		;
}

int sys_text_call(const struct sys_body *b, bool entered, const struct sys_look *k, size_t column, struct buf *out)
{
	struct sys_body inner;
	const char *sub = sys_subcall(b, &inner);
	const struct sys_body *shown = sub ? &inner : b;
	char name[24];

	buf_printf(out, "%s(", sub ? sub : sys_call_name(b->abi, b->nr, name));
	for (unsigned i = 0; i < shown_args(shown); i++) {
		buf_add_str(out, i ? ", " : "");
		sys_text_arg(shown, i, entered, k, out);
	}
	buf_add_char(out, ')');
	if (!entered) {
		sys_text_pad(column, out);
		buf_add_str(out, " = ");
		sys_text_ret(b, out);
		sys_text_answer(b, " ", out);
	}
	return buf_error(out);
}
