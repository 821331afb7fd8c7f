/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A thread with a root directory of its own, which holds /sys/kernel/btf/vmlinux and nothing else. libbpf reads the
 * kernel's BTF at fixed paths only; where they do not exist, this thread loads the objects. The root directory is a
 * tmpfs that is mounted nowhere: no other thread or process sees it, and it ends with the thread.
 */
#ifndef BTF_BTF_ROOT_H
#define BTF_BTF_ROOT_H

struct btf;
struct btf_root;
struct err;

/*
 * Starts the thread, with a copy of @types and the caller's capabilities. -EPERM without CAP_SYS_CHROOT. Without
 * CAP_SYS_ADMIN the root directory is a folder in /tmp, removed by btf_root_free().
 */
int btf_root_new(const struct btf *types, struct btf_root **ret, struct err *err);
void btf_root_free(struct btf_root *r);	/* NULL is fine */

/*
 * Calls @fn on the thread and returns after it, with the caller's capabilities. Jobs run one at a time. @fn may be
 * NULL: the thread only gives up the capabilities that the caller has given up.
 */
void btf_root_run(struct btf_root *r, void (*fn)(void *ctx), void *ctx);

/* Reads the types again. Owned by the caller; NULL and errno on failure. */
struct btf *btf_root_types(const struct btf_root *r);

#endif
