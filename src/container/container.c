// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Cgroup paths of container engines. An id is 64 hex digits: a whole path component, or between the engine's
 * prefix and ".scope":
 *
 *   /docker/ID  /system.slice/docker-ID.scope				docker
 *   /machine.slice/libpod-ID.scope/container				podman
 *   /kubepods.slice/.../cri-containerd-ID.scope  /kubepods/.../podUID/ID	containerd and Kubernetes
 *   .../kubepods-podUID.slice:cri-containerd:ID			same, cgroupfs driver
 *   /kubepods.slice/.../crio-ID.scope					cri-o
 *   /default/ID  /namespace/ID						containerd alone
 *   /lxc/NAME  /lxc.payload.NAME  /machine.slice/systemd-nspawn@NAME.service	names instead of ids
 *
 * Containers nest: the innermost id counts.
 */
#include "container/container.h"

#include <string.h>

#include "base/macros.h"
#include "base/str.h"

#define ID_DIGITS 64

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

static bool starts(const char *s, size_t len, const char *prefix)
{
	return len >= strlen(prefix) && !memcmp(s, prefix, strlen(prefix));
}

static bool ends(const char *s, size_t len, const char *suffix)
{
	size_t n = strlen(suffix);

	return len >= n && !memcmp(s + len - n, suffix, n);
}

/* Engine monitors and pause processes have scopes named like those of containers. */
static bool is_helper(const char *s, size_t len)
{
	return starts(s, len, "libpod-conmon-") || starts(s, len, "crio-conmon-");
}

static bool id_of_engine(const char *s, size_t len, char *ret_id)
{
	if (ends(s, len, ".scope"))
		len -= strlen(".scope");
	if (len < ID_DIGITS || is_helper(s, len))
		return false;
	if (len > ID_DIGITS && s[len - ID_DIGITS - 1] != '-' && s[len - ID_DIGITS - 1] != ':')
		return false;
	for (size_t i = len - ID_DIGITS; i < len; i++)
		if (!is_hex(s[i]))
			return false;
	return str_copy(ret_id, CONTAINER_ID_MAX, s + len - ID_DIGITS, ID_DIGITS);
}

static bool copy_name(const char *s, size_t len, char *ret_id)
{
	return len && str_copy(ret_id, CONTAINER_ID_MAX, s, len);
}

/* @parent: the preceding component, possibly empty. */
static bool id_by_name(const char *parent, size_t parent_len, const char *s, size_t len, char *ret_id)
{
	static const struct { const char *prefix, *suffix; } forms[] = {
		{ "lxc.payload.", "" }, { "systemd-nspawn@", ".service" },
	};

	if ((parent_len == 3 && starts(parent, parent_len, "lxc")) ||
	    (parent_len == 11 && starts(parent, parent_len, "lxc.payload")))
		return copy_name(s, len, ret_id);
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		size_t before = strlen(forms[i].prefix), after = strlen(forms[i].suffix);

		if (len > before + after && starts(s, len, forms[i].prefix) && ends(s, len, forms[i].suffix))
			return copy_name(s + before, len - before - after, ret_id);
	}
	return false;
}

bool container_from_cgroup(const char *path, char ret_id[CONTAINER_ID_MAX])
{
	const char *parent = "", *s = path;
	size_t parent_len = 0;
	bool found = false;

	while (*s) {
		size_t len = strcspn(s, "/");

		if (len && (id_of_engine(s, len, ret_id) || id_by_name(parent, parent_len, s, len, ret_id)))
			found = true;
		if (len) {
			parent = s;
			parent_len = len;
		}
		s += len + (s[len] == '/');
	}
	return found;
}

#define UID_LEN 36	/* of a UUID; of static pods 32 hex digits */

/* A systemd slice has "_" in the place of "-", which separates its parents. */
static bool pod_uid(const char *s, size_t len, char *ret_uid)
{
	size_t n = 0;

	if (ends(s, len, ".slice"))
		len -= strlen(".slice");
	while (n < len && (is_hex(s[n]) || s[n] == '-' || s[n] == '_'))
		n++;
	if (n != len || (len != UID_LEN && len != 32))
		return false;
	for (size_t i = 0; i < len; i++)
		ret_uid[i] = (char)(s[i] == '_' ? '-' : s[i]);
	ret_uid[len] = '\0';
	return true;
}

bool container_pod_of_cgroup(const char *path, char ret_uid[CONTAINER_POD_UID_MAX])
{
	const char *pods = strstr(path, "/kubepods");
	bool found = false;

	for (const char *s = pods; s && *s; s += strcspn(s, "/")) {
		size_t len;

		s += *s == '/';
		len = strcspn(s, "/:");
		for (size_t i = 0; i + 3 < len; i++)
			if (!memcmp(s + i, "pod", 3) && (!i || s[i - 1] == '-'))
				found = found || pod_uid(s + i + 3, len - i - 3, ret_uid);
	}
	return found;
}
