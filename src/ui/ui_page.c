// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/ui_page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/macros.h"
#include "ui/ui_assets.h"

#define INDEX "/index.html"
#define PLAIN_MAX (8u << 20)
#define GZIP_BITS (16 + MAX_WBITS)

/* For the few clients that do not take gzip. */
static int inflate_whole(const struct ui_asset *a, struct ui_page *ret)
{
	z_stream z = { .next_in = (unsigned char *)a->bytes, .avail_in = (unsigned)a->len };
	unsigned char *to = malloc(PLAIN_MAX), *fit;
	int r = to && inflateInit2(&z, GZIP_BITS) == Z_OK ? 0 : -ENOMEM;

	if (r == 0) {
		z.next_out = to;
		z.avail_out = PLAIN_MAX;
		r = inflate(&z, Z_FINISH) == Z_STREAM_END ? 0 : -ENOMEM;
		inflateEnd(&z);
	}
	if (r < 0) {
		free(to);
		return r;
	}
	ret->len = PLAIN_MAX - z.avail_out;
	fit = realloc(to, ret->len + 1);
	ret->bytes = fit ? fit : to;
	ret->owned = true;
	return 0;
}

/* "gzip" as a word of its own, without ";q=0". */
static bool takes_gzip(const char *accept)
{
	const char *at = accept ? strstr(accept, "gzip") : NULL;

	return at && strncmp(at + 4, ";q=0", 4) != 0;
}

int ui_page_find(const char *path, const char *accept, struct ui_page *ret)
{
	const char *name = strchr(path, '.') ? path : INDEX;

	each_item(a, ui_assets, ui_asset_n) {
		if (strcmp(a->path, name) != 0)
			continue;
		*ret = (struct ui_page){ .type = a->type, .bytes = a->bytes, .len = a->len, .gz = a->gz };
		if (!a->gz || takes_gzip(accept))
			return 0;
		ret->gz = false;
		return inflate_whole(a, ret);
	}
	return -ENOENT;
}
