"""Loro, Yrs and Automerge on the trace that the stores play, through their libraries for Python.

Each keeps items as JSON texts, memberships as dates or null, and positions as numbers in three flat maps, which is its fastest and
smallest layout, and a commit an event.
"""
