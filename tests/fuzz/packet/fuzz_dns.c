// SPDX-License-Identifier: GPL-2.0-or-later
/* DNS answers: names have nothing but letters of host names, addresses are whole, and a cut answer says no more. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "packet/dns.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dns_answer a, cut;

	if (dns_answer_parse(data, size, &a) < 0)
		return 0;
	if (!a.name[0] || strlen(a.name) > DNS_NAME_MAX || a.n > DNS_ADDRESSES_MAX ||
	    a.name[strspn(a.name, "abcdefghijklmnopqrstuvwxyz0123456789-_.")])
		abort();
	for (unsigned i = 0; i < a.n; i++)
		if (a.addresses[i].family != 4 && a.addresses[i].family != 6)
			abort();
	if (dns_answer_parse(data, size / 2, &cut) == 0 && (cut.n > a.n || strcmp(cut.name, a.name) != 0))
		abort();
	return 0;
}
