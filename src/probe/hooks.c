// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Loads programs that may each fail alone. libbpf loads an object once: every attempt opens it anew.
 */
#include "probe/hooks.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "btf/btf_cut.h"
#include "loop/coop.h"
#include "probe/env.h"
#include "probe/load_error.h"

#define STRUCT "struct "	/* prefix of hook.needs */

/* bpf/preempt.bpf.h */
#define AGAIN "_again"		/* suffix of a second program */
#define TURNS 65536		/* of the map where programs and their second ones meet */

struct hook_try {
	bool chosen;		/* for the next attempt */
	enum hook_state state;
	struct err err;
	struct bpf_link *link;	/* owned */
	struct bpf_link *again;	/* owned; of the second program; NULL = none */
	int link_fd;		/* owned; created without libbpf; 0 = none */
};

struct hooks {
	struct probe_env *env;
	struct hooks_spec spec;
	uint16_t instance;
	struct bpf_object *obj;	/* owned, loaded */
	struct hook_try *tries;	/* owned, one per row */
};

DEFINE_CLEANUP(struct hooks *, hooks_free)
DEFINE_CLEANUP(struct bpf_object *, bpf_object__close)

/* Number of arguments of tracepoint @name, the context not counted; -ENOENT if the kernel lacks it. */
static int tracepoint_args(const struct probe_env *env, const char *name)
{
	const struct btf *btf = probe_env_btf((struct probe_env *)env);
	const struct btf_type *t;
	char type_name[128];
	int id;

	if (!btf)
		return -ENOENT;
	snprintf(type_name, sizeof(type_name), "btf_trace_%s", name);
	id = probe_env_btf_find((struct probe_env *)env, type_name, BTF_KIND_TYPEDEF);
	if (id < 0)
		return -ENOENT;
	t = btf__type_by_id(btf, btf__type_by_id(btf, (uint32_t)id)->type);	/* pointer to */
	t = btf__type_by_id(btf, t->type);					/* function type */
	return btf_is_func_proto(t) && btf_vlen(t) ? btf_vlen(t) - 1 : -ENOENT;
}

static bool has_helper(struct probe_env *env, const struct btf *btf, const char *name)
{
	int id = probe_env_btf_find(env, "bpf_func_id", BTF_KIND_ENUM);
	const struct btf_type *t = id < 0 ? NULL : btf__type_by_id(btf, (uint32_t)id);

	for (int i = 0; t && i < btf_vlen(t); i++)
		if (!strcmp(btf__name_by_offset(btf, btf_enum(t)[i].name_off), name))
			return true;
	return false;
}

/* True without BTF: nothing is known then. */
static bool kernel_has(struct probe_env *env, const char *what)
{
	const struct btf *btf = probe_env_btf(env);

	if (!btf)
		return true;
	if (!strncmp(what, STRUCT, strlen(STRUCT)))
		return probe_env_btf_find(env, what + strlen(STRUCT), BTF_KIND_STRUCT) >= 0;
	return has_helper(env, btf, what);
}

/* ---- choosing ---- */

/* Checks the conditions of row @i; sets its state and error if one fails. */
static bool row_possible(struct hooks *h, size_t i)
{
	const struct hook *row = &h->spec.rows[i];
	struct hook_try *t = &h->tries[i];
	int args;

	if (row->for_owners && !probe_env_wants_owners(h->env)) {
		t->state = HOOK_ABSENT;
		err_set(&t->err, -ENOENT, "no output names the owners of sockets");
		return false;
	}
	if (row->needs && !kernel_has(h->env, row->needs)) {
		t->state = HOOK_ABSENT;
		err_set(&t->err, -ENOENT, "this kernel has no %s", row->needs);
		return false;
	}
	if (!row->tracepoint)
		return true;
	args = tracepoint_args(h->env, row->tracepoint);
	if (args >= (int)row->n_args)
		return true;
	t->state = HOOK_ABSENT;
	if (args < 0 && !probe_env_btf(h->env))
		load_error_of_btf(&t->err);
	else if (args < 0)
		err_set(&t->err, -ENOENT, "this kernel has no tracepoint %s", row->tracepoint);
	else
		err_set(&t->err, -ENOENT, "tracepoint %s has %d arguments in this kernel, %u are needed",
			row->tracepoint, args, row->n_args);
	return false;
}

