// SPDX-License-Identifier: GPL-2.0-or-later
#include "probe/env.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/vec.h"
#include "btf/btf_percpu.h"
#include "btf/btf_root.h"
#include "btf/kernel_btf.h"
#include "host/resources.h"
#include "loop/coop.h"
#include "probe/async_map_update.h"
#include "probe/kernel_names.h"
#include "probe/load_error.h"
#include "probe/memory_plan.h"
#include "probe/mmap_ring.h"
#include "probe/percpu_rings.h"
#include "probe/programs.h"
#include "probe/shared_maps.h"
#include "probe/typed_map.h"
#include "ring/ring.h"
#include "sonde/types_wire.h"

#define WAKEUP_BYTES_MOST (512u << 10)	/* more would keep the reader asleep for long; a busy reader loses its turn */
#define DEFAULT_WAKEUP_PCT 25
#define MAX_EXCLUDED 1024
#define MMAP_RINGS "sonde_plain"
#define SECOND_GRACE_NS 1000000	/* a task that was preempted between two programs runs again, mostly */
#define DETACH_GRACE_NS 20000000	/* without membarrier(2): far above the run time of a program */

enum ring_class { RINGS_BULK, RINGS_LIFE, RINGS__MAX };	/* bpf/ring.bpf.h */

struct probe_env {
	struct coop *coop;		/* borrowed; NULL = none */
	unsigned n_cpus;
	struct memory_plan plan;
	uint32_t wakeup_bytes[RINGS__MAX];
	unsigned wakeup_pct;
	bool is_limited;		/* --max-cpu */
	bool owners;			/* some output names the owners of sockets */
	size_t mmap_bytes;		/* data of each mmap ring; 0 = not created yet */
	uint32_t self;			/* own tgid */
	uint32_t spawner;		/* self if there is none */
	struct probe_select select;	/* borrowed lists */
	const struct probe_select *own_select[SONDE_INSTANCES];	/* borrowed; NULL = the common selection */
	unsigned select_flags[SONDE_INSTANCES];
	int selecting;			/* instance whose selection is being created */
	int preparing;			/* instance of the object prepared last, the next one to be loaded */
	char *host_root;		/* owned */
	struct ring_reader *reader;
	struct btf *btf;		/* the kernel's; NULL: not read yet, or unavailable (no_btf) */
	bool no_btf;
	struct btf_root *btf_root;	/* owned; NULL: libbpf looks for the kernel's BTF itself */
	struct map_types *types;	/* owned; NULL = maps get no BTF types */
	uint32_t type_ids[SONDE_TYPE__MAX];	/* all 0: not searched yet */
	struct kernel_names names;
	struct shared_maps shared;
	int *ring_fds;			/* owned; by class and CPU; -1 = none */
	struct async_map_update *puts;	/* rings on their way into their arrays; NULL = all are there */
	struct programs programs;
	uint64_t skipped[SONDE_INSTANCES];	/* events that no program saw, since the kernel skipped it */
	int (*sink)(void *ctx, const struct sonde_rec *r);
	void (*catch_up)(void *ctx);
	void *sink_ctx;
	probe_complain_fn complain;
	void *complain_ctx;
	void (*note)(const char *text);
};

/* ---- maps ---- */

static int make_map(struct probe_env *env, enum bpf_map_type type, const char *name, uint32_t key, uint32_t value,
		    uint32_t max)
{
	return shared_maps_add(&env->shared, name, SHARED_MAPS_ALL,
			       typed_map_create(env->types, type, name, key, value, max, 0));
}

