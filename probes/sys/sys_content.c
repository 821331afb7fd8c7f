// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Content of a call: the memory behind its arguments. Registers, results, sizes and kernel state of descriptors are
 * not content.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/cursor.h"
#include "base/macros.h"
#include "probes/sys/sys_event.h"

/* Keeps executable and cgroups; removes directory, requested name, arguments and environment. */
static int hide_proc(char *data, size_t len)
{
	struct sys_proc *p = (void *)data;
	char *text = (char *)(p + 1);
	size_t gone;

	if (len < sizeof(*p))
		return -EBADMSG;
	gone = (size_t)p->cwd_len + p->name_len + p->args_len + p->env_len;
	if (p->exe_len + gone + p->cgroup_len > len - sizeof(*p))
		return -EBADMSG;
	memmove(text + p->exe_len, text + p->exe_len + gone, p->cgroup_len);
	p->cwd_len = p->name_len = p->args_len = p->env_len = 0;
	return (int)(sizeof(*p) + p->exe_len + p->cgroup_len);
}

static int hide_sock(char *data, size_t len)
{
	struct sys_sock *s = (void *)data;

	if (len < sizeof(*s))
		return -EBADMSG;
	memset(s->path, 0, sizeof(s->path));
	return (int)len;
}

static int keep_all(_unused_ char *data, size_t len)
{
	return (int)len;
}

/* By type of chunk: removes the content and returns the bytes that remain. NULL: the whole chunk is content. */
static int (*const open_part[SYS_CHUNK__MAX])(char *data, size_t len) = {
	[SYS_CHUNK_IOV] = keep_all, [SYS_CHUNK_MSGHDR] = keep_all, [SYS_CHUNK_FILE] = keep_all,
	[SYS_CHUNK_SOCK] = hide_sock, [SYS_CHUNK_PROC] = hide_proc,
};

/* Moves the chunk at @at, which has @end bytes, to @to without its content. Returns its new size. */
static int keep_chunk(char *to, char *at, struct sys_chunk chunk)
{
	int kept = chunk.what < SYS_CHUNK__MAX && open_part[chunk.what] ?
		   open_part[chunk.what](at + sizeof(chunk), chunk.len) : 0;
	size_t all;

	if (kept <= 0)
		return kept;
	chunk.len = (uint32_t)kept;
	all = ROUND_UP((size_t)kept, 8);
	memmove(to + sizeof(chunk), at + sizeof(chunk), (size_t)kept);
	memset(to + sizeof(chunk) + kept, 0, all - (size_t)kept);
	memcpy(to, &chunk, sizeof(chunk));
	return (int)(sizeof(chunk) + all);
}

static int hide_chunks(char *chunks, size_t len)
{
	size_t kept = 0;

	for (size_t at = 0; at < len;) {
		struct sys_chunk chunk;
		size_t all;
		int n;

		if (len - at < sizeof(chunk))
			return -EBADMSG;
		memcpy(&chunk, chunks + at, sizeof(chunk));
		all = sizeof(chunk) + ROUND_UP((size_t)chunk.len, 8);
		if (all > len - at)
			return -EBADMSG;
		n = keep_chunk(chunks + kept, chunks + at, chunk);
		if (n < 0)
			return n;
		kept += (size_t)n;
		at += all;
	}
	return (int)kept;
}

static int hide_call(struct sonde_rec *r)
{
	struct sys_rec *s = (void *)r;
	size_t fixed = offsetof(struct sys_rec, args);
	int kept;

	if (r->len < fixed || s->chunks_len > r->len - fixed)
		return -EBADMSG;
	fixed = r->len - s->chunks_len;
	kept = hide_chunks((char *)r + fixed, s->chunks_len);
	if (kept < 0)
		return kept;
	s->chunks_len = (uint16_t)kept;
	r->len = (uint32_t)(fixed + (size_t)kept);
	return 0;
}

/* Names of files are content; what kind of file it is, and a socket's addresses, are not. */
static int hide_file(struct sonde_rec *r)
{
	struct sys_file_rec *f = (void *)r;

	if (r->len < sizeof(*f))
		return -EBADMSG;
	f->path_len = 0;
	memset(f->end.path, 0, sizeof(f->end.path));
	r->len = sizeof(*f);
	return 0;
}

const struct content_rule sys_content[] = {
	{ SYS_REC_EXIT, hide_call }, { SYS_REC_ENTER, hide_call }, { SYS_REC_SWITCH }, { SYS_REC_SIGNAL },
	{ SYS_REC_FAULT }, { SYS_REC_URING }, { SYS_REC_SUM }, { SYS_REC_PROCEXIT }, { SYS_REC_LOST },
	{ SYS_REC_SAMPLING }, { SYS_REC_FILE, hide_file }, { 0 },
};
