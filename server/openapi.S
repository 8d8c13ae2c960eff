/* openapi.S - server/openapi.json, embedded. The Makefile rebuilds this when the file changes. */
    .section .rodata
    .global latch_openapi_start
    .global latch_openapi_end
latch_openapi_start:
    .incbin "server/openapi.json"
latch_openapi_end:
    .byte 0
    .section .note.GNU-stack,"",%progbits
