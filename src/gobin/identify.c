// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Formats: debug/buildinfo of the Go distribution (both variants), the note that cmd/link writes (owner "Go", type
 * 4). The module text consists of lines of tab-separated fields between two 16-byte markers.
 */
#include "gobin/identify.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/macros.h"
#include "base/str.h"
#include "elf/elf.h"

#define MAGIC "\xff Go buildinf:"
#define MAGIC_LEN 14
#define HEAD 32
#define FLAG_INLINE 2
#define MODULES_MAX (1u << 20)		/* limit in bytes; the largest known is below 100 KiB */
#define MARK 16
#define SEARCH_MAX (1u << 20)
#define END_BYTES 16384			/* section headers (of 60 sections: 3,840 bytes) and the names before them */

unsigned identify_minor(const char *version)
{
	const char *p = strstr(version, "go1.");
	unsigned n = 0;

	if (!p || (p != version && p[-1] != ' '))
		return 0;
	p += 4;
	for (int i = 0; i < 3 && *p >= '0' && *p <= '9'; i++)
		n = n * 10 + (unsigned)(*p++ - '0');
	return n;
}

/* ---- lines of modules ---- */

static void take_field(char *out, size_t size, const char *s, size_t len)
{
	len = MIN(len, size - 1);
	memcpy(out, s, len);
	out[len] = '\0';
}

/* The @n-th field of a line, counted from 0. */
static const char *field_of(const char *line, size_t len, unsigned n, size_t *ret_len)
{
	const char *end = line + len, *tab;

	for (; n; n--) {
		tab = memchr(line, '\t', (size_t)(end - line));
		if (!tab)
			return NULL;
		line = tab + 1;
	}
	tab = memchr(line, '\t', (size_t)(end - line));
	*ret_len = (size_t)((tab ? tab : end) - line);
	return line;
}

static void build_setting(struct identity *id, const char *s, size_t len)
{
	static const char key[] = "-buildmode=";
	static const char *const names[GOBIN_MODE__MAX] = {
		[GOBIN_EXE] = "exe", [GOBIN_PIE] = "pie", [GOBIN_SHARED] = "c-shared", [GOBIN_PLUGIN] = "plugin",
	};

	if (len < sizeof(key) - 1 || memcmp(s, key, sizeof(key) - 1) != 0)
		return;
	for (int i = 0; i < GOBIN_MODE__MAX; i++)
		if (str_is(s + sizeof(key) - 1, len - (sizeof(key) - 1), names[i]))
			id->mode = (enum gobin_mode)i;
}

static void module_line(struct identity *id, const char *line, size_t len)
{
	size_t word_len = 0, path_len = 0, version_len = 0;
	const char *word = field_of(line, len, 0, &word_len);
	const char *path = field_of(line, len, 1, &path_len);
	const char *version = field_of(line, len, 2, &version_len);

	if (str_is(word, word_len, "path") && path)
		take_field(id->module, sizeof(id->module), path, path_len);
	if (str_is(word, word_len, "build") && path)
		build_setting(id, path, path_len);
	if (!str_is(word, word_len, "dep") || !version)
		return;
	id->n_deps++;
	if (str_is(path, path_len, "google.golang.org/grpc"))
		take_field(id->grpc, sizeof(id->grpc), version, version_len);
	if (str_is(path, path_len, "golang.org/x/net"))
		take_field(id->xnet, sizeof(id->xnet), version, version_len);
}

static void module_lines(struct identity *id, const char *text, size_t len)
{
	const char *end;

	if (len < 2 * MARK + 1 || text[len - MARK - 1] != '\n')
		return;
	end = text + len - MARK;
	for (const char *line = text + MARK; line < end;) {
		const char *stop = memchr(line, '\n', (size_t)(end - line));

		stop = stop ? stop : end;
		module_line(id, line, (size_t)(stop - line));
		line = stop + 1;
	}
}

/* ---- the block ---- */

static uint64_t varint(struct image *img, uint64_t *addr)
{
	uint64_t v = 0;
	uint8_t b = 0x80;

	for (unsigned shift = 0; b & 0x80 && shift < 64; shift += 7) {
		if (!image_read(img, (*addr)++, &b, 1))
			return UINT64_MAX;
		v |= (uint64_t)(b & 0x7f) << shift;
	}
	return b & 0x80 ? UINT64_MAX : v;
}

static void take_version(struct identity *id, struct image *img, uint64_t addr, uint64_t len)
{
	char text[GO_VERSION_MAX] = { 0 };

	if (!len || len >= sizeof(text) || !image_read(img, addr, text, (size_t)len) || strlen(text) != len) {
		id->why = "the build information gives no release that can be read";
		return;
	}
	memcpy(id->version, text, sizeof(text));
	id->version_source = "build information";
}

static void take_modules(struct identity *id, struct image *img, uint64_t addr, uint64_t len)
{
	_cleanup_free_ char *text = NULL;

	if (!len)
		return;
	text = len <= MODULES_MAX && image_has(img, addr, len) ? malloc((size_t)len) : NULL;
	if (text && image_read(img, addr, text, (size_t)len))
		module_lines(id, text, (size_t)len);
	else
		id->why = "the build information's list of modules lies outside the file";
}

