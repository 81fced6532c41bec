#!/bin/sh
# Set the version wherever it stands: version.sh MAJOR.MINOR.PATCH [DATE]. With a date,
# YYYY-MM-DD, the section `Unreleased` of CHANGELOG.md gets both for its heading.
set -eu
if ! echo "${1:-}" | grep -qxE '[0-9]+\.[0-9]+\.[0-9]+' ||
    ! date -d "${2:-now}" >/dev/null 2>&1; then
    echo 'usage: docs/packaging/version.sh MAJOR.MINOR.PATCH [YYYY-MM-DD]' >&2
    exit 2
fi
if [ $# -gt 1 ] && ! grep -qx '## Unreleased' CHANGELOG.md; then
    echo 'CHANGELOG.md: no section Unreleased' >&2
    exit 1
fi
rest=${1#*.}
sed -i "s/\(VERSION_MAJOR\) .*/\1 ${1%%.*}/; s/\(VERSION_MINOR\) .*/\1 ${rest%.*}/
    s/\(VERSION_PATCH\) .*/\1 ${rest#*.}/" include/exatrkx/version.h
sed -i "s/^version = .*/version = \"$1\"/" bindings/python/pyproject.toml
sed -i "s/^  version: \"[0-9.]*\"/  version: \"$1\"/" docs/packaging/conda/recipe.yaml
cat >docs/packaging/debian/changelog <<END
libexatrkx ($1) unstable; urgency=medium

  * As in CHANGELOG.md.

 -- libexatrkx developers <libexatrkx@example.org>  $(LC_ALL=C date -R -u -d "${2:-now}")
END
[ $# -eq 1 ] || sed -i "s/^## Unreleased$/## $1 ($2)/" CHANGELOG.md
python3 bindings/python/generate_declarations.py
