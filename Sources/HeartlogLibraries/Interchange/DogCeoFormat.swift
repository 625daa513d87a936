import Heartlog

/// What dog.ceo answers when it is asked for images: `{"message": […], "status": "success"}`, or one image as a text.
public struct DogCeoFormat: FileFormat {
  public let name = "dog-ceo"
  public let summary = "an answer of dog.ceo with images"
  public let libraries: Set<String>? = [BreedImage.library]
  public let fileExtensions = ["json"]
  public let isWritten = false

  /// The format; it has no settings.
  public init() {}

  public func recognizes(_ beginning: [UInt8]) -> Bool {
    JSONOutline(beginning).objectNames.contains("message")
  }

  public func read(
    _ bytes: [UInt8], for library: String, now: Milliseconds
  ) throws(LibraryError) -> FileContents {
    let pieces = JSONPieces(bytes)
    let (members, failure) = pieces.members(of: pieces.root)
    guard let message = members.first(where: { $0.name == "message" })?.value else {
      throw .invalidAnswer(failure?.reason ?? "an answer without a message, which dog.ceo always has")
    }
    if let status = members.first(where: { $0.name == "status" })?.value,
      try pieces.value(status).string != "success"
    {
      throw .invalidAnswer("dog.ceo answers: \(try pieces.value(message).jsonText.prefix(200))")
    }
    guard !pieces.isObject(message) else {
      throw .invalidAnswer("the list of breeds, which holds no images")
    }
    var contents = FileContents()
    var images = [message]
    if pieces.isArray(message) {
      let (elements, listFailure) = pieces.elements(of: message)
      images = elements
      if let failure = listFailure ?? failure { contents.refuse(line: failure.line, failure.reason) }
    }
    for image in images {
      contents.take(line: image.line) { () throws(LibraryError) in
        let value = try pieces.value(image)
        guard let url = value.string else {
          throw .invalidItem("\(value.kind) where the URL of an image should be")
        }
        return try FileItem(id: url).checked(for: BreedImage.library)
      }
    }
    return contents
  }

  public func write(_ items: [FileItem], of library: String) throws(LibraryError) -> [UInt8] {
    throw .invalidItem("\(name) is only read")
  }
}
