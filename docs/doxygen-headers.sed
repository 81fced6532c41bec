# Plain comments of the public headers as Doxygen wants to see them.
1s|^/\* ([a-z/.]+) --|/** @file \1\n *|
/^\/\* -+/d
/^\/\* [a-z ]+ -+ \*\//d
s|^/\* |/** |
s|^( +)/\* ([^<].*)|\1/** \2|
s|([;,]) +/\* |\1 /**< |
s|^(#define +[A-Z_0-9]+ .*[^ ]) +/\* |\1 /**< |
# The rules of exatrkx.h are a list.
s/^ \*   ([A-Z][a-z]+) {2,}/ * - **\1**: /
# An options struct and its typedef are one.
/^typedef struct etx_[a-z_]+ \{/,/^\}/s|^\} (etx_[a-z_]+);|} \1; /**< the struct of this name */|
