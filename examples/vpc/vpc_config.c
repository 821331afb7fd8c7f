/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the file of the example network: a keyword, then its values.
 */
#include "vpc_config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define MAX_WORDS 8

/* A line, split into words; the getters below return 0 or a negative errno. */
struct line {
	char *word[MAX_WORDS];
	int n;
};

static int get_ip(const char *s, __u32 *ret)
{
	return inet_pton(AF_INET, s, ret) == 1 ? 0 : -EINVAL;
}

static int get_mac(const char *s, __u8 *ret)
{
	char rest;

	return sscanf(s, "%2hhx:%2hhx:%2hhx:%2hhx:%2hhx:%2hhx%c", &ret[0], &ret[1], &ret[2], &ret[3], &ret[4],
		      &ret[5], &rest) == 6 ? 0 : -EINVAL;
}

static int get_number(const char *s, unsigned long max, unsigned long *ret)
{
	char *end;

	errno = 0;
	*ret = strtoul(s, &end, 10);
	return !errno && *s && !*end && *ret <= max ? 0 : -EINVAL;
}

static int get_iface(const char *s, __u32 *ret)
{
	*ret = if_nametoindex(s);
	return *ret ? 0 : -ENODEV;
}

static int iface_mac(const char *name, __u8 *ret)
{
	struct ifreq req = {};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), r;

	if (fd < 0)
		return -errno;
	snprintf(req.ifr_name, sizeof(req.ifr_name), "%s", name);
	r = ioctl(fd, SIOCGIFHWADDR, &req) ? -errno : 0;
	memcpy(ret, req.ifr_hwaddr.sa_data, 6);
	close(fd);
	return r;
}

/* "tcp/80", "udp/53", "icmp" */
static int get_service(const char *s, struct vpc_rule_key *ret)
{
	static const struct { const char *name; __u8 proto; } protos[] = { { "tcp/", 6 }, { "udp/", 17 } };
	unsigned long port;

	if (!strcmp(s, "icmp")) {
		ret->proto = 1;
		return 0;
	}
	for (size_t i = 0; i < sizeof(protos) / sizeof(*protos); i++)
		if (!strncmp(s, protos[i].name, 4)) {
			ret->proto = protos[i].proto;
			if (get_number(s + 4, 65535, &port) || !port)
				return -EINVAL;
			ret->dst_port = port;
			return 0;
		}
	return -EINVAL;
}

/* ---- lines ---- */

static int line_gateway(struct vpc_config *c, const struct line *l)
{
	return get_ip(l->word[1], &c->gateway_ip) ?: get_mac(l->word[2], c->gateway_mac);
}

static int line_endpoint(struct vpc_config *c, const struct line *l)
{
	struct vpc_endpoint *e = &c->endpoints[c->n_endpoints];
	unsigned long id, identity;
	int r;

	if (c->n_endpoints == VPC_MAX)
		return -E2BIG;
	r = get_iface(l->word[1], &e->ifindex) ?: get_ip(l->word[2], &e->ip) ?: get_mac(l->word[3], e->mac) ?:
	    get_number(l->word[4], 65535, &id) ?: get_number(l->word[5], 0xffffffff, &identity);
	if (r)
		return r;
	e->id = id;
	e->identity = identity;
	c->n_endpoints++;
	return 0;
}

static int line_rule(struct vpc_config *c, const struct line *l)
{
	struct vpc_rule_key *k = &c->rule_keys[c->n_rules];
	int r;

	if (c->n_rules == VPC_MAX)
		return -E2BIG;
	r = get_ip(l->word[1], &k->dst_ip) ?: get_service(l->word[2], k);
	if (r)
		return r;
	c->rules[c->n_rules].action = !strcmp(l->word[0], "allow") ? VPC_ALLOW :
				      !strcmp(l->word[0], "audit") ? VPC_AUDIT : VPC_DENY;
	c->rules[c->n_rules].cookie = c->n_rules + 1;
	c->n_rules++;
	return 0;
}

static int line_uplink(struct vpc_config *c, const struct line *l)
{
	return get_iface(l->word[1], &c->uplink.ifindex) ?: iface_mac(l->word[1], c->uplink.mac) ?:
	       get_ip(l->word[2], &c->uplink.ip) ?: get_mac(l->word[3], c->uplink.next_mac);
}

