/// Reads the data of events from a stream of server-sent events (HTML, "Server-sent events").
struct EventStream {
  private var line: [UInt8] = []
  /// The data of the event that is not over yet; `nil` if it has none so far.
  private var data: [UInt8]?
  private var isAfterReturn = false
  /// Lines and events are read to their ends, and kept up to so many bytes.
  private let bytesMax: Int

  private static let name = Array("data".utf8)

  init(bytesMax: Int) { self.bytesMax = bytesMax }

  /// Reads on.
  ///
  /// - Returns: The data of the events that ended. What is too long is cut off, so that it is no JSON.
  mutating func read(_ bytes: [UInt8]) -> [[UInt8]] {
    var events: [[UInt8]] = []
    for byte in bytes {
      // A line ends with CR, LF or both.
      defer { isAfterReturn = byte == 0x0D }
      if byte == 0x0A, isAfterReturn { continue }
      guard byte == 0x0A || byte == 0x0D else {
        if line.count < bytesMax { line.append(byte) }
        continue
      }
      if line.isEmpty {
        if let data { events.append(data) }
        data = nil
      } else {
        takeLine()
      }
      line.removeAll(keepingCapacity: true)
    }
    return events
  }

  private mutating func takeLine() {
    let name = line.prefix { $0 != UInt8(ascii: ":") }
    guard name.elementsEqual(Self.name) else { return }
    var value = line.dropFirst(name.count + 1)
    if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
    if data == nil { data = [] } else { data?.append(0x0A) }
    let room = max(0, bytesMax - (data?.count ?? 0))
    data?.append(contentsOf: value.prefix(room))
  }
}
