# Links to pages that stay beside the code they speak of.
s|\[([^]]*)\]\([^)]*README\.md\)|\1|g
