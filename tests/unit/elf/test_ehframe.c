// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The .eh_frame compiler: row by row against readelf's interpretation of installed files, and hostile sections built
 * here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/cleanup.h"
#include "base/macros.h"
#include "elf/dwarf/ehframe.h"
#include "elf/dwarf/ehframe_table.h"
#include "elf/dwarf/ehindex.h"
#include "elf/elf.h"
#include "ehframe_file.h"

#define BUDGET (256u << 20)
#define MAX_BYTES (64u << 20)

DEFINE_CLEANUP(struct elf *, elf_free)

/* ---- against readelf ---- */

/* readelf's row for one address, reduced to the columns that sonde keeps. */
struct line {
	uint64_t vaddr;
	char cfa[32], fp[32], ra[32];
};

struct columns {
	int fp;		/* index after the CFA; -1 = none */
	int n;
};

static const char *const cfa_regs[] = { "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10",
					"r11", "r12", "r13", "r14", "r15" };

static struct columns read_columns(char *s)
{
	struct columns c = { .fp = -1, .n = 0 };
	char *word = strtok(s, " \n");

	for (int i = -2; word; word = strtok(NULL, " \n"), i++) {
		if (!strcmp(word, "rbp"))
			c.fp = i;
		c.n = i + 1;
	}
	return c;
}

static bool read_line(char *s, const struct columns *c, struct line *ret)
{
	char *word = strtok(s, " \n");

	if (!word || strlen(word) != 16)
		return false;
	*ret = (struct line){ .vaddr = strtoull(word, NULL, 16), .fp = "u" };
	for (int i = -1; (word = strtok(NULL, " \n")); i++) {
		if (*word == '(')	/* "r9 (r9)" is one column */
			i--;
		else if (i == -1)
			snprintf(ret->cfa, sizeof(ret->cfa), "%s", word);
		else if (i == c->fp)
			snprintf(ret->fp, sizeof(ret->fp), "%s", word);
		if (i == c->n - 1 && *word != '(')
			snprintf(ret->ra, sizeof(ret->ra), "%s", word);
	}
	return true;
}

/* Our rule in readelf's words. */
static void print_rule(const struct sonde_unwind_rule *r, struct line *ret)
{
	snprintf(ret->cfa, sizeof(ret->cfa), "exp");
	if (r->cfa == SONDE_CFA_REG && r->reg < ARRAY_SIZE(cfa_regs))
		snprintf(ret->cfa, sizeof(ret->cfa), "%s%+d", cfa_regs[r->reg], r->cfa_off);
	snprintf(ret->fp, sizeof(ret->fp), "u");
	if (r->fp == SONDE_FP_AT_CFA)
		snprintf(ret->fp, sizeof(ret->fp), "c%+d", r->fp_off);
	else if (r->fp != SONDE_FP_SAME)
		snprintf(ret->fp, sizeof(ret->fp), "exp");
	snprintf(ret->ra, sizeof(ret->ra), "c-8");
	if (r->ra == SONDE_RA_AT_CFA)
		snprintf(ret->ra, sizeof(ret->ra), "c%+d", r->aux);
	else if (r->ra == SONDE_RA_NONE)
		snprintf(ret->ra, sizeof(ret->ra), "u");
}

static bool same_row(const struct line *want, const struct sonde_unwind_rule *rule)
{
	struct line got;

	print_rule(rule, &got);
	if (rule->cfa == SONDE_CFA_GAP)
		return false;
	if (rule->ra == SONDE_RA_NONE || !strcmp(want->ra, "u"))	/* the other columns are then irrelevant */
		return rule->ra == SONDE_RA_NONE && !strcmp(want->ra, "u");
	if (want->ra[0] == 'r')		/* in a register: vfork, longjmp */
		return rule->ra == SONDE_RA_REG && !strcmp(got.cfa, want->cfa) && atoi(want->ra + 1) == rule->aux;
	if (!strcmp(want->cfa, "exp"))
		return rule->cfa != SONDE_CFA_REG;
	if (want->fp[0] == 'r' || !strcmp(want->fp, "exp"))
		return !strcmp(got.cfa, want->cfa) && rule->fp >= SONDE_FP_AT_FP;
	return !strcmp(got.cfa, want->cfa) && (!strcmp(got.fp, want->fp) || !strcmp(want->fp, "s")) &&
	       !strcmp(got.ra, want->ra);
}

