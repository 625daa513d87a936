def update(results, path): pass
