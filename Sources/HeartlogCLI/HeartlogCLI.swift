enum HeartlogCLIFloor {}
