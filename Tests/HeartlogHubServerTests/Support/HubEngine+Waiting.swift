import Heartlog
import HeartlogHub
import HeartlogFormat

@testable import HeartlogHubServer

extension HubEngine {
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

extension HubEngine {
  /// Removes keys, then admits others.
  ///
  /// - Returns: The keys afterwards; `nil` if the change was refused.
  func changeKeys(
    removing: [PublicKey], admitting: [PublicKey], as member: VaultMember
  ) throws -> [PublicKey]? {
    let outcome = try changeKeys(as: member) { keys in
      keys.changing(admitting: admitting, removing: removing, as: member).map { $0 }
    }
    return (try? outcome.get())?.keys
  }
}
