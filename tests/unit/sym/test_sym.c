// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "elf/elf.h"
#include "event/decode.h"
#include "event/names.h"
#include "sonde/symbol_wire.h"
#include "sym_feed.h"

static struct sym *new_sym(bool live)
{
	const struct sym_opts o = { .live = live };
	struct sym *s = NULL;
	struct err err = { 0 };

	assert_int_equal(sym_new(&o, &s, &err), 0);
	return s;
}

__attribute__((noinline)) static int local_function(int x)
{
	return x * 3 + (int)getpid();
}

/* Two functions without a gap; the second is that of sigreturn, as Go's runtime has it. Only their names matter. */
__asm__(".pushsection .text\n"
	".type before_trampoline, %function\n"
	"before_trampoline: .byte 0x90\n"
	".size before_trampoline, 1\n"
	".type trampoline, %function\n"
	"trampoline: .byte 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05\n"
	".size trampoline, 9\n"
	".popsection\n");
extern const char trampoline[];

/* A signal handler returns to the first byte of it, which no call precedes. */
static void test_signal_trampoline(void **state)
{
	struct sym *s = new_sym(true);
	const uint32_t pid = (uint32_t)getpid();
	const uint64_t pc[] = { (uintptr_t)trampoline, (uintptr_t)trampoline + 9 };
	const struct sym_func *f;
	struct sym_loc loc[2];

	(void)state;
	feed_process(s, 5, pid);
	assert_int_equal(feed_locate(s, 6, pid, pc, 2, loc), 2);
	f = feed_name(s, &loc[0], true);
	assert_string_equal(f->name, "trampoline");
	assert_int_equal(f->off, 0);
	assert_int_equal(f->start, loc[0].addr);
	f = feed_name(s, &loc[1], true);
	assert_string_equal(f->name, "trampoline");
	assert_int_equal(f->off, 9);
	sym_free(s);
}

/* Names of our own code: of the test program (a PIE), and of a library. */
static void test_own_process(void **state)
{
	struct sym *s = new_sym(true);
	const uint32_t pid = (uint32_t)getpid();
	const uint64_t pc[] = {
		(uintptr_t)local_function + 2, (uintptr_t)test_own_process,
		(uintptr_t)dlsym(RTLD_NEXT, "qsort") + 1, 16,
	};
	const struct sym_func *f;
	struct sym_loc loc[4];

	(void)state;
	assert_true(local_function(1) != 0);
	feed_process(s, 5, pid);
	assert_int_equal(feed_locate(s, 6, pid, pc, 4, loc), 4);
	f = feed_name(s, &loc[0], false);
	assert_string_equal(f->name, "local_function");
	assert_int_equal(f->off, 2);
	assert_int_equal(f->start, loc[0].addr - 2);
	f = feed_name(s, &loc[1], false);
	assert_string_equal(f->name, "test_own_process");
	/* As a return address it belongs to the code before: the call was the last instruction there. */
	assert_string_not_equal(feed_name(s, &loc[1], true)->name, "test_own_process");
	f = feed_name(s, &loc[2], false);
	assert_non_null(strstr(f->name, "qsort"));
	assert_int_equal(sym_module(s, loc[2].module)->kind, SYM_FILE);
	assert_non_null(strstr(sym_module(s, loc[2].module)->path, "libc"));
	assert_int_equal(loc[3].module, 0);
	assert_int_equal(loc[3].addr, 16);
	assert_string_equal(feed_name(s, &loc[3], false)->name, "");
	sym_free(s);
}

