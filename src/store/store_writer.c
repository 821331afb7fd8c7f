// SPDX-License-Identifier: GPL-2.0-or-later
#include "store/store_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/vec.h"
#include "sonde/sampling_wire.h"
#include "sonde/store.h"
#include "store/store_recover.h"
#include "store/store_segment.h"
#include "store/store_sync.h"

#define WRITE_BYTES (64u << 10)	/* written at once, unless a flush comes first */
#define DROPS_MAX 8		/* segments removed for one write on a full disk */

#define KEEP_PARTS 2		/* segments for the time that a flight recorder keeps, and one more */
#define KEEP_LEAST_NS (2 * NS_PER_S)

/* A segment of a flight recorder. */
struct kept {
	int fd;				/* owned; memory */
	uint64_t number, end_ns;
};

struct store_writer {
	char *path;			/* owned; for messages */
	struct store_writer_opts o;	/* strings are NULL */
	struct sonde_store_head head;	/* of the current segment */
	int dir_fd, lock_fd, fd;	/* owned; fd: the segment, -1 = none could be created */
	struct store_segment *segment;	/* owned */
	struct store_sync *sync;	/* owned */
	struct buf waiting;		/* records of the stream that came during STORE_STATE */
	enum store_phase phase;
	uint64_t chunk_ns;		/* when the first record without a chunk came; 0 = none */
	uint64_t synced_ns;
	uint64_t retry_ns;		/* the disk is full until then; 0 = it is not */
	uint64_t lost_told;		/* of stats.lost, in the stream */
	VEC(struct kept) kept;		/* oldest first */
	uint64_t trigger_ns, dump_ns;	/* of the dump under way: 0 = none is */
	uint64_t quiet_ns;		/* until then triggers only count */
	uint64_t begun_dumps;
	struct store_writer_stats stats;
};

static void drop_kept(struct store_writer *w, size_t n)
{
	for (size_t i = 0; i < n; i++)
		close(w->kept.items[i].fd);
	w->kept.len -= n;
	memmove(w->kept.items, w->kept.items + n, w->kept.len * sizeof(*w->kept.items));
}

static void store_writer_free(struct store_writer *w)
{
	if (!w)
		return;
	store_sync_free(w->sync);
	drop_kept(w, w->kept.len);
	vec_fini(&w->kept);
	store_segment_free(w->segment);
	buf_fini(&w->waiting);
	cleanup_close(&w->fd);
	cleanup_close(&w->lock_fd);
	cleanup_close(&w->dir_fd);
	free(w->path);
	free(w);
}
DEFINE_CLEANUP(struct store_writer *, store_writer_free)

/* ---- the file ---- */

