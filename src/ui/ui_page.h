/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file that a path of the page stands for.
 */
#ifndef UI_UI_PAGE_H
#define UI_UI_PAGE_H

#include <stdbool.h>
#include <stddef.h>

struct ui_page {
	const char *type;
	const void *bytes;
	size_t len;
	bool gz;	/* as Content-Encoding */
	bool owned;	/* the caller frees the bytes */
};

/*
 * @path: "/", "/app.js"; a path without a dot is a place in the page, which has one file. @accept: Accept-Encoding,
 * may be NULL. 0, -ENOENT, or -ENOMEM.
 */
int ui_page_find(const char *path, const char *accept, struct ui_page *ret);

#endif
