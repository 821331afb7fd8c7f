// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Arguments of a call: selects the form and the printer of each.
 */
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/macros.h"
#include "base/str.h"
#include "probes/sys/print/sys_print.h"
#include "probes/sys/print/sys_text.h"
#include "probes/sys/sys_plan_wire.h"

#define AT_FDCWD (-100)

const struct sys_print_opts sys_print_all = { .full = true };

static void add_sockopt(const struct sys_body *b, uint64_t v, struct buf *out)
{
	static const struct { uint32_t level; const struct sys_xlat *const *names; } tables[] = {
		{ SOL_SOCKET, &sys_xlat_so }, { IPPROTO_IP, &sys_xlat_ipopt }, { IPPROTO_IPV6, &sys_xlat_ip6opt },
		{ IPPROTO_TCP, &sys_xlat_tcpopt }, { SOL_NETLINK, &sys_xlat_nlopt },
		{ SOL_PACKET, &sys_xlat_packetopt }, { IPPROTO_UDP, &sys_xlat_udpopt },
		{ IPPROTO_RAW, &sys_xlat_rawopt }, { IPPROTO_ICMPV6, &sys_xlat_icmp6opt },
	};

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		if (tables[i].level == (uint32_t)b->args[1]) {
			sys_text_xlat(*tables[i].names, (uint32_t)v, out);
			return;
		}
	}
	buf_printf(out, "%#x", (uint32_t)v);
}

/* Names of protocols depend on the address family. */
static void add_protocol(const struct sys_body *b, uint64_t v, struct buf *out)
{
	uint32_t family = (uint32_t)b->args[0];

	if (family == AF_INET || family == AF_INET6)
		sys_text_xlat(sys_xlat_ipproto, (uint32_t)v, out);
	else if (family == AF_NETLINK)
		sys_text_xlat(sys_xlat_netlink, (uint32_t)v, out);
	else
		buf_add_u64(out, (uint32_t)v);
}

