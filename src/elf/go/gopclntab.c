// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Format: debug/gosym and runtime/symtab.go of the Go distribution. All offsets are relative to parts of the table;
 * each access goes through a cursor over the part that the offset belongs to.
 */
#include "elf/go/gopclntab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/macros.h"
#include "elf/elf.h"
#include "elf/go/gotable.h"
#include "elf/go/gotext.h"

#define MAGIC_1_2 0xfffffffbu
#define MAGIC_1_16 0xfffffffau
#define MAGIC_1_18 0xfffffff0u
#define MAGIC_1_20 0xfffffff1u

#define NAME_MAX_BYTES 65536		/* limit in bytes of a name */
#define SEARCH_CHUNK (64u << 10)
#define SEGMENTS_MAX 16		/* that are searched */
#define PC_STEPS_MAX (1u << 20)		/* limit per function; real ones have thousands */

#define FLAG_TOP_FRAME 1	/* abi.FuncFlag */
#define FLAG_SP_WRITE 2

static struct cursor part_cursor(struct go_part p, uint64_t off)
{
	if (off > p.len)
		return (struct cursor){ .bad = true };
	return cur_init(p.data + off, p.len - (size_t)off);
}

static uint64_t cur_uint(struct cursor *c, uint8_t width)
{
	return width == 8 ? cur_u64(c) : cur_u32(c);
}

const char *gopclntab_string(struct go_part p, uint64_t off)
{
	struct cursor c = part_cursor(p, off);

	if (!cur_left(&c) || !memchr(c.pos, 0, MIN(cur_left(&c), (size_t)NAME_MAX_BYTES)))
		return NULL;
	return (const char *)c.pos;
}

/* ---- header ---- */

static unsigned since_release(const uint8_t *p)
{
	uint32_t magic;

	memcpy(&magic, p, sizeof(magic));
	return magic == MAGIC_1_20 ? 20 : magic == MAGIC_1_18 ? 18 : magic == MAGIC_1_16 ? 16 : 2;
}

static bool header_version(const uint8_t *p, enum go_version *ret)
{
	uint32_t magic;

	memcpy(&magic, p, sizeof(magic));
	if (p[4] || p[5] || (p[6] != 1 && p[6] != 2 && p[6] != 4) || (p[7] != 4 && p[7] != 8))
		return false;
	switch (magic) {
	case MAGIC_1_2:
		*ret = GO_1_2;
		return true;
	case MAGIC_1_16:
		*ret = GO_1_16;
		return true;
	case MAGIC_1_18:
	case MAGIC_1_20:
		*ret = GO_1_18;
		return true;
	default:
		return false;
	}
}

static struct go_part part_at(struct go_part all, uint64_t off)
{
	if (off > all.len)
		return (struct go_part){ .data = all.data };
	return (struct go_part){ .data = all.data + off, .len = all.len - (size_t)off };
}

/* The first version has a single table; its list of files follows the functions. */
static int parse_1_2(struct gopclntab *t, struct go_part all, struct cursor *c)
{
	struct cursor files;

	t->width = t->ptr;
	t->n_funcs = cur_uint(c, t->ptr);
	if (t->n_funcs > cur_left(c) / (2u * t->width))
		return -EBADMSG;
	files = *c;
	cur_skip(&files, (size_t)t->n_funcs * 2 * t->width + t->width);
	t->names = t->pcs = all;
	t->funcs = all;
	t->files = part_at(all, cur_u32(&files));
	t->units = all;
	return cur_ok(&files) ? 0 : -EBADMSG;
}

static int parse_later(struct gopclntab *t, struct go_part all, struct cursor *c)
{
	t->width = t->version == GO_1_18 ? 4 : t->ptr;
	t->n_funcs = cur_uint(c, t->ptr);
	cur_skip(c, t->ptr);		/* number of files */
	if (t->version == GO_1_18)
		t->text = cur_uint(c, t->ptr);
	t->names = part_at(all, cur_uint(c, t->ptr));
	t->units = part_at(all, cur_uint(c, t->ptr));
	t->files = part_at(all, cur_uint(c, t->ptr));
	t->pcs = part_at(all, cur_uint(c, t->ptr));
	t->funcs = part_at(all, cur_uint(c, t->ptr));
	return cur_ok(c) && t->n_funcs <= t->funcs.len / (2u * t->width) ? 0 : -EBADMSG;
}

