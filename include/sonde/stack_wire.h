/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Reasons for the end of a user stack, in records. Append only.
 */
#ifndef SONDE_STACK_WIRE_H
#define SONDE_STACK_WIRE_H

#define SONDE_STACK_NONE 0	/* no user stack: a kernel thread, or not requested */
#define SONDE_STACK_BOTTOM 1	/* complete: the outermost function has no return address, by the unwind table */
#define SONDE_STACK_NO_TABLE 2	/* the file's unwind table is not loaded yet */
#define SONDE_STACK_NO_RULE 3	/* no rule for the address, and no usable frame pointer */
#define SONDE_STACK_NO_MAPPING 4	/* an address outside executable mappings */
#define SONDE_STACK_MEMORY 5	/* the stack could not be read */
#define SONDE_STACK_DEPTH 6	/* limit of frames reached */
#define SONDE_STACK_FP 7	/* the chain of frame pointers broke */
#define SONDE_STACK_RULE 8	/* unsupported kind of rule */
#define SONDE_STACK_BUSY 9	/* the mappings were being changed */
#define SONDE_STACK__MAX 10

#endif
