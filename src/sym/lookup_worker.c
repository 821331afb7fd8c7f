// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * In the worker: reads an ELF file's symbol tables and answers.
 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/macros.h"
#include "base/vec.h"
#include "sym/lookup.h"

#define BUDGET_BYTES (256u << 20)

struct sym_row { uint64_t addr, size; uint32_t name; const char *names; size_t names_len; };
struct table { VEC(struct sym_row) rows; };

static int load_table(struct elf *e, const struct elf_section *sec, struct table *t)
{
	size_t n_sections, len, names_len;
	const struct elf_section *all = elf_sections(e, &n_sections);
	const uint8_t *data, *names;
	struct cursor c;
	int r;

	if (sec->link >= n_sections)
		return -EBADMSG;
	r = elf_section_data(e, sec, &data, &len);
	if (r >= 0)
		r = elf_section_data(e, &all[sec->link], &names, &names_len);
	if (r < 0)
		return r;
	c = cur_init(data, len);
	while (cur_left(&c) >= sizeof(Elf64_Sym)) {
		Elf64_Sym y;

		cur_copy(&c, &y, sizeof(y));
		if (ELF64_ST_TYPE(y.st_info) != STT_FUNC || y.st_shndx == SHN_UNDEF || y.st_name >= names_len)
			continue;
		if (vec_grow(&t->rows) < 0)
			return -ENOMEM;
		t->rows.items[t->rows.len++] = (struct sym_row){
			y.st_value, y.st_size, y.st_name, (const char *)names, names_len,
		};
	}
	return 0;
}

static int by_addr(const void *a, const void *b)
{
	const struct sym_row *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static const struct sym_row *find_row(const struct table *t, uint64_t addr)
{
	size_t lo = 0, hi = t->rows.len;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->rows.items[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && addr - t->rows.items[lo - 1].addr < MAX(t->rows.items[lo - 1].size, 1u) ?
		       &t->rows.items[lo - 1] : NULL;
}

static void put_text(struct buf *b, const char *s, size_t len)
{
	uint32_t n = (uint32_t)len;

	buf_add(b, &n, sizeof(n));
	buf_add(b, s, n);
}

static void put_place(struct buf *b, struct elf *e, const struct table *t, const struct ask *a)
{
	const struct sym_row *row = NULL;
	uint64_t vaddr, off, start;
	uint32_t n, line = 0;

	if (elf_off_to_vaddr(e, a->addr - a->caller, &vaddr) >= 0)
		row = find_row(t, vaddr);
	n = row != NULL;
	buf_add(b, &n, sizeof(n));
	if (!row)
		return;
	off = vaddr + a->caller - row->addr;
	start = a->addr - off;
	buf_add(b, &off, sizeof(off));
	buf_add(b, &start, sizeof(start));
	buf_add(b, &line, sizeof(line));
	put_text(b, row->names + row->name, strnlen(row->names + row->name, row->names_len - row->name));
	put_text(b, row->names + row->name, strnlen(row->names + row->name, row->names_len - row->name));
	put_text(b, "", 0);
}

static int write_all(int fd, const char *data, size_t len)
{
	while (len) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -EIO;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

int lookup_work(void *ctx, int in_fd, int out_fd)
{
	const struct lookup_request *req = ctx;
	struct lookup_head head = { 0 };
	struct table t = { 0 };
	struct elf_section sec;
	struct buf b = { 0 };
	struct elf *e;

	if (elf_open_fd(in_fd, BUDGET_BYTES, &e) < 0)
		return 1;
	head.id_len = (uint32_t)elf_build_id(e, head.id);
	buf_add(&b, &head, sizeof(head));
	if (elf_section_find(e, ".symtab", &sec) >= 0)
		load_table(e, &sec, &t);
	if (elf_section_find(e, ".dynsym", &sec) >= 0)
		load_table(e, &sec, &t);
	qsort(t.rows.items, t.rows.len, sizeof(*t.rows.items), by_addr);
	for (size_t i = 0; i < req->n; i++)
		put_place(&b, e, &t, &req->asks[i]);
	return buf_error(&b) || write_all(out_fd, b.data, b.len) ? 1 : 0;
}
