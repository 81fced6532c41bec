"""peers -- the stages of libexatrkx beside those of other software.

SPDX-License-Identifier: Apache-2.0
"""
