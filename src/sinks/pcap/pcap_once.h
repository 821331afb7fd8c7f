/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A packet on loopback passes traffic control twice with the same bytes, when it leaves and when it comes in. Files
 * of packets have it once: readers would take the second pass for a retransmission.
 */
#ifndef SINKS_PCAP_ONCE_H
#define SINKS_PCAP_ONCE_H

#include <stdbool.h>
#include <stdint.h>

struct event;

#define PCAP_ONCE_MAX 4096u	/* packets between the two passes */

struct pcap_once {
	uint64_t left[PCAP_ONCE_MAX];	/* hashes of packets that left; 0 = came in since */
	uint64_t n_left;
};

/*
 * sink_ops.repeats: is @ev the incoming pass of a packet that was written? False if the first pass was lost, filtered
 * or not watched. @seen: a struct pcap_once.
 */
bool pcap_once_repeats(void *seen, const struct event *ev);

#endif
