// SPDX-License-Identifier: GPL-2.0-or-later
#include "call/call_protocol.h"

#define CALL_PARSER(name) extern const struct call_protocol name##_protocol;
#include "call/call_protocols.def"

const struct call_protocol *const call_protocols[] = {
#define CALL_PARSER(name) &name##_protocol,
#include "call/call_protocols.def"
	NULL,
};
