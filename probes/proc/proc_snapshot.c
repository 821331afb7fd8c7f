// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An iterator is a file: reading it runs the program over every task, and what the program wrote comes out as
 * whole records, one behind the other, cut anywhere by read().
 */
#include "probes/proc/proc_snapshot.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/macros.h"
#include "event/event.h"
#include "probes/proc/proc_wire.h"

#define READ_BYTES 65536

DEFINE_CLEANUP(struct bpf_link *, bpf_link__destroy)

static void cleanup_buf(struct buf *b)
{
	buf_fini(b);
}

/* A record with room for a command line. */
union task_room {
	struct proc_exec_rec rec;
	char bytes[sizeof(struct proc_exec_rec) + PROC_PATH_BYTES + 256 + PROC_ARGS_BYTES];
};

/*
 * Appends /proc/PID/cmdline. Should the process have run another program since the iterator saw it, these are the
 * new one's arguments; its exec record, which is later, then puts the name right too.
 */
static size_t add_cmdline(union task_room *room, size_t len, const char *proc_dir)
{
	char path[256];
	_cleanup_close_ int fd = -1;
	ssize_t n;

	if (room->rec.hdr.tid != room->rec.hdr.tgid || !room->rec.path_len)
		return len;
	snprintf(path, sizeof(path), "%s/%u/cmdline", proc_dir, room->rec.hdr.tgid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, room->bytes + len, MIN((size_t)PROC_ARGS_BYTES, sizeof(*room) - len));
	if (n <= 0)
		return len;
	room->rec.args_len = (uint16_t)n;
	return len + (size_t)n;
}

static int give(struct sonde_rec *r, size_t len, const char *proc_dir, snapshot_fn fn, void *ctx)
{
	union task_room room;

	if (!proc_dir || r->type != PROC_REC_TASK || len > sizeof(room))
		return fn(ctx, r, len);
	memcpy(&room, r, len);
	len = add_cmdline(&room, len, proc_dir);
	room.rec.hdr.len = (uint32_t)len;
	return fn(ctx, &room.rec.hdr, len);
}

/* Hands over the whole records in @b and keeps the rest. Returns how many. */
static int give_all(struct buf *b, const char *proc_dir, snapshot_fn fn, void *ctx)
{
	_Alignas(8) uint8_t one[4096];
	size_t done = 0;
	int n = 0, r;

	while (b->len - done >= sizeof(struct sonde_rec)) {
		struct cursor c = cur_init(b->data + done, b->len - done);
		struct sonde_rec head;

		cur_copy(&c, &head, sizeof(head));
		if (head.len < sizeof(head) || head.len > sizeof(one))
			return -EBADMSG;
		if (head.len > b->len - done)
			break;
		memcpy(one, b->data + done, head.len);
		r = give((void *)one, head.len, proc_dir, fn, ctx);
		if (r < 0)
			return r;
		done += head.len;
		n++;
	}
	buf_consume(b, done);
	return n;
}

int proc_snapshot_read(const struct bpf_program *prog, uint32_t tgid, const char *proc_dir, snapshot_fn fn, void *ctx,
		       struct err *err)
{
	union bpf_iter_link_info only = { .task.pid = tgid };
	LIBBPF_OPTS(bpf_iter_attach_opts, opts, .link_info = &only, .link_info_len = sizeof(only));
	_cleanup_(bpf_link__destroyp) struct bpf_link *link = bpf_program__attach_iter(prog, tgid ? &opts : NULL);
	_cleanup_(cleanup_buf) struct buf b = { 0 };
	_cleanup_close_ int fd = -1;
	int n = 0, r;

	if (!link)
		return err_errno(err, -errno, "cannot attach the iterator %s", bpf_program__name(prog));
	fd = bpf_iter_create(bpf_link__fd(link));
	if (fd < 0)
		return err_errno(err, -errno, "cannot open the iterator %s", bpf_program__name(prog));
	for (;;) {
		void *room = buf_reserve(&b, READ_BYTES);
		ssize_t got = room ? read(fd, room, READ_BYTES) : -1;

		if (got < 0 && room && (errno == EINTR || errno == EAGAIN))
			continue;
		if (got < 0)
			return err_errno(err, room ? -errno : -ENOMEM, "cannot read the iterator %s",
					 bpf_program__name(prog));
		if (got == 0)
			return n;
		buf_commit(&b, (size_t)got);
		r = give_all(&b, proc_dir, fn, ctx);
		if (r < 0)
			return err_errno(err, r, "cannot use what the iterator %s gave", bpf_program__name(prog));
		n += r;
	}
}

/* ---- from the state engine ---- */

/* Appends a text of @proc. Returns its length. */
static uint16_t add_text(struct proc_task_rec *r, const struct sec_proc *proc, const struct section *s,
			 struct sec_str str, size_t most)
{
	size_t len;
	const char *text = event_sec_proc_str(proc, s, str, &len);

	len = MIN(len, most);
	memcpy((char *)r + r->hdr.len, text, len);
	r->hdr.len += (uint32_t)len;
	return (uint16_t)len;
}

int proc_snapshot_known(const struct event *ev, snapshot_fn fn, void *ctx)
{
	const struct section *s = event_section(ev, SEC_PROC);
	const struct sec_proc *proc = event_proc(ev);
	union task_room room;
	struct proc_task_rec *r = &room.rec;
	const char *comm;
	size_t len;

	if (!proc)
		return 0;
	*r = (struct proc_task_rec){
		.hdr = { .ts_ns = clock_boot_ns(), .type = PROC_REC_TASK, .flags = SONDE_RF_SNAPSHOT | SONDE_RF_IDENT,
			 .tgid = ev->tgid, .tid = ev->tgid, .start_ns = ev->start_ns, .len = sizeof(*r) },
		.id = { .image = ev->keys.image, .cgroup_id = ev->keys.cgroup_id },
		.who = { .cgroup_id = ev->keys.cgroup_id, .ppid = proc->ppid, .uid = proc->uid, .gid = proc->gid,
			 .ns_tgid = proc->vpid, .ns_tid = proc->vpid },
		.path_form = PROC_PATH_PLAIN, .ended = ev->ts_ns != 0,
	};
	comm = event_sec_proc_str(proc, s, proc->comm, &len);
	memcpy(r->who.comm, comm, MIN(len, sizeof(r->who.comm)));
	r->path_len = add_text(r, proc, s, proc->exe, PROC_PATH_BYTES);
	r->args_len = add_text(r, proc, s, proc->args, PROC_ARGS_BYTES);
	return fn(ctx, &r->hdr, r->hdr.len);
}
