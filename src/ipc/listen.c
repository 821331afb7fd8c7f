// SPDX-License-Identifier: GPL-2.0-or-later
#include "ipc/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "loop/loop.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/unix_socket.h"

#define PASSED_FD 3		/* first descriptor passed by systemd: sd_listen_fds(3) */
#define PAUSE_NS 100000000ull	/* pause after running out of descriptors */
#define ACCEPT_ROUND 64		/* connections per turn */
#define LOCK_NAME "lock"
#define SOCKETS_MAX 4

struct sock_dir {
	char path[108];			/* size of sun_path */
	int lock_fd;
	bool made;			/* this process created it */
	struct made { char name[32]; dev_t dev; ino_t ino; } made_here[SOCKETS_MAX];
	size_t n_made;
};

DEFINE_CLEANUP(struct sock_dir *, listen_sock_dir_close)

/* ---- the directory ---- */

static int check_dir(const char *path, struct err *err)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return err_errno(err, -errno, "%s", path);
	if (!S_ISDIR(st.st_mode))
		return err_set(err, -ENOTDIR, "%s is not a directory", path);
	if (st.st_uid != geteuid() || (st.st_mode & 0022))
		return err_set(err, -EPERM, "%s: writable by other users; make this user its owner and set mode 0750",
			       path);
	return 0;
}

static int make_dir(struct sock_dir *d, gid_t gid, struct err *err)
{
	struct unix_socket_mask old = unix_socket_mask_set(gid, 0027);
	int r = mkdir(d->path, 0750) < 0 ? -errno : 0;

	unix_socket_mask_reset(&old);
	d->made = r == 0;
	if (r < 0 && r != -EEXIST)
		return err_errno(err, r, "cannot create directory %s", d->path);
	return check_dir(d->path, err);
}

static void path_in(const struct sock_dir *d, const char *name, char *ret, size_t cap)
{
	snprintf(ret, cap, "%s/%s", d->path, name);
}

/* A lock file that was removed before the lock was taken locks nothing: compares it with the file at the path. */
static int take_lock(struct sock_dir *d, struct err *err)
{
	char path[256];

	path_in(d, LOCK_NAME, path, sizeof(path));
	for (int i = 0; i < 100; i++) {
		_cleanup_close_ int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		struct stat mine, there;

		if (fd < 0)
			return err_errno(err, -errno, "cannot open %s", path);
		if (flock(fd, LOCK_EX | LOCK_NB) < 0)
			return err_set(err, errno == EWOULDBLOCK ? -EBUSY : -errno,
				       "%s is in use: an agent runs already", d->path);
		if (fstat(fd, &mine) == 0 && stat(path, &there) == 0 && mine.st_ino == there.st_ino) {
			d->lock_fd = TAKE_FD(fd);
			return 0;
		}
	}
	return err_set(err, -EAGAIN, "another process keeps replacing %s", path);
}

int listen_sock_dir_open(const char *path, gid_t gid, struct sock_dir **ret, struct err *err)
{
	_cleanup_(listen_sock_dir_closep) struct sock_dir *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return err_errno(err, -ENOMEM, "%s", path);
	d->lock_fd = -1;
	if (strlen(path) + 16 > sizeof(d->path))
		return err_set(err, -ENAMETOOLONG, "%s: too long for the path of a socket", path);
	snprintf(d->path, sizeof(d->path), "%s", path);
	r = make_dir(d, gid, err);
	if (r >= 0)
		r = take_lock(d, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(d);
	return 0;
}

void listen_sock_dir_close(struct sock_dir *d)
{
	char path[256];

	if (!d)
		return;
	for (size_t i = 0; i < d->n_made; i++) {
		path_in(d, d->made_here[i].name, path, sizeof(path));
		unlink(path);
	}
	if (d->lock_fd >= 0) {
		path_in(d, LOCK_NAME, path, sizeof(path));
		unlink(path);
		close(d->lock_fd);
	}
	if (d->made)
		rmdir(d->path);
	free(d);
}

static struct made *made_find(struct sock_dir *d, const char *name)
{
	return FIND_ITEM(it, d->made_here, d->n_made, !strcmp(it->name, name));
}

static int note_made(struct sock_dir *d, const char *name, const char *path)
{
	struct made *m = made_find(d, name);
	struct stat st;

	if (lstat(path, &st) < 0)
		return -errno;
	m = m ? m : &d->made_here[d->n_made++];
	snprintf(m->name, sizeof(m->name), "%s", name);
	m->dev = st.st_dev;
	m->ino = st.st_ino;
	return 0;
}

bool listen_sock_dir_lost(struct sock_dir *d, const char *name)
{
	const struct made *m = made_find(d, name);
	char path[256];
	struct stat st;

	path_in(d, name, path, sizeof(path));
	if (!m)
		return false;
	return lstat(path, &st) < 0 ? errno == ENOENT : st.st_dev != m->dev || st.st_ino != m->ino;
}

int listen_sock_dir_listen(struct sock_dir *d, const char *name, gid_t gid, struct err *err)
{
	_cleanup_close_ int fd = -1;
	const mode_t mode = gid ? 0660 : 0600;
	char path[256];
	int r;

	path_in(d, name, path, sizeof(path));
	if (d->n_made == SOCKETS_MAX && !made_find(d, name))
		return err_set(err, -ENAMETOOLONG, "%s: too many sockets", path);
	unlink(path);	/* the lock is ours, so its creator has ended */
	fd = unix_socket_listen(path, gid, mode, err);
	if (fd == -EPERM)
		fd = unix_socket_listen(path, 0, mode, err);
	if (fd < 0)
		return fd;
	r = note_made(d, name, path);
	if (r >= 0)
		return TAKE_FD(fd);
	unlink(path);
	return err_errno(err, r, "cannot serve %s", path);
}

/* ---- sockets that were passed: sd_listen_fds(3) ---- */

/* Index of @name in the colon-separated list, as the @n-th. */
static bool is_nth(const char *names, uint32_t n, const char *want)
{
	while (names && n--) {
		names = strchr(names, ':');
		names = names ? names + 1 : NULL;
	}
	return names && strcspn(names, ":") == strlen(want) && !strncmp(names, want, strlen(want));
}

int listen_passed(const char *name)
{
	const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS"), *names = getenv("LISTEN_FDNAMES");
	uint32_t p, n;

	if (!pid || !count || str_to_u32(pid, 10, &p) < 0 || p != (uint32_t)getpid() || str_to_u32(count, 10, &n) < 0)
		return -ENOENT;
	for (uint32_t i = 0; i < MIN(n, (uint32_t)SOCKETS_MAX); i++) {
		int fd = PASSED_FD + (int)i, on = 0;
		socklen_t len = sizeof(on);

		if (!is_nth(names, i, name))
			continue;
		if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &on, &len) < 0 || !on)
			return -ENOTSOCK;
		fcntl(fd, F_SETFD, FD_CLOEXEC);
		fcntl(fd, F_SETFL, O_NONBLOCK);
		return fd;
	}
	return -ENOENT;
}

