@testable import HeartlogHubServer
