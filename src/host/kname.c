// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The program has ten instructions and two maps: the format string, in a read-only map, and a page shared with user
 * space for the address and its name.
 */
#include "host/kname.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/cleanup.h"
#include "base/macros.h"

#define FORMAT "%pS"
#define TEXT_BYTES 256

struct page {
	uint64_t addr;
	char text[TEXT_BYTES];
};

struct kname {
	struct page *page;	/* shared with the program */
	int prog_fd;
};

void kname_free(struct kname *k)
{
	if (!k)
		return;
	if (k->page != MAP_FAILED && k->page)
		munmap(k->page, sizeof(*k->page));
	cleanup_close(&k->prog_fd);
	free(k);
}
DEFINE_CLEANUP(struct kname *, kname_free)

#define INSN(c, d, s, o, i) { .code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i) }
#define MOVE(d, s) INSN(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define SET(d, i) INSN(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, i)
#define MAP_VALUE(d, fd) INSN(BPF_LD | BPF_IMM | BPF_DW, d, BPF_PSEUDO_MAP_VALUE, 0, fd), INSN(0, 0, 0, 0, 0)

/* snprintf(page->text, TEXT_BYTES, FORMAT, &page->addr, 8) */
static int load(int page_fd, int format_fd)
{
	const struct bpf_insn insns[] = {
		MAP_VALUE(BPF_REG_4, page_fd),
		MOVE(BPF_REG_1, BPF_REG_4),
		INSN(BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_1, 0, 0, offsetof(struct page, text)),
		SET(BPF_REG_2, TEXT_BYTES),
		MAP_VALUE(BPF_REG_3, format_fd),
		SET(BPF_REG_5, sizeof(uint64_t)),
		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_snprintf),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "sonde_kname", "GPL", insns, ARRAY_SIZE(insns), NULL);

	return fd < 0 ? -errno : fd;
}

static int make_format(void)
{
	LIBBPF_OPTS(bpf_map_create_opts, o, .map_flags = BPF_F_RDONLY_PROG);
	const char format[8] = FORMAT;
	const uint32_t key = 0;
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "sonde_kname_fmt", sizeof(key), sizeof(format), 1, &o);

	if (fd < 0)
		return -errno;
	if (bpf_map_update_elem(fd, &key, format, BPF_ANY) < 0 || bpf_map_freeze(fd) < 0) {
		int r = -errno;

		close(fd);
		return r;
	}
	return fd;
}

int kname_new(struct kname **ret)
{
	LIBBPF_OPTS(bpf_map_create_opts, o, .map_flags = BPF_F_MMAPABLE);
	_cleanup_(kname_freep) struct kname *k = calloc(1, sizeof(*k));
	_cleanup_close_ int page_fd = -1, format_fd = -1;

	if (!k)
		return -ENOMEM;
	k->prog_fd = -1;
	page_fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "sonde_kname", sizeof(uint32_t), sizeof(struct page), 1, &o);
	if (page_fd < 0)
		return -errno;
	k->page = mmap(NULL, sizeof(*k->page), PROT_READ | PROT_WRITE, MAP_SHARED, page_fd, 0);
	if (k->page == MAP_FAILED)
		return -errno;
	format_fd = make_format();
	if (format_fd < 0)
		return format_fd;
	k->prog_fd = load(page_fd, format_fd);
	if (k->prog_fd < 0)
		return k->prog_fd;
	*ret = TAKE_PTR(k);
	return 0;
}

int kname_parse(const char *text, char *buf, size_t cap)
{
	size_t len = strcspn(text, "/");	/* the function's size follows */
	const char *module = strchr(text, '[');

	if (!strchr(text, '+') || !text[len])
		return -ENOENT;
	if (!module && !strncmp(text, "bpf_prog_", strlen("bpf_prog_")))
		module = "[bpf]";	/* as in /proc/kallsyms */
	snprintf(buf, cap, "%.*s%s%s", (int)len, text, module ? " " : "", module ?: "");
	return 0;
}

int kname_get(struct kname *k, uint64_t addr, char *buf, size_t cap)
{
	LIBBPF_OPTS(bpf_test_run_opts, o);

	k->page->addr = addr;
	if (bpf_prog_test_run_opts(k->prog_fd, &o) < 0)
		return -errno;
	k->page->text[TEXT_BYTES - 1] = '\0';
	return kname_parse(k->page->text, buf, cap);
}
