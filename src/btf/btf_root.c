// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The thread starts before a daemon confines itself, which forbids chroot(2). It waits without effective capabilities
 * and takes those of its caller for each job. unshare(CLONE_FS) separates its root and working directories from those
 * of the other threads.
 */
#include "btf/btf_root.h"

#include <bpf/btf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/io.h"
#include "base/macros.h"
#include "base/process/thread.h"
#include "base/rights.h"

#define FOLDER "/tmp/sonde-btf-XXXXXX"
#define FILE_NAME "sys/kernel/btf/vmlinux"
#define FILE_BYTES_MAX (64u << 20)

enum state { STARTING, IDLE, QUEUED, STATE__MAX };

struct btf_root {
	int dir_fd;
	char folder[sizeof(FOLDER)];	/* directory to remove; "" = none */
	pthread_t thread;
	bool started;
	pthread_mutex_t lock;		/* protects the members below */
	pthread_cond_t changed;
	enum state state;
	int entered;			/* result of entering the root directory: 0 or -errno */
	bool quit;
	void (*fn)(void *ctx);
	void *ctx;
	uint64_t permitted, effective;	/* capabilities of the job */
};

DEFINE_CLEANUP(struct btf_root *, btf_root_free)

/* ---- root directory ---- */

/* Creates a detached tmpfs. Its fd or -errno. */
static int make_tmpfs(void)
{
	_cleanup_close_ int fs = (int)syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC);
	int fd;

	if (fs < 0 || syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -errno;
	fd = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, 0);
	return fd < 0 ? -errno : fd;
}

/* Without CAP_SYS_ADMIN: creates a directory in /tmp. Its fd or -errno. */
static int make_folder(struct btf_root *r)
{
	char path[] = FOLDER;
	int fd;

	if (!mkdtemp(path))
		return -errno;
	memcpy(r->folder, path, sizeof(path));
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static const char *const folders[] = { "sys", "sys/kernel", "sys/kernel/btf" };

static void remove_folder(const struct btf_root *r)
{
	unlinkat(r->dir_fd, FILE_NAME, 0);
	for (size_t i = ARRAY_SIZE(folders); i-- > 0; )
		unlinkat(r->dir_fd, folders[i], AT_REMOVEDIR);
	rmdir(r->folder);
}

static int fill(const struct btf_root *r, const struct btf *types)
{
	_cleanup_close_ int fd = -1;
	uint32_t len;
	const void *raw = btf__raw_data(types, &len);

	if (!raw)
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
		if (mkdirat(r->dir_fd, folders[i], 0700) < 0)
			return -errno;
	fd = openat(r->dir_fd, FILE_NAME, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400);
	return fd < 0 ? -errno : io_write_all(fd, raw, len);
}

static int enter(int dir_fd)
{
	return unshare(CLONE_FS) < 0 || fchdir(dir_fd) < 0 || chroot(".") < 0 ? -errno : 0;
}

/* ---- thread ---- */

/* Called with the lock held; releases it during the job. */
static void work(struct btf_root *r)
{
	rights_keep(r->permitted & rights_permitted(), r->effective);
	pthread_mutex_unlock(&r->lock);
	if (r->fn)
		r->fn(r->ctx);
	rights_restore(0);
	pthread_mutex_lock(&r->lock);
}

static void *serve(void *arg)
{
	struct btf_root *r = arg;

	pthread_mutex_lock(&r->lock);
	r->entered = enter(r->dir_fd);
	rights_restore(0);
	while (!r->quit) {
		if (r->state == QUEUED)
			work(r);
		r->state = IDLE;
		pthread_cond_broadcast(&r->changed);
		while (r->state == IDLE && !r->quit)
			pthread_cond_wait(&r->changed, &r->lock);
	}
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

static void wait_idle(struct btf_root *r)
{
	while (r->state != IDLE)
		pthread_cond_wait(&r->changed, &r->lock);
}

static int start(struct btf_root *r)
{
	int code = thread_start(&r->thread, serve, r);

	if (code < 0)
		return code;
	r->started = true;
	pthread_mutex_lock(&r->lock);
	wait_idle(r);
	pthread_mutex_unlock(&r->lock);
	return r->entered;
}

int btf_root_new(const struct btf *types, struct btf_root **ret, struct err *err)
{
	_cleanup_(btf_root_freep) struct btf_root *r = calloc(1, sizeof(*r));
	int code;

	if (!r)
		return err_errno(err, -ENOMEM, "cannot pass the kernel's BTF to libbpf");
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->changed, NULL);
	r->dir_fd = make_tmpfs();
	if (r->dir_fd == -EPERM)
		r->dir_fd = make_folder(r);
	code = r->dir_fd < 0 ? r->dir_fd : fill(r, types);
	if (code >= 0)
		code = start(r);
	if (code == -EPERM)
		return err_set(err, code, "cannot pass the kernel's BTF to libbpf: needs CAP_SYS_CHROOT");
	if (code < 0)
		return err_errno(err, code, "cannot pass the kernel's BTF to libbpf");
	*ret = TAKE_PTR(r);
	return 0;
}

void btf_root_free(struct btf_root *r)
{
	if (!r)
		return;
	if (r->started) {
		pthread_mutex_lock(&r->lock);
		r->quit = true;
		pthread_cond_broadcast(&r->changed);
		pthread_mutex_unlock(&r->lock);
		pthread_join(r->thread, NULL);
	}
	if (*r->folder)
		remove_folder(r);
	cleanup_close(&r->dir_fd);
	pthread_cond_destroy(&r->changed);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

void btf_root_run(struct btf_root *r, void (*fn)(void *ctx), void *ctx)
{
	pthread_mutex_lock(&r->lock);
	wait_idle(r);
	r->fn = fn;
	r->ctx = ctx;
	r->permitted = rights_permitted();
	r->effective = rights_effective();
	r->state = QUEUED;
	pthread_cond_broadcast(&r->changed);
	wait_idle(r);
	pthread_mutex_unlock(&r->lock);
}

struct btf *btf_root_types(const struct btf_root *r)
{
	_cleanup_close_ int fd = openat(r->dir_fd, FILE_NAME, O_RDONLY | O_CLOEXEC);
	_cleanup_free_ void *raw = NULL;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size > FILE_BYTES_MAX)
		return NULL;
	raw = malloc((size_t)st.st_size);
	if (!raw || io_read_all(fd, raw, (size_t)st.st_size) < 0)
		return NULL;
	return btf__new(raw, (uint32_t)st.st_size);
}
