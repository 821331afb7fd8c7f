/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What Hubble calls the numbers of Cilium's datapath: the enums of its flow.proto, as the JSON form of protobuf
 * spells them. A reader refuses a name that its release does not have but takes any number, so only names that have
 * been there since 1.15 are used; NULL everywhere else.
 */
#ifndef CILIUM_HUBBLE_H
#define CILIUM_HUBBLE_H

#include <stddef.h>
#include <stdint.h>

const char *hubble_drop_reason(uint8_t code);		/* DropReason: "POLICY_DENIED" */
int hubble_drop_code(const char *name, size_t len);	/* the reverse; -ENOENT */
const char *hubble_point(uint8_t point);		/* TraceObservationPoint: "TO_STACK" */
const char *hubble_sock_point(uint8_t point);		/* SocketTranslationPoint */
const char *hubble_capture_point(uint8_t code);		/* DebugCapturePoint */
const char *hubble_trace_reason(uint8_t reason);	/* TraceReason; NULL also for "unknown" */

#endif
