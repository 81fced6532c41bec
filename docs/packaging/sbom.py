#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Software bill of materials of a build, as SPDX 2.3 in JSON, to stdout.

sbom.py VERSION [--static=NAME ...] FILE [FILE ...]

The files are shared libraries, archives and programs of the build, and the models,
events and configs that are installed with them. What the libraries and programs are
linked with is read from the files themselves (readelf, ldd) and named with the
package, version and licence that dpkg knows; where there is no dpkg, with the name
of the file alone. NAME is a library that is linked into them.
"""
import functools
import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

NAME = "libexatrkx"


def output(*command):
    """What a command prints, or nothing where it fails or is missing."""
    try:
        return subprocess.run(command, capture_output=True, text=True,
                              check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""


def needed(path):
    return re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", str(path)))


def loaded(path):
    """Path of every library that is loaded for a file, by soname."""
    return dict(re.findall(r"^\s*(\S+) => (/\S+)", output("ldd", str(path)), re.M))


def package_of(path):
    """(package, version) of dpkg, or of the file."""
    for name in (path, os.path.realpath(path)):
        for candidate in (name, name.removeprefix("/usr")):
            owner = output("dpkg", "-S", candidate).split(":")[0]
            if owner:
                return owner, output("dpkg-query", "-W", "-f", "${Version}", owner)
    return Path(path).name, ""


@functools.cache
def licences(package):
    """Names in Debian's copyright file, where it has that format."""
    try:
        text = Path(f"/usr/share/doc/{package}/copyright").read_text()
    except OSError:
        return "NOASSERTION"
    return ", ".join(sorted(set(re.findall(r"^License: (\S.*)$", text, re.M)))) or \
        "NOASSERTION"


def identifier(text):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", text)


def describe_file(path):
    data = path.read_bytes()
    return {"SPDXID": identifier(f"File-{path.name}"), "fileName": path.name,
            "checksums": [
                {"algorithm": name.upper(),
                 "checksumValue": hashlib.new(name, data).hexdigest()}
                for name in ("sha1", "sha256")],
            "licenseConcluded": "Apache-2.0", "copyrightText": "NOASSERTION"}


def describe_package(package, version):
    described = {"SPDXID": identifier(f"Package-{package}"), "name": package,
                 "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
                 "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION",
                 "licenseComments": licences(package),
                 "copyrightText": "NOASSERTION"}
    if version:
        described["versionInfo"] = version
        described["externalRefs"] = [
            {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
             "referenceLocator": f"pkg:deb/debian/{package}@{version}"}]
    return described


def relation(first, kind, second):
    return {"spdxElementId": first, "relationshipType": kind,
            "relatedSpdxElement": second}


def main():
    version, *names = sys.argv[1:]
    static = [name.removeprefix("--static=") for name in names if name[:2] == "--"]
    paths = [Path(name) for name in names if name[:2] != "--"]
    own = {path.name for path in paths}
    packages = {}
    root = identifier(f"Package-{NAME}")
    relations = [relation("SPDXRef-DOCUMENT", "DESCRIBES", root)]
    for name in static:
        packages[name] = describe_package(name, "")
        relations.append(relation(root, "STATIC_LINK", packages[name]["SPDXID"]))
    for path in paths:
        file = identifier(f"File-{path.name}")
        relations.append(relation(file, "GENERATED_FROM", root))
        where = loaded(path)
        for soname in needed(path):
            if soname in own:
                relations.append(relation(file, "DYNAMIC_LINK",
                                          identifier(f"File-{soname}")))
                continue
            if soname not in where and not soname.startswith("ld-linux"):
                sys.exit(f"{path}: {soname} is not found")
            package, number = package_of(where.get(soname, soname))
            packages[package] = describe_package(package, number)
            relations.append(relation(file, "DYNAMIC_LINK",
                                      packages[package]["SPDXID"]))
    files = [describe_file(path) for path in paths]
    content = hashlib.sha256(json.dumps(files).encode()).hexdigest()
    created = output("git", "log", "-1", "--format=%cd",
                     "--date=format:%Y-%m-%dT%H:%M:%SZ").strip()
    json.dump({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT", "name": f"{NAME}-{version}",
        "documentNamespace": f"https://spdx.org/spdxdocs/{NAME}-{version}-{content}",
        "creationInfo": {"created": created or "1970-01-01T00:00:00Z",
                         "creators": [f"Tool: {NAME} {Path(__file__).name}"]},
        "packages": [
            {"SPDXID": root, "name": NAME, "versionInfo": version,
             "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
             "licenseConcluded": "Apache-2.0", "licenseDeclared": "Apache-2.0",
             "copyrightText": "NOASSERTION"},
            *(packages[name] for name in sorted(packages))],
        "files": files, "relationships": relations}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
