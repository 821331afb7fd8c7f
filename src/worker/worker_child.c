// SPDX-License-Identifier: GPL-2.0-or-later
#include "worker/worker_child.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "worker/confine.h"

/* Of the linker; absent in a program without plain workers. */
extern const worker_fn __start_plain_workers[] __attribute__((weak));
extern const worker_fn __stop_plain_workers[] __attribute__((weak));

bool worker_child_is_plain(worker_fn fn)
{
	for (const worker_fn *at = __start_plain_workers; at < __stop_plain_workers; at++)
		if (*at == fn)
			return true;
	return false;
}

/* A duplicate of *fd at @least or above; -1 stays. */
static int move_up(int *fd, int least)
{
	if (*fd < 0)
		return 0;
	*fd = fcntl(*fd, F_DUPFD_CLOEXEC, least);
	return *fd < 0 ? -errno : 0;
}

/*
 * Moves the further descriptors of a plain worker to WORKER_FD_FIRST and on, the others above them: @fds gets the
 * new numbers.
 */
static int place_fds(struct worker_child *c, int fds[static WORKER_FDS_MAX])
{
	const size_t n = c->opts->n_fds;
	const int least = WORKER_FD_FIRST + (int)n;
	int r;

	if (n > WORKER_FDS_MAX)
		return -E2BIG;
	r = move_up(&c->in_fd, least);
	if (r == 0)
		r = move_up(&c->answer_fd, least);
	if (r == 0)
		r = move_up(&c->report_fd, least);
	for (size_t i = 0; r == 0 && i < n; i++) {
		fds[i] = c->opts->fds[i];
		r = move_up(&fds[i], least);	/* above all places, so that none overwrites another */
	}
	for (size_t i = 0; r == 0 && i < n; i++) {
		fds[i] = dup3(fds[i], WORKER_FD_FIRST + (int)i, O_CLOEXEC);
		r = fds[i] < 0 ? -errno : 0;
	}
	return r;
}

/* Drops the privileges. 0, or -errno and the step that failed. */
static int settle(struct worker_child *c, const char **ret_step)
{
	struct worker_opts o = *c->opts;
	int fds[WORKER_FDS_MAX], r = 0;

	*ret_step = "order its descriptors";
	if (o.n_fds && worker_child_is_plain(c->fn))
		r = place_fds(c, fds);
	else if (c->report_fd <= STDERR_FILENO) /* the parent has closed standard descriptors */
		r = move_up(&c->report_fd, WORKER_FD_FIRST);
	if (r < 0)
		return r;
	if (o.n_fds && worker_child_is_plain(c->fn))
		o.fds = fds;
	return confine(&o, c->in_fd, c->answer_fd, c->report_fd, c->parent, ret_step);
}

_Noreturn void worker_child_run(const struct worker_child *child)
{
	struct worker_child c = *child;
	struct start_report report = { 0 };
	const char *step = "";

	report.code = settle(&c, &step);
	snprintf(report.step, sizeof(report.step), "%s", step);
	if (write(c.report_fd, &report, sizeof(report)) != sizeof(report) || report.code < 0)
		_exit(255);
	close(c.report_fd);
	_exit(c.fn(c.ctx, c.in_fd < 0 ? -1 : STDIN_FILENO, STDOUT_FILENO) & 0xff);
}
