# Links to pages that stay next to the code they describe.
s|\[([^]]*)\]\([^)]*README\.md\)|\1|g
