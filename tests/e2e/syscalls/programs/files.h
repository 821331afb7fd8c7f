/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files, descriptors, mounts. */
static void do_paths(void)
{
	struct stat st;
	long fd;

	fd = C3(open, "\"a\", O_RDWR|O_CREAT, 0640", P("a"), O_RDWR | O_CREAT, 0640);
	C3(open, "\"none\", O_RDONLY|O_DIRECTORY", P("none"), O_DIRECTORY, 0);
	C2(creat, "\"b\", 0600", P("b"), 0600);
	C4(openat, "AT_FDCWD, \"a\", O_WRONLY|O_TRUNC|O_APPEND", AT_FDCWD, P("a"), O_WRONLY | O_APPEND | O_TRUNC, 0);
	C4(openat, "AT_FDCWD, 0xfff, O_RDONLY", AT_FDCWD, BAD, 0, 0);
	C4(openat2, "AT_FDCWD, \"a\", {flags=O_RDONLY|O_CLOEXEC, mode=000, resolve=RESOLVE_NO_SYMLINKS}, 24",
	   AT_FDCWD,
	   P("a"), P(((unsigned long[]){ O_CLOEXEC, 0, 4 })), 24);
	C2(access, "\"a\", R_OK|W_OK", P("a"), R_OK | W_OK);
	C3(faccessat, "AT_FDCWD, \"none\", F_OK", AT_FDCWD, P("none"), 0);
	C4(faccessat2, "AT_FDCWD, \"a\", X_OK, AT_SYMLINK_NOFOLLOW", AT_FDCWD, P("a"), X_OK, AT_SYMLINK_NOFOLLOW);
	stat("a", &st);
	C2(stat, "\"none\", %p", P("none"), P(&st), (void *)&st);
	C2(lstat, "\"none\", %p", P("none"), P(&st), (void *)&st);
	C2(fstat, "-1, %p", -1, P(&st), (void *)&st);
	C4(newfstatat, "AT_FDCWD, \"none\", %p, AT_SYMLINK_NOFOLLOW", AT_FDCWD, P("none"), P(&st),
	   AT_SYMLINK_NOFOLLOW,
	   (void *)&st);
	C5(statx, "AT_FDCWD, \"none\", AT_STATX_DONT_SYNC, STATX_MODE|STATX_SIZE, %p", AT_FDCWD, P("none"), 0x4000,
	   0x202, P(&st), (void *)&st);
	C2(statfs, "\"none\", %p", P("none"), P(&st), (void *)&st);
	C2(fstatfs, "-1, %p", -1, P(&st), (void *)&st);
	C2(mkdir, "\"d\", 0755", P("d"), 0755);
	C3(mkdirat, "AT_FDCWD, \"d\", 0755", AT_FDCWD, P("d"), 0755);
	C2(rename, "\"b\", \"c\"", P("b"), P("c"));
	C4(renameat, "AT_FDCWD, \"none\", AT_FDCWD, \"x\"", AT_FDCWD, P("none"), AT_FDCWD, P("x"));
	C5(renameat2, "AT_FDCWD, \"c\", AT_FDCWD, \"a\", RENAME_NOREPLACE", AT_FDCWD, P("c"), AT_FDCWD, P("a"), 1);
	C2(link, "\"c\", \"l\"", P("c"), P("l"));
	C5(linkat, "AT_FDCWD, \"c\", AT_FDCWD, \"l\", 0", AT_FDCWD, P("c"), AT_FDCWD, P("l"), 0);
	C2(symlink, "\"c\", \"s\"", P("c"), P("s"));
	C3(symlinkat, "\"c\", AT_FDCWD, \"s\"", P("c"), AT_FDCWD, P("s"));
	C3(readlink, "\"none\", %p, 16", P("none"), P(&st), 16, (void *)&st);
	C4(readlinkat, "AT_FDCWD, \"s\", \"c\", 16", AT_FDCWD, P("s"), P(&st), 16);
	C2(chmod, "\"c\", 0600", P("c"), 0600);
	C2(fchmod, "-1, 0600", -1, 0600);
	C3(fchmodat, "AT_FDCWD, \"none\", 0600", AT_FDCWD, P("none"), 0600);
	C3(chown, "\"none\", 0, -1", P("none"), 0, -1);
	C3(lchown, "\"none\", 1, 2", P("none"), 1, 2);
	C3(fchown, "-1, 1, 2", -1, 1, 2);
	C5(fchownat, "AT_FDCWD, \"none\", 1, 2, AT_SYMLINK_NOFOLLOW", AT_FDCWD, P("none"), 1, 2, AT_SYMLINK_NOFOLLOW);
	C1(unlink, "\"c\"", P("c"));
	C3(unlinkat, "AT_FDCWD, \"d\", AT_REMOVEDIR", AT_FDCWD, P("d"), AT_REMOVEDIR);
	C1(rmdir, "\"none\"", P("none"));
	C1(unlink, "\"l\"", P("l"));
	C1(unlink, "\"s\"", P("s"));
	C2(truncate, "\"a\", 100", P("a"), 100);
	C2(ftruncate, "%ld, 10", fd, 10, fd);
	C1(chdir, "\"none\"", P("none"));
	C1(fchdir, "-1", -1);
	C1(chroot, "\"none\"", P("none"));
	C3(mknod, "\"/none/x\", S_IFIFO|0600", P("/none/x"), 010600, 0);
	C4(mknodat, "-1, \"x\", 0600", -1, P("x"), 0600, 0);
	C2(utime, "\"none\", {actime=1, modtime=2}", P("none"), P(((long[]){ 1, 2 })));
	C2(utimes, "\"none\", NULL", P("none"), 0);
	C3(futimesat, "AT_FDCWD, \"none\", NULL", AT_FDCWD, P("none"), 0);
	C4(utimensat, "AT_FDCWD, \"none\", [UTIME_NOW, UTIME_OMIT], 0", AT_FDCWD,
	   P("none"), P(((long[]){ 1, 0x3fffffff, 2, 0x3ffffffe })), 0);
	C1(unlink, "\"a\"", P("a"));
}

