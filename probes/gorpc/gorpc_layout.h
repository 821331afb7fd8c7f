/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the analysis of a Go file to what the BPF programs want to know, and where to attach. Pure.
 */
#ifndef GORPC_LAYOUT_H
#define GORPC_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "probes/gorpc/gorpc_wire.h"

struct gobin_answer;

/* Two copies of HTTP/2 can be in one program: gRPC's (golang.org/x/net) and that of net/http. */
enum gorpc_copy { GORPC_COPY_XNET, GORPC_COPY_STD, GORPC_COPY__MAX };

struct gorpc_attach {
	uint64_t file_off;	/* bytes, of the instruction */
	uint8_t place;		/* enum gorpc_place */
	uint8_t copy;		/* enum gorpc_copy */
	uint8_t insn_len;	/* the instruction must still be this one */
	uint8_t insn[8];
	uint8_t rule;		/* enum gobin_rule */
};

/*
 * Places of the rules in @sets (enum gobin_set) that are ready. Returns how many were written to @ret, at most
 * GORPC_PLACE__MAX * GORPC_COPY__MAX.
 */
size_t gorpc_layout_places(const struct gobin_answer *a, uint32_t sets, struct gorpc_attach *ret);

/* Type addresses are those of the file. */
void gorpc_layout_make(const struct gobin_answer *a, enum gorpc_copy copy, struct gorpc_layout *ret);

/* Adds the distance between the process and the file to all addresses. */
void gorpc_layout_move(struct gorpc_layout *l, uint64_t bias);

#endif
