"""How fast, beside its floor: each figure is a ratio to the least that could do the job, measured in turns.

``python -m benchmarks`` runs the quick ones, ``python -m benchmarks reading --facts 10000
--entries 100000`` a large one. Bare times say little on a busy machine; ratios hold.
"""
