// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Descriptors in rows and events: calls that open, copy and close them.
 */
#include "base/macros.h"
#include "scap/block.h"
#include "scap/state/state_tables.h"

#define OPEN_DIRECTORY 0x400u /* libscap's O_DIRECTORY */

/* ---- rows ---- */

static void row_socket(struct scap_state *st, struct scap_fd *fd, const struct params *p)
{
	struct cursor addr = params_cursor(p, 6);
	bool changed;
	uint64_t l4 = 0;

	params_u64(p, 7, &l4);
	fd->l4 = (uint8_t)l4;
	if (fd->type == FD_IPV4 || fd->type == FD_IPV6) {
		state_net_fd_set_tuple(fd, params_cursor(p, 5), &changed);
		fd->flags |= fd->l4 == SCAP_L4_TCP ? SCAP_FD_CONNECTED : 0;
		state_net_fd_infer_address(st, fd);
	} else {
		cur_skip(&addr, 1);
		state_net_read_end(&addr, fd->type == FD_IPV4_SERVER ? SCAP_AF_INET : SCAP_AF_INET6, &fd->dip,
				   &fd->dport);
		map_note(&st->server_ports, &fd->dport);
	}
	state_net_fd_name_socket(st, fd);
}

static void row_unix(struct scap_fd *fd, const struct params *p)
{
	struct cursor c = params_cursor(p, 5);

	cur_skip(&c, 1);
	fd->unix_source = cur_u64(&c);
	fd->unix_dest = cur_u64(&c);
	fd->role = fd->name && fd->name->len ? SCAP_ROLE_SERVER : SCAP_ROLE_CLIENT;
}

void state_fd_fold_row(struct scap_state *st, const struct params *p)
{
	uint64_t type, flags = 0, dev = 0;
	struct scap_thread *t;
	struct scap_fd *fd;
	int64_t tid, num;

	if (!params_i64(p, 0, &tid) || !params_i64(p, 1, &num) || !params_u64(p, 3, &type))
		return;
	t = state_thread_find_or_invent(st, tid);
	fd = t ? state_fd_add(st, t, num, (uint8_t)type) : NULL;
	if (!fd)
		return;
	fd->flags = SCAP_FD_FROM_ROW;
	params_u64(p, 2, &fd->ino);
	if (params_u64(p, 8, &flags))
		fd->open_flags = (uint32_t)flags;
	if (params_u64(p, 9, &dev))
		fd->dev = (uint32_t)dev;
	state_str_set_param(st, &fd->name, p, 4);
	if (type >= FD_IPV4 && type <= FD_IPV6_SERVER)
		row_socket(st, fd, p);
	else if (type == FD_UNIX)
		row_unix(fd, p);
}

static void settle(struct scap_state *st, struct scap_fd *fd)
{
	if (fd->type != FD_IPV4 || !(fd->flags & SCAP_FD_FROM_ROW) || fd->role != SCAP_ROLE_NONE)
		return;
	fd->role = SCAP_ROLE_CLIENT;
	if (!map_find(&st->server_ports, &fd->sport))
		return;
	state_net_fd_swap_ends(fd);
	fd->role = SCAP_ROLE_SERVER;
	state_net_fd_name_socket(st, fd);
}

void state_fd_fold_settle(struct scap_state *st)
{
	size_t pos = 0, at;
	void *key, *val;

	while (map_next(&st->threads, &pos, &key, &val)) {
		const struct scap_thread *t = *(struct scap_thread **)val;

		for (at = 0; t->fds && map_next(&t->fds->fds, &at, &key, &val);)
			settle(st, *(struct scap_fd **)val);
	}
}

/* ---- calls ---- */

static void new_file(struct fold *f, const struct scap_str *dir, const char *name, size_t len, uint64_t flags,
		     uint64_t dev)
{
	struct scap_fd *fd;

	if (f->res < 0)
		return;
	fd = state_fd_add(f->st, f->t, f->res, flags & OPEN_DIRECTORY ? FD_DIRECTORY : FD_FILE_V2);
	if (!fd)
		return;
	fd->open_flags = (uint32_t)flags;
	fd->dev = (uint32_t)dev;
	fd->name = state_str_path(f->st, dir ? dir->data : "", dir ? dir->len : 0, name ? name : "", name ? len : 0);
	f->fd = fd;
	f->v->fd_num = f->res;
}

/* The name that the kernel copied at entry, which another thread cannot change any more. */
static const char *entered_name(const struct fold *f, unsigned i, size_t *ret_len)
{
	const char *s = f->enter->n > i ? params_str(f->enter, i, ret_len) : NULL;

	return s && *ret_len && strcmp(s, "(NULL)") && strcmp(s, "<NA>") ? s : NULL;
}

static void open_in(struct fold *f, int64_t dirfd, unsigned exit_name, unsigned enter_name, int dev_param)
{
	struct scap_str *dir;
	uint64_t flags = 0, dev = 0;
	const char *name;
	size_t len;

	name = entered_name(f, enter_name, &len);
	if (!name || !params_u64(f->enter, enter_name + 1, &flags))
		params_u64(f->p, exit_name + 1, &flags);
	if (!name)
		name = params_str(f->p, exit_name, &len);
	if (dev_param >= 0)
		params_u64(f->p, (unsigned)dev_param, &dev);
	dir = name && name[0] == '/' ? NULL : state_fd_directory(f->st, f->t, dirfd);
	new_file(f, dir, name, len, flags, dev);
	state_str_unref(f->st, dir);
}

void state_fd_fold_open(struct fold *f)
{
	open_in(f, AT_FDCWD_NUM, 1, 0, 4);
}

