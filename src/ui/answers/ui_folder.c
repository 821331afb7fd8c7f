// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/answers/ui_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/macros.h"
#include "base/vec.h"
#include "ui/ui_answer.h"

#define FILES_MAX 1000u

struct file {
	char name[256];
	const char *kind;
	uint64_t bytes, modified_ns;
};

struct ui_folder {
	char *path;
	VEC(struct file) files;
};

static bool ends_in(const char *name, const char *suffix)
{
	size_t n = strlen(name), len = strlen(suffix);

	return n > len && !strcmp(name + n - len, suffix);
}

static bool is_store(int dir, const char *name)
{
	_cleanup_(closedirp) DIR *d = io_opendir(dir, name);
	const struct dirent *e;
	bool found = false;

	while (d && !found && (e = readdir(d)))
		found = ends_in(e->d_name, ".seg") || ends_in(e->d_name, ".part");
	return found;
}

/* By the names that sonde writes; a store is a folder with segments. NULL: something else. */
static const char *kind_of(int dir, const char *name, const struct stat *st)
{
	static const struct { const char *suffix, *kind; } kinds[] = {
		{ ".rec", "rec" }, { ".pcapng", "pcapng" }, { ".pcap", "pcap" }, { ".scap", "scap" },
	};

	for (size_t i = 0; S_ISREG(st->st_mode) && i < ARRAY_SIZE(kinds); i++)
		if (ends_in(name, kinds[i].suffix))
			return kinds[i].kind;
	return S_ISDIR(st->st_mode) && *name != '.' && is_store(dir, name) ? "store" : NULL;
}

static int take(struct ui_folder *f, int dir, const char *name)
{
	struct stat st;
	const char *kind;
	struct file *to;

	if (fstatat(dir, name, &st, 0) < 0 || !(kind = kind_of(dir, name, &st)) || f->files.len == FILES_MAX)
		return 0;
	if (vec_grow(&f->files) < 0)
		return -ENOMEM;
	to = &f->files.items[f->files.len++];
	*to = (struct file){ .kind = kind, .bytes = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0,
			     .modified_ns = (uint64_t)st.st_mtim.tv_sec * NS_PER_S + (uint64_t)st.st_mtim.tv_nsec };
	snprintf(to->name, sizeof(to->name), "%s", name);
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct file *)a)->name, ((const struct file *)b)->name);
}

void ui_folder_free(struct ui_folder *f)
{
	if (!f)
		return;
	vec_fini(&f->files);
	free(f->path);
	free(f);
}
DEFINE_CLEANUP(struct ui_folder *, ui_folder_free)

struct ui_folder *ui_folder_new(const char *path)
{
	_cleanup_(ui_folder_freep) struct ui_folder *f = calloc(1, sizeof(*f));
	_cleanup_(closedirp) DIR *d = f ? opendir(path) : NULL;
	const struct dirent *e;
	int r = 0;

	if (f)
		f->path = strdup(path);
	while (d && r >= 0 && (e = readdir(d)))
		r = take(f, dirfd(d), e->d_name);
	if (!f || r < 0 || !f->path)
		return NULL;
	vec_sort(&f->files, by_name);
	return TAKE_PTR(f);
}

void ui_folder_write(const struct ui_folder *f, struct json *j)
{
	ui_answer_put_text(j, "folder", f ? f->path : "");
	json_put_open(j, "files", '[');
	for (size_t i = 0; f && i < f->files.len; i++) {
		json_open(j, '{');
		ui_answer_put_text(j, "name", f->files.items[i].name);
		ui_answer_put_text(j, "kind", f->files.items[i].kind);
		json_put_u64(j, "bytes", f->files.items[i].bytes);
		ui_answer_put_time(j, "modified", f->files.items[i].modified_ns);
		json_close(j, '}');
	}
	json_close(j, ']');
}