static int parse(struct gopclntab *t, const uint8_t *data, size_t len)
{
	struct go_part all = { .data = data, .len = len };
	struct cursor c = cur_init(data, len);
	const uint8_t *head = cur_bytes(&c, 8);

	if (!head || !header_version(head, &t->version))
		return -EBADMSG;
	t->since = (uint8_t)since_release(head);
	t->quantum = head[6];
	t->ptr = head[7];
	return t->version == GO_1_2 ? parse_1_2(t, all, &c) : parse_later(t, all, &c);
}

/* ---- finding it ---- */

static int find_section(struct elf *e, uint64_t *ret_addr, const uint8_t **ret, size_t *ret_len)
{
	static const char *const names[] = { ".gopclntab", ".data.rel.ro.gopclntab" };
	struct elf_section s;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (elf_section_find(e, names[i], &s) == 0) {
			*ret_addr = s.addr;
			return elf_section_data(e, &s, ret, ret_len);
		}
	return -ENOENT;
}

/* Searches a segment for a header at a multiple of 32, the linkers' alignment. -ENOENT. */
static int search_segment(const struct elf *e, const struct elf_segment *s, uint64_t *ret_off)
{
	_cleanup_free_ uint8_t *chunk = malloc(SEARCH_CHUNK);
	uint64_t size = MIN(s->filesz, (uint64_t)elf_budget(e));	/* a larger segment exceeds the budget */
	uint64_t first = -s->vaddr & 31;

	if (!chunk)
		return -ENOMEM;
	for (uint64_t off = first; off < size; off += SEARCH_CHUNK) {
		size_t len = (size_t)MIN(size - off, (uint64_t)SEARCH_CHUNK);
		enum go_version version;

		if (s->off + off < s->off || elf_read_at(e, s->off + off, chunk, len) < 0)
			return -ENOENT;
		for (size_t i = 0; i + 8 <= len; i += 32)
			if (header_version(chunk + i, &version)) {
				*ret_off = off + i;
				return 0;
			}
	}
	return -ENOENT;
}

static int search_segments(struct elf *e, uint64_t *ret_addr, const uint8_t **ret, size_t *ret_len)
{
	size_t n;
	const struct elf_segment *all = elf_segments(e, &n);

	for (size_t i = 0; i < n && i < SEGMENTS_MAX; i++) {
		const struct elf_segment *s = &all[i];
		uint64_t off;
		int r = s->exec ? -ENOENT : search_segment(e, s, &off);

		if (r == -ENOMEM)
			return r;
		if (r < 0)
			continue;
		*ret_addr = s->vaddr + off;
		*ret_len = (size_t)(s->filesz - off);
		return elf_load(e, s->off + off, s->filesz - off, ret);
	}
	return -ENOENT;
}

int gopclntab_open(struct elf *e, struct gopclntab **ret)
{
	_cleanup_free_ struct gopclntab *t = calloc(1, sizeof(*t));
	const uint8_t *data;
	size_t len;
	int r;

	if (!t)
		return -ENOMEM;
	r = find_section(e, &t->addr, &data, &len);
	if (r == -ENOENT)
		r = search_segments(e, &t->addr, &data, &len);
	if (r == 0)
		r = parse(t, data, len);
	if (r == 0 && t->version == GO_1_18 && !t->text)
		r = gotext_start(e, t, &t->text);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(t);
	return 0;
}

void gopclntab_free(struct gopclntab *t)
{
	free(t);
}

uint64_t gopclntab_addr(const struct gopclntab *t)
{
	return t->addr;
}

uint64_t gopclntab_text(const struct gopclntab *t)
{
	return t->text;
}

unsigned gopclntab_since(const struct gopclntab *t)
{
	return t->since;
}

/* ---- functions ---- */

size_t gopclntab_n(const struct gopclntab *t)
{
	return (size_t)t->n_funcs;
}

/* Offset of the (address, record) pairs. */
static struct cursor pairs(const struct gopclntab *t, size_t i)
{
	uint64_t begin = t->version == GO_1_2 ? 8u + t->ptr : 0;

	return part_cursor(t->funcs, begin + (uint64_t)i * 2 * t->width);
}