struct tally {
	unsigned rows, fdes, wrong, beyond;
};

static void compare_row(struct elf *e, const struct buf *table, const struct line *want, struct tally *t)
{
	struct sonde_unwind_rule rule;
	uint64_t off;

	if (elf_vaddr_to_off(e, want->vaddr, &off) < 0)
		return;
	rule = ehframe_table_find(table->data, off);
	t->rows++;
	if (same_row(want, &rule))
		return;
	t->wrong++;
	if (t->wrong < 10)
		print_message("%#lx: readelf %s fp %s ra %s, ours cfa %d reg %d %+d fp %d %+d ra %d aux %d\n",
			      (unsigned long)want->vaddr, want->cfa, want->fp, want->ra, rule.cfa, rule.reg,
			      rule.cfa_off, rule.fp, rule.fp_off, rule.ra, rule.aux);
}

static void compare_file(struct elf *e, const struct buf *table, FILE *readelf, struct tally *t)
{
	struct columns columns = { .fp = -1 };
	char s[512];
	bool in_fde = false;

	while (fgets(s, sizeof(s), readelf)) {
		struct line want;

		if (strstr(s, " FDE ")) {
			in_fde = true;
			t->fdes++;
		} else if (strstr(s, " CIE ")) {
			in_fde = false;
		} else if (strstr(s, "LOC ")) {
			columns = read_columns(s);
		} else if (in_fde && read_line(s, &columns, &want)) {
			compare_row(e, table, &want, t);
		}
	}
}

static int compile(struct elf *e, struct buf *ret)
{
	struct sonde_unwind_head h;
	int r = ehframe_compile(e, MAX_BYTES, ret);

	if (r == 0)
		assert_int_equal(ehframe_table_check(ret->data, ret->len, &h), 0);
	return r;
}

/* One installed file: the number of rows compared, 0 if it is missing. */
static unsigned check_file(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_(elf_freep) struct elf *e = NULL;
	_cleanup_(buf_fini) struct buf table = { 0 };
	struct sonde_unwind_head h;
	struct tally t = { 0 };
	char cmd[256];
	uint64_t began;
	FILE *p;

	if (fd < 0)
		return 0;
	assert_int_equal(elf_open_fd(fd, BUDGET, &e), 0);
	began = clock_boot_ns();
	assert_int_equal(compile(e, &table), 0);
	began = clock_boot_ns() - began;
	memcpy(&h, table.data, sizeof(h));
	snprintf(cmd, sizeof(cmd), "readelf --debug-dump=frames-interp %s 2>/dev/null", path);
	p = popen(cmd, "r");
	assert_non_null(p);
	compare_file(e, &table, p, &t);
	pclose(p);
	print_message("%s: %u FDEs (%u skipped), %u rows, %u rules, %zu bytes in %lu us; %u rows of readelf\n", path,
		      h.n_fdes, h.n_skipped, h.n_rows, h.n_rules, table.len, (unsigned long)began / 1000, t.rows);
	assert_int_equal(t.wrong, 0);
	assert_int_equal(h.n_skipped, 0);
	return t.rows;
}

static void test_readelf(void **state)
{
	static const char *const paths[] = { "/lib/x86_64-linux-gnu/libc.so.6", "/lib/x86_64-linux-gnu/libm.so.6",
		"/lib/x86_64-linux-gnu/libcrypto.so.3", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
		"/usr/bin/python3.11", "/bin/bash" };
	unsigned rows = 0;

	(void)state;
	if (system("readelf --version >/dev/null 2>&1") != 0)
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		rows += check_file(paths[i]);
	assert_true(rows > 0);
}

/* ---- sections built here ---- */

