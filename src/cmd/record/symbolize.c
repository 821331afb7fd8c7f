// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A process of its own replays the segment, gives up its rights and sends the names as records; this one, which may
 * write the store, copies them without a look inside.
 */
#include "cmd/record/symbolize.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/io.h"
#include "base/macros.h"
#include "cmd/run/run.h"
#include "event/event.h"
#include "sinks/sink.h"
#include "sonde/store.h"
#include "sonde/symbol_wire.h"
#include "stack/view.h"
#include "store/store_dir.h"
#include "store/store_names.h"
#include "sym/sym.h"

#define NAMES_MAX_BYTES (256u << 20)	/* of one segment */
#define BUDGET_BYTES (128u << 20)

/* ---- the process that reads ---- */

static int take_stack(struct sink *s, const struct event *ev)
{
	return sym_collect(s->opts->sym, ev);
}

static int send_record(void *ctx, struct sonde_rec *r, size_t len)
{
	static const char zeros[SONDE_STORE_ALIGN];
	const int fd = *(const int *)ctx, ret = io_write_all(fd, r, len);

	return ret < 0 ? ret : io_write_all(fd, zeros, ROUND_UP(len, (size_t)SONDE_STORE_ALIGN) - len);
}

/* The names, and how many are missing. */
static int send_names(struct sink *s)
{
	struct sonde_lost_rec l = { .hdr = { .type = SONDE_EV_LOST, .len = sizeof(l) }, .cause = SONDE_LOST_NAMES };
	uint64_t missing = 0;
	int r = sym_collect_write(s->opts->sym, send_record, s->opts->ctx, &missing);

	l.count = missing;
	return r < 0 ? r : send_record(s->opts->ctx, &l.hdr, sizeof(l));
}

static const struct sink_ops names_sink = {
	.name = "names", .summary = "for the command itself", .event = take_stack, .close = send_names,
};

static int replay(const char *path, uint64_t segment, const char *symfs, int fd)
{
	const struct run_conf conf = {
		.read = path, .symfs = symfs, .quiet = true, .agent = "no", .store.segment = &segment,
	};
	const struct sym_opts symbols = { .lines = true, .collects = true, .budget_bytes = BUDGET_BYTES };
	const struct stack_view view = { 0 };
	const struct run_stacks stacks = { .view = &view, .symbols = &symbols };
	const struct run_ops spec = {
		.stacks = &stacks, .cmdline = "sonde store symbolize", .output = "", .watcher = &names_sink,
		.watcher_ctx = &fd,
	};

	return run(&conf, &spec);
}

/* ---- the process that writes ---- */

/* Only records of names pass, whole ones; the last one says what is missing. */
static int check_records(struct buf *b, struct symbolize_counts *counts)
{
	struct sonde_symbols_rec s;
	struct sonde_lost_rec l;
	size_t at = 0;

	while (b->len - at >= sizeof(s)) {
		memcpy(&s, b->data + at, sizeof(s));
		if (s.hdr.type != SONDE_EV_SYMBOLS || s.hdr.len < sizeof(s) || s.hdr.len > SONDE_STORE_BLOCK_BYTES ||
		    s.hdr.len > b->len - at)
			break;
		counts->named += s.n;
		at += ROUND_UP(s.hdr.len, (uint32_t)SONDE_STORE_ALIGN);
		if (at > b->len)
			return -EBADMSG;
	}
	if (b->len - at != ROUND_UP(sizeof(l), (size_t)SONDE_STORE_ALIGN))
		return -EBADMSG;
	memcpy(&l, b->data + at, sizeof(l));
	if (l.hdr.type != SONDE_EV_LOST)
		return -EBADMSG;
	counts->missing += l.count;
	b->len = at;
	return 0;
}

static int wait_for(pid_t child)
{
	int status;

	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -ECHILD;
}

static int ask(const char *path, uint64_t segment, const char *symfs, struct buf *ret)
{
	int fds[2], r, ended;
	pid_t child;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	child = fork();
	if (child == 0) {
		close(fds[0]);
		_exit(replay(path, segment, symfs, fds[1]));
	}
	close(fds[1]);
	r = child < 0 ? -errno : io_read_to_end(fds[0], NAMES_MAX_BYTES, ret);
	close(fds[0]);
	ended = child < 0 ? 0 : wait_for(child);
	return r < 0 ? r : ended;
}

int symbolize_segment(const char *path, int dir_fd, const struct store_file *f, const char *symfs,
		      struct symbolize_counts *counts, struct err *err)
{
	_cleanup_(buf_fini) struct buf names = { 0 };
	struct symbolize_counts here = { 0 };
	int r = ask(path, f->number, symfs, &names);

	if (r == -ECHILD)
		return err_set(err, r, "%s: segment %" PRIu64 " could not be read; it is unchanged", path, f->number);
	if (r >= 0)
		r = check_records(&names, &here);
	if (r >= 0 && here.named)
		r = store_names_add(dir_fd, f, &names);
	if (r == -ENOENT)	/* removed meanwhile */
		return 0;
	if (r < 0)
		return err_errno(err, r, "%s: cannot add names to segment %" PRIu64, path, f->number);
	counts->named += here.named;
	counts->missing += here.missing;
	return 0;
}
