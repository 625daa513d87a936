import Heartlog
import HeartlogHub

@testable import HeartlogHubServer

extension HubEngine {
  /// Stores an object, and waits for the outcome.
  func put(_ name: String, _ bytes: [UInt8], as member: VaultMember) throws -> PutOutcome {
    let answer = Waiter<PutOutcome>()
    put(name, bytes, as: member) { answer.set($0) }
    return try answer.wait()
  }

  /// Deletes an object, and waits for the end.
  func delete(_ name: String, as member: VaultMember) throws {
    let answer = Waiter<Void>()
    delete(name, as: member) { answer.set($0) }
    try answer.wait()
  }
}

/// Waits for a result. Unchecked: guarded by `condition`.
final class Waiter<Value: Sendable>: @unchecked Sendable {
  private let condition = Condition()
  private var result: Result<Value, HeartlogError>?

  func set(_ result: Result<Value, HeartlogError>) {
    condition.withLock {
      self.result = result
      condition.notify()
    }
  }

  func wait() throws -> Value {
    try condition.withLock { () throws -> Value in
      while true {
        if let result { return try result.get() }
        condition.wait()
      }
    }
  }
}
