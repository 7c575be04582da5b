"""Murmur: hour-long recordings to who said what, when.

Importing this package stays cheap: no torch, no transformers, no console.
"""

__version__ = "0.1.0"
