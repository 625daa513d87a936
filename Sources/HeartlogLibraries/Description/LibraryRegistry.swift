/// The descriptors of libraries, by name.
///
/// A registry is a value. An app with a library of its own makes a registry that includes it:
///
/// ```swift
/// let libraries = LibraryRegistry.standard.adding(RecipesDescriptor())
/// ```
public struct LibraryRegistry: Sendable {
  /// The ready-made libraries, in the order in which they are listed.
  public static let standard = LibraryRegistry([
    Archive.descriptor, Track.descriptor, Paper.descriptor, City.descriptor, BreedImage.descriptor,
    Book.descriptor, PlaybackSettings.descriptor,
  ])

  /// The descriptors, in the order in which they were registered.
  public private(set) var descriptors: [any LibraryDescriptor] = []

  /// Creates a registry of these libraries. A later descriptor replaces an earlier one of the same name.
  public init(_ descriptors: [any LibraryDescriptor]) {
    for descriptor in descriptors { self = adding(descriptor) }
  }

  /// The registry with one more descriptor, which replaces one of the same name.
  public func adding(_ descriptor: any LibraryDescriptor) -> LibraryRegistry {
    var registry = self
    if let index = descriptors.firstIndex(where: { $0.name == descriptor.name }) {
      registry.descriptors[index] = descriptor
    } else {
      registry.descriptors.append(descriptor)
    }
    return registry
  }

  /// The names of the libraries, in the order in which they were registered.
  public var names: [String] { descriptors.map(\.name) }

  /// The descriptor of a library. A library that is not registered gets a descriptor with its name only.
  public subscript(name: String) -> any LibraryDescriptor {
    descriptors.first { $0.name == name } ?? UnknownLibrary(name: name)
  }
}

/// A library that is not registered.
private struct UnknownLibrary: LibraryDescriptor {
  let name: String
}
