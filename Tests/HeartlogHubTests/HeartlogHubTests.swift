@testable import HeartlogHub
