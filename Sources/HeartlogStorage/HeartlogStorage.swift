enum HeartlogStorageFloor {}
