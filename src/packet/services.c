// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Port names for filters: the commonly used entries of IANA's registry. Reads no file.
 */
#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "packet/names.h"

static const struct {
	const char *name;
	uint16_t port;
} services[] = {
	{ "echo", 7 }, { "discard", 9 }, { "daytime", 13 }, { "ftp-data", 20 }, { "ftp", 21 }, { "ssh", 22 },
	{ "telnet", 23 }, { "smtp", 25 }, { "time", 37 }, { "domain", 53 }, { "bootps", 67 }, { "bootpc", 68 },
	{ "tftp", 69 }, { "finger", 79 }, { "http", 80 }, { "www", 80 }, { "kerberos", 88 }, { "pop3", 110 },
	{ "sunrpc", 111 }, { "auth", 113 }, { "nntp", 119 }, { "ntp", 123 }, { "epmap", 135 }, { "netbios-ns", 137 },
	{ "netbios-dgm", 138 }, { "netbios-ssn", 139 }, { "imap2", 143 }, { "imap", 143 }, { "snmp", 161 },
	{ "snmp-trap", 162 }, { "bgp", 179 }, { "irc", 194 }, { "ldap", 389 }, { "https", 443 },
	{ "microsoft-ds", 445 }, { "submissions", 465 }, { "isakmp", 500 }, { "syslog", 514 }, { "printer", 515 },
	{ "submission", 587 }, { "ipp", 631 }, { "ldaps", 636 }, { "domain-s", 853 }, { "rsync", 873 },
	{ "imaps", 993 }, { "pop3s", 995 }, { "socks", 1080 }, { "openvpn", 1194 }, { "ms-sql-s", 1433 },
	{ "radius", 1812 }, { "radius-acct", 1813 }, { "nfs", 2049 }, { "mysql", 3306 }, { "iscsi-target", 3260 },
	{ "sip", 5060 }, { "sip-tls", 5061 }, { "xmpp-client", 5222 }, { "xmpp-server", 5269 }, { "mdns", 5353 },
	{ "postgresql", 5432 }, { "amqps", 5671 }, { "amqp", 5672 }, { "x11", 6000 }, { "redis", 6379 },
	{ "http-alt", 8080 }, { "git", 9418 },
};

int services_port(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(services); i++)
		if (!strcmp(services[i].name, name))
			return services[i].port;
	return -ENOENT;
}
