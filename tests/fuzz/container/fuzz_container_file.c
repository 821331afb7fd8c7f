// SPDX-License-Identifier: GPL-2.0-or-later
/* Files of container engines of any bytes: texts end, and hold nothing that a terminal acts on. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "container/container_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const char *s, size_t size)
{
	size_t len = strnlen(s, size);

	if (len == size)
		abort();
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)s[i] < 0x20 || s[i] == 0x7f)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct container_said s;

	for (int kind = 0; kind < CONTAINER_FILE__MAX; kind++) {
		int r = container_file_parse((enum container_file)kind, data, size, "an-id", &s);

		check(s.name, sizeof(s.name));
		check(s.image, sizeof(s.image));
		check(s.image_id, sizeof(s.image_id));
		check(s.pod, sizeof(s.pod));
		check(s.pod_namespace, sizeof(s.pod_namespace));
		if (r == 0 && !*s.name)
			abort();
	}
	return 0;
}
