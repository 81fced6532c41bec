"""peers -- the stages of libexatrkx next to other software.

SPDX-License-Identifier: Apache-2.0
"""