static int make_ring_class(struct probe_env *env, enum ring_class class, struct err *err)
{
	static const char *const names[] = { [RINGS_BULK] = "sonde_rings_bulk", [RINGS_LIFE] = "sonde_rings_life" };
	const struct percpu_rings_opts o = {
		.name = names[class], .n_cpus = env->n_cpus, .life = class == RINGS_LIFE,
		.ring_bytes = class == RINGS_LIFE ? env->plan.life_bytes : env->plan.bulk_bytes,
	};
	int array = -1, r;

	_Static_assert(ARRAY_SIZE(names) == RINGS__MAX, "a map per class");
	r = percpu_rings_make(&o, env->reader, env->puts, env->ring_fds + class * env->n_cpus, &array, err);
	if (r < 0) {
		cleanup_close(&array);
		return r;
	}
	return shared_maps_add(&env->shared, o.name, SHARED_MAPS_ALL, array);
}

/* The arrays hold all rings once the first object is loaded (probe_env_load()). */
static int make_rings(struct probe_env *env, struct err *err)
{
	int r;

	env->ring_fds = calloc((size_t)RINGS__MAX * env->n_cpus, sizeof(*env->ring_fds));
	if (!env->ring_fds || async_map_update_new(&env->puts) < 0)
		return err_errno(err, -ENOMEM, "cannot set up the rings");
	for (size_t i = 0; i < (size_t)RINGS__MAX * env->n_cpus; i++)
		env->ring_fds[i] = -1;
	r = make_ring_class(env, RINGS_BULK, err);
	if (r >= 0)
		r = make_ring_class(env, RINGS_LIFE, err);
	if (r < 0)
		return r;
	r = async_map_update_start(env->puts);
	return r < 0 ? err_errno(err, r, "cannot put the rings in place") : 0;
}

/* The common selection applies to every instance without its own. */
static int add_select(void *ctx, const char *name, int fd)
{
	struct probe_env *env = ctx;

	return shared_maps_add(&env->shared, name, SHARED_MAPS_ALL, fd);
}

static int add_own_select(void *ctx, const char *name, int fd)
{
	struct probe_env *env = ctx;

	return shared_maps_add(&env->shared, name, env->selecting, fd);
}

int probe_env_set_select(struct probe_env *env, uint16_t instance, const struct probe_select *s, struct err *err)
{
	int r;

	env->selecting = instance;
	r = probe_select_make(s, env->types, add_own_select, env);
	if (r < 0)
		return load_error_of_maps(err, r, "create the maps of the selection");
	env->select_flags[instance] = probe_select_flags(s);
	env->own_select[instance] = s;
	return 0;
}

static int make_common_maps(struct probe_env *env, struct err *err)
{
	int r;

	env->types = typed_map_new();
	r = make_map(env, BPF_MAP_TYPE_PERCPU_ARRAY, "sonde_ledger", 4, sizeof(struct sonde_ledger),
		     SONDE_LEDGER_ROWS);
	if (r >= 0)
		r = make_map(env, BPF_MAP_TYPE_HASH, "sonde_excluded", 4, 1, MAX_EXCLUDED);
	if (r >= 0)
		r = make_map(env, BPF_MAP_TYPE_ARRAY, "sonde_n_excluded", 4, sizeof(uint32_t), 1);
	if (r >= 0)
		r = probe_select_make(&env->select, env->types, add_select, env);
	for (int i = 0; i < SONDE_INSTANCES; i++)
		env->select_flags[i] = probe_select_flags(&env->select);
	return r < 0 ? load_error_of_maps(err, r, "create the common maps") : 0;
}

/* ---- life ---- */

static uint32_t wakeup_bytes(size_t ring_bytes, unsigned pct)
{
	return (uint32_t)MIN(ring_bytes / 100 * pct, (size_t)WAKEUP_BYTES_MOST);
}

void probe_env_free(struct probe_env *env)
{
	if (!env)
		return;
	ring_reader_free(env->reader);
	programs_fini(&env->programs);
	shared_maps_fini(&env->shared);
	for (size_t i = 0; env->ring_fds && i < (size_t)RINGS__MAX * env->n_cpus; i++)
		cleanup_close(&env->ring_fds[i]);
	free(env->ring_fds);
	async_map_update_free(env->puts);
	btf__free(env->btf);
	btf_root_free(env->btf_root);
	typed_map_free(env->types);
	kernel_names_fini(&env->names);
	free(env->host_root);
	free(env);
}
DEFINE_CLEANUP(struct probe_env *, probe_env_free)

