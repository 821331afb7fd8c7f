// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A process that wants to hurt whoever profiles it, for MS milliseconds of CPU time:
 *
 *   hostile map FILE MS         runs code inside an executable mapping of FILE (at its second page)
 *   hostile truncate FILE MS    the same for a half of the time, then makes FILE shorter than its headers
 *   hostile jit HOW MS          runs code in anonymous memory; HOW its perf map is made is one of: link fifo sparse
 *                               garbage line folder
 *
 * The code is x86-64's; elsewhere it runs its own instead. A perf map is left behind, the caller removes it.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "timed.h"

#define PAGE 4096

/* mov rcx, rdi; 1: dec rcx; jnz 1b; ret - without a frame, without rules, nothing names it. */
static const unsigned char code[] = { 0x48, 0x89, 0xf9, 0x48, 0xff, 0xc9, 0x75, 0xfb, 0xc3 };

typedef void (*spin_fn)(uint64_t rounds);

static void spin_here(uint64_t rounds)
{
	for (uint64_t i = 0; i < rounds; i++)
		KEEP();
}

NOINLINE void spend(spin_fn spin, uint64_t ms)
{
	uint64_t end = timed_now(CLOCK_THREAD_CPUTIME_ID) + ms * 1000000;

	while (timed_now(CLOCK_THREAD_CPUTIME_ID) < end)
		spin(100000);
}

static spin_fn native(void *at)
{
#ifdef __x86_64__
	return (spin_fn)at;
#else
	(void)at;
	return spin_here;
#endif
}

static int run_file(const char *path, uint64_t ms, int truncates)
{
	int fd = open(path, truncates ? O_RDWR : O_RDONLY);
	char *at;

	if (fd < 0)
		return 1;
	at = mmap(NULL, 2 * PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (at == MAP_FAILED)
		return 1;
	spend(native(at + PAGE), truncates ? ms / 2 : ms);
	if (truncates) {
		if (ftruncate(fd, 40) < 0)
			return 1;
		spend(spin_here, ms / 2);
	}
	return 0;
}

static void fill(int fd, size_t bytes, int lines)
{
	char block[4096];

	for (size_t done = 0; done < bytes; done += sizeof(block)) {
		for (size_t i = 0; i < sizeof(block); i++)
			block[i] = lines && i % 64 == 63 ? '\n' : (char)((done + i) * 2654435761u >> 7 | !lines);
		if (write(fd, block, sizeof(block)) < 0)
			return;
	}
}

static int make_perf_map(const char *how)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	if (strcmp(how, "link") == 0)
		return symlink("/etc/shadow", path);
	if (strcmp(how, "fifo") == 0)
		return mkfifo(path, 0644);
	if (strcmp(how, "folder") == 0)
		return mkdir(path, 0755);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
	if (fd < 0)
		return -1;
	if (strcmp(how, "sparse") == 0)
		return ftruncate(fd, 1ll << 40);
	fill(fd, 4 << 20, strcmp(how, "garbage") == 0);
	return close(fd);
}

static int run_jit(const char *how, uint64_t ms)
{
	char *at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED || make_perf_map(how) < 0)
		return 1;
	memcpy(at, code, sizeof(code));
	__builtin___clear_cache(at, at + sizeof(code));
	spend(native(at), ms);
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t ms;

	if (argc != 4)
		return 2;
	ms = (uint64_t)atoi(argv[3]);
	if (strcmp(argv[1], "jit") == 0)
		return run_jit(argv[2], ms);
	return run_file(argv[2], ms, strcmp(argv[1], "truncate") == 0);
}
