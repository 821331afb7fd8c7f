// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A file is compared byte by byte with the kernel's BTF. If the kernel does not provide it (before 5.11, or without
 * CAP_SYS_ADMIN), ids are compared: a program that attaches to a tracepoint by an id of the file must load, and the
 * kernel must report the tracepoint's name in the file.
 */
#include "btf/kernel_btf.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"

#define TRACEPOINT "btf_trace_"
#define ID_CHECKS 5		/* tracepoints to compare, spread over the file */

DEFINE_CLEANUP(struct btf *, btf__free)

static const struct bpf_insn nothing[] = {
	{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
	{ .code = BPF_JMP | BPF_EXIT },
};

/* ---- kernel ---- */

static bool is_of_vmlinux(uint32_t id)
{
	_cleanup_close_ int fd = bpf_btf_get_fd_by_id(id);
	char name[16] = "";
	struct bpf_btf_info info = { .name = (uintptr_t)name, .name_len = sizeof(name) };
	uint32_t len = sizeof(info);

	return fd >= 0 && bpf_btf_get_info_by_fd(fd, &info, &len) == 0 && info.kernel_btf && !strcmp(name, "vmlinux");
}

/* Loads a program first: the kernel may assign the id only then. NULL if unavailable. */
static struct btf *from_kernel(uint32_t *ret_id)
{
	_cleanup_close_ int prog = bpf_prog_load(BPF_PROG_TYPE_SOCKET_FILTER, "sonde_nothing", "GPL", nothing,
						 ARRAY_SIZE(nothing), NULL);
	uint32_t id = 0;

	while (bpf_btf_get_next_id(id, &id) == 0)
		if (is_of_vmlinux(id)) {
			*ret_id = id;
			return btf__load_from_kernel_by_id(id);
		}
	return NULL;
}

/* ---- file ---- */

int kernel_btf_read(const char *file, struct btf **ret, struct err *err)
{
	_cleanup_close_ int fd = open(file, O_RDONLY | O_CLOEXEC);
	struct btf *types;

	if (fd < 0)
		return err_errno(err, -errno, "cannot open %s", file);
	types = btf__parse(file, NULL);
	if (!types)
		return err_set(err, -EBADMSG, "%s holds no BTF: name a copy of " KERNEL_BTF ", or a vmlinux with a "
			       "section .BTF", file);
	*ret = types;
	return 0;
}

static bool is_tracepoint(const struct btf *types, uint32_t id)
{
	const struct btf_type *t = btf__type_by_id(types, id);

	return btf_is_typedef(t) &&
	       !strncmp(btf__name_by_offset(types, t->name_off), TRACEPOINT, strlen(TRACEPOINT));
}

static uint32_t count_tracepoints(const struct btf *types)
{
	const uint32_t end = btf__type_cnt(types);
	uint32_t n = 0;

	for (uint32_t id = 1; id < end; id++)
		n += is_tracepoint(types, id);
	return n;
}

/* True if type @id of the file is the same tracepoint in the kernel. False, too, without the right to load. */
static bool same_tracepoint(const struct btf *types, uint32_t id)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_RAW_TP, .attach_btf_id = id);
	_cleanup_close_ int prog = bpf_prog_load(BPF_PROG_TYPE_TRACING, "sonde_nothing", "GPL", nothing,
						 ARRAY_SIZE(nothing), &opts);
	_cleanup_close_ int link = prog < 0 ? -errno : bpf_raw_tracepoint_open(NULL, prog);
	const char *name = btf__name_by_offset(types, btf__type_by_id(types, id)->name_off) + strlen(TRACEPOINT);
	char real[128] = "";
	struct bpf_link_info info = {
		.raw_tracepoint = { .tp_name = (uintptr_t)real, .tp_name_len = sizeof(real) },
	};
	uint32_t len = sizeof(info);

	if (link < 0)
		return prog == -EPERM || prog == -EACCES;
	return bpf_link_get_info_by_fd(link, &info, &len) == 0 && !strcmp(real, name);
}

static bool same_ids(const struct btf *types)
{
	const uint32_t n = count_tracepoints(types), end = btf__type_cnt(types);
	const uint32_t step = MAX(n / ID_CHECKS, 1u);
	uint32_t at = 0;

	for (uint32_t id = 1; id < end; id++)
		if (is_tracepoint(types, id) && (++at % step == 0 || at == 1 || at == n) &&
		    !same_tracepoint(types, id))
			return false;
	return n > 0;
}

static bool same_bytes(const struct btf *a, const struct btf *b)
{
	uint32_t len_a, len_b;
	const void *raw_a = btf__raw_data(a, &len_a), *raw_b = btf__raw_data(b, &len_b);

	return raw_a && raw_b && len_a == len_b && !memcmp(raw_a, raw_b, len_a);
}

int kernel_btf_check(const char *file, const struct btf *types, const struct btf *kernel, struct err *err)
{
	struct utsname u = { 0 };

	if (kernel ? same_bytes(types, kernel) : same_ids(types))
		return 0;
	uname(&u);
	return err_set(err, -ESTALE, "%s describes another kernel than the running %s: name a copy of that kernel's "
		       KERNEL_BTF, file, u.release);
}

/* ---- choice ---- */

static int take_file(const char *file, const struct btf *kernel, struct kernel_btf *ret, struct err *err)
{
	_cleanup_(btf__freep) struct btf *types = NULL;
	int r = kernel_btf_read(file, &types, err);

	if (r >= 0)
		r = kernel_btf_check(file, types, kernel, err);
	if (r < 0)
		return r;
	snprintf(ret->source, sizeof(ret->source), "%s", file);
	ret->types = TAKE_PTR(types);
	return 0;
}

static int find_in_sysfs(const char *file, struct kernel_btf *ret, struct err *err)
{
	_cleanup_(btf__freep) struct btf *kernel = file ? btf__parse_raw(KERNEL_BTF) : NULL;
	int r = kernel ? take_file(file, kernel, ret, err) : 0;

	if (r < 0)
		return r;
	if (!kernel)
		snprintf(ret->source, sizeof(ret->source), KERNEL_BTF);
	btf__free(TAKE_PTR(ret->types));	/* equal to those in sysfs, which libbpf reads */
	return 0;
}

static int find_elsewhere(const char *file, struct kernel_btf *ret, struct err *err)
{
	uint32_t id = 0;
	_cleanup_(btf__freep) struct btf *kernel = from_kernel(&id), *on_disk = NULL;

	if (file)
		return take_file(file, kernel, ret, err);
	if (kernel) {
		snprintf(ret->source, sizeof(ret->source), "the kernel by id %u", id);
		ret->types = TAKE_PTR(kernel);
		return 0;
	}
	on_disk = btf__load_vmlinux_btf();
	if (on_disk)
		snprintf(ret->source, sizeof(ret->source), "a copy in /boot or /lib/modules");
	return 0;
}

int kernel_btf_find(const char *file, struct kernel_btf *ret, struct err *err)
{
	*ret = (struct kernel_btf){ 0 };
	return access(KERNEL_BTF, R_OK) == 0 ? find_in_sysfs(file, ret, err) : find_elsewhere(file, ret, err);
}
