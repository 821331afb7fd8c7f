// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Descriptors: the tables, and the calls that make, copy and close them.
 */
#include <stdlib.h>

#include "base/macros.h"
#include "scap/block_impl.h"
#include "scap/state/state_impl.h"

#define OPEN_DIRECTORY 0x400u	/* libscap's O_DIRECTORY */

static void fd_unref(struct scap_state *st, struct scap_fd *fd)
{
	if (!fd || --fd->refs)
		return;
	state_str_unref(st, fd->name);
	st->bytes -= sizeof(*fd);
	st->n_fds--;
	free(fd);
}

static struct scap_fd *fd_new(struct scap_state *st, uint8_t type)
{
	struct scap_fd *fd;

	if (st->bytes + sizeof(*fd) > STATE_BYTES_MAX) {
		st->refused++;
		return NULL;
	}
	fd = calloc(1, sizeof(*fd));
	if (!fd)
		return NULL;
	st->bytes += sizeof(*fd);
	st->n_fds++;
	fd->refs = 1;
	fd->type = type;
	return fd;
}

void state_fd_table_unref(struct scap_state *st, struct scap_fdtable *t)
{
	size_t pos = 0;
	void *key, *val;

	if (!t || --t->refs)
		return;
	while (map_next(&t->fds, &pos, &key, &val))
		fd_unref(st, *(struct scap_fd **)val);
	st->bytes -= t->fds.cap * t->fds.stride;
	map_fini(&t->fds);
	free(t);
}

static struct scap_fdtable *fdtable_new(void)
{
	struct scap_fdtable *t = calloc(1, sizeof(*t));

	if (t) {
		t->refs = 1;
		map_init(&t->fds, sizeof(int64_t), sizeof(struct scap_fd *));
	}
	return t;
}

/* @slot as map_add() gives it, with the table's memory accounted for. */
static struct scap_fd **fdtable_slot(struct scap_state *st, struct scap_fdtable *t, int64_t num)
{
	size_t before = t->fds.cap;
	bool is_new;
	struct scap_fd **slot = map_add(&t->fds, &num, &is_new);

	st->bytes += (t->fds.cap - before) * t->fds.stride;
	return slot;
}

/* The table of the process of @t, its own; NULL without memory. */
static struct scap_fdtable *table_own(struct scap_state *st, struct scap_thread *t)
{
	struct scap_thread *main = state_thread_main(st, t);
	struct scap_fdtable *old = main->fds, *copy;
	size_t pos = 0;
	void *key, *val;

	if (old && old->refs == 1)
		return old;
	copy = fdtable_new();
	if (!copy)
		return NULL;
	while (old && map_next(&old->fds, &pos, &key, &val)) {
		struct scap_fd **slot = fdtable_slot(st, copy, *(int64_t *)key);

		if (!slot)
			break;
		*slot = *(struct scap_fd **)val;
		(*slot)->refs++;
	}
	state_fd_table_unref(st, old);
	main->fds = copy;
	return copy;
}

struct scap_fd *state_fd_find(const struct scap_state *st, struct scap_thread *t, int64_t num)
{
	struct scap_thread *main = state_thread_main(st, t);
	struct scap_fd **slot = main->fds ? map_find(&main->fds->fds, &num) : NULL;

	return slot ? *slot : NULL;
}

struct scap_fd *state_fd_own(struct scap_state *st, struct scap_thread *t, int64_t num)
{
	struct scap_fd *old = state_fd_find(st, t, num), *copy, **slot;
	struct scap_fdtable *table;

	if (!old)
		return NULL;
	table = table_own(st, t);
	slot = table ? map_find(&table->fds, &num) : NULL;
	if (!slot || old->refs == 1)
		return slot ? *slot : NULL;
	copy = fd_new(st, old->type);
	if (!copy)
		return NULL;
	*copy = *old;
	copy->refs = 1;
	copy->name = state_str_ref(old->name);
	fd_unref(st, *slot);
	*slot = copy;
	return copy;
}

/* A number that is given away while it is being closed: the close that ends later is of the old one. */
static void cancel_close(struct scap_state *st, struct scap_fdtable *table, struct scap_fd *old, struct scap_fd *new)
{
	struct scap_fd **slot;

	if (!(old->flags & SCAP_FD_CLOSING)) {
		fd_unref(st, old);
		return;
	}
	new->flags |= SCAP_FD_CANCELED;
	slot = fdtable_slot(st, table, FD_CANCELED_NUM);
	if (!slot) {
		fd_unref(st, old);
		return;
	}
	fd_unref(st, *slot);
	*slot = old;
}

