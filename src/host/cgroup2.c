// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Format: proc(5), /proc/PID/mountinfo.
 */
#include "host/cgroup2.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define MOUNT_ROOT 3	/* columns of mountinfo, from 0: root within the file system, mount point */
#define MOUNT_POINT 4

/* mountinfo escapes blanks and backslashes as \ooo. */
static void unescape(char *s)
{
	char *out = s;

	while (*s) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] && s[3]) {
			*out++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
			s += 4;
		} else {
			*out++ = *s++;
		}
	}
	*out = '\0';
}

/* Is @word one of the options, separated by commas? */
static bool has_option(const char *options, const char *word)
{
	const size_t len = strlen(word);

	for (const char *at = options; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (!strncmp(at, word, len) && strchr(",\n", at[len]))
			return true;
	}
	return false;
}

/* The part of the line behind the separator: "cgroup2 cgroup2 rw", "cgroup cgroup rw,cpu,cpuacct". */
static bool is_selected(const char *type, const char *controller)
{
	const char *options = strrchr(type, ' ');

	if (!controller)
		return !strncmp(type, "cgroup2 ", 8);
	return !strncmp(type, "cgroup ", 7) && options && has_option(options + 1, controller);
}

/* @controller NULL: cgroup2. */
static char *find_mount(const char *host_root, const char *controller)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/self/mountinfo", "re");
	_cleanup_free_ char *line = NULL;
	size_t cap = 0;

	while (f && getline(&line, &cap, f) > 0) {
		char *sep = strstr(line, " - "), *save = NULL, *word = NULL;

		if (!sep || !is_selected(sep + 3, controller))
			continue;
		for (int i = 0; i <= MOUNT_POINT; i++) {
			word = strtok_r(i ? NULL : line, " ", &save);
			if (!word || (i == MOUNT_ROOT && strcmp(word, "/") != 0)) {
				word = NULL;
				break;
			}
		}
		if (!word)
			continue;
		unescape(word);
		if (!strncmp(word, host_root, strlen(host_root)))
			return strdup(word);
	}
	return NULL;
}

char *cgroup2_mount(const char *host_root)
{
	return find_mount(host_root, NULL);
}

char *cgroup2_mount_v1(const char *host_root, const char *controller)
{
	return find_mount(host_root, controller);
}

int cgroup2_open(const char *host_root)
{
	_cleanup_free_ char *mount = cgroup2_mount(host_root);
	int fd = mount ? open(mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	if (!mount)
		return -ENOENT;
	return fd < 0 ? -errno : fd;
}
