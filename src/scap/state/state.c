// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The fold: each event finds its thread, its enter event and its descriptor, then changes the tables.
 */
#include "scap/state/state.h"

#include <stdlib.h>

#include "base/macros.h"
#include "event/event.h"
#include "event/names.h"
#include "scap/block.h"
#include "scap/state/state_tables.h"
#include "sonde/scap_wire.h"
#include "sonde/wire.h"

#define ENTER_BYTES_MAX 16384u	/* of an enter event that is kept for its exit */

static const struct { uint16_t type; fold_fn fn;
} folds[] = {
	{ SCAP_OPEN_X, state_fd_fold_open },
	{ SCAP_CREAT_X, state_fd_fold_creat },
	{ SCAP_OPENAT_X, state_fd_fold_openat_old },
	{ SCAP_OPENAT_2_X, state_fd_fold_openat },
	{ SCAP_OPENAT2_X, state_fd_fold_openat },
	{ SCAP_CLOSE_E, state_fd_fold_close_enter },
	{ SCAP_CLOSE_X, state_fd_fold_close },
	{ SCAP_PIPE_X, state_fd_fold_pipe },
	{ SCAP_PIPE2_X, state_fd_fold_pipe },
	{ SCAP_DUP_X, state_fd_fold_dup },
	{ SCAP_DUP2_X, state_fd_fold_dup },
	{ SCAP_DUP3_X, state_fd_fold_dup },
	{ SCAP_DUP_1_X, state_fd_fold_dup },
	{ SCAP_FCNTL_X, state_fd_fold_fcntl },
	{ SCAP_EVENTFD_X, state_fd_fold_new_fd },
	{ SCAP_EVENTFD2_X, state_fd_fold_new_fd },
	{ SCAP_SIGNALFD_X, state_fd_fold_new_fd },
	{ SCAP_SIGNALFD4_X, state_fd_fold_new_fd },
	{ SCAP_INOTIFY_INIT_X, state_fd_fold_new_fd },
	{ SCAP_INOTIFY_INIT1_X, state_fd_fold_new_fd },
	{ SCAP_TIMERFD_CREATE_X, state_fd_fold_new_fd },
	{ SCAP_EPOLL_CREATE_X, state_fd_fold_new_fd },
	{ SCAP_EPOLL_CREATE1_X, state_fd_fold_new_fd },
	{ SCAP_USERFAULTFD_X, state_fd_fold_new_fd },
	{ SCAP_IO_URING_SETUP_X, state_fd_fold_new_fd },
	{ SCAP_MEMFD_CREATE_X, state_fd_fold_new_fd },
	{ SCAP_PIDFD_OPEN_X, state_fd_fold_new_fd },
	{ SCAP_SOCKET_X, state_net_fold_socket },
	{ SCAP_SOCKETPAIR_X, state_net_fold_socketpair },
	{ SCAP_BIND_X, state_net_fold_bind },
	{ SCAP_CONNECT_E, state_net_fold_connect_enter },
	{ SCAP_CONNECT_X, state_net_fold_connect },
	{ SCAP_ACCEPT_X, state_net_fold_accept },
	{ SCAP_ACCEPT4_X, state_net_fold_accept },
	{ SCAP_ACCEPT_5_X, state_net_fold_accept },
	{ SCAP_ACCEPT4_5_X, state_net_fold_accept },
	{ SCAP_ACCEPT4_6_X, state_net_fold_accept },
	{ SCAP_SENDTO_E, state_net_fold_sendto_enter },
	{ SCAP_SENDTO_X, state_net_fold_send },
	{ SCAP_SENDMSG_X, state_net_fold_send },
	{ SCAP_RECVFROM_X, state_net_fold_recvfrom },
	{ SCAP_RECVMSG_X, state_net_fold_recvmsg },
	{ SCAP_GETSOCKOPT_X, state_net_fold_getsockopt },
	{ SCAP_CLONE_11_X, state_proc_fold_clone },
	{ SCAP_CLONE_16_X, state_proc_fold_clone },
	{ SCAP_CLONE_17_X, state_proc_fold_clone },
	{ SCAP_CLONE_20_X, state_proc_fold_clone },
	{ SCAP_FORK_X, state_proc_fold_clone },
	{ SCAP_FORK_17_X, state_proc_fold_clone },
	{ SCAP_FORK_20_X, state_proc_fold_clone },
	{ SCAP_VFORK_X, state_proc_fold_clone },
	{ SCAP_VFORK_17_X, state_proc_fold_clone },
	{ SCAP_VFORK_20_X, state_proc_fold_clone },
	{ SCAP_CLONE3_X, state_proc_fold_clone },
	{ SCAP_EXECVE_8_X, state_proc_fold_execve },
	{ SCAP_EXECVE_13_X, state_proc_fold_execve },
	{ SCAP_EXECVE_14_X, state_proc_fold_execve },
	{ SCAP_EXECVE_15_X, state_proc_fold_execve },
	{ SCAP_EXECVE_16_X, state_proc_fold_execve },
	{ SCAP_EXECVE_17_X, state_proc_fold_execve },
	{ SCAP_EXECVE_18_X, state_proc_fold_execve },
	{ SCAP_EXECVE_19_X, state_proc_fold_execve },
	{ SCAP_EXECVEAT_X, state_proc_fold_execve },
	{ SCAP_PROCEXIT_E, state_proc_fold_exit },
	{ SCAP_PROCEXIT_1_E, state_proc_fold_exit },
	{ SCAP_CHDIR_X, state_proc_fold_chdir },
	{ SCAP_FCHDIR_X, state_proc_fold_fchdir },
	{ SCAP_GETCWD_X, state_proc_fold_chdir },
	{ SCAP_CHROOT_X, state_proc_fold_chroot },
	{ SCAP_SETUID_X, state_proc_fold_setuid },
	{ SCAP_SETGID_X, state_proc_fold_setgid },
	{ SCAP_SETRESUID_X, state_proc_fold_setresuid },
	{ SCAP_SETRESGID_X, state_proc_fold_setresgid },
	{ SCAP_SETREUID_X, state_proc_fold_setresuid },
	{ SCAP_SETREGID_X, state_proc_fold_setresgid },
	{ SCAP_SETSID_X, state_proc_fold_setsid },
	{ SCAP_BRK_4_X, state_proc_fold_vm },
	{ SCAP_MMAP_X, state_proc_fold_vm },
	{ SCAP_MMAP2_X, state_proc_fold_vm },
	{ SCAP_MUNMAP_X, state_proc_fold_vm },
	{ SCAP_SCHEDSWITCH_1_E, state_proc_fold_switch },
	{ SCAP_SCHEDSWITCH_6_E, state_proc_fold_switch },
	{ SCAP_PRLIMIT_X, state_proc_fold_prlimit },
};

