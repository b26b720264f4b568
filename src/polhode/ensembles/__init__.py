"""Many bodies with drawn parameters: ``ensemble``, sampling, stores, clusters, summaries.

Members do not act on each other: that is a ``System``.
"""
