// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/net/net_ns.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/io.h"
#include "base/macros.h"
#include "base/opt.h"
#include "base/rights.h"
#include "base/str.h"
#include "base/vec.h"

#define RUN_NETNS "/run/netns"
#define NSFS_MAGIC_NUMBER 0x6e736673	/* linux/magic.h */

/* Sources of namespaces: names, and processes in them. */
static const char *const roots[] = { RUN_NETNS, "/proc" };

typedef VEC(uint32_t) inodes;

uint32_t net_ns_inode(int fd)
{
	struct stat st;

	return fstat(fd, &st) < 0 ? 0 : (uint32_t)st.st_ino;
}

/*
 * Accepts only files of the namespace file system. Opens the file for real after that check: opening a FIFO, a device
 * or a FUSE file may block or have side effects.
 */
static int open_path(const char *path)
{
	_cleanup_close_ int fd = open(path, O_PATH | O_CLOEXEC);
	struct statfs fs;
	char again[64];
	int r;

	if (fd < 0 || fstatfs(fd, &fs) < 0)
		return -errno;
	if ((uint32_t)fs.f_type != NSFS_MAGIC_NUMBER)
		return -EINVAL;
	snprintf(again, sizeof(again), "/proc/self/fd/%d", fd);
	r = open(again, O_RDONLY | O_CLOEXEC);
	return r < 0 ? -errno : r;
}

static int open_if(const char *path, uint32_t inode)
{
	struct stat st;

	if (stat(path, &st) < 0 || (uint32_t)st.st_ino != inode)
		return -ENOENT;
	return open_path(path);
}

/* Finds a namespace by any process in it, or by its name. */
static int open_inode(uint32_t inode)
{
	for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
		_cleanup_(closedirp) DIR *d = opendir(roots[i]);
		struct dirent *e;

		while (d && (e = readdir(d))) {
			char path[512];
			int fd;

			if (i == 1 && !isdigit((unsigned char)e->d_name[0]))
				continue;
			snprintf(path, sizeof(path), "%s/%s%s", roots[i], e->d_name, i ? "/ns/net" : "");
			fd = open_if(path, inode);
			if (fd >= 0)
				return fd;
		}
	}
	return -ENOENT;
}

static int add_inode(inodes *v, uint32_t inode)
{
	for (size_t i = 0; i < v->len; i++)
		if (v->items[i] == inode)
			return 0;
	return vec_push(v, inode);
}

int net_ns_all(uint32_t **ret, size_t *ret_n)
{
	inodes all = { 0 };
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
		_cleanup_(closedirp) DIR *d = opendir(roots[i]);
		struct dirent *e;

		while (r >= 0 && d && (e = readdir(d))) {
			char path[512];
			struct stat st;

			if (i == 1 ? !isdigit((unsigned char)e->d_name[0]) : e->d_name[0] == '.')
				continue;
			snprintf(path, sizeof(path), "%s/%s%s", roots[i], e->d_name, i ? "/ns/net" : "");
			if (stat(path, &st) == 0)
				r = add_inode(&all, (uint32_t)st.st_ino);
		}
	}
	if (r < 0) {
		vec_fini(&all);
		return r;
	}
	*ret = all.items;
	*ret_n = all.len;
	return 0;
}

static int open_number(uint32_t n)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/ns/net", n);
	fd = open_path(path);
	return fd >= 0 ? fd : open_inode(n);
}

int net_ns_open(const char *text, struct err *err)
{
	char path[4096];
	uint32_t n;
	int fd;

	if (!text)
		fd = open_path("/proc/thread-self/ns/net");
	else if (str_to_u32(text, 10, &n) == 0)
		fd = open_number(n);
	else {
		snprintf(path, sizeof(path), "%s%s", strchr(text, '/') ? "" : RUN_NETNS "/", text);
		fd = open_path(path);
	}
	if (fd >= 0)
		return fd;
	if (!text)
		return err_errno(err, fd, "cannot open the current network namespace");
	return err_set(err, -EINVAL, "--netns %s: network namespace not found "
		       "(expected all, a name or glob below " RUN_NETNS ", a path, a pid or an inode)", text);
}

void net_ns_words_fini(struct net_ns_words *w)
{
	for (size_t i = 0; i < w->len; i++)
		free(w->items[i]);
	vec_fini(w);
}

static int add_word(struct net_ns_words *ret, const char *word, struct err *err)
{
	_cleanup_free_ char *copy = strdup(word);

	if (!copy || vec_push(ret, TAKE_PTR(copy)) < 0)
		return err_errno(err, -ENOMEM, "cannot list the network namespaces");
	return 0;
}

static int add_matches(struct net_ns_words *ret, const char *glob, struct err *err)
{
	_cleanup_(closedirp) DIR *d = opendir(RUN_NETNS);
	size_t before = ret->len;
	struct dirent *e;
	int r = 0;

	while (r >= 0 && d && (e = readdir(d)))
		if (!fnmatch(glob, e->d_name, FNM_PERIOD))
			r = add_word(ret, e->d_name, err);
	if (r >= 0 && ret->len == before)
		return err_set(err, -EINVAL, "--netns %s: no name below " RUN_NETNS " matches", glob);
	return r;
}

int net_ns_globs(const struct opt_strv *words, struct net_ns_words *ret, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < words->len; i++) {
		bool is_glob = strpbrk(words->items[i], "*?[") && !strchr(words->items[i], '/');

		r = is_glob ? add_matches(ret, words->items[i], err) : add_word(ret, words->items[i], err);
	}
	return r;
}

int net_ns_name(uint32_t inode, char *buf, size_t cap)
{
	_cleanup_(closedirp) DIR *d = NULL;
	struct dirent *e;
	struct stat st;

	if (stat("/proc/1/ns/net", &st) == 0 && (uint32_t)st.st_ino == inode)
		return snprintf(buf, cap, "host") < (int)cap ? 0 : -ENAMETOOLONG;
	d = opendir(RUN_NETNS);
	while (d && (e = readdir(d)))
		if (fstatat(dirfd(d), e->d_name, &st, 0) == 0 && (uint32_t)st.st_ino == inode && e->d_name[0] != '.')
			return snprintf(buf, cap, "%s", e->d_name) < (int)cap ? 0 : -ENAMETOOLONG;
	return -ENOENT;
}

/* @home keeps that namespace alive, and this process had the right to enter it a moment ago. */
static int go_home(int home, int r)
{
	return setns(home, CLONE_NEWNET) < 0 ? -errno : r;
}

int net_ns_call(int fd, int (*fn)(void *ctx), void *ctx)
{
	_cleanup_close_ int home = open_path("/proc/thread-self/ns/net");
	uint64_t _cleanup_rights_ admin = rights_effective();	/* what setns() asks for, for as long as it takes */

	if (home < 0)
		return home;
	if (net_ns_inode(home) == net_ns_inode(fd))
		return fn(ctx);
	admin = rights_raise(RIGHT(CAP_SYS_ADMIN));
	if (setns(fd, CLONE_NEWNET) < 0)
		return -errno;
	return go_home(home, fn(ctx));
}

int net_ns_scratch(int (*fn)(void *ctx), void *ctx)
{
	_cleanup_close_ int home = open_path("/proc/thread-self/ns/net");

	if (home < 0)
		return home;
	if (unshare(CLONE_NEWNET) < 0)
		return -errno;
	return go_home(home, fn(ctx));
}
