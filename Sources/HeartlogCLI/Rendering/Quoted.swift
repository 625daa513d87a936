/// Something that was given, as a message shows it: in quotation marks, and not longer than one can read.
struct Quoted: CustomStringConvertible {
  let description: String

  init(_ text: String) {
    description = "\"\(DisplayText.truncated(DisplayText.visible(text), to: 60))\""
  }
}
