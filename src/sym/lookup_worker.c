// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * In the worker: verifies the file, converts file offsets to virtual addresses, then looks up their names.
 */
#include "base/vec.h"
#include "sym/lookup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/io.h"
#include "base/macros.h"

#define BUDGET_BYTES (64u << 20)	/* limit in bytes of headers, notes and the link */
#define LINK_MAX_BYTES 4096

size_t lookup_sort(uint64_t *addrs, size_t n)
{
	size_t unique = 0;

	qsort(addrs, n, sizeof(*addrs), vec_by_u64);
	for (size_t i = 0; i < n && addrs[i] != LOOKUP_NOWHERE; i++)
		if (!unique || addrs[unique - 1] != addrs[i])
			addrs[unique++] = addrs[i];
	return unique;
}

/* A name with its NUL, padding to a multiple of four, a checksum (gdb manual, "Separate Debug Files"). */
static const char *read_link(struct elf *e, struct lookup_head *head)
{
	struct elf_section sec;
	const uint8_t *data;
	struct cursor c;
	size_t len, name;

	if (elf_section_find(e, ".gnu_debuglink", &sec) < 0 || elf_section_data(e, &sec, &data, &len) < 0)
		return "";
	name = strnlen((const char *)data, MIN(len, (size_t)LINK_MAX_BYTES));
	c = cur_init(data, len);
	cur_skip(&c, ROUND_UP(name + 1, 4));
	head->crc = cur_u32(&c);
	if (!cur_ok(&c))
		return "";
	head->link_len = (uint32_t)name;
	return (const char *)data;
}

static int file_crc(int fd, uint32_t *ret)
{
	static uint8_t room[65536];
	uLong crc = crc32(0, NULL, 0);
	off_t at = 0;
	ssize_t n;

	while ((n = pread(fd, room, sizeof(room), at)) > 0) {
		crc = crc32(crc, room, (uInt)n);
		at += n;
	}
	*ret = (uint32_t)crc;
	return n < 0 ? -errno : 0;
}

static int check(const struct lookup_request *q, int fd, struct lookup_head *head)
{
	uint32_t crc;
	int r;

	head->ok = !q->id_len || (q->id_len == head->id_len && !memcmp(q->id, head->id, q->id_len));
	if (!q->by_crc)
		return 0;
	r = file_crc(fd, &crc);
	head->ok = crc == q->crc;
	return r;
}

/*
 * Is a signal trampoline at @off, to which the kernel lets a handler return? x86-64: mov $15, %rax or %eax; syscall.
 * arm64: mov x8, #139; svc #0. The probe walks over it by the same bytes (probes/cpu/cpu_walk_wire.h).
 */
static bool is_signal_return(int fd, uint64_t off)
{
	static const uint8_t rax[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
	static const uint8_t eax[] = { 0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05 };
	static const uint8_t x8[] = { 0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4 };
	uint8_t code[sizeof(rax)];

	if (pread(fd, code, sizeof(code), (off_t)off) != sizeof(code))
		return false;
	return !memcmp(code, rax, sizeof(rax)) || !memcmp(code, eax, sizeof(eax)) || !memcmp(code, x8, sizeof(x8));
}

/*
 * Converts offsets to addresses: written in request order, then sorted for the readers. A return address belongs to
 * the instruction before it, a trampoline begins at its address.
 */
static int find_addresses(const struct elf *e, const struct lookup_request *q, int fd, struct buf *b, uint64_t *addrs)
{
	for (size_t i = 0; i < q->n; i++) {
		const struct ask *a = &q->asks[i];
		bool before = a->caller && !is_signal_return(fd, a->addr);

		if (elf_off_to_vaddr(e, a->addr - before, &addrs[i]) < 0)
			addrs[i] = LOOKUP_NOWHERE;
	}
	return buf_add(b, addrs, q->n * sizeof(*addrs));
}

static int answer_head(const struct lookup_request *q, struct elf *e, int fd, struct buf *b, uint64_t *addrs,
		       bool *ret_ok)
{
	struct lookup_head head = { 0 };
	const char *link;
	int r;

	head.id_len = (uint32_t)elf_build_id(e, head.id);
	link = q->asks ? read_link(e, &head) : "";
	r = check(q, fd, &head);
	if (r < 0)
		return r;
	*ret_ok = head.ok;
	buf_add(b, &head, sizeof(head));
	if (!head.ok)
		return buf_error(b);
	buf_add(b, link, head.link_len);
	return q->asks ? find_addresses(e, q, fd, b, addrs) : buf_error(b);
}

int lookup_work(void *ctx, int in_fd, int out_fd)
{
	const struct lookup_request *q = ctx;
	struct resolve_request names = q->names;
	uint64_t *addrs = calloc(q->n + 1, sizeof(*addrs));
	struct buf b = { 0 };
	struct elf *e = NULL;
	bool ok = false;
	int r = addrs ? elf_open_fd(in_fd, BUDGET_BYTES, &e) : -ENOMEM;

	if (r == 0)
		r = answer_head(q, e, in_fd, &b, addrs, &ok);
	if (r == 0)
		r = io_write_all(out_fd, b.data, b.len);
	elf_free(e);
	buf_fini(&b);
	if (r == 0 && ok) {
		if (q->asks) {
			names.addrs = addrs;
			names.n = (uint32_t)lookup_sort(addrs, q->n);
		}
		r = -resolve_run(&names, in_fd, out_fd);
	}
	free(addrs);
	return MIN(-r, 255);
}