static char *copy_root(const char *root)
{
	size_t len = root ? strlen(root) : 0;

	while (len > 0 && root[len - 1] == '/')
		len--;
	return strndup(root ? root : "", len);
}

const struct probe_select *probe_env_select(const struct probe_env *env, uint16_t instance)
{
	return env->own_select[instance] ? env->own_select[instance] : &env->select;
}

const char *probe_env_host_root(const struct probe_env *env)
{
	return env->host_root;
}

/* An unusable @file is an error. Without @file, libbpf and the hooks report missing types. */
static int open_types(struct probe_env *env, const char *file, struct err *err)
{
	struct kernel_btf found;
	int r = kernel_btf_find(file, &found, err);

	if (r < 0 || !found.types)
		return r;
	r = btf_root_new(found.types, &env->btf_root, err);
	btf__free(found.types);
	return file ? r : 0;
}

void probe_env_follow_rights(struct probe_env *env)
{
	if (env->btf_root)
		btf_root_run(env->btf_root, NULL, NULL);
}

int probe_env_new(const struct probe_env_opts *o, struct probe_env **ret, struct err *err)
{
	_cleanup_(probe_env_freep) struct probe_env *env = calloc(1, sizeof(*env));
	int r, n_cpus;

	load_error_capture();
	n_cpus = libbpf_num_possible_cpus();

	if (!env)
		return err_errno(err, -ENOMEM, "cannot set up the probes");
	if (n_cpus < 0)
		return load_error_of_cpus(err, n_cpus);
	r = resources_files((unsigned)n_cpus, err);
	if (r < 0)
		return r;
	/* libbpf raises it only where BPF memory counts as locked memory (before 5.11) */
	libbpf_set_memlock_rlim(RLIM_INFINITY);
	env->n_cpus = (unsigned)n_cpus;
	env->self = (uint32_t)getpid();
	env->spawner = o->spawner ? o->spawner : env->self;
	env->select = o->select;
	kernel_names_init(&env->names);
	env->host_root = copy_root(o->host_root);
	if (!env->host_root)
		return err_errno(err, -ENOMEM, "cannot set up the probes");
	memory_plan_init(&env->plan, env->n_cpus, o->ring_bytes, o->life_ring_bytes);
	env->is_limited = o->max_cpu_permille > 0;
	env->wakeup_pct = o->wakeup_pct ? o->wakeup_pct : DEFAULT_WAKEUP_PCT;
	env->wakeup_bytes[RINGS_BULK] = wakeup_bytes(env->plan.bulk_bytes, env->wakeup_pct);
	env->wakeup_bytes[RINGS_LIFE] = wakeup_bytes(env->plan.life_bytes, env->wakeup_pct);
	env->reader = ring_reader_new();
	if (!env->reader)
		return err_errno(err, -ENOMEM, "cannot set up the ring reader");
	r = make_common_maps(env, err);
	if (r >= 0)
		r = open_types(env, o->btf, err);
	if (r >= 0)
		r = make_rings(env, err);
	if (r >= 0)
		r = probe_env_exclude(env, env->self);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(env);
	return 0;
}

void probe_env_settle(struct probe_env *env)
{
	async_map_update_free(TAKE_PTR(env->puts));
	btf__free(TAKE_PTR(env->btf));
}

void probe_env_set_coop(struct probe_env *env, struct coop *coop)
{
	env->coop = coop;
}

bool probe_env_is_limited(const struct probe_env *env)
{
	return env->is_limited;
}

uint64_t probe_env_scarce_bytes(const struct probe_env *env)
{
	return env->plan.scarce_bytes;
}

struct coop *probe_env_coop(const struct probe_env *env)
{
	return env->coop;
}

struct ring_reader *probe_env_reader(struct probe_env *env)
{
	return env->reader;
}