static void do_descriptors(void)
{
	static char text[] = "hello\n", room[64];
	const unsigned long iov[4] = { P(text), 5, P(text), 2 };
	const unsigned long into[4] = { P(room), 3, P(room + 3), 60 };
	int fds[2] = { -1, -1 };
	long fd = C2(memfd_create, "\"m\", MFD_CLOEXEC", P("m"), 1), other;
	long off = 0;

	C3(write, "%ld, \"hello\\n\", 6", fd, P(text), 6, fd);
	C3(lseek, "%ld, 0, SEEK_SET", fd, 0, 0, fd);
	C3(read, "%ld, \"hello\\n\", 64", fd, P(room), 64, fd);
	C3(read, "-1, %p, 64", -1, P(room), 64, (void *)room);
	C4(pread64, "%ld, \"llo\\n\", 64, 2", fd, P(room), 64, 2, fd);
	C4(pwrite64, "%ld, \"he\", 2, 6", fd, P(text), 2, 6, fd);
	C3(writev, "%ld, [{iov_base=\"hello\", iov_len=5}, {iov_base=\"he\", iov_len=2}], 2", fd, P(iov), 2, fd);
	C3(lseek, "%ld, 0, SEEK_SET", fd, 0, 0, fd);
	C3(readv, "%ld, [{iov_base=\"hel\", iov_len=3}, {iov_base=\"lo\\nhellohe\", iov_len=60}], 2", fd, P(into),
	   2, fd);
	C4(preadv, "-1, [{iov_base=%p, iov_len=3}], 1, 0, 0", -1, P(into), 1, 0, (void *)room);
	C4(pwritev, "-1, [{iov_base=\"hello\", iov_len=5}], 1, 0, 0", -1, P(iov), 1, 0);
	C6(preadv2, "-1, [{iov_base=%p, iov_len=3}], 1, 0, 0, RWF_NOWAIT", -1, P(into), 1, 0, 0, 8, (void *)room);
	C6(pwritev2, "-1, [{iov_base=\"hello\", iov_len=5}], 1, 0, 0, RWF_DSYNC", -1, P(iov), 1, 0, 0, 2);
	other = C1(dup, "%ld", fd, fd);
	C2(dup2, "%ld, %ld", fd, other, fd, other);
	C3(dup3, "%ld, %ld, O_CLOEXEC", fd, other, O_CLOEXEC, fd, other);
	C3(fcntl, "%ld, F_GETFD", fd, F_GETFD, 0, fd);
	C3(fcntl, "%ld, F_SETFL, O_RDONLY|O_NONBLOCK", fd, F_SETFL, O_NONBLOCK, fd);
	C3(fcntl, "%ld, F_ADD_SEALS, F_SEAL_SEAL", fd, 1033, 1, fd);
	C2(flock, "-1, LOCK_EX|LOCK_NB", -1, 6);
	C1(fsync, "-1", -1);
	C1(fdatasync, "-1", -1);
	C1(syncfs, "-1", -1);
	C4(fallocate, "-1, FALLOC_FL_KEEP_SIZE, 0, 10", -1, 1, 0, 10);
	C4(fadvise64, "-1, 0, 10, POSIX_FADV_RANDOM", -1, 0, 10, 1);
	C3(readahead, "-1, 0, 10", -1, 0, 10);
	C4(sync_file_range, "-1, 0, 10, SYNC_FILE_RANGE_WRITE", -1, 0, 10, 2);
	C3(ioctl, "%ld, TCGETS, %p", fd, 0x5401, P(room), fd, (void *)room);
	C4(sendfile, "-1, %ld, [0], 10", -1, fd, P(&off), 10, fd);
	C6(splice, "-1, NULL, -1, NULL, 10, SPLICE_F_MOVE", -1, 0, -1, 0, 10, 1);
	C4(tee, "-1, -1, 10, SPLICE_F_NONBLOCK", -1, -1, 10, 2);
	C4(vmsplice, "-1, [{iov_base=\"hello\", iov_len=5}], 1, SPLICE_F_GIFT", -1, P(iov), 1, 8);
	C6(copy_file_range, "-1, NULL, -1, NULL, 10, 0", -1, 0, -1, 0, 10, 0);
	C3(getdents, "-1, %p, 64", -1, P(room), 64, (void *)room);
	C3(getdents64, "-1, %p, 64", -1, P(room), 64, (void *)room);
	C2(getcwd, "%p, 1", P(room), 1, (void *)room);
	C3(close_range, "4000, 4001, 0", 4000, 4001, 0);
	C1(close, "%ld", other, other);
	C1(close, "%ld", fd, fd);
	C1(close, "-1", -1);
	C1(pipe, "NULL", 0);
	C2(pipe2, "%p, 0x1", P(fds), 1, (void *)fds);
	C1(eventfd, "3", 3);
	C2(eventfd2, "3, EFD_SEMAPHORE|EFD_CLOEXEC", 3, 02000001);
	C1(epoll_create, "1", 1);
	fd = C1(epoll_create1, "EPOLL_CLOEXEC", 02000000);
	C4(epoll_ctl, "%ld, EPOLL_CTL_ADD, -1, {events=EPOLLIN, data={u32=5, u64=5}}", fd, 1, -1,
	   P(((struct { int e; long d; } __attribute__((packed))[]){ { 1, 5 } })), fd);
	C4(epoll_wait, "%ld, [], 4, 0", fd, P(room), 4, 0, fd);
	C6(epoll_pwait, "%ld, [], 4, 0, NULL, 8", fd, P(room), 4, 0, 0, 8, fd);
	C6(epoll_pwait2, "%ld, [], 4, {tv_sec=0, tv_nsec=0}, NULL, 8", fd, P(room), 4, P(((long[]){ 0, 0 })), 0, 8,
	   fd);
	C0(inotify_init, "");
	C1(inotify_init1, "IN_NONBLOCK|IN_CLOEXEC", 02004000);
	C3(inotify_add_watch, "-1, \"x\", IN_MODIFY|IN_CREATE", -1, P("x"), 0x102);
	C2(inotify_rm_watch, "-1, 1", -1, 1);
	C2(fanotify_init, "BROADCAST_CLASS_CONTENT|BROADCAST_CLASS_PRE_CONTENT, O_RDONLY", 0xc, 0);
	C5(fanotify_mark, "-1, BROADCAST_MARK_ADD, BROADCAST_MODIFY, AT_FDCWD, \"x\"", -1, 1, 2, AT_FDCWD, P("x"));
	C3(signalfd, "-1, %p, 4", -1, BAD, 4, (void *)BAD);
	C4(signalfd4, "-1, [INT], 8, SFD_CLOEXEC", -1, P(((long[]){ 2 })), 8, 02000000);
	C2(timerfd_create, "CLOCK_MONOTONIC, TFD_CLOEXEC", 1, 02000000);
	C4(timerfd_settime, "-1, TFD_TIMER_ABSTIME, {it_interval={tv_sec=0, tv_nsec=0}, it_value={tv_sec=1, "
	   "tv_nsec=2}}, NULL", -1, 1, P(((long[]){ 0, 0, 1, 2 })), 0);
	C2(timerfd_gettime, "-1, %p", -1, P(room), (void *)room);
}

