import Synchronization

/// What `SignpostTracer` uses of Apple's os. It keeps what was posted.
public struct OSSignposter: Sendable {
  private static let log = Mutex<[String]>([])
  private static let lastID = Mutex<UInt64>(0)

  /// Returns what was posted, and forgets it.
  public static func takePosted() -> [String] {
    log.withLock { log in
      defer { log = [] }
      return log
    }
  }

  let subsystem: String

  public init(subsystem: String, category: String) { self.subsystem = subsystem }

  public func makeSignpostID() -> OSSignpostID {
    OSSignpostID(
      Self.lastID.withLock {
        $0 += 1
        return $0
      })
  }

  public func beginInterval(_ name: StaticString, id: OSSignpostID) -> OSSignpostIntervalState {
    post("begin \(name) \(id.rawValue)")
    return .beginState(id: id)
  }

  public func endInterval(
    _ name: StaticString, _ state: OSSignpostIntervalState, _ message: SignpostMetadata
  ) {
    post("end \(name) \(state.id.rawValue): \(message.text)")
  }

  public func emitEvent(_ name: StaticString, _ message: SignpostMetadata) {
    post("\(name) \(message.text)")
  }

  private func post(_ text: String) { Self.log.withLock { $0.append("\(subsystem) \(text)") } }
}

public struct OSSignpostID: Sendable {
  public let rawValue: UInt64

  public init(_ value: UInt64) { rawValue = value }
}

public final class OSSignpostIntervalState: Sendable {
  let id: OSSignpostID

  private init(_ id: OSSignpostID) { self.id = id }

  public static func beginState(id: OSSignpostID) -> OSSignpostIntervalState { .init(id) }
}

public struct SignpostMetadata: ExpressibleByStringInterpolation {
  public enum Privacy { case `public` }

  public struct StringInterpolation: StringInterpolationProtocol {
    var text = ""

    public init(literalCapacity: Int, interpolationCount: Int) {}

    public mutating func appendLiteral(_ literal: String) { text += literal }

    public mutating func appendInterpolation(_ value: some CustomStringConvertible, privacy: Privacy) {
      text += value.description
    }
  }

  let text: String

  public init(stringLiteral value: String) { text = value }
  public init(stringInterpolation: StringInterpolation) { text = stringInterpolation.text }
}