const struct btf *probe_env_btf(struct probe_env *env)
{
	struct btf *btf;
	bool left;

	if (env->btf || env->no_btf)
		return env->btf;
	left = coop_leave(env->coop);
	btf = env->btf_root ? btf_root_types(env->btf_root) : btf__load_vmlinux_btf();
	coop_return(env->coop, left);
	if (env->btf)	/* the other thread has read it in the meantime */
		btf__free(btf);
	else
		env->btf = btf;
	env->no_btf = !env->btf;
	return env->btf;
}

int probe_env_percpu_distance(struct probe_env *env, const char *from, const char *to, int64_t *ret)
{
	const struct btf *btf = probe_env_btf(env);

	return btf ? btf_percpu_distance(btf, from, to, ret) : -ENOENT;
}

int probe_env_btf_find(struct probe_env *env, const char *name, uint32_t kind)
{
	const struct btf *btf = probe_env_btf(env); /* stays valid: only a job frees it */
	bool left = coop_leave(env->coop);
	int id = btf ? btf__find_by_name_kind(btf, name, kind) : -ENOENT;

	coop_return(env->coop, left);
	return id < 0 ? -ENOENT : id;
}

bool probe_env_tracepoints_preempt(struct probe_env *env)
{
	const int id = probe_env_btf_find(env, "tp_transition_snapshot", BTF_KIND_STRUCT);
	const struct btf_type *t = id < 0 ? NULL : btf__type_by_id(env->btf, (uint32_t)id);

	for (int i = 0; t && i < btf_vlen(t); i++)
		if (!strcmp(btf__name_by_offset(env->btf, btf_members(t)[i].name_off), "srcu_gp"))
			return true;
	return false;
}

static void find_types(const struct btf *btf, uint32_t ids[static SONDE_TYPE__MAX])
{
	static const char *const names[] = {
		[SONDE_TYPE_task_struct] = "task_struct", [SONDE_TYPE_sk_buff] = "sk_buff",
		[SONDE_TYPE_sock] = "sock", [SONDE_TYPE_file] = "file", [SONDE_TYPE_inode] = "inode",
		[SONDE_TYPE_dentry] = "dentry", [SONDE_TYPE_list_head] = "list_head",
		[SONDE_TYPE_socket] = "socket", [SONDE_TYPE_unix_sock] = "unix_sock",
		[SONDE_TYPE_tcp_sock] = "tcp_sock",
		[SONDE_TYPE_bpf_uprobe_multi_run_ctx] = "bpf_uprobe_multi_run_ctx",
	};

	_Static_assert(ARRAY_SIZE(names) == SONDE_TYPE__MAX, "each type has a name");
	for (uint32_t id = 1; id < btf__type_cnt(btf); id++) {
		const struct btf_type *t = btf__type_by_id(btf, id);

		for (size_t i = 0; btf_is_struct(t) && i < ARRAY_SIZE(names); i++)
			if (!ids[i] && !strcmp(btf__name_by_offset(btf, t->name_off), names[i]))
				ids[i] = id;
	}
}

/* Of the complete BTF, whatever libbpf relocates the object by. */
static void set_types(struct probe_env *env, struct bpf_object *obj)
{
	const bool used = probe_rodata(obj, "sonde_types", sizeof(env->type_ids));
	const struct btf *btf = used && !env->type_ids[SONDE_TYPE_task_struct] ? probe_env_btf(env) : NULL;
	bool left;

	if (btf) {
		left = coop_leave(env->coop);
		find_types(btf, env->type_ids);
		coop_return(env->coop, left);
	}
	if (used)
		probe_rodata_set(obj, "sonde_types", env->type_ids, sizeof(env->type_ids));
}

unsigned probe_env_n_cpus(const struct probe_env *env)
{
	return env->n_cpus;
}

int probe_env_shared_map(struct probe_env *env, const char *name)
{
	return probe_env_instance_map(env, SHARED_MAPS_ALL, name);
}

int probe_env_instance_map(struct probe_env *env, int instance, const char *name)
{
	return shared_maps_fd(&env->shared, name, instance);
}

