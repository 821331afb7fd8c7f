// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lines of /proc/PID/maps: "start-end perms offset major:minor inode path".
 */
#include "probes/cpu/cpu_proc_maps.h"

#include <fcntl.h>
#include <errno.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "elf/mapped_file.h"

/* False: nothing that is run. */
static bool parse_line(const char *line, struct cpu_place *ret)
{
	unsigned long long start, end, off, ino;
	unsigned major, minor;
	char perms[5];

	if (sscanf(line, "%llx-%llx %4s %llx %x:%x %llu", &start, &end, perms, &off, &major, &minor, &ino) != 7 ||
	    perms[2] != 'x')
		return false;
	*ret = (struct cpu_place){
		.start = start, .end = end, .off = off, .kind = CPU_PLACE_FILE,
		.key = { .ino = ino, .dev = major << 20 | minor },
	};
	if (ino && ret->key.dev)
		return true;
	ret->kind = strstr(line, "[vdso]") ? CPU_PLACE_VDSO : CPU_PLACE_ANON;
	ret->off = 0;
	ret->key = (struct cpu_file_key){ .ino = ret->kind == CPU_PLACE_VDSO ? CPU_FILE_VDSO : 0 };
	return true;
}

int cpu_proc_maps_read(int proc_fd, uint32_t tgid, size_t max, cpu_place_vec *ret)
{
	_cleanup_fclose_ FILE *f = NULL;
	struct cpu_place place;
	char line[512], path[32];
	int fd;

	snprintf(path, sizeof(path), "%u/maps", tgid);
	fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
	f = fd < 0 ? NULL : fdopen(fd, "r");
	if (!f && fd >= 0)
		close(fd);
	while (f && ret->len < max && fgets(line, sizeof(line), f)) {
		if (!parse_line(line, &place))
			continue;
		if (vec_push(ret, place) < 0)
			return -ENOMEM;
	}
	return 0;
}

int cpu_proc_maps_open(int proc_fd, uint32_t tgid, struct cpu_place *p)
{
	const struct mapped_file where = { .start = p->start, .end = p->end, .ino = p->key.ino };
	_cleanup_close_ int fd = mapped_file_open(proc_fd, tgid, &where);
	int generation = 0;
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	p->key.mtime_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000ull + (uint64_t)st.st_mtim.tv_nsec;
	p->exact = ioctl(fd, FS_IOC_GETVERSION, &generation) == 0;
	p->key.generation = (uint32_t)generation;
	return TAKE_FD(fd);
}