static int create_file(const struct store_writer *w, uint64_t number)
{
	const mode_t mode = w->o.mode ? w->o.mode : 0600;
	char name[STORE_NAME_BYTES];
	int fd;

	store_dir_name(number, STORE_PART, name);
	fd = openat(w->dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (mode != 0600 && (fchown(fd, (uid_t)-1, w->o.group) < 0 || fchmod(fd, mode) < 0)) {
		close(fd);
		return -errno;
	}
	return fd;
}

static int create_segment(const struct store_writer *w)
{
	int fd;

	if (!w->o.keep_ns)
		return create_file(w, w->head.number);
	fd = memfd_create("sonde-kept", MFD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* All of @b at @off, or nothing of it. */
static int write_whole(int fd, const struct buf *b, uint64_t off)
{
	size_t done = 0;

	while (done < b->len) {
		ssize_t n = TEMP_FAILURE_RETRY(pwrite(fd, b->data + done, b->len - done, (off_t)(off + done)));

		if (n <= 0) {
			int r = n < 0 ? -errno : -EIO;

			return ftruncate(fd, (off_t)off) < 0 ? -errno : r;
		}
		done += (size_t)n;
	}
	return 0;
}

static bool is_full_disk(int r)
{
	return r == -ENOSPC || r == -EDQUOT;
}

/* Writes what is to be written; on a full disk in place of the oldest segments. */
static int write_out(struct store_writer *w)
{
	const struct buf *out = store_segment_out(w->segment);
	int r;

	if (w->fd < 0)
		w->fd = create_segment(w);
	r = w->fd < 0 ? w->fd : write_whole(w->fd, out, store_segment_offset(w->segment));
	for (int i = 0; i < DROPS_MAX && is_full_disk(r) && store_dir_drop_oldest(w->dir_fd) > 0; i++) {
		if (w->fd < 0)
			w->fd = create_segment(w);
		r = w->fd < 0 ? w->fd : write_whole(w->fd, out, store_segment_offset(w->segment));
	}
	return r;
}

static void leave_out(struct store_writer *w, int error)
{
	w->stats.lost += store_segment_cut(w->segment);
	w->stats.error = error;
	w->retry_ns = clock_boot_ns() + STORE_RETRY_NS;
	w->chunk_ns = 0;
}

/* Hands the bytes to the file. Errors of the file are counted, not returned. */
static void write_segment(struct store_writer *w)
{
	const size_t len = store_segment_out(w->segment)->len;
	int r = len ? write_out(w) : 0;

	if (r < 0) {
		leave_out(w, r);
		return;
	}
	w->stats.stored_bytes += len;
	store_segment_written(w->segment);
}

/* ---- segments ---- */

static int begin_segment(struct store_writer *w)
{
	int r;

	w->head.start_ns = clock_boot_ns();
	w->head.clock_offset_ns = clock_boot_offset_ns();
	w->fd = -1;
	w->chunk_ns = 0;
	w->synced_ns = w->head.start_ns;
	r = store_segment_begin(w->segment, &w->head, w->o.tells_owners);
	if (r >= 0)
		write_segment(w);	/* readers see the store from now on */
	return r;
}

/* ---- the flight recorder ---- */

/* Those that ended before the time to be kept. */
static void drop_old(struct store_writer *w)
{
	const uint64_t ref_ns = w->dump_ns ? w->trigger_ns : clock_boot_ns();
	size_t n = 0;

	while (n < w->kept.len && w->kept.items[n].end_ns + w->o.keep_ns < ref_ns)
		n++;
	drop_kept(w, n);
}

/* All kept segments go to the directory. */
static int dump(struct store_writer *w)
{
	int r = 0;

	vec_each(k, &w->kept) {
		int fd = r < 0 ? r : create_file(w, k->number);

		if (fd < 0) {
			r = fd;
			continue;
		}
		r = store_sync_copy(w->sync, TAKE_FD(k->fd), fd, k->number);
	}
	for (size_t i = 0; i < w->kept.len; i++)
		cleanup_close(&w->kept.items[i].fd);
	w->kept.len = 0;
	w->dump_ns = 0;
	w->quiet_ns = w->trigger_ns + w->o.keep_ns + w->o.after_ns;
	w->begun_dumps++;
	if (r < 0)
		w->stats.error = r;
	return 0;
}

static int keep_segment(struct store_writer *w)
{
	if (vec_grow(&w->kept) < 0)
		return -ENOMEM;
	w->kept.items[w->kept.len++] = (struct kept){
		.fd = TAKE_FD(w->fd), .number = w->head.number, .end_ns = clock_boot_ns(),
	};
	drop_old(w);
	return w->dump_ns && clock_boot_ns() >= w->dump_ns ? dump(w) : 0;
}

int store_writer_trigger(struct store_writer *w)
{
	const uint64_t now_ns = clock_boot_ns();

	if (w->dump_ns || now_ns < w->quiet_ns) {
		w->stats.more_triggers++;
		return 0;
	}
	w->trigger_ns = now_ns;
	w->dump_ns = now_ns + MAX(w->o.after_ns, 1ull);
	return 1;
}

static int end_segment(struct store_writer *w)
{
	int r = store_segment_end(w->segment);

	if (r < 0)
		return r;
	write_segment(w);
	if (w->fd < 0)
		return 0;	/* nothing of it reached the disk */
	r = w->o.keep_ns ? keep_segment(w) : store_sync_seal(w->sync, TAKE_FD(w->fd), w->head.number);
	w->head.number++;
	w->stats.segments += r >= 0;
	return r;
}

static int next_segment(struct store_writer *w)
{
	int r = end_segment(w);

	return r < 0 ? r : begin_segment(w);
}

bool store_writer_is_due(const struct store_writer *w)
{
	const uint64_t now_ns = clock_boot_ns();

	return w->phase == STORE_DATA && !w->retry_ns &&
	       (store_segment_bytes(w->segment) >= w->o.segment_bytes ||
		now_ns - w->head.start_ns >= w->o.segment_ns || (w->dump_ns && now_ns >= w->dump_ns));
}

/* ---- records ---- */

static bool is_state(const struct store_writer *w, const struct sonde_rec *r)
{
	return r->flags & SONDE_RF_SNAPSHOT || r->type == SONDE_EV_LOST || r->type == SONDE_EV_SAMPLING ||
	       w->o.is_state(w->o.ctx, r->type);
}

/* Is the disk still full? Tries it again after a while. */
static bool is_closed(struct store_writer *w)
{
	if (!w->retry_ns || clock_boot_ns() < w->retry_ns)
		return w->retry_ns;
	w->retry_ns = 0;
	return false;
}

static int add_now(struct store_writer *w, const struct sonde_rec *r)
{
	int ret = store_segment_add(w->segment, r, is_state(w, r));

	if (ret < 0)
		return ret;
	w->stats.records++;
	w->stats.raw_bytes += r->len;
	if (!w->chunk_ns)
		w->chunk_ns = clock_boot_ns();
	if (store_segment_out(w->segment)->len >= WRITE_BYTES)
		write_segment(w);
	return 0;
}

/* The records left out, as a record of the stream. If the disk is still full, a later one counts them. */
static int report_lost(struct store_writer *w)
{
	const uint64_t lost = w->stats.lost;
	struct sonde_lost_rec l = {
		.hdr = { .ts_ns = clock_boot_ns(), .len = sizeof(l), .type = SONDE_EV_LOST },
		.cause = SONDE_LOST_SINK, .count = lost - w->lost_told,
	};
	int r = add_now(w, &l.hdr);

	if (r >= 0)
		r = store_segment_flush(w->segment);
	w->chunk_ns = 0;
	if (r >= 0)
		write_segment(w);
	if (w->retry_ns)
		w->stats.lost = lost;
	else
		w->lost_told = lost;
	return r;
}

int store_writer_add(struct store_writer *w, const struct sonde_rec *r)
{
	int ret = 0;

	if (r->len < sizeof(*r) || r->len > SONDE_STORE_BLOCK_BYTES)
		return -EMSGSIZE;
	if (w->phase == STORE_STATE && !(r->flags & SONDE_RF_SNAPSHOT) && r->type >> 8) {
		buf_add(&w->waiting, r, r->len);
		return buf_align(&w->waiting, SONDE_STORE_ALIGN);
	}
	if (!is_closed(w) && w->phase == STORE_DATA && w->stats.lost > w->lost_told)
		ret = report_lost(w);
	if (ret < 0)
		return ret;
	if (!w->retry_ns)
		return add_now(w, r);
	w->stats.lost++;
	store_segment_count_lost(w->segment, 1);
	return 0;
}

void store_writer_owner(struct store_writer *w, uint64_t ts_ns, uint32_t tgid)
{
	store_segment_owner(w->segment, ts_ns, tgid);
}

int store_writer_flush(struct store_writer *w)
{
	const uint64_t now_ns = clock_boot_ns();
	int r = 0;

	if (w->chunk_ns && now_ns - w->chunk_ns >= STORE_FLUSH_NS) {
		r = store_segment_flush(w->segment);
		w->chunk_ns = 0;
		if (r >= 0)
			write_segment(w);
	}
	if (w->o.sync_ns && w->fd >= 0 && now_ns - w->synced_ns >= w->o.sync_ns) {
		store_sync_data(w->sync, w->fd);
		w->synced_ns = now_ns;
	}
	return r;
}

static int add_waiting(struct store_writer *w)
{
	int r = 0;

	for (size_t at = 0; r >= 0 && at < w->waiting.len;) {
		const struct sonde_rec *rec = (const void *)(w->waiting.data + at);

		r = store_writer_add(w, rec);
		at += ROUND_UP(rec->len, (uint32_t)SONDE_STORE_ALIGN);
	}
	buf_reset(&w->waiting);
	return r;
}

int store_writer_phase(struct store_writer *w, enum store_phase phase)
{
	static const uint8_t roles[] = {
		[STORE_DATA] = SONDE_STORE_DATA, [STORE_NAMES] = SONDE_STORE_NAMES, [STORE_STATE] = SONDE_STORE_STATE,
	};
	int r = phase == STORE_STATE ? next_segment(w) : 0;

	_Static_assert(ARRAY_SIZE(roles) == STORE_PHASE__MAX, "a role per phase");
	w->phase = phase;
	if (r >= 0)
		r = store_segment_role(w->segment, roles[phase]);
	return r < 0 || phase != STORE_DATA ? r : add_waiting(w);
}

/* ---- open and close ---- */

/* 32 hex digits, with or without hyphens. */
static void read_id(const char *path, uint8_t ret[16])
{
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	unsigned n = 0, digit;

	while (f && n < 32 && fscanf(f, "%*[-]") != EOF && fscanf(f, "%1x", &digit) == 1) {
		ret[n / 2] = (uint8_t)(ret[n / 2] << 4 | digit);
		n++;
	}
	if (n < 32)
		memset(ret, 0, 16);
}

static void describe_host(struct sonde_store_head *h, const char *options)
{
	struct utsname u;

	read_id("/proc/sys/kernel/random/boot_id", h->boot_id);
	read_id("/etc/machine-id", h->machine_id);
	if (uname(&u) == 0) {
		snprintf(h->host, sizeof(h->host), "%.63s", u.nodename);
		snprintf(h->release, sizeof(h->release), "%.63s", u.release);
	}
	snprintf(h->options, sizeof(h->options), "%s", options ? options : "");
	if (getrandom(&h->run, sizeof(h->run), 0) != sizeof(h->run))
		h->run = clock_boot_ns();
}

/* The number after the last segment; what a crash left is sealed first. */
static int find_number(struct store_writer *w, struct err *err)
{
	_cleanup_(store_dir_list_fini) struct store_list l = { 0 };
	int r = store_dir_list(w->dir_fd, &l);

	for (size_t i = 0; r >= 0 && i < l.files.len; i++)
		if (l.files.items[i].kind == STORE_PART)
			r = store_recover(w->dir_fd, l.files.items[i].number);
	if (r < 0)
		return err_errno(err, r, "cannot write the store %s", w->path);
	w->head.number = w->head.first = l.files.len ? l.files.items[l.files.len - 1].number + 1 : 0;
	store_dir_trim(w->dir_fd, &w->o.limits, w->o.segment_bytes);
	return 0;
}

static int open_dir(struct store_writer *w, struct err *err)
{
	const mode_t mode = w->o.mode ? w->o.mode : 0600;

	w->dir_fd = store_dir_create(w->path, 0700, err);
	if (w->dir_fd < 0)
		return w->dir_fd;
	w->lock_fd = store_dir_lock(w->dir_fd, w->path, err);
	if (w->lock_fd < 0)
		return w->lock_fd;
	if (mode != 0600 &&
	    (fchown(w->dir_fd, (uid_t)-1, w->o.group) < 0 || fchmod(w->dir_fd, 0700 | (mode & 0040 ? 0050 : 0)) < 0))
		return err_errno(err, -errno, "cannot open the store %s to its group", w->path);
	return 0;
}

int store_writer_open(const struct store_writer_opts *o, struct store_writer **ret, struct err *err)
{
	_cleanup_(store_writer_freep) struct store_writer *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return err_errno(err, -ENOMEM, "cannot write the store %s", o->path);
	w->dir_fd = w->lock_fd = w->fd = -1;
	w->o = *o;
	w->o.segment_bytes = o->segment_bytes ? o->segment_bytes : STORE_SEGMENT_BYTES;
	w->o.segment_ns = o->segment_ns ? o->segment_ns : STORE_SEGMENT_NS;
	if (o->keep_ns)
		w->o.segment_ns = MAX(o->keep_ns / KEEP_PARTS, KEEP_LEAST_NS);
	w->path = strdup(o->path);
	if (!w->path || store_segment_new(&w->segment) < 0)
		return err_errno(err, -ENOMEM, "cannot write the store %s", o->path);
	describe_host(&w->head, o->options);
	w->o.path = w->o.options = NULL;
	r = open_dir(w, err);
	if (r >= 0)
		r = find_number(w, err);
	if (r < 0)
		return r;
	r = store_sync_new(w->dir_fd, &w->o.limits, w->o.segment_bytes, &w->sync);
	if (r >= 0)
		r = begin_segment(w);
	if (r < 0)
		return err_errno(err, r, "cannot write the store %s", w->path);
	*ret = TAKE_PTR(w);
	return 0;
}

void store_writer_stats(const struct store_writer *w, struct store_writer_stats *ret)
{
	*ret = w->stats;
	ret->resting = w->retry_ns != 0;
	ret->idle = store_sync_is_idle(w->sync);
	ret->dumps = ret->idle ? w->begun_dumps : 0;
}

int store_writer_close(struct store_writer *w, struct err *err)
{
	int r, synced;

	if (!w)
		return 0;
	if (w->dump_ns)
		w->dump_ns = 1;	/* now */
	r = end_segment(w);
	synced = store_sync_free(TAKE_PTR(w->sync));
	r = r < 0 ? r : synced < 0 ? synced : w->stats.lost ? w->stats.error : 0;
	if (r < 0)
		err_errno(err, r, "cannot write the store %s", w->path);
	store_writer_free(w);
	return r;
}
