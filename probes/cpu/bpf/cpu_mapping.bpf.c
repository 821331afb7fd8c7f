// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * The mapping that holds an address, its unwind table, and the rule for the address. The program asks for a missing
 * table once (CPU_REC_NEED), and again only after a while: the live half may be busy, or the process may have ended
 * before it looked. Built with -Dunwind=false no mapping has a table: the walk follows frame pointers.
 */
#include "bpf/ring.bpf.h"
#include "probes/cpu/bpf/cpu_mapping.bpf.h"
#include "probes/cpu/bpf/cpu_vma.bpf.h"
#include "probes/cpu/cpu_wire.h"

#define PLACE_SHIFT 18		/* a mapping has a slot per 256 KB that are looked up in it */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* x86: of all that ever were. */
struct mm_context___id {
	__u64 ctx_id;
};

struct mm_struct___id {
	struct mm_context___id context;
};

#pragma clang attribute pop

enum bpf_func_id___mapping { BPF_FUNC_get_current_task_btf___mapping };

/* Identity of a process's mappings. */
struct mm_key {
	__u64 id;		/* 0 = cached mappings cannot be trusted */
	__u32 seq;
};

/* For @mm, a pointer that the verifier trusts: no calls. */
static __always_inline void mm_key_of(struct mm_struct *mm, struct mm_key *ret)
{
	struct mm_struct___count *count = (void *)mm;
	struct mm_struct___seq *seq = (void *)mm;
	struct mm_struct___id *id = (void *)mm;

	ret->id = ret->seq = 0;
	if (!bpf_core_field_exists(id->context.ctx_id))
		return;
	if (bpf_core_field_exists(count->mm_lock_seq.sequence)) {
		ret->seq = count->mm_lock_seq.sequence;
		ret->id = ret->seq & 1 ? 0 : id->context.ctx_id;
	} else if (bpf_core_field_exists(seq->mm_lock_seq)) {
		ret->seq = seq->mm_lock_seq;
		ret->id = id->context.ctx_id;
	}
}

/* For any pointer. */
static __always_inline void mm_key_of_probed(struct mm_struct *mm, struct mm_key *ret)
{
	struct mm_struct___id *id = (void *)mm;

	ret->id = ret->seq = 0;
	if (bpf_core_field_exists(id->context.ctx_id) && mm_sequence(mm, &ret->seq))
		ret->id = BPF_CORE_READ(id, context.ctx_id);
}

/*
 * Starts a walk: the current task's mappings, and whether the cached ones may be used. A function of its own, so
 * the verifier checks it once: for each path to a load of a typed pointer it searches all kernel types by name.
 */
__noinline int cpu_proc_maps_begin(__u32 class)
{
	struct cpu_scratch *d = get_scratch(class);
	struct mm_key key = { 0 };
	struct mm_struct *mm;

	if (!d)
		return 0;
	if (bpf_core_enum_value_exists(enum bpf_func_id___mapping, BPF_FUNC_get_current_task_btf___mapping)) {
		mm = bpf_get_current_task_btf()->mm;
		if (mm)
			mm_key_of(mm, &key);
	} else {
		mm = BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), mm);
		mm_key_of_probed(mm, &key);
	}
	d->u.mm = mm;
	d->u.mm_id = key.id;
	d->u.mm_seq = key.seq;
	if (key.id)
		d->u.tables = tables_number();
	return 0;
}

/* ---- tables ---- */

#if SONDE_UNWIND

#define ASK_AGAIN_NS 2000000000ull

/* Sized at run time. */
MAP(cpu_unwind_files, HASH, 1, struct cpu_file_key, struct cpu_unwind_file);

/* Time of the next request for a file without a table, boot clock. */
MAP(cpu_unwind_asked, LRU_HASH, 4096, struct cpu_file_key, __u64);

/* The first segment; user space creates the others like it. */
struct cpu_unwind_segment {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CPU_SEGMENT_UNITS);
	__type(key, __u32);
	__type(value, struct cpu_unwind_unit);
} cpu_unwind_segment SEC(".maps");