static void add_fd(uint64_t v, bool dir, struct buf *out)
{
	if (dir && (int32_t)v == AT_FDCWD)
		buf_add_str(out, "AT_FDCWD");
	else
		buf_add_i64(out, (int32_t)v);
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

/* A value in a register. */
static void add_scalar(const struct sys_body *b, unsigned kind, unsigned ref, uint64_t v, struct buf *out)
{
	switch ((enum sys_arg_kind)kind) {
	case SYS_ARG_INT: case SYS_ARG_PID: case SYS_ARG_SPID:
		buf_add_i64(out, (int32_t)v);
		break;
	case SYS_ARG_UINT: case SYS_ARG_UFD: case SYS_ARG_U32V:
		buf_add_u64(out, (uint32_t)v);
		break;
	case SYS_ARG_LONG: case SYS_ARG_OFF:
		buf_add_i64(out, b->abi == SYS_ABI_I386 ? (int32_t)v : (int64_t)v);
		break;
	case SYS_ARG_ULONG: case SYS_ARG_U64: case SYS_ARG_SIZE:
		buf_add_u64(out, v);
		break;
	case SYS_ARG_HEX:
		buf_add_hex(out, v);
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
		buf_printf(out, "%#03o", (unsigned)v & 0xffff);
		break;
	case SYS_ARG_FMODE: sys_text_mode((uint32_t)v & 0xffff, out); break;
	case SYS_ARG_DEV:
		add_dev32(v, out);
		break;
	case SYS_ARG_XLAT: sys_text_xlat(sys_table_xlat_for(ref, b->abi), v, out); break;
	case SYS_ARG_SOCKOPT:
		add_sockopt(b, v, out);
		break;
	default: sys_text_ptr(v, out); break;
	}
}

/* Drops the upper half of a sign-extended int; names and flags above 32 bits keep it. */
static uint64_t xlat_value_of(const struct sys_xlat *x, uint64_t v)
{
	for (uint32_t i = 0; i < x->x.n; i++)
		if (x->x.vals[i].val > UINT32_MAX)
			return v;
	return (uint32_t)v;
}

static void add_names(const struct sys_body *b, const struct sys_arg *arg, struct buf *out)
{
	uint64_t v = b->args[arg->reg];

	if (&sys_xlats[arg->ref] == sys_xlat_ipproto)
		add_protocol(b, v, out);
	else
		add_scalar(b, arg->kind, arg->ref, xlat_value_of(sys_table_xlat_for(arg->ref, b->abi), v), out);
}

/* "</etc/passwd>" if @fd is the descriptor that @o->file is behind. */
static void add_fd_name(const struct sys_body *b, const struct sys_print_opts *o, uint64_t fd, struct buf *out)
{
	const struct sec_file *f = o->file;
	const uint8_t proto = f ? f->conn.proto : 0;

	if (o->add_fd) {
		o->add_fd(o->ctx, (int32_t)fd, out);
		return;
	}
	if (!f || (int32_t)fd < 0 || (int32_t)fd != sys_body_fd(b))
		return;
	buf_add_char(out, '<');
	if (f->kind == FILE_KIND_INET)
		buf_printf(out, "%s:[", proto == IPPROTO_TCP ? "TCP" : proto == IPPROTO_UDP ? "UDP" : "IP");
	else if (f->kind == FILE_KIND_UNIX)
		buf_add_str(out, "UNIX:[");
	str_escape_buf(out, f->name, f->name_len);
	buf_add_str(out, f->kind == FILE_KIND_INET || f->kind == FILE_KIND_UNIX ? "]>" : ">");
}

static void add_arg(const struct sys_body *b, const struct sys_arg *arg, bool entered, const struct sys_print_opts *o,
		    struct buf *out)
{
	if (sys_memory_print(b, arg, entered, o, out))
		return;
	if (arg->kind == SYS_ARG_XLAT)
		add_names(b, arg, out);
	else
		add_scalar(b, arg->kind, 0, b->args[arg->reg], out);
	if (arg->kind == SYS_ARG_FD || arg->kind == SYS_ARG_DIRFD)
		add_fd_name(b, o, b->args[arg->reg], out);
	if ((arg->kind == SYS_ARG_PID || arg->kind == SYS_ARG_SPID) && o->add_pid)
		o->add_pid(o->ctx, (int32_t)b->args[arg->reg], out);
}

static void add_result_name(const struct sys_body *b, const struct sys_print_opts *o, struct buf *out)
{
	const struct sys_call *call = sys_table_call_find(b->abi, b->nr);

	if (sys_failed(b->ret))
		return;
	if (sys_table_fd(call) == SYS_N_RET)
		add_fd_name(b, o, (uint64_t)b->ret, out);
	if (call && call->ret == SYS_ARG_PID && o->add_pid)
		o->add_pid(o->ctx, (int32_t)b->ret, out);
}

#define CLONE_PARENT_SETTID 0x100000
#define CLONE_PIDFD 0x1000
#define CLONE_SETTLS 0x80000
#define CLONE_CHILD_TID 0x1200000	/* CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID */

/* Named arguments of clone(), as far as its flags make them valid. */
static void add_clone(const struct sys_body *b, const struct sys_call *call, bool entered,
		      const struct sys_print_opts *o, struct buf *out)
{
	static const struct { const char *name; const char *label; uint64_t flags; } order[] = {
		{ "newsp", "child_stack", 0 }, { "flags", ", flags", 0 },
		{ "parent_tid", ", parent_tid", CLONE_PARENT_SETTID | CLONE_PIDFD },
		{ "tls", ", tls", CLONE_SETTLS }, { "child_tid", ", child_tidptr", CLONE_CHILD_TID },
	};

	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		if (order[i].flags && !(b->args[0] & order[i].flags))
			continue;
		for (unsigned n = 0; n < call->n_args; n++) {
			if (strcmp(call->args[n].name, order[i].name) != 0)
				continue;
			buf_printf(out, "%s=", order[i].label);
			add_arg(b, &call->args[n], entered, o, out);
		}
	}
}

