// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * /proc/self/maps gives its address and length (vdso(7)); the image itself does not record its length.
 */
#include "sym/vdso.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"

static const void *find(size_t *ret_len)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/self/maps", "re");
	unsigned long long start, end;
	char line[512];

	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, "[vdso]") && sscanf(line, "%llx-%llx ", &start, &end) == 2 && end > start) {
			*ret_len = (size_t)(end - start);
			return (const void *)(uintptr_t)start;
		}
	*ret_len = 0;
	return NULL;
}

size_t vdso_len(void)
{
	size_t len;

	find(&len);
	return len;
}

int vdso_open(void)
{
	size_t len;
	const void *image = find(&len);
	_cleanup_close_ int fd = -1;

	if (!image)
		return -ENOENT;
	fd = memfd_create("sonde-vdso", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, image, len) != (ssize_t)len)
		return -EIO;
	return TAKE_FD(fd);
}
