/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the tables of packets below tests/data/packets: one row per line, columns separated by tabs: name,
 * LINKTYPE, bytes in hex, summary, layers ("-": not stated).
 */
#ifndef TESTS_PACKETS_H
#define TESTS_PACKETS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

struct packet_row {
	char *name, *summary, *layers;	/* point into the line */
	uint32_t link, len;
	uint8_t data[1024];
};

static inline int packet_row_parse(char *line, struct packet_row *row)
{
	char *hex, *link;

	line[strcspn(line, "\n")] = 0;
	row->name = strsep(&line, "\t");
	link = strsep(&line, "\t");
	hex = strsep(&line, "\t");
	row->summary = strsep(&line, "\t");
	row->layers = strsep(&line, "\t");
	if (!row->layers)
		return -1;
	row->link = (uint32_t)atoi(link);
	for (row->len = 0; hex[2 * row->len] && row->len < sizeof(row->data); row->len++) {
		char byte[3] = { hex[2 * row->len], hex[2 * row->len + 1], 0 };

		row->data[row->len] = (uint8_t)strtoul(byte, NULL, 16);
	}
	return hex[2 * row->len] ? -1 : 0;
}

/* Calls @fn for each row of @file. Returns the number of rows, or -1 if the file is missing or malformed. */
static inline int packet_rows(const char *file, void (*fn)(const struct packet_row *row))
{
	_cleanup_fclose_ FILE *f = fopen(file, "re");
	_cleanup_free_ char *line = NULL;
	size_t cap = 0;
	int n = 0;

	if (!f)
		return -1;
	while (getline(&line, &cap, f) > 0) {
		struct packet_row row;

		if (*line == '#')
			continue;
		if (packet_row_parse(line, &row) < 0)
			return -1;
		fn(&row);
		n++;
	}
	return n;
}

#endif
