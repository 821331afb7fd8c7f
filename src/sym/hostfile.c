// SPDX-License-Identifier: GPL-2.0-or-later
#include "sym/hostfile.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "elf/mapped_file.h"
#include "sym/symbolizer.h"

void hostfile_set_open(struct sym *s, int (*open)(void *ctx, const char *path), void *ctx)
{
	s->open_path = open;
	s->open_ctx = ctx;
}

int hostfile_open(const struct sym *s, const char *path)
{
	return s->open_path ? s->open_path(s->open_ctx, path) : mapped_file_open_at(s->root_fd, path, false);
}

int hostfile_open_elf(const struct sym *s, const char *path)
{
	static const char magic[] = "\177ELF";
	_cleanup_close_ int fd = mapped_file_open_at(s->root_fd, path, false);
	char head[sizeof(magic) - 1];

	if (fd < 0)
		return fd;
	if (pread(fd, head, sizeof(head), 0) != sizeof(head) || memcmp(head, magic, sizeof(head)) != 0)
		return -ENOEXEC;
	return TAKE_FD(fd);
}

int hostfile_root_fd(const struct sym *s)
{
	return s->root_fd;
}
