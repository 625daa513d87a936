enum HeartlogLibrariesFloor {}