static const uint8_t cie[] = {
	20, 0, 0, 0, 0, 0, 0, 0,
	1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x00,	/* absolute addresses */
	0x0c, 7, 8, 0x90, 1,			/* CFA rsp+8, ip at CFA-8 */
	0, 0,
};

/* An FDE of the CIE at the section's start; @at is its own position. */
static void add_fde(struct buf *b, uint64_t start, uint64_t size, const void *program, size_t len)
{
	uint32_t length = (uint32_t)(4 + 16 + 1 + len), back = (uint32_t)b->len + 4;

	buf_add(b, &length, sizeof(length));
	buf_add(b, &back, sizeof(back));
	buf_add(b, &start, sizeof(start));
	buf_add(b, &size, sizeof(size));
	buf_add_char(b, 0);
	buf_add(b, program, len);
}

static int compile_frames(const struct buf *frames, struct buf *ret)
{
	_cleanup_(buf_fini) struct buf file = make_file(frames->data, frames->len);
	_cleanup_(elf_freep) struct elf *e = NULL;

	assert_int_equal(elf_open_mem(file.data, file.len, BUDGET, &e), 0);
	return compile(e, ret);
}

static int compile_at_most(const struct buf *frames, size_t max_bytes)
{
	_cleanup_(buf_fini) struct buf file = make_file(frames->data, frames->len), table = { 0 };
	_cleanup_(elf_freep) struct elf *e = NULL;

	assert_int_equal(elf_open_mem(file.data, file.len, BUDGET, &e), 0);
	return ehframe_compile(e, max_bytes, &table);
}

#define assert_rule(table, off, c, r, o) \
	do { \
		struct sonde_unwind_rule rule_ = ehframe_table_find((table)->data, (off)); \
		assert_int_equal(rule_.cfa, (c)); \
		assert_int_equal(rule_.reg, (r)); \
		assert_int_equal(rule_.cfa_off, (o)); \
	} while (0)

/* Remember and restore, gaps between functions, none after padding, the end of the last one. */
static void test_states(void **state)
{
	static const uint8_t push[] = { 0x41, 0x0e, 16, 0x86, 2, 0x0a, 0x48, 0x0e, 32, 0x48, 0x0b };
	static const uint8_t plt[] = { 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22 };
	static const uint8_t realign[] = { 0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0 };
	static const uint8_t bottom[] = { 0x07, 16 };
	_cleanup_(buf_fini) struct buf frames = { 0 }, table = { 0 };
	struct sonde_unwind_rule rule;

	(void)state;
	buf_add(&frames, cie, sizeof(cie));
	add_fde(&frames, CODE, 0x20, push, sizeof(push));
	add_fde(&frames, CODE + 0x2c, 0x14, NULL, 0);	/* 12 bytes of padding in front */
	add_fde(&frames, CODE + 0x80, 0x10, plt, sizeof(plt));
	add_fde(&frames, CODE + 0x90, 0x10, realign, sizeof(realign));
	add_fde(&frames, CODE + 0xa0, 0x10, bottom, sizeof(bottom));
	assert_int_equal(compile_frames(&frames, &table), 0);
	assert_rule(&table, CODE - 1, SONDE_CFA_GAP, 0, 0);
	assert_rule(&table, CODE, SONDE_CFA_REG, 7, 8);
	assert_rule(&table, CODE + 1, SONDE_CFA_REG, 7, 16);
	rule = ehframe_table_find(table.data, CODE + 1);
	assert_int_equal(rule.fp, SONDE_FP_AT_CFA);
	assert_int_equal(rule.fp_off, -16);
	assert_rule(&table, CODE + 9, SONDE_CFA_REG, 7, 32);
	assert_rule(&table, CODE + 17, SONDE_CFA_REG, 7, 16);
	assert_rule(&table, CODE + 0x2b, SONDE_CFA_REG, 7, 16);
	assert_rule(&table, CODE + 0x2c, SONDE_CFA_REG, 7, 8);
	assert_rule(&table, CODE + 0x40, SONDE_CFA_GAP, 0, 0);
	assert_rule(&table, CODE + 0x80, SONDE_CFA_PLT, 7, 8);
	assert_int_equal(ehframe_table_find(table.data, CODE + 0x80).aux, 11);
	rule = ehframe_table_find(table.data, CODE + 0x90);
	assert_int_equal(rule.cfa, SONDE_CFA_DEREF);
	assert_int_equal(rule.reg, 6);
	assert_int_equal(rule.cfa_off, -8);
	assert_int_equal(rule.fp, SONDE_FP_AT_FP);
	assert_int_equal(ehframe_table_find(table.data, CODE + 0xa0).ra, SONDE_RA_NONE);
	assert_rule(&table, CODE + 0xb0, SONDE_CFA_GAP, 0, 0);
	assert_rule(&table, UINT64_MAX, SONDE_CFA_GAP, 0, 0);
	assert_rule(&table, 0, SONDE_CFA_GAP, 0, 0);
}

