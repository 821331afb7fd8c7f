// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Results of calls, followed by values that the kernel stored over the arguments.
 */
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/macros.h"
#include "probes/sys/print/sys_print.h"
#include "probes/sys/print/sys_text.h"

/* Errors that stay inside the kernel: it restarts the call or turns them into EINTR. */
static const struct { int code; const char *text; } restarts[] = {
	{ 512, "To be restarted if SA_RESTART is set" }, { 513, "To be restarted" },
	{ 514, "To be restarted if no handler" }, { 516, "Interrupted by signal" },
};

static int add_error(int64_t code, struct buf *out)
{
	const char *name = xlat_name(&sys_xlat_errno->x, (uint64_t)code);

	for (size_t i = 0; name && i < ARRAY_SIZE(restarts); i++)
		if (restarts[i].code == code)
			return buf_printf(out, "? %s (%s)", name, restarts[i].text);
	if (name && code >= 512)
		return buf_printf(out, "? %s", name);
	return name ? buf_printf(out, "-1 %s (%s)", name, strerror((int)code)) :
		      buf_printf(out, "-1 (errno %d)", (int)code);
}

/* "0x1 (flags FD_CLOEXEC)", "0 (SCHED_OTHER)"; a number without a name prints alone. */
static int add_named(const struct sys_xlat *x, const struct sys_body *b, struct buf *out)
{
	const struct sys_xlat *names = sys_table_xlat_for((unsigned)(x - sys_xlats), b->abi);
	bool flags = names->kind == SYS_XLAT_FLAGS;

	buf_printf(out, b->ret && flags ? "%#" PRIx64 : "%" PRId64, b->ret);
	if (flags ? !b->ret && strcmp(names->x.name, "open") != 0 : !xlat_name(&names->x, (uint64_t)b->ret))
		return buf_error(out);
	buf_add_str(out, flags ? " (flags " : " (");
	sys_text_xlat(names, (uint64_t)b->ret, out);
	return buf_add_char(out, ')');
}

int sys_result_print(const struct sys_body *b, struct buf *out)
{
	const struct sys_call *call = sys_table_call_find(b->abi, b->nr);
	const struct sys_form *form = call ? sys_table_form(call, b->args) : NULL;

	if (b->flags & SYS_F_KILLED)
		return buf_add_char(out, '?');
	if (sys_failed(b->ret))
		return add_error(-b->ret, out);
	if (form && form->ret_names)
		return add_named(&sys_xlats[form->ret_names - 1], b, out);
	if (call && call->ret == SYS_ARG_XLAT)
		return add_named(&sys_xlats[call->ret_ref], b, out);
	if (call && (call->ret == SYS_ARG_PTR || call->ret == SYS_ARG_HEX))
		return buf_add_hex(out, (uint64_t)b->ret);
	if (call && call->ret == SYS_ARG_MODE)
		return buf_printf(out, "%#03o", (unsigned)b->ret);
	return buf_add_i64(out, b->ret);
}

void sys_result_print_fdset(const struct sys_body *b, unsigned i, struct sys_bytes m, struct buf *out)
{
	struct sys_value v = sys_body_value(b, i);
	size_t end = m.len * 8;

	if (v.arg && v.arg->n < SYS_ARGS && (uint32_t)b->args[v.arg->n] < end)
		end = (uint32_t)b->args[v.arg->n];
	sys_text_bits(m.data, end, false, out);
}

static bool any_bit(struct sys_bytes m)
{
	return FIND_ITEM(it, m.data, m.len, *it);
}

static bool is_polled(const struct sys_arg *arg)
{
	return arg->kind == SYS_ARG_ARRAY && !strcmp(sys_structs[arg->ref].name, "pollfd");
}

/* Descriptors of poll() with events. */
static bool add_polled(const struct sys_body *b, unsigned i, const char *sep, struct buf *out)
{
	struct sys_bytes m = sys_body_chunk(b, i, SYS_CHUNK_MEM);
	struct cursor c = cur_init(m.data, m.len);
	const char *open = "[{";

	if (!m.there || m.flags & SYS_CHUNK_F_FAULT)
		return false;
	while (cur_left(&c) >= 8) {
		int32_t fd = (int32_t)cur_u32(&c);
		uint32_t events = cur_u32(&c);

		if (!(events >> 16))
			continue;
		buf_printf(out, "%s%sfd=%" PRId32 ", revents=", sep, open, fd);
		sys_text_xlat(sys_xlat_poll, events >> 16, out);
		buf_add_char(out, '}');
		open = ", {";
		sep = "";
	}
	if (*open == '[')
		return false;
	buf_add_str(out, m.flags & SYS_CHUNK_F_CUT ? ", ...]" : "]");
	return true;
}

/* Value that the kernel stored over argument @i. False if there is none. */
static bool add_left(const struct sys_body *b, unsigned i, const char *sep, struct buf *out)
{
	static const char *const sets[6] = { NULL, "in ", "out ", "except " };
	struct sys_bytes m = sys_body_chunk_nth(b, i, SYS_CHUNK_MEM, 1);
	struct sys_value v = sys_body_value(b, i);
	const struct sys_struct *s;

	if (!v.arg)
		return false;
	if (is_polled(v.arg))
		return add_polled(b, i, sep, out);
	if (!m.there || m.flags & SYS_CHUNK_F_FAULT)
		return false;
	if (v.arg->kind == SYS_ARG_FDSET) {
		if (!sets[i] || !any_bit(m))
			return false;
		buf_printf(out, "%s%s", sep, sets[i]);
		sys_result_print_fdset(b, i, m, out);
		return true;
	}
	s = v.arg->kind == SYS_ARG_MEM_IO ? sys_table_struct_for(v.arg->ref, b->abi) : NULL;
	if (!s || strncmp(s->name, "time", 4) != 0)
		return false;
	buf_printf(out, "%sleft ", sep);
	sys_struct_print(s, b->abi, true, true, m.data, m.len, out);
	return true;
}

/* Does the call wait for descriptors? A result of 0 is then a timeout. */
static bool waits(const struct sys_body *b)
{
	for (unsigned i = 0; i < sys_body_n_args(b); i++) {
		struct sys_value v = sys_body_value(b, i);

		if (v.arg && (v.arg->kind == SYS_ARG_FDSET || is_polled(v.arg)))
			return true;
	}
	return false;
}

int sys_result_print_answer(const struct sys_body *b, const char *before, struct buf *out)
{
	const char *sep = "(";

	if (!b->ret && waits(b))
		return buf_printf(out, "%s(Timeout)", before);
	if (!b->chunks_len)
		return buf_error(out);
	for (unsigned i = 0; b->ret > 0 && i < sys_body_n_args(b); i++) {
		struct buf part = { 0 };

		if (add_left(b, i, sep, &part)) {
			buf_printf(out, "%s", *sep == '(' ? before : "");
			buf_add(out, part.data, part.len);
			sep = ", ";
		}
		buf_fini(&part);
	}
	if (*sep == ',')
		buf_add_char(out, ')');
	return buf_error(out);
}
