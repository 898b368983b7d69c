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

	.section .note.GNU-stack, "", %progbits
