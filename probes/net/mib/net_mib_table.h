/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of counters (net_mib.def), and their values in the kernel's text. Pure.
 */
#ifndef NET_MIB_TABLE_H
#define NET_MIB_TABLE_H

#include <stddef.h>
#include <stdint.h>

enum net_mib {
#define MIB(name, what) NET_MIB_##name,
#include "probes/net/mib/net_mib.def"
	NET_MIB__MAX,
};

/* Name of nstat, and what was lost; static. */
const char *net_mib_table_name(enum net_mib m);
const char *net_mib_table_what(const char *name, size_t len); /* NULL: not in the table */

/*
 * Values in /proc/net/snmp and netstat: pairs of lines "Udp: NoPorts InErrors", "Udp: 3 0". Values of other counters
 * stay. Returns how many were found.
 */
size_t net_mib_table_pairs(const char *text, size_t len, uint64_t values[static NET_MIB__MAX]);

/* The same of /proc/net/snmp6: lines "Udp6NoPorts 3". */
size_t net_mib_table_lines(const char *text, size_t len, uint64_t values[static NET_MIB__MAX]);

#endif
