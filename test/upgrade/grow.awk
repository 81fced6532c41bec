# grow.awk -- the headers of a later library: every struct that begins with a
# struct_size, without function types, has one field more at its end; with
# -v inserted=1 it is after the first fields, which breaks the ABI.
#
# SPDX-License-Identifier: Apache-2.0
/^typedef struct/ { is_sized = 0 }
/^ *uint32_t struct_size;/ { is_sized = 1 }
inserted && is_sized && /^    (int64_t|float|double) / {
    print "    int64_t inserted;"
    is_sized = 0
}
/^} etx_([a-z_]*_(options|report|timing|counts)|evaluation);/ && is_sized {
    print "    int64_t newer; /* since that library */"
}
/^}/ { is_sized = 0 }
{ print }