/* Sized at run time to the budget in segments. User space enters all of them, the first too. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct cpu_unwind_segment);
} cpu_unwind_pool SEC(".maps");

/* A word of the pool, or NULL. */
static __always_inline __u32 *pool_word(__u32 word)
{
	__u32 unit = word >> CPU_UNIT_WORDS_SHIFT, segment = unit >> CPU_SEGMENT_UNITS_SHIFT;
	struct cpu_unwind_unit *u;
	void *map = bpf_map_lookup_elem(&cpu_unwind_pool, &segment);

	unit &= CPU_SEGMENT_UNITS - 1;
	u = map ? bpf_map_lookup_elem(map, &unit) : NULL;
	return u ? &u->words[word & (CPU_UNIT_WORDS - 1)] : NULL;
}

/* ---- asking ---- */

/*
 * Uses the life-cycle lane, which bulk cannot displace, and wakes user space: stacks stay truncated until it
 * answers.
 */
static __always_inline bool need_send(__u32 class, const struct cpu_file_key *key, const struct cpu_mapping *m)
{
	struct sonde_ledger *l = ledger_seen(CPU_CLASS_NEED + class);
	struct cpu_need_rec *r = l ? rec_reserve(l, LANE_LIFE, sizeof(*r)) : NULL;

	if (!r)
		return false;
	rec_init(&r->hdr, l, CPU_REC_NEED, sizeof(*r), CPU_CLASS_NEED + class);
	r->start = m->start;
	r->end = m->end;
	r->file_off = m->off;
	r->ino = key->ino;
	r->dev = key->dev;
	r->ino_generation = key->generation;
	r->mtime_ns = key->mtime_ns;
	l->seq++;
	l->delivered++;
	bpf_ringbuf_submit(r, BPF_RB_FORCE_WAKEUP);
	return true;
}

static __always_inline void need_ask(__u32 class, const struct cpu_file_key *key, const struct cpu_mapping *m)
{
	__u64 now = bpf_ktime_get_boot_ns(), next = now + ASK_AGAIN_NS;
	__u64 *due = bpf_map_lookup_elem(&cpu_unwind_asked, key);

	if (due && *due > now)
		return;
	if (need_send(class, key, m))
		bpf_map_update_elem(&cpu_unwind_asked, key, &next, BPF_ANY);
}

/* ---- the table of a mapping ---- */

static __always_inline void mapping_table(struct cpu_mapping *m, struct cpu_unwind_file *f)
{
	f->used_ns = bpf_ktime_get_boot_ns();
	m->first_page = (__u32)f->first_page;
	m->n_pages = f->n_rows ? f->n_pages : 0;
	m->id = f->id;
	m->rules = f->first_word;
	m->pages = m->rules + f->n_rules * (sizeof(struct sonde_unwind_rule) / 4);
}

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct timespec64___cpu {
	__s64 tv_sec;
	long tv_nsec;
};

/* Until 6.6. */
struct inode___mtime {
	struct timespec64___cpu i_mtime;
};

/* Until 6.10. */
struct inode___private {
	struct timespec64___cpu __i_mtime;
};

/* Since. */
struct inode___words {
	__s64 i_mtime_sec;
	__u32 i_mtime_nsec;
};

#pragma clang attribute pop

/* Two reads: a file that is being written is requested twice. */
static __always_inline __u64 inode_mtime_ns(struct inode *inode)
{
	struct inode___mtime *old = (void *)inode;
	struct inode___private *mid = (void *)inode;
	struct inode___words *now = (void *)inode;

	if (bpf_core_field_exists(now->i_mtime_sec))
		return BPF_CORE_READ(now, i_mtime_sec) * 1000000000ull + BPF_CORE_READ(now, i_mtime_nsec);
	if (bpf_core_field_exists(mid->__i_mtime))
		return BPF_CORE_READ(mid, __i_mtime.tv_sec) * 1000000000ull + BPF_CORE_READ(mid, __i_mtime.tv_nsec);
	return BPF_CORE_READ(old, i_mtime.tv_sec) * 1000000000ull + BPF_CORE_READ(old, i_mtime.tv_nsec);
}

