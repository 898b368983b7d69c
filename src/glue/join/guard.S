/* guard.S -- see task.h
 *
 * enum alq_status alqi_glue_guarded(fn, arg, guard)
 *
 * While fn runs the guard is the word that the stack pointer is at, where
 * guard.c finds it.
 */
	.section aliquot_leavable, "ax", %progbits
	.globl	alqi_glue_guarded
	.hidden	alqi_glue_guarded
	.type	alqi_glue_guarded, %function
	.p2align 4
alqi_glue_guarded:
	.cfi_startproc
	.cfi_personality 0x9b, personality
#if defined(__x86_64__)
	endbr64
	pushq	%rdx
	.cfi_adjust_cfa_offset 8
	movq	%rdi, %rax
	movq	%rsi, %rdi
	call	*%rax
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	ret
#elif defined(__aarch64__)
	hint	#34 /* bti c */
	sub	sp, sp, #32
	.cfi_def_cfa_offset 32
	stp	x29, x30, [sp, #16]
	.cfi_offset 29, -16
	.cfi_offset 30, -8
	add	x29, sp, #16
	str	x2, [sp]
	mov	x3, x0
	mov	x0, x1
	blr	x3
	ldp	x29, x30, [sp, #16]
	.cfi_restore 29
	.cfi_restore 30
	add	sp, sp, #32
	.cfi_def_cfa_offset 0
	ret
#else
#error "how is a function called?"
#endif
	.cfi_endproc
	.size	alqi_glue_guarded, . - alqi_glue_guarded

	.section .data.rel.ro.local, "aw", %progbits
	.p2align 3
personality:
	.quad	alqi_glue_guard_personality

	.section .note.GNU-stack, "", %progbits