/* Is the program in use for which row @i stands? It is in an earlier row. */
static bool is_spare(const struct hooks *h, size_t i)
{
	const char *other = h->spec.rows[i].stands_for;

	for (size_t k = 0; other && k < i; k++)
		if (!strcmp(h->spec.rows[k].prog, other))
			return h->tries[k].chosen;
	return false;
}

/* The first row of each name that has not failed yet. */
static void choose(struct hooks *h)
{
	for (size_t i = 0; i < h->spec.n_rows; i++) {
		h->tries[i].chosen = h->tries[i].state == HOOK_OK && !is_spare(h, i);
		for (size_t k = 0; k < i; k++)
			if (h->tries[k].chosen && !strcmp(h->spec.rows[k].name, h->spec.rows[i].name))
				h->tries[i].chosen = false;
	}
}

static size_t n_chosen(const struct hooks *h)
{
	size_t n = 0;

	for (size_t i = 0; i < h->spec.n_rows; i++)
		n += h->tries[i].chosen;
	return n;
}

/* ---- loading ---- */

/*
 * Opens the object with a reduced copy of the kernel's BTF, if one can be made: *ret_types_fd, to be closed after the
 * load.
 */
static struct bpf_object *open_object(const struct hooks_spec *spec, int *ret_types_fd)
{
	LIBBPF_OPTS(bpf_object_open_opts, o);
	struct bpf_object *obj = bpf_object__open_mem(spec->elf, spec->elf_len, NULL);
	int fd = obj && bpf_object__btf(obj) ? btf_cut_kernel(bpf_object__btf(obj)) : -ENOENT;
	char path[64];

	if (fd < 0)
		return obj;
	bpf_object__close(obj);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	o.btf_custom_path = access(path, R_OK) == 0 ? path : NULL;
	obj = bpf_object__open_mem(spec->elf, spec->elf_len, &o);
	*ret_types_fd = fd;
	return obj;
}

/* The program that runs where the kernel skips @prog, or NULL. */
static struct bpf_program *second_of(const struct bpf_object *obj, const char *prog)
{
	char name[64];

	snprintf(name, sizeof(name), "%s" AGAIN, prog);
	return bpf_object__find_program_by_name(obj, name);
}

static void load_second(struct hooks *h, struct bpf_object *obj, const char *prog)
{
	struct bpf_program *second = second_of(obj, prog);

	if (!second || !probe_env_tracepoints_preempt(h->env))
		return;
	bpf_program__set_autoload(second, true);
	bpf_map__set_max_entries(bpf_object__find_map_by_name(obj, "tp_turns"), TURNS);
}

