// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Native arguments to libscap's parameters. Which of them an event type has is the schema's business; here is where
 * each comes from: two letters per parameter, a source and an argument's number.
 *
 *   r result  a register  s string  d payload  A socket address  T tuple (i: the peer is the source, o: we are)
 *   O open flags  C clone flags  P protection  M mmap flags  F fcntl command  V bytes of a vector  G of a message
 *   D device  I inode  v memory (0 size 1 resident 2 swap)  t timespec, ns  z 64 bits in memory  u 32 bits
 *   l list of pollfd  p pair of descriptors  q queue (0 percent 1 length 2 limit)  S signal set  H open_how
 *   R limits (0 1 new, 2 3 old)  c ancillary data  k addresses of a socket pair  i libscap's number of the call
 *   n the native number  X the process after exec or clone (all of its parameters)  0 nothing is known
 */
#include "probes/sys/sys_map.h"

#include <string.h>

#include "base/macros.h"
#include "probes/sys/sys_table.h"
#include "scap/schema.h"

static const struct sys_mapping mappings[] = {
	{ "open", SCAP_OPEN_E, "s0O1a2", "r-s0O1a2D-I-" },
	{ "openat", SCAP_OPENAT_2_E, "a0s1O2a3", "r-a0s1O2a3D-I-" },
	{ "openat2", SCAP_OPENAT2_E, "a0s1H0H1H2", "r-a0s1H0H1H2D-I-" },
	{ "creat", SCAP_CREAT_E, "s0a1", "r-s0a1D-I-" },
	{ "close", SCAP_CLOSE_E, "a0", "r-a0" },
	{ "read", SCAP_READ_E, "a0a2", "r-d1a0a2" },
	{ "write", SCAP_WRITE_E, "a0a2", "r-d1a0a2" },
	{ "pread64", SCAP_PREAD_E, "a0a2a3", "r-d1a0a2a3" },
	{ "pwrite64", SCAP_PWRITE_E, "a0a2a3", "r-d1a0a2a3" },
	{ "readv", SCAP_READV_E, "a0", "r-V1d1a0" },
	{ "writev", SCAP_WRITEV_E, "a0V1", "r-d1a0V1" },
	{ "preadv", SCAP_PREADV_E, "a0a3", "r-V1d1a0a3" },
	{ "pwritev", SCAP_PWRITEV_E, "a0V1a3", "r-d1a0V1a3" },
	{ "socket", SCAP_SOCKET_E, "a0a1a2", "r-a0a1a2" },
	{ "bind", SCAP_BIND_E, "a0", "r-A1a0" },
	{ "connect", SCAP_CONNECT_E, "a0A1", "r-Toa0A1" },
	{ "listen", SCAP_LISTEN_E, "a0a1", "r-a0a1" },
	{ "accept", SCAP_ACCEPT_5_E, "", "r-Tiq0q1q2" },
	{ "accept4", SCAP_ACCEPT4_5_E, "a3", "r-Tiq0q1q2" },
	{ "sendto", SCAP_SENDTO_E, "a0a2To", "r-d1a0a2To" },
	{ "recvfrom", SCAP_RECVFROM_E, "a0a2", "r-d1Tia0a2" },
	{ "sendmsg", SCAP_SENDMSG_E, "a0G1To", "r-d1a0G1To" },
	{ "recvmsg", SCAP_RECVMSG_E, "a0", "r-G1d1Tic1a0" },
	{ "shutdown", SCAP_SHUTDOWN_E, "a0a1", "r-a0a1" },
	{ "socketpair", SCAP_SOCKETPAIR_E, "a0a1a2", "r-p0p1k0k1a0a1a2" },
	{ "pipe", SCAP_PIPE_E, "", "r-p0p1I-" },
	{ "pipe2", SCAP_PIPE_E, "", "r-p0p1I-" },
	{ "eventfd", SCAP_EVENTFD_E, "a0", "r-a0" },
	{ "eventfd2", SCAP_EVENTFD_E, "a0a1", "r-a0a1" },
	{ "futex", SCAP_FUTEX_E, "a0a1a2", "r-a0a1a2" },
	{ "stat", SCAP_STAT_E, "", "r-s0" },
	{ "lstat", SCAP_LSTAT_E, "", "r-s0" },
	{ "fstat", SCAP_FSTAT_E, "a0", "r-a0" },
	{ "epoll_wait", SCAP_EPOLLWAIT_E, "a2", "r-a2" },
	{ "poll", SCAP_POLL_E, "l0a2", "r-l0a2" },
	{ "ppoll", SCAP_PPOLL_E, "l0t2S3", "r-l0t2S3" },
	{ "select", SCAP_SELECT_E, "", "r-" },
	{ "lseek", SCAP_LSEEK_E, "a0a1a2", "r-a0a1a2" },
	{ "ioctl", SCAP_IOCTL_3_E, "a0a1a2", "r-a0a1a2" },
	{ "chdir", SCAP_CHDIR_E, "", "r-s0" },
	{ "fchdir", SCAP_FCHDIR_E, "a0", "r-a0" },
	{ "dup", SCAP_DUP_E, "a0", "r-" },
	{ "dup2", SCAP_DUP_E, "a0", "r-" },
	{ "dup3", SCAP_DUP_E, "a0", "r-" },
	{ "signalfd", SCAP_SIGNALFD_E, "a00-0-", "r-a0" },
	{ "signalfd4", SCAP_SIGNALFD_E, "a00-0-", "r-a0" },
	{ "kill", SCAP_KILL_E, "a0a1", "r-a0a1" },
	{ "tkill", SCAP_TKILL_E, "a0a1", "r-a0a1" },
	{ "tgkill", SCAP_TGKILL_E, "a0a1a2", "r-a0a1a2" },
	{ "nanosleep", SCAP_NANOSLEEP_E, "t0", "r-t0" },
	{ "timerfd_create", SCAP_TIMERFD_CREATE_E, "a0a1", "r-a0a1" },
	{ "inotify_init", SCAP_INOTIFY_INIT_E, "0-", "r-" },
	{ "inotify_init1", SCAP_INOTIFY_INIT_E, "a0", "r-a0" },
	{ "prlimit64", SCAP_PRLIMIT_E, "a0a1", "r-R0R1R2R3a0a1" },
	{ "fcntl", SCAP_FCNTL_E, "a0F1", "r-a0F1a2" },
	{ "brk", SCAP_BRK_4_E, "a0", "r-v0v1v2a0" },
	{ "mmap", SCAP_MMAP_E, "a0a1P2M3a4a5", "r-v0v1v2a0a1P2M3a4a5" },
	{ "munmap", SCAP_MUNMAP_E, "a0a1", "r-v0v1v2a0a1" },
	{ "mprotect", SCAP_MPROTECT_E, "a0a1P2", "r-a0a1P2" },
	{ "splice", SCAP_SPLICE_E, "a0a2a4a5", "r-a0a2a4a5" },
	{ "rename", SCAP_RENAME_E, "", "r-s0s1" },
	{ "renameat", SCAP_RENAMEAT_E, "", "r-a0s1a2s3" },
	{ "renameat2", SCAP_RENAMEAT2_E, "", "r-a0s1a2s3a4" },
	{ "symlink", SCAP_SYMLINK_E, "", "r-s0s1" },
	{ "symlinkat", SCAP_SYMLINKAT_E, "", "r-s0a1s2" },
	{ "sendfile", SCAP_SENDFILE_E, "a0a1z2a3", "r-z2a0a1a3" },
	{ "setresuid", SCAP_SETRESUID_E, "a0a1a2", "r-a0a1a2" },
	{ "setresgid", SCAP_SETRESGID_E, "a0a1a2", "r-a0a1a2" },
	{ "setuid", SCAP_SETUID_E, "a0", "r-a0" },
	{ "setgid", SCAP_SETGID_E, "a0", "r-a0" },
	{ "clone", SCAP_CLONE_20_E, "", "X-" },
	{ "clone3", SCAP_CLONE3_E, "", "X-" },
	{ "fork", SCAP_FORK_20_E, "", "X-" },
	{ "vfork", SCAP_VFORK_20_E, "", "X-" },
	{ "execve", SCAP_EXECVE_19_E, "s0", "X-" },
	{ "execveat", SCAP_EXECVEAT_E, "a0s1a4", "X-" },
	{ "getdents", SCAP_GETDENTS_E, "a0", "r-a0" },
	{ "getdents64", SCAP_GETDENTS64_E, "a0", "r-a0" },
	{ "setns", SCAP_SETNS_E, "a0C1", "r-a0C1" },
	{ "flock", SCAP_FLOCK_E, "a0a1", "r-a0a1" },
	{ "mount", SCAP_MOUNT_E, "a3", "r-s0s1s2a3" },
	{ "umount2", SCAP_UMOUNT_E, "a1", "r-s0" },
	{ "access", SCAP_ACCESS_E, "a1", "r-s0a1" },
	{ "chroot", SCAP_CHROOT_E, "", "r-s0" },
	{ "setsid", SCAP_SETSID_E, "", "r-" },
	{ "setpgid", SCAP_SETPGID_E, "a0a1", "r-a0a1" },
	{ "mkdir", SCAP_MKDIR_2_E, "a1", "r-s0a1" },
	{ "rmdir", SCAP_RMDIR_2_E, "", "r-s0" },
	{ "unshare", SCAP_UNSHARE_E, "C0", "r-C0" },
	{ "seccomp", SCAP_SECCOMP_E, "a0", "r-a0a1" },
	{ "unlink", SCAP_UNLINK_2_E, "", "r-s0" },
	{ "unlinkat", SCAP_UNLINKAT_2_E, "", "r-a0s1a2" },
	{ "mkdirat", SCAP_MKDIRAT_E, "", "r-a0s1a2" },
	{ "link", SCAP_LINK_2_E, "", "r-s0s1" },
	{ "linkat", SCAP_LINKAT_2_E, "", "r-a0s1a2s3a4" },
	{ "fchmodat", SCAP_FCHMODAT_E, "", "r-a0s1a2" },
	{ "chmod", SCAP_CHMOD_E, "", "r-s0a1" },
	{ "fchmod", SCAP_FCHMOD_E, "", "r-a0a1" },
	{ "userfaultfd", SCAP_USERFAULTFD_E, "", "r-O0" },
	{ "copy_file_range", SCAP_COPY_FILE_RANGE_E, "a0z1a4", "r-a2z3a0z1a4" },
};

const struct sys_mapping *sys_map_find(const struct sys_call *call)
{
	return call ? ARRAY_FIND(it, mappings, !strcmp(it->call, call->name)) : NULL;
}

const char *sys_map_scap_name(const struct sys_call *call)
{
	const struct sys_mapping *m = sys_map_find(call);
	const char *name;
	int id;

	if (m)
		return scap_schema_event_info(m->type)->name;
	id = call ? scap_schema_syscall_id(call->name) : 0;
	name = scap_schema_syscall_name(id < 0 ? 0 : (uint32_t)id);
	return name ? name : scap_schema_event_info(SCAP_GENERIC_E)->name;
}

int sys_map_path_arg(const struct sys_call *call)
{
	for (unsigned i = 0; i < call->n_args; i++)
		if (call->args[i].kind == SYS_ARG_PATH)
			return (int)i;
	return -1;
}
