/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The example network as its file describes it; README.md has the words. Knows nothing of BPF.
 */
#ifndef VPC_CONFIG_H
#define VPC_CONFIG_H

#include <stddef.h>

#include "vpc_wire.h"

#define VPC_MAX 256	/* limit for each of endpoints, rules, services */

struct vpc_config {
	__u32 gateway_ip;
	__u8 gateway_mac[6];
	struct vpc_uplink uplink;
	__u16 capture_port, tour_port;
	char cgroup[256];	/* "" = no services */
	struct vpc_endpoint endpoints[VPC_MAX];
	struct vpc_rule_key rule_keys[VPC_MAX];
	struct vpc_rule rules[VPC_MAX];
	struct vpc_service services[VPC_MAX][2];	/* what is asked for, what it stands for */
	size_t n_endpoints, n_rules, n_services;
};

/* 0, or a negative errno after a sentence on standard error that names the line. */
int vpc_config_read(const char *path, struct vpc_config *ret);

#endif
