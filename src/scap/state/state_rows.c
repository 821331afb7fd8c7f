// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The state back to rows, for files that begin in the middle of things.
 */
#include <errno.h>

#include "event/event.h"
#include "scap/block.h"
#include "scap/event.h"
#include "scap/state/state.h"
#include "scap/state/state_tables.h"

#define ANCESTORS_MAX 64

struct rows {
	const struct scap_state *st;
	bool (*pass)(void *ctx, const struct event *ev);
	void *pass_ctx;
	int (*fn)(void *ctx, const struct params_out *row);
	void *ctx;
	struct params_out out;
	struct map keep;	/* int64_t tid -> uint8_t; not used without pass */
};

static void add_bytes(struct params_out *o, const struct scap_str *s)
{
	params_add(o, s ? s->data : NULL, s ? s->len : 0);
}

/* In the order of tables/scap_rows.tsv. */
static int send_thread(struct rows *r, const struct scap_thread *t)
{
	struct params_out *o = &r->out;
	const struct scap_thread *main = scap_state_process(r->st, t);

	params_begin(o, SCAP_ROW_THREAD, -1);
	params_add_u64(o, (uint64_t)t->tid);
	params_add_u64(o, (uint64_t)t->pid);
	params_add_u64(o, (uint64_t)t->ptid);
	params_add_u64(o, (uint64_t)t->sid);
	params_add_u64(o, (uint64_t)t->vpgid);
	state_str_add(o, t->comm);
	state_str_add(o, t->exe);
	state_str_add(o, t->exepath);
	add_bytes(o, t->args);
	state_str_add(o, main->cwd);
	params_add_u64(o, (uint64_t)t->fdlimit);
	params_add_u32(o, t->flags);
	params_add_u32(o, t->uid);
	params_add_u32(o, t->gid);
	params_add_u32(o, t->vmsize_kb);
	params_add_u32(o, t->vmrss_kb);
	params_add_u32(o, t->vmswap_kb);
	params_add_u64(o, t->pfmajor);
	params_add_u64(o, t->pfminor);
	add_bytes(o, t->env);
	params_add_u64(o, (uint64_t)t->vtid);
	params_add_u64(o, (uint64_t)t->vpid);
	add_bytes(o, t->cgroups);
	state_str_add(o, t->root);
	params_add_u64(o, 0);
	params_add_u32(o, t->tty);
	params_add_u32(o, t->loginuid);
	params_add_u8(o, t->exe_writable);
	return r->fn(r->ctx, o);
}

static void add_end(struct params_out *o, const struct ipaddr *ip, uint16_t port, size_t len)
{
	static const uint8_t zero[16];

	params_append(o, ip->family ? ip->addr : zero, len);
	params_append(o, &port, sizeof(port));
}

/* tuple and addr of a socket; of a connection whose server this process is, the client comes first as it is. */
static void add_socket(struct params_out *o, const struct scap_fd *fd)
{
	bool v4 = fd->type == FD_IPV4 || fd->type == FD_IPV4_SERVER;
	uint8_t family = v4 ? SCAP_AF_INET : SCAP_AF_INET6;
	size_t len = v4 ? 4 : 16;

	if (fd->type == FD_IPV4 || fd->type == FD_IPV6) {
		params_add_u8(o, family);
		add_end(o, &fd->sip, fd->sport, len);
		add_end(o, &fd->dip, fd->dport, len);
		params_add(o, NULL, 0);
	} else {
		params_add(o, NULL, 0);
		params_add_u8(o, family);
		add_end(o, &fd->dip, fd->dport, len);
	}
	params_add_u8(o, fd->l4);
}

static void add_unix(struct params_out *o, const struct scap_fd *fd)
{
	params_add_u8(o, SCAP_AF_UNIX);
	params_append(o, &fd->unix_source, sizeof(fd->unix_source));
	params_append(o, &fd->unix_dest, sizeof(fd->unix_dest));
	if (fd->name)
		params_append(o, fd->name->data, fd->name->len);
	params_append(o, "", 1);
	params_add(o, NULL, 0);
	params_add(o, NULL, 0);
}

static int send_fd(struct rows *r, const struct scap_thread *t, int64_t num, const struct scap_fd *fd)
{
	struct params_out *o = &r->out;

	params_begin(o, SCAP_ROW_FD, -1);
	params_add_u64(o, (uint64_t)t->tid);
	params_add_u64(o, (uint64_t)num);
	params_add_u64(o, fd->ino);
	params_add_u8(o, fd->type);
	state_str_add(o, fd->name);
	if (fd->type >= FD_IPV4 && fd->type <= FD_IPV6_SERVER) {
		add_socket(o, fd);
	} else if (fd->type == FD_UNIX) {
		add_unix(o, fd);
	} else {
		for (int i = 0; i < 3; i++)
			params_add(o, NULL, 0);
	}
	params_add_u32(o, fd->open_flags);
	params_add_u32(o, fd->dev);
	return r->fn(r->ctx, o);
}

/* ---- which threads ---- */

