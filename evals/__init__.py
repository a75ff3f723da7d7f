"""How good the answers are: labelled cases, the runner that scores kb on them, the benchmark, the generated documents.

A tool for developers. Nothing here is part of the wheel, and nothing in `engine/` or `interfaces/` knows of it.
"""
