"""Fuzzers: inputs that are nearly right, each tried in a process with limits, answers compared with others.

``python -m fuzz NAME COUNT SEED`` runs one of them, ``python -m fuzz`` lists them. A case is made from the
seed and its number alone, so that ``--case K`` repeats it.
"""