/* An invalid function loses only its own rows; duplicates count once; ends are clamped to the segment. */
static void test_broken_functions(void **state)
{
	static const uint8_t endless[] = { 0x0b }, beyond[] = { 0x44, 0x0e, 16, 0x04, 0xff, 0xff, 0xff, 0xff };
	_cleanup_(buf_fini) struct buf frames = { 0 }, table = { 0 };
	struct sonde_unwind_head h;

	(void)state;
	buf_add(&frames, cie, sizeof(cie));
	add_fde(&frames, CODE + 0x100, 0x40, endless, sizeof(endless));
	add_fde(&frames, CODE + 0x140, 0x40, beyond, sizeof(beyond));
	add_fde(&frames, CODE + 0x180, 0x40, NULL, 0);
	add_fde(&frames, CODE + 0x180, 0x40, NULL, 0);
	add_fde(&frames, CODE + 0x200, UINT64_MAX, NULL, 0);
	add_fde(&frames, 0x7fff0000, 0x40, NULL, 0);	/* outside the code */
	assert_int_equal(compile_frames(&frames, &table), 0);
	assert_int_equal(ehframe_table_check(table.data, table.len, &h), 0);
	assert_int_equal(h.n_skipped, 4);
	assert_int_equal(h.n_fdes, 2);
	assert_rule(&table, CODE + 0x100, SONDE_CFA_GAP, 0, 0);
	assert_rule(&table, CODE + 0x140, SONDE_CFA_REG, 7, 8);
	assert_rule(&table, CODE + 0x148, SONDE_CFA_GAP, 0, 0);
	assert_rule(&table, CODE + 0x180, SONDE_CFA_REG, 7, 8);
	assert_rule(&table, CODE + 0xfff, SONDE_CFA_REG, 7, 8);
	assert_rule(&table, CODE + 0x1000, SONDE_CFA_GAP, 0, 0);
}

/*
 * The maximum of rows, rules and saved states for the given bytes: memory is bounded by the bytes, and the run ends.
 */
static void test_greedy(void **state)
{
	_cleanup_(buf_fini) struct buf frames = { 0 }, table = { 0 }, program = { 0 };
	struct sonde_unwind_head h;

	(void)state;
	buf_add(&frames, cie, sizeof(cie));
	for (unsigned i = 0; i < 4000; i++) {
		const uint8_t step[] = { 0x41, 0x0e, 0x80 | (i & 0x7f), (uint8_t)(i >> 7) };

		buf_add(&program, step, sizeof(step));
	}
	add_fde(&frames, CODE, 0x1000, program.data, program.len);
	assert_int_equal(compile_frames(&frames, &table), 0);
	assert_int_equal(ehframe_table_check(table.data, table.len, &h), 0);
	assert_int_equal(h.n_rows, 4000 + 1);	/* the CIE's; the code begins and ends with a page */
	assert_int_equal(h.n_rules, 4000 + 1);
	assert_int_equal(compile_at_most(&frames, table.len - 1), -E2BIG);
}