/* Takes over the reference @fd. */
static struct scap_fd *fd_put(struct scap_state *st, struct scap_thread *t, int64_t num, struct scap_fd *fd)
{
	struct scap_fdtable *table = fd ? table_own(st, t) : NULL;
	struct scap_fd **slot = table ? fdtable_slot(st, table, num) : NULL, *old;

	if (!slot) {
		fd_unref(st, fd);
		return NULL;
	}
	old = *slot;
	*slot = fd;
	if (old)
		cancel_close(st, table, old, fd);
	return fd;
}

struct scap_fd *state_fd_add(struct scap_state *st, struct scap_thread *t, int64_t num, uint8_t type)
{
	return fd_put(st, t, num, fd_new(st, type));
}

static struct scap_fd *fd_copy(struct scap_state *st, struct scap_thread *t, int64_t num, struct scap_fd *from)
{
	struct scap_fd *copy = fd_new(st, from->type);

	if (!copy)
		return NULL;
	*copy = *from;
	copy->refs = 1;
	copy->flags &= (uint8_t)~(SCAP_FD_CLOSING | SCAP_FD_CANCELED);
	copy->name = state_str_ref(from->name);
	return fd_put(st, t, num, copy);
}

void state_fd_remove(struct scap_state *st, struct scap_thread *t, int64_t num)
{
	struct scap_fdtable *table = state_fd_find(st, t, num) ? table_own(st, t) : NULL;
	struct scap_fd **slot = table ? map_find(&table->fds, &num) : NULL, *fd;

	if (!slot)
		return;
	fd = *slot;
	map_remove(&table->fds, &num);
	fd_unref(st, fd);
}

void state_fd_set_name(struct scap_state *st, struct scap_fd *fd, const char *s, size_t len)
{
	state_str_set(st, &fd->name, state_str_new(st, s, len));
}

struct scap_str *state_fd_directory(struct scap_state *st, struct scap_thread *t, int64_t dirfd)
{
	struct scap_thread *main = state_thread_main(st, t);
	struct scap_fd *fd;
	char path[PATH_BYTES_MAX];

	if (dirfd == AT_FDCWD_NUM)
		return main->cwd ? state_str_ref(main->cwd) : state_str_new(st, "", 0);
	fd = state_fd_find(st, t, dirfd);
	if (!fd || !fd->name || !fd->name->len || fd->name->len >= sizeof(path))
		return state_str_new(st, "", 0);
	memcpy(path, fd->name->data, fd->name->len);
	path[fd->name->len] = '/';
	return state_str_new(st, path, fd->name->len + (path[fd->name->len - 1] != '/'));
}

/* ---- rows ---- */

static void row_socket(struct scap_state *st, struct scap_fd *fd, const struct params *p)
{
	struct cursor addr = params_cursor(p, 6);
	bool changed, is_new;
	uint64_t l4 = 0;
	const uint8_t *ip;

	params_u64(p, 7, &l4);
	fd->l4 = (uint8_t)l4;
	if (fd->type == FD_IPV4 || fd->type == FD_IPV6) {
		state_net_fd_set_tuple(st, fd, params_cursor(p, 5), &changed);
		fd->flags |= fd->l4 == 2 ? SCAP_FD_CONNECTED : 0;
		state_net_fd_infer_address(st, fd);
	} else {
		cur_skip(&addr, 1);
		ip = cur_bytes(&addr, fd->type == FD_IPV4_SERVER ? 4 : 16);
		fd->dport = cur_u16(&addr);
		if (cur_ok(&addr))
			fd->dip = fd->type == FD_IPV4_SERVER ? state_net_ip4_of(ip) : state_net_ip6_of(ip);
		map_add(&st->server_ports, &fd->dport, &is_new);
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

void state_fd_from_row(struct scap_state *st, const struct params *p)
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

void state_fd_settle(struct scap_state *st)
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

/* What the kernel copied when the call came in cannot have been changed by another thread meanwhile. */
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
	fd = fd_copy(f->st, f->t, f->res, f->fd);
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
	static const struct { uint16_t event; uint8_t type; } kinds[] = {
		{ SCAP_EVENTFD_X, 9 }, { SCAP_EVENTFD2_X, 9 }, { SCAP_SIGNALFD_X, 11 }, { SCAP_SIGNALFD4_X, 11 },
		{ SCAP_EPOLL_CREATE_X, 12 }, { SCAP_EPOLL_CREATE1_X, 12 }, { SCAP_INOTIFY_INIT_X, 13 },
		{ SCAP_INOTIFY_INIT1_X, 13 }, { SCAP_TIMERFD_CREATE_X, 14 }, { SCAP_USERFAULTFD_X, 18 },
		{ SCAP_IO_URING_SETUP_X, 19 }, { SCAP_MEMFD_CREATE_X, 20 }, { SCAP_PIDFD_OPEN_X, 21 },
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
