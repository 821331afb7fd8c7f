// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * System calls without the fields of --redact: chunks of memory become marks. Registers, results, structures and
 * network addresses stay.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/macros.h"
#include "event/redact/redact.h"
#include "probes/sys/sys_body.h"
#include "probes/sys/sys_event.h"
#include "probes/sys/sys_table.h"

static const struct sys_arg *arg_of(const struct sys_rec *s, unsigned arg)
{
	const struct sys_call *call = s->abi < SYS_ABI__MAX ? sys_table_call_find(s->abi, s->nr) : NULL;

	return call ? FIND_ITEM(it, call->args, call->n_args, it->reg == arg) : NULL;
}

/* Fields that the text of a chunk belongs to; 0 = it is not text; all for an unknown kind of chunk. */
static unsigned fields_of(const struct sys_rec *s, const struct sys_chunk *chunk)
{
	const struct sys_arg *arg = arg_of(s, chunk->arg);

	switch (chunk->what) {
	case SYS_CHUNK_STR: return REDACT_PATHS;
	case SYS_CHUNK_STRV: return arg && !strncmp(arg->name, "env", 3) ? REDACT_ENV : REDACT_ARGS;
	case SYS_CHUNK_DATA: return arg && arg->kind == SYS_ARG_DATA_STR ? REDACT_PATHS | REDACT_PAYLOAD :
								     REDACT_PAYLOAD;
	case SYS_CHUNK_CONTROL: return REDACT_PAYLOAD;
	case SYS_CHUNK_MEM: case SYS_CHUNK_IOV: case SYS_CHUNK_MSGHDR: case SYS_CHUNK_FILE: return 0;
	default: return ~0u;
	}
}

static int add_proc(struct buf *out, const char *data, size_t len, unsigned fields)
{
	const size_t at = out->len;
	struct cursor c = cur_init(data, len);
	struct sys_proc p, in;

	if (!cur_copy(&c, &in, sizeof(in)))
		return -EBADMSG;
	p = in;
	if ((size_t)p.exe_len + p.cwd_len + p.name_len + p.args_len + p.env_len + p.cgroup_len > len - sizeof(p))
		return -EBADMSG;
	data += sizeof(p);
	buf_add(out, &p, sizeof(p));
	p.exe_len = (uint16_t)redact_list(out, data, in.exe_len, fields & REDACT_PATHS);
	p.cwd_len = (uint16_t)redact_list(out, data + in.exe_len, in.cwd_len, fields & REDACT_PATHS);
	data += in.exe_len + in.cwd_len;
	p.name_len = (uint16_t)redact_text(out, data, in.name_len, fields & REDACT_PATHS);
	data += in.name_len;
	p.args_len = (uint16_t)redact_list(out, data, in.args_len, fields & REDACT_ARGS);
	data += in.args_len;
	p.env_len = (uint16_t)redact_list(out, data, in.env_len, fields & REDACT_ENV);
	data += in.env_len;
	buf_add(out, data, in.cgroup_len);
	if (buf_error(out) == 0)
		memcpy(out->data + at, &p, sizeof(p));
	return buf_error(out);
}

/* The address of a unix socket: its family, then the mark. */
static int add_sockaddr(struct buf *out, const char *data, size_t len, unsigned fields)
{
	uint16_t family;

	if (!(fields & REDACT_PATHS) || len <= sizeof(family))
		return buf_add(out, data, len);
	memcpy(&family, data, sizeof(family));
	buf_add(out, data, sizeof(family));
	redact_text(out, data + sizeof(family), len - sizeof(family), family == AF_UNIX);
	return buf_error(out);
}

static int add_sock(struct buf *out, const char *data, size_t len, unsigned fields)
{
	const size_t at = out->len;
	struct sys_sock *s;

	if (len < sizeof(*s))
		return -EBADMSG;
	if (buf_add(out, data, len) < 0)
		return buf_error(out);
	s = (void *)(out->data + at);
	if (fields & REDACT_PATHS)
		redact_array(s->path, sizeof(s->path));
	return 0;
}