/* Where an event has the descriptor it is about: libscap calls it fd, or by what the call does with it. */
int8_t scap_state_fd_param(uint16_t type)
{
	const struct scap_event_info *info = scap_schema_event_info(type);
	static const char *const names[] = { "fd", "fd_in", "out_fd", "fdout", "oldfd" };
	bool creates = info->flags & SCAP_CREATES_FD && type & 1;

	if (!info)
		return -1;
	if (!(info->flags & SCAP_USES_FD) && !(type & 1 && (!strncmp(info->id, "DUP", 3))))
		return -1;
	for (size_t k = 0; k < ARRAY_SIZE(names); k++)
		for (unsigned i = 0; i < info->n_params; i++)
			if (info->params[i].type == PT_FD && !strcmp(info->params[i].name, names[k]) &&
			    !(creates && i == 0))
				return (int8_t)i;
	return -1;
}

struct scap_state *scap_state_new(void)
{
	struct scap_state *st = calloc(1, sizeof(*st));

	if (!st)
		return NULL;
	map_init(&st->threads, sizeof(int64_t), sizeof(struct scap_thread *));
	map_init(&st->users, sizeof(uint32_t), sizeof(struct scap_user));
	map_init(&st->groups, sizeof(uint32_t), sizeof(struct scap_group));
	map_init(&st->switched, sizeof(uint16_t), sizeof(uint64_t));
	map_init(&st->server_ports, sizeof(uint16_t), sizeof(uint8_t));
	st->gone_tid = st->closed_tid = -1;
	for (uint16_t i = 0; i < SCAP_EVENT_MAX; i++)
		st->fd_param[i] = scap_state_fd_param(i);
	for (size_t i = 0; i < ARRAY_SIZE(folds); i++)
		st->fold[folds[i].type] = folds[i].fn;
	st->render.cut = SCAP_RENDER_CUT;
	return st;
}

