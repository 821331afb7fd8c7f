/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables of the state, for the files of this folder: each declares its functions here.
 */
#ifndef SCAP_STATE_TABLES_H
#define SCAP_STATE_TABLES_H

#include "base/map.h"
#include "base/vec.h"
#include "scap/schema.h"
#include "scap/state/view.h"

/* Hostile files name millions of things: what is kept in all, names included. */
#define STATE_BYTES_MAX (512u << 20)
#define NAME_BYTES_MAX 65536u
#define PATH_BYTES_MAX 4096u
#define CLONE_STALE_NS 2000000000ull /* an older clone of the same number is another thread's */
#define FD_CANCELED_NUM INT64_MIN    /* where a descriptor waits whose number was given away while it closed */
#define AT_FDCWD_NUM (-100)

/* Descriptors of a process, shared with its forks until one of them changes something. */
struct scap_fdtable {
	uint32_t refs;
	/* lint-ok(tables): descriptors by call, for captures and scap output */
	struct map fds; /* int64_t -> struct scap_fd * */
	struct scap_fd *recent; /* of the last look-up; NULL = none */
	int64_t recent_num;
};

struct fold;
typedef void (*fold_fn)(struct fold *f);

struct iface4 {
	uint32_t addr, mask;
};

struct scap_state {
	/* lint-ok(tables): captures of sysdig have no identity: their calls are all there is */
	struct map threads;	 /* int64_t tid -> struct scap_thread * */
	struct scap_thread *recent; /* of the last look-up, which is often the next one's; NULL = none */
	struct map users;	 /* uint32_t -> struct scap_user */
	struct map groups;	 /* uint32_t -> struct scap_group */
	struct map server_ports; /* uint16_t -> uint8_t: ports that the rows have listeners on */
	struct state *engine;	 /* borrowed; NULL = calls alone */
	VEC(struct iface4) ifaces;
	VEC(struct scap_container) containers;
	const struct scap_str *last_container; /* borrowed */
	uint64_t bytes;			       /* of what is owned, roughly */
	uint64_t n_serials;
	uint64_t num, last_ns, first_ns;
	uint64_t now_ns;	       /* of the event or row at hand; 0 = a row without a time */
	int64_t gone_tid;	       /* exited with the event before; -1 = none */
	int64_t closed_tid, closed_fd; /* closed by the event before; closed_tid -1 = none */
	bool rows_done;		       /* an event came: the tables are complete */
	struct scap_view view;
	struct scap_render_opts render;
	struct buf scratch[8];
	unsigned scratch_at;
	struct map switched; /* uint16_t CPU -> uint64_t time of its last switch */
	struct buf image;    /* of an event that complete_image() made whole */
	fold_fn fold[SCAP_EVENT_MAX];
	int8_t fd_param[SCAP_EVENT_MAX]; /* the parameter with the event's descriptor; -1 = none */
};

/* Argument of the fold functions. */
struct fold {
	struct scap_state *st;
	struct scap_thread *t, *proc;	/* never NULL when a parser runs */
	struct scap_fd *fd;		/* the descriptor of the event; NULL = unknown */
	const struct params *p, *enter; /* enter->n 0 = none */
	struct scap_view *v;
	int64_t res;	 /* parameter 0 of an exit event */
	uint64_t ran_ns; /* CPU time that the event carries; 0 = none */
};

/* Number @i of the exit event, or number @enter_i of the enter event. False if both lack it. */
static inline bool state_fold_number(const struct fold *f, unsigned i, unsigned enter_i, int64_t *ret)
{
	return params_i64(f->p, i, ret) || (f->enter->n && params_i64(f->enter, enter_i, ret));
}

/* ---- strings ---- */

/* NULL for NULL, beyond the budget, and without memory. */
struct scap_str *state_str_new(struct scap_state *st, const char *s, size_t len);
struct scap_str *state_str_ref(struct scap_str *s);
void state_str_unref(struct scap_state *st, struct scap_str *s);
/* Takes over the reference @s; the old one is given up. */
void state_str_set(struct scap_state *st, struct scap_str **slot, struct scap_str *s);
void state_str_set_param(struct scap_state *st, struct scap_str **slot, const struct params *p, unsigned i);
void state_str_set_bytes(struct scap_state *st, struct scap_str **slot, const struct params *p, unsigned i);
/* As a parameter; "" for NULL. */
void state_str_add(struct params_out *o, const struct scap_str *s);
/* @path below @base, without ".", ".." and double slashes; an absolute @path stands alone. */
struct scap_str *state_str_path(struct scap_state *st, const char *base, size_t base_len, const char *path,
				size_t len);

/* ---- threads (state_thread.c) ---- */

struct scap_thread *state_thread_find(const struct scap_state *st, int64_t tid);
/* A new one in the place of an old one; NULL without memory or budget. */
struct scap_thread *state_thread_add(struct scap_state *st, int64_t tid);
struct scap_thread *state_thread_find_or_invent(struct scap_state *st, int64_t tid);
void state_thread_remove(struct scap_state *st, int64_t tid);
struct scap_thread *state_thread_main(const struct scap_state *st, struct scap_thread *t);
void state_thread_changed(struct scap_thread *t); /* what SEC_PROC says */
void state_thread_set_cwd(struct scap_state *st, struct scap_thread *t, const char *path, size_t len);
void state_thread_set_cgroups(struct scap_state *st, struct scap_thread *t, const struct params *p, unsigned i);
void state_thread_from_row(struct scap_state *st, const struct params *p);
/* Data of SEC_PROC in a live event, for a thread without a row. */
void state_thread_from_section(struct scap_state *st, struct scap_thread *t, const struct event *ev);
/* Name and program of the event's thread and its process, as the engine knows them at its time. */
void state_thread_follow(struct scap_state *st, struct scap_thread *t, const struct event *ev);
/* A live event says in which cgroup it is now. */
void state_thread_set_cgroup(struct scap_state *st, struct scap_thread *t, uint64_t id, const char *path);
void state_thread_free_all(struct scap_state *st);