static void do_mounts(void)
{
	static char room[64];

	C5(mount, "\"none\", \"/none\", \"tmpfs\", MS_RDONLY|MS_NOSUID, \"size=1\"", P("none"), P("/none"),
	   P("tmpfs"), 3,
	   P("size=1"));
	C2(umount2, "\"/none\", MNT_DETACH", P("/none"), 2);
	C2(pivot_root, "\"/none\", \"/nope\"", P("/none"), P("/nope"));
	C2(swapon, "\"/none\", SWAP_FLAG_PREFER", P("/none"), 0x8000);
	C1(swapoff, "\"/none\"", P("/none"));
	C1(acct, "\"/none/x\"", P("/none/x"));
	C2(fsopen, "\"nofs\", FSOPEN_CLOEXEC", P("nofs"), 1);
	C5(fsconfig, "-1, FSCONFIG_CMD_CREATE, NULL, NULL, 0", -1, 6, 0, 0, 0);
	C3(fsmount, "-1, FSOPEN_CLOEXEC, MOUNT_ATTR_RDONLY", -1, 1, 1);
	C3(fspick, "AT_FDCWD, \"/none\", 0", AT_FDCWD, P("/none"), 0);
	C3(open_tree, "AT_FDCWD, \"/none\", OPEN_TREE_CLOEXEC", AT_FDCWD, P("/none"), 02000000);
	C5(move_mount, "-1, \"a\", -1, \"b\", MOVE_MOUNT_F_SYMLINKS", -1, P("a"), -1, P("b"), 1);
	C5(mount_setattr, "-1, \"a\", 0, {attr_set=MOUNT_ATTR_RDONLY, attr_clr=0, propagation=0, userns_fd=0}, 32",
	   -1,
	   P("a"), 0, P(((long[]){ 1, 0, 0, 0 })), 32);
	C5(setxattr, "\"none\", \"user.a\", \"bc\", 2, XATTR_CREATE", P("none"), P("user.a"), P("bc"), 2, 1);
	C5(lsetxattr, "\"none\", \"user.a\", \"bc\", 2, 0", P("none"), P("user.a"), P("bc"), 2, 0);
	C5(fsetxattr, "-1, \"user.a\", \"bc\", 2, XATTR_REPLACE", -1, P("user.a"), P("bc"), 2, 2);
	C4(getxattr, "\"none\", \"user.a\", %p, 9", P("none"), P("user.a"), P(room), 9, (void *)room);
	C4(lgetxattr, "\"none\", \"user.a\", %p, 9", P("none"), P("user.a"), P(room), 9, (void *)room);
	C4(fgetxattr, "-1, \"user.a\", %p, 9", -1, P("user.a"), P(room), 9, (void *)room);
	C3(listxattr, "\"none\", %p, 9", P("none"), P(room), 9, (void *)room);
	C3(llistxattr, "\"none\", %p, 9", P("none"), P(room), 9, (void *)room);
	C3(flistxattr, "-1, %p, 9", -1, P(room), 9, (void *)room);
	C2(removexattr, "\"none\", \"user.a\"", P("none"), P("user.a"));
	C2(lremovexattr, "\"none\", \"user.a\"", P("none"), P("user.a"));
	C2(fremovexattr, "-1, \"user.a\"", -1, P("user.a"));
	C4(quotactl, "0x1, \"/none\", 0, NULL", 1, P("/none"), 0, 0);
	C4(quotactl_fd, "-1, 0x1, 0, NULL", -1, 1, 0, 0);
	C5(name_to_handle_at, "-1, \"a\", {handle_bytes=0, handle_type=0}, %p, 0", -1, P("a"), P(room), P(room), 0,
	   (void *)room);
	C3(open_by_handle_at, "-1, {handle_bytes=0, handle_type=0}, O_RDONLY", -1, P(room), 0);
	C4(cachestat, "-1, {off=0, len=1}, %p, 0", -1, P(((long[]){ 0, 1 })), P(room), 0, (void *)room);
	C4(fchmodat2, "-1, \"a\", 0600, AT_SYMLINK_NOFOLLOW", -1, P("a"), 0600, AT_SYMLINK_NOFOLLOW);
}

static void do_files(void)
{
	do_paths();
	do_descriptors();
	do_mounts();
}