static int add_data(struct buf *out, const struct sys_rec *s, const struct sys_chunk *chunk, const char *data,
		    unsigned fields)
{
	const unsigned hide = fields & fields_of(s, chunk);

	switch (chunk->what) {
	case SYS_CHUNK_PROC: return add_proc(out, data, chunk->len, fields);
	case SYS_CHUNK_SOCK: return add_sock(out, data, chunk->len, fields);
	case SYS_CHUNK_SOCKADDR: return add_sockaddr(out, data, chunk->len, fields);
	case SYS_CHUNK_STRV: redact_list(out, data, chunk->len, hide); break;
	default: redact_text(out, data, chunk->len, hide); break;
	}
	return buf_error(out);
}

static int add_chunk(struct buf *out, const struct sys_rec *s, struct sys_chunk chunk, const char *data,
		     unsigned fields)
{
	const size_t at = out->len, from = at + sizeof(chunk);
	int r = buf_add(out, &chunk, sizeof(chunk));

	if (r >= 0)
		r = add_data(out, s, &chunk, data, fields);
	if (r < 0)
		return r;
	chunk.len = (uint32_t)(out->len - from);
	memcpy(out->data + at, &chunk, sizeof(chunk));
	while ((out->len - from) % 8)
		buf_add_char(out, '\0');
	return buf_error(out);
}

static int redact_call(const struct sonde_rec *r, unsigned fields, struct buf *out)
{
	const struct sys_rec *s = (const void *)r;
	const size_t fixed = r->len - (r->len < offsetof(struct sys_rec, args) ? 0 : s->chunks_len);
	struct cursor c;
	int ret;

	if (r->len < offsetof(struct sys_rec, args) || s->chunks_len > r->len - offsetof(struct sys_rec, args))
		return -EBADMSG;
	if (!s->chunks_len)
		return 0;
	ret = buf_add(out, r, fixed);
	c = cur_init((const char *)r + fixed, s->chunks_len);
	while (ret >= 0 && cur_left(&c)) {
		struct sys_chunk chunk;
		const void *data;

		if (!cur_copy(&c, &chunk, sizeof(chunk)))
			return -EBADMSG;
		data = cur_bytes(&c, ROUND_UP((size_t)chunk.len, 8));
		ret = data ? add_chunk(out, s, chunk, data, fields) : -EBADMSG;
	}
	if (ret < 0)
		return ret;
	if (out->len - fixed > UINT16_MAX)
		return -EMSGSIZE;
	((struct sys_rec *)(void *)out->data)->chunks_len = (uint16_t)(out->len - fixed);
	return 1;
}

#define MEMFD "memfd:"

/* The one name of a file without a directory is that of a kind (anon_inode:...), or follows a prefix. */
static size_t add_path(struct buf *out, const char *path, size_t len, bool alone)
{
	if (!alone)
		return redact_list(out, path, len, REDACT_PATHS);
	if (len <= strlen(MEMFD) || memcmp(path, MEMFD, strlen(MEMFD)) != 0)
		return redact_text(out, path, len, 0);
	buf_add_str(out, MEMFD);
	return strlen(MEMFD) + redact_list(out, path + strlen(MEMFD), len - strlen(MEMFD), REDACT_PATHS);
}

static int redact_file(const struct sonde_rec *r, unsigned fields, struct buf *out)
{
	struct sys_file_rec f;
	const char *path = (const char *)r + sizeof(f);

	if (r->len < sizeof(f))
		return -EBADMSG;
	memcpy(&f, r, sizeof(f));
	if (f.path_len > r->len - sizeof(f))
		return -EBADMSG;
	if (!(fields & REDACT_PATHS))
		return 0;
	redact_array(f.end.path, sizeof(f.end.path));
	buf_add(out, &f, sizeof(f));
	f.path_len = (uint16_t)add_path(out, path, f.path_len, f.flags & SYS_FILE_ALONE);
	if (buf_error(out) == 0)
		memcpy(out->data, &f, sizeof(f));
	return 1;
}

const struct redact_rule sys_redact[] = {
	{ SYS_REC_EXIT, redact_call }, { SYS_REC_ENTER, redact_call }, { SYS_REC_FILE, redact_file }, { 0 },
};
