/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hubble's names for numbers of Cilium's datapath: enums of flow.proto as protobuf's JSON spells them. Readers reject
 * names that their release lacks but accept any number, so this uses only names that exist since 1.15 and returns
 * NULL for all others.
 */
#ifndef CILIUM_HUBBLE_H
#define CILIUM_HUBBLE_H

#include <stddef.h>
#include <stdint.h>

const char *hubble_drop_reason(uint8_t code);		/* DropReason: "POLICY_DENIED" */
int hubble_drop_code(const char *name, size_t len);	/* reverse lookup; -ENOENT if unknown */
const char *hubble_point(uint8_t point);		/* TraceObservationPoint: "TO_STACK" */
const char *hubble_sock_point(uint8_t point);		/* SocketTranslationPoint */
const char *hubble_capture_point(uint8_t code);		/* DebugCapturePoint */
const char *hubble_trace_reason(uint8_t reason);	/* TraceReason; NULL also for "unknown" */
const char *hubble_verdict(uint64_t number);		/* Verdict: "FORWARDED" */

/* Numbers of flow.proto by its names; 0 = unknown. */
uint8_t hubble_trace_reason_number(const char *name);
uint8_t hubble_verdict_number(const char *name);

#endif
