/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The path of a file by a walk over dentries and mounts up to the task's root, since tracepoints may not call
 * bpf_d_path(). Components are in reverse order, each with a NUL; user space reverses them.
 */
#ifndef BPF_PATH_BPF_H
#define BPF_PATH_BPF_H

#include "bpf/kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#define PATH_BYTES 512		/* of components; the last one may go 256 bytes beyond; a power of two */
#define PATH_MAX_DEPTH 32	/* components and mount crossings; deeper paths lose their first components */

static __always_inline struct mount *path_mount(struct vfsmount *mnt)
{
	return (void *)mnt - bpf_core_field_offset(struct mount, mnt);
}

/* Goes from the root of a mount to its mount point; false at the topmost mount. */
static __always_inline bool path_cross_mount(struct dentry **dentry, struct vfsmount **mnt)
{
	struct mount *m = path_mount(*mnt), *parent = BPF_CORE_READ(m, mnt_parent);

	if (parent == m)
		return false;
	*dentry = BPF_CORE_READ(m, mnt_mountpoint);
	*mnt = (void *)parent + bpf_core_field_offset(struct mount, mnt);
	return true;
}

struct path_walk {
	struct dentry *dentry, *root;
	struct vfsmount *mnt, *root_mnt;
	char *dst;
	__u32 off;
	bool rooted;		/* the walk reached the root */
};

/* One component, or one mount. Returns 1 at the end. */
static __always_inline long path_step(struct path_walk *w)
{
	struct dentry *dentry = w->dentry, *parent;	/* BPF_CORE_READ() takes none of its own members */
	struct vfsmount *mnt = w->mnt;
	__u32 off = w->off;
	long n;

	if (!dentry || !mnt || off >= PATH_BYTES)
		return 1;
	if (dentry == w->root && mnt == w->root_mnt) {
		w->rooted = true;
		return 1;
	}
	if (dentry == BPF_CORE_READ(mnt, mnt_root))
		return !path_cross_mount(&w->dentry, &w->mnt);
	barrier_var(off); /* else the compiler drops the mask, and older verifiers lose the bound */
	n = bpf_probe_read_kernel_str(w->dst + (off & (PATH_BYTES - 1)), 256, BPF_CORE_READ(dentry, d_name.name));
	if (n <= 0)
		return 1;
	w->off = (off + (n & 0x1ff)) & (2 * PATH_BYTES - 1);
	parent = BPF_CORE_READ(dentry, d_parent);
	if (dentry == parent)
		return 1;
	w->dentry = parent;
	return 0;
}

static long path_turn(__u32 i, struct path_walk *w)
{
	(void)i;
	return path_step(w);
}

/*
 * Writes components of @path, seen from @task's root, to @dst, which has PATH_BYTES + 256 bytes. Returns the bytes
 * written. *ret_rooted: the walk ended at the root. @by_loop, a constant: by bpf_loop(), which a program for kernels
 * without it may not even mention.
 */
static __always_inline __u32 path_parts(struct path *path, struct task_struct *task, char *dst, bool by_loop,
					bool *ret_rooted)
{
	struct path_walk w = {
		.root = BPF_CORE_READ(task, fs, root.dentry), .root_mnt = BPF_CORE_READ(task, fs, root.mnt),
		.mnt = BPF_CORE_READ(path, mnt), .dst = dst,
	}, shared;

	/*
	 * 0, but unknown to the verifier, which assumes any number below the mask, here and after each component. So
	 * all paths to an iteration have equal states; with a growing bound it followed hundreds of them.
	 */
	w.off = bpf_core_read(&w.dentry, sizeof(w.dentry), &path->dentry) & (PATH_BYTES - 1);
	if (by_loop) {
		shared = w;	/* the callback needs it in memory */
		bpf_loop(PATH_MAX_DEPTH, path_turn, &shared, 0);
		*ret_rooted = shared.rooted;
		return shared.off & (2 * PATH_BYTES - 1);
	}
	for (int i = 0; i < PATH_MAX_DEPTH; i++)
		if (path_step(&w))
			break;
	*ret_rooted = w.rooted;
	return w.off;
}

#endif