static void user_free(struct scap_state *st, struct scap_user *u)
{
	state_str_unref(st, u->name);
	state_str_unref(st, u->home);
	state_str_unref(st, u->shell);
}

static void tables_free(struct scap_state *st)
{
	size_t pos = 0;
	void *key, *val;

	state_thread_free_all(st);
	while (map_next(&st->users, &pos, &key, &val))
		user_free(st, val);
	map_fini(&st->users);
	for (pos = 0; map_next(&st->groups, &pos, &key, &val);)
		state_str_unref(st, ((struct scap_group *)val)->name);
	map_fini(&st->groups);
	map_fini(&st->server_ports);
	map_fini(&st->switched);
	vec_fini(&st->ifaces);
	for (size_t i = 0; i < st->containers.len; i++)
		state_container_free(st, &st->containers.items[i]);
	vec_fini(&st->containers);
}

void scap_state_free(struct scap_state *st)
{
	if (!st)
		return;
	tables_free(st);
	for (size_t i = 0; i < ARRAY_SIZE(st->scratch); i++)
		buf_fini(&st->scratch[i]);
	buf_fini(&st->image);
	free(st);
}

void scap_state_set_engine(struct scap_state *st, struct state *engine)
{
	st->engine = engine;
}

/* ---- rows ---- */

static void row_user(struct scap_state *st, const struct params *p)
{
	struct scap_user *u;
	uint64_t uid, gid = 0;
	uint32_t key;
	bool is_new;

	if (!params_u64(p, 0, &uid) || st->bytes > STATE_BYTES_MAX)
		return;
	key = (uint32_t)uid;
	u = map_add(&st->users, &key, &is_new);
	if (!u)
		return;
	st->bytes += is_new ? sizeof(*u) : 0;
	params_u64(p, 1, &gid);
	u->uid = key;
	u->gid = (uint32_t)gid;
	state_str_set_param(st, &u->name, p, 2);
	state_str_set_param(st, &u->home, p, 3);
	state_str_set_param(st, &u->shell, p, 4);
}

static void row_group(struct scap_state *st, const struct params *p)
{
	struct scap_group *g;
	uint64_t gid;
	uint32_t key;
	bool is_new;

	if (!params_u64(p, 0, &gid) || st->bytes > STATE_BYTES_MAX)
		return;
	key = (uint32_t)gid;
	g = map_add(&st->groups, &key, &is_new);
	if (!g)
		return;
	st->bytes += is_new ? sizeof(*g) : 0;
	g->gid = key;
	state_str_set_param(st, &g->name, p, 1);
}

#define IFACES_MAX 65536u

static void row_iface(struct scap_state *st, const struct params *p)
{
	struct cursor addr = params_cursor(p, 1), mask = params_cursor(p, 2);
	struct iface4 i = { .addr = cur_u32(&addr), .mask = cur_u32(&mask) };

	if (!cur_ok(&addr) || cur_left(&addr) || !cur_ok(&mask) || st->ifaces.len >= IFACES_MAX ||
	    vec_grow(&st->ifaces) < 0)
		return;
	st->ifaces.items[st->ifaces.len++] = i;
}

/* A machine's row begins a capture: with concatenated ones the tables of the one before are gone. */
static void begin_tables(struct scap_state *st)
{
	struct scap_state *fresh;

	if (!st->rows_done)
		return;
	fresh = scap_state_new();
	if (!fresh)
		return;
	tables_free(st);
	for (size_t i = 0; i < ARRAY_SIZE(st->scratch); i++)
		fresh->scratch[i] = st->scratch[i];
	fresh->image = st->image;
	fresh->render = st->render;
	fresh->engine = st->engine;
	fresh->num = st->num;
	fresh->last_ns = st->last_ns;
	fresh->first_ns = st->first_ns;
	*st = *fresh;
	free(fresh);
}

static void take_row(struct scap_state *st, const struct params *p)
{
	switch (p->head->type) {
	case SCAP_ROW_MACHINE: begin_tables(st); break;
	case SCAP_ROW_THREAD: state_thread_from_row(st, p); break;
	case SCAP_ROW_FD: state_fd_fold_row(st, p); break;
	case SCAP_ROW_USER: row_user(st, p); break;
	case SCAP_ROW_GROUP: row_group(st, p); break;
	case SCAP_ROW_IFACE: row_iface(st, p); break;
	}
}

/* ---- events ---- */

