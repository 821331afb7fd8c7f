/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs the example network: loads its programs, fills their maps, attaches them, pins the maps with events and
 * counters, and removes everything on SIGINT or SIGTERM.
 *
 *   vpc CONFIG FOLDER
 *
 * FOLDER lies below a BPF file system; `sonde monitor --event-map FOLDER/sonde_events` shows the network at work.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "vpc_config.h"

#include "vpc.skel.h"

#define MAX_LINKS (VPC_MAX + 2)

struct vpc {
	struct vpc_bpf *skel;
	struct bpf_link *links[MAX_LINKS];
	size_t n_links;
	const char *folder;
	bool folder_made;
};

static int said(int r, const char *what)
{
	if (r < 0)
		fprintf(stderr, "vpc: %s: %s\n", what, strerror(-r));
	return r;
}

static int quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	return level == LIBBPF_WARN ? vfprintf(stderr, format, args) : 0;
}

static int load(struct vpc *v, const struct vpc_config *c)
{
	v->skel = vpc_bpf__open();
	if (!v->skel)
		return said(-errno, "the programs");
	v->skel->rodata->vpc_gateway_ip = c->gateway_ip;
	memcpy((void *)v->skel->rodata->vpc_gateway_mac, c->gateway_mac, sizeof(c->gateway_mac));
	memcpy((void *)&v->skel->rodata->vpc_uplink, &c->uplink, sizeof(c->uplink));
	v->skel->rodata->vpc_capture_port = c->capture_port;
	v->skel->rodata->vpc_tour_port = c->tour_port;
	bpf_program__set_autoload(v->skel->progs.vpc_connect, c->cgroup[0]);
	return said(vpc_bpf__load(v->skel), "the kernel refused the programs");
}

static int put(struct bpf_map *map, const void *key, const void *value)
{
	return said(bpf_map_update_elem(bpf_map__fd(map), key, value, BPF_ANY), bpf_map__name(map));
}

static int fill(struct vpc *v, const struct vpc_config *c)
{
	int r = 0;

	for (size_t i = 0; !r && i < c->n_endpoints; i++) {
		r = put(v->skel->maps.vpc_by_ip, &c->endpoints[i].ip, &c->endpoints[i]);
		if (!r)
			r = put(v->skel->maps.vpc_by_ifindex, &c->endpoints[i].ifindex, &c->endpoints[i]);
	}
	for (size_t i = 0; !r && i < c->n_rules; i++)
		r = put(v->skel->maps.vpc_rules, &c->rule_keys[i], &c->rules[i]);
	for (size_t i = 0; !r && i < c->n_services; i++)
		r = put(v->skel->maps.vpc_services, &c->services[i][0], &c->services[i][1]);
	return r;
}

static int keep(struct vpc *v, struct bpf_link *link, const char *what)
{
	if (!link)
		return said(-errno, what);
	v->links[v->n_links++] = link;
	return 0;
}

static int attach_cgroup(struct vpc *v, const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), r;

	if (fd < 0)
		return said(-errno, path);
	r = keep(v, bpf_program__attach_cgroup(v->skel->progs.vpc_connect, fd), path);
	close(fd);
	return r;
}

static int attach(struct vpc *v, const struct vpc_config *c)
{
	int r = 0;

	for (size_t i = 0; !r && i < c->n_endpoints; i++)
		r = keep(v, bpf_program__attach_tcx(v->skel->progs.vpc_from_endpoint, c->endpoints[i].ifindex, NULL),
			 "an endpoint's interface");
	if (!r && c->uplink.ifindex)
		r = keep(v, bpf_program__attach_tcx(v->skel->progs.vpc_from_network, c->uplink.ifindex, NULL),
			 "the uplink's interface");
	if (!r && c->cgroup[0])
		r = attach_cgroup(v, c->cgroup);
	return r;
}

static int pin(struct vpc *v, struct bpf_map *map)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", v->folder, bpf_map__name(map));
	return said(bpf_map__pin(map, path), path);
}

static int pin_all(struct vpc *v)
{
	int r;

	if (mkdir(v->folder, 0700))
		return said(-errno, v->folder);
	v->folder_made = true;
	r = pin(v, v->skel->maps.sonde_events);
	return r ? r : pin(v, v->skel->maps.sonde_metrics);
}

static void take_away(struct vpc *v)
{
	for (size_t i = 0; i < v->n_links; i++)
		bpf_link__destroy(v->links[i]);
	if (v->folder_made) {
		bpf_map__unpin(v->skel->maps.sonde_events, NULL);
		bpf_map__unpin(v->skel->maps.sonde_metrics, NULL);
		rmdir(v->folder);
	}
	vpc_bpf__destroy(v->skel);
}

int main(int argc, char **argv)
{
	static struct vpc_config config;
	struct vpc v = { .folder = argc == 3 ? argv[2] : NULL };
	sigset_t end;
	int got, r;

	if (argc != 3) {
		fprintf(stderr, "usage: vpc CONFIG FOLDER\n");
		return 2;
	}
	sigemptyset(&end);
	sigaddset(&end, SIGINT);
	sigaddset(&end, SIGTERM);
	sigprocmask(SIG_BLOCK, &end, NULL);
	libbpf_set_print(quiet);
	if (vpc_config_read(argv[1], &config))
		return 1;
	r = load(&v, &config);
	if (!r)
		r = fill(&v, &config);
	if (!r)
		r = pin_all(&v);
	if (!r)
		r = attach(&v, &config);
	if (!r) {
		printf("vpc: %zu endpoints, %zu rules; events and counters in %s\n", config.n_endpoints,
		       config.n_rules, v.folder);
		fflush(stdout);
		sigwait(&end, &got);
	}
	take_away(&v);
	return r ? 1 : 0;
}
