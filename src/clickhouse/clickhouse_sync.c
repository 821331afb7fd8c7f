// SPDX-License-Identifier: GPL-2.0-or-later
#include "clickhouse/clickhouse_sync.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/process/thread.h"

#define WAITING 64u /* more are the size of the whole spool */

struct clickhouse_sync {
	int dir_fd;
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t wake;
	int fds[WAITING]; /* owned; under the mutex, as the rest */
	unsigned first, n;
	bool end;
};

/* Errors show when a later run reads the file: it has a checksum. */
static void *serve(void *ctx)
{
	struct clickhouse_sync *s = ctx;

	pthread_mutex_lock(&s->mutex);
	while (s->n || !s->end) {
		int fd;

		if (!s->n) {
			pthread_cond_wait(&s->wake, &s->mutex);
			continue;
		}
		fd = s->fds[s->first];
		s->first = (s->first + 1) % WAITING;
		s->n--;
		pthread_mutex_unlock(&s->mutex);
		fdatasync(fd);
		close(fd);
		fsync(s->dir_fd);
		pthread_mutex_lock(&s->mutex);
	}
	pthread_mutex_unlock(&s->mutex);
	return NULL;
}

int clickhouse_sync_new(int dir_fd, struct clickhouse_sync **ret)
{
	_cleanup_free_ struct clickhouse_sync *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->dir_fd = dir_fd;
	pthread_mutex_init(&s->mutex, NULL);
	pthread_cond_init(&s->wake, NULL);
	r = thread_start(&s->thread, serve, s);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(s);
	return 0;
}

void clickhouse_sync_free(struct clickhouse_sync *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->mutex);
	s->end = true;
	pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->mutex);
	pthread_join(s->thread, NULL);
	free(s);
}

int clickhouse_sync_add(struct clickhouse_sync *s, int fd)
{
	bool room;

	pthread_mutex_lock(&s->mutex);
	room = s->n < WAITING;
	if (room)
		s->fds[(s->first + s->n++) % WAITING] = fd;
	pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->mutex);
	return room ? 0 : -EBUSY;
}
