#include "CHeartlogPlatform.h"
