/* page_files.S -- the bytes of viewer/dist and other texts, read by the
 * assembler; see page.h
 *
 * Each ends with a zero byte, which is not counted. */

	.macro	symbol name
	.globl	alqi_cli_page_\name
	.hidden	alqi_cli_page_\name
	.type	alqi_cli_page_\name, %object
	.endm

	.macro	file begin, end, path
	symbol	\begin
	symbol	\end
	.p2align 4
alqi_cli_page_\begin:
	.incbin	"\path"
alqi_cli_page_\end:
	.byte	0
	.size	alqi_cli_page_\begin, . - alqi_cli_page_\begin
	.endm

	.section .rodata
	file	index, index_end, "index.html"
	file	script, script_end, "app.js"
	file	style, style_end, "app.css"
	file	heap, heap_end, "heap.js"
	file	engine_start, engine_end, "engine.wasm"
	file	script_hash, script_hash_end, "app.js.sha256"
	file	style_hash, style_hash_end, "app.css.sha256"

	file	summary, summary_end, "summary.css"
	file	summary_hash, summary_hash_end, "summary.css.sha256"
	file	completion, completion_end, "completion.bash"

	.section .note.GNU-stack, "", %progbits