static void test_kernel(void **state)
{
	static const uint64_t pc[] = { 0xffffffff81000010, 0xffffffffc0000020, 0xffffffff81000099 };
	struct names *names = event_names_new();
	struct sym *s = new_sym(false);
	struct event ev = feed_event(&feed_sample_desc, 6, 1, NULL);
	struct sym_loc loc[3];
	const struct sym_func *f;

	(void)state;
	event_names_set(names, SONDE_NAME_KSYM, pc[0], "do_thing+0x10", 13);
	event_names_set(names, SONDE_NAME_KSYM, pc[1], "nf_hook+0x20 [nf_tables]", 24);
	ev.names = names;
	event_add_section(&ev, SEC_STACK_KERN, pc, sizeof(pc));
	assert_int_equal(sym_locate_kernel(s, &ev, loc, 3), 3);
	event_names_free(names);
	f = feed_name(s, &loc[0], false);
	assert_string_equal(f->name, "do_thing");
	assert_int_equal(f->off, 0x10);
	assert_int_equal(f->start, 0xffffffff81000000);
	assert_string_equal(sym_module(s, loc[0].module)->path, "[kernel.kallsyms]");
	f = feed_name(s, &loc[1], true);
	assert_string_equal(f->name, "nf_hook");
	assert_int_equal(f->off, 0x20);
	assert_string_equal(sym_module(s, loc[1].module)->path, "[nf_tables]");
	assert_int_equal(sym_module(s, loc[1].module)->kind, SYM_KERNEL);
	assert_string_equal(feed_name(s, &loc[2], false)->name, "");
	sym_free(s);
}

/* ---- names in recordings ---- */

#define STACK 3

static void own_stack(uint64_t pc[STACK])
{
	pc[0] = (uintptr_t)local_function + 2;
	pc[1] = (uintptr_t)dlsym(RTLD_NEXT, "qsort") + 1;
	pc[2] = (uintptr_t)getauxval(AT_SYSINFO_EHDR) + 0x40; /* no function there */
}

static void collect(struct sym *s, const uint64_t *pc)
{
	struct event ev = feed_event(&feed_sample_desc, 6, (uint32_t)getpid(), NULL);

	event_add_section(&ev, SEC_STACK_USER, pc, STACK * sizeof(*pc));
	assert_int_equal(sym_collect(s, &ev), 0);
	assert_int_equal(sym_collect(s, &ev), 0); /* each location once */
}

static int keep_record(void *ctx, struct sonde_rec *r, size_t len)
{
	buf_add(ctx, r, len);
	return buf_align(ctx, 8);
}

/* The names that a live run would have recorded. */
static void record_names(struct buf *ret)
{
	struct sym *s = new_sym(true);
	uint64_t pc[STACK], missing = 1;

	own_stack(pc);
	feed_process(s, 5, (uint32_t)getpid());
	collect(s, pc);
	assert_int_equal(sym_collect_write(s, keep_record, ret, &missing), 0);
	assert_int_equal(missing, 0);
	sym_free(s);
}

static int learn(void *ctx, struct event *ev)
{
	return sym_event(ctx, ev);
}

static struct sym *replay(const struct buf *records)
{
	static const struct decoder_ops *const none[] = { NULL };
	const struct sym_opts o = { .files = SYM_FILES_NONE };
	struct decode_set *d = NULL;
	struct sym *s = NULL;
	struct err err = { 0 };

	assert_int_equal(sym_new(&o, &s, &err), 0);
	feed_process(s, 5, (uint32_t)getpid());
	assert_int_equal(decode_set_new(none, &d), 0);
	for (size_t at = 0; at < records->len;) {
		const struct sonde_rec *r = (const void *)(records->data + at);

		assert_int_equal(decode_record(d, r, r->len, learn, s), 0);
		at += ROUND_UP((size_t)r->len, 8u);
	}
	decode_set_free(d);
	return s;
}

static void test_a_replay_has_the_recorded_names(void **state)
{
	const struct buf nothing = { 0 };
	struct sym_loc loc[STACK];
	struct buf b = { 0 };
	uint64_t pc[STACK];
	struct sym *s;

	(void)state;
	own_stack(pc);
	record_names(&b);
	s = replay(&b);
	assert_int_equal(feed_locate(s, 6, (uint32_t)getpid(), pc, STACK, loc), STACK);
	assert_string_equal(feed_name(s, &loc[0], false)->name, "local_function");
	assert_int_equal(feed_name(s, &loc[0], false)->off, 2);
	assert_int_equal(feed_name(s, &loc[0], false)->start, loc[0].addr - 2);
	assert_non_null(strstr(feed_name(s, &loc[1], true)->name, "qsort"));
	/* recorded as a return address only: as an instruction it is of the same function */
	assert_non_null(strstr(feed_name(s, &loc[1], false)->name, "qsort"));
	assert_string_equal(feed_name(s, &loc[2], true)->name, "");
	assert_int_equal(sym_module(s, loc[2].module)->kind, SYM_VDSO);
	sym_free(s);
	s = replay(&nothing); /* it does not look at the files, which are there */
	assert_int_equal(feed_locate(s, 6, (uint32_t)getpid(), pc, STACK, loc), STACK);
	assert_string_equal(feed_name(s, &loc[0], false)->name, "");
	sym_free(s);
	buf_fini(&b);
}

