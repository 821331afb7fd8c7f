// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rows of the host: addresses of interfaces, users and groups.
 */
#include <grp.h>
#include <ifaddrs.h>
#include <limits.h>
#include <netinet/in.h>
#include <pwd.h>
#include <stdio.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "probes/sys/snapshot/sys_scan.h"
#include "probes/sys/snapshot/sys_scan_tables.h"
#include "scap/schema.h"

#define IFACE_V4 1
#define IFACE_V6 2

static const void *address_of(const struct sockaddr *sa)
{
	static const uint8_t nothing[16];

	if (!sa)
		return nothing;
	return sa->sa_family == AF_INET ? (const void *)&((const struct sockaddr_in *)(const void *)sa)->sin_addr :
					  (const void *)&((const struct sockaddr_in6 *)(const void *)sa)->sin6_addr;
}

static int send_iface(struct scan *s, const struct ifaddrs *a)
{
	bool v4 = a->ifa_addr->sa_family == AF_INET;
	size_t len = v4 ? 4 : 16;

	params_begin(&s->out, SCAP_ROW_IFACE, -1);
	params_add_u16(&s->out, v4 ? IFACE_V4 : IFACE_V6);
	params_add(&s->out, address_of(a->ifa_addr), len);
	params_add(&s->out, address_of(a->ifa_netmask), len);
	params_add(&s->out, address_of(v4 ? a->ifa_broadaddr : NULL), len);
	params_add_u64(&s->out, 0);	/* speed */
	params_add_str(&s->out, a->ifa_name, strlen(a->ifa_name));
	return s->fn(s->ctx, &s->out);
}

static int scan_ifaces(struct scan *s)
{
	static const int order[] = { AF_INET, AF_INET6 };
	struct ifaddrs *all;
	int r = 0;

	if (getifaddrs(&all) < 0)
		return 0;
	for (size_t i = 0; i < 2; i++)
		for (struct ifaddrs *a = all; r >= 0 && a; a = a->ifa_next)
			if (a->ifa_addr && a->ifa_addr->sa_family == order[i])
				r = send_iface(s, a);
	freeifaddrs(all);
	return r;
}

static FILE *open_list(const struct scan *s, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/etc/%s", s->host_root, name);
	return fopen(path, "re");
}

static int scan_users(struct scan *s)
{
	_cleanup_fclose_ FILE *f = open_list(s, "passwd");
	struct passwd *u;
	int r = 0;

	while (f && r >= 0 && (u = fgetpwent(f))) {
		params_begin(&s->out, SCAP_ROW_USER, -1);
		params_add_u32(&s->out, u->pw_uid);
		params_add_u32(&s->out, u->pw_gid);
		params_add_str(&s->out, u->pw_name, strlen(u->pw_name));
		params_add_str(&s->out, u->pw_dir, strlen(u->pw_dir));
		params_add_str(&s->out, u->pw_shell, strlen(u->pw_shell));
		r = s->fn(s->ctx, &s->out);
	}
	return r;
}

static int scan_groups(struct scan *s)
{
	_cleanup_fclose_ FILE *f = open_list(s, "group");
	struct group *g;
	int r = 0;

	while (f && r >= 0 && (g = fgetgrent(f))) {
		params_begin(&s->out, SCAP_ROW_GROUP, -1);
		params_add_u32(&s->out, g->gr_gid);
		params_add_str(&s->out, g->gr_name, strlen(g->gr_name));
		r = s->fn(s->ctx, &s->out);
	}
	return r;
}

int sys_scan_host(struct scan *s)
{
	int r = scan_ifaces(s);

	if (r >= 0)
		r = scan_users(s);
	return r >= 0 ? scan_groups(s) : r;
}