/* ---- objects ---- */

/*
 * Creates the mmap rings, as large as bulk rings, for the first object that has them. With little memory there are
 * none: the verifier then takes less too, since it follows only one of the two ways to write a record.
 */
static int share_mmap_rings(struct probe_env *env, struct bpf_object *obj, struct err *err)
{
	struct bpf_map *map = bpf_object__find_map_by_name(obj, MMAP_RINGS);
	uint64_t mask;
	uint32_t wakeup;
	int r = 0;

	if (!map || env->plan.scarce_bytes)
		return 0;
	if (!env->mmap_bytes)
		r = mmap_ring_make(env->reader, env->n_cpus, env->plan.bulk_bytes, &env->mmap_bytes, err);
	if (r > 0)
		r = shared_maps_add(&env->shared, MMAP_RINGS, SHARED_MAPS_ALL, r);
	if (r < 0)
		return r;
	mask = env->mmap_bytes - 1;
	wakeup = wakeup_bytes(env->mmap_bytes, env->wakeup_pct);
	probe_rodata_set(obj, "sonde_plain_mask", &mask, sizeof(mask));
	probe_rodata_set(obj, "sonde_plain_wakeup_bytes", &wakeup, sizeof(wakeup));
	return bpf_map__set_value_size(map, (uint32_t)mmap_ring_element_bytes(env->mmap_bytes));
}

int probe_env_prepare(struct probe_env *env, struct bpf_object *obj, uint16_t instance, struct err *err)
{
	int r = share_mmap_rings(env, obj, err);

	if (r < 0)
		return r;
	env->preparing = instance;
	memory_plan_shrink(&env->plan, obj);
	r = shared_maps_reuse(&env->shared, obj, instance, err);
	if (r < 0)
		return r;
	probe_rodata_set(obj, "sonde_instance", &instance, sizeof(instance));
	probe_rodata_set(obj, "sonde_self", &env->self, sizeof(env->self));
	probe_rodata_set(obj, "sonde_spawner", &env->spawner, sizeof(env->spawner));
	probe_rodata_set(obj, "sonde_wakeup_bytes", env->wakeup_bytes, sizeof(env->wakeup_bytes));
	set_types(env, obj);
	probe_select_apply(env->select_flags[instance], obj);
	return 0;
}

struct load {
	struct bpf_object *obj;
	struct err *err;
	int result;
};

static void run_load(void *ctx)
{
	struct load *l = ctx;

	load_error_begin();
	l->result = bpf_object__load(l->obj);
	if (l->result < 0)
		l->result = load_error_of_load(l->err, l->result);
}

/* The loop runs meanwhile: verification takes long, and the object is private to this job. */
static int load_aside(struct probe_env *env, struct bpf_object *obj, struct err *err)
{
	struct load l = { .obj = obj, .err = err };
	bool left;
	int r;

	/* libbpf reads the types again into the same memory, which costs less than twice the memory would */
	btf__free(TAKE_PTR(env->btf));
	left = coop_leave(env->coop);
	if (env->btf_root)
		btf_root_run(env->btf_root, run_load, &l);
	else
		run_load(&l);
	r = coop_return(env->coop, left);
	return r < 0 ? err_errno(err, r, "cannot load programs") : l.result;
}

int probe_env_load(struct probe_env *env, struct bpf_object *obj, struct err *err)
{
	const int instance = env->preparing;
	int r = load_aside(env, obj, err);
	bool left;

	if (r < 0)
		return r;
	r = shared_maps_keep(&env->shared, obj, instance);
	if (r < 0)
		return err_errno(err, r, "cannot keep the shared maps");
	r = probe_rodata_map_variables(obj);
	if (r < 0)
		return err_errno(err, r, "cannot map the variables of programs");
	programs_add(&env->programs, obj, (uint16_t)instance);
	left = coop_leave(env->coop);
	r = async_map_update_finish(env->puts);
	coop_return(env->coop, left);
	return r < 0 ? err_errno(err, r, "cannot put the rings in place") : 0;
}