void state_fd_fold_creat(struct fold *f)
{
	struct scap_str *dir = state_fd_directory(f->st, f->t, AT_FDCWD_NUM);
	uint64_t dev = 0;
	size_t len;
	const char *name = entered_name(f, 0, &len);

	if (!name)
		name = params_str(f->p, 1, &len);
	params_u64(f->p, 3, &dev);
	new_file(f, dir, name, len, 0, dev);
	state_str_unref(f->st, dir);
}

/* openat and openat2 */
void state_fd_fold_openat(struct fold *f)
{
	int64_t dirfd = AT_FDCWD_NUM;
	size_t len;

	if (!entered_name(f, 1, &len) || !params_i64(f->enter, 0, &dirfd))
		params_i64(f->p, 1, &dirfd);
	open_in(f, dirfd, 2, 1, f->p->head->type == SCAP_OPENAT_2_X ? 5 : 6);
}

/* The first openat event says nothing but the result when it leaves. */
void state_fd_fold_openat_old(struct fold *f)
{
	struct scap_str *dir;
	int64_t dirfd = AT_FDCWD_NUM;
	uint64_t flags = 0;
	size_t len;
	const char *name = params_str(f->enter, 1, &len);

	params_i64(f->enter, 0, &dirfd);
	params_u64(f->enter, 2, &flags);
	dir = name && name[0] == '/' ? NULL : state_fd_directory(f->st, f->t, dirfd);
	new_file(f, dir, name, len, flags, 0);
	state_str_unref(f->st, dir);
}

void state_fd_fold_close_enter(struct fold *f)
{
	struct scap_fd *fd = f->v->fd_num >= 0 ? state_fd_own(f->st, f->t, f->v->fd_num) : NULL;

	if (!fd)
		return;
	fd->flags |= SCAP_FD_CLOSING;
	f->fd = fd;
}

/* The descriptor goes with the next event: this one still shows it. */
void state_fd_fold_close(struct fold *f)
{
	struct scap_fd *fd = f->v->fd_num >= 0 ? state_fd_own(f->st, f->t, f->v->fd_num) : NULL;

	if (!fd)
		return;
	f->fd = fd;
	if (f->res < 0) {
		fd->flags &= (uint8_t)~SCAP_FD_CLOSING;
		return;
	}
	f->st->closed_tid = f->t->tid;
	f->st->closed_fd = f->v->fd_num;
	if (fd->flags & SCAP_FD_CANCELED) {
		fd->flags &= (uint8_t)~SCAP_FD_CANCELED;
		f->st->closed_fd = FD_CANCELED_NUM;
	}
}

void state_fd_fold_pipe(struct fold *f)
{
	uint64_t ino = 0;
	int64_t num;

	if (f->res < 0)
		return;
	params_u64(f->p, 3, &ino);
	for (unsigned i = 1; i <= 2; i++) {
		struct scap_fd *fd = params_i64(f->p, i, &num) ? state_fd_add(f->st, f->t, num, FD_FIFO) : NULL;

		if (!fd)
			return;
		fd->ino = ino;
		f->fd = fd;
		f->v->fd_num = num;
	}
}

/* The one the call was made with: of the enter event, or what later versions appended. */
void state_fd_fold_dup(struct fold *f)
{
	struct scap_fd *fd;

	if (f->res < 0 || !f->fd)
		return;
	fd = state_fd_copy(f->st, f->t, f->res, f->fd);
	if (!fd)
		return;
	f->fd = fd;
	f->v->fd_num = f->res;
}

#define FCNTL_DUPFD 1
#define FCNTL_DUPFD_CLOEXEC 26

void state_fd_fold_fcntl(struct fold *f)
{
	int64_t cmd;

	if (state_fold_number(f, 2, 1, &cmd) && (cmd == FCNTL_DUPFD || cmd == FCNTL_DUPFD_CLOEXEC))
		state_fd_fold_dup(f);
}

/* eventfd, signalfd, timerfd, inotify, epoll, ...: a kind and no name. */
void state_fd_fold_new_fd(struct fold *f)
{
	static const struct {
		uint16_t event;
		uint8_t type;
	} kinds[] = {
		{ SCAP_EVENTFD_X, FD_EVENT },		{ SCAP_EVENTFD2_X, FD_EVENT },
		{ SCAP_SIGNALFD_X, FD_SIGNAL },		{ SCAP_SIGNALFD4_X, FD_SIGNAL },
		{ SCAP_EPOLL_CREATE_X, FD_EPOLL },	{ SCAP_EPOLL_CREATE1_X, FD_EPOLL },
		{ SCAP_INOTIFY_INIT_X, FD_INOTIFY },	{ SCAP_INOTIFY_INIT1_X, FD_INOTIFY },
		{ SCAP_TIMERFD_CREATE_X, FD_TIMER },	{ SCAP_USERFAULTFD_X, FD_USERFAULT },
		{ SCAP_IO_URING_SETUP_X, FD_IO_URING }, { SCAP_MEMFD_CREATE_X, FD_MEMFD },
		{ SCAP_PIDFD_OPEN_X, FD_PIDFD },
	};
	struct scap_fd *fd = NULL;

	for (size_t i = 0; f->res >= 0 && !fd && i < ARRAY_SIZE(kinds); i++)
		if (kinds[i].event == f->p->head->type)
			fd = state_fd_add(f->st, f->t, f->res, kinds[i].type);
	if (!fd)
		return;
	f->fd = fd;
	f->v->fd_num = f->res;
	state_fd_set_name(f->st, fd, "", 0);
	if (f->p->head->type == SCAP_MEMFD_CREATE_X)
		state_str_set_param(f->st, &fd->name, f->p, 1);
}