/* Process and connection of a capture's event, which has a view. 0 or -ENOMEM. */
int state_describe(struct scap_state *st, struct event *ev);

/* ---- memory of descriptors (state_fd_table.c) ---- */

struct scap_fd *state_fd_table_fd_new(struct scap_state *st, uint8_t type);
void state_fd_table_fd_unref(struct scap_state *st, struct scap_fd *fd); /* NULL is fine */
struct scap_fdtable *state_fd_table_new(void);
void state_fd_table_unref(struct scap_state *st, struct scap_fdtable *t);
/* Slot of @num, added if missing; counts the memory. NULL without memory. */
struct scap_fd **state_fd_table_slot(struct scap_state *st, struct scap_fdtable *t, int64_t num);

/* ---- descriptors of a process (state_fd.c) ---- */

struct scap_fd *state_fd_find(const struct scap_state *st, struct scap_thread *t, int64_t num);
/* For writing: no other process shares it afterwards. */
struct scap_fd *state_fd_own(struct scap_state *st, struct scap_thread *t, int64_t num);
/* A new descriptor; replaces the one at that number. */
struct scap_fd *state_fd_add(struct scap_state *st, struct scap_thread *t, int64_t num, uint8_t type);
void state_fd_remove(struct scap_state *st, struct scap_thread *t, int64_t num);
void state_fd_set_name(struct scap_state *st, struct scap_fd *fd, const char *s, size_t len);
/* A copy of @from at @num. */
struct scap_fd *state_fd_copy(struct scap_state *st, struct scap_thread *t, int64_t num, struct scap_fd *from);
/* Finds the server of each connection, once all rows are known. */
void state_fd_fold_settle(struct scap_state *st);

/* The directory that a *at() call is relative to, with a slash behind it; "" when unknown. */
struct scap_str *state_fd_directory(struct scap_state *st, struct scap_thread *t, int64_t dirfd);

/* ---- open files of live events (state_fd_file.c) ---- */

/* Makes the descriptor of @ev the file that the kernel named behind it. */
void state_fd_file_follow(struct scap_state *st, struct scap_thread *t, const struct event *ev);

/* ---- sockets (state_net.c) ---- */

void state_net_fd_name_socket(struct scap_state *st, struct scap_fd *fd);
void state_net_fd_swap_ends(struct scap_fd *fd);
/* An address of SCAP_AF_INET or SCAP_AF_INET6 and its port. False, and no results, where the data ends. */
bool state_net_read_end(struct cursor *c, uint8_t family, struct ipaddr *ret, uint16_t *ret_port);
/* From a tuple; false when it is none. *ret_changed: addresses or ports are others than before. */
bool state_net_fd_set_tuple(struct scap_fd *fd, struct cursor c, bool *ret_changed);
void state_net_fd_infer_address(const struct scap_state *st, struct scap_fd *fd);

/* ---- parsers, by event type ---- */

void state_container_free(struct scap_state *st, struct scap_container *ct); /* what it holds */
void state_fd_fold_row(struct scap_state *st, const struct params *p);
void state_fd_fold_open(struct fold *f);
void state_fd_fold_creat(struct fold *f);
void state_fd_fold_openat(struct fold *f);
void state_fd_fold_openat_old(struct fold *f);
void state_fd_fold_close_enter(struct fold *f);
void state_fd_fold_close(struct fold *f);
void state_fd_fold_pipe(struct fold *f);
void state_fd_fold_dup(struct fold *f);
void state_fd_fold_fcntl(struct fold *f);
void state_fd_fold_new_fd(struct fold *f);
void state_net_fold_socket(struct fold *f);
void state_net_fold_socketpair(struct fold *f);
void state_net_fold_bind(struct fold *f);
void state_net_fold_connect_enter(struct fold *f);
void state_net_fold_connect(struct fold *f);
void state_net_fold_accept(struct fold *f);
void state_net_fold_sendto_enter(struct fold *f);
void state_net_fold_recvfrom(struct fold *f);
void state_net_fold_recvmsg(struct fold *f);
void state_net_fold_send(struct fold *f);
void state_net_fold_getsockopt(struct fold *f);
void state_proc_fold_clone(struct fold *f);
void state_proc_fold_execve(struct fold *f);
void state_proc_fold_exit(struct fold *f);
void state_proc_fold_chdir(struct fold *f);
void state_proc_fold_fchdir(struct fold *f);
void state_proc_fold_chroot(struct fold *f);
void state_proc_fold_setuid(struct fold *f);
void state_proc_fold_setgid(struct fold *f);
void state_proc_fold_setresuid(struct fold *f);
void state_proc_fold_setresgid(struct fold *f);
void state_proc_fold_setsid(struct fold *f);
void state_proc_fold_vm(struct fold *f);
void state_proc_fold_switch(struct fold *f);
void state_proc_fold_prlimit(struct fold *f);
void state_container_fold(struct scap_state *st, const struct params *p);

/* The container's id that a list of cgroup paths ("subsystem=path" each) means; NULL = none. */
struct scap_str *state_container_of_cgroups(struct scap_state *st, const char *cgroups, size_t len);

#endif
