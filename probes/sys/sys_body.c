// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Access to the body of a system call: its arguments and the chunks behind them.
 */
#include "probes/sys/sys_body.h"

#include "base/cursor.h"
#include "base/macros.h"
#include "probes/sys/sys_plan_wire.h"

const struct sys_body *sys_body_of(const struct event *ev)
{
	const struct sys_body *b = ev->body;

	if ((ev->desc->type != SYS_REC_EXIT && ev->desc->type != SYS_REC_ENTER) || ev->body_len < sizeof(*b))
		return NULL;
	return b->chunks_len <= ev->body_len - sizeof(*b) && b->abi < SYS_ABI__MAX ? b : NULL;
}

bool sys_body_is_entry(const struct event *ev)
{
	return ev->desc->type == SYS_REC_ENTER;
}

struct sys_bytes sys_body_chunk_nth(const struct sys_body *b, unsigned arg, unsigned what, unsigned nth)
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

struct sys_bytes sys_body_chunk(const struct sys_body *b, unsigned arg, unsigned what)
{
	return sys_body_chunk_nth(b, arg, what, 0);
}

unsigned sys_body_n_args(const struct sys_body *b)
{
	return MIN(b->n_args, (unsigned)SYS_ARGS);
}

struct sys_value sys_body_value(const struct sys_body *b, unsigned i)
{
	static const char *const plain[SYS_ARGS] = { "arg1", "arg2", "arg3", "arg4", "arg5", "arg6" };
	const struct sys_call *call = sys_table_call_find(b->abi, b->nr);
	struct sys_value v = { .name = plain[i % SYS_ARGS], .raw = b->args[i % SYS_ARGS] };

	if (call && i < call->n_args) {
		v.arg = &call->args[i];
		v.name = v.arg->name;
	}
	return v;
}

int32_t sys_body_fd(const struct sys_body *b)
{
	unsigned reg = sys_table_fd(sys_table_call_find(b->abi, b->nr));

	if (reg == SYS_N_RET)
		return b->ret >= 0 ? (int32_t)b->ret : -1;
	return reg < SYS_ARGS ? (int32_t)b->args[reg] : -1;
}

bool sys_body_image(const struct sys_body *b, struct sys_image *ret)
{
	struct sys_bytes s = sys_body_chunk(b, SYS_OF_TASK, SYS_CHUNK_PROC);
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

bool sys_body_never_returns(const struct sys_body *b)
{
	const struct sys_call *call = sys_table_call_find(b->abi, b->nr);

	return call && call->ret == SYS_ARG_NONE;
}