/* One attempt, with the chosen programs, or with @only if not NULL. */
static int load(struct hooks *h, const struct hook *only, struct bpf_object **ret, struct err *err)
{
	_cleanup_close_ int types_fd = -1;
	bool left = coop_leave(probe_env_coop(h->env));
	_cleanup_(bpf_object__closep) struct bpf_object *obj = open_object(&h->spec, &types_fd);
	struct bpf_program *prog;
	int r = obj ? 0 : -errno;

	coop_return(probe_env_coop(h->env), left);
	if (r < 0)
		return err_errno(err, r, "cannot open the BPF object");
	bpf_object__for_each_program(prog, obj)
		bpf_program__set_autoload(prog, false);
	for (size_t i = 0; i < h->spec.n_rows; i++) {
		prog = bpf_object__find_program_by_name(obj, h->spec.rows[i].prog);
		if (!prog)
			return err_set(err, -EINVAL, "the BPF object has no program %s", h->spec.rows[i].prog);
		if (only ? only != &h->spec.rows[i] : !h->tries[i].chosen)
			continue;
		bpf_program__set_autoload(prog, true);
		load_second(h, obj, h->spec.rows[i].prog);
	}
	r = probe_env_prepare(h->env, obj, h->instance, err);
	if (r < 0)
		return r;
	if (h->spec.configure)
		h->spec.configure(h->spec.ctx, obj);
	r = probe_env_load(h->env, obj, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(obj);
	return 0;
}

/* Loads each chosen program alone to find those that fail, and their alternatives. */
static void try_each(struct hooks *h)
{
	for (size_t i = 0; i < h->spec.n_rows; i++) {
		_cleanup_(bpf_object__closep) struct bpf_object *obj = NULL;
		struct hook_try *t = &h->tries[i];
		int r;

		choose(h);
		if (!t->chosen)
			continue;
		r = load(h, &h->spec.rows[i], &obj, &t->err);
		if (r < 0)
			t->state = r == -EPERM ? HOOK_REFUSED : HOOK_FAILED;
	}
	choose(h);
}

/* The error of a program that should load on this kernel, else of one that cannot. */
static const struct err *first_error(const struct hooks *h)
{
	const struct err *first = NULL;

	for (size_t i = 0; i < h->spec.n_rows; i++) {
		if (h->tries[i].state == HOOK_FAILED || h->tries[i].state == HOOK_REFUSED)
			return &h->tries[i].err;
		if (!first && h->tries[i].state != HOOK_OK)
			first = &h->tries[i].err;
	}
	return first;
}

int hooks_load(struct probe_env *env, const struct hooks_spec *spec, uint16_t instance, struct hooks **ret,
	       struct err *err)
{
	_cleanup_(hooks_freep) struct hooks *h = calloc(1, sizeof(*h));
	const struct err *why;
	int r;

	if (!h)
		return err_errno(err, -ENOMEM, "cannot load programs");
	*h = (struct hooks){ .env = env, .spec = *spec, .instance = instance };
	h->tries = calloc(spec->n_rows, sizeof(*h->tries));
	if (!h->tries)
		return err_errno(err, -ENOMEM, "cannot load programs");
	for (size_t i = 0; i < spec->n_rows; i++)
		row_possible(h, i);
	choose(h);
	r = n_chosen(h) ? load(h, NULL, &h->obj, err) : -ENOENT;
	if (r < 0 && n_chosen(h)) {
		try_each(h);
		r = n_chosen(h) ? load(h, NULL, &h->obj, err) : -ENOENT;
	}
	if (r < 0) {
		why = first_error(h);
		return why ? err_set(err, why->code, "%s", why->msg) : r;
	}
	h->spec.elf = NULL;
	*ret = TAKE_PTR(h);
	return 0;
}

/* ---- attaching ---- */

/* BPF_F_PREORDER of linux/bpf.h (6.15); older headers lack it. */
#define CGROUP_FIRST (1u << 6)

/* A descriptor, or -errno. */
static int link_first(const struct bpf_program *prog, int cgroup_fd)
{
	LIBBPF_OPTS(bpf_link_create_opts, o, .flags = CGROUP_FIRST);
	int fd = bpf_link_create(bpf_program__fd(prog), cgroup_fd, bpf_program__expected_attach_type(prog), &o);

	return fd < 0 ? -errno : fd;
}

static void attach_first(struct coop *coop, struct hook_try *t, const struct bpf_program *prog, int cgroup_fd)
{
	bool left = coop_leave(coop);
	int r = link_first(prog, cgroup_fd);

	coop_return(coop, left);
	if (r >= 0) {
		t->link_fd = r;
		return;
	}
	t->state = r == -EPERM ? HOOK_REFUSED : r == -EINVAL ? HOOK_ABSENT : HOOK_FAILED;
	if (r == -EINVAL)
		err_set(&t->err, r, "this kernel cannot run a program before the others of a cgroup (needs 6.15)");
	else
		err_errno(&t->err, r, "cannot attach");
}

/* The loop runs meanwhile: the kernel patches its code for milliseconds. A link, or NULL and errno. */
static struct bpf_link *attach_aside(struct coop *coop, const struct bpf_program *prog, bool cgroup, int cgroup_fd)
{
	bool left = coop_leave(coop);
	struct bpf_link *link = cgroup ? bpf_program__attach_cgroup(prog, cgroup_fd) : bpf_program__attach(prog);
	int e = errno;

	coop_return(coop, left);
	errno = e;
	return link;
}

static void attach_one(struct hooks *h, size_t i, int cgroup_fd)
{
	const struct hook *row = &h->spec.rows[i];
	struct bpf_program *prog = hooks_program(h, row->prog);
	struct hook_try *t = &h->tries[i];
	bool cgroup = row->attach == HOOK_ATTACH_CGROUP || row->attach == HOOK_ATTACH_CGROUP_FIRST;

	if (cgroup && cgroup_fd < 0) {
		t->state = HOOK_ABSENT;
		err_set(&t->err, -ENOENT, "no cgroup2 file system is mounted to attach to");
		return;
	}
	if (row->attach == HOOK_ATTACH_CGROUP_FIRST) {
		attach_first(probe_env_coop(h->env), t, prog, cgroup_fd);
		return;
	}
	t->link = attach_aside(probe_env_coop(h->env), prog, cgroup, cgroup_fd);
	if (!t->link) {
		t->state = errno == EPERM ? HOOK_REFUSED : HOOK_FAILED;
		err_errno(&t->err, -errno, "cannot attach");
		return;
	}
	if (row->attach == HOOK_ATTACH_TRACE)
		probe_env_watch(h->env, prog, h->instance);
	prog = second_of(h->obj, row->prog);
	if (prog && bpf_program__autoload(prog))	/* without it the misses are lost events */
		t->again = attach_aside(probe_env_coop(h->env), prog, false, -1);
}

int hooks_attach(struct hooks *h, int cgroup_fd)
{
	int n = 0;

	for (size_t i = 0; i < h->spec.n_rows; i++) {
		if (!h->tries[i].chosen || h->spec.rows[i].attach == HOOK_ATTACH_NOT)
			continue;
		attach_one(h, i, cgroup_fd);
		n += h->tries[i].link || h->tries[i].link_fd;
	}
	return n;
}

struct bpf_program *hooks_program(const struct hooks *h, const char *prog)
{
	struct bpf_program *p = bpf_object__find_program_by_name(h->obj, prog);

	return p && bpf_program__autoload(p) ? p : NULL;
}

struct bpf_object *hooks_object(const struct hooks *h)
{
	return h->obj;
}

/* ---- reporting ---- */

/* True for the row that represents its name: the row in use, else the last that failed. */
static bool is_representative(const struct hooks *h, size_t i)
{
	for (size_t k = 0; k < h->spec.n_rows; k++) {
		if (k == i || strcmp(h->spec.rows[k].name, h->spec.rows[i].name) != 0)
			continue;
		if (h->tries[k].chosen || (k > i && !h->tries[i].chosen))
			return false;
	}
	return true;
}

void hooks_report(const struct hooks *h, bool failed_only, hook_report_fn fn, void *ctx)
{
	for (size_t i = 0; i < h->spec.n_rows; i++) {
		const struct hook_try *t = &h->tries[i];
		struct hook_report r = { .hook = h->spec.rows[i].name, .state = t->state };

		if (is_spare(h, i) || !is_representative(h, i) || (failed_only && t->state == HOOK_OK))
			continue;
		if (t->state != HOOK_OK) {
			snprintf(r.why, sizeof(r.why), "%.255s", t->err.msg);
			snprintf(r.fallback, sizeof(r.fallback), "%.127s",
				 h->spec.rows[i].fallback ? h->spec.rows[i].fallback : "");
		}
		fn(ctx, &r);
	}
}

void hooks_detach(struct hooks *h)
{
	for (size_t i = 0; h && i < h->spec.n_rows; i++) {
		struct bpf_link *link = TAKE_PTR(h->tries[i].link), *again = TAKE_PTR(h->tries[i].again);
		bool left = coop_leave(probe_env_coop(h->env));

		bpf_link__destroy(again);	/* never without the first */
		bpf_link__destroy(link);
		coop_return(probe_env_coop(h->env), left);
		if (h->tries[i].link_fd)
			close(h->tries[i].link_fd);
		h->tries[i].link_fd = 0;
	}
}

void hooks_free(struct hooks *h)
{
	bool left;

	if (!h)
		return;
	if (h->tries)
		hooks_detach(h);
	left = coop_leave(probe_env_coop(h->env));
	bpf_object__close(h->obj);
	coop_return(probe_env_coop(h->env), left);
	free(h->tries);
	free(h);
}

void hooks_report_code(hook_report_fn fn, void *ctx, const char *hook, int code, const struct err *err,
		       const char *fallback)
{
	struct hook_report r = { .hook = hook };

	if (code < 0) {
		r.state = code == -EPERM || code == -EACCES ? HOOK_REFUSED :
			  code == -ENOENT || code == -EOPNOTSUPP || code == -ENOSYS ? HOOK_ABSENT : HOOK_FAILED;
		snprintf(r.why, sizeof(r.why), "%.255s", err->msg);
		snprintf(r.fallback, sizeof(r.fallback), "%.127s", fallback);
	}
	fn(ctx, &r);
}

void hooks_report_failed(void *ctx, const struct hook_report *r)
{
	struct probe *p = ctx;
	struct err err = { 0 };

	err_set(&err, -ENOTSUP, "%s%s%s", r->why, *r->fallback ? "; " : "", r->fallback);
	probe_env_hook_failed(p->env, p->instance, r->hook, &err);
}
