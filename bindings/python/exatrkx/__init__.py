"""exatrkx -- Python tools of libexatrkx.

Importing the package loads neither the C library nor numpy; each module
imports what it needs.

SPDX-License-Identifier: Apache-2.0
"""