/* A Go string by the address of its two words. */
static uint64_t string_words(struct image *img, uint64_t at, uint64_t *ret_len)
{
	*ret_len = at ? image_u64(img, at + 8) : 0;
	return at ? image_u64(img, at) : 0;
}

static void read_block(struct identity *id, struct image *img, uint64_t addr)
{
	uint8_t head[HEAD];
	uint64_t at = addr + HEAD, len;

	if (!image_read(img, addr, head, HEAD) || memcmp(head, MAGIC, MAGIC_LEN) != 0) {
		id->why = "the build information does not begin as one";
		return;
	}
	id->found = true;
	if (head[15] & FLAG_INLINE) {
		len = varint(img, &at);
		take_version(id, img, at, len);
		if (len >= GO_VERSION_MAX)
			return;
		at += len;
		len = varint(img, &at);
		take_modules(id, img, at, len);
		return;
	}
	if (head[14] != 8) {
		id->why = "the build information is that of a 32-bit program";
		return;
	}
	at = string_words(img, image_u64(img, addr + 16), &len);
	take_version(id, img, at, len);
	at = string_words(img, image_u64(img, addr + 24), &len);
	take_modules(id, img, at, len);
}

/* Without a section: at the start of the data, at a multiple of 16. 0 = none. */
static uint64_t search_block(struct image *img)
{
	size_t n;
	const struct elf_segment *loads = elf_segments(img->elf, &n);

	for (size_t i = 0; i < n; i++) {
		uint64_t start = ROUND_UP(loads[i].vaddr, 16), size = MIN(loads[i].filesz, (uint64_t)SEARCH_MAX);
		char head[MAGIC_LEN];

		if (loads[i].exec)
			continue;
		for (uint64_t off = 0; off + HEAD <= size; off += 16)
			if (image_read(img, start + off, head, MAGIC_LEN) && !memcmp(head, MAGIC, MAGIC_LEN))
				return start + off;
	}
	return 0;
}

/* ---- the note, the build mode ---- */

static void read_note(struct identity *id, struct elf *e)
{
	struct elf_section s;
	const uint8_t *data;
	uint32_t name, desc, type;
	struct cursor c;
	const char *text;
	size_t len;

	if (elf_section_find(e, ".note.go.buildid", &s) < 0 || elf_section_data(e, &s, &data, &len) < 0)
		return;
	c = cur_init(data, len);
	name = cur_u32(&c);
	desc = cur_u32(&c);
	type = cur_u32(&c);
	text = cur_bytes(&c, 4);
	if (!text || name != 4 || type != 4 || memcmp(text, "Go\0", 4) != 0)
		return;
	text = cur_bytes(&c, desc);
	if (!text)
		return;
	id->found = true;
	take_field(id->build_id, sizeof(id->build_id), text, strnlen(text, desc));
}

static enum gobin_mode mode_of(const struct elf *e)
{
	struct elf_segment seg;
	struct elf_section s;

	if (elf_type(e) == ET_EXEC)
		return GOBIN_EXE;
	if (elf_segment_find(e, PT_INTERP, &seg) == 0)
		return GOBIN_PIE;
	/* A static PIE has no interpreter; only files that can be loaded as libraries have dynamic symbols. */
	return elf_section_find(e, ".gnu.hash", &s) == 0 || elf_section_find(e, ".hash", &s) == 0 ? GOBIN_SHARED :
												     GOBIN_PIE;
}

void identify(struct image *img, struct identity *ret)
{
	struct elf_section s;
	uint64_t at;

	*ret = (struct identity){ .mode = mode_of(img->elf) };
	at = elf_section_find(img->elf, ".go.buildinfo", &s) == 0 ? s.addr : search_block(img);
	if (at)
		read_block(ret, img, at);
	read_note(ret, img->elf);
	ret->minor = identify_minor(ret->version);
}

static bool contains(int fd, off_t from, const char *what, size_t len)
{
	_cleanup_free_ char *data = malloc(END_BYTES);
	ssize_t n = data ? pread(fd, data, END_BYTES, from) : -1;

	return n > 0 && memmem(data, (size_t)n, what, len);
}

/*
 * Go's own linker puts the note with the build id into the first page. Others put the names of sections before the
 * section headers, which come last.
 */
bool gobin_may_be_go(int fd)
{
	static const char head[] = "\4\0\0\0Go\0";	/* type and owner of the note */
	static const char info[] = ".go.buildinfo";	/* since Go 1.13, but not in plugins of 1.19 */
	static const char note[] = ".note.go.buildid";	/* in ELF since Go 1.5; a build may omit it */
	struct stat st;
	off_t end;

	if (fstat(fd, &st) < 0)
		return false;
	end = st.st_size > END_BYTES ? st.st_size - END_BYTES : 0;
	return contains(fd, 0, head, sizeof(head)) || contains(fd, end, info, sizeof(info)) ||
	       contains(fd, end, note, sizeof(note));
}
