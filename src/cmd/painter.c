// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/painter.h"

#include <errno.h>
#include <stdlib.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/macros.h"
#include "base/process/thread.h"

#define PATIENCE_NS 500000000	/* for the last picture; again after output was resumed */

struct painter {
	pthread_t thread;
	pthread_mutex_t lock;	/* of what follows */
	pthread_cond_t changed;
	struct buf next;
	bool has_next, stop, ended;
	/* the thread's own */
	struct buf picture;
	paint_fn paint;
	void *ctx;
};

static void write_out(_unused_ void *ctx, const struct buf *picture)
{
	io_write_all(STDOUT_FILENO, picture->data, picture->len);
}

static void swap(struct buf *a, struct buf *b)
{
	struct buf was = *a;

	*a = *b;
	*b = was;
}

static void *painter_main(void *arg)
{
	struct painter *p = arg;

	pthread_mutex_lock(&p->lock);
	for (;;) {
		while (!p->has_next && !p->stop)
			pthread_cond_wait(&p->changed, &p->lock);
		if (!p->has_next)
			break;
		swap(&p->next, &p->picture);
		p->has_next = false;
		pthread_mutex_unlock(&p->lock);
		p->paint(p->ctx, &p->picture);
		pthread_mutex_lock(&p->lock);
	}
	p->ended = true;
	pthread_cond_signal(&p->changed);
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

static void release(struct painter *p)
{
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->lock);
	buf_fini(&p->next);
	buf_fini(&p->picture);
	free(p);
}
DEFINE_CLEANUP(struct painter *, release)

int painter_new(paint_fn paint, void *ctx, struct painter **ret)
{
	_cleanup_(releasep) struct painter *p = calloc(1, sizeof(*p));
	pthread_condattr_t attr;
	int r;

	if (!p)
		return -ENOMEM;
	p->paint = paint ? paint : write_out;
	p->ctx = ctx;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->changed, &attr);
	pthread_condattr_destroy(&attr);
	r = thread_start(&p->thread, painter_main, p);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(p);
	return 0;
}

void painter_put(struct painter *p, struct buf *picture)
{
	pthread_mutex_lock(&p->lock);
	swap(&p->next, picture);
	p->has_next = true;
	pthread_cond_signal(&p->changed);
	pthread_mutex_unlock(&p->lock);
}

static bool wait_ended(struct painter *p)
{
	struct timespec until;
	int r = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += PATIENCE_NS;
	until.tv_sec += until.tv_nsec / (long)NS_PER_S;
	until.tv_nsec %= (long)NS_PER_S;
	while (!p->ended && r != ETIMEDOUT)
		r = pthread_cond_timedwait(&p->changed, &p->lock, &until);
	return p->ended;
}

bool painter_free(struct painter *p)
{
	bool ended;

	if (!p)
		return true;
	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_cond_signal(&p->changed);
	ended = wait_ended(p);
	if (!ended && tcflow(STDOUT_FILENO, TCOON) == 0)
		ended = wait_ended(p);
	pthread_mutex_unlock(&p->lock);
	if (!ended) {
		pthread_detach(p->thread);
		return false;
	}
	pthread_join(p->thread, NULL);
	release(p);
	return true;
}
