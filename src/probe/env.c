// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the live probes of one pipeline share. Maps named sonde_* exist once: those that every program needs
 * (rings, ledger, selection, exclusion) are made here, others by the first object that has them.
 */
#include "probe/env.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "loop/coop.h"
#include "base/err.h"
#include "btf/btf_root.h"
#include "btf/kernel_btf.h"
#include "probe/env_impl.h"
#include "probe/async_map_update.h"
#include "host/kname.h"
#include "host/ksym.h"
#include "probe/percpu_rings.h"
#include "probe/mmap_ring.h"
#include "probe/load_error.h"
#include "host/resources.h"
#include "probe/select.h"
#include "probe/typed_map.h"
#include "ring/ring.h"

#define RING_BYTES_MOST (4u << 20)	/* default per CPU, while all rings together stay below the next */
#define RING_BYTES_ALL (256u << 20)
#define RING_BYTES_LEAST (512u << 10)
#define RING_BYTES_SCARCE (64u << 10)	/* where memory is limited */
#define RING_SHARE_OF_ROOM 32	/* of the memory that is left, for the bulk rings of all CPUs */
#define TABLES_ROOM (256ull << 20)	/* below this, tables that may forget shrink by half for each half */
#define LRU_SHIFT_MOST 6
#define SCARCE_ROOM (64ull << 20)	/* below this, what can be made again is freed before each load */
#define SPARSE_SHIFT 4		/* there, of tables that take memory by entry: their buckets are made ahead */
#define SPARSE_ENTRIES_LEAST 8192u
#define LRU_ENTRIES_LEAST 1024u
#define LIFE_RING_LEAST (256u << 10)
#define LIFE_RING_MOST (2u << 20)
#define LIFE_RING_SHARE 2	/* of the bulk ring: an exec with its environment may be 10 KB */
#define WAKEUP_BYTES_MOST (512u << 10)	/* often and a little: a reader that sleeps much is let in soon */
#define DEFAULT_WAKEUP_PCT 25
#define MAX_EXCLUDED 1024
#define SHARED_PREFIX "sonde_"
#define INSTANCE_PREFIX "inst_"		/* shared by the objects of one instance */
#define ALL_INSTANCES -1
#define PLAIN_MAP "sonde_plain"

/* ---- maps ---- */

/* What the instance has for itself comes before what all share. */
static struct shared_map *find_shared(struct probe_env *env, const char *name, int instance)
{
	struct shared_map *ret = NULL;

	for (size_t i = 0; i < env->shared.len; i++) {
		struct shared_map *m = &env->shared.items[i];

		if (strcmp(m->name, name))
			continue;
		if (m->instance == instance)
			return m;
		if (m->instance == ALL_INSTANCES)
			ret = m;
	}
	return ret;
}

/* Takes @fd over. */
static int add_shared(struct probe_env *env, const char *name, int instance, int fd)
{
	struct shared_map *m;

	if (fd < 0)
		return fd;
	if (vec_grow(&env->shared) < 0) {
		close(fd);
		return -ENOMEM;
	}
	m = &env->shared.items[env->shared.len++];
	snprintf(m->name, sizeof(m->name), "%s", name);
	m->fd = fd;
	m->instance = instance;
	return 0;
}

static int make_map(struct probe_env *env, enum bpf_map_type type, const char *name, uint32_t key, uint32_t value,
		    uint32_t max)
{
	return add_shared(env, name, ALL_INSTANCES, typed_map_create(env->types, type, name, key, value, max, 0));
}

static int make_lane(struct probe_env *env, enum lane lane, struct err *err)
{
	static const char *const names[] = { [LANE_BULK] = "sonde_rings_bulk", [LANE_LIFE] = "sonde_rings_life" };
	const struct lane_opts o = {
		.name = names[lane], .ring_bytes = env->ring_bytes[lane], .n_cpus = env->n_cpus,
		.life = lane == LANE_LIFE,
	};
	int array = -1, r;

	_Static_assert(sizeof(names) / sizeof(names[0]) == LANE__MAX, "a map per lane");
	r = percpu_rings_make(&o, env->reader, env->puts, env->ring_fds + lane * env->n_cpus, &array, err);
	if (r < 0) {
		cleanup_close(&array);
		return r;
	}
	return add_shared(env, o.name, ALL_INSTANCES, array);
}

