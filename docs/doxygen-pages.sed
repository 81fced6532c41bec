# Links to pages that stay next to the code they describe.
s|\[([^]]*)\]\([^)]*README\.md\)|\1|g
# Links inside a page: Doxygen has other anchors than GitHub.
s|\[([^]]*)\]\(#[^)]*\)|\1|g
