// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Memory of descriptors and of the tables that processes share.
 */
#include <stdlib.h>

#include "scap/state/state_tables.h"

void state_fd_table_fd_unref(struct scap_state *st, struct scap_fd *fd)
{
	if (!fd || --fd->refs)
		return;
	state_str_unref(st, fd->name);
	st->bytes -= sizeof(*fd);
	free(fd);
}

struct scap_fd *state_fd_table_fd_new(struct scap_state *st, uint8_t type)
{
	struct scap_fd *fd = st->bytes + sizeof(*fd) > STATE_BYTES_MAX ? NULL : calloc(1, sizeof(*fd));

	if (!fd)
		return NULL;
	st->bytes += sizeof(*fd);
	fd->refs = 1;
	fd->serial = ++st->n_serials;
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
		state_fd_table_fd_unref(st, *(struct scap_fd **)val);
	st->bytes -= t->fds.cap * t->fds.stride;
	map_fini(&t->fds);
	free(t);
}

struct scap_fdtable *state_fd_table_new(void)
{
	struct scap_fdtable *t = calloc(1, sizeof(*t));

	if (t) {
		t->refs = 1;
		map_init(&t->fds, sizeof(int64_t), sizeof(struct scap_fd *));
	}
	return t;
}

struct scap_fd **state_fd_table_slot(struct scap_state *st, struct scap_fdtable *t, int64_t num)
{
	size_t before = t->fds.cap;
	struct scap_fd **slot = map_add(&t->fds, &num, NULL);

	t->recent = NULL;	/* the caller sets the slot */
	st->bytes += (t->fds.cap - before) * t->fds.stride;
	return slot;
}
