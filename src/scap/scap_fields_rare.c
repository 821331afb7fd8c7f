// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rare fields: parts of latencies, counters for sums, CPU time, descriptors of poll, metadata of containers, distance
 * in time.
 */
#include <errno.h>

#include "base/macros.h"
#include "base/str.h"
#include "event/value.h"
#include "scap/block.h"
#include "scap/scap_fields_id.h"

#define FDLIST_MAX 1024u	/* descriptors of a poll list that are read */
#define OPEN_CREATE 0x4u	/* libscap's O_CREAT */
#define OPEN_TMPFILE 0x2000u
#define MODE_EXEC 0111u

/* ---- times and results ---- */

/* Distance from that time, in started milliseconds. */
static int get_around(const struct scap_view *v, const char *arg, struct value *ret)
{
	uint64_t t, ns;

	if (str_to_u64(arg, 10, &t) < 0)
		return -ENOENT;
	ns = v->ts_ns > t ? v->ts_ns - t : t - v->ts_ns;
	return value_set_uint(ret, ns / NS_PER_MS + (ns % NS_PER_MS != 0));
}

static bool has_failed(const struct scap_view *v)
{
	int i = scap_render_param_index(v, "res");
	int64_t res;

	if (i < 0 && v->info->flags & SCAP_CREATES_FD)
		i = scap_render_param_index(v, "fd");
	return v->p.head->type & 1 && i >= 0 && params_i64(&v->p, (unsigned)i, &res) && res < 0;
}

/* 1 if the event is an error of this kind, for sums; else absent. */
static int count_error(const struct scap_view *v, enum field_id w, struct value *ret)
{
	bool opens = v->info->flags & SCAP_CREATES_FD && v->info->category == SCAP_CAT_FILE;
	bool file = opens || (v->fd && (v->fd->type == FD_FILE || v->fd->type == FD_FILE_V2 ||
					v->fd->type == FD_DIRECTORY));
	bool net = v->info->category == SCAP_CAT_NET || (v->fd && v->fd->type >= FD_IPV4 &&
							 v->fd->type <= FD_IPV6_SERVER);
	bool memory = v->info->category == SCAP_CAT_MEMORY;
	bool counts = w == SF_COUNT_ERROR || (w == SF_COUNT_ERROR_FILE && file) || (w == SF_COUNT_ERROR_NET && net) ||
		      (w == SF_COUNT_ERROR_MEMORY && memory) ||
		      (w == SF_COUNT_ERROR_OTHER && !file && !net && !memory);

	return has_failed(v) && counts ? value_set_uint(ret, 1) : -ENOENT;
}

/* Is an executable file being created? */
static int get_open_exec(const struct scap_view *v, struct value *ret)
{
	int f = scap_render_param_index(v, "flags"), m = scap_render_param_index(v, "mode");
	uint64_t flags = 0, mode = 0;
	bool opens = v->info->flags & SCAP_CREATES_FD && v->p.head->type & 1 && m >= 0;

	if (!opens)
		return value_set_bool(ret, false);
	params_u64(&v->p, (unsigned)m, &mode);
	if (f >= 0)
		params_u64(&v->p, (unsigned)f, &flags);
	return value_set_bool(ret, (f < 0 || flags & (OPEN_CREATE | OPEN_TMPFILE)) && mode & MODE_EXEC);
}

static int get_latency_part(const struct scap_view *v, enum field_id w, struct value *ret)
{
	uint64_t ns;
	struct buf *b;

	if (!v->thread)
		return -ENOENT;
	ns = v->p.head->type & 1 ? v->thread->latency_ns : 0;
	if (w == SF_LATENCY_S)
		return value_set_uint(ret, ns / NS_PER_S);
	if (w == SF_LATENCY_NS)
		return scap_value_fraction(ret, ns % NS_PER_S);
	b = scap_state_scratch(v->state);
	value_text(&(struct value){ .kind = VAL_UINT, .u = ns, .ns = true }, b);
	return scap_value_buf(ret, b);
}

/* ---- lists of descriptors ---- */

