import Heartlog
import HeartlogShipping

/// What `heartlog-http` and the program that starts it tell each other. Both are of one version.
enum HTTPFrame {
  case request(HTTPRequest, isStream: Bool)
  /// Bytes of the body of an answer that is handed over as it arrives.
  case part([UInt8])
  case answer(HTTPAnswer)
  case failure(HTTPFailure)

  /// The most bytes of a frame: those of an object, and what is said of it.
  static let bytesMax = HubLimits.objectBytesMax + (1 << 20)
  private static let headersMax = 10_000

  /// A `u32` length and so many bytes.
  var encoded: [UInt8] {
    var writer = ByteWriter()
    writer.u32(0)
    switch self {
    case .request(let request, let isStream):
      writer.u8(isStream ? 1 : 0)
      writer.text(request.method)
      writer.text(request.url)
      Self.write(request.headers, to: &writer)
      writer.u8(request.body == nil ? 0 : 1)
      writer.lengthAndBytes(request.body ?? [])
      writer.varint(request.bytesMax)
      writer.varint(request.silenceSecondsMax)
      writer.varint(request.secondsMax)
    case .part(let bytes):
      writer.u8(2)
      writer.lengthAndBytes(bytes)
    case .answer(let answer):
      writer.u8(3)
      writer.varint(answer.status)
      Self.write(answer.headers.map { (name: $0.key, value: $0.value) }, to: &writer)
      writer.lengthAndBytes(answer.body)
    case .failure(let failure):
      writer.u8(4)
      writer.u8(failure.kind.rawValue)
      writer.text(failure.reason)
    }
    var bytes = writer.bytes
    withUnsafeBytes(of: UInt32(bytes.count - 4).littleEndian) { bytes.replaceSubrange(0..<4, with: $0) }
    return bytes
  }

  init(_ bytes: [UInt8]) throws(MalformedError) {
    self = try bytes.withBytes { (bytes) throws(MalformedError) in
      var reader = ByteReader(bytes)
      let frame = try HTTPFrame(&reader)
      try reader.end()
      return frame
    }
  }

  private init(_ reader: inout ByteReader) throws(MalformedError) {
    let kind = try reader.u8()
    switch kind {
    case 0, 1:
      var request = HTTPRequest(try reader.text(), try reader.text(), bytesMax: 0)
      request.headers = try Self.headers(&reader)
      let hasBody = try reader.u8() == 1
      let body = Array(try reader.lengthAndBytes())
      request.body = hasBody ? body : nil
      request.bytesMax = try reader.count(atMost: .max, "bytes")
      request.silenceSecondsMax = try reader.count(atMost: .max, "seconds")
      request.secondsMax = try reader.count(atMost: .max, "seconds")
      self = .request(request, isStream: kind == 1)
    case 2: self = .part(Array(try reader.lengthAndBytes()))
    case 3:
      var answer = HTTPAnswer()
      answer.status = try reader.count(atMost: 999, "a status")
      for (name, value) in try Self.headers(&reader) { answer.headers[name] = value }
      answer.body = Array(try reader.lengthAndBytes())
      self = .answer(answer)
    case 4:
      guard let kind = HTTPFailure.Kind(rawValue: try reader.u8()) else {
        throw MalformedError("an unknown failure")
      }
      self = .failure(HTTPFailure(kind, try reader.text()))
    default: throw MalformedError("a frame of kind \(kind)")
    }
  }

  private static func write(_ headers: [(name: String, value: String)], to writer: inout ByteWriter) {
    writer.varint(headers.count)
    for header in headers {
      writer.text(header.name)
      writer.text(header.value)
    }
  }

  private static func headers(
    _ reader: inout ByteReader
  ) throws(MalformedError) -> [(name: String, value: String)] {
    var headers: [(name: String, value: String)] = []
    for _ in 0..<(try reader.count(atMost: headersMax, "headers")) {
      headers.append((name: try reader.text(), value: try reader.text()))
    }
    return headers
  }
}

extension ByteChannel {
  /// Reads a frame; `nil` at the end.
  ///
  /// - Parameter isOver: Asked several times a second; once it returns true, this throws `over`.
  func readFrame(isOver: () -> Bool) throws(HTTPFailure) -> HTTPFrame? {
    guard let length = try read(4, isOver: isOver) else { return nil }
    let count = length.reversed().reduce(0) { $0 << 8 | Int($1) }
    guard count <= HTTPFrame.bytesMax, let bytes = try read(count, isOver: isOver) else { return nil }
    do { return try HTTPFrame(bytes) } catch { throw HTTPFailure(.broken, error.reason) }
  }

  func write(_ frame: HTTPFrame, isOver: () -> Bool) throws(HTTPFailure) {
    var rest = frame.encoded[...]
    while !rest.isEmpty {
      do throws(HeartlogError) {
        rest = rest.dropFirst(try write(rest, milliseconds: Self.pauseMilliseconds))
      } catch { throw HTTPFailure(.broken, error.message) }
      if !rest.isEmpty, isOver() { throw .interrupted }
    }
  }

  private static var pauseMilliseconds: Int { 100 }

  /// Reads exactly so many bytes; `nil` if the end comes before.
  private func read(_ count: Int, isOver: () -> Bool) throws(HTTPFailure) -> [UInt8]? {
    var bytes: [UInt8] = []
    while bytes.count < count {
      let part: [UInt8]?
      do throws(HeartlogError) {
        part = try read(atMost: count - bytes.count, milliseconds: Self.pauseMilliseconds)
      } catch { throw HTTPFailure(.broken, error.message) }
      if part?.isEmpty == true { return nil }
      bytes += part ?? []
      if part == nil, isOver() { throw .interrupted }
    }
    return bytes
  }
}

extension HTTPFailure {
  /// The caller ended a request.
  static let interrupted = HTTPFailure(.over, "the request was ended before it was answered")
}
