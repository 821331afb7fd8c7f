// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A thread in the middle of a file that nothing in it has announced, because a filter left its beginning out: the
 * events from which readers learn what it is. They are for the reader's state and not shown.
 */

#include "scap/block.h"
#include "scap/state/state.h"
#include "scap/state/state_tables.h"

/* A thread shares descriptors, directories, signal handlers, memory. */
#define SHARES (1u << 0 | 1u << 1 | 1u << 11 | 1u << 15)

struct announce {
	const struct scap_state *st;
	int (*fn)(void *ctx, const struct params_out *ev);
	void *ctx;
	struct params_out out;
};

static void begin(struct announce *a, uint16_t type, int64_t tid)
{
	params_begin(&a->out, type, tid);
	a->out.head.flags = PARAMS_HAS_WORD;
	a->out.head.word = SCAP_WORD_STATE_ONLY;
}

/* The clone that made it, as the child saw it return. */
static int send_clone(struct announce *a, const struct scap_thread *t, const struct scap_thread *main)
{
	struct params_out *o = &a->out;

	begin(a, SCAP_CLONE_20_X, t->tid);
	params_add_u64(o, 0);
	state_str_add(o, t->exe);
	params_add(o, t->args ? t->args->data : NULL, t->args ? t->args->len : 0);
	params_add_u64(o, (uint64_t)t->tid);
	params_add_u64(o, (uint64_t)t->pid);
	params_add_u64(o, (uint64_t)main->ptid);
	state_str_add(o, main->cwd);
	params_add_u64(o, (uint64_t)t->fdlimit);
	params_add_u64(o, t->pfmajor);
	params_add_u64(o, t->pfminor);
	params_add_u32(o, t->vmsize_kb);
	params_add_u32(o, t->vmrss_kb);
	params_add_u32(o, t->vmswap_kb);
	state_str_add(o, t->comm);
	params_add(o, t->cgroups ? t->cgroups->data : NULL, t->cgroups ? t->cgroups->len : 0);
	params_add_u32(o, t->tid == t->pid ? 0 : SHARES | SCAP_CLONE_THREAD);
	params_add_u32(o, t->uid);
	params_add_u32(o, t->gid);
	params_add_u64(o, (uint64_t)t->vtid);
	params_add_u64(o, (uint64_t)t->vpid);
	return a->fn(a->ctx, o);
}

static int send_cwd(struct announce *a, const struct scap_thread *t)
{
	if (!t->cwd)
		return 0;
	begin(a, SCAP_CHDIR_X, t->tid);
	params_add_u64(&a->out, 0);
	state_str_add(&a->out, t->cwd);
	return a->fn(a->ctx, &a->out);
}

static int send_file(struct announce *a, const struct scap_thread *t, int64_t num, const struct scap_fd *fd)
{
	if (num < 0 || !fd->name || (fd->type != FD_FILE && fd->type != FD_FILE_V2 && fd->type != FD_DIRECTORY))
		return 0;
	begin(a, SCAP_OPEN_X, t->tid);
	params_add_u64(&a->out, (uint64_t)num);
	state_str_add(&a->out, fd->name);
	params_add_u32(&a->out, fd->open_flags);
	params_add_u32(&a->out, 0);
	params_add_u32(&a->out, fd->dev);
	return a->fn(a->ctx, &a->out);
}

static int send_files(struct announce *a, const struct scap_thread *t)
{
	const struct scap_fd *fd;
	size_t pos = 0;
	int64_t num;
	int r = 0;

	while (r >= 0 && (fd = scap_state_next_fd(t, &pos, &num)))
		r = send_file(a, t, num, fd);
	return r;
}

int scap_state_announce_file(const struct scap_state *st, const struct scap_thread *t, int64_t num,
			     const struct scap_fd *fd, int (*fn)(void *ctx, const struct params_out *ev), void *ctx)
{
	struct announce a = { .st = st, .fn = fn, .ctx = ctx };
	int r = send_file(&a, t, num, fd);

	params_out_fini(&a.out);
	return r < 0 ? r : 0;
}

int scap_state_announce(const struct scap_state *st, const struct scap_thread *t,
			int (*fn)(void *ctx, const struct params_out *ev), void *ctx)
{
	struct announce a = { .st = st, .fn = fn, .ctx = ctx };
	const struct scap_thread *main = scap_state_process(st, t);
	int r = send_clone(&a, t, main);

	if (r >= 0 && t == main)
		r = send_cwd(&a, t);
	if (r >= 0 && t == main)
		r = send_files(&a, t);
	params_out_fini(&a.out);
	return r < 0 ? r : 0;
}

int scap_state_announce_container(const struct scap_state *st, const struct scap_str *id,
				  int (*fn)(void *ctx, const struct params_out *ev), void *ctx)
{
	const struct scap_container *c = scap_state_container(st, id);
	struct announce a = { .st = st, .fn = fn, .ctx = ctx };
	int r = 0;

	if (c && c->json) {
		begin(&a, SCAP_CONTAINER_JSON_E, -1);
		state_str_add(&a.out, c->json);
		r = fn(ctx, &a.out);
	}
	params_out_fini(&a.out);
	return r < 0 ? r : 0;
}
