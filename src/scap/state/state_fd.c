// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Descriptors of a process: lookup, copy on write, insertion and removal.
 */
#include "scap/state/state_tables.h"

/* The table of the process of @t, its own; NULL without memory. */
static struct scap_fdtable *table_own(struct scap_state *st, struct scap_thread *t)
{
	struct scap_thread *main = state_thread_main(st, t);
	struct scap_fdtable *old = main->fds, *copy;
	size_t pos = 0;
	void *key, *val;

	if (old && old->refs == 1)
		return old;
	copy = state_fd_table_new();
	if (!copy)
		return NULL;
	while (old && map_next(&old->fds, &pos, &key, &val)) {
		struct scap_fd **slot = state_fd_table_slot(st, copy, *(int64_t *)key);

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
	struct scap_fdtable *table = main->fds;

	if (!table)
		return NULL;
	if (table->recent && table->recent_num == num)
		return table->recent;
	table->recent = map_find_ptr(&table->fds, &num);
	table->recent_num = num;
	return table->recent;
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
	copy = state_fd_table_fd_new(st, old->type);
	if (!copy)
		return NULL;
	*copy = *old;
	copy->refs = 1;
	copy->name = state_str_ref(old->name);
	table->recent = NULL;
	state_fd_table_fd_unref(st, *slot);
	*slot = copy;
	return copy;
}

/* A number that is given away while it is being closed: the close that ends later is of the old one. */
static void cancel_close(struct scap_state *st, struct scap_fdtable *table, struct scap_fd *old, struct scap_fd *new)
{
	struct scap_fd **slot;

	if (!(old->flags & SCAP_FD_CLOSING)) {
		state_fd_table_fd_unref(st, old);
		return;
	}
	new->flags |= SCAP_FD_CANCELED;
	slot = state_fd_table_slot(st, table, FD_CANCELED_NUM);
	if (!slot) {
		state_fd_table_fd_unref(st, old);
		return;
	}
	state_fd_table_fd_unref(st, *slot);
	*slot = old;
}

/* Takes over the reference @fd. */
static struct scap_fd *fd_put(struct scap_state *st, struct scap_thread *t, int64_t num, struct scap_fd *fd)
{
	struct scap_fdtable *table = fd ? table_own(st, t) : NULL;
	struct scap_fd **slot = table ? state_fd_table_slot(st, table, num) : NULL, *old;

	if (!slot) {
		state_fd_table_fd_unref(st, fd);
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
	return fd_put(st, t, num, state_fd_table_fd_new(st, type));
}

struct scap_fd *state_fd_copy(struct scap_state *st, struct scap_thread *t, int64_t num, struct scap_fd *from)
{
	struct scap_fd *copy = state_fd_table_fd_new(st, from->type);
	uint64_t serial;

	if (!copy)
		return NULL;
	serial = copy->serial;
	*copy = *from;
	copy->refs = 1;
	copy->serial = serial;
	copy->flags &= (uint8_t)~(SCAP_FD_CLOSING | SCAP_FD_CANCELED);
	copy->name = state_str_ref(from->name);
	return fd_put(st, t, num, copy);
}

void state_fd_remove(struct scap_state *st, struct scap_thread *t, int64_t num)
{
	struct scap_fdtable *table = state_fd_find(st, t, num) ? table_own(st, t) : NULL;
	struct scap_fd *fd = table ? map_find_ptr(&table->fds, &num) : NULL;

	if (!fd)
		return;
	table->recent = NULL;
	map_remove(&table->fds, &num);
	state_fd_table_fd_unref(st, fd);
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
