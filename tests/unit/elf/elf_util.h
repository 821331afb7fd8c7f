/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by the tests of the object file readers: programs built by the installed tools, in a temporary folder.
 */
#ifndef TESTS_ELF_UTIL_H
#define TESTS_ELF_UTIL_H

#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char util_dir[64];

static inline int util_setup(void **state)
{
	(void)state;
	snprintf(util_dir, sizeof(util_dir), "/tmp/sonde-elf-XXXXXX");
	return mkdtemp(util_dir) ? 0 : -1;
}

/* Runs a shell command in the folder, silently; true if it exits with 0. */
__attribute__((format(printf, 1, 2))) static inline bool util_sh(const char *fmt, ...)
{
	char cmd[2048], full[2400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(cmd, sizeof(cmd), fmt, ap);
	va_end(ap);
	snprintf(full, sizeof(full), "cd %s && (%s) >/dev/null 2>&1", util_dir, cmd);
	return system(full) == 0;
}

static inline int util_teardown(void **state)
{
	(void)state;
	return util_sh("rm -rf %s", util_dir) ? 0 : -1;
}

static inline const char *util_path(const char *name)
{
	static char path[4][512];
	static unsigned next;
	char *p = path[next++ % 4];

	snprintf(p, sizeof(path[0]), "%s%s%s", name[0] == '/' ? "" : util_dir, name[0] == '/' ? "" : "/", name);
	return p;
}

static inline int util_open(const char *name)
{
	return open(util_path(name), O_RDONLY | O_CLOEXEC);
}

static inline void util_write(const char *name, const void *data, size_t len)
{
	FILE *f = fopen(util_path(name), "we");

	if (!f || fwrite(data, 1, len, f) != len || fclose(f) != 0)
		abort();
}

/* The whole file; the caller frees it. */
static inline char *util_read(const char *name, size_t *ret_len)
{
	FILE *f = fopen(util_path(name), "re");
	char *data = NULL;
	size_t len = 0, n;

	*ret_len = 0;
	if (!f)
		return NULL;
	do {
		data = realloc(data, len + 65536 + 1);
		n = fread(data + len, 1, 65536, f);
		len += n;
	} while (n);
	fclose(f);
	data[len] = '\0';
	*ret_len = len;
	return data;
}

#endif
