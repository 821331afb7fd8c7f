// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Memory behind arguments: strings, structures, payload, and the image of a new program.
 */
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/macros.h"
#include "probes/sys/print/sys_print.h"
#include "probes/sys/print/sys_text.h"
#include "probes/sys/sys_plan_wire.h"

#define STRV_SHOWN 32

static void add_string(const struct sys_body *b, unsigned i, unsigned cap, struct buf *out)
{
	struct sys_bytes s = sys_body_chunk(b, i, SYS_CHUNK_STR);
	size_t len = cap && s.len > cap ? cap : s.len;

	if (!s.there || (s.flags & SYS_CHUNK_F_FAULT && !s.len))
		sys_text_ptr(b->args[i], out);
	else
		sys_text_quoted(s.data, len, len < s.len || s.flags & SYS_CHUNK_F_CUT, out);
}

/* An array of strings with a NUL after each. */
static void add_strings(const uint8_t *p, size_t len, const struct sys_print_opts *o, bool more, struct buf *out)
{
	const uint8_t *end = p + len;
	unsigned n = 0;

	buf_add_char(out, '[');
	for (; p < end && (o->full || n < STRV_SHOWN); n++) {
		size_t one = strnlen((const char *)p, (size_t)(end - p));
		size_t shown = o->cap && one > o->cap ? o->cap : one;

		buf_add_str(out, n ? ", " : "");
		sys_text_quoted(p, shown, shown < one, out);
		p += MIN(one + 1, (size_t)(end - p));
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

/* Brief format of an environment, as in strace: address, if known, and number of variables. */
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

static void add_strv(const struct sys_body *b, const struct sys_arg *arg, unsigned i, const struct sys_print_opts *o,
		     struct buf *out)
{
	struct sys_bytes s = sys_body_chunk(b, i, SYS_CHUNK_STRV);

	if (!s.there || (s.flags & SYS_CHUNK_F_FAULT && !s.len))
		sys_text_ptr(b->args[i], out);
	else if (!o->full && is_env(arg))
		add_vars(b->args[i], s.data, s.len, s.flags & SYS_CHUNK_F_CUT, out);
	else
		add_strings(s.data, s.len, o, s.flags & SYS_CHUNK_F_CUT, out);
}

/* Arguments of a successful exec, read from the new program. False for other calls and arguments. */
static bool add_image(const struct sys_image *m, const struct sys_arg *arg, uint64_t at,
		      const struct sys_print_opts *o, struct buf *out)
{
	if (!arg || !m->proc.name_len)
		return false;
	if (arg->kind == SYS_ARG_PATH)
		sys_text_quoted(m->name, m->proc.name_len, false, out);
	else if (arg->kind == SYS_ARG_STRV && !is_env(arg))
		add_strings(m->args, m->proc.args_len, o, m->proc.flags & SYS_PROC_ARGS_CUT, out);
	else if (arg->kind == SYS_ARG_STRV && !o->full)
		add_vars(at, m->env, m->proc.env_len, m->proc.flags & SYS_PROC_ENV_CUT, out);
	else if (arg->kind == SYS_ARG_STRV)
		add_strings(m->env, m->proc.env_len, o, m->proc.flags & SYS_PROC_ENV_CUT, out);
	else
		return false;
	return true;
}

/* Length of the payload, UINT64_MAX if unknown. */
static uint64_t length_of(const struct sys_body *b, const struct sys_arg *arg)
{
	if (arg->n == SYS_N_RET)
		return b->ret < 0 ? UINT64_MAX : (uint64_t)b->ret;
	return arg->n < SYS_ARGS ? b->args[arg->n] : UINT64_MAX;
}

/* Payload that was not captured prints as its address, like any unread memory. */
static void add_data(const struct sys_body *b, const struct sys_arg *arg, bool entered,
		     const struct sys_print_opts *o, struct buf *out)
{
	struct sys_bytes s = sys_body_chunk(b, arg->reg, SYS_CHUNK_DATA);
	size_t len = o->cap && s.len > o->cap ? o->cap : s.len;
	bool more = len < s.len || s.flags & SYS_CHUNK_F_CUT;

	if (!s.there && b->args[arg->reg] && !length_of(b, arg) && !(entered && arg->n == SYS_N_RET))
		buf_add_str(out, "\"\"");
	else if (!s.there || (s.flags & SYS_CHUNK_F_FAULT && !s.len))
		sys_text_ptr(b->args[arg->reg], out);
	else if (arg->kind == SYS_ARG_DATA_HEX)
		sys_text_hex(s.data, len, more, out);
	else if (arg->kind == SYS_ARG_DATA_STR)
		sys_text_quoted(s.data, strnlen((const char *)s.data, s.len), false, out);
	else
		sys_text_quoted(s.data, len, more, out);
}

/* Value of a socket option: a number, or bytes. */
static void add_option(const struct sys_body *b, const struct sys_arg *arg, const struct sys_print_opts *o,
		       struct buf *out)
{
	bool in = arg->kind == SYS_ARG_OPT_IN;
	struct sys_bytes m = sys_body_chunk(b, arg->reg, in ? SYS_CHUNK_DATA : SYS_CHUNK_MEM);
	struct cursor c = cur_init(m.data, m.len);
	size_t len = o->cap && m.len > o->cap ? o->cap : m.len;

	if (!m.there || m.flags & SYS_CHUNK_F_FAULT)
		sys_text_ptr(b->args[arg->reg], out);
	else if (m.len == 4)
		buf_printf(out, "[%d]", (int)cur_u32(&c));
	else
		sys_text_hex(m.data, len, len < m.len || m.flags & SYS_CHUNK_F_CUT, out);
}

static void add_dirents(const struct sys_body *b, unsigned i, struct buf *out)
{
	struct sys_bytes m = sys_body_chunk(b, i, SYS_CHUNK_MEM);
	struct cursor c = cur_init(m.data, m.len);
	uint32_t n = cur_u32(&c);

	sys_text_ptr(b->args[i], out);
	if (m.there && cur_ok(&c))
		buf_printf(out, " /* %u%s entries */", n, m.flags & SYS_CHUNK_F_CUT ? " or more" : "");
	else if (!b->ret)
		buf_add_str(out, " /* 0 entries */");
}

#define CPUS_BYTES 128u	/* most that the kernel side reads; a hostile recording may claim more */

/* Dots mark a set that is larger than the part that was read. */
static void add_cpus(const struct sys_body *b, const struct sys_arg *arg, struct buf *out)
{
	unsigned i = arg->reg;
	struct sys_bytes m = sys_body_chunk(b, i, SYS_CHUNK_MEM);

	if (!m.there || m.flags & SYS_CHUNK_F_FAULT) {
		sys_text_ptr(b->args[i], out);
		return;
	}
	m.len = MIN(m.len, CPUS_BYTES);
	sys_text_bits(m.data, m.len * 8, length_of(b, arg) > m.len, out);
}

#define NODES_SHOWN 32

/* A mask of one bit less than the argument says, in words of the ABI, as strace shows it. */
static void add_nodes(const struct sys_body *b, const struct sys_arg *arg, const struct sys_print_opts *o,
		      struct buf *out)
{
	const size_t word = b->abi == SYS_ABI_I386 ? 4 : 8;
	struct sys_bytes m = sys_body_chunk(b, arg->reg, SYS_CHUNK_MEM);
	struct cursor c = cur_init(m.data, m.len);
	size_t n = 0;

	if (!m.there || m.flags & SYS_CHUNK_F_FAULT || (m.len < word && length_of(b, arg))) {
		sys_text_ptr(b->args[arg->reg], out);
		return;
	}
	buf_add_char(out, '[');
	for (; cur_left(&c) >= word && (o->full || n < NODES_SHOWN); n++)
		buf_printf(out, "%s%#0*" PRIx64, n ? ", " : "", (int)word * 2, word == 4 ? cur_u32(&c) : cur_u64(&c));
	buf_add_str(out, m.flags & SYS_CHUNK_F_CUT || cur_left(&c) >= word ? ", ...]" : "]");
}

static void add_sigframe(const struct sys_body *b, unsigned i, struct buf *out)
{
	struct sys_bytes m = sys_body_chunk(b, i, SYS_CHUNK_MEM);

	if (!m.there || m.flags & SYS_CHUNK_F_FAULT || m.len < 8)
		return;
	buf_add_str(out, "{mask=");
	sys_struct_print(&sys_structs[sys_table_struct_named("sigset")], b->abi, true, true, m.data, m.len, out);
	buf_add_char(out, '}');
}

/* A single value behind a pointer prints in brackets. */
static bool is_bracketed(const struct sys_struct *s)
{
	const struct sys_member *m = s->members;

	return s->n_members == 1 && !*m->name && m->kind != SYS_MEMBER_SIGSET && m->kind != SYS_MEMBER_TERMIOS &&
	       m->kind != SYS_MEMBER_TERMIO && m->kind != SYS_MEMBER_C;
}

static void add_bracketed(const struct sys_struct *s, unsigned abi, bool full, bool answered, struct sys_bytes m,
			  struct buf *out)
{
	if (is_bracketed(s))
		buf_add_char(out, '[');
	sys_struct_print(s, abi, full, answered, m.data, m.len, out);
	if (is_bracketed(s))
		buf_add_char(out, ']');
}

/* Length of a socket address before and after the call. */
static bool add_two_lengths(struct sys_bytes given, struct sys_bytes left, struct buf *out)
{
	struct cursor a = cur_init(given.data, given.len), b = cur_init(left.data, left.len);
	uint32_t before = cur_u32(&a), after = cur_u32(&b);

	if (!left.there || !cur_ok(&a) || !cur_ok(&b) || before == after)
		return false;
	buf_printf(out, "[%d => %d]", (int)before, (int)after);
	return true;
}

#define CLONE_PARENT_SETTID 0x100000

/* Values that clone3() stored through the pointers of its argument. */
static void add_left_by_clone(const struct sys_body *b, struct sys_bytes m, struct buf *out)
{
	struct cursor c = cur_init(m.data, m.len);

	if (b->ret > 0 && cur_u64(&c) & CLONE_PARENT_SETTID)
		buf_printf(out, " => {parent_tid=[%" PRId64 "]}", b->ret);
}

static void add_mem(const struct sys_body *b, const struct sys_arg *arg, bool entered, const struct sys_print_opts *o,
		    struct buf *out)
{
	const struct sys_struct *s = sys_table_struct_for(arg->ref, b->abi);
	struct sys_bytes m = sys_body_chunk(b, arg->reg, SYS_CHUNK_MEM);

	/* wait() without a child stores nothing */
	if (!s || !m.there || m.flags & SYS_CHUNK_F_FAULT || (!entered && !b->ret && !strcmp(s->name, "wstatus"))) {
		sys_text_ptr(b->args[arg->reg], out);
		return;
	}
	if (!strcmp(s->name, "socklen") &&
	    add_two_lengths(m, sys_body_chunk_nth(b, arg->reg, SYS_CHUNK_MEM, 1), out))
		return;
	add_bracketed(s, b->abi, o->full, !entered && !sys_failed(b->ret), m, out);
	if (!strcmp(s->name, "clone_args") && !entered)
		add_left_by_clone(b, m, out);
}

#define ARRAY_SHOWN 32

static void add_array(const struct sys_body *b, const struct sys_arg *arg, const struct sys_print_opts *o,
		      struct buf *out)
{
	unsigned i = arg->reg;
	const struct sys_struct *s = sys_table_struct_for(arg->ref, b->abi);
	struct sys_bytes m = sys_body_chunk(b, i, SYS_CHUNK_MEM);
	size_t n = s && s->size ? m.len / s->size : 0;

	if (!s || !m.there || m.flags & SYS_CHUNK_F_FAULT) {
		if (b->args[i] && (arg->n == SYS_N_RET ? b->ret == 0 : arg->n < SYS_ARGS && !b->args[arg->n]))
			buf_add_str(out, "[]");
		else
			sys_text_ptr(b->args[i], out);
		return;
	}
	buf_add_char(out, '[');
	for (size_t at = 0; at < n && (o->full || at < ARRAY_SHOWN); at++) {
		buf_add_str(out, at ? ", " : "");
		sys_struct_print(s, b->abi, o->full, true, m.data + at * s->size, s->size, out);
	}
	buf_add_str(out, m.flags & SYS_CHUNK_F_CUT || (!o->full && n > ARRAY_SHOWN) ? ", ...]" : "]");
}

/* The set as passed; sys_result.c prints the set that the kernel stored. */
static void add_fdset(const struct sys_body *b, unsigned i, struct buf *out)
{
	struct sys_bytes m = sys_body_chunk(b, i, SYS_CHUNK_MEM);

	if (!m.there || m.flags & SYS_CHUNK_F_FAULT)
		sys_text_ptr(b->args[i], out);
	else
		sys_result_print_fdset(b, i, m, out);
}

static void add_sockaddr(const struct sys_body *b, unsigned i, struct buf *out)
{
	struct sys_bytes s = sys_body_chunk(b, i, SYS_CHUNK_SOCKADDR);

	if (!s.there || s.len < 2 || s.flags & SYS_CHUNK_F_FAULT)
		sys_text_ptr(b->args[i], out);
	else
		sys_text_sockaddr(s.data, s.len, out);
}

static void add_lenp(const struct sys_body *b, unsigned i, struct buf *out)
{
	struct sys_bytes m = sys_body_chunk(b, i, SYS_CHUNK_MEM);
	struct cursor c = cur_init(m.data, m.len);

	if (m.there && m.len == 4 && !(m.flags & SYS_CHUNK_F_FAULT))
		buf_printf(out, "[%d]", (int)cur_u32(&c));
	else if (m.there && !(m.flags & SYS_CHUNK_F_FAULT))
		sys_text_quoted(m.data, m.len, false, out);
	else
		sys_text_ptr(b->args[i], out);
}

static bool add_pointed(const struct sys_body *b, const struct sys_arg *arg, bool entered,
			const struct sys_print_opts *o, struct buf *out)
{
	unsigned i = arg->reg;

	switch ((enum sys_arg_kind)arg->kind) {
	case SYS_ARG_PATH: case SYS_ARG_STR:
		add_string(b, i, arg->kind == SYS_ARG_PATH ? 0 : o->cap, out);
		return true;
	case SYS_ARG_STRV:
		add_strv(b, arg, i, o, out);
		return true;
	case SYS_ARG_MEM: case SYS_ARG_MEM_OUT: case SYS_ARG_MEM_IO: case SYS_ARG_MEM_REST:
		add_mem(b, arg, entered, o, out);
		return true;
	case SYS_ARG_ARRAY: case SYS_ARG_ARRAY_OUT:
		add_array(b, arg, o, out);
		return true;
	case SYS_ARG_DATA: case SYS_ARG_DATA_OUT: case SYS_ARG_DATA_HEX: case SYS_ARG_DATA_STR:
		add_data(b, arg, entered, o, out);
		return true;
	case SYS_ARG_OPT_IN: case SYS_ARG_OPT_OUT:
		add_option(b, arg, o, out);
		return true;
	case SYS_ARG_DIRENTS:
		add_dirents(b, i, out);
		return true;
	case SYS_ARG_CPUS:
		add_cpus(b, arg, out);
		return true;
	case SYS_ARG_NODES: case SYS_ARG_ONODES:
		add_nodes(b, arg, o, out);
		return true;
	case SYS_ARG_SIGFRAME:
		add_sigframe(b, i, out);
		return true;
	case SYS_ARG_SA: case SYS_ARG_OSA:
		add_sockaddr(b, i, out);
		return true;
	case SYS_ARG_IOV:
	case SYS_ARG_OIOV: sys_msg_print_iov(b, i, o->cap, out); return true;
	case SYS_ARG_MSG:
	case SYS_ARG_OMSG: sys_msg_print(b, i, arg->kind == SYS_ARG_MSG, o->cap, out); return true;
	case SYS_ARG_MMSG:
	case SYS_ARG_OMMSG: sys_msg_print_mmsg(b, i, entered, o->cap, out); return true;
	case SYS_ARG_FDSET:
		add_fdset(b, i, out);
		return true;
	case SYS_ARG_DATA_LENP:
		add_lenp(b, i, out);
		return true;
	default:
		return false;
	}
}

/* Address of a new program's environment; 0 = unknown. */
static uint64_t env_at(const struct sys_body *b, const struct sys_arg *arg)
{
	struct sys_bytes m = sys_body_chunk(b, arg->reg, SYS_CHUNK_MEM);
	struct cursor c = cur_init(m.data, m.len);

	return m.there && m.len == 8 ? cur_u64(&c) : b->args[arg->reg];
}

bool sys_memory_print(const struct sys_body *b, const struct sys_arg *arg, bool entered,
		      const struct sys_print_opts *o, struct buf *out)
{
	struct sys_image image;

	if (!entered && b->chunks_len && sys_body_image(b, &image) && add_image(&image, arg, env_at(b, arg), o, out))
		return true;
	return add_pointed(b, arg, entered, o, out);
}