/* The file of @vma. False: no file, hence no table. */
static __always_inline bool mapping_key(struct cpu_unwind *u, struct vm_area_struct *vma, const struct cpu_mapping *m,
					struct cpu_file_key *ret)
{
	struct file *file = BPF_CORE_READ(vma, vm_file);
	struct inode *inode;

	u->file = file;
	if (!file) {
		ret->ino = CPU_FILE_VDSO;
		return m->start && m->start == mm_vdso(u->mm);
	}
	inode = BPF_CORE_READ(file, f_inode);
	u->ino = ret->ino = BPF_CORE_READ(inode, i_ino);
	ret->dev = BPF_CORE_READ(inode, i_sb, s_dev);
	u->generation = ret->generation = BPF_CORE_READ(inode, i_generation);
	ret->mtime_ns = inode_mtime_ns(inode);
	return true;
}

/* Finds the file of @vma and its table; requests a missing table. @m has the addresses. */
static __always_inline void table_find(struct cpu_unwind *u, __u32 class, struct vm_area_struct *vma,
				       struct cpu_mapping *m)
{
	struct cpu_file_key key = { 0 };
	struct cpu_unwind_file *f;

	m->no_file = !mapping_key(u, vma, m, &key);
	if (m->no_file || (u->w.compat && !key.dev)) /* 32-bit code uses another vDSO */
		return;
	if (!key.dev)
		m->off = 0;	/* offsets in the vDSO do not start at its file */
	f = bpf_map_lookup_elem(&cpu_unwind_files, &key);
	if (f) {
		mapping_table(m, f);
	} else if (key.dev) {
		m->id = 0;
		need_ask(class, &key, m);
	}
}

/* ---- rows ---- */

/*
 * Cached rules, by table and grain of addresses: outer frames recur in all stacks, inner ones stay in the same
 * loops. Table numbers are never reused, so a rule of an evicted table is not found.
 */
static __always_inline struct cpu_rule_slot *rule_slot(struct cpu_scratch *d, __u64 key)
{
	__u32 i = key * 0x9e3779b97f4a7c15ull >> (64 - RULE_SLOTS_SHIFT);

	return &d->rules[i & ((1 << RULE_SLOTS_SHIFT) - 1)];
}

/* A row of a table. */
struct cpu_row {
	__u32 rule;		/* its number; 0 = a gap */
	__u32 low, end;		/* its addresses in the page */
};

/*
 * Finds the row for offset @low in the page whose rows are @a to @b. False: unreadable. The half is chosen without
 * a branch, for the verifier would follow both sides of each turn and the CPU would mispredict.
 */
static __always_inline bool row_find(__u32 rows, __u32 a, __u32 b, __u32 low, struct cpu_row *ret)
{
	__u32 last = b, *row;
	__u64 upper;

	for (int i = 0; i < SONDE_UNWIND_PAGE_SHIFT && b - a > 1; i++) {
		__u32 mid = a + (b - a) / 2;

		row = pool_word(rows + mid);
		if (!row)
			return false;
		/* all ones: it begins at @low or before */
		upper = -(((__u64)SONDE_UNWIND_ROW_LOW(*row) - low - 1) >> 63);
		a += (mid - a) & (__u32)upper;
		b = mid + ((b - mid) & (__u32)upper);
	}
	ret->end = 1 << SONDE_UNWIND_PAGE_SHIFT;
	if (b < last) {
		row = pool_word(rows + b);
		if (!row)
			return false;
		ret->end = SONDE_UNWIND_ROW_LOW(*row);
	}
	row = pool_word(rows + a);
	if (!row)
		return false;
	ret->rule = SONDE_UNWIND_ROW_RULE(*row);
	ret->low = SONDE_UNWIND_ROW_LOW(*row);
	return true;
}

