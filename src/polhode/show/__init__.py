"""Results to look at: ``plot`` draws them with matplotlib, ``page`` turns them in a browser.

What a run says in words is in ``scenarios``.
"""
