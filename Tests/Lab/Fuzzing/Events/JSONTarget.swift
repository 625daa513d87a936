import HeartlogFormat

extension FuzzTarget {
  /// JSON texts, fields made of them, and the canonical form.
  static let json = FuzzTarget(
    "json",
    words: [
      "true", "false", "null", "\\u00", "\\ud83d\\ude00", "1e", "-0", "9007199254740993", "[[", "{\"\":",
    ],
    seeds: { _ in
      [
        Seed("object", Array(#"{"a":1,"b":[true,false,null,-0.5e-7],"ü\n":"\ud83d\ude00"}"#.utf8)),
        Seed("list", Array(#"["one","two"]"#.utf8)), Seed("integer", Array("9223372036854775808".utf8)),
        Seed("spaces", Array(" [ { } , [ ] ]\r\n\t".utf8)),
      ]
    }
  ) { bytes in
    var skipper = JSONParser(bytes, depthMax: Limits.jsonDepthMax)
    skipper.skipWhitespace()
    _ = skipper.skipValue()
    guard let value = try? JSONValue.parse(bytes) else { return }
    var writer = JSONWriter()
    writer.value(value)
    try state(try JSONValue.parse(writer.bytes) == value, "\(value) is written as another value")
    guard let field = try? FieldValue(value) else { return }
    try state(try FieldValue(field.jsonValue) == field, "\(field) is another field as JSON")
    guard case .json(let nested) = field else { return }
    try state(try CanonicalJSON(canonical: nested.text) == nested, "\(nested.text) is not canonical")
    try state(try CanonicalJSON(nested.value) == nested, "\(nested.text) has two canonical forms")
  }
}
