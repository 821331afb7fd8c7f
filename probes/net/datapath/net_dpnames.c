// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/net/datapath/net_dpnames.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "cilium/names.h"
#include "probe/env.h"
#include "probe/probe.h"
#include "sonde/foreign_wire.h"

#define TABLE_MAX (1u << 20)

static int emit(struct probe *p, enum net_dpname_kind kind, uint32_t number, const char *name)
{
	if (kind == NET_DPNAME_FILE)
		return probe_env_inject_name(p->env, SONDE_NAME_SOURCE_FILE, number, name);
	return probe_env_inject_name(p->env, SONDE_NAME_DROP_REASON, SONDE_FOREIGN_REASON | number, name);
}

static int emit_cilium(struct probe *p, bool files)
{
	int r = 0;

	for (uint32_t code = 0; r >= 0 && code < 256; code++) {
		const char *name = cilium_names_drop_reason((uint8_t)code), *file = cilium_names_file((uint8_t)code);

		if (name)
			r = emit(p, NET_DPNAME_DROP, code, name);
		if (r >= 0 && files && file)
			r = emit(p, NET_DPNAME_FILE, code, file);
	}
	return r;
}

static int emit_row(void *ctx, const struct net_dpname *n)
{
	char name[256];

	snprintf(name, sizeof(name), "%.*s", (int)MIN(n->len, sizeof(name) - 1), n->text);
	return emit(ctx, n->kind, n->number, name);
}

static int read_all(const char *path, struct buf *out, struct err *err)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : 1;

	while (n > 0) {
		void *to = buf_reserve(out, 4096);

		n = to ? read(fd, to, 4096) : -1;
		if (n > 0)
			buf_commit(out, (size_t)n);
		if (out->len > TABLE_MAX)
			return err_set(err, -EFBIG, "%s: no table of names is longer than 1 MiB", path);
	}
	return n < 0 ? err_errno(err, buf_error(out) ? -ENOMEM : -errno, "%s", path) : 0;
}

int net_dpnames_emit(struct probe *p, const char *path, struct err *err)
{
	_cleanup_(buf_fini) struct buf text = { 0 };
	int r;

	if (emit_cilium(p, !path) < 0)
		return err_errno(err, -ENOMEM, "cannot put names into the stream");
	if (!path)
		return 0;
	r = read_all(path, &text, err);
	if (r < 0)
		return r;
	r = net_dpnames_parse(text.data, text.len, emit_row, p, err);
	return r == -EINVAL ? err_prefix(err, "%s", path) : r;
}