/* They are in place when the first object is loaded. */
static int make_rings(struct probe_env *env, struct err *err)
{
	int r;

	env->ring_fds = calloc((size_t)LANE__MAX * env->n_cpus, sizeof(*env->ring_fds));
	if (!env->ring_fds || async_map_update_new(&env->puts) < 0)
		return err_errno(err, -ENOMEM, "cannot set up the rings");
	for (size_t i = 0; i < (size_t)LANE__MAX * env->n_cpus; i++)
		env->ring_fds[i] = -1;
	r = make_lane(env, LANE_BULK, err);
	if (r >= 0)
		r = make_lane(env, LANE_LIFE, err);
	if (r < 0)
		return r;
	r = async_map_update_start(env->puts);
	return r < 0 ? err_errno(err, r, "cannot put the rings in place") : 0;
}

/* The common selection belongs to every instance that has none of its own. */
static int add_select(void *ctx, const char *name, int fd)
{
	return add_shared(ctx, name, ALL_INSTANCES, fd);
}

static int add_own_select(void *ctx, const char *name, int fd)
{
	struct probe_env *env = ctx;

	return add_shared(env, name, env->selecting, fd);
}

int probe_env_set_select(struct probe_env *env, uint16_t instance, const struct probe_select *s, struct err *err)
{
	int r;

	env->selecting = instance;
	r = probe_select_make(s, env->types, add_own_select, env);
	if (r < 0)
		return load_error_of_maps(err, r, "make the maps of the selection");
	env->probe_select_flags[instance] = probe_select_flags(s);
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
		env->probe_select_flags[i] = probe_select_flags(&env->select);
	return r < 0 ? load_error_of_maps(err, r, "make the common maps") : 0;
}

/* ---- life ---- */

static uint32_t wakeup_bytes(size_t ring_bytes, unsigned pct)
{
	return (uint32_t)MIN(ring_bytes / 100 * pct, (size_t)WAKEUP_BYTES_MOST);
}

/* Bulk per CPU by default: large hosts get smaller rings, not a larger bill. */
static size_t default_ring(unsigned n_cpus, const struct memory_room *room)
{
	size_t bytes = RING_BYTES_MOST;

	while (bytes > RING_BYTES_LEAST && bytes * n_cpus > RING_BYTES_ALL)
		bytes /= 2;
	while (bytes > RING_BYTES_SCARCE && bytes * n_cpus > room->bytes / RING_SHARE_OF_ROOM)
		bytes /= 2;
	return bytes;
}

/* The reader comes to a life-cycle record when it has read the bulk before it: both lanes grow together. */
static size_t default_life_ring(size_t bulk_bytes)
{
	return MAX(LIFE_RING_LEAST, MIN(bulk_bytes / LIFE_RING_SHARE, LIFE_RING_MOST));
}

static size_t round_ring(size_t bytes)
{
	size_t n = (size_t)sysconf(_SC_PAGESIZE);

	while (n < bytes)
		n *= 2;
	return n;
}

/* One sentence about all that is smaller; @rings_bytes 0 = the rings are not. */
static void describe_small(struct probe_env *env, const struct memory_room *room, size_t rings_bytes)
{
	const char *limit = room->by_cgroup ? "limit of the cgroup" : "free memory";
	char rings[64] = "";

	if (rings_bytes)
		snprintf(rings, sizeof(rings), "rings of %zu KiB per CPU", rings_bytes >> 10);
	snprintf(env->small, sizeof(env->small), "%llu MiB of memory are left (%s): %s%s%s",
		 (unsigned long long)(room->bytes >> 20), limit, rings, rings_bytes && env->scarce_bytes ? ", " : "",
		 env->scarce_bytes ? "small tables" : "");
}

/* Rings first, then tables of addresses and sockets, which forget the least used entries. */
static void fit_memory(struct probe_env *env, const struct probe_env_opts *o)
{
	const struct memory_room room = resources_memory();
	size_t plenty = default_ring(env->n_cpus, &(struct memory_room){ .bytes = UINT64_MAX });
	size_t bulk = default_ring(env->n_cpus, &room);
	uint64_t bytes = room.bytes;

	env->scarce_bytes = bytes < SCARCE_ROOM ? MAX(bytes, (uint64_t)1) : 0;
	while (env->lru_shift < LRU_SHIFT_MOST && bytes < TABLES_ROOM) {
		env->lru_shift++;
		bytes *= 2;
	}
	if (!o->ring_bytes && bulk < plenty)
		describe_small(env, &room, bulk);
	else if (env->scarce_bytes)
		describe_small(env, &room, 0);
	env->ring_bytes[LANE_BULK] = round_ring(o->ring_bytes ? o->ring_bytes : bulk);
	env->ring_bytes[LANE_LIFE] = round_ring(o->life_ring_bytes ? o->life_ring_bytes :
						default_life_ring(env->ring_bytes[LANE_BULK]));
}

