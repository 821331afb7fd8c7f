// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fields of the event itself (evt.*); scap_fields_proc.c and scap_fields_fd.c have its process and descriptor.
 */
#include "scap/scap_fields.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "scap/block.h"
#include "scap/scap_fields_id.h"

/* A text that is already escaped for terminals. */
static int word_shown(struct value *ret, struct buf *b)
{
	int r = scap_value_buf(ret, b);

	ret->printable = r == 0;
	return r;
}

static int param_number(const char *arg)
{
	char *end;
	long n = strtol(arg, &end, 10);

	return *arg && !*end && n >= 0 && n < PARAMS_MAX ? (int)n : -1;
}

static int find_arg(const struct scap_view *v, const char *arg)
{
	int i = param_number(arg);

	return i >= 0 ? i : scap_render_param_index(v, arg);
}

/* Interpretation of the parameter, if any, as in sysdig. */
static int get_arg(const struct scap_view *v, const char *arg, struct value *ret)
{
	struct buf *raw = scap_state_scratch(v->state), *resolved = scap_state_scratch(v->state);
	int i = find_arg(v, arg);

	if (i < 0 || scap_render_param(v, (unsigned)i, scap_state_render(v->state), raw, resolved) < 0)
		return -ENOENT;
	return word_shown(ret, resolved->len ? resolved : raw);
}

static bool is_text_type(uint8_t type)
{
	return type == PT_CHARBUF || type == PT_FSPATH || type == PT_FSRELPATH || type == PT_BYTEBUF;
}

static bool is_signed_type(uint8_t type)
{
	return (type >= PT_INT8 && type <= PT_INT64) || type == PT_ERRNO || type == PT_FD || type == PT_PID;
}

static int get_rawarg(const struct scap_view *v, const char *arg, struct value *ret)
{
	int i = find_arg(v, arg);
	size_t len;
	const char *s;
	uint8_t type;

	if (i < 0 || i >= v->info->n_params || (unsigned)i >= v->p.n)
		return -ENOENT;
	type = v->info->params[i].type;
	if (is_text_type(type)) {
		s = params_bytes(&v->p, (unsigned)i, &len);
		return value_set_chars(ret, s, type == PT_BYTEBUF ? len : strnlen(s, len));
	}
	if (is_signed_type(type)) {
		ret->kind = VAL_INT;
		return params_i64(&v->p, (unsigned)i, &ret->i) ? value_set_int(ret, ret->i) : -ENOENT;
	}
	return params_u64(&v->p, (unsigned)i, &ret->u) ? value_set_uint(ret, ret->u) : -ENOENT;
}

/* Result of the call: parameter res, or fd where the call creates one. */
static bool result(const struct scap_view *v, int64_t *ret)
{
	int i = scap_render_param_index(v, "res");

	if (i < 0 && v->info->flags & SCAP_CREATES_FD && v->p.head->type & 1)
		i = scap_render_param_index(v, "fd");
	return i >= 0 && params_i64(&v->p, (unsigned)i, ret);
}

static int get_res(const struct scap_view *v, struct value *ret)
{
	const char *name;
	struct buf *b;
	int64_t res;

	if (!result(v, &res))
		return -ENOENT;
	if (res >= 0)
		return value_set_text(ret, "SUCCESS");
	name = res >= -4095 ? strerrorname_np((int)-res) : NULL;
	if (name)
		return value_set_text(ret, name);
	b = scap_state_scratch(v->state);
	buf_printf(b, "%lld", (long long)res);
	return scap_value_buf(ret, b);
}

/* Bytes transferred: the result of I/O on a known descriptor. */
static int get_buflen(const struct scap_view *v, struct value *ret)
{
	int64_t res;
	bool io = v->info->category >= SCAP_CAT_IO_READ && v->info->category <= SCAP_CAT_IO_OTHER;

	if (!io || !v->fd || !(v->p.head->type & 1) || !result(v, &res) || res < 0)
		return -ENOENT;
	return value_set_uint(ret, (uint64_t)res);
}

static bool is_open(uint16_t type)
{
	return type == SCAP_OPEN_X || type == SCAP_OPENAT_X || type == SCAP_OPENAT_2_X || type == SCAP_OPENAT2_X;
}

#define OPEN_RDONLY 1u
#define OPEN_WRONLY 2u

static int get_open(const struct scap_view *v, uint32_t bit, struct value *ret)
{
	int i = is_open(v->p.head->type) ? scap_render_param_index(v, "flags") : -1;
	uint64_t flags = 0;

	if (i >= 0)
		params_u64(&v->p, (unsigned)i, &flags);
	return value_set_bool(ret, flags & bit);
}