static uint64_t entry_of(const struct gopclntab *t, size_t i)
{
	struct cursor c = pairs(t, i);

	return t->text + cur_uint(&c, t->width);
}

struct cursor gopclntab_field(const struct gopclntab *t, uint64_t info, uint32_t n)
{
	return part_cursor(t->funcs, info + t->width + (n - 1) * 4u);
}

int gopclntab_func(const struct gopclntab *t, size_t i, struct gofunc *ret)
{
	struct cursor c, name;
	struct gofunc f;

	if (i >= t->n_funcs)
		return -ENOENT;
	c = pairs(t, i);
	f.entry = t->text + cur_uint(&c, t->width);
	f.info = cur_uint(&c, t->width);
	f.end = t->text + cur_uint(&c, t->width);	/* start of the next function, or end of the last */
	if (f.info > t->funcs.len)
		return -EBADMSG;
	name = gopclntab_field(t, f.info, GO_FIELD_NAME);
	f.name = gopclntab_string(t->names, cur_u32(&name));
	if (!cur_ok(&c) || !cur_ok(&name) || !f.name || f.end < f.entry)
		return -EBADMSG;
	*ret = f;
	return 0;
}

int gopclntab_find_pc(const struct gopclntab *t, uint64_t pc, struct gofunc *ret)
{
	const size_t behind = BISECT(i, (size_t)t->n_funcs, entry_of(t, i) <= pc);
	struct gofunc f;
	int r;

	if (!behind)
		return -ENOENT;
	r = gopclntab_func(t, behind - 1, &f);
	if (r < 0)
		return r;
	if (pc < f.entry || pc >= f.end)
		return -ENOENT;
	*ret = f;
	return 0;
}

/* ---- values that change along a function ---- */

struct steps {
	struct cursor c;
	uint8_t quantum;
	uint64_t pc;		/* end of the value's range */
	uint32_t value, n;
};

static uint32_t varint(struct cursor *c)
{
	uint32_t v = 0;

	for (unsigned shift = 0; shift < 35; shift += 7) {
		uint8_t b = cur_u8(c);

		v |= (uint32_t)((uint64_t)(b & 0x7f) << shift);
		if (!(b & 0x80))
			return v;
	}
	c->bad = true;
	return 0;
}

static struct steps steps_begin(const struct gopclntab *t, uint64_t off, uint64_t entry)
{
	return (struct steps){
		.c = part_cursor(t->pcs, off), .quantum = t->quantum, .pc = entry, .value = UINT32_MAX
	};
}

/* Decodes the next value, which applies up to s->pc. False at the end or if the data is invalid. */
static bool steps_next(struct steps *s)
{
	uint32_t change = varint(&s->c);

	if (s->n == PC_STEPS_MAX || (!change && s->n))
		return false;
	s->n++;
	s->value += change & 1 ? ~(change >> 1) : change >> 1;
	s->pc += (uint64_t)varint(&s->c) * s->quantum;
	return cur_ok(&s->c);
}

int32_t gopclntab_value(const struct gopclntab *t, uint64_t off, uint64_t entry, uint64_t pc)
{
	struct steps s = steps_begin(t, off, entry);

	while (off && steps_next(&s))
		if (pc < s.pc)
			return (int32_t)s.value;
	return -1;
}

int gopclntab_sp(const struct gopclntab *t, const struct gofunc *f, gopclntab_sp_fn fn, void *ctx)
{
	struct cursor c = gopclntab_field(t, f->info, GO_FIELD_SP);
	uint32_t off = cur_u32(&c);	/* 0 = the table does not exist */
	struct steps s = steps_begin(t, off, f->entry);
	uint64_t from = f->entry;
	int r = 0;

	while (off && r >= 0 && from < f->end && cur_ok(&c) && steps_next(&s)) {
		if (s.pc <= from)	/* also limits the steps of a hostile table to the size of its code */
			return -EBADMSG;
		r = fn(ctx, from, MIN(s.pc, f->end), (int32_t)s.value);
		from = s.pc;
	}
	return r < 0 ? r : cur_ok(&c) && cur_ok(&s.c) ? 0 : -EBADMSG;
}

/* ---- functions that are not left like others ---- */

