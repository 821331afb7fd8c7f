// SPDX-License-Identifier: GPL-2.0-or-later
#include "scap/render.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/str.h"
#include "scap/block.h"
#include "scap/schema.h"
#include "scap/state/state.h"
#include "scap/state/state_tables.h"

#define NO_TIMEOUT UINT64_MAX
#define RESOLVED_BYTES 256	/* of an interpretation without an allocation */
#define AT_FDCWD_NUM_ (-100)

struct render {
	const struct scap_view *v;
	const struct scap_param *info;
	const struct scap_render_opts *opts;
	unsigned i;
	struct cursor c;	/* bytes of the parameter */
	struct buf *raw, *resolved;
};

int scap_render_param_index(const struct scap_view *v, const char *name)
{
	for (unsigned i = 0; i < v->info->n_params && i < v->p.n; i++)
		if (!strcmp(v->info->params[i].name, name))
			return (int)i;
	return -1;
}

const char *scap_render_event_name(const struct scap_view *v)
{
	const char *name = NULL;
	uint64_t id;

	if (scap_schema_generic_id(&v->p, &id))
		name = scap_schema_syscall_name((uint32_t)id);
	return name ? name : v->info->name;
}

/* ---- numbers ---- */

static uint64_t number(struct cursor c, bool sign)
{
	switch (cur_left(&c)) {
	case 1: return sign ? (uint64_t)(int8_t)cur_u8(&c) : cur_u8(&c);
	case 2: return sign ? (uint64_t)(int16_t)cur_u16(&c) : cur_u16(&c);
	case 4: return sign ? (uint64_t)(int32_t)cur_u32(&c) : cur_u32(&c);
	default: return cur_u64(&c);
	}
}

/* The width of the parameter decides how a negative number prints in hex and octal. */
static void add_number(struct render *r, bool sign)
{
	uint64_t u = number(r->c, false);

	switch (r->v->info->params[r->i].format) {
	case PF_HEX: buf_printf(r->raw, "%llX", (unsigned long long)u); break;
	case PF_OCT: buf_printf(r->raw, "%llo", (unsigned long long)u); break;
	default:
		if (sign)
			buf_add_i64(r->raw, number(r->c, true));
		else
			buf_add_u64(r->raw, u);
	}
}

static void add_errno(struct render *r)
{
	int64_t v = (int64_t)number(r->c, true);
	const char *name = v < 0 && v >= -4095 ? strerrorname_np((int)-v) : NULL;

	buf_add_i64(r->raw, v);
	if (v < 0 && name)
		buf_add_str(r->resolved, name);
}

static void add_signal(struct render *r)
{
	uint8_t sig = cur_u8(&r->c);
	const char *name = sig == SIGIO ? "IO" : sig < NSIG ? sigabbrev_np(sig) : NULL;	/* sysdig's of two names */

	buf_printf(r->raw, "%u", sig);
	if (name && sig)
		buf_printf(r->resolved, "SIG%s", name);
}

static void add_sigset(struct render *r)
{
	uint32_t set = cur_u32(&r->c);
	const char *space = "";

	for (int sig = 1; sig <= 32; sig++) {
		const char *name = set & 1u << (sig - 1) ? sigabbrev_np(sig) : NULL;

		if (!name)
			continue;
		buf_printf(r->raw, "%sSIG%s", space, name);
		space = " ";
	}
}

static void add_reltime(struct render *r)
{
	uint64_t ns = cur_u64(&r->c);

	if (ns == NO_TIMEOUT) {
		buf_add_str(r->raw, "none");
		return;
	}
	buf_add_u64(r->raw, ns);
	buf_printf(r->resolved, "%lgs", (double)ns / 1e9);
}

/* Prints names of flags until none is left; a value with a name of its own prints as that name. */
static void add_flag_names(struct render *r, uint32_t all)
{
	const struct xlat *x = r->v->info->params[r->i].xlat;
	const char *bar = "";
	uint32_t left = all;

	for (uint32_t i = 0; x && i < x->n; i++) {
		uint32_t bits = (uint32_t)x->vals[i].val;

		if (bits != all && (!bits || !left || (left & bits) != bits))
			continue;
		buf_printf(r->resolved, "%s%s", bar, x->vals[i].name);
		if (bits == all)
			return;
		bar = "|";
		left &= ~bits;
	}
}