/* Removes the thread or descriptor that the previous event ended; that event still showed it. */
static void bury(struct scap_state *st)
{
	struct scap_thread *t;

	if (st->closed_tid >= 0) {
		t = state_thread_find(st, st->closed_tid);
		if (t)
			state_fd_remove(st, t, st->closed_fd);
		st->closed_tid = -1;
	}
	if (st->gone_tid < 0)
		return;
	t = state_thread_find(st, st->gone_tid);
	if (t && !t->n_threads)
		state_thread_remove(st, st->gone_tid);
	st->gone_tid = -1;
}

static bool is_nobodys(uint16_t type, const struct scap_event_info *info)
{
	return type == SCAP_CONTAINER_JSON_E || type == SCAP_CONTAINER_JSON_2_E || info->flags & SCAP_SKIP_PARSER;
}

static void keep_enter(struct scap_state *st, struct scap_thread *t, const struct event *ev)
{
	const struct section *s = event_section(ev, SEC_PARAMS);
	size_t before = t->enter.cap;

	buf_reset(&t->enter);
	if (s->len <= ENTER_BYTES_MAX)
		buf_add(&t->enter, s->data, s->len);
	st->bytes += t->enter.cap - before;
}

static void on_enter(struct fold *f, const struct event *ev)
{
	struct scap_thread *t = f->t;
	int8_t i = f->st->fd_param[f->p->head->type];

	t->last_type = f->p->head->type;
	t->last_fd = -1;
	t->latency_ns = 0;
	t->enter_ns = f->v->ts_ns;
	if (f->v->info->flags & SCAP_USES_FD && i >= 0 && params_i64(f->p, (unsigned)i, &t->last_fd))
		f->v->fd_num = t->last_fd;
	keep_enter(f->st, t, ev);
}

/* An exit belongs to the enter event directly before it, and to no other. */
static void on_exit_event(struct fold *f)
{
	uint16_t type = f->p->head->type;
	struct scap_thread *t = f->t;
	int8_t i = f->st->fd_param[type];
	int64_t num;

	if (t->enter_ns)
		t->latency_ns = f->v->ts_ns - t->enter_ns;
	if (t->last_type == type - 1 && t->enter.len && params_read(t->enter.data, t->enter.len, &f->v->enter) == 0) {
		f->v->fd_num = t->last_fd;
	} else {
		f->v->enter.n = 0;
		t->latency_ns = 0;
	}
	if (i >= 0 && params_i64(f->p, (unsigned)i, &num))
		f->v->fd_num = num;
	f->res = -1;
	params_i64(f->p, 0, &f->res);
}

static void run_fold(struct fold *f, const struct event *ev)
{
	uint16_t type = f->p->head->type;
	fold_fn fn = f->st->fold[type];

	f->v->fd_num = -1;
	f->v->enter.n = 0;
	f->proc = state_thread_main(f->st, f->t);
	if (type & 1)
		on_exit_event(f);
	else if (!(f->v->info->flags & SCAP_SKIP_PARSER) && type != SCAP_SCHEDSWITCH_6_E)
		on_enter(f, ev);
	f->fd = f->v->fd_num >= 0 ? state_fd_find(f->st, f->t, f->v->fd_num) : NULL;
	if (fn)
		fn(f);
	if (type & 1)
		f->t->last_type = type;
}

/* Captures carry libscap's parameters only; live events have fields of their own besides. */
static bool is_from_capture(const struct event *ev)
{
	return ev->desc->type == SONDE_EV_SCAP;
}

/* A live event says how long its thread had the CPU: a selection leaves out switches that stamps would need. */
static uint64_t ran_ns_of(const struct event *ev, const struct sec_params *head)
{
	return !is_from_capture(ev) && head->flags & PARAMS_HAS_RAN ? head->ran_us * 1000ull : 0;
}

static void show_thread(const struct scap_state *st, struct scap_view *v)
{
	v->thread = state_thread_find(st, v->p.head->tid);
	v->process = v->thread ? state_thread_main(st, (struct scap_thread *)v->thread) : NULL;
}

