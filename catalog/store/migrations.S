/* migrations.S - the text of the migrations inside the binary, each with a NUL behind it.
 *
 * store_sqlite_migrate.c lists them in order; the Makefile rebuilds this when a text changes. */
    .section .rodata

    .globl store_migration_0001
    .type store_migration_0001, %object
store_migration_0001:
    .incbin "catalog/store/migrations/0001_init.sql"
    .byte 0
    .size store_migration_0001, . - store_migration_0001

    .globl store_migration_0002
    .type store_migration_0002, %object
store_migration_0002:
    .incbin "catalog/store/migrations/0002_branches.sql"
    .byte 0
    .size store_migration_0002, . - store_migration_0002

    .globl store_migration_0003
    .type store_migration_0003, %object
store_migration_0003:
    .incbin "catalog/store/migrations/0003_objects.sql"
    .byte 0
    .size store_migration_0003, . - store_migration_0003

    .globl store_migration_0004
    .type store_migration_0004, %object
store_migration_0004:
    .incbin "catalog/store/migrations/0004_partitions.sql"
    .byte 0
    .size store_migration_0004, . - store_migration_0004

    .globl store_migration_0005
    .type store_migration_0005, %object
store_migration_0005:
    .incbin "catalog/store/migrations/0005_conflicts.sql"
    .byte 0
    .size store_migration_0005, . - store_migration_0005

    .section .note.GNU-stack, "", %progbits
