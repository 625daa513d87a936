enum HeartlogFloor {}
