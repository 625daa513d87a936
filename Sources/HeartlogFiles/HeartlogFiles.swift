enum HeartlogFilesFloor {}