static void add_flags(struct render *r)
{
	uint32_t v = (uint32_t)number(r->c, false);

	buf_add_u64(r->raw, v);
	add_flag_names(r, v);
}

static void add_mode(struct render *r)
{
	uint32_t v = (uint32_t)number(r->c, false);

	add_number(r, false);
	add_flag_names(r, v);
}

/* Enumerations that old versions declared as flags. */
static void add_enum(struct render *r)
{
	const struct xlat *x = r->v->info->params[r->i].xlat;
	uint32_t v = (uint32_t)number(r->c, false);
	const char *name = x ? xlat_name(x, v) : NULL;

	buf_add_u64(r->raw, v);
	if (name)
		buf_add_str(r->resolved, name);
}

/* ---- who ---- */

/* Untrusted text: sysdig omits control characters, sonde escapes them. */
static void add_text(struct buf *out, const struct scap_str *s)
{
	if (s)
		str_escape_buf(out, s->data, s->len);
}

static void add_fd(struct render *r)
{
	int64_t num = (int64_t)number(r->c, true);
	const struct scap_fd *fd = r->v->thread && num >= 0 ? scap_state_fd(r->v->state, r->v->thread, num) : NULL;
	static const char l4[] = { 0, 0, 't', 'u', 'i', 'r' };
	const char *name = num < 0 && num >= -4095 && num != AT_FDCWD_NUM_ ? strerrorname_np((int)-num) : NULL;

	buf_add_i64(r->raw, num);
	if (num == AT_FDCWD_NUM_)
		buf_add_str(r->resolved, "AT_FDCWD");
	else if (name)
		buf_add_str(r->resolved, name);
	if (!fd)
		return;
	buf_add_char(r->resolved, '<');
	buf_add_char(r->resolved, scap_state_fd_type_char(fd));
	if (fd->type >= FD_IPV4 && fd->type <= FD_IPV6_SERVER && fd->l4 < sizeof(l4) && l4[fd->l4] &&
	    (fd->role != SCAP_ROLE_NONE || fd->type >= FD_IPV4_SERVER || fd->l4 == SCAP_L4_RAW))
		buf_add_char(r->resolved, l4[fd->l4]);
	buf_add_char(r->resolved, '>');
	add_text(r->resolved, fd->name);
}

static void add_pid(struct render *r)
{
	int64_t pid = (int64_t)number(r->c, true);
	const struct scap_thread *t = scap_state_thread(r->v->state, pid);

	buf_add_i64(r->raw, pid);
	if (t && !t->invented)
		add_text(r->resolved, t->comm);
}

static void add_user(struct render *r, bool group)
{
	uint32_t id = (uint32_t)number(r->c, false);
	const struct scap_user *u = group ? NULL : scap_state_user(r->v->state, id);
	const struct scap_group *g = group ? scap_state_group(r->v->state, id) : NULL;

	if (id == UINT32_MAX) {
		buf_add_str(r->raw, "-1");
		buf_add_str(r->resolved, "<NONE>");
		return;
	}
	buf_add_u64(r->raw, id);
	if (u || g)
		add_text(r->resolved, u ? u->name : g->name);
	else
		buf_add_str(r->resolved, "<NA>");
}

static void add_fdlist(struct render *r)
{
	uint16_t n = cur_u16(&r->c);

	for (uint16_t i = 0; i < n; i++) {
		int64_t num = (int64_t)cur_u64(&r->c);
		int16_t events = (int16_t)cur_u16(&r->c);
		const struct scap_fd *fd;

		if (!cur_ok(&r->c))
			return;
		fd = r->v->thread ? scap_state_fd(r->v->state, r->v->thread, num) : NULL;
		buf_printf(r->raw, "%s%lld:%c%x", i ? " " : "", (long long)num,
			   fd ? scap_state_fd_type_char(fd) : '?', (unsigned)events);
	}
}

static void add_syscall(struct render *r)
{
	uint16_t id = cur_u16(&r->c);
	const char *name = scap_schema_syscall_name(id);

	buf_printf(r->raw, "%u", id);
	if (name)
		buf_add_str(r->resolved, name);
}

