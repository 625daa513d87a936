import Heartlog
import HeartlogFormat
import HeartlogShipping

extension HTTPAnswer {
  /// The answer, if it is a success or one of `accepted`.
  ///
  /// - Throws: The error that its status stands for.
  func checked(
    accepting accepted: Set<Int> = [], for what: String, at connection: HubConnection
  ) throws(HeartlogError) -> HTTPAnswer {
    guard !isSuccess, !accepted.contains(status) else { return self }
    let address = connection.address
    switch status {
    case 300..<400:
      let place = headers["location"].map { " to \(Self.visible($0))" } ?? ""
      throw HeartlogError(
        .peer,
        "the hub \(address.host) redirects\(place), and redirects are not followed: use that address if you trust it"
      )
    case 401, 403: throw .notAdmitted(self, at: connection)
    case 404, 405: throw .noHub("\(status) for \(what)", at: connection)
    case 429, 502, 503, 504:
      let seconds = headers["retry-after"].flatMap { UInt32($0) }
      let pause = seconds.map { "; it asks to come again in \($0) s" } ?? ""
      throw HeartlogError(.timedOut, "the hub \(address.host) does not serve now\(sentence)\(pause)")
    case 507:
      throw HeartlogError(
        .diskFull,
        "the hub \(address.host) has no more room for this vault\(sentence): its operator can raise the quota"
      )
    default:
      throw HeartlogError(.peer, "the hub \(address.host) answers \(status) to \(what)\(sentence)")
    }
  }

  /// The body as JSON.
  func json(at connection: HubConnection) throws(HeartlogError) -> JSONValue {
    do throws(MalformedError) { return try JSONValue.parse(body, depthMax: 8) } catch {
      throw .noHub("an answer that is not JSON", at: connection)
    }
  }

  /// What the hub says is wrong, in parentheses; empty if it says nothing.
  fileprivate var sentence: String {
    guard let json = try? JSONValue.parse(body, depthMax: 8), let text = json["error"]?.string, !text.isEmpty
    else { return "" }
    return " (\(Self.visible(text)))"
  }

  /// A text of a hub as a line of a terminal may have it.
  private static func visible(_ text: String) -> String {
    let shown = text.unicodeScalars.prefix(200).filter { $0.properties.generalCategory != .control }
    return String(String.UnicodeScalarView(shown))
  }
}

extension HeartlogError {
  /// The error for a device whose key is not one of the vault's.
  static func notAdmitted(_ answer: HTTPAnswer, at connection: HubConnection) -> HeartlogError {
    let key = connection.key.publicKey
    return HeartlogError(
      .notAdmitted,
      "the hub \(connection.address.host) does not admit this device to the vault \(connection.vault)\(answer.sentence): on a device "
        + "that is in it, run \"heartlog hub \(connection.address.base) admit \(key)\". To an encrypted vault its recovery code admits, "
        + "with \"heartlog keys join -\" on this device")
  }

  /// The error for a host that speaks HTTP, but not as a hub does.
  static func noHub(_ what: String, at connection: HubConnection) -> HeartlogError {
    HeartlogError(
      .peer, "there seems to be no hub at \(connection.address.base): it sent \(what)")
  }

  static func unanswered(_ failure: HTTPFailure, at address: HubAddress) -> HeartlogError {
    switch failure.kind {
    case .over: .endedEarly
    case .unreachable:
      HeartlogError(.inputOutput, "cannot connect to the hub \(address.host): \(failure.reason)")
    case .untrusted:
      HeartlogError(
        .inputOutput,
        "the hub \(address.host) does not prove that it is that host: \(failure.reason). Nothing was sent")
    case .silent: HeartlogError(.timedOut, "the hub \(address.host) was silent for too long")
    case .slow: HeartlogError(.timedOut, "the hub \(address.host) is too slow: \(failure.reason)")
    case .tooLarge: HeartlogError(.peer, "the hub \(address.host) sent too much: \(failure.reason)")
    case .broken:
      HeartlogError(.inputOutput, "the connection to the hub \(address.host) broke: \(failure.reason)")
    case .missingLibrary: HeartlogError(.inputOutput, failure.reason)
    }
  }
}
