// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program that generates code as it runs and reports it as perf's jitdump specification says: jit-PID.dump in the
 * current directory, one page of it mapped executable for others to find. Then it runs that code: three parts of its
 * CPU time jit_often, one jit_seldom.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define JITDUMP_MAGIC 0x4a695444u
#define CODE_LOAD 0
#define TENTHS 5	/* of a second of CPU time */

#if defined(__x86_64__)
#define MACHINE 62
/* push rbp; mov rbp, rsp; 1: dec edi; jnz 1b; pop rbp; ret */
static const uint8_t code[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xcf, 0x75, 0xfc, 0x5d, 0xc3 };
#else
#define MACHINE 183
/* stp x29, x30, [sp, #-16]!; mov x29, sp; 1: subs w0, w0, #1; b.ne 1b; ldp x29, x30, [sp], #16; ret */
static const uint32_t code[] = { 0xa9bf7bfd, 0x910003fd, 0x71000400, 0x54ffffe1, 0xa8c17bfd, 0xd65f03c0 };
#endif

struct head { uint32_t magic, version, size, machine, pad, pid; uint64_t ns, flags; };
struct load { uint32_t id, size; uint64_t ns; uint32_t pid, tid; uint64_t vma, addr, len, index; };

typedef void (*spin_fn)(int turns);

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static spin_fn make(FILE *dump, uint8_t *at, const char *name, uint64_t index)
{
	struct load l = {
		.id = CODE_LOAD, .size = (uint32_t)(sizeof(l) + strlen(name) + 1 + sizeof(code)),
		.ns = now_ns(CLOCK_MONOTONIC), .pid = (uint32_t)getpid(), .tid = (uint32_t)getpid(),
		.vma = (uintptr_t)at, .addr = (uintptr_t)at, .len = sizeof(code), .index = index,
	};

	memcpy(at, code, sizeof(code));
	__builtin___clear_cache((char *)at, (char *)at + sizeof(code));
	fwrite(&l, sizeof(l), 1, dump);
	fwrite(name, strlen(name) + 1, 1, dump);
	fwrite(code, sizeof(code), 1, dump);
	fflush(dump);
	return (spin_fn)(uintptr_t)at;
}

int main(void)
{
	struct head h = { JITDUMP_MAGIC, 1, sizeof(h), MACHINE, 0, (uint32_t)getpid(), now_ns(CLOCK_MONOTONIC), 0 };
	uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	spin_fn often, seldom;
	char path[32];
	FILE *dump;

	snprintf(path, sizeof(path), "jit-%d.dump", getpid());
	dump = fopen(path, "w+");
	if (!dump || page == MAP_FAILED || fwrite(&h, sizeof(h), 1, dump) != 1 || fflush(dump) ||
	    mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(dump), 0) == MAP_FAILED)
		return 1;
	often = make(dump, page, "jit_often", 0);
	seldom = make(dump, page + 512, "jit_seldom", 1);
	while (now_ns(CLOCK_PROCESS_CPUTIME_ID) < TENTHS * 100000000ull) {
		often(300000);
		seldom(100000);
	}
	return 0;
}
