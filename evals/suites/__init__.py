"""The suites. Each module reads one layout of data, asks the product, and names its scorer.

A suite has ``read(path)`` (raises DataMissing), ``key(prediction)``, ``predict(path, run)``,
``score(path, predictions)`` and ``headline(figures)``, the few figures that stand for it.
"""
