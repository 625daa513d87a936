enum HeartlogStateFloor {}