/* ---- injection ---- */

void probe_env_set_sink(struct probe_env *env, int (*fn)(void *ctx, const struct sonde_rec *r),
			void (*catch_up)(void *ctx), void *ctx)
{
	env->sink = fn;
	env->catch_up = catch_up;
	env->sink_ctx = ctx;
}

int probe_env_inject(struct probe_env *env, struct sonde_rec *r, size_t len)
{
	r->len = (uint32_t)len;
	if (!r->ts_ns)
		r->ts_ns = clock_boot_ns();
	return env->sink ? env->sink(env->sink_ctx, r) : 0;
}

void probe_env_catch_up(struct probe_env *env)
{
	if (env->catch_up)
		env->catch_up(env->sink_ctx);
}

int probe_env_inject_name(struct probe_env *env, uint32_t space, uint64_t key, const char *name)
{
	size_t len = strlen(name), size = sizeof(struct sonde_name_rec) + len;
	_cleanup_free_ struct sonde_name_rec *r = calloc(1, size);

	if (!r)
		return -ENOMEM;
	r->hdr.type = SONDE_EV_NAME;
	r->space = space;
	r->key = key;
	r->name_len = (uint32_t)len;
	memcpy(r->name, name, len);
	return probe_env_inject(env, &r->hdr, size);
}

int probe_env_inject_ksym(struct probe_env *env, uint64_t addr)
{
	int r = addr ? kernel_names_add(&env->names, addr) : 0;
	char name[512];

	if (r <= 0)
		return r;
	if (kernel_names_get(&env->names, env->coop, addr, name, sizeof(name)) < 0)
		return 0;
	return probe_env_inject_name(env, SONDE_NAME_KSYM, addr, name);
}

int probe_env_ksym_range(struct probe_env *env, const char *name, unsigned nth, uint64_t *ret_start,
			 uint64_t *ret_end)
{
	return kernel_names_range(&env->names, env->coop, name, nth, ret_start, ret_end);
}

/* ---- excluded processes: this one, which programs know by tgid, and helpers in a set (bpf/filter.bpf.h) ---- */

static int count_excluded(struct probe_env *env, int change)
{
	int fd = probe_env_shared_map(env, "sonde_n_excluded");
	uint32_t zero = 0, n = 0;

	bpf_map_lookup_elem(fd, &zero, &n);
	n += (uint32_t)change;
	return bpf_map_update_elem(fd, &zero, &n, BPF_ANY) < 0 ? -errno : 0;
}

int probe_env_exclude(struct probe_env *env, uint32_t tgid)
{
	const uint8_t one = 1;

	if (bpf_map_update_elem(probe_env_shared_map(env, "sonde_excluded"), &tgid, &one, BPF_NOEXIST) < 0)
		return errno == EEXIST ? 0 : -errno;
	return tgid == env->self ? 0 : count_excluded(env, 1);
}

void probe_env_include(struct probe_env *env, uint32_t tgid)
{
	if (bpf_map_delete_elem(probe_env_shared_map(env, "sonde_excluded"), &tgid) == 0 && tgid != env->self)
		count_excluded(env, -1);
}

/* ---- ledger ---- */

int probe_env_watch(struct probe_env *env, const struct bpf_program *prog, uint16_t instance)
{
	return programs_watch(&env->programs, bpf_program__fd(prog), instance);
}

void probe_env_programs(struct probe_env *env, void (*fn)(void *ctx, uint16_t instance, int prog_fd), void *ctx)
{
	for (size_t i = 0; i < env->programs.vec.len; i++)
		fn(ctx, env->programs.vec.items[i].instance, env->programs.vec.items[i].fd);
}

