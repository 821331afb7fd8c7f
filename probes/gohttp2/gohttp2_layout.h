/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the analysis of a Go file to the layout for the BPF programs and the probe sites. Pure.
 */
#ifndef GOHTTP2_LAYOUT_H
#define GOHTTP2_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probes/gohttp2/gohttp2_wire.h"

struct gobin_answer;
struct gobin_conn;

/* A program may contain two copies of HTTP/2: golang.org/x/net's, which gRPC uses, and net/http's. */
enum gohttp2_copy { GOHTTP2_COPY_XNET, GOHTTP2_COPY_STD, GOHTTP2_COPY__MAX };

struct gohttp2_attach {
	uint64_t file_off;	/* bytes, of the instruction */
	uint8_t site;		/* enum gohttp2_site */
	uint8_t copy;		/* enum gohttp2_copy */
	uint8_t insn_len;	/* the instruction must still be this one */
	uint8_t insn[8];
	uint8_t rule;		/* enum gobin_rule */
	bool range;		/* for the programs of ranges */
};

/*
 * Probe sites of the rules in @sets (enum gobin_set) that are ready; those of GOBIN_RANGES come last, and again
 * if another set has them too. Returns how many were written to @ret, at most GOHTTP2_SITE__MAX * GOHTTP2_COPY__MAX.
 */
size_t gohttp2_layout_sites(const struct gobin_answer *a, uint32_t sets, struct gohttp2_attach *ret);

/* Addresses of types are those of the file. */
void gohttp2_layout_make(const struct gobin_answer *a, enum gohttp2_copy copy, struct gohttp2_layout *ret);

/* A row of the table of connections. */
void gohttp2_layout_conn(const struct gobin_conn *c, struct gohttp2_conn_type *ret);

/* Adds the load bias to all addresses. */
void gohttp2_layout_move(struct gohttp2_layout *l, uint64_t bias);

#endif