/* First parameter of a type with one of these names. */
static int param_named(const struct scap_event_info *info, const char *const *names, size_t n)
{
	for (size_t k = 0; info && k < n; k++)
		for (unsigned i = 0; i < info->n_params; i++)
			if (!strcmp(info->params[i].name, names[k]))
				return (int)i;
	return -1;
}

static const char *const first_paths[] = { "name", "path", "oldpath", "target", "pathname", "filename" };
static const char *const second_paths[] = { "newpath", "linkpath" };

int scap_fields_abspath_param(uint16_t type)
{
	return param_named(scap_schema_event_info(type), first_paths, ARRAY_SIZE(first_paths));
}

/* Absolute path of name, path or newpath; .src and .dst select one of two. */
static int get_abspath(const struct scap_view *v, const char *arg, struct value *ret)
{
	bool dst = arg && !strcmp(arg, "dst");
	int i = dst ? param_named(v->info, second_paths, ARRAY_SIZE(second_paths)) :
		      param_named(v->info, first_paths, ARRAY_SIZE(first_paths));
	struct buf *b = scap_state_scratch(v->state);
	size_t len;
	const char *s;

	if (i < 0)
		return -ENOENT;
	scap_render_path(v, (unsigned)i, b);
	s = params_str(&v->p, (unsigned)i, &len);
	return b->len ? scap_value_buf(ret, b) : value_set_chars(ret, s, len);
}

static enum scap_category category(const struct scap_view *v)
{
	uint64_t id;

	if (scap_schema_generic_id(&v->p, &id))
		return scap_schema_syscall_category((uint32_t)id);
	return (enum scap_category)v->info->category;
}

/* I/O has the category of its descriptor, in lower case; IPC calls are "IPC". */
static int get_category(const struct scap_view *v, struct value *ret)
{
	static const char *const by_fd[] = {
		[FD_FILE] = "file",	  [FD_DIRECTORY] = "file",  [FD_IPV4] = "net",	  [FD_IPV6] = "net",
		[FD_IPV4_SERVER] = "net", [FD_IPV6_SERVER] = "net", [FD_FIFO] = "ipc",	  [FD_UNIX] = "ipc",
		[FD_EVENT] = "ipc",	  [FD_SIGNAL] = "ipc",	    [FD_INOTIFY] = "ipc", [FD_FILE_V2] = "file",
		[FD_USERFAULT] = "ipc",
	};
	enum scap_category c = category(v);

	if (c >= SCAP_CAT_IO_READ && c <= SCAP_CAT_IO_OTHER && v->fd && v->fd->type < ARRAY_SIZE(by_fd) &&
	    by_fd[v->fd->type])
		return value_set_text(ret, by_fd[v->fd->type]);
	return value_set_text(ret, scap_schema_category_name(c));
}

static int get_syscall_type(const struct scap_view *v, struct value *ret)
{
	enum scap_category c = category(v);

	if (c == SCAP_CAT_INTERNAL || c == SCAP_CAT_SCHEDULER || v->info->flags & SCAP_SKIP_PARSER)
		return -ENOENT;
	return value_set_text(ret, scap_render_event_name(v));
}

static int get_buffer(const struct scap_view *v, const struct field *f, struct value *ret)
{
	int i = scap_render_param_index(v, "data");
	struct buf *b;
	size_t len;
	const char *s;

	if (i < 0)
		return -ENOENT;
	s = params_bytes(&v->p, (unsigned)i, &len);
	if (!(f->flags & FIELD_SHOWN))
		return value_set_chars(ret, s, len);
	b = scap_state_scratch(v->state);
	scap_render_buffer(s, len, scap_state_render(v->state), b);
	return word_shown(ret, b);
}

static int get_args(const struct scap_view *v, struct value *ret)
{
	struct buf *b = scap_state_scratch(v->state);

	scap_render_args(v, scap_state_render(v->state), b);
	return word_shown(ret, b);
}

static int get_latency(const struct scap_view *v, struct value *ret)
{
	if (!v->thread || !(v->p.head->type & 1))
		return -ENOENT;
	return value_set_ns(ret, v->thread->latency_ns);
}

/* The first event may be younger than the next one, because the rings of all CPUs are merged. */
static uint64_t reltime_ns(const struct scap_view *v)
{
	return v->ts_ns > v->first_ns ? v->ts_ns - v->first_ns : 0;
}