/* Function ids came with Go 1.17 and their values differ between versions; names do not. */
static const struct { const char *name; unsigned flags; } special[] = {
	{ "runtime.goexit", GOFUNC_TOP },
	{ "runtime.mstart", GOFUNC_TOP },
	{ "runtime.rt0_go", GOFUNC_TOP },
	{ "runtime.mcall", GOFUNC_TOP },	/* the goroutine may have moved to another thread by now */
	{ "runtime.morestack", GOFUNC_TOP },	/* a bottom in Go's own tracebacks, too */
	{ "runtime.systemstack", GOFUNC_SWITCHES },
	{ "runtime.asmcgocall", GOFUNC_SWITCHES },
	{ "runtime.cgocallback", GOFUNC_SWITCHES },
	{ "runtime.cgocallback_gofunc", GOFUNC_SWITCHES },
	{ "runtime.nanotime1", GOFUNC_SWITCHES },	/* reads the clock on the thread's stack */
	{ "runtime.walltime1", GOFUNC_SWITCHES },
	{ "runtime.walltime", GOFUNC_SWITCHES },
	{ "time.now", GOFUNC_SWITCHES },
};

/* Names of assembler functions may end in the calling convention. */
static bool is_called(const char *name, const char *plain)
{
	size_t len = strlen(plain);

	return !strncmp(name, plain, len) && (!name[len] || !strcmp(name + len, ".abi0"));
}

static uint8_t mark_of(const struct gopclntab *t, const struct gofunc *f)
{
	struct cursor c;

	if (t->version == GO_1_2)
		return 0;
	c = gopclntab_field(t, f->info, t->since >= 20 ? GO_FIELD_START_LINE + 1 : GO_FIELD_UNIT + 1);
	cur_skip(&c, 1);	/* the function's id in the runtime's list of special functions */
	return cur_u8(&c);
}

unsigned gopclntab_flags(const struct gopclntab *t, const struct gofunc *f)
{
	uint8_t mark = mark_of(t, f);

	if (!strncmp(f->name, "runtime.", 8) || !strcmp(f->name, "time.now"))
		for (size_t i = 0; i < ARRAY_SIZE(special); i++)
			if (is_called(f->name, special[i].name))
				return special[i].flags;
	if (mark & FLAG_TOP_FRAME && strncmp(f->name, "runtime.sig", 11))	/* a handler may have a frame above
										 * it */
		return GOFUNC_TOP;
	return mark & FLAG_SP_WRITE ? GOFUNC_SWITCHES : 0;
}

/* ---- lines ---- */

static const char *go_file_name(const struct gopclntab *t, const struct gofunc *f, uint32_t number)
{
	struct cursor c;
	uint32_t unit, off;

	if (t->version == GO_1_2) { /* a list of offsets */
		c = part_cursor(t->files, (uint64_t)number * 4);
		off = cur_u32(&c);
		return cur_ok(&c) && number ? gopclntab_string(t->names, off) : NULL;
	}
	c = gopclntab_field(t, f->info, GO_FIELD_UNIT);
	unit = cur_u32(&c);
	if (!cur_ok(&c))
		return NULL;
	c = part_cursor(t->units, ((uint64_t)unit + number) * 4);
	off = cur_u32(&c);
	return cur_ok(&c) && off != UINT32_MAX ? gopclntab_string(t->files, off) : NULL;
}

int gopclntab_line(const struct gopclntab *t, const struct gofunc *f, uint64_t pc, const char **ret_file,
		   uint32_t *ret_line)
{
	struct cursor files, lines;
	const char *name;
	int32_t number, line;

	if (f->info > t->funcs.len)
		return -ENOENT;
	files = gopclntab_field(t, f->info, GO_FIELD_FILE);
	lines = gopclntab_field(t, f->info, GO_FIELD_LINE);
	number = gopclntab_value(t, cur_u32(&files), f->entry, pc);
	line = gopclntab_value(t, cur_u32(&lines), f->entry, pc);
	if (!cur_ok(&files) || !cur_ok(&lines) || number < 0 || line <= 0)
		return -ENOENT;
	name = go_file_name(t, f, (uint32_t)number);
	if (!name)
		return -ENOENT;
	*ret_file = name;
	*ret_line = (uint32_t)line;
	return 0;
}