int probe_env_forget(struct probe_env *env, uint16_t instance)
{
	_cleanup_free_ struct sonde_ledger *zeros = calloc(env->n_cpus, sizeof(*zeros));
	int fd = probe_env_shared_map(env, "sonde_ledger"), r = zeros ? 0 : -ENOMEM;

	shared_maps_forget(&env->shared, instance);
	programs_forget(&env->programs, instance);
	env->select_flags[instance] = probe_select_flags(&env->select);
	env->own_select[instance] = NULL;
	env->skipped[instance] = 0;
	for (uint32_t class = 0; zeros && class < SONDE_CLASSES; class++) {
		uint32_t row = instance * SONDE_CLASSES + class;

		if (bpf_map_update_elem(fd, &row, zeros, BPF_ANY) < 0)
			r = -errno;
	}
	return r;
}

void probe_env_add_ledger(struct sonde_ledger *sum, const struct sonde_ledger *row)
{
	sum->seen += row->seen;
	sum->delivered += row->delivered;
	sum->filtered += row->filtered;
	sum->sampled += row->sampled;
	for (int i = 0; i < SONDE_LOST_ROOM; i++)
		sum->lost[i] += row->lost[i];
}

static int add_rows(struct probe_env *env, uint16_t instance, struct sonde_ledger *ret)
{
	_cleanup_free_ struct sonde_ledger *cpus = calloc(env->n_cpus, sizeof(*cpus));
	int fd = probe_env_shared_map(env, "sonde_ledger");

	if (!cpus)
		return -ENOMEM;
	*ret = (struct sonde_ledger){ 0 };
	for (uint32_t class = 0; class < SONDE_CLASSES; class++) {
		uint32_t row = instance * SONDE_CLASSES + class;

		if (bpf_map_lookup_elem(fd, &row, cpus) < 0)
			return -errno;
		for (unsigned cpu = 0; cpu < env->n_cpus; cpu++)
			probe_env_add_ledger(ret, &cpus[cpu]);
	}
	return 0;
}

/* An event that a program missed is lost unless the second program took it, which it may be about to. */
int probe_env_ledger(struct probe_env *env, uint16_t instance, struct sonde_ledger *ret)
{
	const struct timespec pause = { .tv_nsec = SECOND_GRACE_NS };
	uint64_t misses;
	int r;

	if (instance >= SONDE_INSTANCES)
		return -ERANGE;
	misses = programs_misses(&env->programs, instance);
	r = add_rows(env, instance, ret);
	if (r == 0 && misses > env->skipped[instance] + ret->lost[SONDE_LOST_TAKEN]) {
		nanosleep(&pause, NULL);
		r = add_rows(env, instance, ret);
	}
	if (r < 0)
		return r;
	if (misses > env->skipped[instance] + ret->lost[SONDE_LOST_TAKEN])
		env->skipped[instance] = misses - ret->lost[SONDE_LOST_TAKEN];
	ret->lost[SONDE_LOST_TAKEN] = 0;
	ret->seen += env->skipped[instance];
	ret->lost[SONDE_LOST_RECURSION] += env->skipped[instance];
	return 0;
}

void probe_env_wait_for_programs(void)
{
	const struct timespec pause = { .tv_nsec = DETACH_GRACE_NS };

	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) < 0)
		nanosleep(&pause, NULL);
}

/* ---- notes and failures ---- */

void probe_env_set_complain(struct probe_env *env, probe_complain_fn fn, void *ctx)
{
	env->complain = fn;
	env->complain_ctx = ctx;
}

void probe_env_set_note(struct probe_env *env, void (*fn)(const char *text))
{
	env->note = fn;
	if (env->plan.note[0])
		probe_env_note(env, env->plan.note);
}

void probe_env_note(struct probe_env *env, const char *text)
{
	if (env->note)
		env->note(text);
}

void probe_env_want_owners(struct probe_env *env)
{
	env->owners = true;
}

bool probe_env_wants_owners(const struct probe_env *env)
{
	return env->owners;
}

void probe_env_hook_failed(struct probe_env *env, unsigned instance, const char *hook, const struct err *err)
{
	if (env->complain && err->code != -ECANCELED)	/* the run ends: nothing failed */
		env->complain(env->complain_ctx, instance, hook, err);
}
