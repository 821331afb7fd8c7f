// SPDX-License-Identifier: GPL-2.0-or-later
#include "probe/async_map_update.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/vec.h"

#define TIMEOUT_NS 5000000000ull	/* the thread needs two time slices */
#define PAUSE_NS 200000

struct async_map_update {
	VEC(struct async_map_update_put) puts;
	uint32_t *keys;		/* owned; parallel to puts, like fds */
	int *fds;
	size_t n_done;		/* leading puts that are known to have taken effect */
	pthread_t thread;	/* valid if it runs */
	bool runs;
	atomic_bool done;
	int result;		/* of the thread, when done */
	bool failed;
	uint64_t end_ns;	/* when patience ends */
};

int async_map_update_new(struct async_map_update **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

int async_map_update_add(struct async_map_update *m, const struct async_map_update_put *p)
{
	return vec_push(&m->puts, *p);
}

/* Updates one array by a batch, which waits once; by single updates before Linux 5.14. */
static int put_row(const struct async_map_update *m, size_t from, size_t n)
{
	const int outer = m->puts.items[from].outer_fd;
	uint32_t count = (uint32_t)n;

	if (bpf_map_update_batch(outer, m->keys + from, m->fds + from, &count, NULL) == 0)
		return 0;
	for (size_t i = from; i < from + n; i++)
		if (bpf_map_update_elem(outer, &m->keys[i], &m->fds[i], BPF_ANY) < 0)
			return -errno;
	return 0;
}

static int put_all(const struct async_map_update *m)
{
	int r = 0;

	for (size_t i = 0, n; r == 0 && i < m->puts.len; i += n) {
		for (n = 1; i + n < m->puts.len && m->puts.items[i + n].outer_fd == m->puts.items[i].outer_fd; n++)
			;
		r = put_row(m, i, n);
	}
	return r;
}

static void *work(void *arg)
{
	struct async_map_update *m = arg;

	m->result = put_all(m);
	atomic_store_explicit(&m->done, true, memory_order_release);
	return NULL;
}

int async_map_update_start(struct async_map_update *m)
{
	m->keys = calloc(m->puts.len + 1, sizeof(*m->keys));
	m->fds = calloc(m->puts.len + 1, sizeof(*m->fds));
	if (!m->keys || !m->fds)
		return -ENOMEM;
	for (size_t i = 0; i < m->puts.len; i++) {
		m->keys[i] = m->puts.items[i].key;
		m->fds[i] = m->puts.items[i].inner_fd;
	}
	m->end_ns = clock_boot_ns() + TIMEOUT_NS;
	m->runs = pthread_create(&m->thread, NULL, work, m) == 0;
	return m->runs ? 0 : put_all(m);	/* without a thread: block */
}

/* User space reads an inner map as its id. */
static bool in_place(const struct async_map_update_put *p)
{
	uint32_t id;

	return bpf_map_lookup_elem(p->outer_fd, &p->key, &id) == 0;
}

static void join(struct async_map_update *m)
{
	if (m->runs)
		pthread_join(m->thread, NULL);
	m->runs = false;
	m->failed |= m->result < 0;
}

bool async_map_update_ended(struct async_map_update *m)
{
	if (m->runs && !atomic_load_explicit(&m->done, memory_order_acquire))
		return false;
	join(m);
	return true;
}

bool async_map_update_failed(const struct async_map_update *m)
{
	return m->failed;
}

int async_map_update_poll(struct async_map_update *m)
{
	const bool ended = async_map_update_ended(m); /* before the look: afterwards nothing changes */

	while (m->n_done < m->puts.len && in_place(&m->puts.items[m->n_done]))
		m->n_done++;
	if (m->n_done == m->puts.len)
		return 0;
	if (m->failed)
		return -EIO;
	if (ended)
		return -EIO;	/* taken out again by somebody else */
	return clock_boot_ns() > m->end_ns ? -ETIMEDOUT : -EAGAIN;
}

int async_map_update_finish(struct async_map_update *m)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	int r;

	while ((r = m ? async_map_update_poll(m) : 0) == -EAGAIN)
		nanosleep(&pause, NULL);
	return r;
}

void async_map_update_free(struct async_map_update *m)
{
	if (!m)
		return;
	join(m);
	free(m->keys);
	free(m->fds);
	vec_fini(&m->puts);
	free(m);
}