static void add_fd_text(const struct scap_fd *fd, int64_t num, enum field_id w, struct buf *b)
{
	bool connected = fd && (fd->type == FD_IPV4 || fd->type == FD_IPV6);

	switch (w) {
	case SF_FDLIST_NUMS: buf_printf(b, "%lld", (long long)num); break;
	case SF_FDLIST_NAMES: buf_add_str(b, fd && fd->name ? fd->name->data : "<NA>"); break;
	case SF_FDLIST_CIPS:
	case SF_FDLIST_SIPS:
		if (connected)
			ipaddr_text(w == SF_FDLIST_CIPS ? &fd->sip : &fd->dip, b);
		break;
	case SF_FDLIST_CPORTS:
	case SF_FDLIST_SPORTS:
		if (connected)
			buf_printf(b, "%u", w == SF_FDLIST_CPORTS ? fd->sport : fd->dport);
		break;
	default: break;
	}
}

/*
 * Parameters of poll and ppoll: u16 count, then an i64 descriptor and u16 flags each. Descriptors without the
 * property are skipped.
 */
static int get_fdlist(const struct scap_view *v, enum field_id w, struct value *ret)
{
	int i = scap_render_param_index(v, "fds");
	struct cursor c;
	struct buf *b;
	uint16_t n;

	if (i < 0 || !v->thread || v->info->params[i].type != PT_FDLIST)
		return -ENOENT;
	c = params_cursor(&v->p, (unsigned)i);
	n = cur_u16(&c);
	b = scap_state_scratch(v->state);
	for (uint16_t k = 0; k < n && k < FDLIST_MAX; k++) {
		int64_t num = (int64_t)cur_u64(&c);
		size_t before = b->len;

		cur_skip(&c, sizeof(uint16_t));
		if (!cur_ok(&c))
			break;
		if (before)
			buf_add_char(b, ',');
		add_fd_text(scap_state_fd(v->state, v->thread, num), num, w, b);
		if (b->len == before + (before != 0))
			b->len = before;
	}
	return b->len ? scap_value_buf(ret, b) : -ENOENT;
}

/* ---- containers ---- */

static int get_container_part(const struct scap_view *v, enum field_id w, struct value *ret)
{
	const struct scap_str *id = v->thread ? v->thread->container : NULL;
	const struct scap_container *c = scap_state_container(v->state, id);

	if (w == SF_CONTAINER_TYPE && !id)
		return value_set_text(ret, "host");
	if (!c)
		return -ENOENT;
	switch (w) {
	case SF_CONTAINER_TYPE: return scap_value_str(ret, c->type);
	case SF_CONTAINER_PRIVILEGED: return c->privileged ? value_set_bool(ret, c->privileged > 1) : -ENOENT;
	case SF_CONTAINER_IMAGE_ID: return scap_value_str(ret, c->image_id);
	case SF_CONTAINER_IMAGE_REPO: return scap_value_str(ret, c->repo);
	case SF_CONTAINER_IMAGE_TAG: return scap_value_str(ret, c->tag);
	case SF_CONTAINER_IMAGE_DIGEST: return scap_value_str(ret, c->digest);
	case SF_CONTAINER_MOUNTS: return scap_value_str(ret, c->mounts);
	default: return -ENOENT;
	}
}

int scap_fields_rare_get(const struct scap_view *v, const struct field *f, struct value *ret)
{
	enum field_id w = (enum field_id)f->off;

	if (w >= SF_COUNT_ERROR && w <= SF_COUNT_ERROR_OTHER)
		return count_error(v, w, ret);
	if (w >= SF_LATENCY_S && w <= SF_LATENCY_HUMAN)
		return get_latency_part(v, w, ret);
	if (w >= SF_FDLIST_NUMS && w <= SF_FDLIST_SPORTS)
		return get_fdlist(v, w, ret);
	if (w >= SF_CONTAINER_TYPE && w <= SF_CONTAINER_MOUNTS)
		return get_container_part(v, w, ret);
	if (w >= SF_IS_SYSLOG && w <= SF_MESSAGE)
		return scap_fields_syslog_get(v, w, ret);
	switch (w) {
	case SF_AROUND: return f->arg ? get_around(v, f->arg, ret) : -ENOENT;
	case SF_COUNT_EXIT: return v->p.head->type & 1 ? value_set_uint(ret, 1) : -ENOENT;
	case SF_OPEN_EXEC: return get_open_exec(v, ret);
	case SF_EXECTIME: return v->thread ? value_set_ns(ret, v->exec_ns) : -ENOENT;
	case SF_TOTEXECTIME: return v->thread ? value_set_ns(ret, v->thread->exec_ns) : -ENOENT;
	default: return -ENOENT;
	}
}
