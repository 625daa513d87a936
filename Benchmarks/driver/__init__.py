"""Runs the benchmarks turn by turn, and makes tables, a page and charts of what they print."""
