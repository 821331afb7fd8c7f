// SPDX-License-Identifier: GPL-2.0-or-later
#include "compat/perf/perf_input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "cmd/cmd.h"
#include "cmd/run/run.h"
#include "compat/perf/perf_select.h"
#include "event/event.h"
#include "probes/cpu/cpu_event.h"
#include "sym/sym.h"

#define PERF_FILE "perf.data"
#define NO_FILE_STATUS 255 /* of perf, for a file that it cannot open */

static bool stdin_is_pipe(void)
{
	struct stat st;

	return fstat(STDIN_FILENO, &st) == 0 && S_ISFIFO(st.st_mode);
}

/* Both forms of perf's files, of either byte order, begin with it. */
static bool is_perfs_own(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char head[8];

	return fd >= 0 && read(fd, head, sizeof(head)) == sizeof(head) &&
	       (!memcmp(head, "PERFILE2", 8) || !memcmp(head, "2ELIFREP", 8));
}

int perf_input_name(struct run_conf *c, struct err *err)
{
	struct stat st;

	if (!c->read)
		c->read = stdin_is_pipe() ? "-" : PERF_FILE;
	if (!strcmp(c->read, "-"))
		return 0;
	if (stat(c->read, &st) < 0)
		return err_errno(err, -errno, "failed to open %s (try 'sonde compat perf record' first)", c->read);
	if (S_ISREG(st.st_mode) && is_perfs_own(c->read))
		return err_set(err, -EINVAL,
			       "%s is a file of perf itself, which only perf reads: record with sonde "
			       "compat perf record, or convert the lines of perf script",
			       c->read);
	return 0;
}

static int read_all(struct run_conf *c, const struct perf_input *in, const struct cmd_words *w)
{
	const struct sym_opts symbols = { .lines = in->lines, .raw_names = in->raw_names };
	const struct run_stacks stacks = { .view = in->view, .symbols = &symbols };
	const struct run_ops spec = {
		.stacks = &stacks,
		.pass = perf_select_pass,
		.pass_ctx = in->select,
		.cmdline = w->line,
		.output = "",
		.watcher = in->sink,
		.watcher_ctx = in->ctx,
	};

	return run(c, &spec);
}

int perf_input_run(struct run_conf *c, const struct perf_input *in, const struct cmd_words *w)
{
	_cleanup_(run_texts_fini) struct run_texts texts = { 0 };
	struct err err = { 0 };
	int r = perf_input_name(c, &err), status;

	if (r >= 0)
		r = perf_select_begin(in->select, &err);
	if (r >= 0)
		r = run_settle(c, NULL, "rec", &texts, &err);
	if (r < 0) {
		log_error("%s", err.msg);
		status = r == -ENOENT ? NO_FILE_STATUS : cmd_exit_status(r);
	} else {
		status = read_all(c, in, w);
	}
	perf_select_fini(in->select);
	return status;
}

const char *perf_input_event(const struct event *ev, const char *before)
{
	const struct cpu_body *b = ev->desc == &cpu_sample_desc ? ev->body : NULL;

	if (!b)
		return before ? before : ev->desc->name;
	return b->mode & CPU_MODE_EVENTS ? "cycles" : "cpu-clock";
}
