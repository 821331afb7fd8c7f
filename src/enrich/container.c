// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Docker, containerd, podman and cri-o all name a container's cgroup by 64 hexadecimal digits, alone or
 * between a prefix that ends in '-' and ".scope". The innermost such component is the container; LXC uses
 * "lxc.payload.NAME" (or "lxc/NAME").
 */
#include "enrich/container.h"

#include <string.h>

#define ID_DIGITS 64

static size_t hex_digits(const char *s, size_t len)
{
	size_t n = 0;

	while (n < len && strchr("0123456789abcdef", s[n]))
		n++;
	return n;
}

static size_t id_in_component(const char *s, size_t len, const char **ret)
{
	static const char lxc[] = "lxc.payload.";
	const char *dash = memrchr(s, '-', len);

	if (len > sizeof(lxc) - 1 && !memcmp(s, lxc, sizeof(lxc) - 1)) {
		*ret = s + sizeof(lxc) - 1;
		return len - (sizeof(lxc) - 1);
	}
	if (len > 6 && !memcmp(s + len - 6, ".scope", 6))
		len -= 6;
	if (dash && dash + 1 < s + len) {
		len -= (size_t)(dash + 1 - s);
		s = dash + 1;
	}
	if (len != ID_DIGITS || hex_digits(s, len) != len)
		return 0;
	*ret = s;
	return len;
}

size_t container_id(const char *path, const char **ret)
{
	const char *id = NULL;
	size_t found = 0;

	while (*path) {
		size_t len = strcspn(path, "/"), n = id_in_component(path, len, &id);

		if (n) {
			*ret = id;
			found = n;
		}
		path += len + (path[len] == '/');
	}
	return found;
}
