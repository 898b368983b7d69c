/* registers.S -- see registers.h; what the system has not is left alone */
	.text
	.globl	alqi_plat_registers
	.hidden	alqi_plat_registers
	.type	alqi_plat_registers, %function
	.p2align 4
alqi_plat_registers:
	.cfi_startproc
#if defined(__x86_64__)
	endbr64
	movq	%rbx, (%rdi)
	movq	%rbp, 8(%rdi)
	movq	%r12, 16(%rdi)
	movq	%r13, 24(%rdi)
	movq	%r14, 32(%rdi)
	movq	%r15, 40(%rdi)
	leaq	8(%rsp), %rax
	ret
#elif defined(__aarch64__)
	hint	#34 /* bti c */
	stp	x19, x20, [x0]
	stp	x21, x22, [x0, #16]
	stp	x23, x24, [x0, #32]
	stp	x25, x26, [x0, #48]
	stp	x27, x28, [x0, #64]
	stp	x29, x30, [x0, #80]
	stp	d8, d9, [x0, #96]
	stp	d10, d11, [x0, #112]
	stp	d12, d13, [x0, #128]
	stp	d14, d15, [x0, #144]
	mov	x0, sp
	ret
#else
#error "which registers does a function leave as they were?"
#endif
	.cfi_endproc
	.size	alqi_plat_registers, . - alqi_plat_registers

	.globl	alqi_plat_registers_lend
	.hidden	alqi_plat_registers_lend
	.type	alqi_plat_registers_lend, %function
	.p2align 4
alqi_plat_registers_lend:
	.cfi_startproc
#if defined(__x86_64__)
	endbr64
	pushq	%rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbx, 0
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	pushq	%r12
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %r12, 0
	pushq	%r13
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %r13, 0
	pushq	%r14
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %r14, 0
	pushq	%r15
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %r15, 0
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	movq	%rdi, %rax
	movq	%rsi, %rdi
	leaq	8(%rsp), %rsi
	call	*%rax
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	popq	%r15
	.cfi_adjust_cfa_offset -8
	.cfi_restore %r15
	popq	%r14
	.cfi_adjust_cfa_offset -8
	.cfi_restore %r14
	popq	%r13
	.cfi_adjust_cfa_offset -8
	.cfi_restore %r13
	popq	%r12
	.cfi_adjust_cfa_offset -8
	.cfi_restore %r12
	popq	%rbp
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbp
	popq	%rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbx
	ret
#elif defined(__aarch64__)
	hint	#34 /* bti c */
	stp	x29, x30, [sp, #-96]!
	.cfi_adjust_cfa_offset 96
	.cfi_rel_offset x29, 0
	.cfi_rel_offset x30, 8
	stp	x19, x20, [sp, #16]
	.cfi_rel_offset x19, 16
	.cfi_rel_offset x20, 24
	stp	x21, x22, [sp, #32]
	.cfi_rel_offset x21, 32
	.cfi_rel_offset x22, 40
	stp	x23, x24, [sp, #48]
	.cfi_rel_offset x23, 48
	.cfi_rel_offset x24, 56
	stp	x25, x26, [sp, #64]
	.cfi_rel_offset x25, 64
	.cfi_rel_offset x26, 72
	stp	x27, x28, [sp, #80]
	.cfi_rel_offset x27, 80
	.cfi_rel_offset x28, 88
	mov	x2, x0
	mov	x0, x1
	mov	x1, sp
	blr	x2
	ldp	x27, x28, [sp, #80]
	ldp	x25, x26, [sp, #64]
	ldp	x23, x24, [sp, #48]
	ldp	x21, x22, [sp, #32]
	ldp	x19, x20, [sp, #16]
	ldp	x29, x30, [sp], #96
	.cfi_adjust_cfa_offset -96
	.cfi_restore x29
	.cfi_restore x30
	ret
#endif
	.cfi_endproc
	.size	alqi_plat_registers_lend, . - alqi_plat_registers_lend

	.section .note.GNU-stack, "", %progbits