/* ---- peers ---- */

int listen_peer_of(int fd, struct peer *ret)
{
	struct ucred c;
	socklen_t len = sizeof(c);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c, &len) < 0)
		return -errno;
	*ret = (struct peer){ .pid = c.pid, .uid = c.uid, .gid = c.gid };
	return 0;
}

bool listen_peer_in_group(int fd, const struct peer *p, gid_t gid)
{
	gid_t groups[1024];
	socklen_t len = sizeof(groups);

	if (p->gid == gid)
		return true;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len) < 0)
		return false;
	return FIND_ITEM(it, groups, len / sizeof(gid_t), *it == gid);
}

/* ---- accepting ---- */

struct listener {
	struct loop *loop;
	int fd, reserve_fd;
	struct loop_source *io, *pause;
	void (*fn)(void *ctx, int fd);
	void *ctx;
};

static int open_reserve(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* Accepts one connection with the reserve descriptor and closes it, then pauses. */
static void out_of_fds(struct listener *l)
{
	int fd;

	if (l->reserve_fd >= 0)
		close(TAKE_FD(l->reserve_fd));
	fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC);
	cleanup_close(&fd);
	l->reserve_fd = open_reserve();
	loop_set_events(l->io, 0);
	loop_set_timer(l->pause, PAUSE_NS, 0);
}

static int on_connection(void *ctx, _unused_ int lfd, _unused_ uint32_t events)
{
	struct listener *l = ctx;

	for (int i = 0; i < ACCEPT_ROUND; i++) {
		int fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0) {
			l->fn(l->ctx, fd);
			continue;
		}
		if (errno == EINTR || errno == ECONNABORTED)
			continue;
		if (errno != EAGAIN)
			out_of_fds(l);	/* EMFILE, ENFILE, ENOBUFS, ENOMEM */
		break;
	}
	return 0;
}

static int on_pause_over(void *ctx, _unused_ uint64_t now_ns)
{
	struct listener *l = ctx;

	loop_set_events(l->io, EPOLLIN);
	return 0;
}

void listen_free(struct listener *l)
{
	if (!l)
		return;
	loop_remove(l->io);
	loop_remove(l->pause);
	cleanup_close(&l->fd);
	cleanup_close(&l->reserve_fd);
	free(l);
}
DEFINE_CLEANUP(struct listener *, listen_free)

int listen_new(struct loop *loop, int fd, void (*fn)(void *ctx, int fd), void *ctx, struct listener **ret)
{
	_cleanup_(listen_freep) struct listener *l = calloc(1, sizeof(*l));
	int r;

	if (!l) {
		close(fd);
		return -ENOMEM;
	}
	*l = (struct listener){ .loop = loop, .fd = fd, .fn = fn, .ctx = ctx, .reserve_fd = open_reserve() };
	r = loop_add_io(loop, fd, EPOLLIN, on_connection, l, &l->io);
	if (r >= 0) {
		loop_set_plain(l->io);
		loop_name(l->io, "connect");
		r = loop_add_timer(loop, 0, 0, on_pause_over, l, &l->pause);
	}
	if (r < 0)
		return r;
	*ret = TAKE_PTR(l);
	return 0;
}

int listen_replace(struct listener *l, int fd)
{
	struct loop_source *io = NULL;
	int r = loop_add_io(l->loop, fd, EPOLLIN, on_connection, l, &io);

	if (r < 0) {
		close(fd);
		return r;
	}
	loop_set_plain(io);
	loop_name(io, "connect");
	loop_remove(l->io);
	close(l->fd);
	l->io = io;
	l->fd = fd;
	return 0;
}
