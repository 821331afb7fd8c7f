// SPDX-License-Identifier: GPL-2.0-or-later
#include "store/store_sync.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/process/thread.h"
#include "base/vec.h"
#include "store/store_dir.h"

#define COPY_BYTES (1u << 20)

struct job {
	int fd;		/* owned */
	int from_fd;	/* owned; copied to fd first; -1 = nothing is */
	bool seal;
	uint64_t number;
};

struct store_sync {
	int dir_fd;
	struct store_limits limits;
	uint64_t coming;
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t wake;
	VEC(struct job) jobs;	/* under the mutex; the first one runs */
	int error;		/* first one, under the mutex */
	bool end;
};

static int seal(const struct store_sync *s, const struct job *j)
{
	char from[STORE_NAME_BYTES], to[STORE_NAME_BYTES];

	store_dir_name(j->number, STORE_PART, from);
	store_dir_name(j->number, STORE_SEALED, to);
	if (fsync(j->fd) < 0 || renameat(s->dir_fd, from, s->dir_fd, to) < 0 || fsync(s->dir_fd) < 0)
		return -errno;
	return MIN(store_dir_trim(s->dir_fd, &s->limits, s->coming), 0);
}

static int copy(const struct job *j)
{
	off_t at = 0;
	ssize_t n;

	do
		n = sendfile(j->fd, j->from_fd, &at, COPY_BYTES);
	while (n > 0 || (n < 0 && errno == EINTR));
	return n < 0 ? -errno : 0;
}

/* A copy that does not fit is removed: its segment has nothing that a reader could use. */
static int copy_and_seal(const struct store_sync *s, const struct job *j)
{
	char name[STORE_NAME_BYTES];
	int r = copy(j);

	if (r >= 0)
		return seal(s, j);
	store_dir_name(j->number, STORE_PART, name);
	unlinkat(s->dir_fd, name, 0);
	return r;
}

static int carry_out(const struct store_sync *s, const struct job *j)
{
	int r;

	if (j->from_fd >= 0)
		r = copy_and_seal(s, j);
	else
		r = j->seal ? seal(s, j) : fdatasync(j->fd) < 0 ? -errno : 0;
	close(j->fd);
	cleanup_close(&j->from_fd);
	return r;
}

static void *serve(void *ctx)
{
	struct store_sync *s = ctx;

	pthread_mutex_lock(&s->mutex);
	while (s->jobs.len || !s->end) {
		struct job j;
		int r;

		if (!s->jobs.len) {
			pthread_cond_wait(&s->wake, &s->mutex);
			continue;
		}
		j = s->jobs.items[0];
		pthread_mutex_unlock(&s->mutex);
		r = carry_out(s, &j);
		pthread_mutex_lock(&s->mutex);
		s->error = s->error ? s->error : r;
		s->jobs.len--;
		memmove(s->jobs.items, s->jobs.items + 1, s->jobs.len * sizeof(*s->jobs.items));
	}
	pthread_mutex_unlock(&s->mutex);
	return NULL;
}

int store_sync_new(int dir_fd, const struct store_limits *limits, uint64_t coming, struct store_sync **ret)
{
	_cleanup_free_ struct store_sync *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->dir_fd = dir_fd;
	s->limits = *limits;
	s->coming = coming;
	pthread_mutex_init(&s->mutex, NULL);
	pthread_cond_init(&s->wake, NULL);
	r = thread_start(&s->thread, serve, s);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(s);
	return 0;
}

int store_sync_free(struct store_sync *s)
{
	int r;

	if (!s)
		return 0;
	pthread_mutex_lock(&s->mutex);
	s->end = true;
	pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->mutex);
	pthread_join(s->thread, NULL);
	r = s->error;
	vec_fini(&s->jobs);
	free(s);
	return r;
}

/* Takes over j->fd, also on failure. */
static int submit(struct store_sync *s, const struct job *j)
{
	int r;

	pthread_mutex_lock(&s->mutex);
	r = vec_push(&s->jobs, *j);
	pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->mutex);
	if (r < 0) {
		close(j->fd);
		cleanup_close(&j->from_fd);
	}
	return r;
}

bool store_sync_is_idle(struct store_sync *s)
{
	bool idle;

	pthread_mutex_lock(&s->mutex);
	idle = !s->jobs.len;
	pthread_mutex_unlock(&s->mutex);
	return idle;
}

void store_sync_data(struct store_sync *s, int fd)
{
	struct job j = { .fd = -1, .from_fd = -1 };

	if (!store_sync_is_idle(s))
		return;
	j.fd = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (j.fd >= 0)
		submit(s, &j);
}

int store_sync_seal(struct store_sync *s, int fd, uint64_t number)
{
	return submit(s, &(struct job){ .fd = fd, .from_fd = -1, .seal = true, .number = number });
}

int store_sync_copy(struct store_sync *s, int from_fd, int fd, uint64_t number)
{
	return submit(s, &(struct job){ .fd = fd, .from_fd = from_fd, .seal = true, .number = number });
}