static bool asks(const struct rows *r, const struct scap_thread *t, const struct scap_fd *fd, int64_t num)
{
	static const struct sec_params read_exit = { .type = SCAP_READ_X };
	struct scap_view v = {
		.state = r->st,
		.info = scap_schema_event_info(SCAP_READ_X),
		.p.head = &read_exit,
		.thread = t,
		.process = scap_state_process(r->st, t),
		.fd = fd,
		.fd_num = num,
		.ts_ns = r->st->last_ns,
		.first_ns = r->st->first_ns,
	};
	struct event ev = {
		.desc = &scap_event_desc, .tgid = t->pid > 0 ? (uint32_t)t->pid : 0,
		.tid = t->tid > 0 ? (uint32_t)t->tid : 0, .view = &v,
	};

	return r->pass(r->pass_ctx, &ev);
}

static bool is_selected(const struct rows *r, const struct scap_thread *t)
{
	const struct scap_thread *main = scap_state_process(r->st, t);
	const struct scap_fd *fd;
	size_t pos = 0;
	int64_t num;

	if (asks(r, t, NULL, -1))
		return true;
	while ((fd = scap_state_next_fd(main, &pos, &num)))
		if (asks(r, t, fd, num))
			return true;
	return false;
}

/* The thread, its process and their ancestors: words about parents must not lose their meaning. */
static int keep(struct rows *r, const struct scap_thread *t)
{
	for (unsigned n = 0; t && n < ANCESTORS_MAX; n++) {
		const struct scap_thread *main = scap_state_process(r->st, t);

		if (map_note(&r->keep, &t->tid) < 0 || map_note(&r->keep, &main->tid) < 0)
			return -ENOMEM;
		t = scap_state_thread(r->st, main->ptid);
	}
	return 0;
}

static int choose(struct rows *r)
{
	const struct scap_thread *t;
	size_t pos = 0;
	int ret = 0;

	while (ret >= 0 && r->pass && (t = scap_state_next_thread(r->st, &pos)))
		if (is_selected(r, t))
			ret = keep(r, t);
	return ret;
}

static bool kept(const struct rows *r, const struct scap_thread *t)
{
	return !t->invented && (!r->pass || map_find(&r->keep, &t->tid));
}

/* ---- the tables ---- */

static int send_threads(struct rows *r)
{
	const struct scap_thread *t;
	const struct scap_fd *fd;
	size_t pos = 0, at;
	int64_t num;
	int ret = 0;

	while (ret >= 0 && (t = scap_state_next_thread(r->st, &pos)))
		if (kept(r, t))
			ret = send_thread(r, t);
	for (pos = 0; ret >= 0 && (t = scap_state_next_thread(r->st, &pos));) {
		if (!kept(r, t))
			continue;
		for (at = 0; ret >= 0 && (fd = scap_state_next_fd(t, &at, &num));)
			if (num >= 0)
				ret = send_fd(r, t, num, fd);
	}
	return ret;
}

static int send_ifaces(struct rows *r)
{
	int ret = 0;

	for (size_t i = 0; ret >= 0 && i < r->st->ifaces.len; i++) {
		const struct iface4 *iface = &r->st->ifaces.items[i];
		uint32_t broadcast = iface->addr | ~iface->mask;

		params_begin(&r->out, SCAP_ROW_IFACE, -1);
		params_add_u16(&r->out, 1);
		params_add_u32(&r->out, iface->addr);
		params_add_u32(&r->out, iface->mask);
		params_add_u32(&r->out, broadcast);
		params_add_u64(&r->out, 0);
		params_add_str(&r->out, "", 0);
		ret = r->fn(r->ctx, &r->out);
	}
	return ret;
}

static int send_users(struct rows *r)
{
	size_t pos = 0;
	void *key, *val;
	int ret = 0;

	while (ret >= 0 && map_next(&r->st->users, &pos, &key, &val)) {
		const struct scap_user *u = val;

		params_begin(&r->out, SCAP_ROW_USER, -1);
		params_add_u32(&r->out, u->uid);
		params_add_u32(&r->out, u->gid);
		state_str_add(&r->out, u->name);
		state_str_add(&r->out, u->home);
		state_str_add(&r->out, u->shell);
		ret = r->fn(r->ctx, &r->out);
	}
	for (pos = 0; ret >= 0 && map_next(&r->st->groups, &pos, &key, &val);) {
		const struct scap_group *g = val;

		params_begin(&r->out, SCAP_ROW_GROUP, -1);
		params_add_u32(&r->out, g->gid);
		state_str_add(&r->out, g->name);
		ret = r->fn(r->ctx, &r->out);
	}
	return ret;
}

int scap_state_rows(const struct scap_state *st, bool (*pass)(void *ctx, const struct event *ev), void *pass_ctx,
		    int (*fn)(void *ctx, const struct params_out *row), void *ctx)
{
	struct rows r = { .st = st, .pass = pass, .pass_ctx = pass_ctx, .fn = fn, .ctx = ctx };
	int ret;

	map_init(&r.keep, sizeof(int64_t), sizeof(uint8_t));
	ret = choose(&r);
	if (ret >= 0)
		ret = send_ifaces(&r);
	if (ret >= 0)
		ret = send_users(&r);
	if (ret >= 0)
		ret = send_threads(&r);
	map_fini(&r.keep);
	params_out_fini(&r.out);
	return ret < 0 ? ret : 0;
}