/* Does the kernel fill the memory? It is undefined if the process died in the call. */
static bool is_filled_in(const struct sys_arg *arg)
{
	switch ((enum sys_arg_kind)arg->kind) {
	case SYS_ARG_MEM_OUT: case SYS_ARG_MEM_REST: case SYS_ARG_ARRAY_OUT: case SYS_ARG_DATA_OUT:
	case SYS_ARG_DATA_LENP: case SYS_ARG_DATA_HEX: case SYS_ARG_DATA_STR: case SYS_ARG_OPT_OUT:
	case SYS_ARG_ONODES: case SYS_ARG_DIRENTS:
	case SYS_ARG_OSA: case SYS_ARG_OIOV: case SYS_ARG_OMSG: case SYS_ARG_OMMSG:
		return true;
	default:
		return false;
	}
}

/* Registers of 0, but for names such as SEEK_SET and for strings that execve() was given. */
static bool says_nothing(const struct sys_body *b, const struct sys_arg *arg)
{
	const bool named = arg->kind == SYS_ARG_XLAT && sys_xlats[arg->ref].kind == SYS_XLAT_ENUM;
	const bool text = arg->kind == SYS_ARG_PATH || arg->kind == SYS_ARG_STR || arg->kind == SYS_ARG_STRV;

	return !b->args[arg->reg] && !named && !text;
}

int sys_print_args(const struct sys_body *b, bool entered, const struct sys_print_opts *o, struct buf *out)
{
	const struct sys_call *call = sys_table_call_find(b->abi, b->nr);
	const struct sys_form *form = call ? sys_table_form(call, b->args) : NULL;
	const struct sys_arg *args = form ? form->args : call ? call->args : NULL;
	unsigned n = form ? form->n_args : call ? call->n_args : sys_body_n_args(b);
	const char *sep = "";

	if (call && call->ret == SYS_ARG_PID && !strcmp(call->name, "clone") && n && !o->names) {
		add_clone(b, call, entered, o, out);
		return buf_error(out);
	}
	for (unsigned i = 0; i < n; i++) {
		if (args && (args[i].reg >= sys_body_n_args(b) || (o->names && says_nothing(b, &args[i]))))
			continue;
		buf_add_str(out, sep);
		sep = ", ";
		if (args && o->names)
			buf_printf(out, "%s: ", args[i].name);
		if (args && b->flags & SYS_F_KILLED && is_filled_in(&args[i])) {
			buf_add_str(out, " <unfinished ...>");
			break;
		}
		if (args)
			add_arg(b, &args[i], entered, o, out);
		else
			add_scalar(b, SYS_ARG_HEX, 0, b->args[i], out);
	}
	return buf_error(out);
}

void sys_print_pad(size_t column, struct buf *out)
{
	const size_t n = out->len + 1 < column ? column - out->len - 1 : 0;
	char *p = n ? buf_reserve(out, n) : NULL;

	if (!p)
		return;
	memset(p, ' ', n);
	buf_commit(out, n);
}

int sys_print_call(const struct sys_body *b, bool entered, const struct sys_print_opts *o, size_t column,
		   struct buf *out)
{
	struct sys_body inner;
	const char *sub = sys_subcall(b, &inner);
	const struct sys_body *shown = sub ? &inner : b;
	char name[24];

	buf_add_str(out, sub ? sub : sys_table_call_name(b->abi, b->nr, name));
	buf_add_char(out, '(');
	sys_print_args(shown, entered, o, out);
	buf_add_char(out, ')');
	if (!entered) {
		sys_print_pad(column, out);
		buf_add_str(out, " = ");
		sys_result_print(b, out);
		add_result_name(b, o, out);
		sys_result_print_answer(b, " ", out);
	}
	return buf_error(out);
}