/* Searches the table of @m for offset @off of its file; *ret_before and *ret_len: the row around it. */
static __always_inline struct sonde_unwind_rule *rule_search(const struct cpu_mapping *m, __u64 off,
							     __u32 *ret_before, __u32 *ret_len)
{
	__u64 page = (off >> SONDE_UNWIND_PAGE_SHIFT) - m->first_page;
	__u32 low = off & ((1 << SONDE_UNWIND_PAGE_SHIFT) - 1), *first, *next;
	struct cpu_row row = { 0 };

	if (page >= m->n_pages)	/* a page below the first wraps to a huge number */
		return NULL;
	first = pool_word(m->pages + page);
	next = pool_word(m->pages + page + 1);
	if (!first || !next || !row_find(m->pages + m->n_pages + 1, *first, *next, low, &row))
		return NULL;
	*ret_before = low - row.low;
	*ret_len = row.end - row.low;
	return (void *)pool_word((m->rules + row.rule * (sizeof(struct sonde_unwind_rule) / 4)) & ~3u);
}

/* u->span of the row around the address, limited to the mapping. */
static __always_inline void span_of_row(struct cpu_unwind *u, const struct cpu_mapping *m, __u32 before, __u32 len)
{
	__u64 start = u->w.pc - before, end = start + len;

	if (start < m->start)
		start = m->start;
	if (end > m->end)
		end = m->end;
	u->span.at = start << 16 | ((end - start) & SPAN_LEN);
}

/* Writes the rule for u->w.pc to w.rule. */
__noinline int cpu_rule_find(__u32 class)
{
	struct cpu_scratch *d = get_scratch(class);
	struct sonde_unwind_rule *rule;
	struct cpu_rule_slot *slot;
	__u32 before = 0, len = 0;
	struct cpu_mapping *m;
	__u64 off, key, at;
	__s32 in_grain;

	if (!d)
		return 0;
	m = &d->u.mappings[d->u.mapping & (UNWIND_MAPPINGS - 1)];
	off = d->u.w.pc - m->start + m->off;
	in_grain = off & ((1 << RULE_GRAIN_SHIFT) - 1);
	key = (__u64)m->id << 40 ^ off >> RULE_GRAIN_SHIFT;
	slot = rule_slot(d, key);
	at = (__s64)in_grain - slot->start;
	if (slot->key == key && at < slot->len) {
		d->u.w.rule = slot->rule;
		span_of_row(&d->u, m, (__u32)at, slot->len);
		return 0;
	}
	d->u.w.rule.cfa = SONDE_CFA_GAP;
	rule = rule_search(m, off, &before, &len);
	if (!rule)
		return 0;
	d->u.w.rule = *rule;
	span_of_row(&d->u, m, before, len);
	slot->rule = *rule;
	slot->start = in_grain - (__s32)before;
	slot->len = len;
	slot->key = key;
	return 0;
}

#else

static __always_inline void table_find(struct cpu_unwind *u, __u32 class, struct vm_area_struct *vma,
				       struct cpu_mapping *m)
{
}

__noinline int cpu_rule_find(__u32 class)
{
	return 0;
}

#endif

/* ---- mappings ---- */

static __always_inline __u32 place_index(const struct cpu_scratch *d)
{
	__u64 key = d->u.mm_id << 32 ^ d->u.w.pc >> PLACE_SHIFT;

	return key * 0x9e3779b97f4a7c15ull >> (64 - PLACE_SLOTS_SHIFT);
}

static __always_inline bool place_take(struct cpu_place_slot *s, const struct cpu_unwind *u, struct cpu_mapping *m)
{
	__u64 pc = u->w.pc;

	if (pc < s->start || pc >= s->end || !place_holds(s, u))
		return false;
	m->start = s->start;
	m->end = s->end;
	m->off = s->off;
	m->first_page = s->first_page;
	m->rules = s->rules;
	m->pages = s->pages;
	m->n_pages = s->n_pages;
	m->id = s->id;
	m->no_file = s->no_file;
	return true;
}