/* The mapping of the test's own code; with its inode, its build id, or both. */
static struct feed_map own_mapping(bool by_inode, bool by_id)
{
	const uintptr_t pc = (uintptr_t)local_function;
	struct feed_map m = { 0 };
	struct elf *e = NULL;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	FILE *f = fopen("/proc/self/maps", "re");
	unsigned long long start = 0, end = 0, off, ino;
	unsigned major_no, minor_no;
	char line[512];

	assert_true(f && fd >= 0);
	while (!(start <= pc && pc < end) && fgets(line, sizeof(line), f))
		assert_true(sscanf(line, "%llx-%llx %*s %llx %x:%x %llu %255s", &start, &end, &off, &major_no,
				   &minor_no, &ino, m.path) >= 6);
	fclose(f);
	m.addr = start;
	m.len = end - start;
	m.off = off;
	m.ino = by_inode ? ino : 0;
	m.dev = by_inode ? major_no << 20 | minor_no : 0;
	assert_int_equal(elf_open_fd(fd, 1 << 20, &e), 0);
	m.id_len = by_id ? (uint8_t)elf_build_id(e, m.id) : 0;
	assert_true(!by_id || m.id_len);
	elf_free(e);
	close(fd);
	return m;
}

/* Processes from before the run name files by inode, later ones by build id. */
static void test_names_are_found_by_inode_and_by_build_id(void **state)
{
	const uint32_t pid = (uint32_t)getpid();
	const struct feed_map both = own_mapping(true, true), id = own_mapping(false, true);
	struct sym *s = new_sym(true);
	uint64_t pc[STACK], missing;
	struct sym_loc loc[STACK];
	struct buf b = { 0 };

	(void)state;
	own_stack(pc);
	feed_mapping(s, 5, pid, &both);
	feed_mapping(s, 5, pid + 1, &id);
	collect(s, pc);
	assert_int_equal(sym_collect_write(s, keep_record, &b, &missing), 0);
	sym_free(s);
	s = replay(&b); /* by inode */
	assert_int_equal(feed_locate(s, 6, pid, pc, 1, loc), 1);
	assert_string_equal(feed_name(s, &loc[0], false)->name, "local_function");
	feed_mapping(s, 7, pid + 1, &id);
	assert_int_equal(feed_locate(s, 8, pid + 1, pc, 1, loc), 1);
	assert_string_equal(feed_name(s, &loc[0], false)->name, "local_function");
	sym_free(s);
	buf_fini(&b);
}

/* Every record cut at every length, and counts that say more than is there: no crash (ASan). */
static void test_recorded_names_are_not_believed(void **state)
{
	const struct sym_opts o = { .files = SYM_FILES_NONE };
	static const struct decoder_ops *const none[] = { NULL };
	struct decode_set *d = NULL;
	struct sym *s = NULL;
	struct buf b = { 0 };
	struct err err = { 0 };
	struct sonde_rec *r;
	uint32_t whole;

	(void)state;
	record_names(&b);
	r = (void *)b.data;
	whole = r->len;
	assert_int_equal(sym_new(&o, &s, &err), 0);
	assert_int_equal(decode_set_new(none, &d), 0);
	for (uint32_t len = sizeof(*r); len <= whole; len++) {
		char *exact = malloc(len);

		memcpy(exact, r, len);
		((struct sonde_rec *)exact)->len = len;
		decode_record(d, exact, len, learn, s);
		((struct sonde_symbols_rec *)(void *)b.data)->n = (uint16_t)len;
		free(exact);
	}
	decode_set_free(d);
	sym_free(s);
	buf_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_signal_trampoline),
		cmocka_unit_test(test_own_process),
		cmocka_unit_test(test_kernel),
		cmocka_unit_test(test_a_replay_has_the_recorded_names),
		cmocka_unit_test(test_names_are_found_by_inode_and_by_build_id),
		cmocka_unit_test(test_recorded_names_are_not_believed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