void probe_env_free(struct probe_env *env)
{
	if (!env)
		return;
	ring_reader_free(env->reader);
	for (size_t i = 0; i < env->watched.len; i++)
		close(env->watched.items[i].prog_fd);
	for (size_t i = 0; i < env->shared.len; i++)
		close(env->shared.items[i].fd);
	for (size_t i = 0; env->ring_fds && i < (size_t)LANE__MAX * env->n_cpus; i++)
		cleanup_close(&env->ring_fds[i]);
	free(env->ring_fds);
	async_map_update_free(env->puts);
	vec_fini(&env->shared);
	vec_fini(&env->watched);
	vec_fini(&env->failed);
	btf__free(env->btf);
	btf_root_free(env->btf_root);
	typed_map_free(env->types);
	kname_free(env->kname);
	ksym_free(env->ksyms);
	map_fini(&env->named);
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

/* A file that cannot be used is an error. Without one, libbpf and the hooks say what is missing. */
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
	unsigned pct = o->wakeup_pct ? o->wakeup_pct : DEFAULT_WAKEUP_PCT;
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
	/* Raised by libbpf where BPF memory counts as locked memory (before 5.11), and only there. */
	libbpf_set_memlock_rlim(RLIM_INFINITY);
	env->n_cpus = (unsigned)n_cpus;
	env->self = (uint32_t)getpid();
	env->select = o->select;
	map_init(&env->named, sizeof(uint64_t), sizeof(uint8_t));
	env->host_root = copy_root(o->host_root);
	if (!env->host_root)
		return err_errno(err, -ENOMEM, "cannot set up the probes");
	fit_memory(env, o);
	env->wakeup_pct = pct;
	for (int i = 0; i < LANE__MAX; i++)
		env->wakeup_bytes[i] = wakeup_bytes(env->ring_bytes[i], pct);
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

uint64_t probe_env_scarce_bytes(const struct probe_env *env)
{
	return env->scarce_bytes;
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
	if (env->btf)	/* the other thread has read it meanwhile */
		btf__free(btf);
	else
		env->btf = btf;
	env->no_btf = !env->btf;
	return env->btf;
}

int probe_env_btf_find(struct probe_env *env, const char *name, uint32_t kind)
{
	const struct btf *btf = probe_env_btf(env); /* stays: only a job gives it back */
	bool left = coop_leave(env->coop);
	int id = btf ? btf__find_by_name_kind(btf, name, kind) : -ENOENT;

	coop_return(env->coop, left);
	return id < 0 ? -ENOENT : id;
}

unsigned probe_env_n_cpus(const struct probe_env *env)
{
	return env->n_cpus;
}

int probe_env_shared_map(struct probe_env *env, const char *name)
{
	return probe_env_instance_map(env, ALL_INSTANCES, name);
}

int probe_env_instance_map(struct probe_env *env, int instance, const char *name)
{
	const struct shared_map *m = find_shared(env, name, instance);

	return m ? m->fd : -ENOENT;
}

/* ---- objects ---- */

static bool is_of_instance(const char *name)
{
	return !strncmp(name, INSTANCE_PREFIX, strlen(INSTANCE_PREFIX));
}

static bool is_shared(const struct bpf_map *map)
{
	const char *name = bpf_map__name(map);

	return !bpf_map__is_internal(map) &&
	       (!strncmp(name, SHARED_PREFIX, strlen(SHARED_PREFIX)) || is_of_instance(name));
}

/* Sizes may differ, they are set at run time; type, key and value may not. */
static int check_shape(const struct bpf_map *map, int fd)
{
	struct bpf_map_info info = { 0 };
	uint32_t len = sizeof(info);

	if (bpf_map_get_info_by_fd(fd, &info, &len) < 0)
		return -errno;
	return info.type == bpf_map__type(map) && info.key_size == bpf_map__key_size(map) &&
	       info.value_size == bpf_map__value_size(map) ? 0 : -EINVAL;
}

/* As large as those of the bulk lane, for objects that have them. Programs hold their size in read-only data. */
static int share_plain(struct probe_env *env, struct bpf_object *obj, struct err *err)
{
	struct bpf_map *map = bpf_object__find_map_by_name(obj, PLAIN_MAP);
	uint64_t mask;
	uint32_t wakeup;
	int r = 0;

	if (!map)
		return 0;
	if (!env->plain_bytes)
		r = mmap_ring_make(env->reader, env->n_cpus, env->ring_bytes[LANE_BULK], &env->plain_bytes, err);
	if (r > 0)
		r = add_shared(env, PLAIN_MAP, ALL_INSTANCES, r);
	if (r < 0)
		return r;
	mask = env->plain_bytes - 1;
	wakeup = wakeup_bytes(env->plain_bytes, env->wakeup_pct);
	probe_rodata_set(obj, "sonde_plain_mask", &mask, sizeof(mask));
	probe_rodata_set(obj, "sonde_plain_wakeup_bytes", &wakeup, sizeof(wakeup));
	return bpf_map__set_value_size(map, (uint32_t)mmap_ring_element_bytes(env->plain_bytes));
}

/* Tables that forget first; where memory is scarce, also those whose buckets outweigh their entries. */
static void shrink_table(const struct probe_env *env, struct bpf_map *map)
{
	uint32_t n = bpf_map__max_entries(map);

	if (bpf_map__type(map) == BPF_MAP_TYPE_LRU_HASH && env->lru_shift)
		bpf_map__set_max_entries(map, MAX(n >> env->lru_shift, MIN(n, LRU_ENTRIES_LEAST)));
	else if (bpf_map__type(map) == BPF_MAP_TYPE_HASH && env->scarce_bytes &&
		 bpf_map__map_flags(map) & BPF_F_NO_PREALLOC)
		bpf_map__set_max_entries(map, MAX(n >> SPARSE_SHIFT, MIN(n, SPARSE_ENTRIES_LEAST)));
}

int probe_env_prepare(struct probe_env *env, struct bpf_object *obj, uint16_t instance, struct err *err)
{
	struct bpf_map *map;
	int r = share_plain(env, obj, err);

	if (r < 0)
		return r;
	env->preparing = instance;
	bpf_object__for_each_map(map, obj) {
		const struct shared_map *have;

		shrink_table(env, map);
		have = is_shared(map) ? find_shared(env, bpf_map__name(map), instance) : NULL;
		if (!have)
			continue;
		r = check_shape(map, have->fd);
		if (r >= 0)
			r = bpf_map__reuse_fd(map, have->fd);
		if (r == -EINVAL)
			return err_set(err, r, "the map %s is not the same in all programs", have->name);
		if (r < 0)
			return err_errno(err, r, "cannot share the map %s", have->name);
	}
	probe_rodata_set(obj, "sonde_instance", &instance, sizeof(instance));
	probe_rodata_set(obj, "sonde_self", &env->self, sizeof(env->self));
	probe_rodata_set(obj, "sonde_wakeup_bytes", env->wakeup_bytes, sizeof(env->wakeup_bytes));
	probe_select_apply(env->probe_select_flags[instance], obj);
	return 0;
}

static int remember_shared(struct probe_env *env, struct bpf_object *obj, int instance)
{
	struct bpf_map *map;
	int r;

	bpf_object__for_each_map(map, obj) {
		const char *name = bpf_map__name(map);
		int whose = is_of_instance(name) ? instance : ALL_INSTANCES;

		if (!is_shared(map) || find_shared(env, name, whose))
			continue;
		r = add_shared(env, name, whose, dup(bpf_map__fd(map)));
		if (r < 0)
			return r;
	}
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

/* Verification takes long; the object is private to this job. */
static int load_aside(struct probe_env *env, struct bpf_object *obj, struct err *err)
{
	struct load l = { .obj = obj, .err = err };
	bool left;
	int r;

	if (env->scarce_bytes)	/* the verifier needs its room; read again for the next object */
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

	if (r < 0)
		return r;
	r = remember_shared(env, obj, instance);
	if (r < 0)
		return err_errno(err, r, "cannot keep the shared maps");
	r = probe_rodata_map_variables(obj);
	if (r < 0)
		return err_errno(err, r, "cannot map the variables of programs");
	env_remember_programs(env, obj, (uint16_t)instance);
	r = async_map_update_finish(env->puts);
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

/* ---- failures ---- */

void probe_env_set_complain(struct probe_env *env,
			    void (*fn)(void *ctx, const char *hook, const struct err *err), void *ctx)
{
	env->complain = fn;
	env->complain_ctx = ctx;
}

void probe_env_set_note(struct probe_env *env, void (*fn)(const char *text))
{
	env->note = fn;
	if (env->small[0])
		probe_env_note(env, env->small);
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

void probe_env_hook_failed(struct probe_env *env, const char *hook, const struct err *err)
{
	for (size_t i = 0; i < env->failed.len; i++)
		if (!strcmp(env->failed.items[i].hook, hook))
			return;
	if (vec_grow(&env->failed) >= 0)
		snprintf(env->failed.items[env->failed.len++].hook, sizeof(env->failed.items->hook), "%s", hook);
	if (env->complain)
		env->complain(env->complain_ctx, hook, err);
}