static __always_inline void place_keep(struct cpu_place_slot *s, const struct cpu_unwind *u,
				       const struct cpu_mapping *m)
{
	__u32 seq;

	/* changed meanwhile, or its table is missing */
	if (!u->mm_id || u->w.compat || !m->id || !mm_sequence(u->mm, &seq) || seq != u->mm_seq)
		return;
	s->mm_id = u->mm_id;
	s->mm_seq = u->mm_seq;
	s->tables = u->tables;
	s->until_s = u->now_s + PLACE_UNITS;
	s->start = m->start;
	s->end = m->end;
	s->off = m->off;
	s->first_page = m->first_page;
	s->rules = m->rules;
	s->pages = m->pages;
	s->n_pages = m->n_pages;
	s->id = m->id;
	s->no_file = m->no_file;
	s->vma = u->vma;
	s->file = u->file;
	s->ino = u->ino;
	s->generation = u->generation;
	s->version++;
}

/* Notes that spans of this walk lie in @s: in the trace in use, else in the new trace. */
static __always_inline void place_note(struct cpu_scratch *d, const struct cpu_place_slot *s,
				       const struct cpu_mapping *m)
{
	__u32 place = PLACE_VERSION(s, place_index(d));
	struct cpu_unwind_trace *t = trace_of(d);
	__u32 n;

	if (!d->u.trace_end)
		t = &d->fresh;
	n = t->n_places;
	if (s->mm_id != d->u.mm_id || s->mm_seq != d->u.mm_seq || s->start != m->start)
		n = TRACE_PLACES;	/* not cached */
	for (__u32 i = 0; i < TRACE_PLACES && i < n; i++) {
		if (t->places[i] == place)
			return;
	}
	if (n < TRACE_PLACES)
		t->places[n & (TRACE_PLACES_ROOM - 1)] = place;
	t->n_places = n + 1;	/* overflow: not all are known */
}

/* Fills @m. 0, or SONDE_STACK_*. A frame of its own: that of vma_find() is gone by then. */
static __noinline int vma_read(struct cpu_unwind *u, __u32 class, struct vm_area_struct *vma, struct cpu_mapping *m)
{
	u->vma = vma;
	u->file = NULL;
	m->start = BPF_CORE_READ(vma, vm_start);
	m->end = BPF_CORE_READ(vma, vm_end);
	if (u->w.pc < m->start || u->w.pc >= m->end) {
		m->end = 0;
		return SONDE_STACK_BUSY;
	}
	if (!(BPF_CORE_READ(vma, vm_flags) & VM_EXEC)) {
		m->end = 0;
		return SONDE_STACK_NO_MAPPING;
	}
	m->off = BPF_CORE_READ(vma, vm_pgoff) << cpu_page_shift;
	m->n_pages = 0;
	m->id = CPU_TABLE_NONE;
	m->no_file = 0;
	table_find(u, class, vma, m);
	return 0;
}

/* Reads the mapping from the kernel's tree. 0, or SONDE_STACK_*. */
static __always_inline int mapping_read(struct cpu_unwind *u, __u32 class, struct cpu_mapping *m)
{
	struct vm_area_struct *vma = vma_find(u, class);

	m->end = 0;
	return vma ? vma_read(u, class, vma, m) : SONDE_STACK_NO_MAPPING;
}

/* Fills the next mapping with that of u->w.pc, from the cache or the kernel. 0, or SONDE_STACK_*. */
__noinline int cpu_mapping_read(__u32 class)
{
	struct cpu_scratch *d = get_scratch(class);
	struct cpu_place_slot *slot;
	struct cpu_mapping *m;
	__u32 at;
	int r = 0;

	if (!d)
		return SONDE_STACK_BUSY;
	at = d->u.n_mappings & (UNWIND_MAPPINGS - 1);
	m = &d->u.mappings[at];
	slot = place_slot(d, place_index(d));
	if (!place_take(slot, &d->u, m)) {
		r = mapping_read(&d->u, class, m);
		if (r)
			return r;
		place_keep(slot, &d->u, m);
	}
	place_note(d, slot, m);
	d->u.mapping = at;
	d->u.n_mappings++;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
