// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "sym_feed.h"

#define VICTIM_ID "\x01\x23\x45\x67\x89\xab\xcd\xef\x01\x23\x45\x67\x89\xab\xcd\xef\x01\x23\x45\x67"

struct victim {
	char dir[32], path[64];
	pid_t pid;
	int in, out;			/* its standard input and output */
	uint64_t pc[2];			/* victim_global, victim_static */
};

static struct sym *new_sym(bool live, const char *debug_dirs)
{
	const struct sym_opts o = { .live = live, .debug_dirs = debug_dirs };
	struct sym *s = NULL;
	struct err err = { 0 };

	assert_int_equal(sym_new(&o, &s, &err), 0);
	return s;
}

static void run_quietly(const char *fmt, ...)
{
	char cmd[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(cmd, sizeof(cmd), fmt, ap);
	va_end(ap);
	if (system(cmd) != 0) {
		print_message("cannot: %s\n", cmd);
		skip();
	}
}

/* A copy of the helper program @name below its own directory. */
static void victim_new(struct victim *v, const char *name)
{
	*v = (struct victim){ .dir = "/tmp/sonde-sym-XXXXXX", .in = -1, .out = -1 };
	assert_non_null(mkdtemp(v->dir));
	snprintf(v->path, sizeof(v->path), "%s/victim", v->dir);
	run_quietly("cp %s/%s %s", VICTIM_DIR, name, v->path);
}

/*
 * A mount namespace of its own, from which no mount propagates. In a chroot whose root is not a mount point mount(2)
 * refuses to change "/"; joining the namespace once more leads to its real root.
 */
static int own_mounts_only(void)
{
	_cleanup_close_ int root = -1, space = -1;

	if (unshare(CLONE_NEWNS))
		return -1;
	root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	space = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	if (root < 0 || space < 0 || setns(space, CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return -1;
	return fchdir(root) || chroot(".") ? -1 : 0;
}

_Noreturn static void victim_exec(const struct victim *v, const int in[2], const int out[2], bool own_mounts)
{
	char keep[128];

	dup2(in[0], 0);
	dup2(out[1], 1);
	if (own_mounts) {
		snprintf(keep, sizeof(keep), "cp %s /dev/shm/sonde-sym-keep", v->path);
		if (system(keep) || own_mounts_only() || mount("none", v->dir, "tmpfs", 0, NULL))
			_exit(1);
		snprintf(keep, sizeof(keep), "mv /dev/shm/sonde-sym-keep %s", v->path);
		if (system(keep))
			_exit(1);
	}
	execl(v->path, v->path, (char *)NULL);
	_exit(1);
}

static void victim_start(struct victim *v, bool own_mounts)
{
	int in[2], out[2];
	unsigned long long a = 0, b = 0;
	char line[256] = "";

	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	v->pid = fork();
	if (!v->pid)
		victim_exec(v, in, out, own_mounts);
	close(in[0]);
	close(out[1]);
	v->in = in[1];
	v->out = out[0];
	assert_true(read(v->out, line, sizeof(line) - 1) > 0);
	assert_int_equal(sscanf(line, "%llx %llx", &a, &b), 2);
	v->pc[0] = a;
	v->pc[1] = b;
}

static void victim_end(struct victim *v)
{
	if (v->in < 0)
		return;
	close(v->in);
	close(v->out);
	v->in = -1;
	waitpid(v->pid, NULL, 0);
}

static void victim_free(struct victim *v)
{
	char cmd[64];

	victim_end(v);
	snprintf(cmd, sizeof(cmd), "rm -r %s", v->dir);
	assert_int_equal(system(cmd), 0);
}

/* Names of both functions, separated by a blank; "-" = none. */
static const char *names(struct sym *s, const struct victim *v)
{
	static char text[128];
	struct sym_loc loc[2];
	const struct sym_func *f[2];

	assert_int_equal(feed_locate(s, 6, (uint32_t)v->pid, v->pc, 2, loc), 2);
	for (int i = 0; i < 2; i++) {
		f[i] = feed_name(s, &loc[i], false);
		if (f[i]->name[0]) {
			assert_int_equal(f[i]->off, 0);
			assert_int_equal(f[i]->start, loc[i].addr);
		}
	}
	snprintf(text, sizeof(text), "%s %s", f[0]->name[0] ? f[0]->name : "-", f[1]->name[0] ? f[1]->name : "-");
	return text;
}

static const char *trouble(struct sym *s, const struct victim *v)
{
	struct sym_loc loc[2];

	feed_locate(s, 6, (uint32_t)v->pid, v->pc, 2, loc);
	return sym_module(s, loc[0].module)->trouble;
}

/* Named after the process has exited and its file was deleted; several layouts of an executable. */
static void test_survives(void **state)
{
	static const char *const kinds[] = { "sym_victim", "sym_victim_static", "sym_victim_fixed" };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct sym *s = new_sym(true, NULL);
		struct victim v;

		victim_new(&v, kinds[i]);
		victim_start(&v, false);
		feed_process(s, 5, (uint32_t)v.pid);
		unlink(v.path);
		victim_end(&v);
		feed_exit(s, 6, (uint32_t)v.pid);
		run_quietly("cp /bin/true %s", v.path);
		assert_string_equal(names(s, &v), "victim_global victim_static");
		victim_free(&v);
		sym_free(s);
	}
}

/* At this path the host has another program. */
static void test_other_mount_namespace(void **state)
{
	struct sym *s = new_sym(true, NULL);
	struct victim v;

	(void)state;
	if (geteuid() != 0)
		skip();
	victim_new(&v, "sym_victim");
	victim_start(&v, true);
	run_quietly("cp /bin/true %s", v.path);
	feed_process(s, 5, (uint32_t)v.pid);
	assert_string_equal(names(s, &v), "victim_global victim_static");
	victim_free(&v);
	sym_free(s);
}

/* Stripped: the rest is in a debug file, found by build id, and by name with its checksum. */
static void test_debug_files(void **state)
{
	char dirs[80];
	struct victim v;
	struct sym *s;

	(void)state;
	victim_new(&v, "sym_victim");
	run_quietly("cd %s && objcopy --only-keep-debug victim all.debug 2>/dev/null && strip victim && "
		    "objcopy --add-gnu-debuglink=all.debug victim && mkdir -p d/.build-id/01 .debug", v.dir);
	victim_start(&v, false);
	run_quietly("cd %s && mv all.debug .debug/", v.dir);
	s = new_sym(true, v.dir);
	feed_process(s, 5, (uint32_t)v.pid);
	assert_string_equal(names(s, &v), "victim_global victim_static");
	sym_free(s);
	/* One byte more: the checksum does not fit. */
	run_quietly("cd %s && cp .debug/all.debug d/.build-id/01/23456789abcdef0123456789abcdef01234567.debug && "
		    "echo >>.debug/all.debug", v.dir);
	s = new_sym(true, v.dir);
	feed_process(s, 5, (uint32_t)v.pid);
	assert_string_equal(names(s, &v), "- -");
	sym_free(s);
	snprintf(dirs, sizeof(dirs), "%s/x:%s/d", v.dir, v.dir);
	s = new_sym(true, dirs);
	feed_process(s, 5, (uint32_t)v.pid);
	assert_string_equal(names(s, &v), "victim_global victim_static");
	sym_free(s);
	victim_free(&v);
}

static void feed_victim(struct sym *s, const struct victim *v, const char *id)
{
	struct feed_map m = { .addr = 0x400000, .len = 0x100000, .id_len = 20 };

	memcpy(m.id, id, 20);
	snprintf(m.path, sizeof(m.path), "%s", v->path);
	feed_mapping(s, 5, (uint32_t)v->pid, &m);
}

/* A recording: the file at that path is trusted only if it has the build id. */
static void test_replay(void **state)
{
	struct victim v;
	struct sym *s;

	(void)state;
	victim_new(&v, "sym_victim_fixed");
	victim_start(&v, false);
	victim_end(&v);
	s = new_sym(false, NULL);
	feed_victim(s, &v, VICTIM_ID);
	assert_string_equal(names(s, &v), "victim_global victim_static");
	sym_free(s);
	s = new_sym(false, NULL);
	feed_victim(s, &v, VICTIM_ID + 1); /* shifted by a byte; ends in the literal's NUL */
	assert_string_equal(names(s, &v), "- -");
	assert_string_equal(trouble(s, &v), "the file there now has another build id");
	sym_free(s);
	victim_free(&v);
}

/*
 * Gone before its mapping was reported: the host's file of that path is used if it has the build id. If not, the next
 * process with the right file mapped is tried.
 */
static void test_gone_before_seen(void **state)
{
	struct victim v, other;
	struct sym *s = new_sym(true, NULL);

	(void)state;
	victim_new(&v, "sym_victim_fixed");
	victim_start(&v, false);
	victim_end(&v);
	feed_victim(s, &v, VICTIM_ID);
	assert_string_equal(names(s, &v), "victim_global victim_static");
	sym_free(s);

	s = new_sym(true, NULL);
	victim_new(&other, "sym_victim_fixed");
	run_quietly("cp /bin/true %s", v.path);
	feed_victim(s, &v, VICTIM_ID);
	assert_string_equal(names(s, &v), "- -");
	victim_start(&other, false);
	feed_victim(s, &other, VICTIM_ID);
	assert_string_equal(names(s, &other), "victim_global victim_static");
	victim_free(&other);
	victim_free(&v);
	sym_free(s);
}

/* Hostile files: refused with a sentence, and the caller continues. */
static void test_hostile(void **state)
{
	static const char *const spoil[] = {
		"truncate -s 0", "truncate -s 100", "truncate -s 100G",
		"dd if=/dev/urandom conv=notrunc bs=1k count=1 of=",
		"dd if=/dev/zero conv=notrunc bs=64 count=1 of=",
	};

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		struct sym *s = new_sym(true, NULL);
		struct feed_map m = { .addr = 0x10000, .len = 0x10000 };
		struct sym_stats st;
		struct victim v;
		const uint64_t pc[] = { 0x11000, 0x12000 };
		struct stat sb;

		victim_new(&v, "sym_victim");
		assert_int_equal(stat(v.path, &sb), 0);
		snprintf(m.path, sizeof(m.path), "%s", v.path);
		m.ino = sb.st_ino;
		v.pid = getpid();
		memcpy(v.pc, pc, sizeof(pc));
		feed_mapping(s, 5, (uint32_t)v.pid, &m);
		run_quietly("%s%s%s 2>/dev/null", spoil[i], strchr(spoil[i], '=') ? "" : " ", v.path);
		if (i == 2) { /* longer than any disk, with the tables unmoved */
			assert_string_equal(names(s, &v), "_init -");
		} else {
			assert_string_equal(names(s, &v), "- -");
			sym_stats(s, &st);
			assert_int_equal(st.refused_files, 1);
			assert_true(trouble(s, &v)[0]);
		}
		v.in = -1;
		victim_free(&v);
		sym_free(s);
	}
}

/* A process that generates code and names it as it goes. */
static void test_perf_map(void **state)
{
	struct sym *s = new_sym(true, NULL);
	const uint32_t pid = (uint32_t)getpid();
	uint8_t *code = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const uint64_t pc[] = { (uintptr_t)code + 16, (uintptr_t)code + 4096 };
	struct sym_loc loc[2], again[2];
	char path[64];
	FILE *f;

	(void)state;
	snprintf(path, sizeof(path), "/tmp/perf-%u.map", pid);
	unlink(path);
	feed_exec(s, 4, pid, 1);
	feed_process(s, 5, pid);
	assert_int_equal(feed_locate(s, 6, pid, pc, 2, loc), 2);
	assert_int_equal(sym_module(s, loc[0].module)->kind, SYM_JIT);
	assert_string_equal(feed_name(s, &loc[0], false)->name, "");
	assert_true(sym_module(s, loc[0].module)->trouble[0]);
	f = fopen(path, "we");
	assert_non_null(f);
	fprintf(f, "%llx 40 LazyCompile:~first file.js:1\n", (unsigned long long)(uintptr_t)code);
	fflush(f);
	assert_string_equal(feed_name(s, &loc[0], false)->name, "LazyCompile:~first file.js:1");
	assert_int_equal(feed_name(s, &loc[0], false)->off, 16);
	assert_string_equal(feed_name(s, &loc[1], false)->name, "");
	unlink(path);
	feed_exit(s, 7, pid);
	fprintf(f, "0x%llx 0x20 second\n", (unsigned long long)(uintptr_t)code + 4096);
	fclose(f);
	assert_int_equal(feed_locate(s, 7, pid, pc, 2, again), 2);
	assert_int_equal(again[1].module, loc[1].module);
	assert_string_equal(feed_name(s, &again[1], false)->name, "second");
	munmap(code, 8192);
	sym_free(s);
}

/* Any user may write to /tmp: neither links nor other users' files are read. */
static void test_perf_map_of_others(void **state)
{
	const uint32_t pid = (uint32_t)getpid();
	uint8_t *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const uint64_t pc[] = { (uintptr_t)code };
	struct sym_loc loc[1];
	char path[64], real[80];
	FILE *f;

	(void)state;
	snprintf(path, sizeof(path), "/tmp/perf-%u.map", pid);
	snprintf(real, sizeof(real), "%s.real", path);
	unlink(path);
	f = fopen(real, "we");
	assert_non_null(f);
	fprintf(f, "%llx 40 evil\n", (unsigned long long)(uintptr_t)code);
	fclose(f);
	for (int how = 0; how < (geteuid() ? 1 : 2); how++) {
		struct sym *s = new_sym(true, NULL);

		if (how == 0)
			assert_int_equal(symlink(real, path), 0);
		else
			assert_int_equal(rename(real, path) || chown(path, 12345, 12345), 0);
		feed_exec(s, 4, pid, 1);
		feed_process(s, 5, pid);
		assert_int_equal(feed_locate(s, 6, pid, pc, 1, loc), 1);
		assert_string_equal(feed_name(s, &loc[0], false)->name, "");
		sym_free(s);
		unlink(path);
	}
	unlink(real);
	munmap(code, 4096);
}

static void test_vdso(void **state)
{
	struct sym *s = new_sym(true, NULL);
	const uint64_t base = getauxval(AT_SYSINFO_EHDR);
	const uint32_t pid = (uint32_t)getpid();
	bool found = false;

	(void)state;
	if (!base)
		skip();
	feed_process(s, 5, pid);
	for (uint64_t off = 0; off < 4096 && !found; off += 32) {
		const uint64_t pc = base + off;
		struct sym_loc loc;

		assert_int_equal(feed_locate(s, 6, pid, &pc, 1, &loc), 1);
		assert_int_equal(sym_module(s, loc.module)->kind, SYM_VDSO);
		found = strstr(feed_name(s, &loc, false)->name, "time");
	}
	assert_true(found);
	sym_free(s);
}

/* Every function that libc exports begins at nm's address. */
static void test_against_nm(void **state)
{
	struct sym *s = new_sym(true, NULL);
	const uint32_t pid = (uint32_t)getpid();
	char line[512], libc[256] = "", cmd[320];
	unsigned long long start, base = 0, value;
	unsigned n = 0;
	FILE *f = fopen("/proc/self/maps", "re");
	char type;

	(void)state;
	while (fgets(line, sizeof(line), f) && !libc[0])
		if (sscanf(line, "%llx-%*x r--p 00000000 %*s %*s %255s", &start, libc) == 2 &&
		    strstr(libc, "libc.so"))
			base = start;
		else
			libc[0] = '\0';
	fclose(f);
	if (!base)
		skip();
	feed_process(s, 5, pid);
	snprintf(cmd, sizeof(cmd), "nm -D --defined-only %s 2>/dev/null | awk 'NR %% 23 == 0'", libc);
	f = popen(cmd, "re");
	while (fgets(line, sizeof(line), f)) {
		struct sym_loc loc;
		uint64_t pc;

		if (sscanf(line, "%llx %c", &value, &type) != 2 || (type != 'T' && type != 'W'))
			continue;
		pc = base + value;
		assert_int_equal(feed_locate(s, 6, pid, &pc, 1, &loc), 1);
		assert_string_not_equal(feed_name(s, &loc, false)->name, "");
		assert_int_equal(feed_name(s, &loc, false)->off, 0);
		n++;
	}
	pclose(f);
	sym_free(s);
	if (!n)
		skip();
	assert_true(n > 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_survives),
		cmocka_unit_test(test_other_mount_namespace),
		cmocka_unit_test(test_debug_files),
		cmocka_unit_test(test_replay),
		cmocka_unit_test(test_gone_before_seen),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_perf_map),
		cmocka_unit_test(test_perf_map_of_others),
		cmocka_unit_test(test_vdso),
		cmocka_unit_test(test_against_nm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
