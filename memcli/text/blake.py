"""The hash by which texts and files are told apart.

Without hashlib, which loads OpenSSL for the other hashes it offers: ten times the time of this, in every command.
"""

try:
    from _blake2 import blake2b
except ImportError:  # a Python that has it elsewhere
    from hashlib import blake2b

__all__ = ["blake2b"]