static void take_event(struct scap_state *st, const struct event *ev)
{
	struct scap_view *v = &st->view;
	struct fold f = { .st = st, .p = &v->p, .enter = &v->enter, .v = v };
	bool creates;

	if (v->p.head->type == SCAP_PROCINFO_E) { /* about the thread, not by it */
		show_thread(st, v);
		return;
	}
	if (is_nobodys(v->p.head->type, v->info)) {
		if (v->p.head->type != SCAP_DROP_E && v->p.head->type != SCAP_DROP_X)
			state_container_fold(st, &v->p);
		return;
	}
	f.t = state_thread_find_or_invent(st, v->p.head->tid);
	if (!f.t)
		return;
	f.ran_ns = ran_ns_of(ev, v->p.head);
	if (f.t->invented)
		state_thread_from_section(st, f.t, ev);
	if (st->engine && !is_from_capture(ev))
		state_thread_follow(st, f.t, ev);
	if (ev->keys.cgroup_id && ev->keys.cgroup_id != f.t->cgroup_id)
		state_thread_set_cgroup(st, f.t, ev->keys.cgroup_id,
					event_names_get(ev->names, SONDE_NAME_CGROUP, ev->keys.cgroup_id));
	creates = v->info->flags & SCAP_CREATES_FD && v->p.head->type & 1;
	if (!creates)
		state_fd_file_follow(st, f.t, ev);
	run_fold(&f, ev);
	if (creates)
		state_fd_file_follow(st, f.t, ev);
	show_thread(st, v);
	v->fd = v->thread && v->fd_num >= 0 ? state_fd_find(st, (struct scap_thread *)v->thread, v->fd_num) : NULL;
}

static void begin_view(struct scap_state *st, const struct event *ev)
{
	struct scap_view *v = &st->view;
	uint64_t now = event_wall_ns(ev);

	st->num = v->p.head->num ? v->p.head->num : st->num + 1;
	v->state = st;
	v->num = st->num;
	v->ts_ns = now;
	v->exec_ns = 0;
	v->cpu = ev->cpu;
	v->delta_ns = st->last_ns && now > st->last_ns ? now - st->last_ns : 0;
	if (!st->first_ns)
		st->first_ns = now;
	v->first_ns = st->first_ns;
	v->thread = v->process = NULL;
	v->fd = NULL;
	v->fd_num = -1;
	v->enter.n = 0;
	st->last_ns = now;
}

#define CGROUPS_PARAM 14	/* of clone and exec */
#define IMAGE_PARAMS 20

static int add_cgroups(struct scap_state *st, struct event *ev)
{
	struct scap_view *v = &st->view;
	struct params_out o = { 0 };
	size_t len;
	int r;

	params_begin(&o, v->p.head->type, v->p.head->tid);
	for (unsigned i = 0; i < v->p.n; i++) {
		const void *data = params_bytes(&v->p, i, &len);

		if (i == CGROUPS_PARAM)
			params_add(&o, v->thread->cgroups->data, v->thread->cgroups->len);
		else
			params_add(&o, data, len);
	}
	buf_reset(&st->image);
	r = params_write(&o, &st->image);
	params_out_fini(&o);
	if (r < 0)
		return r;
	for (unsigned i = 0; i < ev->n_sec; i++)
		if (ev->sec[i].kind == SEC_PARAMS) {
			ev->sec[i].data = st->image.data;
			ev->sec[i].len = (uint32_t)st->image.len;
		}
	return params_of(ev, &v->p);
}

/*
 * The kernel side does not say in which cgroups a live process is that clones or becomes another program: those that
 * it was in before stand in the event from here on, where readers of captures look for them.
 */
static int complete_image(struct scap_state *st, struct event *ev)
{
	const struct scap_view *v = &st->view;
	size_t len = 1;

	if (is_from_capture(ev) || v->p.n < IMAGE_PARAMS || !v->thread || !v->thread->cgroups ||
	    v->info->n_params < IMAGE_PARAMS || strcmp(v->info->params[CGROUPS_PARAM].name, "cgroups") != 0)
		return 0;
	params_bytes(&v->p, CGROUPS_PARAM, &len);
	return len ? 0 : add_cgroups(st, ev);
}

int scap_state_event(struct scap_state *st, struct event *ev)
{
	struct scap_view *v = &st->view;
	int r;

	if (params_of(ev, &v->p) < 0)
		return 0;
	bury(st);
	st->now_ns = ev->ts_ns ? event_wall_ns(ev) : 0;
	v->info = scap_schema_event_info(v->p.head->type);
	if (!v->info)
		return 0;
	if (scap_is_row(v->p.head->type)) {
		take_row(st, &v->p);
		return 0;
	}
	if (!st->rows_done)
		state_fd_fold_settle(st);
	st->rows_done = true;
	st->last_container = NULL;
	begin_view(st, ev);
	take_event(st, ev);
	ev->view = v;
	if (!ev->tgid && v->thread && v->thread->pid > 0)
		ev->tgid = (uint32_t)v->thread->pid;
	r = complete_image(st, ev);
	return r < 0 ? r : state_describe(st, ev);
}