static int get_time(const struct scap_view *v, enum field_id w, struct value *ret)
{
	switch (w) {
	case SF_RAWTIME: return value_set_uint(ret, v->ts_ns);
	case SF_RAWTIME_S: return value_set_uint(ret, v->ts_ns / NS_PER_S);
	case SF_RAWTIME_NS: return scap_value_fraction(ret, v->ts_ns % NS_PER_S);
	case SF_RELTIME: return scap_value_fraction(ret, reltime_ns(v));
	case SF_RELTIME_S: return value_set_uint(ret, reltime_ns(v) / NS_PER_S);
	case SF_RELTIME_NS: return scap_value_fraction(ret, reltime_ns(v) % NS_PER_S);
	case SF_DELTATIME: return value_set_ns(ret, v->delta_ns);
	case SF_DELTATIME_S: return value_set_uint(ret, v->delta_ns / NS_PER_S);
	case SF_DELTATIME_NS: return scap_value_fraction(ret, v->delta_ns % NS_PER_S);
	default: return -ENOENT;
	}
}

static int get_flag(const struct scap_view *v, enum field_id w, struct value *ret)
{
	uint16_t flags = v->info->flags;
	int64_t res;

	switch (w) {
	case SF_FAILED: return value_set_bool(ret, result(v, &res) && res < 0);
	case SF_IS_IO: return value_set_bool(ret, flags & (SCAP_READS_FD | SCAP_WRITES_FD));
	case SF_IS_IO_READ: return value_set_bool(ret, flags & SCAP_READS_FD);
	case SF_IS_IO_WRITE: return value_set_bool(ret, flags & SCAP_WRITES_FD);
	case SF_IS_WAIT: return value_set_bool(ret, flags & SCAP_WAITS);
	case SF_IO_DIR:
		return value_set_text(ret, flags & SCAP_WRITES_FD ? "write" : flags & SCAP_READS_FD ? "read" : NULL);
	default: return -ENOENT;
	}
}

static int get_event(const struct scap_view *v, const struct event *ev, const struct field *f, struct value *ret)
{
	int64_t res;

	switch ((enum field_id)f->off) {
	case SF_NUM: return value_set_uint(ret, v->num);
	case SF_TYPE: return value_set_text(ret, scap_render_event_name(v));
	case SF_TYPE_IS: return value_set_bool(ret, f->arg && !strcmp(f->arg, scap_render_event_name(v)));
	case SF_SYSCALL_TYPE: return get_syscall_type(v, ret);
	case SF_DIR: return value_set_text(ret, v->p.head->type & 1 ? "<" : ">");
	case SF_CPU: return value_set_uint(ret, ev->cpu);
	case SF_CATEGORY: return get_category(v, ret);
	case SF_ARGS: return get_args(v, ret);
	case SF_ARG: return f->arg ? get_arg(v, f->arg, ret) : -ENOENT;
	case SF_RAWARG: return f->arg ? get_rawarg(v, f->arg, ret) : -ENOENT;
	case SF_BUFFER: return get_buffer(v, f, ret);
	case SF_BUFLEN: return get_buflen(v, ret);
	case SF_RES: return get_res(v, ret);
	case SF_ERROR: return result(v, &res) && res < 0 ? get_res(v, ret) : -ENOENT;
	case SF_RAWRES: return result(v, &res) ? value_set_int(ret, res) : -ENOENT;
	case SF_LATENCY: return get_latency(v, ret);
	case SF_WAIT_LATENCY: return v->info->flags & SCAP_WAITS ? get_latency(v, ret) : -ENOENT;
	case SF_COUNT: return value_set_uint(ret, 1);
	case SF_ABSPATH: return get_abspath(v, f->arg, ret);
	case SF_OPEN_READ: return get_open(v, OPEN_RDONLY, ret);
	case SF_OPEN_WRITE: return get_open(v, OPEN_WRONLY, ret);
	default: break;
	}
	if (f->off >= SF_RAWTIME && f->off <= SF_DELTATIME_NS)
		return get_time(v, (enum field_id)f->off, ret);
	return get_flag(v, (enum field_id)f->off, ret);
}

int scap_fields_get(const struct event *ev, const struct field *f, struct value *ret)
{
	const struct scap_view *v = scap_state_view(ev);

	if (!v || f->off == SF_UNTOLD)
		return -ENOENT;
	if (f->off >= SF__MORE)
		return scap_fields_rare_get(v, f, ret);
	if (f->off >= SF__FD)
		return scap_fields_fd_get(v, f, ret);
	if (f->off >= SF__PROC)
		return scap_fields_proc_get(v, f, ret);
	return get_event(v, ev, f, ret);
}
