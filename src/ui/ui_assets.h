/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files of the page, made a table by tools/embed.py at build time.
 */
#ifndef UI_UI_ASSETS_H
#define UI_UI_ASSETS_H

#include <stdbool.h>
#include <stddef.h>

struct ui_asset {
	const char *path;	/* "/app.js" */
	const char *type;	/* Content-Type */
	const unsigned char *bytes;
	size_t len;
	bool gz;		/* the bytes are compressed */
};

extern const struct ui_asset ui_assets[];
extern const size_t ui_asset_n;

#endif
