// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Bytes of an ELF file: read by pread() only, counted against the budget, decompressed where a section says so.
 * Nothing is allocated on the word of a header before the file was found to be that long and the budget to allow it.
 *
 * Compressed sections: gABI, Elf32_Chdr and Elf64_Chdr.
 */
#include "elf/elf_impl.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/macros.h"

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

int elf_charge(struct elf *e, uint64_t len)
{
	if (len > e->budget - e->used)
		return -E2BIG;
	e->used += (size_t)len;
	return 0;
}

static int read_fd(int fd, uint64_t off, uint8_t *buf, size_t len)
{
	while (len) {
		ssize_t n = pread(fd, buf, len, (off_t)off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0) /* cut short since it was opened */
			return -EBADMSG;
		buf += n;
		off += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

int elf_read_at(const struct elf *e, uint64_t off, void *buf, size_t len)
{
	if (off > e->size || len > e->size - off)
		return -EBADMSG;
	if (e->fd >= 0)
		return read_fd(e->fd, off, buf, len);
	memcpy(buf, e->mem + off, len);
	return 0;
}

static const struct elf_loaded *find_loaded(const struct elf *e, uint64_t off, uint64_t size, bool inflated)
{
	for (size_t i = 0; i < e->loaded.len; i++) {
		const struct elf_loaded *l = &e->loaded.items[i];

		if (l->off == off && l->size == size && l->inflated == inflated)
			return l;
	}
	return NULL;
}

/* Keeps what @l says; on failure the bytes stay the caller's. */
static int keep(struct elf *e, const struct elf_loaded *l)
{
	if (vec_grow(&e->loaded) < 0)
		return -ENOMEM;
	e->loaded.items[e->loaded.len++] = *l;
	return 0;
}

int elf_load(struct elf *e, uint64_t off, uint64_t size, const uint8_t **ret)
{
	const struct elf_loaded *have = find_loaded(e, off, size, false);
	_cleanup_free_ uint8_t *data = NULL;
	struct elf_loaded l = { .off = off, .size = size, .len = (size_t)size };
	int r;

	if (have) {
		*ret = have->data;
		return 0;
	}
	if (off > e->size || size > e->size - off)
		return -EBADMSG;
	if (e->fd < 0) { /* in place: nothing to keep */
		*ret = e->mem + off;
		return 0;
	}
	r = elf_charge(e, size);
	if (r < 0)
		return r;
	data = malloc(size ? (size_t)size : 1);
	if (!data)
		return -ENOMEM;
	r = elf_read_at(e, off, data, (size_t)size);
	if (r < 0)
		return r;
	l.data = data;
	r = keep(e, &l);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(data);
	return 0;
}

static int inflate_zlib(const uint8_t *in, size_t in_len, uint8_t *out, size_t out_len)
{
	z_stream z = { .next_in = (Bytef *)in, .next_out = out };
	int r;

	if (inflateInit(&z) != Z_OK)
		return -ENOMEM;
	do { /* zlib counts in unsigned int */
		z.avail_in = (uInt)MIN(in_len - z.total_in, (size_t)1 << 30);
		z.avail_out = (uInt)MIN(out_len - z.total_out, (size_t)1 << 30);
		r = inflate(&z, Z_NO_FLUSH);
	} while (r == Z_OK && z.total_out < out_len);
	inflateEnd(&z);
	return z.total_out == out_len && (r == Z_OK || r == Z_STREAM_END) ? 0 : -EBADMSG;
}

static int inflate_zstd(const uint8_t *in, size_t in_len, uint8_t *out, size_t out_len)
{
	size_t n = ZSTD_decompress(out, out_len, in, in_len);

	return ZSTD_isError(n) || n != out_len ? -EBADMSG : 0;
}

/* The header of a compressed section; moves @c to the compressed bytes. */
static int read_chdr(const struct elf *e, struct cursor *c, uint32_t *ret_type, uint64_t *ret_size)
{
	*ret_type = cur_u32(c);
	if (e->is_64) {
		cur_skip(c, 4);
		*ret_size = cur_u64(c);
		cur_skip(c, 8);
	} else {
		*ret_size = cur_u32(c);
		cur_skip(c, 4);
	}
	if (!cur_ok(c) || (*ret_type != ELFCOMPRESS_ZLIB && *ret_type != ELFCOMPRESS_ZSTD))
		return -EBADMSG;
	return 0;
}

/* The header before SHF_COMPRESSED was: four letters and the size, highest byte first. */
static int read_zdebug(struct cursor *c, uint32_t *ret_type, uint64_t *ret_size)
{
	const uint8_t *magic = cur_bytes(c, 4);

	*ret_type = ELFCOMPRESS_ZLIB;
	*ret_size = cur_u64be(c);
	return cur_ok(c) && !memcmp(magic, "ZLIB", 4) ? 0 : -EBADMSG;
}

/* @in: a compressed section as it stands in the file. */
static int inflate_section(struct elf *e, const uint8_t *in, size_t in_len, bool zdebug, struct elf_loaded *l)
{
	struct cursor c = cur_init(in, in_len);
	_cleanup_free_ uint8_t *out = NULL;
	uint64_t size;
	uint32_t type;
	int r = zdebug ? read_zdebug(&c, &type, &size) : read_chdr(e, &c, &type, &size);

	if (r == 0)
		r = elf_charge(e, size);
	if (r < 0)
		return r;
	out = malloc(size ? (size_t)size : 1);
	if (!out)
		return -ENOMEM;
	r = type == ELFCOMPRESS_ZLIB ? inflate_zlib(c.pos, cur_left(&c), out, (size_t)size) :
				       inflate_zstd(c.pos, cur_left(&c), out, (size_t)size);
	if (r < 0)
		return r;
	l->data = out;
	l->len = (size_t)size;
	r = keep(e, l);
	if (r == 0)
		(void)TAKE_PTR(out);
	return r;
}

static int load_inflated(struct elf *e, uint64_t off, uint64_t size, bool zdebug, const uint8_t **ret,
			 size_t *ret_len)
{
	struct elf_loaded l = { .off = off, .size = size, .inflated = true };
	const struct elf_loaded *have = find_loaded(e, off, size, true);
	_cleanup_free_ uint8_t *copy = NULL;
	const uint8_t *in;
	int r = 0;

	if (have) {
		*ret = have->data;
		*ret_len = have->len;
		return 0;
	}
	if (off > e->size || size > e->size - off)
		return -EBADMSG;
	if (e->fd >= 0) { /* the compressed bytes are not kept, yet never more than the budget */
		if (size > e->budget - e->used)
			return -E2BIG;
		in = copy = malloc(size ? (size_t)size : 1);
		r = copy ? elf_read_at(e, off, copy, (size_t)size) : -ENOMEM;
	} else {
		in = e->mem + off;
	}
	if (r == 0)
		r = inflate_section(e, in, (size_t)size, zdebug, &l);
	if (r < 0)
		return r;
	*ret = l.data;
	*ret_len = l.len;
	return 0;
}

int elf_load_inflated(struct elf *e, uint64_t off, uint64_t size, const uint8_t **ret, size_t *ret_len)
{
	return load_inflated(e, off, size, false, ret, ret_len);
}

int elf_load_zdebug(struct elf *e, uint64_t off, uint64_t size, const uint8_t **ret, size_t *ret_len)
{
	return load_inflated(e, off, size, true, ret, ret_len);
}
