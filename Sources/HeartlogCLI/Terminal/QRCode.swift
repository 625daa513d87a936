#if os(Linux)
  import CQRencode
#endif

/// A QR code that a terminal can show.
struct QRCode {
  /// Rows of modules, true for dark.
  private let rows: [[Bool]]

  /// The code of a text; `nil` if the text is too long, or if the system has no libqrencode.
  init?(_ text: String) {
    #if os(Linux)
      guard let library = dlopen("libqrencode.so.4", RTLD_NOW | RTLD_LOCAL),
        let encode = dlsym(library, "QRcode_encodeString"), let free = dlsym(library, "QRcode_free")
      else { return nil }
      // dlsym returns the address of a function as that of data.
      let make = unsafeBitCast(encode, to: heartlog_qr_encode.self)
      guard let code = make(text, 0, QR_ECLEVEL_L, QR_MODE_8, 1) else { return nil }
      defer { unsafeBitCast(free, to: heartlog_qr_free.self)(code) }
      let width = Int(code.pointee.width)
      let modules = UnsafeBufferPointer(start: code.pointee.data, count: width * width)
      rows = (0..<width).map { row in (0..<width).map { modules[row * width + $0] & 1 == 1 } }
    #else
      return nil
    #endif
  }

  private static let margin = 2

  /// Two rows of modules a line, light on dark, with a margin.
  var lines: [String] {
    let width = rows.count + 2 * Self.margin
    func isLight(_ row: Int, _ column: Int) -> Bool {
      let (row, column) = (row - Self.margin, column - Self.margin)
      return !rows.indices.contains(row) || !rows.indices.contains(column) || !rows[row][column]
    }
    return stride(from: 0, to: width, by: 2).map { row in
      (0..<width).map { column in
        switch (isLight(row, column), row + 1 < width && isLight(row + 1, column)) {
        case (true, true): "█"
        case (true, false): "▀"
        case (false, true): "▄"
        case (false, false): " "
        }
      }.joined()
    }
  }
}
