// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names of headers.
 */
#include "probes/gorpc/gorpc_header.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/macros.h"
#include "probes/gorpc/gorpc_wire.h"

const struct gorpc_header_name gorpc_headers[] = {
	{ ":path", GORPC_H_PATH },
	{ ":method", GORPC_H_METHOD },
	{ ":authority", GORPC_H_AUTHORITY },
	{ ":status", GORPC_H_STATUS },
	{ "content-type", GORPC_H_CONTENT_TYPE },
	{ "user-agent", GORPC_H_USER_AGENT },
	{ "grpc-status", GORPC_H_GRPC_STATUS },
	{ "grpc-message", GORPC_H_GRPC_MESSAGE },
	{ "grpc-timeout", GORPC_H_GRPC_TIMEOUT },
	{ "traceparent", GORPC_H_TRACEPARENT },
};
const unsigned gorpc_n_headers = ARRAY_SIZE(gorpc_headers);

bool gorpc_header_is_secret(const char *name)
{
	static const char *const whole[] = {
		"authorization", "proxy-authorization", "cookie", "set-cookie", "authentication-info",
	};
	static const char *const parts[] = {
		"token", "secret", "password", "passwd", "api-key", "apikey", "credential", "session", "-auth",
		"signature",
	};
	char lower[128];
	size_t i;

	for (i = 0; name[i] && i < sizeof(lower) - 1; i++)
		lower[i] = (char)tolower((unsigned char)name[i]);
	lower[i] = 0;
	for (i = 0; i < ARRAY_SIZE(whole); i++)
		if (!strcmp(lower, whole[i]))
			return true;
	for (i = 0; i < ARRAY_SIZE(parts); i++)
		if (strstr(lower, parts[i]))
			return true;
	return false;
}