/* ---- addresses ---- */

static bool add_address(struct cursor *c, uint8_t family, struct buf *out)
{
	struct ipaddr ip;
	uint16_t port;

	if (!state_net_read_end(c, family, &ip, &port))
		return false;
	ipaddr_unmap(&ip);
	ipaddr_text(&ip, out);
	buf_printf(out, ":%u", port);
	return true;
}

static void add_rest(struct cursor *c, struct buf *out)
{
	size_t len = cur_left(c);
	const char *s = cur_bytes(c, len);

	if (s)
		str_escape_buf(out, s, strnlen(s, len));
}

static void add_sockaddr(struct render *r)
{
	uint8_t family = cur_u8(&r->c);

	if (!cur_ok(&r->c))
		buf_add_str(r->raw, "NULL");
	else if (family == SCAP_AF_UNIX)
		add_rest(&r->c, r->raw);
	else if (family == SCAP_AF_INET && !add_address(&r->c, family, r->raw))
		buf_add_str(r->raw, "INVALID IPv4");
	else if (family == SCAP_AF_INET6 && !add_address(&r->c, family, r->raw))
		buf_add_str(r->raw, "INVALID IPv6");
	else if (family != SCAP_AF_INET && family != SCAP_AF_INET6)
		buf_printf(r->raw, "family %d", family);
}

static void add_tuple(struct render *r)
{
	uint8_t family = cur_u8(&r->c);
	struct buf to = { 0 };

	if (!cur_ok(&r->c)) {
		buf_add_str(r->raw, "NULL");
	} else if (family == SCAP_AF_UNIX) {
		uint64_t source = cur_u64(&r->c), dest = cur_u64(&r->c);

		buf_printf(r->raw, "%llx->%llx ", (unsigned long long)source, (unsigned long long)dest);
		add_rest(&r->c, r->raw);
	} else if (family != SCAP_AF_INET && family != SCAP_AF_INET6) {
		buf_printf(r->raw, "family %d", family);
	} else if (add_address(&r->c, family, r->raw) && add_address(&r->c, family, &to)) {
		buf_add_str(r->raw, "->");
		buf_add(r->raw, to.data, to.len);
	} else {
		buf_printf(r->raw, "INVALID IPv%d", family == SCAP_AF_INET ? 4 : 6);
	}
	buf_fini(&to);
}

/* ---- text ---- */

static void add_chars(struct render *r)
{
	size_t len = cur_left(&r->c);
	const char *s = cur_bytes(&r->c, len);

	if (s)
		str_escape_buf(r->raw, s, strnlen(s, len));
}

static struct scap_str *base_of(const struct scap_view *v, unsigned i)
{
	const struct scap_param *info = &v->info->params[i];
	struct scap_state *st = (struct scap_state *)v->state;
	int64_t dirfd;

	if (info->type != PT_FSRELPATH || !params_i64(&v->p, info->dirfd, &dirfd))
		dirfd = AT_FDCWD_NUM;
	return state_fd_directory(st, (struct scap_thread *)v->thread, dirfd);
}

void scap_render_path(const struct scap_view *v, unsigned i, struct buf *out)
{
	struct scap_state *st = (struct scap_state *)v->state;
	struct scap_str *base, *full;
	size_t len;
	const char *s = params_str(&v->p, i, &len);

	if (!s || !v->thread || (len && s[0] == '/') || !strncmp(s, "<NA>", 4))
		return;
	base = base_of(v, i);
	full = state_str_path(st, base ? base->data : "", base ? base->len : 0, s, len);
	if (len)
		add_text(out, full);
	state_str_unref(st, full);
	state_str_unref(st, base);
}

static void add_path(struct render *r)
{
	add_rest(&r->c, r->raw);
	scap_render_path(r->v, r->i, r->resolved);
}

static void add_bytes(struct render *r)
{
	size_t len = cur_left(&r->c);
	const void *data = cur_bytes(&r->c, len);

	scap_render_buffer(data, len, r->opts, r->raw);
}