void scap_state_left_out(struct scap_state *st, const struct event *ev)
{
	if (ev->view == &st->view && !st->view.p.head->num && st->num)
		st->num--;
}

/* ---- looking ---- */

const struct scap_view *scap_state_view(const struct event *ev)
{
	return ev->view;
}

const struct scap_thread *scap_state_thread(const struct scap_state *st, int64_t tid)
{
	return state_thread_find(st, tid);
}

const struct scap_thread *scap_state_process(const struct scap_state *st, const struct scap_thread *t)
{
	return state_thread_main(st, (struct scap_thread *)t);
}

const struct scap_fd *scap_state_fd(const struct scap_state *st, const struct scap_thread *t, int64_t fd)
{
	return state_fd_find(st, (struct scap_thread *)t, fd);
}

const struct scap_thread *scap_state_next_thread(const struct scap_state *st, size_t *pos)
{
	void *key, *val;

	return map_next(&st->threads, pos, &key, &val) ? *(struct scap_thread **)val : NULL;
}

const struct scap_fd *scap_state_next_fd(const struct scap_thread *t, size_t *pos, int64_t *ret_num)
{
	void *key, *val;

	if (!t->fds || !map_next(&t->fds->fds, pos, &key, &val))
		return NULL;
	*ret_num = *(int64_t *)key;
	return *(struct scap_fd **)val;
}

const struct scap_user *scap_state_user(const struct scap_state *st, uint32_t uid)
{
	return map_find(&st->users, &uid);
}

const struct scap_group *scap_state_group(const struct scap_state *st, uint32_t gid)
{
	return map_find(&st->groups, &gid);
}

void scap_state_set_render(struct scap_state *st, const struct scap_render_opts *o)
{
	st->render = *o;
}

const struct scap_render_opts *scap_state_render(const struct scap_state *st)
{
	return &st->render;
}

struct buf *scap_state_scratch(const struct scap_state *st)
{
	struct scap_state *own = (struct scap_state *)st;
	struct buf *b = &own->scratch[own->scratch_at++ % ARRAY_SIZE(own->scratch)];

	buf_reset(b);
	return b;
}

/* By number in files. The newest have no letter of old: sysdig's later versions gave them these. */
static const struct { char letter; const char *name;
} fd_kinds[] = {
	[0] = { '?', "unknown" },
	[FD_FILE] = { 'f', "file" },
	[FD_DIRECTORY] = { 'd', "directory" },
	[FD_IPV4] = { '4', "ipv4" },
	[FD_IPV6] = { '6', "ipv6" },
	[FD_IPV4_SERVER] = { '4', "ipv4" },
	[FD_IPV6_SERVER] = { '6', "ipv6" },
	[FD_FIFO] = { 'p', "pipe" },
	[FD_UNIX] = { 'u', "unix" },
	[FD_EVENT] = { 'e', "event" },
	[FD_UNSUPPORTED] = { 'o', "other" },
	[FD_SIGNAL] = { 's', "signalfd" },
	[FD_EPOLL] = { 'l', "eventpoll" },
	[FD_INOTIFY] = { 'i', "inotify" },
	[FD_TIMER] = { 't', "timerfd" },
	[FD_NETLINK] = { 'n', "netlink" },
	[FD_FILE_V2] = { 'f', "file" },
	[FD_BPF] = { 'b', "bpf" },
	[FD_USERFAULT] = { 'u', "userfaultfd" },
	[FD_IO_URING] = { 'r', "io_uring" },
	[FD_MEMFD] = { 'm', "memfd" },
	[FD_PIDFD] = { 'P', "pidfd" },
};

char scap_state_fd_type_char(const struct scap_fd *fd)
{
	return fd->type < ARRAY_SIZE(fd_kinds) ? fd_kinds[fd->type].letter : '?';
}

const char *scap_state_fd_type_name(const struct scap_fd *fd)
{
	return fd->type < ARRAY_SIZE(fd_kinds) ? fd_kinds[fd->type].name : "unknown";
}
