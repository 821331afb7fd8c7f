/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Burns CPU in code without call frame information, for ever. With an argument the frame pointer is a data register
 * that holds zero, without one it is kept.
 */
	.globl _start
_start:
	xor	%ebp, %ebp
	cmpq	$1, (%rsp)
	jne	1f
	call	keeps
1:	call	clears
	.balign	128		/* beyond the entry function */
keeps:
	push	%rbp
	mov	%rsp, %rbp
	call	spin
	hlt
clears:
	push	%rbp
	mov	%rsp, %rbp
	xor	%ebp, %ebp
2:	inc	%rax
	jmp	2b
spin:
	push	%rbp
	mov	%rsp, %rbp
3:	inc	%rax
	jmp	3b

	.section .note.GNU-stack, "", @progbits
