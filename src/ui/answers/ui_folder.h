/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The recordings of a folder, listed once, while its rights are still there.
 */
#ifndef UI_UI_FOLDER_H
#define UI_UI_FOLDER_H

struct json;

/* Lists the recordings in @path; unreadable: an empty list. NULL without memory. */
struct ui_folder *ui_folder_new(const char *path);
void ui_folder_free(struct ui_folder *f); /* NULL is fine */

/* Writes the members "folder" and "files". @f NULL: empty ones. */
void ui_folder_write(const struct ui_folder *f, struct json *j);

#endif