static void add_ip(struct render *r)
{
	size_t len = cur_left(&r->c);
	const uint8_t *addr = cur_bytes(&r->c, len);
	struct ipaddr ip;

	if (len != 4 && len != 16)
		return;
	ipaddr_set(&ip, len == 4 ? SONDE_IPV4 : SONDE_IPV6, addr);
	ipaddr_text(&ip, r->raw);
}

static void add_value(struct render *r);

static void add_dyn(struct render *r)
{
	const struct scap_param *info = r->info;
	uint8_t selector = cur_u8(&r->c);

	if (!cur_ok(&r->c) || selector >= info->n_dyn) {
		buf_add_str(r->raw, "INVALID DYNAMIC PARAMETER");
		return;
	}
	r->info = &info->dyn[selector];
	add_value(r);
}

static void add_value(struct render *r)
{
	switch ((enum scap_param_type)r->info->type) {
	case PT_INT8: case PT_INT16: case PT_INT32: case PT_INT64: add_number(r, true); break;
	case PT_UINT8: case PT_UINT16: case PT_UINT32: case PT_UINT64: case PT_PORT: case PT_L4PROTO:
	case PT_SOCKFAMILY: case PT_BOOL: case PT_ABSTIME: add_number(r, false); break;
	case PT_CHARBUF: add_chars(r); break;
	case PT_BYTEBUF: add_bytes(r); break;
	case PT_ERRNO: add_errno(r); break;
	case PT_SOCKADDR: add_sockaddr(r); break;
	case PT_SOCKTUPLE: add_tuple(r); break;
	case PT_FD: case PT_FD32: add_fd(r); break;
	case PT_PID: case PT_PID32: add_pid(r); break;
	case PT_FDLIST: add_fdlist(r); break;
	case PT_FSPATH: case PT_FSRELPATH: add_path(r); break;
	case PT_SYSCALLID: add_syscall(r); break;
	case PT_SIGTYPE: add_signal(r); break;
	case PT_RELTIME: add_reltime(r); break;
	case PT_FLAGS8: case PT_FLAGS16: case PT_FLAGS32: add_flags(r); break;
	case PT_ENUM8: case PT_ENUM16: case PT_ENUM32: add_enum(r); break;
	case PT_MODE: add_mode(r); break;
	case PT_UID: add_user(r, false); break;
	case PT_GID: add_user(r, true); break;
	case PT_SIGSET: add_sigset(r); break;
	case PT_DYN: add_dyn(r); break;
	case PT_IPV4ADDR: case PT_IPV6ADDR: case PT_IPADDR: add_ip(r); break;
	case PT_NONE: case PT_DOUBLE: case PT_CHARBUFARRAY: case PT_CHARBUF_PAIR_ARRAY: case PT_IPV4NET:
	case PT_IPV6NET: case PT_IPNET: case PT__MAX: buf_add_str(r->raw, "(n.a.)"); break;
	}
}

int scap_render_param(const struct scap_view *v, unsigned i, const struct scap_render_opts *o, struct buf *raw,
		      struct buf *resolved)
{
	struct render r = { .v = v, .opts = o, .i = i, .raw = raw, .resolved = resolved };

	if (i >= v->p.n || i >= v->info->n_params)
		return -ENOENT;
	r.info = &v->info->params[i];
	r.c = params_cursor(&v->p, i);
	add_value(&r);
	return buf_error(raw) ? buf_error(raw) : buf_error(resolved);
}

int scap_render_args(const struct scap_view *v, const struct scap_render_opts *o, struct buf *out)
{
	char memory[RESOLVED_BYTES];
	struct buf resolved = buf_in(memory, sizeof(memory));
	uint16_t type = v->p.head->type;

	if (type == SCAP_GENERIC_E || type == SCAP_GENERIC_X)
		return 0;
	for (unsigned i = 0; i < v->p.n && i < v->info->n_params; i++) {
		buf_reset(&resolved);
		buf_add_str(out, v->info->params[i].name);
		buf_add_char(out, '=');
		scap_render_param(v, i, o, out, &resolved);
		if (resolved.len) {
			buf_add_char(out, '(');
			buf_add(out, resolved.data, resolved.len);
			buf_add_char(out, ')');
		}
		buf_add_char(out, ' ');
	}
	buf_fini(&resolved);
	return buf_error(out);
}