static int line_service(struct vpc_config *c, const struct line *l)
{
	struct vpc_service *s = c->services[c->n_services];
	unsigned long port[2];
	int r;

	if (c->n_services == VPC_MAX)
		return -E2BIG;
	r = get_ip(l->word[1], &s[0].ip) ?: get_number(l->word[2], 65535, &port[0]) ?:
	    get_ip(l->word[3], &s[1].ip) ?: get_number(l->word[4], 65535, &port[1]);
	if (r)
		return r;
	for (int i = 0; i < 2; i++)
		s[i].port = htons(port[i]);
	c->n_services++;
	return 0;
}

static int line_capture(struct vpc_config *c, const struct line *l)
{
	unsigned long port;
	int r = get_number(l->word[1], 65535, &port);

	c->capture_port = port;
	return r;
}

static int line_tour(struct vpc_config *c, const struct line *l)
{
	unsigned long port;
	int r = get_number(l->word[1], 65535 - 255, &port);

	c->tour_port = port;
	return r;
}

static int line_cgroup(struct vpc_config *c, const struct line *l)
{
	return snprintf(c->cgroup, sizeof(c->cgroup), "%s", l->word[1]) < (int)sizeof(c->cgroup) ? 0 : -ENAMETOOLONG;
}

static const struct {
	const char *word, *usage;
	int n;
	int (*take)(struct vpc_config *c, const struct line *l);
} kinds[] = {
	{ "gateway", "gateway ADDRESS MAC", 3, line_gateway },
	{ "endpoint", "endpoint INTERFACE ADDRESS MAC ID IDENTITY", 6, line_endpoint },
	{ "allow", "allow ADDRESS tcp/PORT|udp/PORT|icmp", 3, line_rule },
	{ "audit", "audit ADDRESS tcp/PORT|udp/PORT|icmp", 3, line_rule },
	{ "deny", "deny ADDRESS tcp/PORT|udp/PORT|icmp", 3, line_rule },
	{ "uplink", "uplink INTERFACE ADDRESS NEXT-MAC", 4, line_uplink },
	{ "service", "service ADDRESS PORT ADDRESS PORT", 5, line_service },
	{ "capture", "capture PORT", 2, line_capture },
	{ "tour", "tour PORT", 2, line_tour },
	{ "cgroup", "cgroup FOLDER", 2, line_cgroup },
};

static void split(char *text, struct line *ret)
{
	char *save = NULL;

	text[strcspn(text, "#\n")] = '\0';
	ret->n = 0;
	for (char *w = strtok_r(text, " \t", &save); w && ret->n < MAX_WORDS; w = strtok_r(NULL, " \t", &save))
		ret->word[ret->n++] = w;
}

static int take_line(struct vpc_config *c, const struct line *l, const char *path, int at)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		int r = -EINVAL;

		if (strcmp(l->word[0], kinds[i].word))
			continue;
		if (l->n == kinds[i].n)
			r = kinds[i].take(c, l);
		if (r == -EINVAL)
			fprintf(stderr, "vpc: %s:%d: a line of this kind is: %s\n", path, at, kinds[i].usage);
		else if (r)
			fprintf(stderr, "vpc: %s:%d: %s\n", path, at, strerror(-r));
		return r;
	}
	fprintf(stderr, "vpc: %s:%d: '%s' is no kind of line; there are gateway, endpoint, allow, audit, deny,"
		" uplink, service, capture, tour, cgroup\n", path, at, l->word[0]);
	return -EINVAL;
}

int vpc_config_read(const char *path, struct vpc_config *ret)
{
	FILE *f = fopen(path, "re");
	char text[512];
	int r = 0;

	if (!f) {
		r = -errno;
		fprintf(stderr, "vpc: %s: %s\n", path, strerror(-r));
		return r;
	}
	memset(ret, 0, sizeof(*ret));
	for (int at = 1; !r && fgets(text, sizeof(text), f); at++) {
		struct line l;

		split(text, &l);
		if (l.n)
			r = take_line(ret, &l, path, at);
	}
	fclose(f);
	return r;
}