/* Bytes of .eh_frame in a program whose entry point is CODE + 0x20. */
static void compile_program(const struct buf *frames, uint16_t type, struct buf *ret)
{
	_cleanup_(buf_fini) struct buf file = make_file(frames->data, frames->len);
	_cleanup_(elf_freep) struct elf *e = NULL;
	Elf64_Ehdr *eh = (void *)file.data;

	eh->e_type = type;
	eh->e_entry = CODE + 0x20;
	assert_int_equal(elf_open_mem(file.data, file.len, BUDGET, &e), 0);
	assert_int_equal(compile(e, ret), 0);
}

/* Hand-written _start: no FDE covers it, and it is the bottom of every stack. */
static void test_entry(void **state)
{
	_cleanup_(buf_fini) struct buf none = {0}, frames = {0}, table = {0};

	(void)state;
	compile_program(&none, ET_EXEC, &table);
	assert_rule(&table, CODE + 0x1f, SONDE_CFA_GAP, 0, 0);
	assert_rule(&table, CODE + 0x20, SONDE_CFA_REG, 7, 0);
	assert_int_equal(ehframe_table_find(table.data, CODE + 0x20).ra, SONDE_RA_NONE);
	assert_int_equal(ehframe_table_find(table.data, CODE + 0x5f).ra, SONDE_RA_NONE);
	assert_rule(&table, CODE + 0x60, SONDE_CFA_GAP, 0, 0);

	buf_add(&frames, cie, sizeof(cie));
	add_fde(&frames, CODE + 0x30, 0x10, NULL, 0); /* ends the entry function */
	buf_reset(&table);
	compile_program(&frames, ET_EXEC, &table);
	assert_int_equal(ehframe_table_find(table.data, CODE + 0x2f).ra, SONDE_RA_NONE);
	assert_rule(&table, CODE + 0x30, SONDE_CFA_REG, 7, 8);

	buf_reset(&table);
	compile_program(&none, ET_DYN, &table);	/* a library is never entered at e_entry */
	assert_rule(&table, CODE + 0x20, SONDE_CFA_GAP, 0, 0);
}

static void test_check(void **state)
{
	_cleanup_(buf_fini) struct buf frames = { 0 }, table = { 0 };
	struct sonde_unwind_head h;

	(void)state;
	assert_int_equal(ehframe_table_empty(&table), 0);
	assert_int_equal(ehframe_table_check(table.data, table.len, &h), 0);
	assert_int_equal(h.n_rows, 0);
	assert_rule(&table, CODE, SONDE_CFA_GAP, 0, 0);
	buf_reset(&table);
	buf_add(&frames, cie, sizeof(cie));
	add_fde(&frames, CODE, 0x40, NULL, 0);
	assert_int_equal(compile_frames(&frames, &table), 0);
	for (size_t len = 0; len < table.len; len++)
		assert_int_equal(ehframe_table_check(table.data, len, &h), -EBADMSG);
	table.data[table.len - 1] = 0x7f;	/* a rule that does not exist */
	assert_int_equal(ehframe_table_check(table.data, table.len, &h), -EBADMSG);
}

extern const char __executable_start[];

/* This program's own functions: where they begin is found from any address inside. */
static void test_index(void **state)
{
	const uint64_t base = (uint64_t)(uintptr_t)__executable_start;
	const uint64_t fn = (uint64_t)(uintptr_t)test_index;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	uint64_t start = 0, want;
	struct elf *e = NULL;

	(void)state;
	assert_int_equal(elf_open_fd(fd, 64u << 20, &e), 0);
	want = elf_type(e) == ET_DYN ? fn - base : fn;
	assert_int_equal(ehindex_find(e, want, &start), 0);
	assert_int_equal(start, want);
	assert_int_equal(ehindex_find(e, want + 9, &start), 0);
	assert_int_equal(start, want);
	assert_int_equal(ehindex_find(e, 0, &start), -ENOENT);
	elf_free(e);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_readelf),
		cmocka_unit_test(test_states),
		cmocka_unit_test(test_broken_functions),
		cmocka_unit_test(test_greedy),
		cmocka_unit_test(test_entry),
		cmocka_unit_test(test_check),
		cmocka_unit_test(test_index),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
