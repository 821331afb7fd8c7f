// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A pipeline over a file gives up all rights before it reads. An opener process then opens files for it (symbol
 * files, next files of a rotated output) and removes the listener's socket.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pipeline/cilium_listener.h"
#include "pipeline/output.h"
#include "pipeline/pipeline_state.h"
#include "base/cleanup.h"
#include "sinks/outfile.h"
#include "sym/sym.h"
#include "worker/opener.h"
#include "worker/worker.h"

#define OPEN_SYMBOLS UINT32_MAX		/* other values: index of an output */

/* Runs in the opener. @name comes from a process that has parsed untrusted input. */
static int open_for(void *ctx, uint32_t what, const char *name)
{
	const struct pipeline *p = ctx;

	if (what == OPEN_SYMBOLS && p->sym)
		return sym_open_elf(p->sym, name);
	if (what >= p->outputs.len || output_folder(p->outputs.items[what]) < 0)
		return -EPERM;
	return outfile_open_below(output_folder(p->outputs.items[what]), name);
}

static int open_symbols(void *ctx, const char *path)
{
	const struct pipeline *p = ctx;

	return opener_open(p->opener, OPEN_SYMBOLS, path);
}

/* Runs in the opener, too. */
static int remove_socket(void *ctx)
{
	const struct pipeline *p = ctx;

	if (p->served_folder)
		return unlinkat(p->served_folder, p->served_name, 0) < 0 ? -errno : 0;
	return cilium_listener_remove_socket(p->listener);
}

static int start_opener(struct pipeline *p, struct err *err)
{
	int fds[WORKER_FDS_MAX + 1], socket_folder = p->served_folder ? p->served_folder :
						     p->listener ? cilium_listener_folder(p->listener) : -1;
	struct opener_opts o = { .open = open_for, .ctx = p, .fds = fds };
	size_t n = 0;

	if (p->sym)
		fds[n++] = sym_root_fd(p->sym);
	if (socket_folder >= 0) {
		o.remove = remove_socket;
		o.remove_fd = fds[n++] = socket_folder;
	}
	for (size_t i = 0; i < p->outputs.len && n < WORKER_FDS_MAX + 1; i++)
		if (output_folder(p->outputs.items[i]) >= 0)
			fds[n++] = output_folder(p->outputs.items[i]);
	o.n_fds = n;
	return n ? opener_start(&o, &p->opener, err) : 0;
}

static void use_opener(struct pipeline *p)
{
	for (size_t i = 0; i < p->outputs.len; i++)
		output_set_opener(p->outputs.items[i], p->opener, (uint32_t)i);
	if (p->sym)
		sym_set_open(p->sym, open_symbols, p);
	if (p->listener)
		cilium_listener_set_opener(p->listener, p->opener);
}

int pipeline_give_up_rights(struct pipeline *p, struct err *err)
{
	int r = 0;

	if (worker_confines() && !p->opener)
		r = start_opener(p, err);
	if (p->opener)
		use_opener(p);
	return r < 0 ? r : worker_confine_self(p->listener || p->accepts, err);
}

void pipeline_set_listener(struct pipeline *p, struct cilium_listener *l)
{
	p->listener = l;
}

int pipeline_set_accepts(struct pipeline *p, const char *path)
{
	_cleanup_free_ char *folder = path ? strdup(path) : NULL;
	char *slash = folder ? strrchr(folder, '/') : NULL;
	const char *name = slash ? path + (slash - folder) + 1 : path;

	p->accepts = true;
	if (!path)
		return 0;
	if (!folder || strlen(name) >= sizeof(p->served_name))
		return folder ? -ENAMETOOLONG : -ENOMEM;
	if (slash)
		slash[slash == folder] = '\0';
	p->served_folder = open(slash ? folder : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (p->served_folder < 0) {
		p->served_folder = 0;
		return -errno;
	}
	memcpy(p->served_name, name, strlen(name) + 1);
	return 0;
}

int pipeline_remove_socket(struct pipeline *p)
{
	if (!p->served_folder)
		return -ENOENT;
	return p->opener ? opener_remove(p->opener) : remove_socket(p);
}

struct opener *pipeline_take_opener(struct pipeline *p)
{
	return TAKE_PTR(p->opener);
}

void pipeline_set_opener(struct pipeline *p, struct opener *opener)
{
	p->opener = opener;
}
