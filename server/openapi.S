/* openapi.S - server/openapi.json, embedded. The Makefile rebuilds this when the file changes. */
    .section .rodata
    .global latch_openapi
    .global latch_openapi_len
    .balign 8
latch_openapi_len:
    .quad latch_openapi_end - latch_openapi
latch_openapi:
    .incbin "server/openapi.json"
latch_openapi_end:
    .byte 0
    .section .note.GNU-stack,"",%progbits
